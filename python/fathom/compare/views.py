"""A comparison as a terminal table, as Markdown, as JSON and as JUnit's XML."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from math import isfinite
from xml.etree import ElementTree

from rich.console import Console
from rich.text import Text

from fathom.compare.gate import Outcome
from fathom.compare.phases import FIGURES, NOTE, PhasePair
from fathom.compare.rows import Missing, Result, Row
from fathom.compare.words import answer, asides, change, change_of, limits_of, meaning, order_of, workload_of
from fathom.output.table import flush_table
from fathom.output.text import many_of
from fathom.report.style import grouped, plain
from fathom.statistics.differences import Verdict

STYLE = {Verdict.BETTER: "green", Verdict.WORSE: "bold red", Verdict.LEVEL: "", Verdict.UNKNOWN: "dim"}
SCHEMA = "fathom-compare/1"
HEADINGS = ("  metric", "base", "new", "change")
ORDER_HEADING = "real\ndrives"
PHASE_HEADINGS = (*FIGURES.values(), "change")


def print_result(console: Console, result: Result, context: Sequence[str]) -> None:
    """Prints the answer, what else differs, and a table per pair."""
    for text in answer(result):
        console.print(Text(plain(text)))
    for text in context:
        console.print(Text(plain(text), style="yellow"))
    for pair in result.pairs:
        if not (pair.rows or pair.missing or pair.unsettled or pair.phases):
            continue
        console.print()
        console.print(Text(plain(f"{pair.label}, beside {pair.base_label}"), style="bold"))
        _print_rows(console, pair.rows)
        for text in (*(one.words for one in pair.missing), *pair.unsettled):
            console.print(Text(plain(text), style="yellow"))
        if pair.phases:
            _print_phases(console, pair.phases)
    for text in meaning(result):
        console.print(Text(text, style="dim"))


def _print_rows(console: Console, rows: Sequence[Row]) -> None:
    """Prints a heading and a table per workload. All tables have the same column widths."""
    lines = {id(row): _line(row) for row in rows}
    widths = [max(len(line[place]) for line in [HEADINGS, *lines.values()]) for place in range(len(HEADINGS))]
    has_order = any(row.order_chance is not None for row in rows)
    most_said = max(len(_verdict(row)) for row in rows) if rows else 0
    for number, (workload, own) in enumerate(groupby(rows, key=lambda row: row.workload)):
        console.print(Text(plain(workload)))
        table = flush_table(None, gap=2)
        table.show_header = number == 0
        for place, (heading, width) in enumerate(zip(HEADINGS, widths, strict=True)):
            table.add_column(heading, width=width, justify="right" if place else "left", vertical="bottom")
        table.add_column(width=most_said if has_order else None)
        if has_order:
            table.add_column(ORDER_HEADING, width=len("drives"), justify="right", vertical="bottom")
        for row in own:
            order = [order_of(row)] if has_order else []
            table.add_row(*lines[id(row)], Text(_verdict(row), style=STYLE[row.verdict]), *order)
        console.print(table)


def _print_phases(console: Console, phases: Sequence[PhasePair]) -> None:
    """Prints a row for each phase and operation of a replayed trace, base and new in one cell."""
    table = flush_table(None, gap=2)
    table.show_header = True
    table.add_column("phase of the trace")
    for heading in ("", *PHASE_HEADINGS):
        table.add_column(heading, justify="right" if heading else "left")
    for pair in phases:
        table.add_row(pair.when, many_of(pair.new.op), *pair.cells)
    console.print(table)
    console.print(Text(NOTE, style="dim"))


def _line(row: Row) -> tuple[str, str, str, str]:
    unit = f", {row.metric.unit}" if row.metric.unit not in ("", row.metric.title) else ""
    return f"  {row.metric.title}{unit}", _figure(row.base), _figure(row.new), change_of(row)


def _figure(value: float | None) -> str:
    return "–" if value is None else grouped(value)


def _verdict(row: Row) -> str:
    """Returns the verdict, or why there is none, and the limits that are not kept."""
    return "; ".join([plain(row.why) or row.verdict.value, *limits_of(row)])


def _said(row: Row) -> str:
    """Returns the verdict, or why there is none, and what is said beside it."""
    return "; ".join([plain(row.why) or row.verdict.value, *asides(row)])


def to_markdown(result: Result, context: Sequence[str]) -> str:
    """Returns the comparison as Markdown that GitHub and GitLab draw."""
    lines = [f"## {_cell(result.new)} beside {_cell(result.base)}", ""]
    lines += [f"- {_cell(text)}" for text in (*answer(result), *context)]
    for pair in result.pairs:
        lines += ["", f"### {_cell(pair.label)}, beside {_cell(pair.base_label)}", ""]
        lines += ["| workload | metric | base | new | change | |", "|---|---|--:|--:|--:|---|"]
        for row in pair.rows:
            cells = (
                row.workload,
                row.metric.title,
                _figure(row.base),
                _figure(row.new),
                change_of(row),
                _said(row),
            )
            lines.append(f"| {' | '.join(map(_cell, cells))} |")
        lines += [f"- {_cell(text)}" for text in (*(one.words for one in pair.missing), *pair.unsettled)]
        lines += _phase_lines(pair.phases)
    return "\n".join([*lines, "", *meaning(result)]) + "\n"


def _phase_lines(phases: Sequence[PhasePair]) -> list[str]:
    if not phases:
        return []
    heads = ("phase of the trace", "", *PHASE_HEADINGS)
    table = [heads, ("---", "---", *("--:" for _ in PHASE_HEADINGS))]
    lines = [f"| {' | '.join(row)} |" for row in table]
    for pair in phases:
        lines.append(f"| {' | '.join(map(_cell, (pair.when, many_of(pair.new.op), *pair.cells)))} |")
    return ["", *lines, "", NOTE]


def _cell(text: str) -> str:
    """Returns text of a table's cell: nothing in it is markup."""
    for char in "\\`*_[]<>|":
        text = text.replace(char, f"\\{char}")
    return plain(text)


