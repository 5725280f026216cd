"""Figures for sizing from a run: the best points of one target that meet the latency needs.

Bandwidth is of blocks of 64 KiB and more, IOPS and latency of 4 KiB, whatever the pattern. A step of rounds counts
as in the last of them. A latency need limits the IOPS: those of points whose mean is longer do not count, in a mix for
reads and writes each.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import inf
from pathlib import Path

from fathom._core import LARGE_BLOCK_BYTES
from fathom.analysis.run_view import FEW_IOS, RunView, remarks_of
from fathom.analysis.settled import unsettled
from fathom.catalog import load_device
from fathom.errors import FathomError, UsageError
from fathom.method.curve import curve_of
from fathom.output.text import agreeing
from fathom.prediction.interval import COVERAGE, Spread, known_device, refuted, spread_of
from fathom.prediction.misses import family_of
from fathom.prediction.words import checked_words, refuted_words
from fathom.runs.document import TargetRecord
from fathom.runs.reader import Run
from fathom.sizing.drive import Drive, Figure, Noun
from fathom.sizing.needs import OPS, SMALL_BYTES, Kind, Need, Op
from fathom.statistics.failed import failed_share, in_words, is_marked
from fathom.statistics.limits import limit_in

_Figures = dict[tuple[Kind, Op | None], Figure]
_ABSENT = "no workload of the run counts for it: IOPS are of 4 KiB, bandwidth of 64 KiB or more"
_UNSIZED = "the run does not say what its drive holds"
_UNRATED = "no run measures it; --device NAME adds what a data sheet rates"
_WITHIN = ", within the latency needed"


@dataclass(frozen=True)
class _Point:
    """One workload under one load: reads and writes of a mix together."""

    op: Op
    step: str
    source: str
    block_bytes: int
    basis: str
    spread: Spread | None
    iops: float
    bytes_per_s: float
    mean_us: Mapping[str, float]
    ios: int | None
    """None where a run of another program does not say how many."""
    is_offered: bool
    """Whether the rate is what was asked for, not what the target can do."""

    def keeps(self, limits_us: Mapping[str, float]) -> bool:
        return all(mean <= limits_us[op] for op, mean in self.mean_us.items() if op in limits_us)


def measured_drive(path: Path, needs: Sequence[Need] = (), product: str | None = None) -> Drive:
    """Returns the figures of a run's only target, or of the one of that product.

    Args:
        path: the run.
        needs: of which those of latency limit which points count.
        product: a name of the catalogue's published results.

    Raises:
        UsageError: the run has several targets, none or several of them of that product.
        FathomError: too much of its I/O failed.
    """
    run = Run(path)
    target = _target(run, product)
    _check_errors(run, target.name)
    limits_us: dict[str, float] = {}
    for need in needs:
        if need.kind == "latency" and need.op:
            limits_us[need.op] = min(need.amount, limits_us.get(need.op, inf))
    figures = _capacity(run, target)
    view = _view(run)
    points = list(_points(run, target, view))
    for op in OPS.values():
        of_op = [point for point in points if point.op == op]
        figures |= _bandwidth([point for point in of_op if point.block_bytes >= LARGE_BLOCK_BYTES])
        figures |= _iops([point for point in of_op if point.block_bytes == SMALL_BYTES], limits_us)
    absent = _ABSENT + _WITHIN * bool(limits_us)
    noun = noun_of(run.targets, target)
    wanted = {(need.kind, need.op) for need in needs}
    sources = {figure.source for key, figure in figures.items() if not needs or key in wanted}
    counted = [point for point in points if point.source in sources]
    notes = (*_notes(run, target), *_doubts(view, target, counted))
    return Drive(target.name, target.label, figures, noun, absent, _UNRATED, notes, _UNSIZED)


def _parts(targets: Sequence[TargetRecord], target: TargetRecord) -> list[TargetRecord]:
    return [part for part in targets if part.part_of == target.name]


def _capacity(run: Run, target: TargetRecord) -> _Figures:
    """Returns what a target holds. The size of a file is not that of its drive; other programs may not record one."""
    whole = all(one.kind in ("device", "twin") for one in _parts(run.targets, target) or [target])
    if not whole or target.capacity_bytes is None:
        return {}
    return {("capacity", None): Figure(target.usable_bytes, "size", f"run {run.id}")}


def noun_of(targets: Sequence[TargetRecord], target: TargetRecord) -> Noun:
    """Returns what the figures of one of a run's targets are those of: one drive, an array of drives, or a system."""
    parts = _parts(targets, target)
    if any(part.is_drive_of(target) for part in parts):
        return "array"
    device = known_device(target.catalog) if target.kind == "twin" else None
    is_system = device is not None and family_of(device) == "system"
    return "system" if parts or is_system else "drive"


def _view(run: Run) -> RunView:
    return RunView.of(run, remarks_of(run.events))


def _doubts(view: RunView, target: TargetRecord, counted: Sequence[_Point]) -> Iterator[str]:
    """Yields a sentence for each step whose figures count: too few I/Os, a rate that was offered, or no claim."""
    gate = unsettled(view)
    for point in counted:
        if point.ios is not None and point.ios < FEW_IOS:
            only = agreeing(f"{point.ios:,}", "I/O", "I/Os")
            yield f"The {point.source}, had only {only}: its rate may be far off, and so the count."
        if point.is_offered:
            yield f"The {point.source}, had the rate that was offered: a drive may do more, so fewer may be enough."
        if why := gate.get((target.name, point.step)) or gate.get((target.name, curve_of(point.step))):
            yield f"The {point.source}, supports no claim: {why.value}."


