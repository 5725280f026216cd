"""The catalogue in a terminal: lists, and all there is to know about one entry.

Prints to the Console it is given; the same as data is `fathom.catalog.entry_json`. Texts from files are never
read as markup.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fathom.catalog.load import is_about, load_device, load_published, named, ratings_about, rows_about
from fathom.catalog.models import (
    Device,
    DeviceIdentity,
    Parameter,
    Part,
    ProductIdentity,
    PublishedRow,
    SpecRow,
    System,
)
from fathom.catalog.read import load_system
from fathom.catalog.sensitivity import load_sensitivity
from fathom.catalog.sensitivity_terminal import print_sensitivity
from fathom.catalog.sheet import (
    CHECKED,
    MISSES,
    RANGES,
    RATINGS,
    RESULTS,
    Column,
    Notes,
    capacity_text,
    checked_fact,
    checked_text,
    columns_of,
    identity_facts,
    missed_fact,
    number_text,
    parameter_source,
    role_text,
    stated_facts,
    workload_text,
)
from fathom.catalog.store import KINDS, CatalogError, Entry, Kind, entries
from fathom.output.table import flush_table
from fathom.output.text import without_document

_ROLE_STYLE = {"calibration": "cyan", "validation": "green", "context": "dim"}
_BASIS_STYLE = {"published": "green", "derived": "cyan", "calibrated": "yellow", "assumed": "magenta"}
_ANY_WIDTH = 1000
"""Columns; wider than any table of the catalogue."""
IDENTIFYING = 2
"""The first columns of ratings, capacity and form factor: of a single row the lines above say both."""
_LEAST = {"note": 5, "form\nfactor": 6, "device": 12, "source": 20}


def print_catalog(console: Console, kind: Kind | None = None) -> None:
    """Prints the entries of a kind, or of every kind that has any; a wrong file with what is wrong."""
    for each in (kind,) if kind else KINDS:
        found = entries(each)
        if found:
            _print_table(console, each.capitalize(), _LISTS[each](found))
            console.print()
        elif kind:
            console.print(Text(f"no {each} in the catalogue"))


def print_methods(console: Console) -> None:
    """Prints the methods: what each answers, and in how many steps."""
    print_catalog(console, "methods")


def print_entry(console: Console, name: str, ranges_of: Callable[[Device], str | None] | None = None) -> None:
    """Prints everything in the catalogue under a name: a device with its published results, a method as its file.

    Args:
        console: where to.
        name: the entry's.
        ranges_of: says how often the ranges of a device's twin hold; left out if absent.

    Raises:
        CatalogError: no entry has that name, or its file is wrong.
    """
    for entry in named(name):
        match entry.kind:
            case "devices":
                device = load_device(name)
                _print_device(console, device, ranges_of(device) if ranges_of else None)
            case "systems":
                _print_system(console, load_system(name))
            case "published":
                published = load_published(name)
                _print_identity(
                    console, f"{published.identity.vendor} {published.identity.model}", published.identity
                )
                _print_facts(console, stated_facts(published.identity, published.ratings))
                _print_parts(console, published.parts)
                _print_ratings(console, published.ratings)
                _print_rows(console, published.rows)
            case "methods":
                console.print(Text(entry.text().rstrip()), soft_wrap=True)


def _table(*columns: str, numbers: Iterable[str] = ()) -> Table:
    table = flush_table(header_style="dim")
    for column in columns:
        if column in numbers:
            table.add_column(column, justify="right", no_wrap=True)
        else:
            whole = column in ("name", "load", "basis", "role")
            table.add_column(column, overflow="fold", no_wrap=whole, min_width=_LEAST.get(column))
    return table


def _row(table: Table, *cells: object) -> None:
    table.add_row(*(cell if isinstance(cell, Text) else Text(number_text(cell)) for cell in cells))


def _name(entry: Entry) -> Text:
    return Text.assemble((entry.name, "bold"), "" if entry.shipped else (" (yours)", "yellow"))


def _devices(found: Sequence[Entry]) -> Table:
    table = _table("name", "capacity", "interface", "twin", CHECKED, numbers=["capacity"])

    def add(entry: Entry) -> None:
        device = load_device(entry.name)
        twin = device.twin
        published = load_published(device.published) if device.published else None
        link = (device.identity.interface or "").partition(",")[0]
        cells = (
            capacity_text(device.capacity_bytes),
            link,
            twin and twin.kind,
            checked_text(device, published),
        )
        _row(table, _name(entry), *cells)

    return _filled(table, found, add)


def _systems(found: Sequence[Entry]) -> Table:
    table = _table("name", "system", "kind")

    def add(entry: Entry) -> None:
        system = load_system(entry.name)
        _row(table, _name(entry), system.label, system.kind)

    return _filled(table, found, add)


def _published(found: Sequence[Entry]) -> Table:
    counts = ["rated", "calibration", "validation", "context"]
    table = _table("name", *counts, numbers=counts)

    def add(entry: Entry) -> None:
        published = load_published(entry.name)
        roles = Counter(row.role for row in published.rows)
        numbers = (len(published.ratings), *(roles[role] for role in _ROLE_STYLE))
        _row(table, _name(entry), *(number or None for number in numbers))

    return _filled(table, found, add)


def _methods(found: Sequence[Entry]) -> Table:
    table = _table("name", "method", "steps", numbers=["steps"])

    def add(entry: Entry) -> None:
        try:
            method = tomllib.loads(entry.text())
        except tomllib.TOMLDecodeError as error:
            raise CatalogError(f"{entry.file}: not TOML: {error}") from error
        steps = method.get("steps", method.get("step", ()))
        title = Text.assemble(str(method.get("title", "")), ("\n" + str(method.get("summary", "")), "dim"))
        _row(table, _name(entry), title, len(steps))

    return _filled(table, found, add)


def _filled(table: Table, found: Sequence[Entry], add: Callable[[Entry], None]) -> Table:
    for entry in found:
        try:
            add(entry)
        except CatalogError as error:
            _row(table, _name(entry), Text(str(error), style="red"))
    return table


_LISTS = {"devices": _devices, "systems": _systems, "published": _published, "methods": _methods}


def _print_device(console: Console, device: Device, ranges: str | None) -> None:
    _print_identity(
        console, f"{device.identity.label}  {capacity_text(device.capacity_bytes)}", device.identity
    )
    published = load_published(device.published) if device.published else None
    if published:
        ratings = ratings_about(device, published)
        _print_facts(console, stated_facts(published.identity, ratings))
        _print_ratings(console, ratings)
    if device.twin:
        facts = {CHECKED: checked_fact(device, published), RANGES: ranges, MISSES: missed_fact(device)}
        _print_facts(console, {head: text for head, text in facts.items() if text})
        title = f"Twin ({device.twin.kind}, driven from {device.twin.bench})"
        _print_parameters(console, title, device.twin.parameters)
        if found := load_sensitivity(device.name):
            print_sensitivity(console, found)
            console.print()
    if published:
        _print_rows(console, rows_about(device, published))
        if others := sum(not is_about(row, device) for row in published.rows):
            console.print(
                Text(f"{others} more about other capacities and sets: {published.name}", style="dim")
            )


def _print_table(console: Console, title: str, table: Table) -> None:
    console.print(Text(title, style="bold"))
    console.print(table)


def _print_system(console: Console, system: System) -> None:
    console.print(Text.assemble((system.label, "bold"), f"  {system.kind}"))
    console.print(
        Padding(Text(f"source: {without_document(system.source)}", style="dim"), (0, 0, 0, 2), expand=False)
    )
    _print_parameters(console, "Parameters", system.parameters)


def _print_identity(console: Console, title: str, identity: DeviceIdentity | ProductIdentity) -> None:
    console.print(Text(title, style="bold"))
    _print_facts(console, identity_facts(identity))


def _print_facts(console: Console, facts: Mapping[str, str]) -> None:
    if not facts:
        return
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_column(overflow="fold")
    for name, text in facts.items():
        _row(grid, name, text)
    console.print(Padding(grid, (0, 0, 0, 2), expand=False))


def _print_parameters(console: Console, title: str, parameters: dict[str, Parameter]) -> None:
    table = _table("parameter", "value", "basis", "source", numbers=["value"])
    for name, parameter in parameters.items():
        basis = Text(parameter.basis, style=_BASIS_STYLE[parameter.basis])
        _row(table, name, parameter.value, basis, Text(parameter_source(parameter), style="dim"))
    _print_table(console, title, table)


def _print_parts(console: Console, parts: Sequence[Part]) -> None:
    if not parts:
        return
    table = _table("parts", "count", "piece", "name in a price list", numbers=["count"])
    for part in parts:
        _row(table, part.group, part.count, part.label, part.item)
    console.print(table)


def _print_ratings(console: Console, rows: Sequence[SpecRow]) -> None:
    """Prints the data sheet, without empty columns, turned round where it is too wide. Doubts and remarks follow as
    numbered notes.
    """
    if not rows:
        return
    notes = Notes()
    marks = [_mark(notes, row) for row in rows]
    columns = columns_of(RATINGS, rows)
    table = _ratings_table(columns, rows, marks)
    if len(rows) == 1 and _is_wider(table, console):
        columns = [column for column in columns if column not in RATINGS[:IDENTIFYING]]
        table = _ratings_table(columns, rows, marks)
    turned = _turned(columns, rows, marks)
    if _is_wider(table, console) and not _is_wider(turned, console):
        table = turned
    _print_table(console, "Ratings: sequential MB/s, random kIOPS", table)
    _print_notes(console, notes)


def _is_wider(table: Table, console: Console) -> bool:
    """Returns whether cells of a table would lose letters. Rich measures no wider than it is let."""
    return console.measure(table, options=console.options.update(width=_ANY_WIDTH)).maximum > console.width


def _ratings_table(
    columns: Sequence[Column[SpecRow]], rows: Sequence[SpecRow], marks: Sequence[Text]
) -> Table:
    numbers = [_head(column) for column in columns if column.numeric]
    table = _table(*map(_head, columns), "note", numbers=numbers)
    for row, mark in zip(rows, marks, strict=True):
        _row(table, *(column.value_of(row) for column in columns), mark)
    return table


def _turned(columns: Sequence[Column[SpecRow]], rows: Sequence[SpecRow], marks: Sequence[Text]) -> Table:
    table = _table("rating", *["value"] * len(rows), numbers=["value"])
    for column in columns:
        head = _head(column).replace("\n", ", " if column.numeric else " ")
        _row(table, head, *map(column.value_of, rows))
    if any(marks):
        _row(table, "note", *marks)
    return table


def _print_rows(console: Console, rows: Sequence[PublishedRow]) -> None:
    """Prints one table per bench, without empty columns."""
    notes = Notes()
    for bench in dict.fromkeys(row.bench for row in rows):
        here = [row for row in rows if row.bench == bench]
        columns = columns_of(RESULTS, here)
        numbers = [_head(column) for column in columns if column.numeric]
        title = f"Published results on {bench}" if bench else "Published, not measured"
        table = _table("workload", *map(_head, columns), "role", numbers=numbers)
        for row in here:
            role = Text.assemble((role_text(row), _ROLE_STYLE[row.role]), " ", _mark(notes, row))
            name = Text.assemble(workload_text(row), (f", {row.unit}" if row.unit else "", "dim"))
            _row(table, name, *(column.value_of(row) for column in columns), role)
        _print_table(console, title, table)
    _print_notes(console, notes)


def _head(column: Column[SpecRow] | Column[PublishedRow]) -> str:
    return "\n".join(part for part in (column.name, column.unit) if part)


def _mark(notes: Notes, row: SpecRow | PublishedRow) -> Text:
    """Returns what to print at the end of a row: `?` for a doubt, the number of its note."""
    number = notes.number(row)
    return Text.assemble(("? " if row.uncertain else "", "yellow"), (f"[{number}]" if number else "", "dim"))


def _print_notes(console: Console, notes: Notes) -> None:
    """Prints notes and sources, and a blank line after them."""
    lines = [f"[{number}] {note}" for number, note in enumerate(notes.texts, 1)]
    for line in [*lines, *(f"source: {source}" for source in notes.sources)]:
        console.print(Padding(Text(line, style="dim"), (0, 0, 0, 2), expand=False))
    if lines or notes.sources:
        console.print()