def to_json(result: Result, context: Sequence[str]) -> dict[str, object]:
    """Returns the comparison as a document of JSON values."""
    return {
        "base": result.base,
        "new": result.new,
        "confidence": result.confidence,
        "level_pct": result.level_pct,
        "answer": answer(result),
        "context": list(context),
        "pairs": [
            {
                "target": pair.label,
                "base": pair.base_label,
                "missing": [one.words for one in pair.missing],
                "unsettled": list(pair.unsettled),
                "rows": [_row_json(row) for row in pair.rows],
                "phases": [phase.to_json() for phase in pair.phases],
            }
            for pair in result.pairs
        ],
    }


def _row_json(row: Row) -> dict[str, object]:
    found = row.difference
    return {
        "workload": row.workload,
        "metric": row.metric.name,
        "unit": row.metric.unit,
        "base": row.base,
        "new": row.new,
        "ratio": found.ratio if found else None,
        "ratio_low": found.low if found else None,
        "ratio_high": found.high if found and isfinite(found.high) else None,
        "verdict": row.verdict.value,
        "why": row.why or None,
        "order_chance": row.order_chance,
        "repeats_needed": row.repeats_needed,
        "limits": [{"limit": gate.text, "outcome": outcome.value} for gate, outcome in row.gates],
    }


def to_junit(results: Sequence[Result]) -> str:
    """Returns JUnit's XML: a test case per figure; one fails where a limit is missed.

    With limits, an undecided figure is skipped, and a limit that applies to no figure is an error.
    """
    suites = ElementTree.Element("testsuites")
    for result in results:
        for pair in result.pairs:
            cases = [*_cases(result, pair.rows), *_absent(pair.missing, gated=bool(result.gates))]
            suite = ElementTree.SubElement(suites, "testsuite", name=plain(f"{result.new}, {pair.label}"))
            suite.extend(cases)
            for kind in ("failure", "skipped", "error"):
                name = {"failure": "failures", "error": "errors"}.get(kind, kind)
                suite.set(name, str(sum(case.find(kind) is not None for case in cases)))
            suite.set("tests", str(len(cases)))
        if result.unchecked:
            suite = ElementTree.SubElement(
                suites, "testsuite", name="limits", tests=str(len(result.unchecked))
            )
            suite.set("errors", str(len(result.unchecked)))
            for gate in result.unchecked:
                case = ElementTree.SubElement(suite, "testcase", name=gate.text, classname="limits")
                ElementTree.SubElement(
                    case, "error", message="no workload has this figure with an interval on both sides"
                )
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _cases(result: Result, rows: Sequence[Row]) -> Iterator[ElementTree.Element]:
    for row in rows:
        case = ElementTree.Element("testcase", name=plain(workload_of(row)), classname=plain(row.workload))
        detail = change(row.difference) if row.difference else plain(row.why)
        outcomes = {outcome for _, outcome in row.gates}
        if missed := [gate.text for gate, outcome in row.gates if outcome is Outcome.MISSED]:
            ElementTree.SubElement(case, "failure", message=f"{', '.join(missed)}: {detail}", type="limit")
        elif Outcome.UNDECIDED in outcomes or (not result.gates and row.verdict is Verdict.UNKNOWN):
            ElementTree.SubElement(case, "skipped", message=f"cannot tell: {detail}")
        else:
            ElementTree.SubElement(case, "system-out").text = f"{row.verdict.value}: {detail}"
        yield case


def _absent(missing: Sequence[Missing], *, gated: bool) -> Iterator[ElementTree.Element]:
    for one in missing:
        workload = plain(one.workload)
        case = ElementTree.Element("testcase", name=workload, classname=workload)
        ElementTree.SubElement(case, "failure" if gated else "skipped", message=plain(one.why))
        yield case
