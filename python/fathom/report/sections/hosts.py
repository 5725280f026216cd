"""The load by part: the hosts of a fleet or the drives of an array, step by step, beside their total."""

from collections.abc import Sequence
from statistics import median

from fathom.analysis.balance import FAIR_FROM, jain
from fathom.columns.schema import Point
from fathom.method.curve import is_point
from fathom.method.job import is_uneven
from fathom.report.blocks import Block, Group, Item, Prose, Row, Section, Table
from fathom.report.comparison import Comparison, part_name
from fathom.report.data import RunData
from fathom.report.style import grouped, plain, seconds
from fathom.runs.document import TargetRecord
from fathom.statistics.means import mean_by_count

ORDER = 27
HEAD = ("IOPS", "MB/s", "Share", "Latency, mean", "p99", "Window, n")
SUMMED = "Sum of whole steps"
NONE = Item("–", tone="quiet")


def build(comparison: Comparison) -> Section | None:
    """Returns a table for each total that has parts."""
    blocks = [
        block
        for run in comparison.runs
        for target in run.document.targets
        for block in _blocks(run, target, run.document.parts_of(target))
    ]
    return Section("parts", "How the load was shared", blocks, short="Parts") if blocks else None


def _blocks(run: RunData, total: TargetRecord, parts: Sequence[TargetRecord]) -> list[Block]:
    if not parts:
        return []
    drives = all(target.is_drive_of(total) for target in parts)
    names = {target.name: part_name(target, total) for target in parts}
    groups, sentences = [], []
    for step in run.steps.values():
        own = [point for point in run.points if point.step == step.name and not is_point(point.step)]
        for op in dict.fromkeys(point.op for point in own):
            points = [point for point in own if point.op == op and point.target in names]
            whole = next((point for point in own if point.op == op and point.target == total.name), None)
            if whole is None or not points:
                continue
            label = plain(step.label) + (f", {plain(op)}" if len({point.op for point in own}) > 1 else "")
            groups.append(Group(label, [*_rows(points, names), *_totals(points, whole)]))
            meant = (job := run.jobs.get(step.name)) is not None and is_uneven(job)
            sentences.append(_sentence(label, points, names, "drives" if drives else "hosts", meant=meant))
    head = [Item(text, unit) for text, unit in zip(HEAD, ("", "", "%", "us", "us", ""), strict=True)]
    active = "drive" if drives else "host"
    two = any(row.label.text == SUMMED for group in groups for row in group.rows)
    footnote = (
        f"The {'first ' * two}total covers the seconds in which every {active} was active, and is the headline. "
        + f"The second adds up the {active}s' whole steps. " * two
        + "MB/s are 10⁶ bytes per second, latencies service latencies."
    )
    table = Table(plain(total.label or total.name), head, groups, [footnote])
    return [Prose(sentences), table] if groups else []


def _rows(points: Sequence[Point], names: dict[str, str]) -> list[Row]:
    moved = sum(point.iops or 0 for point in points)
    return [Row(Item(names[point.target]), _cells(point, moved)) for point in points]


def _cells(point: Point, moved: float) -> list[Item]:
    share = Item(f"{100 * (point.iops or 0) / moved:.1f}") if moved else NONE
    return [
        _number(point.iops),
        _number(point.mbps),
        share,
        _number(point.mean_us),
        _number(point.p99_us),
        Item(seconds(point.window_s), f"n {point.n:,}") if point.window_s and point.n else NONE,
    ]


def _totals(points: Sequence[Point], whole: Point) -> list[Row]:
    n = sum(point.n or 0 for point in points)
    longest_s = max(point.window_s or 0 for point in points)
    summed = [
        _number(sum(point.iops or 0 for point in points)),
        _number(sum(point.mbps or 0 for point in points)),
        Item("100.0"),
        _number(mean_by_count((point.n, point.mean_us) for point in points)),
        NONE,
        Item(seconds(longest_s), f"n {n:,}"),
    ]
    total = Row(Item("Total, all active", tone="strong"), _cells(whole, whole.iops or 0))
    if whole.n == n:
        return [total]
    return [total, Row(Item(SUMMED, tone="quiet"), summed)]


def _sentence(label: str, points: Sequence[Point], names: dict[str, str], kind: str, *, meant: bool) -> str:
    """Returns how even the rates are. `meant`: the load gives unequal parts on purpose."""
    rates = {names[point.target]: point.iops or 0 for point in points}
    index = jain(list(rates.values()))
    if index is None:
        return f"{label}: nothing moved."
    slow, fast = min(rates, key=lambda name: rates[name]), max(rates, key=lambda name: rates[name])
    over = f"{'even' if index >= FAIR_FROM else 'uneven'} over {len(rates)} {kind}"
    shared = f"the load gives {len(rates)} {kind} unequal parts" if meant else over
    if rates[slow] == rates[fast]:
        spread = f"each had {grouped(rates[slow])} IOPS"
    else:
        spread = (
            f"{slow} had least ({grouped(rates[slow])} IOPS), {fast} most ({grouped(rates[fast])}), "
            f"the median is {grouped(median(rates.values()))}"
        )
    return f"{label}: {shared} (Jain's index {index:.3f}); {spread}."


def _number(value: float | None) -> Item:
    return NONE if value is None else Item(grouped(value))
