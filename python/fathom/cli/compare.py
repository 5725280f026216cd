"""The command that compares runs with a base: what changed, how surely, and whether limits are kept."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathom.cli.options import AsJson
from fathom.cli.output import print_json, stderr, stdout
from fathom.cli.store import StoreOption, finding

if TYPE_CHECKING:
    from fathom.compare.gate import Gate
    from fathom.compare.rows import Result
    from fathom.compare.sides import Side


def compare(
    runs: Annotated[
        list[str],
        typer.Argument(
            help="the base, then what is compared with it; RUN,RUN takes runs as repeats, and a run made with "
            "--repeats stands for all of them",
            metavar="BASE NEW...",
        ),
    ],
    against: Annotated[
        str | None,
        typer.Option(
            help="take this as the base: a run, `published`, or `last-good`, which moves on to what is not worse",
            metavar="BASE",
        ),
    ] = None,
    fail_if: Annotated[
        list[str],
        typer.Option(
            "--fail-if", help='a limit, such as "p99 > +5%"; exit code 4 when it is missed', metavar="LIMIT"
        ),
    ] = [],  # noqa: B006 (typer copies defaults)
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="with --fail-if: fail also where a change beyond the limit may be chance"
        ),
    ] = False,
    metrics: Annotated[
        str | None,
        typer.Option(
            help="what is compared: rate, iops, mbps, mean, p50 ... p99.999, max, waf, iops/W",
            metavar="NAME,...",
        ),
    ] = None,
    level: Annotated[
        float,
        typer.Option(
            help="percent within which two figures are level", metavar="PERCENT", min=0.01, max=50.0
        ),
    ] = 2.0,
    out: Annotated[
        Path | None, typer.Option(help="write an HTML page with a chart of all changes", metavar="FILE")
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(help="write JUnit's XML, a test case a figure", metavar="FILE")
    ] = None,
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="print Markdown for a pull request")
    ] = False,
    store: StoreOption = None,
    as_json: AsJson = False,
) -> None:
    """Compare runs with a base; with limits, a gate for CI."""
    from fathom.compare.context import context_of, unfinished
    from fathom.compare.gate import parse_gate
    from fathom.compare.last_good import LAST_GOOD
    from fathom.compare.metrics import metric_names
    from fathom.compare.page import render
    from fathom.compare.rows import compare_sides
    from fathom.compare.sides import PUBLISHED, read_side
    from fathom.compare.views import to_junit
    from fathom.errors import UsageError
    from fathom.output.output_file import check_output, write_output

    if as_json and as_markdown:
        raise UsageError("--json and --markdown exclude each other", "give one of them")
    gates = [parse_gate(text) for text in fail_if]
    chosen = metric_names(metrics) if metrics or not gates else ()
    for path in (out, junit):
        if path:
            check_output(path)
    base_name, names = _sides(runs, against, (PUBLISHED, LAST_GOOD))
    moves = base_name == LAST_GOOD
    with finding(store) as finder:
        news = [read_side(name, finder) for name in names]
        if moves:
            base_name = _last_good(news, names)
            if base_name is None:
                return
        base = None if base_name == PUBLISHED else read_side(base_name, finder)
    if moves and base and news[0].shares_a_run(base):
        print(f"{names[0]} is the last good run itself, so there is nothing to compare")
        return
    results = [compare_sides(base, new, chosen, gates, level) for new in news]
    contexts = [context_of(base, *both) for both in zip(news, results, strict=True)]
    _print(results, contexts, as_json=as_json, as_markdown=as_markdown)
    if out:
        write_output(out, render(base, news, results, contexts).encode())
        stderr().print(f"page    {out}", highlight=False)
    if junit:
        write_output(junit, to_junit(results).encode())
    _conclude(news, results, gates, strict=strict)
    if moves and base and not unfinished(news[0]):
        _move_on(news[0], [results[0], compare_sides(base, news[0], metric_names(None))])


def _last_good(news: "Sequence[Side]", names: Sequence[str]) -> str | None:
    """Returns the last good run of the one that is compared. Without any, that one becomes it, and None is returned.

    Raises UsageError for several runs, and for a run that did not end well where there is no other.
    """
    from fathom.compare.context import unfinished
    from fathom.compare.last_good import keep, last_good
    from fathom.errors import UsageError

    if len(news) > 1:
        raise UsageError("--against last-good takes one run", "compare one run at a time")
    if found := last_good(news[0]):
        return found
    if ended := unfinished(news[0]):
        raise UsageError(f"{ended[0]}, so it is no base", "begin with a run that ended well")
    keep(news[0])
    print(f"no last good run of this method and target yet: {names[0]} is it from now on")
    return None


def _print(
    results: "Sequence[Result]", contexts: Sequence[Sequence[str]], *, as_json: bool, as_markdown: bool
) -> None:
    from fathom.compare.views import SCHEMA, print_result, to_json, to_markdown

    pairs = list(zip(results, contexts, strict=True))
    if as_json:
        print_json({"schema": SCHEMA, "comparisons": [to_json(*pair) for pair in pairs]})
        return
    for result, context in pairs:
        if as_markdown:
            print(to_markdown(result, context))
        else:
            print_result(stdout(), result, context)


def _sides(runs: Sequence[str], against: str | None, words: Sequence[str]) -> tuple[str, Sequence[str]]:
    from fathom.errors import UsageError

    if against is not None:
        return against, runs
    if len(runs) < 2:
        raise UsageError(
            "nothing to compare with", f"name the base first, or give --against RUN, {' or '.join(words)}"
        )
    return runs[0], runs[1:]


def _conclude(
    news: "Sequence[Side]",
    results: "Sequence[Result]",
    gates: "Sequence[Gate]",
    *,
    strict: bool,
) -> None:
    """Raises GateError where a limit is missed, or could not be checked against everything in the base."""
    from fathom.compare.context import unfinished
    from fathom.compare.gate import Outcome
    from fathom.errors import GateError

    if not gates:
        return
    why: list[tuple[int, str]] = []
    for new, result in zip(news, results, strict=True):
        why += [
            (len(result.outcomes(Outcome.MISSED)), "missed"),
            (len(result.outcomes(Outcome.UNDECIDED)) if strict else 0, "not decided"),
            (len(result.unchecked), "not checked"),
            (sum(len(pair.missing) for pair in result.pairs), "without a counterpart"),
            (len(unfinished(new)), "of a run that did not end well"),
        ]
    said = [f"{count} {words}" for count, words in why if count]
    if said:
        raise GateError(f"limits: {', '.join(said)}")


def _move_on(new: "Side", results: "Sequence[Result]") -> None:
    """Makes the new run the last good one where nothing is worse, and prints whether it is."""
    from fathom.compare.last_good import is_worse, keep

    missing = [one.words for result in results for pair in result.pairs for one in pair.missing]
    worse = [
        f"{row.metric.title} of {row.workload} is worse, {row.change_pct or 0.0:+.1f} %"
        for result in results
        for row in result.rows
        if is_worse(row, result.level_pct)
    ]
    held = [*missing, *worse]
    if not held:
        keep(new)
    text = f"the last good run stays the base: {held[0]}" if held else f"{new.name} is the base from now on"
    stderr().print(text, highlight=False, markup=False, soft_wrap=True)
