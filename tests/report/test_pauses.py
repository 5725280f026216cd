"""Host idle recovery: what is said of bursts of writes after longer and longer pauses."""

from pathlib import Path

import pytest

import fathom
from fathom.report.comparison import compare
from fathom.report.data import load
from fathom.report.sections import rounds

BURSTS = """
[[steps]]
name   = "idle-{name}"
kind   = "rounds"
rounds = {{ most = 6, window = 6, range = "100%", slope = "100%", track = ["write"] }}

[[steps.steps]]
name = "idle"
kind = "idle"
time = "{pause}"

[[steps.steps]]
name = "write"
job = {{ mix = "write", block = "4KiB", pattern = "uniform", load = {{ iodepth = 128 }}, until = {{ time = "100ms" }} }}
"""
METHOD = """
schema = "fathom-method/1"
name = "snia-hir"
slice = "1GiB"
key_figure = "rounds"
[[steps]]
name = "fill"
kind = "fill"
job = { mix = "write", block = "128KiB", pattern = "sequential", load = { iodepth = 32 }, until = { written = "1x" } }
"""
OVERWRITTEN = """
[[steps]]
name = "overwrite"
kind = "fill"
job  = { mix = "write", block = "4KiB", pattern = "uniform", load = { iodepth = 128 }, until = { written = "2x" } }
"""
SHORT = """
schema = "fathom-method/1"
name = "pause"
slice = "1GiB"
[[steps]]
name = "write"
kind = "measure"
job = { mix = "write", block = "128KiB", pattern = "uniform", load = { iodepth = 4 }, until = { time = "100ms" } }
[[steps]]
name = "idle"
kind = "idle"
time = "2s"
"""
CLEANS = "?gc_idle_free_share=0.9,gc_idle_after_us=1000"
NAME = "Samsung PM9A3"


@pytest.mark.parametrize(
    ("settings", "before", "begins"),
    [
        ("", OVERWRITTEN, "Longer pauses do not speed up the writes of "),
        (CLEANS, OVERWRITTEN, "Longer pauses take the writes of "),
        ("", "", f"{NAME} had not settled: its writes ran at "),
    ],
    ids=["cleans no more", "cleans when idle", "never overwritten"],
)
def test_a_pause_is_said_to_help_where_it_makes_more_difference_than_the_bursts_scatter(
    tmp_path: Path, settings: str, before: str, begins: str
) -> None:
    method = tmp_path / "pauses.toml"
    bursts = [BURSTS.format(name=name, pause=pause) for name, pause in (("5s", "10ms"), ("50s", "2s"))]
    method.write_text(METHOD + before + "".join(bursts))
    run = fathom.run(str(method), f"twin:samsung-pm9a3-7.68tb{settings}", out=tmp_path)
    section = rounds.build(compare([load(run.path)]))
    assert section is not None
    assert section.key_figure is not None
    assert section.key_figure.sentence.startswith(begins)


@pytest.mark.parametrize("form", ["*2", "/ext4", "*2/ext4"])
def test_a_run_with_a_pause_on_an_array_or_a_file_system_of_a_twin_ends_with_its_note(
    tmp_path: Path, form: str
) -> None:
    method = tmp_path / "pause.toml"
    method.write_text(SHORT)
    run = fathom.run(str(method), f"twin:samsung-pm9a3-7.68tb{form}", out=tmp_path)
    assert run.document.status == "complete"
    assert [note.rule for note in run.document.notes if note.rule == "idle-time"]
