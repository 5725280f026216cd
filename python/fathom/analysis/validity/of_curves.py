"""Rules on curves: whether the maximum behind their points really is one."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from fathom.analysis.run_view import RunView
from fathom.analysis.validity.note import Note
from fathom.method.curve import curve_of, place_of, search_number
from fathom.output.text import in_others, percent

MAXIMUM_GAP = 0.05
"""Difference from the maximum that chance explains: a point has other arrivals than the maximum."""


@dataclass(frozen=True)
class Rates:
    """The rates of one step of a curve, all operations together, I/O per s."""

    step: str
    offered_iops: float | None
    iops: float


@dataclass(frozen=True)
class Gap:
    """An overloaded point of a curve, and by what share of the curve's maximum it did more; negative: less."""

    share: float
    maximum: Rates
    point: Rates


def unsettled_maximum(view: RunView) -> Iterable[Note]:
    """Yields a note where a curve's points exceed or miss its maximum: one note a target, of the curve that is furthest
    off.
    """
    by_target: dict[str, list[Gap]] = {}
    for (target, _), found in maximum_gaps(view).items():
        by_target.setdefault(target, []).append(found)
    for target, found in by_target.items():
        gap = max(found, key=lambda one: abs(one.share))
        maximum, most = gap.maximum, gap.point
        number = search_number(most.step)
        where = f"at its point {number}" if number else f"where {place_of(most.step)} % of it were offered"
        others = in_others("the same", len(found) - 1, "curve")
        yield Note(
            "unsettled-maximum",
            "warning",
            target,
            maximum.step,
            f"the closed loop reached {maximum.iops:,.0f} IOPS, the curve's maximum, and later {most.iops:,.0f} "
            f"were done {where} ({percent(gap.share, '+.0f')}). The target had not settled when its maximum was "
            f"measured, so shares of it mislead{others}",
            "read this curve by its rates; add a precondition step with the same I/O before it"
            + (", and run it without --quick" if view.document.quick else ""),
        )


def maximum_gaps(view: RunView) -> Mapping[tuple[str, str], Gap]:
    """Returns, by target and name, the curves whose overloaded points did clearly more or less than their maximum."""
    found: dict[tuple[str, str], Gap] = {}
    for key, (maximum, *points) in _curves(view).items():
        overloaded = [point for point in points if (point.offered_iops or 0.0) >= maximum.iops]
        if not overloaded or not maximum.iops:
            continue
        most = max(overloaded, key=lambda point: point.iops)
        gap = Gap(most.iops / maximum.iops - 1, maximum, most)
        if abs(gap.share) > MAXIMUM_GAP:
            found[key] = gap
    return found


def _curves(view: RunView) -> Mapping[tuple[str, str], Sequence[Rates]]:
    """Returns, by target and name, each curve that has points: its maximum, then the points; none of parts."""
    rows = [row for row in view.points.to_pylist() if row["target"] not in view.totals]
    found: dict[tuple[str, str], list[Rates]] = {}
    for (target, step), own in groupby(rows, lambda row: (row["target"], row["step"])):
        found.setdefault((target, curve_of(step)), []).append(_rates(step, list(own)))
    return {key: steps for key, steps in found.items() if len(steps) > 1 and steps[0].step == key[1]}


def _rates(step: str, rows: Sequence[Mapping[str, float | None]]) -> Rates:
    return Rates(step, rows[0]["offered_iops"], sum(row["iops"] or 0.0 for row in rows))
