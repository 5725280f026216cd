"""Where a run contradicts Little's law, the limits of its hardware, or its data sheet. Limits and data sheets come from
lookups; a target without them is not judged.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from fathom._core import MOVES_DATA
from fathom.analysis.finding import Finding, cited, joined, number, rate_text
from fathom.analysis.run_view import Key, RunView, StepFigures
from fathom.output.text import signed_pct
from fathom.prediction.interval import known_device
from fathom.runs.document import TargetRecord

BEYOND = 1.02
"""A rate from this fraction of a ceiling on contradicts it; below, it is rounding and the ends of windows."""
NEAR = 0.75
"""A finding mentions a rate from this fraction of a ceiling on."""
RATED_PCT = 10.0
RATED_DEPTH = 32
"""Data sheets rate random I/O at no fewer in flight: SATA drives at their 32 slots, NVMe drives at many more."""
SMALL_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Physics:
    """Ceilings of one target; None where not known. Link and dies are in MB/s of 10^6 B, senses in 1/s."""

    link_mbps: float | None = None
    link: str = "its link"
    program_mbps: float | None = None
    senses_per_s: float | None = None


class Rated(Protocol):
    """A figure of a data sheet: B/s or IOPS. `fathom.sizing.drive` has them."""

    @property
    def value(self) -> float: ...  # noqa: D102
    @property
    def source(self) -> str: ...  # noqa: D102


PhysicsOf = Callable[[TargetRecord], Physics]
RatedOf = Callable[[str], Mapping[tuple[str, str | None], Rated]]
"""Catalogue device -> its data sheet's figures by what they answer."""


@dataclass(frozen=True, slots=True)
class _AgainstCeiling:
    """A measured figure against a ceiling, in the same unit."""

    figures: StepFigures
    measured: float
    ceiling: float
    unit: str
    what: str
    to_media: bool = False
    """Whether bytes are counted at the media, cleaning included."""

    @property
    def ratio(self) -> float:
        return self.measured / self.ceiling


@dataclass(frozen=True, slots=True)
class _AgainstDataSheet:
    """A target's best figure of a kind and what the data sheet states of it, in the same unit."""

    figures: StepFigures
    stated: float

    @property
    def off_pct(self) -> float:
        return 100 * (self.figures.headline / self.stated - 1)


def surprises(
    view: RunView, physics: PhysicsOf | None, rated: RatedOf | None, unclaimed: Container[Key] = ()
) -> Iterator[Finding]:
    """Yields contradictions first, then the rates nearest to ceilings, then the data sheet.

    `unclaimed` are the steps that support no claim.
    """
    yield from _little(view)
    if physics:
        yield from _ceilings(view, physics)
    if rated:
        yield from _data_sheet(view, rated, unclaimed)


def _little(view: RunView) -> Iterator[Finding]:
    """Yields steps in which IOPS x mean latency differs from the I/Os in flight (Little, 1961)."""
    for figures in view.steps.values():
        found = figures.in_flight
        if found and found.contradicts:
            text = (
                f"Little's law does not hold for {view.label(figures.target)} in {figures.label}. IOPS x mean "
                f"latency gives {number(found.implied)} I/Os in flight, but {number(found.kept)} {found.kept_words}. "
                "Rate and latency do not describe the same I/O."
            )
            measured = {"implied": found.implied, "in_flight": found.kept}
            yield Finding("surprise", text, (figures.target,), figures.step, measured)


def _ceilings(view: RunView, physics: PhysicsOf) -> Iterator[Finding]:
    """Yields one finding per rate above a ceiling, and one for all targets nearest to the same ceiling in a step."""
    near: dict[tuple[str, str], list[_AgainstCeiling]] = {}
    for target in view.document.targets:
        known = physics(target)
        nearest: dict[str, _AgainstCeiling] = {}
        for figures in view.steps.values():
            if figures.target != target.name:
                continue
            for against in _against(view, figures, known):
                if against.ratio > BEYOND:
                    yield _impossible(view, against)
                elif against.ratio > nearest.get(against.what, against).ratio or against.what not in nearest:
                    nearest[against.what] = against
        best = max(nearest.values(), key=lambda one: one.ratio, default=None)
        if best and best.ratio >= NEAR:
            near.setdefault((best.figures.step, best.what), []).append(best)
    yield from (_near(view, together) for together in near.values())


