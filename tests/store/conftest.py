"""A store on a folder, and one on PostgreSQL and S3, each new for a test."""

import secrets
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from fathom.store.address import Address, parse_address, parse_data
from fathom.store.tables import init
from servers import BUCKET, NotHereError, create_database, postgres, s3

pytest.importorskip("duckdb_extension_ducklake", reason="DuckLake is not installed: see the extra `store`")


@dataclass(frozen=True)
class Servers:
    """The variables that lead to the servers of a session, or why there are none."""

    variables: Mapping[str, str]
    why_not: str = ""


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    with ExitStack() as running:
        try:
            variables = {**running.enter_context(postgres()), **running.enter_context(s3())}
        except NotHereError as error:
            yield Servers({}, str(error))
            return
        yield Servers(variables)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def folder_store(tmp_path: Path) -> Address:
    address = parse_address(str(tmp_path / "store"))
    init(address, parse_data(None, address))
    return address


@pytest.fixture
def team_store(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> Address:
    if servers.why_not:
        pytest.skip(servers.why_not)
    for name, value in servers.variables.items():
        monkeypatch.setenv(name, value)
    name = f"t{secrets.token_hex(4)}"
    create_database(name)
    address = parse_address(f"postgresql:///{name}")
    init(address, parse_data(f"s3://{BUCKET}/{name}", address))
    return address


@pytest.fixture(params=["folder_store", "team_store"])
def address(request: pytest.FixtureRequest) -> Address:
    """One of each kind."""
    return request.getfixturevalue(request.param)
