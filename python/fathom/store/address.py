"""Where a store is: the catalogue that lists it, and how S3 is reached. Secrets come from the environment alone."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from fathom.errors import UsageError
from fathom.text_file import check_utf8

CATALOGUE = "catalogue.ducklake"
DATA = "data"
_SCHEMES = ("postgresql", "postgres")
_BUCKET = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,62}(/[\w.=/ -]*)?", re.ASCII)


@dataclass(frozen=True)
class Address:
    """A store's address as the user wrote it. It holds no secret, so it may stand in messages."""

    text: str
    folder: Path | None
    """The folder with the catalogue; None for PostgreSQL."""
    libpq: str = ""
    """PostgreSQL's own words for the data base; what they leave out is in PGHOST and its like."""
    schema: str = "fathom"

    @property
    def is_shared(self) -> bool:
        """Whether PostgreSQL has the catalogue."""
        return self.folder is None

    @property
    def catalogue(self) -> str:
        """What DuckLake attaches."""
        return (
            f"ducklake:postgres:{self.libpq}"
            if self.folder is None
            else f"ducklake:{self.folder / CATALOGUE}"
        )


def parse_address(text: str) -> Address:
    """Returns the address of a store: a folder, or `postgresql://[USER@]HOST[:PORT]/DATABASE`.

    Raises UsageError for a password in it, and for other kinds.
    """
    check_utf8(text)
    scheme, separator, _ = text.partition("://")
    if not separator:
        if not text:
            raise UsageError("--store: the address is empty", "give a folder or postgresql://HOST/DATABASE")
        if "?" in str(Path(text).absolute()):
            raise UsageError(
                f"--store {text}: DuckDB opens no file whose path has a `?`", "give another folder"
            )
        return Address(text, Path(text).absolute())
    if scheme not in _SCHEMES:
        raise UsageError(
            f"--store {scheme}://...: neither a folder nor postgresql://",
            "the catalogue is in one of these; `fathom store init --data s3://BUCKET` keeps the data on S3",
        )
    url = urlsplit(text)
    if url.password is not None or "password" in url.query.lower():
        raise UsageError(
            "--store: a password in the address would be seen by others", "set PGPASSWORD, or write ~/.pgpass"
        )
    if url.query or url.fragment:
        raise UsageError(
            f"--store: {text!r} has options behind the data base", "set them by PGSSLMODE and its like"
        )
    try:
        parts = {
            "host": url.hostname,
            "port": url.port,
            "user": unquote(url.username) if url.username else None,
            "dbname": unquote(url.path.removeprefix("/")) or None,
        }
    except ValueError as error:
        raise UsageError(f"--store: {text!r} is no address", "postgresql://HOST:PORT/DATABASE") from error
    return Address(text, None, " ".join(f"{name}={_quoted(str(one))}" for name, one in parts.items() if one))


def parse_data(text: str | None, address: Address) -> str:
    """Returns where a new store keeps its data: `s3://BUCKET/PREFIX/`, or a folder's absolute path.

    Raises UsageError where neither `--data` nor the address has a place.
    """
    if text is None:
        if address.folder is None:
            raise UsageError(
                "store init: PostgreSQL keeps no data", "add --data FOLDER or --data s3://BUCKET/PREFIX"
            )
        return f"{address.folder / DATA}/"
    check_utf8(text)
    if "://" not in text:
        return f"{Path(text).absolute()}/"
    if not _BUCKET.fullmatch(text):
        raise UsageError(f"--data {text!r}: not s3://BUCKET/PREFIX", "give a bucket, or a folder")
    return text.rstrip("/") + "/"


@dataclass(frozen=True)
class S3:
    """How S3 is reached, by the variables that AWS's own tools read."""

    key_id: str
    secret: str
    token: str
    region: str
    endpoint: str
    """Host and port of another server than AWS's; empty for AWS."""
    encrypted: bool

    @classmethod
    def of_environment(cls) -> "S3":
        """Reads AWS_ACCESS_KEY_ID and its like. Raises UsageError where there are no credentials."""
        names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
        key_id, secret, token = (os.environ.get(name, "") for name in names)
        if not key_id or not secret:
            raise UsageError(
                "the store's data is on S3 and there are no credentials",
                "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
            )
        url = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""
        parsed = urlsplit(url)
        if url and (parsed.scheme not in ("http", "https") or not parsed.netloc or "@" in parsed.netloc):
            raise UsageError("AWS_ENDPOINT_URL is no address", "such as https://s3.example.org:9000")
        region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
        return cls(key_id, secret, token, region, parsed.netloc, parsed.scheme != "http")


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
