"""run.json of a run that begins: method, targets with identity, machine, versions."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from fathom import __version__, _core
from fathom.load.initiator import Initiator
from fathom.method.method import Method
from fathom.runs.document import MethodRecord, QuickFactors, RunDocument, TargetRecord
from fathom.session.options import Options
from fathom.targets.capability_words import capabilities_of
from fathom.targets.environment import environment
from fathom.targets.power_states import Held
from fathom.targets.target import Target

if TYPE_CHECKING:
    from pydantic import JsonValue


def new_document(
    run_id: str, method: Method, targets: Sequence[Target], options: Options, held: Sequence[Held]
) -> RunDocument:
    """Returns the document of a run that begins now. `held` are the drives that it put into a power state."""
    quick = method.quick
    return RunDocument(
        id=run_id,
        created=now(),
        status="running",
        seed=options.seed,
        repeat_of=options.repeat_of,
        quick=QuickFactors(**asdict(quick)) if quick else None,
        method=MethodRecord(
            name=method.name,
            title=method.title,
            source=method.source,
            text=method.text,
            parsed=dict(method.parsed),
        ),
        targets=[
            *(_record(target) for target in targets),
            *(part for target in targets for part in _part_records(target, options.initiator)),
        ],
        environment=environment().to_json()
        | options.initiator.to_json()
        | ({"power_meter": options.power} if options.power else {})
        | ({"purge": options.purge} if options.purge != "trim" else {})
        | _power_states(held),
        versions=own_versions(),
    )


def own_versions() -> dict[str, str]:
    """Returns the versions by which a run is made."""
    return {"fathom": __version__, "core": _core.__version__}


def _power_states(held: Sequence[Held]) -> "dict[str, JsonValue]":
    """Returns the power state that the drives were put into, with what to put back; nothing without one."""
    if not held:
        return {}
    most_w: dict[str, JsonValue] = {
        one.drive: one.state.most_w for one in held if one.state.most_w is not None
    }
    before: dict[str, JsonValue] = {one.drive: one.before for one in held}
    return {"power_state": {"number": held[0].state.number, "most_w": most_w, "before": before}}


def power_states_of(environment: "Mapping[str, JsonValue]") -> tuple[int | None, dict[str, int]]:
    """Returns the power state that a run put its drives into, None for none, and what to put back by drive."""
    match environment.get("power_state"):
        case {"number": int(number), "before": dict(before)}:
            return number, {drive: dword for drive, dword in before.items() if isinstance(dword, int)}
        case _:
            return None, {}


def _capabilities(target: Target) -> "dict[str, JsonValue]":
    """Returns what an NVMe drive says that it can do; nothing of other targets."""
    found = capabilities_of(target) if target.kind == "device" else None
    return {"capabilities": dict(found)} if found else {}


def _is_bare_drive(target: Target) -> bool:
    """Returns whether published figures of a drive apply: one drive, with nothing between it and the load."""
    return not target.parts and (target.kind != "twin" or target.identity.file_system is None)


def _part_records(target: Target, initiator: Initiator) -> list[TargetRecord]:
    """Returns drives of a twin and hosts of a fleet as parts of the target, and the members of arrays as what they
    are.
    """
    members = [
        _record(one).model_copy(update={"part_of": whole})
        for whole, own in initiator.members(target).items()
        for one in own
    ]
    return [
        _record(target).model_copy(
            update={
                "name": part,
                "label": part,
                "catalog": target.catalog,
                "identity": dict(identity.to_json()),
                "part_of": target.name,
            }
        )
        for part, identity in initiator.parts(target).items()
    ] + members


def _record(target: Target) -> TargetRecord:
    return TargetRecord(
        name=target.name,
        kind=target.kind,
        label=target.label,
        capacity_bytes=target.capacity_bytes,
        bound=target.bound,
        catalog=target.catalog if _is_bare_drive(target) else None,
        identity=target.identity.to_json() | _capabilities(target),
    )


def now() -> str:
    """Returns the time in UTC, to the second, in the format of run.json."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
