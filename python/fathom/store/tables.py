"""The tables of a store: facts of runs, their rows, and their files."""

from collections.abc import Mapping
from datetime import UTC, datetime

import duckdb
import pyarrow as pa

from fathom.columns.schema import TABLES
from fathom.errors import FathomError, UsageError
from fathom.runs.facts import FACTS
from fathom.store.address import Address
from fathom.store.lake import Lake, create, named_errors

FORMAT = "fathom-store/1"
RUN_FIELD = pa.field("run", pa.string())
ROWS: Mapping[str, pa.Schema] = {name: schema.insert(0, RUN_FIELD) for name, schema in TABLES.items()}
"""Tables of rows: those of a run, with its id in front."""
FACTS_KEPT = pa.schema(
    [
        *FACTS,
        ("title", pa.string()),
        ("measured", pa.string()),
        ("labels", pa.list_(pa.string())),
        ("made_by", pa.string()),
        ("bytes", pa.int64()),
        ("manifest", pa.string()),
    ]
)
"""`manifest` is the SHA-256 of manifest.json, which lists those of all other files."""
FILES = pa.schema([RUN_FIELD, ("name", pa.string()), ("part", pa.int32()), ("content", pa.binary())])
LABELS = pa.schema(
    [
        RUN_FIELD,
        ("number", pa.int64()),
        ("tags", pa.list_(pa.string())),
        ("note", pa.string()),
        ("given", pa.string()),
    ]
)
"""Tags and notes: the row with the highest number counts, the others are what was there before."""
SCHEMAS: Mapping[str, pa.Schema] = {"runs": FACTS_KEPT, **ROWS, "files": FILES, "labels": LABELS}


def init(address: Address, data: str) -> None:
    """Makes a store. Raises UsageError where there is one."""
    with create(address, data) as lake:
        if "about" in lake.tables():
            raise UsageError(f"{address.text}: there is a store already", "`fathom store add RUN` adds to it")
        with lake.transaction():
            for name, schema in SCHEMAS.items():
                _create(lake, name, schema)
            now = datetime.now(UTC).isoformat(timespec="seconds")
            lake.connection.execute("create table lake.about (format varchar, created varchar)")
            lake.connection.execute(
                "insert into lake.about values ($format, $now)", {"format": FORMAT, "now": now}
            )


def check_format(lake: Lake) -> None:
    """Raises UsageError for a data base that is no store of this format."""
    found: tuple[object, ...] | None = None
    if "about" in lake.tables():
        with named_errors(lake.address):
            found = lake.connection.execute("select format from lake.about").fetchone()
    if found is None:
        raise UsageError(
            f"{lake.address.text}: a catalogue of DuckLake, and no store of Fathom", "make another"
        )
    if found[0] != FORMAT:
        raise FathomError(
            f"{lake.address.text}: format {found[0]}, this Fathom reads {FORMAT}", "update Fathom"
        )


def add_missing(lake: Lake) -> list[str]:
    """Adds the tables and columns that this version knows and the store does not. Returns the new tables, which are
    empty. Runs of earlier versions have null in new columns.
    """
    present = lake.tables()
    for name, schema in SCHEMAS.items():
        if name not in present:
            _create(lake, name, schema)
            continue
        relation = lake.connection.sql(f"from lake.{name} limit 0")
        missing = [field for field in schema if field.name not in relation.columns]
        if missing:
            lake.connection.register("rows", pa.schema(missing).empty_table())
            types: list[tuple[object, ...]] = lake.connection.execute("describe from rows").fetchall()
            for column, kind, *_ in types:
                lake.connection.execute(f'alter table lake.{name} add column "{column}" {kind}')
    return [name for name in SCHEMAS if name not in present]


def _create(lake: Lake, name: str, schema: pa.Schema) -> None:
    lake.connection.register("rows", schema.empty_table())
    lake.connection.execute(f"create table lake.{name} as from rows")


def insert(connection: duckdb.DuckDBPyConnection, table: str, rows: pa.Table) -> None:
    """Adds rows, by the names of their columns."""
    connection.register("rows", rows)
    connection.execute(f"insert into lake.{table} by name from rows")
    connection.unregister("rows")
