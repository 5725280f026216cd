"""The catalogue as pages show it: a list with key ratings, and all there is about one entry."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from fathom.catalog import (
    CatalogError,
    Entry,
    Kind,
    device_names,
    entries,
    find,
    load_device,
    load_published,
    load_system,
)
from fathom.catalog.load import ratings_about, rows_about
from fathom.catalog.models import Device, Parameter, Published, PublishedRow, SpecRow
from fathom.catalog.sensitivity import Sensitivity, load_sensitivity
from fathom.catalog.sensitivity_words import footnotes, movers
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
from fathom.output.text import without_document
from fathom.prediction.words import record_words
from fathom.report.style import plain, with_micro
from fathom.what_if.played import can_be_played

SHOWN: tuple[Kind, ...] = ("devices", "systems", "published")
"""The kinds of entries that have a page; methods are on the page that starts them."""
GROUPS = (("Drives", ("ssd",)), ("Disks", ("disk",)), ("Systems", ("fabric", "cluster")))
"""Headings, and the kinds of twins below each."""


@dataclass(frozen=True)
class Cell:
    """A value in a table. `mark` is a doubt or the number of a note."""

    text: str
    numeric: bool = False
    mark: str = ""


@dataclass(frozen=True)
class Sheet:
    """A table: its title, heads and rows; long ones are folded."""

    title: str
    heads: Sequence[Cell]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()
    folded: bool = False


@dataclass(frozen=True)
class ListRow:
    """An entry in the list: rated figures by their head, and where they are from. `problem` is why it has none."""

    kind: Kind
    name: str
    label: str
    detail: str = ""
    figures: Mapping[str, str] = field(default_factory=dict)
    sources: Sequence[str] = ()
    problem: str = ""


@dataclass(frozen=True)
class Group:
    """Entries below a heading, and the heads of the figures that any of them has."""

    heading: str
    rows: Sequence[ListRow]

    @property
    def heads(self) -> list[str]:
        """The heads, in order."""
        return [head for head in HEADS if any(head in row.figures for row in self.rows)]


@dataclass(frozen=True)
class EntryView:
    """All there is about an entry. `twin` is its name where it can be simulated, `playable` whether it has a page to
    play with.
    """

    label: str
    facts: Mapping[str, str]
    sheets: Sequence[Sheet]
    sources: Sequence[str]
    twin: str | None = None
    playable: bool = False
    more: Sequence[tuple[str, Kind, str]] = ()
    """Entries that it leads to: words, kind, name."""


LISTED: Sequence[tuple[str, Callable[[SpecRow], float | None]]] = (
    ("read MB/s", lambda row: row.seq_read_mbps),
    ("write MB/s", lambda row: row.seq_write_mbps),
    ("read kIOPS", lambda row: row.rand_read_iops and row.rand_read_iops / 1000),
    ("write kIOPS", lambda row: row.rand_write_iops and row.rand_write_iops / 1000),
    ("DWPD", lambda row: row.endurance_dwpd),
)
"""The key ratings of the list."""


CAPACITY = "capacity"
HEADS = (CAPACITY, *(head for head, _ in LISTED), CHECKED)


def listed() -> list[Group]:
    """Returns the entries below their headings; of damaged ones of the user's, the reason."""
    devices = [_row(entry, _device_row) for entry in entries("devices")]
    used = {device.published for name in device_names() if (device := _device(name))}
    others = [entry for entry in entries("published") if entry.name not in used]
    groups = [
        *(Group(heading, [row for row, kind in devices if kind in kinds]) for heading, kinds in GROUPS),
        Group("Published, without a twin", [_row(entry, _published_row)[0] for entry in others]),
        Group("Test benches", [_row(entry, _system_row)[0] for entry in entries("systems")]),
        Group("Not readable, or without a twin", [row for row, kind in devices if not kind]),
    ]
    return [group for group in groups if group.rows]


def _row(entry: Entry, make: Callable[[Entry], tuple[ListRow, str]]) -> tuple[ListRow, str]:
    try:
        return make(entry)
    except CatalogError as error:
        return ListRow(entry.kind, entry.name, plain(entry.name), problem=plain(str(error))), ""


