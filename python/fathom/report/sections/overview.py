"""All workloads of an application suite at a glance: each target's maximum beside the published one."""

from collections.abc import Sequence

from fathom.analysis.settled import no_target
from fathom.report.axes import Axis, rounded
from fathom.report.blocks import Chart, Figure, Group, Item, KeyFigure, Row, Section, Table
from fathom.report.charts import Bars, bar_chart, row_px
from fathom.report.comparison import Comparison
from fathom.report.findings import Gate, gate
from fathom.report.legend import legend_of
from fathom.report.predicted import WHISKERS, bar_range, range_text, ranges_note
from fathom.report.published import NEAR_PCT, error_item
from fathom.report.style import compact, grouped, slot
from fathom.report.target_curves import TargetCurve, Workload, workloads_of

ORDER = 29
LEAST_WORKLOADS = 6
MOST_WORKLOADS = 16
ROW_PX = 30
"""Height of a name of two lines."""


def build(comparison: Comparison) -> Section | None:
    """Returns the overview of six or more workloads with curves; the curves of fewer need none."""
    workloads = workloads_of(comparison)
    if len(workloads) < LEAST_WORKLOADS:
        return None
    shown = workloads[:MOST_WORKLOADS]
    labels = _names(shown)
    bars: list[Bars] = []
    published: list[Bars] = []
    for column in comparison.columns:
        drawn = [_of(workload, column.index) for workload in shown]
        place = slot(column.index)
        ranges = [bar_range(one.spread, one.maximum.iops) if one else None for one in drawn]
        rates = [rounded(one.maximum.iops) if one else None for one in drawn]
        bars.append(Bars(column.short, place, rates, ranges))
        stated = [rounded(one.published[0]) if one and one.published else None for one in drawn]
        published.append(Bars(column.short, place, stated))
    option = bar_chart(Axis("IOPS", "count", low=0), labels, bars, published)
    chart = Chart(
        "overview",
        "The most of each workload",
        sub="IOPS; hollow: published",
        option=option,
        summary="Maximum IOPS by workload and target; the table below has the figures.",
        height_px=50 + len(shown) * row_px(labels, max(ROW_PX, 10 + 14 * len(comparison.columns))),
    )
    caption = "Each workload's maximum in a closed loop, reads and writes together. A hollow bar is the published one."
    caption += WHISKERS * any(one.whiskers for one in bars)
    figure = Figure([chart], caption, _table(shown, comparison), legend_of(comparison.columns), columns=1)
    out = gate(comparison)
    claimed = [
        (workload, [one for one in workload.drawn if not out.get((one.column.short, one.maximum.step))])
        for workload in workloads
    ]
    key = KeyFigure(_sentence(claimed, out), figure, _reasons(claimed))
    return Section("overview", "All workloads", [], short="Overview", key_figure=key)


def _names(workloads: Sequence[Workload]) -> list[str]:
    """Returns what stands before the colon of each label; the labels where that is the same for two."""
    names = [workload.label.partition(":")[0] for workload in workloads]
    return names if len(set(names)) == len(names) else [workload.label for workload in workloads]


def _of(workload: Workload, index: int) -> TargetCurve | None:
    return next((one for one in workload.drawn if one.column.index == index), None)


def _sentence(claimed: Sequence[tuple[Workload, list[TargetCurve]]], out: Gate) -> str:
    """Returns the target with the most maxima; for a single target, its greatest."""
    contested = [max(drawn, key=_rate).column.short for _, drawn in claimed if len(drawn) > 1]
    if contested:
        best = max(dict.fromkeys(contested), key=contested.count)
        return f"{best} does the most in {contested.count(best)} of {len(contested)} workloads."
    alone = [(workload, drawn[0]) for workload, drawn in claimed if drawn]
    if not alone:
        return f"{no_target(out.values()).capitalize()}, so no rate is claimed."
    workload, one = max(alone, key=lambda pair: _rate(pair[1]))
    rate = compact(_rate(one))
    # What stands behind the colon is in the table: block size, mix, depth.
    name = workload.label.partition(":")[0]
    return f"{one.column.short} does {rate} IOPS of {name}, its most of {len(alone)} workloads."


def _rate(one: TargetCurve) -> float:
    return one.maximum.iops


def _reasons(claimed: Sequence[tuple[Workload, list[TargetCurve]]]) -> list[str]:
    """Returns the number of published maxima that are met, and the greatest lead of the best target."""
    errors = [
        100 * (_rate(one) / one.published[0] - 1) for _, drawn in claimed for one in drawn if one.published
    ]
    near = sum(abs(error) <= NEAR_PCT for error in errors)
    reasons = [f"{near} of {len(errors)} published maxima are met within ten percent."] if errors else []
    ratios = [
        (ranked[0].maximum.iops / ranked[1].maximum.iops, workload, ranked[0])
        for workload, drawn in claimed
        if len(drawn) > 1 and (ranked := sorted(drawn, key=_rate, reverse=True)) and ranked[1].maximum.iops
    ]
    if ratios:
        ratio, workload, one = max(ratios, key=lambda found: found[0])
        reasons.append(
            f"{one.column.short} is furthest ahead in {workload.label}: {ratio:.2f} times the next."
        )
    return reasons


def _table(workloads: Sequence[Workload], comparison: Comparison) -> Table:
    """Returns workloads x targets: measured, published and the difference."""
    head = [
        Item(column.label, text, slot=slot(column.index))
        for column in comparison.columns
        for text in ("IOPS", "published", "difference")
    ]
    rows = [
        Row(
            Item(workload.label),
            [cell for column in comparison.columns for cell in _cells(_of(workload, column.index))],
        )
        for workload in workloads
    ]
    any_range = any(one.spread for workload in workloads for one in workload.drawn)
    return Table("Workload", head, [Group("", rows)], ranges_note(any_range=any_range))


def _cells(one: TargetCurve | None) -> list[Item]:
    none = Item("–", tone="quiet")
    if one is None:
        return [none] * 3
    rate = Item(grouped(_rate(one)), range_text(one.spread, _rate(one)), tone="strong")
    if one.published is None:
        return [rate, none, none]
    error = error_item(100 * (_rate(one) / one.published[0] - 1))
    return [rate, Item(grouped(one.published[0])), error]
