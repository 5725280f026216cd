"""Packages that some commands need beside Fathom's own: what is missing is named with a command that installs it."""

import re
import shlex
import tomllib
from pathlib import Path

import pytest

import fathom
from fathom import errors
from fathom.errors import MissingPackagesError, install_command

TREE = Path(__file__).parents[1]
EXTRAS: dict[str, list[str]] = tomllib.loads((TREE / "pyproject.toml").read_text())["project"][
    "optional-dependencies"
]
METHOD = """
schema = "fathom-method/1"
name = "short"
[[steps]]
name = "r"
[steps.job]
mix = "read"
block = "4KiB"
pattern = "uniform"
load = { iodepth = 1 }
until = { time = "100ms" }
"""


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_command_names_every_package_of_an_extra_and_no_other(extra: str) -> None:
    names = {re.split("[>=]", package)[0].lower() for package in EXTRAS[extra]}
    words = shlex.split(install_command(extra).lower())
    assert {re.split("[>=]", word)[0] for word in words if re.search("[>=]=", word)} == names


@pytest.mark.parametrize(
    ("pip", "installer"),
    [(None, r"run: \S+/tools/uv pip install --python "), (object(), r"run: \S+ -m pip install ")],
)
def test_the_command_takes_the_installer_that_is_there(
    pip: object, installer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(errors, "find_spec", lambda name: pip)
    assert re.match(installer, install_command("serve"))


def test_frames_without_their_library_are_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = fathom.run(METHOD, "null:", out=tmp_path)
    monkeypatch.setattr("fathom.runs.reader.find_spec", lambda name: None)
    for frame in (run.to_pandas, run.to_polars):
        with pytest.raises(MissingPackagesError, match=r"which is not installed; run: .*pandas"):
            frame()


def test_nothing_installs_fathom_by_its_name_because_an_index_has_another_program_under_it() -> None:
    texts = [path for kind in ("md", "py", "ipynb") for path in (TREE / "docs").rglob(f"*.{kind}")]
    texts += [TREE / "README.md", *(TREE / "python").rglob("*.py")]
    asks = re.compile(r"(pip install|uv add|dependencies = \[)[^\n]*[ '\"]fathom['\"\[ ,]")
    found = [
        str(path) for path in texts if asks.search(path.read_text().replace("pip install fathom` brings", ""))
    ]
    assert found == []