def _device(name: str) -> Device | None:
    try:
        return load_device(name)
    except CatalogError:
        return None


def _device_row(entry: Entry) -> tuple[ListRow, str]:
    device = load_device(entry.name)
    published = load_published(device.published) if device.published else None
    ratings = ratings_about(device, published)
    figures = {CAPACITY: capacity_text(device.capacity_bytes)} | _key_ratings(ratings)
    if checked := checked_text(device, published):
        figures[CHECKED] = checked
    about = rows_about(device, published)
    sources = _sources(ratings, about)
    if published and not sources:
        # A system's figures are about its drives or all of it, so none is about one such device.
        sources = _sources(published.ratings, published.rows)
    row = ListRow(
        "devices",
        entry.name,
        plain(device.identity.label),
        plain(device.identity.interface or ""),
        figures,
        sources,
    )
    return row, device.twin.kind if device.twin else ""


def _published_row(entry: Entry) -> tuple[ListRow, str]:
    published = load_published(entry.name)
    identity = published.identity
    label = plain(f"{identity.vendor} {identity.model}")
    figures = _key_ratings(published.ratings)
    sources = _sources(published.ratings, published.rows)
    return ListRow("published", entry.name, label, plain(identity.interface or ""), figures, sources), ""


def _system_row(entry: Entry) -> tuple[ListRow, str]:
    system = load_system(entry.name)
    sources = (plain(without_document(system.source)),)
    return ListRow("systems", entry.name, plain(system.label), plain(system.kind), {}, sources), ""


def _key_ratings(rows: Sequence[SpecRow]) -> dict[str, str]:
    """Returns the first figure of each key rating, certain rows first; a doubtful one with `(?)` behind it."""
    best = sorted(rows, key=lambda row: row.uncertain)
    found: dict[str, str] = {}
    for head, value_of in LISTED:
        rated = next((row for row in best if value_of(row) is not None), None)
        if rated is not None:
            found[head] = number_text(value_of(rated)) + (" (?)" if rated.uncertain else "")
    return found


def _sources(ratings: Sequence[SpecRow], rows: Sequence[PublishedRow]) -> tuple[str, ...]:
    named = dict.fromkeys(row.source for row in (*ratings, *rows) if row.source)
    return tuple(plain(without_document(source)) for source in named)


def entry_view(kind: Kind, name: str) -> EntryView:
    """Returns all there is about an entry. Raises UnknownEntryError, and CatalogError for a damaged file."""
    find(kind, name)
    if kind == "devices":
        return _device_view(load_device(name))
    return _system_view(name) if kind == "systems" else _published_view(load_published(name))


def _device_view(device: Device) -> EntryView:
    published = load_published(device.published) if device.published else None
    ratings = ratings_about(device, published)
    rows = rows_about(device, published)
    facts = {CAPACITY: capacity_text(device.capacity_bytes)} | identity_facts(device.identity)
    facts |= stated_facts(published.identity, ratings) if published else {}
    if device.twin:
        facts[CHECKED] = checked_fact(device, published)
        if ranges := record_words(device):
            facts[RANGES] = ranges
        if missed := missed_fact(device):
            facts[MISSES] = missed
    notes, sheets = Notes(), [*_rating_sheets(ratings, Notes()), *_result_sheets(rows, Notes())]
    for row in (*ratings, *rows):
        notes.number(row)
    if device.twin:
        title = f"Parameters of the twin ({device.twin.kind}, driven from {device.twin.bench})"
        sheets.append(_parameters(title, device.twin.parameters))
        if found := load_sensitivity(device.name):
            sheets.append(_sensitivity(found))
    more: list[tuple[str, Kind, str]] = []
    if published:
        more.append(("All figures about the product", "published", published.name))
    if device.twin:
        more.append(("Its test bench", "systems", device.twin.bench))
    return EntryView(
        plain(device.identity.label),
        _plain(facts),
        sheets,
        [plain(source) for source in notes.sources],
        device.name if device.twin else None,
        can_be_played(device),
        more,
    )


