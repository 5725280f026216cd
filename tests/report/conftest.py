"""A synthetic run and its report."""

from pathlib import Path

import pytest

import synthetic
from fathom.report import write_html


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthetic.make_run(tmp_path_factory.mktemp("runs") / "run")


@pytest.fixture(scope="session")
def report(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_html([run], tmp_path_factory.mktemp("report") / "report.html", synthetic.lookup)
