"""The notebooks of the documentation: each runs from top to bottom, and prints what it shows."""

import json
import runpy
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).parents[1] / "docs" / "notebooks"


def printed(notebook: nbformat.NotebookNode) -> list[str]:
    """What each cell of code prints."""
    return ["".join(out.get("text", "") for out in cell.get("outputs", ())) for cell in notebook.cells]


@pytest.mark.long
def test_the_jupyter_notebook_prints_again_what_it_shows(tmp_path: Path) -> None:
    text = (NOTEBOOKS / "two-drives.ipynb").read_text()
    shown = printed(nbformat.reads(text, as_version=4))
    again = nbformat.reads(text, as_version=4)
    NotebookClient(
        again, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    assert printed(again) == shown
    assert any("IOPS" in one for one in shown)


def test_the_jupyter_notebook_names_no_machine() -> None:
    text = (NOTEBOOKS / "two-drives.ipynb").read_text()
    assert "/home/" not in text
    assert "/tmp/" not in text
    assert set(json.loads(text)["metadata"]) == {"kernelspec", "language_info"}


def test_the_marimo_notebook_finds_how_many_in_flight_are_enough() -> None:
    _, found = runpy.run_path(str(NOTEBOOKS / "depth.py"))["app"].run()
    rows = found["rows"]
    rates = [row["IOPS"] for row in rows]
    assert [row["in flight"] for row in rows] == [1, 2, 4, 8, 16, 32, 64, 128]
    assert rates[1] > 1.5 * rates[0]
    assert rows[-1]["mean, µs"] > 3 * rows[0]["mean, µs"]
