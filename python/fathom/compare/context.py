"""What differs between two sides beside their figures: the machine, the software, the method, the target itself."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import JsonValue

from fathom.analysis.finding import joined
from fathom.compare.rows import Result
from fathom.compare.sides import Match, Side, matches
from fathom.report.published import fitted_words
from fathom.report.published_count import fitted_count
from fathom.report.repeats import PASSING
from fathom.report.style import plain
from fathom.runs.document import NoteRecord, RunDocument

_MOST_CHARS = 60
_NOT_ENDED = {
    "running": "still goes on",
    "killed": "was killed",
    "partial": "lost a host",
    "interrupted": "was interrupted",
    "failed": "failed",
}


_LATER = ("io_bytes_max", "command_bytes_max", "block_metadata_bytes", "array_uuid", "parameters_sha256")
"""Facts on every device, or twin, that runs of earlier versions lack: on one side alone they are no difference."""


def context_of(base: Side | None, new: Side, result: Result) -> list[str]:
    """Returns all that a reader must know beside the result of the two sides, a line each."""
    return [
        *(unfinished(base) if base else ()),
        *unfinished(new),
        *(elsewhere(base) if base else ()),
        *elsewhere(new),
        *(contrasts(base, new) if base else ()),
        *warned(base, new),
        *(() if base else fitted(new)),
        *single_runs(base, new, result),
    ]


def unfinished(side: Side) -> list[str]:
    """Returns a line for each run of a side that did not end well."""
    return [
        f"{plain(run.document.id)} {_NOT_ENDED[run.document.status]}"
        for run in side.runs
        if run.document.status in _NOT_ENDED
    ]


def warned(base: Side | None, new: Side) -> list[str]:
    """Returns a line for each warning in the notes of the runs: a change may be its effect, and not the target's.

    What both sides say in the same words is one line. Repeats of a side are one line too, in the words of the first.
    """
    found: dict[str, list[str]] = {}
    for name, side in (("base", base), ("new", new)):
        for text in _warnings(side) if side else ():
            found.setdefault(text, []).append(name)
    return [f"{joined(names)}: {text}" for text, names in found.items()]


def fitted(side: Side) -> list[str]:
    """Returns a line on the published figures that a side's twins may be fitted to; none where there are no such."""
    count = fitted_count(cell for corner in side.comparison.corners for cell in corner.cells)
    return [fitted_words(count)] if count else []


def _warnings(side: Side) -> list[str]:
    """Returns the warnings of a side, one for each rule, target and step."""
    alike: dict[tuple[str, str | None, str | None], list[NoteRecord]] = {}
    for run in side.runs:
        for note in run.document.notes:
            if note.level != "info" and not (run.document.origin and note.step is None):
                alike.setdefault((note.rule, note.target, note.step), []).append(note)
    return [
        (f"in {notes[0].step}, " if notes[0].step else "")
        + notes[0].text
        + (f" (in {len(notes)} of {len(side.runs)} runs)" if len(notes) < len(side.runs) else "")
        for notes in alike.values()
    ]


def elsewhere(side: Side) -> list[str]:
    """Returns a line for a side that was made elsewhere: what the file did not record is not compared."""
    found = dict.fromkeys(
        (run.document.made, run.document.origin.title) for run in side.runs if run.document.origin
    )
    return [
        f"{plain(Path(side.name).name)}: {made} by {plain(title)} elsewhere. The state of its target before, its "
        "page cache and its machine are not recorded, so they may differ too"
        for made, title in found
    ]


def contrasts(base: Side, new: Side) -> list[str]:
    """Returns a line per difference beside the figures, such as `kernel: 6.1 → 6.12`."""
    first, second = base.runs[0].document, new.runs[0].document
    found = _of_methods(first, second)
    only_known = base.is_foreign or new.is_foreign
    for match in matches(base, new):
        found += _of_targets(match, only_known=only_known)
    for old, now in ((first.versions, second.versions), (first.environment, second.environment)):
        found += _changes("", _flat(old), _flat(now), only_known=only_known)
    return list(dict.fromkeys(found))


def _of_methods(first: RunDocument, second: RunDocument) -> list[str]:
    if first.method.name != second.method.name:
        return [f"method: {plain(first.method.name)} → {plain(second.method.name)}"]
    found = []
    if first.quick != second.quick:
        found.append("one of the two is shortened (--quick), or by other factors")
    if first.method.parsed != second.method.parsed and first.quick == second.quick:
        found.append(f"method: {plain(first.method.name)} has other steps or settings")
    return found


def _of_targets(match: Match, *, only_known: bool) -> list[str]:
    if match.base is None:
        return []
    first, second = match.base.target, match.new.target
    sizes = {"capacity_bytes": first.capacity_bytes}, {"capacity_bytes": second.capacity_bytes}
    both = first.identity.keys() & second.identity.keys()
    left_out = PASSING | {name for name in _LATER if name not in both}
    old = {name: value for name, value in first.identity.items() if name not in left_out}
    now = {name: value for name, value in second.identity.items() if name not in left_out}
    if match.base.is_twin != match.new.is_twin:
        return [f"target: {match.base.label} ({match.base.kind}) → {match.new.label} ({match.new.kind})"]
    if first.name != second.name:
        labels = match.base.label, match.new.label
        base, new = labels if labels[0] != labels[1] else (plain(first.name), plain(second.name))
        return [f"target: {base} → {new}"]
    facts = _flat(old) | sizes[0], _flat(now) | sizes[1]
    return _changes(f"{match.new.label}, ", *facts, only_known=only_known)


def _flat(values: Mapping[str, JsonValue], before: str = "") -> dict[str, JsonValue]:
    """Returns nested values by their path, such as `device model`."""
    found: dict[str, JsonValue] = {}
    for name, value in values.items():
        key = f"{before}{name}"
        found |= _flat(value, f"{key} ") if isinstance(value, dict) else {key: value}
    return found


def _changes(
    about: str, old: Mapping[str, JsonValue], now: Mapping[str, JsonValue], *, only_known: bool = False
) -> list[str]:
    """Returns a line per difference; with `only_known`, none where a side did not record the value."""
    return [
        f"{about}{name.replace('_', ' ')}: {_shown(old.get(name))} → {_shown(now.get(name))}"
        for name in dict.fromkeys((*old, *now))
        if old.get(name) != now.get(name) and not (only_known and None in (old.get(name), now.get(name)))
    ]


def _shown(value: JsonValue) -> str:
    words = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    text = "unknown" if value is None else plain(words)
    return text if len(text) <= _MOST_CHARS else f"{text[: _MOST_CHARS - 1]}…"


def single_runs(base: Side | None, new: Side, result: Result) -> Sequence[str]:
    """Returns what a reader must know where a side is a single run; nothing where no figure is compared."""
    if not result.rows:
        return ()
    sides = [side for side in (base, new) if side is not None]
    single = [side for side in sides if len(side.runs) == 1]
    if not single:
        return ()
    how = "Repeat with --repeats 3 or more."
    if any(side.is_foreign for side in single):
        how = "Import three results or more of each side, and name them RUN,RUN,RUN."
    held = "its intervals hold what varies within the run, not from run to run"
    return (f"A side is a single run: {held}. {how}",)
