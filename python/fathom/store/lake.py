"""The data base of a store: opened, locked, and its errors as one line. Which tables it has is in `tables`."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb

from fathom.errors import FathomError, RefusedError
from fathom.runs.sandbox import literal
from fathom.store.address import CATALOGUE, DATA, S3, Address
from fathom.store.extensions import EXTENSIONS_OF_PACKAGES, load
from fathom.store.failures import failure, no_store

WAIT_S = 60.0
"""How long to wait for another process that has the catalogue."""
PAUSE_S = 0.1
_LOCK = 0x4661_7468_6F6D
"""PostgreSQL's advisory lock that whoever adds runs holds; "Fathom" in ASCII."""
_ON_S3 = "s3://"


class Lake:
    """An attached store, `lake` in `connection`. Its tables are read and written by SQL."""

    def __init__(self, address: Address, connection: duckdb.DuckDBPyConnection) -> None:
        self.address = address
        self.connection = connection

    @property
    def data(self) -> str:
        """Where the data is: an absolute folder or `s3://BUCKET/PREFIX/`."""
        row = self.connection.execute(
            "select value from ducklake_options('lake') where option_name = 'data_path'"
        ).fetchone()
        return str(row[0]) if row else ""

    def files(self, table: str) -> list[str]:
        """Returns the Parquet files of a table. Nothing is ever deleted from one, so their rows are all its rows."""
        found = self.connection.execute(
            f"select data_file from ducklake_list_files('lake', {literal(table)})"
        ).fetchall()
        return [str(one) for (one,) in found]

    def tables(self) -> dict[str, int]:
        """Returns the number of files of each table. One question of the catalogue answers it for all."""
        with self._named_errors():
            found = self.connection.execute("select table_name, file_count from ducklake_table_info('lake')")
            return {str(name): int(files) for name, files in found.fetchall()}

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Makes the changes inside the `with` all or nothing, and keeps others from adding meanwhile.

        A file as catalogue has one writer anyway. In PostgreSQL a second session holds a lock, which ends with it.
        """
        with self._lock(), self._named_errors():
            self.connection.execute("begin")
            try:
                yield
                self.connection.execute("commit")
            except BaseException:
                with suppress(duckdb.Error):
                    self.connection.execute("rollback")
                raise

    @contextmanager
    def _lock(self) -> Iterator[None]:
        if not self.address.is_shared:
            yield
            return
        with self.connection.cursor() as session:
            with self._named_errors():
                session.execute(
                    f"attach if not exists {literal(self.address.libpq)} as catalogue (type postgres)"
                )
                session.execute("begin")
            until = time.monotonic() + WAIT_S
            while not self._has_lock(session):
                if time.monotonic() > until:
                    raise RefusedError(
                        f"store {self.address.text}: another process is adding runs", "try again"
                    )
                time.sleep(PAUSE_S)
            try:
                yield
            finally:
                with suppress(duckdb.Error):
                    session.execute("rollback")

    def _has_lock(self, session: duckdb.DuckDBPyConnection) -> bool:
        with self._named_errors():
            row = session.execute(
                f"from postgres_query('catalogue', 'select pg_try_advisory_xact_lock({_LOCK}) as got')"
            ).fetchone()
        return bool(row and row[0])

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        with named_errors(self.address):
            yield


@contextmanager
def named_errors(address: Address) -> Iterator[None]:
    """Turns an error of DuckDB's into one line for the user."""
    try:
        yield
    except duckdb.Error as error:
        raise failure(address, error) from error


@contextmanager
def create(address: Address, data: str) -> Iterator[Lake]:
    """Makes the catalogue of a new store. Raises FathomError where it cannot be made."""
    if address.folder is not None:
        try:
            address.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FathomError(
                f"cannot make the folder {address.text}: {error.strerror or error}", "give another folder"
            ) from error
    with _connected(address, data) as connection:
        options = f"data_path {literal(data)}, data_inlining_row_limit 0"
        _attach(connection, address, options)
        with named_errors(address):
            connection.execute("call lake.set_option('data_inlining_row_limit', 0)")
        yield Lake(address, connection)


@contextmanager
def attached(address: Address, *, to_write: bool = False) -> Iterator[Lake]:
    """Attaches a store. Raises UsageError where there is none, FathomError where it cannot be reached."""
    if address.folder is not None and not (address.folder / CATALOGUE).exists():
        raise no_store(address)  # DuckDB makes the file before DuckLake finds no store in it
    with _connected(address) as connection:
        options = "create_if_not_exists false, data_inlining_row_limit 0"
        options = options if to_write else f"{options}, read_only"
        _attach(connection, address, options)
        lake = Lake(address, connection)
        if moved := _moved_data(address, lake.data):
            connection.execute("detach lake")
            _attach(connection, address, f"{options}, data_path {literal(moved)}, override_data_path true")
        yield lake


def _moved_data(address: Address, data: str) -> str | None:
    """Returns where the data of a folder is that was moved, or is mounted elsewhere here; None where it has not moved.

    The catalogue keeps the absolute path of its data, and those of files from there on.
    """
    if address.folder is None or "://" in data or Path(data).is_dir() or Path(data).name != DATA:
        return None
    beside = address.folder / DATA
    return f"{beside}/" if beside.is_dir() else None


def open_s3(connection: duckdb.DuckDBPyConnection) -> None:
    """Lets a connection read and write S3. Raises UsageError without credentials."""
    s3 = S3.of_environment()
    load(connection, "httpfs")
    parts = [f"key_id {literal(s3.key_id)}", f"secret {literal(s3.secret)}", f"region {literal(s3.region)}"]
    parts += [f"session_token {literal(s3.token)}"] if s3.token else []
    if s3.endpoint:
        parts += [
            f"endpoint {literal(s3.endpoint)}",
            "url_style 'path'",
            f"use_ssl {str(s3.encrypted).lower()}",
        ]
    try:
        connection.execute(f"create secret fathom_s3 (type s3, {', '.join(parts)})")
    except duckdb.Error:
        # Its message may quote the statement, and so the secret.
        raise FathomError(
            "DuckDB does not take the credentials for S3", "look at AWS_ACCESS_KEY_ID and its like"
        ) from None


@contextmanager
def _connected(address: Address, data: str = "") -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(":memory:", config=EXTENSIONS_OF_PACKAGES) as connection:
        with named_errors(address):
            load(connection, "ducklake", *(["postgres_scanner"] if address.is_shared else []))
            if data.startswith(_ON_S3):
                open_s3(connection)
        yield connection


def _attach(connection: duckdb.DuckDBPyConnection, address: Address, options: str) -> None:
    """Attaches the catalogue. Only the catalogue says where the data is, so S3 is opened when DuckLake asks for it."""
    until = time.monotonic() + WAIT_S
    schema = f", metadata_schema {literal(address.schema)}" if address.is_shared else ""
    while True:
        try:
            connection.execute(f"attach {literal(address.catalogue)} as lake ({options}{schema})")
        except duckdb.Error as error:
            text = str(error)
            if "extension httpfs" in text:
                open_s3(connection)
                continue
            # The second is another thread of this process, such as a page of `fathom serve`.
            busy = "lock on file" in text or "file handle conflict" in text
            if busy and time.monotonic() < until:
                time.sleep(PAUSE_S)
                continue
            if busy:
                raise RefusedError(
                    f"store {address.text}: another process has its catalogue",
                    "try again; PostgreSQL lets many work at once",
                ) from error
            raise failure(address, error) from error
        else:
            return
