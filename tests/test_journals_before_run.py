"""A journal that cannot be begun is refused before the run, not behind the steps before it."""

from pathlib import Path

import pytest

import fathom
from fathom.errors import UsageError
from fathom.runs.home import runs_home

HEAD = 'schema = "fathom-method/1"\nname = "m"\n'
STEP = """
[[steps]]
name = "{name}"
[steps.job]
mix = "write"
block = "4KiB"
pattern = "random-once"
journal = "{journal}"
content = {{ verify = 1 }}
load = {{ iodepth = 1 }}
until = {{ written = "1x" }}
"""


def method(*journals: Path) -> str:
    steps = (STEP.format(name=f"s{number}", journal=journal) for number, journal in enumerate(journals))
    return HEAD + "".join(steps)


def run(text: str, folder: Path) -> None:
    fathom.run(text, f"file:{folder}/target.bin", size_bytes=1 << 20)


def test_the_journal_of_an_earlier_run_is_refused_before_anything_runs(tmp_path: Path) -> None:
    acks = tmp_path / "acks"
    run(method(acks), tmp_path)
    before = sorted(runs_home().iterdir())
    with pytest.raises(
        UsageError, match=r"acks/.*\.0\.journal is the journal of an earlier run; name another"
    ):
        run(method(tmp_path / "other", acks), tmp_path)
    assert sorted(runs_home().iterdir()) == before
    assert not (tmp_path / "other").exists()
    run(method(tmp_path / "other"), tmp_path)


def test_two_steps_with_one_journal_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="steps s0 and s1 keep one journal"):
        run(method(tmp_path / "acks", tmp_path / "acks"), tmp_path)
    assert not (tmp_path / "acks").exists()
