"""A mix that makes names and removes them is done in other shares where files run out; a note says so."""

from pathlib import Path

import pytest

import fathom

METHOD = """
schema = "fathom-method/1"
name   = "names"
[[steps]]
name = "names"
[steps.job]
mix   = {{ create = {create}, stat = 30, delete = {delete} }}
files = {{ count = 200, size = "4KiB" }}
load  = {{ threads = 1 }}
until = {{ count = 6000 }}
"""


@pytest.mark.parametrize(("create", "delete", "noted"), [(50, 20, True), (35, 35, False)])
def test_unequal_shares_of_creates_and_deletes_are_noted(
    tmp_path: Path, create: int, delete: int, noted: bool
) -> None:
    method = tmp_path / "names.toml"
    method.write_text(METHOD.format(create=create, delete=delete))
    (tmp_path / "set").mkdir()
    run = fathom.run(str(method), targets=[f"dir:{tmp_path / 'set'}"], out=tmp_path / "runs")
    found = [note for note in run.notes if note.rule == "mix"]
    assert len(found) == noted
    if noted:
        assert "(50 % asked)" in found[0].text
        assert found[0].text.endswith("files ran out for some")
