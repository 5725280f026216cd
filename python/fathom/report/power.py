"""A step's mean power in a table: its figure with half its 95 % interval, or why there is none."""

from fathom.analysis.efficiency import Power, over_repeats, power
from fathom.columns.schema import Point
from fathom.report.blocks import Item
from fathom.report.comparison import Column, margin_of
from fathom.report.data import RunData
from fathom.report.repeats import of_each
from fathom.report.style import grouped
from fathom.statistics.uncertainty import Interval

NOTE = (
    "± of power is half its 95 % interval. It covers the stretches of the window whose energy is known, or "
    "repeats. Where a twin may end a window early, the stretches are 16 to 64 equal parts. It includes the "
    "accuracy given for a power meter, but not the error of a sensor or of a twin's model of power."
)


def power_item(column: Column, point: Point, drives: int = 1) -> Item | None:
    """Returns the watts of one of `drives` equal drives over the window; None where no energy is known."""
    if not point.joules or not point.window_s:
        return None
    found = _over(column, point)
    over = found.interval if found else None
    margin = margin_of(over.mean, over.low, over.high) if over else ""
    why = (
        ""
        if margin
        else (f"no interval: {found.unsure if found else 'energy is known only for the whole window'}")
    )
    return Item(grouped(point.joules / point.window_s / drives), margin, title=why)


def _over(column: Column, point: Point) -> Power | None:
    """Returns the mean power with its interval: over repeats, of a single run over its stretches; None where these are
    not kept.
    """
    run = column.run
    points = of_each(run, point)
    repeats = run.repeats if len(points) > 1 else run.repeats[:1]
    each = [found for one, own in zip(repeats, points, strict=False) if (found := _of_one(one, own))]
    if len(each) < len(repeats) or not each:
        return None
    over = over_repeats([(one.watts, one.interval) for one in each])
    return Power(over, sum(one.stretches for one in each), watts=sum(one.watts for one in each) / len(each))


def _of_one(run: RunData, point: Point) -> Power | None:
    """Returns what a twin knew of its own window, else what the stretches add up to."""
    bounds = point.interval("joules")
    if bounds is None or not point.joules or not point.window_s:
        return power(run.energies(point.target, point.step), run.meter_accuracy(point.target, point.step))
    watts, low, high = (joules / point.window_s for joules in (point.joules, *bounds))
    return Power(Interval(watts, low, high, float(point.n or 0)), 1, watts=watts)
