"""A step's mean power in a table: its figure with half its 95 % interval, or why there is none."""

from fathom.analysis.efficiency import Power, over_repeats, power
from fathom.report.blocks import Item
from fathom.report.comparison import Column, margin_of
from fathom.report.repeats import of_each
from fathom.report.rows import Point
from fathom.report.style import grouped

NOTE = (
    "± of power is half its 95 % interval over the stretches of the window whose energy is known, or over repeats; the "
    "accuracy given for a power meter is in it, the error of a sensor or of a twin's model of power is not."
)


def power_item(column: Column, point: Point, drives: int = 1) -> Item | None:
    """Watts over the window, of one of so many equal drives; None where no energy is known."""
    if not point.joules or not point.window_s:
        return None
    found = _over(column, point)
    over = found.interval if found else None
    margin = margin_of(over.mean, over.low, over.high) if over else ""
    why = "" if margin else f"no interval: {found.unsure if found else 'energy is known of the window alone'}"
    return Item(grouped(point.joules / point.window_s / drives), margin, title=why)


def _over(column: Column, point: Point) -> Power | None:
    """Mean power with its interval: over repeats, of a single run over its stretches; None where these are not kept."""
    run = column.run
    repeats = run.repeats if len(of_each(run, point)) > 1 else run.repeats[:1]
    each = [
        found
        for one in repeats
        if (
            found := power(
                one.energies(point.target, point.step), one.meter_accuracy(point.target, point.step)
            )
        )
    ]
    if len(each) < len(repeats) or not each:
        return None
    over = over_repeats([(one.watts, one.interval) for one in each])
    return Power(over, sum(one.stretches for one in each), watts=sum(one.watts for one in each) / len(each))
