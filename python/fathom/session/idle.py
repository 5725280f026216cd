"""Notes on what a twin does in the pauses of a method. No data sheet states what a drive does in idle time, so twins do
nothing unless their parameters ask for it.
"""

import json
from collections.abc import Sequence

from fathom import _core
from fathom.catalog import CatalogError, load_device
from fathom.catalog.twin_params import twin_params_json
from fathom.method.method import Method
from fathom.output.text import percent
from fathom.runs.document import NoteRecord, TargetRecord
from fathom.targets.twin_names import twin_name

RULE = "idle-time"


def idle_notes(method: Method, targets: Sequence[TargetRecord]) -> list[NoteRecord]:
    """Returns a note on each virtual SSD, where the method pauses."""
    if all(step.kind != "idle" for step in method.steps):
        return []
    members = {one.name for one in targets if one.kind == "twin" and one.has_members}
    twins = [
        one
        for one in targets
        if one.kind == "twin" and not one.has_members and (one.part_of is None or one.part_of in members)
    ]
    return [note for one in twins if (note := _note(one)) is not None]


def _note(target: TargetRecord) -> NoteRecord | None:
    try:
        device = load_device(target.catalog or twin_name(target.name) or target.name)
    except CatalogError:
        return None
    if device.twin is None or device.twin.kind != "ssd":
        return None
    drive = json.loads(_core.ssd_parameters(twin_params_json(device)))
    share, has_cache = drive["gc_idle_free_share"], drive["slc_bytes"] > 0
    if not share and not has_cache:
        return NoteRecord(
            rule=RULE,
            level="warning",
            target=target.name,
            text="this twin does nothing in a pause, because the drive's behaviour is not published. It does no "
            "cleaning, so a pause changes nothing",
            next_step="try a drive that cleans when idle: twin:NAME?gc_idle_free_share=0.5,gc_idle_after_us=1000",
        )
    cleans = (
        f"cleans until {percent(share)} of its spare superblocks are free" if share else "folds its SLC cache"
    )
    times = 1 / (target.scale or 1)
    return NoteRecord(
        rule=RULE,
        level="info" if times == 1 else "warning",
        target=target.name,
        text=f"in a pause this twin {cleans}, as its parameters set"
        + (
            f". It is a slice: a pause or burst acts on it as one {times:.0f} times as long acts on the drive"
            if times > 1
            else ""
        ),
        next_step="conclude whether a pause helps, not by how much" if times > 1 else "",
    )
