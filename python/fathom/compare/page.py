"""A comparison as an offline HTML page: the answer, a chart of all changes, and the table."""

from collections.abc import Mapping, Sequence
from itertools import groupby

from fathom.analysis.finding import joined
from fathom.compare.context import single_runs, warned
from fathom.compare.phases import NOTE, PhasePair
from fathom.compare.rows import Compared, Result, Row
from fathom.compare.sides import Side
from fathom.compare.views import PHASE_HEADINGS
from fathom.compare.words import WIDEST, answer, asides, change_of, headline, meaning
from fathom.output.text import many_of
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
from fathom.report.charts import Span, change_chart, row_px
from fathom.report.data import RunData
from fathom.report.findings import SIMULATED
from fathom.report.html_page import Page
from fathom.report.opening import opened
from fathom.report.recorded import SHOWN_PHASES
from fathom.report.style import grouped, plain, when
from fathom.runs.document import maker_of
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

    `site` is that of `fathom.report.html_page.Page`.
    """
    sections = [
        section
        for number, (result, context) in enumerate(zip(results, contexts, strict=True))
        for section in _sections(number, result, context, is_alone=len(results) == 1)
    ]
    sections.append(_runs(base, news))
    labels = dict.fromkeys(column.label for side in news for column in side.comparison.columns)
    sides = [*([base] if base else []), *news]
    shortened = dict.fromkeys(text for side in sides for text in side.comparison.shortenings)
    opening, folded = opened(sections, _caveats(base, news, results))
    title = f"What changed: {joined(list(labels))}"
    return Page(title, folded, opening=opening, shortened=list(shortened), site=site).html()


def _caveats(base: Side | None, news: Sequence[Side], results: Sequence[Result]) -> list[str]:
    """Returns what a reader must know before the changes: what is simulated, warned of, and not repeated."""
    sides = [*([base] if base else []), *news]
    columns = [column for side in sides for column in side.comparison.columns]
    twins = sum(column.is_twin for column in columns)
    who = "All targets are" if twins == len(columns) else f"{twins} of {len(columns)} targets are"
    warnings = {text for new in news for text in warned(base, new)}
    many = (
        "One warning of the runs limits"
        if len(warnings) == 1
        else f"{len(warnings)} warnings of the runs limit"
    )
    where = "it is" if len(warnings) == 1 else "they are"
    return [
        *([f"{who} {SIMULATED}"] if twins else []),
        *([f"{many} these changes; {where} under “What else differs”."] if warnings else []),
        *dict.fromkeys(
            text for new, result in zip(news, results, strict=True) for text in single_runs(base, new, result)
        ),
    ]


def _runs(base: Side | None, news: Sequence[Side]) -> Section:
    """Returns the runs of either side, with their methods and targets."""
    head = [Item("When"), Item("Method"), Item("Targets"), Item("Made by")]
    groups = [
        Group(name, [_run(run, side) for run in side.runs])
        for name, side in ((("Base", base),) if base else ()) + tuple(("New", side) for side in news)
    ]
    return Section("runs", "Runs", [Table("Run", head, groups, numeric=False)])


def _run(run: RunData, side: Side) -> TableRow:
    document = run.document
    cells = [
        Item(when(document.measured or "not recorded")),
        Item(plain(document.method.name)),
        Item(", ".join(column.label for column in side.comparison.columns)),
        Item(plain(maker_of(document.program, document.made))),
    ]
    seed = "" if document.seed is None else f"seed {document.seed}"
    return TableRow(Item(plain(document.id), seed), cells)


def _sections(number: int, result: Result, context: Sequence[str], *, is_alone: bool) -> list[Section]:
    told = [plain(text) for text in answer(result)]
    drawn = [
        block for place, pair in enumerate(result.pairs) for block in _pair(f"change-{number}-{place}", pair)
    ]
    figure = next((block for block in drawn if isinstance(block, Figure)), None)
    first_said = plain(headline(result))
    key = KeyFigure(first_said, figure, [text for text in told if text != first_said]) if figure else None
    rest = [block for block in drawn if key is None or block is not figure]
    sides = Points([plain(line) for line in _sides(result)])
    first: list[Block] = [Answer(told), sides, *rest, Prose(meaning(result))]
    title = "Changes" if is_alone else f"Changes of {joined([plain(pair.label) for pair in result.pairs])}"
    built = [Section(f"change-{number}", title, first, short="Changes", key_figure=key)]
    if context:
        built.append(
            Section(f"context-{number}", "What else differs", [Points([plain(text) for text in context])])
        )
    return built


def _sides(result: Result) -> list[str]:
    """Returns what base and new stand for, once for each pair."""
    return [f"New: {pair.label}. Base: {pair.base_label}." for pair in result.pairs]


def _pair(key: str, pair: Compared) -> list[Block]:
    table = _table(pair)
    drawn = [(row, pct) for row in pair.rows if (pct := row.change_pct) is not None]
    lines = [plain(text) for text in (*(one.words for one in pair.missing), *pair.unsettled)]
    missing: list[Block] = [Points(lines)] if lines else []
    missing += _phases(pair.phases)
    if not drawn:
        return [table, *missing]
    hollow = [row.difference is None for row, _ in drawn]
    option = change_chart(
        [_span(row, pct) for row, pct in drawn],
        [pct for _, pct in drawn],
        [TONE.get(row.verdict, "") for row, _ in drawn],
        hollow,
    )
    chart = Chart(
        key,
        plain(pair.label),
        sub="change from the base, %" + ("" if all(hollow) else ", with its interval"),
        option=option,
        summary="Changes from the base; figures in the table below.",
        height_px=70 + row_px([_name(row) for row, _ in drawn], ROW_PX) * len(drawn),
    )
    solid = (
        "A dot is the change from the base, the line its interval. What touches zero may be no change at all."
    )
    empty = "A hollow dot has no interval: one run. --repeats 3 gives intervals."
    caption = " ".join([*([] if all(hollow) else [solid]), *([empty] if any(hollow) else [])])
    return [Figure([chart], caption, table, columns=1), *missing]


def _phases(phases: Sequence[PhasePair]) -> list[Block]:
    """Returns the table of a replayed trace's phases, base and new in one cell; nothing without them."""
    if not phases:
        return []
    groups = [
        Group(when_, [TableRow(Item(many_of(one.new.op)), [Item(text) for text in one.cells]) for one in own])
        for when_, own in groupby(phases, key=lambda one: one.when)
    ]
    head = [Item(text) for text in PHASE_HEADINGS]
    return [Table("Phases of the trace, base → new", head, groups, [NOTE], shown=SHOWN_PHASES)]


def _span(row: Row, change_pct: float) -> Span:
    """Returns a row's interval in percent; without one, its change alone."""
    low, high = (row.difference.low, row.difference.high) if row.difference else (1 + change_pct / 100,) * 2
    return Span(100 * (min(low, WIDEST) - 1), 100 * (min(high, WIDEST) - 1), _name(row), strong=True)


def _name(row: Row) -> str:
    return f"{plain(row.workload)}: {row.metric.title}"


def _table(pair: Compared) -> Table:
    head = [Item("Base"), Item("New"), Item("Change"), Item("Verdict")]
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
        Item(change_of(row)),
        verdict,
    ]
    return TableRow(Item(row.metric.title, row.metric.unit), cells)
