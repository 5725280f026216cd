"""The catalogue in a terminal: lists, and all there is to know about one entry.

Prints to the Console it is given; the same as data is `fathom.catalog.entry_json`. Texts from files are never
read as markup.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fathom.catalog.data_sheet import STATED_KEYS, data_sheet, reliability
from fathom.catalog.load import is_about, load_device, load_published, load_system, named
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
from fathom.catalog.store import KINDS, CatalogError, Entry, Kind, entries
from fathom.output.table import flush_table
from fathom.output.text import without_document

_ROLE_STYLE = {"calibration": "cyan", "validation": "green", "context": "dim"}
_BASIS_STYLE = {"published": "green", "derived": "cyan", "calibrated": "yellow", "assumed": "magenta"}
_LEAST = {"note": 5, "form\nfactor": 6, "device": 12, "source": 20}
_Column = tuple[str, Callable[[SpecRow], float | str | None]]

_RATINGS: tuple[_Column, ...] = (
    ("TB", lambda row: _thousandth(row.capacity_gb)),
    ("form\nfactor", lambda row: row.form_factor),
    ("DWPD", lambda row: row.endurance_dwpd),
    ("read\nMB/s", lambda row: row.seq_read_mbps),
    ("write\nMB/s", lambda row: row.seq_write_mbps),
    ("read\nkIOPS", lambda row: _thousandth(row.rand_read_iops)),
    ("write\nkIOPS", lambda row: _thousandth(row.rand_write_iops)),
    ("mixed\nkIOPS", lambda row: _thousandth(row.mixed_iops)),
    ("read\nus", lambda row: row.read_latency_us),
    ("write\nus", lambda row: row.write_latency_us),
    ("active\nW", lambda row: row.power_active_w or row.power_write_w),
    ("idle\nW", lambda row: row.power_idle_w),
    ("TBW", lambda row: row.tbw_tb),
)


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


def print_entry(console: Console, name: str) -> None:
    """Prints everything in the catalogue under a name: a device with its published results, a method as its file.

    Raises CatalogError where no entry has that name, or its file is wrong.
    """
    for entry in named(name):
        match entry.kind:
            case "devices":
                _print_device(console, load_device(name))
            case "systems":
                _print_system(console, load_system(name))
            case "published":
                published = load_published(name)
                _print_identity(
                    console, f"{published.identity.vendor} {published.identity.model}", published.identity
                )
                _print_reliability(console, published.identity, published.ratings)
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
    table.add_row(*(cell if isinstance(cell, Text) else Text(_number(cell)) for cell in cells))


def _number(value: object) -> str:
    """Returns a number as people read it: thousands apart, no trailing zeros; text as it is; nothing for None."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"{value:,.0f}" if float(value).is_integer() and abs(value) < 1e15 else f"{value:,.6g}"
    return str(value)


def _thousandth(value: float | None) -> float | None:
    return None if value is None else value / 1000


def _capacity(size_bytes: int) -> str:
    return f"{size_bytes / 1e12:.4g} TB" if size_bytes >= 1e12 else f"{size_bytes / 1e9:.4g} GB"


def _name(entry: Entry) -> Text:
    return Text.assemble((entry.name, "bold"), "" if entry.shipped else (" (yours)", "yellow"))


def _devices(found: Sequence[Entry]) -> Table:
    table = _table("name", "device", "capacity", "interface", "twin", "bench", numbers=["capacity"])

    def add(entry: Entry) -> None:
        device = load_device(entry.name)
        twin = device.twin
        cells = device.identity.label, _capacity(device.capacity_bytes), device.identity.interface
        _row(table, _name(entry), *cells, twin and twin.kind, twin and twin.bench)

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


def _print_device(console: Console, device: Device) -> None:
    _print_identity(console, f"{device.identity.label}  {_capacity(device.capacity_bytes)}", device.identity)
    published = load_published(device.published) if device.published else None
    if published:
        ratings = [row for row in published.ratings if is_about(row, device)]
        _print_reliability(console, published.identity, ratings)
        _print_ratings(console, ratings)
    if device.twin:
        title = f"Twin ({device.twin.kind}, driven from {device.twin.bench})"
        _print_parameters(console, title, device.twin.parameters)
    if published:
        _print_rows(console, [row for row in published.rows if is_about(row, device)])
        if others := sum(not is_about(row, device) for row in published.rows):
            console.print(
                Text(f"{others} more about other capacities and sets: {published.name}", style="dim")
            )


