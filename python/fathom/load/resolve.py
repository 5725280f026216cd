"""Turns the texts that a user types into targets, with the catalogue for `twin:`, and a run into the targets it began
with.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count

from fathom.catalog import load_device
from fathom.catalog.models.base import values_of
from fathom.catalog.setting_words import labelled
from fathom.catalog.settings import split
from fathom.catalog.twin_params import parameters_sha256, twin_params_json
from fathom.errors import NEW_RUN, FathomError, UsageError
from fathom.load.backend import make_twin
from fathom.load.binding import without_name
from fathom.runs.document import RunDocument, TargetRecord
from fathom.targets.array import PREFIX, array_of, array_text, member_texts
from fathom.targets.parse import FileSizes, TwinFacts, is_file_set, parse_targets
from fathom.targets.safety import ensure_same
from fathom.targets.target import FILE_KINDS, Identity, Target
from fathom.targets.twin_names import TWIN
from fathom.targets.zones import zones_of_twin

#: Blocks of twins whose parameters state none: the unit of their mapping.
TWIN_BLOCK_BYTES = 4096


def resolve_targets(texts: Sequence[str], size_bytes: int | None = None) -> list[Target]:
    """Returns the targets of a command line; `size_bytes` is the size of files that Fathom makes.

    Raises UsageError for what is no target or no entry of the catalogue.
    """
    return parse_targets(texts, size_bytes=size_bytes, twins=_twin_facts)


Finder = Callable[[Sequence[str], int | None, Mapping[str, FileSizes]], list[Target]]
"""`Initiator.resolve`."""


def targets_of_run(document: RunDocument, resolve: Finder) -> list[Target]:
    """Returns the targets that a run began with, found again by `resolve`.

    Raises RefusedError when a device is no longer the one that the run began with. Raises UsageError for an imported
    run, and for a twin with other parameters.
    """
    if document.origin:
        raise UsageError(f"run {document.id} was imported", "only a run that was begun here can go on")
    found = []
    for record in document.targets:
        if record.part_of is not None:
            continue
        parts = document.parts_of(record) if record.has_members else []
        members = [one for one in parts if one.is_drive_of(record)]
        files = document.drives_of(record) or [record]
        sizes = [_size_of(one) for one in files]
        if len(set(sizes)) > 1 and members:
            # A command line has one size for all; here each file keeps its own.
            target = array_of([resolve([one.name], _size_of(one), {})[0] for one in members])
        else:
            size_bytes = next(filter(None, sizes), None)
            [target] = resolve([record.name], size_bytes, _sizes_on_hosts(document, record))
        if parts and not members:
            # Hosts load this array. `Initiator.go_on` compares what each of them holds.
            found.append(replace(target, bound=record.bound))
            continue
        began = [Identity.from_json(one.identity) for one in members or [record]]
        for one, then, now in zip(members or [record], began, target.members or [target], strict=True):
            if one.kind == "device" or now.makes:
                ensure_same(one.name, then, now.identity)
            elif one.kind == "twin":
                _ensure_same_parameters(one.name, then, now.identity)
        found.append(replace(_made(target, began), bound=record.bound))
    return found


def _sizes_on_hosts(document: RunDocument, record: TargetRecord) -> dict[str, FileSizes]:
    """Returns the sizes of the files of each host that loads a target."""
    return {
        host.name.removesuffix(f":{record.name}"): tuple(
            _size_of(one) for one in document.parts_of(host) or [host]
        )
        for host in document.hosts_of(record)
    }


def _size_of(record: TargetRecord) -> int | None:
    """Returns the size of the file or files that a target is; None for any other target."""
    return record.capacity_bytes if record.kind in (*FILE_KINDS, "files") else None


def _ensure_same_parameters(name: str, then: Identity, now: Identity) -> None:
    """Passes when a twin has the parameters that its run began with, or these were not recorded. Raises UsageError."""
    if then.parameters_sha256 not in (None, now.parameters_sha256):
        raise UsageError(f"{name}: its parameters are not those that the run began with", NEW_RUN)


def _made(target: Target, began: Sequence[Identity]) -> Target:
    """Returns the target, or the members of an array, as an earlier session of the run has left them."""
    made = target.makes is not None or target.kind in FILE_KINDS
    if target.members:
        members = [_made(member, [then]) for member, then in zip(target.members, began, strict=True)]
        return replace(target, made=made, members=tuple(members))
    [then] = began
    identity = replace(target.identity, file_uuid=then.file_uuid, file_system_uuid=then.file_system_uuid)
    return replace(target, made=made, identity=identity)


def together(texts: Sequence[str]) -> list[str]:
    """Returns the real targets among them as one array, in the place of the first. Twins, and arrays of them, remain
    targets of their own.
    """
    if named := [text for text in texts if without_name(text) != text]:
        raise UsageError(
            f"--together: {named[0]} has a name of its own", "bind a name to array:TARGET,TARGET"
        )
    real = [text for text in texts if not text.startswith(("twin:", f"{PREFIX}twin:"))]
    if len(real) < 2:
        raise UsageError("--together: fewer than two real targets", "name them all, or leave --together out")
    whole = array_text(
        [one for text in real for one in (member_texts(text) if text.startswith(PREFIX) else [text])]
    )
    return list(dict.fromkeys(whole if text in real else text for text in texts))


def has_parts(text: str) -> bool:
    """Returns whether the text names several targets as one: an array, or a number of equal ones."""
    target = without_name(text)
    form = TWIN.fullmatch(target.removeprefix("twin:")) if target.startswith("twin:") else None
    return target.startswith(PREFIX) or (form is not None and form["mark"] == "*") or is_file_set(target)


def at_once(texts: Sequence[str]) -> str:
    """Returns targets as one that loads them at once: equal twins as `twin:NAME*2`, any others as an array of them."""
    if len(texts) > 1 and len(set(texts)) == 1 and texts[0].startswith("twin:"):
        return _marked(texts[0], f"*{len(texts)}")
    counts = Counter(text for text in texts if text.startswith("twin:"))
    numbers = {text: count(1) for text, times in counts.items() if times > 1}
    return array_text(
        [_marked(text, f"#{next(numbers[text])}") if text in numbers else text for text in texts]
    )


def _marked(twin: str, mark: str) -> str:
    """Returns a twin's text with a mark behind its name; one that has a mark keeps it."""
    form = TWIN.fullmatch(twin.removeprefix("twin:"))
    if form is None or form["mark"]:
        return twin
    return f"twin:{form['name']}{mark}{twin.removeprefix('twin:').removeprefix(form['name'])}"