def _notes(run: Run, target: TargetRecord) -> Iterator[str]:
    """Yields what the rates of a run are worth: of a twin, with or without a range, or of a shortened run."""
    if target.kind == "twin":
        device = known_device(target.catalog)
        if noun_of(run.targets, target) == "array":
            yield "Simulated: the rate of several twins together. Ranges are known of single drives alone."
        elif device is None:
            yield "Simulated: a twin's rate, without a range: its device is not in this catalogue."
        elif spread_of(device, SMALL_BYTES):
            yield f"Simulated: a twin's rate, with the range that {100 * COVERAGE:.0f} % of measurements lie in."
        elif record := refuted(device):
            yield f"Simulated: a twin's rate, without a range. {refuted_words(record)}."
        elif device.is_of_data_sheet:
            yield f"Simulated: the rate of a twin of a data sheet. {checked_words(device)}."
        else:
            yield "Simulated: a twin's rate. Too few of its kind are measured for a range."
    if run.document.quick:
        yield "The run is shortened, and not for quoting."


def _check_errors(run: Run, target: str) -> None:
    """Raises FathomError for a run in which too much I/O failed to size by."""
    for row in run.points.to_pylist():
        share = failed_share(row["n"], row["errors"])
        if row["target"] == target and share is not None and is_marked(share):
            raise FathomError(
                f"{run.id}: {row['step']}, {row['op']}: {in_words(share)}, so nothing is sized by this run",
                "repair what failed, and measure again",
            )


def _bandwidth(points: Sequence[_Point]) -> _Figures:
    best = max(points, key=lambda point: point.bytes_per_s, default=None)
    if best is None:
        return {}
    return {("bandwidth", best.op): Figure(best.bytes_per_s, best.basis, best.source, spread=best.spread)}


def _iops(points: Sequence[_Point], limits_us: Mapping[str, float]) -> _Figures:
    """Returns the most IOPS within the latency limits, and the latency there. If no point is within them, returns only
    the least latency.
    """
    figures: _Figures = {}
    if best := max((p for p in points if p.keeps(limits_us)), key=lambda point: point.iops, default=None):
        figures["iops", best.op] = Figure(best.iops, best.basis, best.source, spread=best.spread)
    else:
        best = min(points, key=lambda point: max(point.mean_us.values()), default=None)
    if best and best.op in best.mean_us:
        basis = f"the {best.basis} mean at {best.iops:,.0f} IOPS"
        figures["latency", best.op] = Figure(best.mean_us[best.op], basis, best.source, is_bound=True)
    return figures


def _target(run: Run, product: str | None) -> TargetRecord:
    whole = [target for target in run.targets if target.part_of is None]
    if len(whole) == 1:
        return whole[0]
    ours = [target for target in whole if product and target.catalog and _product(target.catalog) == product]
    if len(ours) != 1:
        which = f", {len(ours)} of them of {product}" if product else ""
        raise UsageError(f"{run.id}: has {len(whole)} targets{which}", "give a run of one")
    return ours[0]


def _product(device: str) -> str | None:
    return load_device(device).published


def _last_rounds(view: RunView, steps: Iterable[str]) -> set[str]:
    """Returns the steps without those of earlier rounds, in which a target was still on the way to its steady state."""
    last: dict[object, tuple[int, str]] = {}
    for step in steps:
        place = view.named.get(step, {}).get("round")
        known = (place["of"], place["step"]) if isinstance(place, dict) else step
        number = place["number"] if isinstance(place, dict) else 0
        last[known] = max(last.get(known, (0, step)), (number, step))
    return {step for _, step in last.values()}


def _points(run: Run, target: TargetRecord, view: RunView) -> Iterator[_Point]:
    own = [row for row in run.points.to_pylist() if row["target"] == target.name]
    # Beside other operations, such as trims, reads and writes have another rate than in a mix of them alone.
    others = {row["step"] for row in own if row["op"] not in ("read", "write", "flush")}
    rows = [row for row in own if row["block_bytes"] and row["step"] not in others]
    last = _last_rounds(view, (row["step"] for row in rows))
    rows = [row for row in rows if row["step"] in last]
    is_twin = target.kind == "twin"
    device = known_device(target.catalog) if is_twin else None
    jobs = view.jobs if device and device.is_of_data_sheet else {}
    for (step, read_pct), group in groupby(rows, key=lambda row: (row["step"], row["read_pct"])):
        halves = [row for row in group if row["op"] in ("read", "write") and row["mean_us"] is not None]
        op = OPS.get(read_pct)
        sizes = {row["block_bytes"] for row in halves}
        if op is None or len(sizes) != 1:
            continue
        (block_bytes,) = sizes
        yield _Point(
            op,
            step,
            f"run {run.id}, step {step}",
            block_bytes,
            "simulated" if is_twin else "measured",
            spread_of(device, block_bytes, jobs.get(step)) if device else None,
            sum(row["iops"] for row in halves),
            sum(row["mbps"] for row in halves) * 1e6,
            {row["op"]: row["mean_us"] for row in halves},
            None if any(row["n"] is None for row in halves) else sum(row["n"] for row in halves),
            any(limit.is_offered_rate for row in halves if (limit := limit_in(row))),
        )