def _against(view: RunView, figures: StepFigures, known: Physics) -> Iterable[_AgainstCeiling]:
    """Yields data over the link each way; bytes that the media took; senses of random reads no larger than a page's
    unit.
    """
    for row in figures.rows:
        # What is trimmed or zeroed does not pass over the link.
        if known.link_mbps and row.op in MOVES_DATA:
            yield _AgainstCeiling(
                figures, row.mbps or 0.0, known.link_mbps, "MB/s", f"the raw rate of {known.link}"
            )
        waf = row.waf
        if known.program_mbps and row.op == "write" and waf and waf == waf:
            media_mbps = (row.mbps or 0.0) * waf
            yield _AgainstCeiling(
                figures, media_mbps, known.program_mbps, "MB/s", "what its dies can program", to_media=True
            )
        job = view.job_of(figures.target, figures.step)
        small = row.block_bytes == SMALL_BYTES and job is not None and job.pattern.kind == "uniform"
        if known.senses_per_s and row.op == "read" and small:
            yield _AgainstCeiling(
                figures, row.iops or 0.0, known.senses_per_s, "IOPS", "what its dies can sense"
            )


def _impossible(view: RunView, one: _AgainstCeiling) -> Finding:
    text = (
        f"{view.label(one.figures.target)} in {one.figures.label}: {number(one.measured)} {one.unit} are "
        f"{100 * (one.ratio - 1):.0f} % above {one.what} ({number(one.ceiling)} {one.unit}), which cannot be. "
        "Part came from a cache, or a parameter is wrong."
    )
    return Finding("surprise", text, (one.figures.target,), one.figures.step, _figures(one))


def _near(view: RunView, together: Sequence[_AgainstCeiling]) -> Finding:
    one = together[0]
    if len(together) == 1:
        text = (
            f"{view.label(one.figures.target)} comes nearest to a physical limit in {one.figures.label}: "
            f"{number(one.measured)} {one.unit}{_media(one)} are {100 * one.ratio:.0f} % of {one.what} "
            f"({number(one.ceiling)} {one.unit})."
        )
        return Finding("bound", text, (one.figures.target,), one.figures.step, _figures(one))
    shares = [
        f"{view.label(each.figures.target)} with {100 * each.ratio:.0f} %{f' of {one.what}' * (each is one)} "
        f"({number(each.measured)} of {number(each.ceiling)} {each.unit})"
        for each in together
    ]
    cleaning = " Writes to the media count, with those of cleaning." if one.to_media else ""
    text = f"Nearest to a physical limit in {one.figures.label}: {joined(shares)}.{cleaning}"
    ratios = {each.figures.target: each.ratio for each in together}
    return Finding("bound", text, tuple(ratios), one.figures.step, ratios)


def _media(one: _AgainstCeiling) -> str:
    return " to the media, cleaning included," if one.to_media else ""


def _figures(one: _AgainstCeiling) -> dict[str, float]:
    return {"measured": one.measured, "ceiling": one.ceiling}