def _print_reliability(console: Console, identity: ProductIdentity, rows: Sequence[SpecRow]) -> None:
    """Prints what the data sheet says of the product beside its speed."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_column(overflow="fold")
    for name, text in (reliability(rows) | data_sheet(identity)).items():
        _row(grid, name, text)
    if grid.row_count:
        console.print(Padding(grid, (0, 0, 0, 2), expand=False))


def _print_table(console: Console, title: str, table: Table) -> None:
    console.print(Text(title, style="bold"))
    console.print(table)


def _print_system(console: Console, system: System) -> None:
    console.print(Text.assemble((system.label, "bold"), f"  {system.kind}"))
    console.print(
        Padding(Text(f"source: {without_document(system.source)}", style="dim"), (0, 0, 0, 2), expand=False)
    )
    _print_parameters(console, "Parameters", system.parameters)


_NOT_LISTED = ("label", "vendor", "model", "uncertain", *STATED_KEYS)
"""Keys that a table of an identity leaves to its heading, or to the data sheet below it."""


def _print_identity(console: Console, title: str, identity: DeviceIdentity | ProductIdentity) -> None:
    console.print(Text(title, style="bold"))
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_column(overflow="fold")
    doubtful = getattr(identity, "uncertain", ())
    for key in type(identity).model_fields:
        value = getattr(identity, key)
        if value not in (None, ()) and key not in _NOT_LISTED:
            text = ", ".join(_number(v) for v in value) if isinstance(value, tuple) else _number(value)
            text = without_document(text) if key == "source" else text
            _row(grid, key.replace("_", " "), text + (" (?)" if key in doubtful else ""))
    console.print(Padding(grid, (0, 0, 0, 2), expand=False))


def _print_parameters(console: Console, title: str, parameters: dict[str, Parameter]) -> None:
    table = _table("parameter", "value", "basis", "source", numbers=["value"])
    for name, parameter in parameters.items():
        basis = Text(parameter.basis, style=_BASIS_STYLE[parameter.basis])
        note = f"; {parameter.note}" if parameter.note else ""
        _row(
            table, name, parameter.value, basis, Text(without_document(parameter.source) + note, style="dim")
        )
    _print_table(console, title, table)


def _print_parts(console: Console, parts: Sequence[Part]) -> None:
    if not parts:
        return
    table = _table("parts", "count", "piece", "name in a price list", numbers=["count"])
    for part in parts:
        _row(table, part.group, part.count, part.label, part.item)
    console.print(table)


def _print_ratings(console: Console, rows: Sequence[SpecRow]) -> None:
    """Prints the data sheet, without empty columns. Doubts and remarks follow as numbered notes."""
    if not rows:
        return
    columns = [column for column in _RATINGS if any(column[1](row) is not None for row in rows)]
    numbers = [head for head, _ in columns if "factor" not in head]
    table = _table(*(head for head, _ in columns), "note", numbers=numbers)
    notes = _Notes()
    for row in rows:
        _row(table, *(read(row) for _, read in columns), notes.mark(row))
    _print_table(console, "Ratings: sequential MB/s, random kIOPS", table)
    notes.print(console)


def _print_rows(console: Console, rows: Sequence[PublishedRow]) -> None:
    """Prints one table per bench, without empty columns."""
    notes = _Notes()
    for bench in dict.fromkeys(row.bench for row in rows):
        here = [row for row in rows if row.bench == bench]
        columns = [(head, read) for head, read in _RESULTS if any(read(row) for row in here)]
        title = f"Published results on {bench}" if bench else "Published, not measured"
        table = _table("workload", *(head for head, _ in columns), "role", numbers=_FIGURES)
        for row in here:
            kind = "calibrates mix" if row.calibrates == "workload" else row.role
            role = Text.assemble((kind, _ROLE_STYLE[row.role]), " ", notes.mark(row))
            half = f", {row.op}s" if row.op else ""
            name = Text.assemble(row.workload + half, (f", {row.unit}" if row.unit else "", "dim"))
            _row(table, name, *(read(row) for _, read in columns), role)
        _print_table(console, title, table)
    notes.print(console)


def _load(row: PublishedRow) -> str:
    counts = ((row.hosts, "H"), (row.jobs, "J"), (row.threads, "T"), (row.iodepth, "Q"))
    return "/".join(f"{count}{letter}" for count, letter in counts if count is not None)


def _figure(row: PublishedRow, value: float | None) -> str:
    sign = {"at-least": "≥ ", "at-most": "≤ "}.get(row.bound or "", "")
    return "" if value is None else sign + _number(value)


def _latency(row: PublishedRow) -> str:
    if row.latency_kind == "added":
        return f"+{_number(row.latency_us)}"
    return _figure(row, row.latency_us) + (" limit" if row.latency_kind == "threshold" else "")


_FIGURES = ("IOPS", "MB/s", "MiB/s", "latency\nus", "value")
_RESULTS: tuple[tuple[str, Callable[[PublishedRow], str]], ...] = (
    ("load", _load),
    ("IOPS", lambda row: _figure(row, row.iops)),
    ("MB/s", lambda row: _figure(row, row.mbps)),
    ("MiB/s", lambda row: _figure(row, row.mibps)),
    ("latency\nus", _latency),
    ("value", lambda row: _figure(row, row.value)),
)


class _Notes:
    """Doubts, numbered notes and sources below a table, each text once."""

    def __init__(self) -> None:
        self._notes: list[str] = []
        self._sources: dict[str, None] = {}

    def mark(self, row: SpecRow | PublishedRow) -> Text:
        """Returns what to print at the end of a row: `?` for a doubt, the number of its note."""
        if row.source:
            self._sources[row.source] = None
        if row.note and row.note not in self._notes:
            self._notes.append(row.note)
        number = f"[{self._notes.index(row.note) + 1}]" if row.note else ""
        return Text.assemble(("? " if row.uncertain else "", "yellow"), (number, "dim"))

    def print(self, console: Console) -> None:
        """Prints notes and sources, and a blank line after them."""
        lines = [f"[{number}] {note}" for number, note in enumerate(self._notes, 1)]
        for line in [*lines, *(f"source: {without_document(source)}" for source in self._sources)]:
            console.print(Padding(Text(line, style="dim"), (0, 0, 0, 2), expand=False))
        if lines or self._sources:
            console.print()
