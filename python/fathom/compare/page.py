"""A comparison as an offline HTML page: the answer, a chart of all changes, and the table."""

from collections.abc import Mapping, Sequence
from itertools import groupby

from fathom.analysis.finding import joined
from fathom.compare.rows import Compared, Result, Row
from fathom.compare.sides import Side
from fathom.compare.words import answer, asides, change, meaning
from fathom.report.blocks import (
    Answer,
    Block,
    Chart,
    Figure,
    Group,
    Item,
    KeyFigure,
    Points,
    Prose,
    Section,
    Table,
)
from fathom.report.blocks import Row as TableRow
from fathom.report.charts import Span, change_chart
from fathom.report.data import RunData
from fathom.report.opening import opened
from fathom.report.page import page
from fathom.report.style import grouped, plain, when
from fathom.statistics.differences import Verdict

TONE: Mapping[Verdict, str] = {Verdict.BETTER: "good", Verdict.WORSE: "bad"}
ROW_PX = 28


def render(
    base: Side | None,
    news: Sequence[Side],
    results: Sequence[Result],
    contexts: Sequence[Sequence[str]],
    site: Sequence[tuple[str, str]] = (),
) -> str:
    """Returns the page of one or more comparisons with one base: the answer first, the runs last.

    `site` is that of `fathom.report.page.page`.
    """
    sections = [
        section
        for number, (result, context) in enumerate(zip(results, contexts, strict=True))
        for section in _sections(number, result, context)
    ]
    sections.append(_runs(base, news))
    labels = dict.fromkeys(column.label for side in news for column in side.comparison.columns)
    opening, folded = opened(sections)
    return page(f"What changed: {joined(list(labels))}", [], folded, opening=opening, site=site)


def _runs(base: Side | None, news: Sequence[Side]) -> Section:
    """Returns the runs of either side, with their methods and targets."""
    head = [Item("Run"), Item("When"), Item("Method"), Item("Targets"), Item("Measured by")]
    groups = [
        Group(name, [_run(run, side) for run in side.runs])
        for name, side in ((("Base", base),) if base else ()) + tuple(("New", side) for side in news)
    ]
    return Section("runs", "Runs", [Table("", head, groups, numeric=False)])


def _run(run: RunData, side: Side) -> TableRow:
    document = run.document
    cells = [
        Item(plain(document.id), "" if document.seed is None else f"seed {document.seed}"),
        Item(when(document.measured or "not recorded")),
        Item(plain(document.method.name)),
        Item(", ".join(column.label for column in side.comparison.columns)),
        Item(
            plain(document.origin.title)
            if document.origin
            else f"fathom {document.versions.get('fathom', '')}"
        ),
    ]
    return TableRow(Item(""), cells)


def _sections(number: int, result: Result, context: Sequence[str]) -> list[Section]:
    told = [plain(text) for text in answer(result)]
    drawn = [
        block for place, pair in enumerate(result.pairs) for block in _pair(f"change-{number}-{place}", pair)
    ]
    figure = next((block for block in drawn if isinstance(block, Figure)), None)
    key = KeyFigure(told[0], figure, told[1:]) if figure and told else None
    rest = [block for block in drawn if key is None or block is not figure]
    first: list[Block] = [*([] if key else [Answer(told)]), *rest, Prose(meaning(result))]
    built = [Section(f"change-{number}", _title(result), first, short="Changes", key_figure=key)]
    if context:
        built.append(
            Section(f"context-{number}", "What else differs", [Points([plain(text) for text in context])])
        )
    return built


def _title(result: Result) -> str:
    labels = joined([plain(pair.label) for pair in result.pairs])
    bases = joined([plain(pair.base_label) for pair in result.pairs])
    return f"{labels}, beside {bases}"


def _pair(key: str, pair: Compared) -> list[Block]:
    table, drawn = _table(pair), [row for row in pair.rows if row.difference]
    lines = [plain(text) for text in (*(one.words for one in pair.missing), *pair.unsettled)]
    missing: list[Block] = [Points(lines)] if lines else []
    if not drawn:
        return [table, *missing]
    bars = [
        Span(100 * (row.difference.low - 1), 100 * (row.difference.high - 1), _name(row), strong=True)
        for row in drawn
        if row.difference
    ]
    option = change_chart(
        bars,
        [row.difference.change_pct for row in drawn if row.difference],
        [TONE.get(row.verdict, "") for row in drawn],
    )
    chart = Chart(
        key,
        plain(pair.label),
        "change from the base, %, with its interval",
        option,
        "Changes with their intervals; figures in the table below.",
        70 + ROW_PX * len(drawn),
    )
    caption = (
        "A dot is the change from the base, the line its interval. What touches zero may be no change at all."
    )
    return [Figure([chart], caption, table, columns=1), *missing]


def _name(row: Row) -> str:
    return f"{plain(row.workload)}: {row.metric.title}"


def _table(pair: Compared) -> Table:
    head = [
        Item("Base", plain(pair.base_label)),
        Item("New", plain(pair.label)),
        Item("Change"),
        Item("Verdict"),
    ]
    groups = [
        Group(plain(workload), [_row(row) for row in rows])
        for workload, rows in groupby(pair.rows, key=lambda row: row.workload)
    ]
    return Table("", head, groups)


def _row(row: Row) -> TableRow:
    why = (
        plain(row.why)
        or (f"{row.repeats_needed} repeats would decide" if row.repeats_needed else "")
        or "; ".join(asides(row))
    )
    verdict = Item(
        row.verdict.value,
        why,
        "good" if row.verdict is Verdict.BETTER else "bad" if row.verdict is Verdict.WORSE else "quiet",
    )
    cells = [
        Item("–" if row.base is None else grouped(row.base)),
        Item("–" if row.new is None else grouped(row.new)),
        Item(change(row.difference) if row.difference else "–"),
        verdict,
    ]
    return TableRow(Item(row.metric.title, row.metric.unit), cells)