def _data_sheet(view: RunView, rated: RatedOf, unclaimed: Container[Key]) -> Iterator[Finding]:
    """Yields how the best figure of each kind compares with the data sheet; near ones are only counted.

    Data sheets state settled drives: a figure that supports no claim is not compared. Near figures of twins that were
    fitted to their data sheet are not counted. One drive in several runs counts once, by its farthest figure.
    """
    near: dict[tuple[str, bool, tuple[str, str]], float] = {}
    beyond: set[tuple[str, bool, tuple[str, str]]] = set()
    far: list[Finding] = []
    for target in view.document.targets:
        sheet = rated(target.catalog) if target.catalog else {}
        best: dict[tuple[str, str], StepFigures] = {}
        for figures in view.steps.values():
            if figures.target != target.name or (figures.target, figures.step) in unclaimed:
                continue
            kind = _kind(view, figures)
            if kind and kind in sheet and (kind not in best or figures.headline > best[kind].headline):
                best[kind] = figures
        off: dict[str, list[_AgainstDataSheet]] = {}
        for kind, figures in best.items():
            one = _AgainstDataSheet(figures, sheet[kind].value / (1e6 if kind[0] == "bandwidth" else 1.0))
            row = (target.catalog or "", target.kind == "twin", kind)
            if abs(one.off_pct) >= RATED_PCT:
                beyond.add(row)
                off.setdefault(sheet[kind].source, []).append(one)
            elif not _is_fitted(target):
                near[row] = max(near.get(row, 0.0), one.off_pct, key=abs)
        far += [_off(view, together, source) for source, together in off.items()]
    yield from sorted(far, key=lambda one: -max(map(abs, one.figures.values())))
    met = [off_pct for row, off_pct in near.items() if row not in beyond]
    if met:
        worst, judged = max(met, key=abs), len(met) + len(beyond)
        text = (
            (
                f"One best figure has a rated value. It is within {RATED_PCT:.0f} % of the data sheet "
                f"({signed_pct(worst)})."
            )
            if judged == 1
            else f"{len(met)} of {judged} best figures are within {RATED_PCT:.0f} % of the data sheet. The "
            f"farthest of these: {signed_pct(worst)}."
        )
        yield Finding("agreement", text, (), None, {"worst_pct": worst})


def _is_fitted(target: TargetRecord) -> bool:
    """Returns whether it is a twin that was fitted to its data sheet, so that being near shows nothing."""
    device = known_device(target.catalog) if target.kind == "twin" else None
    return device is not None and device.is_of_data_sheet


def _kind(view: RunView, figures: StepFigures) -> tuple[str, str] | None:
    """Returns the kind of rating that fits a step: large and sequential, or 4 KiB random over the whole drive. None for
    other steps, and for several workloads at once.
    """
    ops = {row.op for row in figures.rows}
    job = view.job_of(figures.target, figures.step)
    if job is None or job.streams or len(ops) != 1 or figures.rows[0].offered_iops is not None:
        return None
    pattern, whole = job.pattern.kind, job.region_size.fraction == 1.0
    op = ops.pop()
    if figures.in_bandwidth:
        return ("bandwidth", op) if pattern == "sequential" else None
    small = figures.rows[0].block_bytes == SMALL_BYTES and pattern == "uniform" and whole
    deep = (figures.asked_depth or 0) >= RATED_DEPTH
    return ("iops", op) if small and deep else None


def _off(view: RunView, together: Sequence[_AgainstDataSheet], source: str) -> Finding:
    """Returns one sentence on all differences from a data sheet, largest first, so that its source is named once."""
    ranked = sorted(together, key=lambda one: -abs(one.off_pct))
    target = ranked[0].figures.target
    listed = "; ".join(_off_text(one) for one in ranked)
    but = ", but this run is shortened, and its drive may be less worn in" if view.is_quick(target) else ""
    text = f"{view.label(target)} at its best, against its data sheet: {listed}{but} ({cited(source)})."
    off_pct = {one.figures.step: one.off_pct for one in ranked}
    return Finding("surprise", text, (target,), ranked[0].figures.step, off_pct)


def _off_text(one: _AgainstDataSheet) -> str:
    limit = one.figures.rows[0].limit
    return (
        f"{one.figures.label} {rate_text(one.figures)}, {abs(one.off_pct):.0f} % "
        f"{'above' if one.off_pct > 0 else 'below'} {number(one.stated)}"
        + (f", limited by {limit.name}" if limit else "")
    )