def _published_view(published: Published) -> EntryView:
    identity, notes = published.identity, Notes()
    for row in (*published.ratings, *published.rows):
        notes.number(row)
    facts = identity_facts(identity) | stated_facts(identity, published.ratings)
    sheets = [*_rating_sheets(published.ratings, Notes()), *_result_sheets(published.rows, Notes())]
    label = plain(f"{identity.vendor} {identity.model}")
    return EntryView(label, _plain(facts), sheets, [plain(one) for one in notes.sources])


def _system_view(name: str) -> EntryView:
    system = load_system(name)
    sources = [plain(without_document(system.source))]
    return EntryView(
        plain(system.label),
        {"kind": plain(system.kind)},
        [_parameters("Parameters", system.parameters)],
        sources,
    )


def _rating_sheets(rows: Sequence[SpecRow], notes: Notes) -> list[Sheet]:
    if not rows:
        return []
    columns = columns_of(RATINGS, rows)
    body = [[*_cells(columns, row), Cell(_mark(notes, row))] for row in rows]
    heads = [*map(_head, columns), Cell("note")]
    return [Sheet("Ratings of the data sheet", heads, body, _texts(notes))]


def _result_sheets(rows: Sequence[PublishedRow], notes: Notes) -> list[Sheet]:
    """Returns a table per bench; notes are below the last, numbered through."""
    sheets: list[Sheet] = []
    for bench in dict.fromkeys(row.bench for row in rows):
        here = [row for row in rows if row.bench == bench]
        columns = columns_of(RESULTS, here)
        body = [
            [
                Cell(plain(workload_text(row) + (f", {row.unit}" if row.unit else ""))),
                *_cells(columns, row),
                Cell(role_text(row), mark=_mark(notes, row)),
            ]
            for row in here
        ]
        title = f"Published results on {bench}" if bench else "Published, not measured"
        sheets.append(Sheet(title, [Cell("workload"), *map(_head, columns), Cell("role")], body))
    if sheets:
        last = sheets[-1]
        sheets[-1] = Sheet(last.title, last.heads, last.rows, _texts(notes))
    return sheets


def _parameters(title: str, parameters: Mapping[str, Parameter]) -> Sheet:
    heads = [Cell("parameter"), Cell("value", numeric=True), Cell("basis"), Cell("source")]
    rows = [
        [
            Cell(plain(name)),
            Cell(plain(number_text(parameter.value)), numeric=True),
            Cell(parameter.basis),
            Cell(with_micro(plain(parameter_source(parameter)))),
        ]
        for name, parameter in parameters.items()
    ]
    return Sheet(title, heads, rows, folded=True)


def _sensitivity(found: Sensitivity) -> Sheet:
    heads = [Cell("figure"), Cell("moved by")]
    rows = [
        [Cell(plain(figure.words)), Cell(plain(movers(found, place)))]
        for place, figure in enumerate(found.figures)
    ]
    return Sheet("What moves its figures", heads, rows, footnotes(found))


def _head(column: Column[SpecRow] | Column[PublishedRow]) -> Cell:
    parts = (column.name, with_micro(column.unit))
    return Cell(" ".join(part for part in parts if part), column.numeric)


def _cells(columns: Sequence[Column[SpecRow]] | Sequence[Column[PublishedRow]], row: object) -> list[Cell]:
    return [Cell(plain(number_text(column.value_of(row))), column.numeric) for column in columns]  # pyright: ignore[reportArgumentType]


def _mark(notes: Notes, row: SpecRow | PublishedRow) -> str:
    number = notes.number(row)
    return " ".join(part for part in ("?" if row.uncertain else "", f"[{number}]" if number else "") if part)


def _texts(notes: Notes) -> list[str]:
    return [with_micro(plain(text)) for text in notes.texts]


def _plain(facts: Mapping[str, str]) -> dict[str, str]:
    return {name: plain(text) for name, text in facts.items()}
