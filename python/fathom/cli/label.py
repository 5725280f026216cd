"""The command that puts tags and notes on runs."""

from typing import TYPE_CHECKING, Annotated

import typer

from fathom.cli.options import AsJson
from fathom.cli.output import print_json
from fathom.cli.store import StoreOption, opened

if TYPE_CHECKING:
    from collections.abc import Callable

    from fathom.runs.labels import Labels


def label(
    runs: Annotated[list[str], typer.Argument(help="runs to label", metavar="RUN...")],
    tag: Annotated[list[str], typer.Option("--tag", help="add this tag", metavar="TAG")] = [],  # noqa: B006 (typer copies defaults)
    untag: Annotated[list[str], typer.Option("--untag", help="remove this tag", metavar="TAG")] = [],  # noqa: B006
    note: Annotated[
        str | None,
        typer.Option(help="the note, instead of the one there is; empty removes it", metavar="TEXT"),
    ] = None,
    store: StoreOption = None,
    as_json: AsJson = False,
) -> None:
    """Put tags and a note on runs, or print them."""
    is_change = bool(tag or untag or note is not None)

    def change(labels: "Labels") -> "Labels":
        return labels.changed(tag, untag, note)

    found = _in_store(store, runs, is_change, change) if store else _local(runs, is_change, change)
    if as_json:
        rows = [{"run": name, "tags": labels.tags, "note": labels.note} for name, labels in found.items()]
        print_json({"schema": "fathom-run-labels/1", "runs": rows})
        return
    for name, labels in found.items():
        print(name)
        print(f"  tags: {', '.join(labels.tags) or 'none'}")
        for number, line in enumerate(labels.note.splitlines()):
            print(f"  {'      ' if number else 'note: '}{line}")


def _local(runs: list[str], is_change: bool, change: "Callable[[Labels], Labels]") -> "dict[str, Labels]":
    from fathom.runs.home import find_run
    from fathom.runs.labels import change_labels, read_labels

    paths = [find_run(name).absolute() for name in runs]
    return {run.name: change_labels(run, change) if is_change else read_labels(run) for run in paths}


def _in_store(
    store: str, runs: list[str], is_change: bool, change: "Callable[[Labels], Labels]"
) -> "dict[str, Labels]":
    from fathom.runs.home import chosen
    from fathom.runs.labels import Labels
    from fathom.store.finder import place_of

    with opened(store, to_write=is_change) as one:
        known = one.runs_table()["run"].to_pylist()
        names = [chosen(name, known, place_of(one)) for name in runs]
        if is_change:
            return {name: one.label(name, change) for name in names}
        labels = one.labels()
        return {name: labels.get(name, Labels()) for name in names}
