"""Logs of HdrHistogram (`.hlog`): a compressed histogram per interval, as many programs write them.

Format: HdrHistogram 2.x, `HistogramLogWriter.java`. Behind comments and a line of headings each line has start, length
and largest value of an interval, then its histogram. `Tag=NAME,` stands in front where there are several. The unit of
the values is not in the file.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from fathom.errors import UsageError
from fathom.results.hdr_codec import CodecError, decode
from fathom.results.marks import Marks
from fathom.results.reading import MOST_SECONDS, Names, Unit, number, time_of
from fathom.results.records import TOTAL, Bin, Caveat, Latency, Load, OpRecord, Remark, Results, Second
from fathom.statistics.percentiles import Histogram

HINT = "give a log of HdrHistogram, version 1.2 or 1.3"
MARK = "#[Histogram log format version"
HEADINGS = '"StartTimestamp","Interval_Length"'
START = re.compile(r"#\[StartTime: (?P<seconds>[\d.]+)")
OPS = ("read", "write", "trim", "flush")


def looks_like(head: str) -> bool:
    """Returns whether a file begins as such a log does."""
    return head.startswith(MARK) or HEADINGS in head


def parse(text: str, file: str, unit: Unit) -> Results:
    """Returns the results in a log. Raises UsageError for an invalid line."""
    by_tag: dict[str, list[Second]] = {}
    measured = None
    marks: Marks | None = None
    for line_number, line in enumerate(text.splitlines(), 1):
        if match := START.match(line):
            measured = time_of(match["seconds"])
        if marks is None and (marks := Marks.in_line(line)):
            unit = Unit.NS
        if not line.strip() or line.startswith(("#", '"')):
            continue
        tag, start_s, length_s, bins = _line(line, f"{file}:{line_number}", unit)
        own = by_tag.setdefault(tag, [])
        if length_s > 0 and len(own) < MOST_SECONDS:
            latency = Latency(_mean_us(bins), bins=bins)
            own.append(Second(start_s, length_s, sum(one.n for one in bins), latency=latency))
    loads = _loads(_from_first(by_tag), PurePath(file).stem, marks)
    if not loads:
        raise UsageError(f"{file}: no interval with a value", HINT)
    if marks:
        return Results(marks.program, loads, marks.version, measured, notes=marks.notes)
    doubt = Remark(Caveat.UNIT, values={"unit": unit.words})
    return Results("HdrHistogram", loads, measured=measured, remarks=[doubt])


def _from_first(by_tag: Mapping[str, list[Second]]) -> dict[str, list[Second]]:
    """Returns the intervals in order, with times from the first of them all: its line may stand behind others."""
    first_s = min((one.start_s for seconds in by_tag.values() for one in seconds), default=0.0)
    return {
        tag: sorted(
            (replace(one, start_s=one.start_s - first_s) for one in seconds), key=lambda one: one.start_s
        )
        for tag, seconds in by_tag.items()
    }


@dataclass(frozen=True)
class _Place:
    """What a tag says: the target of an export, the load, and the operation."""

    target: str | None
    title: str
    op: str

    @classmethod
    def of(cls, tag: str, stem: str, marks: Marks | None) -> "_Place":
        """Returns what `LOAD/OPERATION` says, `OPERATION` of the file's only load, or the name of a load.

        Exports of several targets have `TARGET/STEP/OPERATION`, where a target may hold slashes too.
        """
        targets = marks.targets if marks else {}
        own = [one for one in targets if len(targets) == 1 or tag.startswith(f"{tag_of(one)}/")]
        target = max(own, key=len, default=None)
        rest = tag.removeprefix(f"{tag_of(target)}/") if target and len(targets) > 1 else tag
        title, _, op = rest.rpartition("/")
        if op.lower() in OPS or (marks and title):
            return cls(target, title or stem, op.lower())
        return cls(target, rest or stem, TOTAL)


def tag_of(name: str) -> str:
    """Returns a name without the characters that would end a tag."""
    return "".join("_" if char in ", \n\r" else char for char in name)


def _line(line: str, place: str, unit: Unit) -> tuple[str, float, float, Sequence[Bin]]:
    tag, rest = "", line
    if line.startswith("Tag="):
        tag, _, rest = line.removeprefix("Tag=").partition(",")
    cells = rest.split(",")
    if len(cells) != 4:
        raise UsageError(f"{place}: expected start, length, largest value and histogram", HINT)
    start_s, length_s = number(cells[0]), number(cells[1])
    if start_s is None or length_s is None:
        raise UsageError(f"{place}: no start and length of an interval", HINT)
    try:
        bins = decode(cells[3].strip())
    except CodecError as error:
        raise UsageError(f"{place}: {error}", HINT) from error
    return tag, start_s, length_s, [Bin(low * unit.ns, high * unit.ns, n) for low, high, n in bins]


def _loads(by_tag: Mapping[str, list[Second]], stem: str, marks: Marks | None) -> list[Load]:
    """Returns the loads, each with the operations that tags name."""
    names: defaultdict[str | None, Names] = defaultdict(Names)
    found: dict[tuple[str | None, str], Load] = {}
    places = {tag: _Place.of(tag, stem, marks) for tag in by_tag}
    together: defaultdict[tuple[str | None, str], list[Second]] = defaultdict(list)
    for tag, seconds in by_tag.items():
        together[places[tag].target, places[tag].title] += seconds
    for tag, seconds in by_tag.items():
        n = sum(second.n for second in seconds)
        if not n:
            continue
        place = places[tag]
        # A program writes no line for an operation without I/O, so the load's other operations show how long it was.
        whole = together[place.target, place.title]
        window_s = max(one.start_s + one.length_s for one in whole) - min(one.start_s for one in whole)
        op = OpRecord(
            place.op,
            n=n,
            iops=n / window_s if window_s > 0 else None,
            window_s=window_s,
            latency=Latency(_mean_us([one for second in seconds for one in second.latency.bins])),
            seconds=seconds,
        )
        key = (place.target, place.title)
        if key in found:
            found[key] = replace(found[key], ops=[*found[key].ops, op])
        else:
            kind = marks.targets[place.target] if marks and place.target else None
            found[key] = Load(
                names[place.target].unique(place.title),
                [op],
                label=place.title,
                target=place.target,
                kind=kind,
                workload=marks.workloads.get(place.title) if marks else None,
            )
    return list(found.values())


def _mean_us(bins: Sequence[Bin]) -> float | None:
    return Histogram.of(*zip(*bins, strict=True)).mean_us() if bins else None
