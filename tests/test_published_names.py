"""A method's names of published results are looked up: one that the catalogue lacks gets a line."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from fathom.catalog import method_names, method_text
from fathom.cli import app
from fathom.method.method import load_method
from fathom.method.template import is_template
from fathom.plan.published_names import unknown_published

DRIVE = "twin:samsung-pm9a3-7.68tb"


def planned(method: Path) -> str:
    """What `fathom plan` prints on stderr."""
    said = CliRunner().invoke(app, ["plan", str(method), DRIVE])
    assert said.exit_code == 0, said.output
    return said.stderr


@pytest.fixture
def method(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(method_text("four-corners"))
    return path


def test_a_misspelt_name_is_named_with_its_step_and_the_nearest_that_exist(method: Path) -> None:
    method.write_text(method.read_text().replace('"fio-4k-rand-read"', '"fio-4k-rand-raed"'))
    [line] = planned(method).splitlines()
    assert line.startswith(
        f"fathom: {method}: step 4k-rand-read: the catalogue has no published result called "
        '"fio-4k-rand-raed"; did you mean "fio-4k-rand-read"'
    )


def test_a_name_near_to_none_may_be_left_out(method: Path) -> None:
    method.write_text(method.read_text().replace('"fio-4k-rand-read"', '"0815"'))
    [line] = planned(method).splitlines()
    assert line.endswith('called "0815"; leave it out where nothing is published')


def test_names_that_exist_get_no_line(method: Path) -> None:
    assert planned(method) == ""


@pytest.mark.parametrize("name", [name for name in method_names() if not is_template(method_text(name))])
def test_a_copy_of_a_method_of_the_catalogue_gets_no_line(name: str) -> None:
    assert list(unknown_published(load_method(name), "mine.toml")) == []


def test_a_wrong_file_in_the_catalogue_is_not_the_method_s_fault(
    method: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "fathom" / "catalog" / "published"
    folder.mkdir(parents=True)
    (folder / "wrong.toml").write_text("no = ")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    method.write_text(method.read_text().replace('"fio-4k-rand-read"', '"fio-4k-rand-raed"'))
    assert list(unknown_published(load_method(str(method)), "mine.toml")) == []
