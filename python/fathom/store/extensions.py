"""DuckDB's extensions, loaded from installed packages; nothing is downloaded. Each is for one version of DuckDB."""

from importlib import resources
from importlib.util import find_spec
from pathlib import Path

import duckdb

from fathom.errors import MissingPackagesError
from fathom.runs.sandbox import literal

EXTRA = "store"
EXTENSIONS_OF_PACKAGES: dict[str, str | bool | int | float | list[str]] = {
    "allow_unsigned_extensions": "true"
}
"""Lets a connection load them without DuckDB's signature, which takes 0.15 s for each, a third of a short command.

Whoever can change an installed package can change the code that loads it too: the signature would protect nothing.
"""


def load(connection: duckdb.DuckDBPyConnection, *names: str) -> None:
    """Loads extensions. Raises UsageError for one that is not installed, or not for this version of DuckDB."""
    connection.execute("set autoinstall_known_extensions = false; set autoload_known_extensions = false")
    for name in names:
        file = _file(name)
        connection.execute("load " + literal(str(file)))


def _file(name: str) -> Path:
    package = f"duckdb_extension_{name}"
    if find_spec(package) is None:
        raise MissingPackagesError("a store needs DuckLake, an extension of DuckDB", EXTRA)
    folder = Path(str(resources.files(package))) / "extensions"
    file = folder / f"v{duckdb.__version__}" / f"{name}.duckdb_extension"
    if not file.is_file():
        built = ", ".join(sorted(one.name.removeprefix("v") for one in folder.glob("v*"))) or "none"
        raise MissingPackagesError(
            f"the extension {name} is for DuckDB {built}, and DuckDB {duckdb.__version__} is installed", EXTRA
        )
    return file
