"""What DuckDB says when a store cannot be reached, as one line that shows what to do."""

import re
from collections.abc import Callable
from typing import NamedTuple

from fathom.errors import FathomError, UsageError
from fathom.store.address import Address


class _Known(NamedTuple):
    """An error that users meet: its text, what is printed, and what to do. `{}` are the pattern's groups."""

    pattern: re.Pattern[str]
    message: str
    hint: str
    kind: Callable[[str, str], FathomError] = FathomError


_NO_STORE = _Known(
    re.compile(r"DuckLake.*(?:does not exist|Cannot open file[^:]*: No such file)", re.DOTALL),
    "no store",
    "`fathom store init {address}` makes one",
    UsageError,
)
_KNOWN = (
    _NO_STORE,
    _Known(
        re.compile(r'DATA_PATH parameter "[^"]*" does not match existing data path in the catalog "([^"]*)"'),
        "there is a store already, with its data in {}",
        "`fathom store add RUN` adds to it",
        UsageError,
    ),
    _Known(
        re.compile(r'database "([^"]*)" does not exist'),
        "PostgreSQL has no data base {}",
        "`createdb` makes it, then `fathom store init` the store",
        UsageError,
    ),
    _Known(
        re.compile(r"(password authentication failed for user \"[^\"]*\"|no password supplied)"),
        "PostgreSQL refuses the login: {}",
        "look at PGUSER and PGPASSWORD, or at ~/.pgpass",
    ),
    _Known(
        re.compile(r"onnect to Postgres.*\": ([^\n]*)", re.DOTALL),
        "{}",
        "is PostgreSQL there, and do PGHOST and its like say where?",
    ),
    _Known(
        re.compile(r'Failed to create directory "([^"]*)": ([^\n]*)'),
        "cannot make the folder {}: {}",
        "give another folder",
    ),
    _Known(
        re.compile(r"(?:Could not|ould not establish) connect[^']*'(https?://[^/']*)"),
        "S3 does not answer at {}",
        "is it there, and does AWS_ENDPOINT_URL say where?",
    ),
    _Known(
        re.compile(r"\(HTTP (40[0-3])"),
        "S3 refuses to read or write (HTTP {})",
        "look at AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION",
    ),
    _Known(re.compile(r"\(HTTP (5\d\d)"), "S3 fails (HTTP {})", "try again later"),
    _Known(
        re.compile(r"'(https?://[^']*)'.*\(HTTP 404"),
        "S3 has no {}",
        "is the bucket there, and is AWS_ENDPOINT_URL the store's?",
    ),
)


def no_store(address: Address) -> FathomError:
    """Returns the error for an address where there is no store."""
    return _error(_NO_STORE, address)


def failure(address: Address, error: Exception) -> FathomError:
    """Returns an error of DuckDB's as one for the user."""
    text = str(error).strip()
    for known in _KNOWN:
        if found := known.pattern.search(text):
            return _error(known, address, *found.groups())
    first = text.split("\n")[0]
    return FathomError(f"store {address.text}: {first}")


def _error(known: _Known, address: Address, *said: str) -> FathomError:
    what = known.message.format(*said)
    return known.kind(f"store {address.text}: {what}", known.hint.format(address=address.text))
