"""Rules on write amplification: whether writes had lasted long enough, and whether it was still changing."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fathom._core import Job
from fathom.analysis.disk_caches import rewrites_in_place
from fathom.analysis.run_view import Key, RunView
from fathom.analysis.validity.note import Note
from fathom.output.text import in_others, percent
from fathom.statistics.series import Floats, as_series
from fathom.statistics.steady import WAF_LIMIT
from fathom.statistics.trend import relative_drift

UNSETTLED_WAF = "unsettled-waf"
"""The rule of the note on a WAF that may still change."""
LEAST_X = 1.0
"""Multiple of its region that a pattern must write before the WAF is its own: earlier data has then been replaced."""
PARTS = 10
"""Parts of a window whose WAFs are compared: real drives count too coarsely for seconds."""


@dataclass(frozen=True)
class _Unsettled:
    step: str
    written_x: float | None
    drift: float | None
    is_buffered: bool

    @property
    def words(self) -> str:
        """What was seen: a drift shows that the figure changes, little written that it may."""
        if self.is_buffered:
            return "WAF is not known: all that the window wrote still waited in a buffer"
        said = []
        if self.written_x is not None:
            said.append(f"{self.written_x:.2g}x of its region was written since its pattern began")
        if self.drift is None:
            return f"WAF may not have settled: {said[0]}, so the figure may still change"
        said.append(f"it moves by {percent(self.drift, '+.0f')} over the window")
        return f"WAF had not settled: {' and '.join(said)}. The figure is still changing"


def unsettled_waf(view: RunView) -> Iterable[Note]:
    """Yields a note where WAF was still changing from one pattern to the next: one per target, on the worst step.

    Writes that all still waited in a buffer count as such a step.
    """
    little = little_written(view)
    for target in view.document.targets:
        found: list[_Unsettled] = []
        for key, figures in view.steps.items():
            if key[0] != target.name:
                continue
            is_known = any(row.waf is not None for row in figures.rows)
            is_buffered = not is_known and _is_buffered(view, key)
            drift = _drift(view, key) if is_known else None
            if is_buffered or (is_known and key in little) or drift is not None:
                found.append(_Unsettled(key[1], little.get(key), drift, is_buffered))
        if found:
            worst = min(
                found, key=lambda one: (LEAST_X if one.written_x is None else one.written_x, one.step)
            )
            others = in_others("the same", len(found) - 1, "step")
            yield Note(
                UNSETTLED_WAF,
                "info",
                target.name,
                worst.step,
                f"{worst.words}{others}",
                "write the same way for longer before measuring (`settle` in a copy of the method)",
            )


def little_written(view: RunView) -> Mapping[Key, float]:
    """Maps each step that wrote too little for a WAF of its own to how often its region was written.

    A step that was judged steady wrote enough. A target whose capacity another program did not record is not judged,
    and neither is a conventional disk.
    """
    written = _written_x(view)
    known = {
        one.name
        for one in view.document.targets
        if one.capacity_bytes is not None and not rewrites_in_place(one)
    }
    return {
        key: x
        for key, figures in view.steps.items()
        if (x := written.get(key, 0.0)) < LEAST_X
        and key[0] in known
        and not any(row.steady for row in figures.rows)
    }


def _written_x(view: RunView) -> dict[Key, float]:
    """Returns per step how often its region was written since its pattern began, by it and the steps before."""
    bytes_ = view.written_bytes()
    out: dict[Key, float] = {}
    for target in view.document.targets:
        if target.capacity_bytes is None:
            continue
        origin = view.origin_of(target)
        # A region is the same part of each drive of an array.
        units = len(origin.drives) or 1
        unit_bytes = round(target.known_bytes * (target.scale or 1.0) / units)
        pattern, since = None, 0
        for step, job in origin.jobs.items():
            wrote = bytes_.get((target.name, step), 0)
            own = _pattern(job)
            if own is None:
                continue
            if own != pattern:
                pattern, since = own, 0
            since += wrote
            region_bytes = origin.taken_share(target) * job.region_on(unit_bytes)[1] * units * origin.copies
            out[target.name, step] = since / max(1.0, region_bytes)
    return out


def _pattern(job: Job) -> object:
    """Returns where and in what pieces a job writes; the size of pieces in sequence does not matter. None: it only
    reads.
    """
    if job.streams:
        found = [_pattern(stream) for stream in job.streams.values()]
        return found if any(found) else None
    if not job.destructive:
        return None
    in_order = job.pattern.kind == "sequential"
    ops = [op for op in job.ops if op.op not in ("read", "flush")]
    pieces = [(op.op, None if in_order else op.sizes) for op in ops]
    return [job.pattern, job.region_start, job.region_size, job.placement, pieces]


def _is_buffered(view: RunView, key: Key) -> bool:
    """Returns whether a step wrote, and a drive that counts its media writes made none."""
    media, host = _written(view, key)
    return bool(media) and not any(media.values()) and any(host.values())


def _written(view: RunView, key: Key) -> tuple[dict[float, float], dict[float, float]]:
    """Returns the bytes that went to the media, and those of the host, by the start of their second."""
    counted = view.telemetry.series
    media, host = (_by_start(counted.get((f"{whose}_write_bytes", key))) for whose in ("media", "host"))
    return media, host or _by_start(view.intervals.written.get(key))


def _drift(view: RunView, key: Key) -> float | None:
    """Returns how much WAF changes over a step's window, as a fraction; None where a settled one may change as much."""
    media, host = _written(view, key)
    starts = sorted(media.keys() & host.keys())
    length = len(starts) // PARTS
    if not length:
        return None
    parts = [starts[first : first + length] for first in range(0, length * PARTS, length)]
    wafs = [sum(media[one] for one in part) / max(1.0, sum(host[one] for one in part)) for part in parts]
    drift = relative_drift(as_series(wafs))
    beyond = drift.low > WAF_LIMIT or drift.high < -WAF_LIMIT
    return drift.value if beyond else None


def _by_start(series: tuple[Floats, Floats] | None) -> dict[float, float]:
    sums: dict[float, float] = {}
    for start_s, value in zip(*(column.tolist() for column in series or ()), strict=True):
        sums[start_s] = sums.get(start_s, 0.0) + value
    return sums
