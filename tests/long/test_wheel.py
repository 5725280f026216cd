"""The wheel: it installs where there is no cargo and no source tree, and brings all that a run needs."""

import email
import os
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

import fathom

pytestmark = pytest.mark.long

TREE = Path(__file__).parents[2]
TWIN = "twin:samsung-pm9a3-7.68tb"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheels")
    done = subprocess.run(
        ["make", "--silent", "wheel"], cwd=TREE, capture_output=True, text=True, timeout=1800, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    newest = max((TREE / "target" / "wheels").glob("fathom-*.whl"), key=lambda one: one.stat().st_mtime)
    return Path(shutil.copy(newest, out))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel and the packages that it asks for; returns its command."""
    home = tmp_path_factory.mktemp("fresh") / "venv"
    uv = [str(TREE / "tools" / "uv")]
    subprocess.run([*uv, "venv", "--quiet", "--python", sys.executable, str(home)], check=True)
    subprocess.run([*uv, "pip", "install", "--quiet", "--python", str(home), str(wheel)], check=True)
    return home / "bin" / "fathom"


def run(command: Path, *arguments: str, folder: Path) -> str:
    """Runs the installed command far from the source tree, with neither cargo nor the tree's packages in reach."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment |= {"PATH": "/usr/bin:/bin", "HOME": str(folder), "XDG_DATA_HOME": str(folder / "data")}
    done = subprocess.run(
        [command, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_one_wheel_is_for_all_versions_of_python_and_has_the_licence_and_the_catalogue(wheel: Path):
    assert "-abi3-manylinux" in wheel.name
    assert wheel.stat().st_size < 16 << 20
    with ZipFile(wheel) as archive:
        names = archive.namelist()
        [metadata] = [name for name in names if name.endswith(".dist-info/METADATA")]
        told = email.message_from_bytes(archive.read(metadata))
    assert told["License-Expression"] == "Apache-2.0"
    assert any(name.endswith("/LICENSE") for name in names)
    shipped = {str(path.relative_to(TREE / "python")) for path in (TREE / "python/fathom").rglob("*.toml")}
    assert shipped <= set(names)
    assert {"fathom/py.typed", "fathom/_core.pyi"} <= set(names)
    assert not [name for name in names if name.startswith(("tests/", "crates/", "docs/"))]


def test_a_fresh_environment_runs_a_twin_and_writes_its_report(installed: Path, tmp_path: Path):
    assert fathom.__version__ in run(installed, "--version", folder=tmp_path)
    told = run(installed, "run", "four-corners", TWIN, "--quick", "--out", "runs", folder=tmp_path)
    [report] = (tmp_path / "runs").rglob("report.html")
    assert report.stat().st_size > 100_000
    assert f"run     {report.parent.name}" in told


def test_the_installed_twin_gives_the_figures_of_the_source_tree(installed: Path, tmp_path: Path):
    run(installed, "run", "four-corners", TWIN, "--quick", "--out", str(tmp_path / "runs"), folder=tmp_path)
    [theirs] = (tmp_path / "runs").iterdir()
    ours = fathom.run("four-corners", targets=[TWIN], quick=True, out=tmp_path / "ours")
    columns = ["step", "op", "n", "iops", "p99_us"]
    assert fathom.open_run(theirs).points.select(columns).equals(ours.points.select(columns))