def ensure_simulable(target: Target) -> None:
    """Passes when a twin with set parameters or a file system can be made, so that a run does not fail after its start.

    A system's twin has no file system, which `fathom.plan.fit` checks. Raises UsageError with the parameter and what it
    may be.
    """
    for member in target.members:
        ensure_simulable(member)
    if target.catalog is None:
        return
    file_system = target.identity.file_system
    if not split(target.catalog)[1] and not file_system:
        return
    device = load_device(target.catalog)
    try:
        make_twin(twin_params_json(device), seed=0, file_system=None if device.is_system else file_system)
    except FathomError as error:
        hint = "name another drive or file system" if file_system else "write another value"
        raise UsageError(f"{target.name}: {error}", hint) from error


def _twin_facts(name: str) -> TwinFacts:
    device = load_device(name)
    stated = device.twin.parameters.get("block_bytes") if device.twin else None
    return TwinFacts(
        label=labelled(device.identity.label, name),
        capacity_bytes=device.addressed_bytes,
        logical_block_bytes=int(stated.value) if stated else TWIN_BLOCK_BYTES,
        placement_handles=device.placement_handles,
        parameters_sha256=parameters_sha256(device),
        zones=zones_of_twin(values_of(device.twin.parameters) if device.twin else {}),
    )
