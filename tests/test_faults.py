"""Runs on targets that fail: what they say, where, and how they end."""

import csv
import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from fathom.report import runs_csv, write_html
from fathom.report.export import run_json
from fathom.runs.reader import Run
from faulty import faulty

pytestmark = pytest.mark.skipif(
    os.getuid() != 0 or not Path("/dev/fuse").exists(), reason="needs root and /dev/fuse, to mount"
)
FATHOM = [sys.executable, "-m", "fathom"]
STEP = """
[[steps]]
name = "{name}"
kind = "{kind}"
workload = "{name}"
label = "{name}"
[steps.job]
mix = "{mix}"
block = "4KiB"
pattern = "{pattern}"
load = {{ threads = 1, iodepth = 4 }}
content = {{ {content} }}
until = {{ {until} }}
"""
HEAD = 'schema = "fathom-method/1"\nname = "m"\ntitle = "m"\nsummary = "m?"\n'

Mount = Callable[[str], Path]


def step(
    name: str, mix: str, until: str, *, kind: str = "measure", pattern: str = "uniform", content: str = ""
) -> str:
    return STEP.format(name=name, mix=mix, until=until, kind=kind, pattern=pattern, content=content)


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Mount]:
    """Mounts a file system with a fault; the file that becomes the target."""
    with ExitStack() as stack:

        def with_fault(fault: str) -> Path:
            directory = tmp_path / f"faulty{len(list(tmp_path.iterdir()))}"
            return stack.enter_context(faulty(directory, fault)) / "target.bin"

        yield with_fault


def method(tmp_path: Path, *steps: str) -> Path:
    path = tmp_path / "m.toml"
    path.write_text(HEAD + "".join(steps))
    return path


def wait_for_seconds(least: int) -> None:
    """Waits until the only run has logged so many seconds of its step."""
    home = Path(os.environ["FATHOM_RUNS"])
    until = time.monotonic() + 100
    while sum(len(log.read_text().splitlines()) for log in home.glob("*/steps/*.live.jsonl")) < least:
        assert time.monotonic() < until
        time.sleep(0.05)


def fathom(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [*FATHOM, *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | {"COLUMNS": "200"}
    )


def run_on(path: Path, target: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return fathom("run", path, f"file:{target}", "--size", "4MiB", *options)


def plain(page: str) -> str:
    return page.replace("\u00a0", " ").replace("&nbsp;", " ")


def page_of_last() -> str:
    return plain((Run.open("last").path / "report.html").read_text())


def points_as_json() -> list[dict[str, Any]]:
    return json.loads(json.dumps(run_json(Run.open("last").path)))["points"]


COUNTED = step("writes", "write", "count = 4000")
"""So many that the least share of faults befalls two."""
FAILING = [
    ("write:eio:0.48", "48 % failed", "Input/output error"),
    ("write:enospc:0.30", "30 % failed", "No space left on device"),
]


@pytest.mark.parametrize(("fault", "share", "why"), FAILING)
def test_a_row_of_which_much_failed_has_the_share_and_no_figures_and_the_run_fails(
    fault: str, share: str, why: str, mount: Mount, tmp_path: Path
):
    path = method(tmp_path, COUNTED)
    ended = run_on(path, mount(fault))
    assert ended.returncode == 1, ended
    assert f"– ({share})" in ended.stdout
    assert why in " ".join(ended.stdout.split())
    assert share in ended.stderr
    [row] = csv.DictReader(io.StringIO(runs_csv([Run.open("last").path])))
    assert float(row["failed_share"]) == pytest.approx(float(share.split()[0]) / 100, abs=0.01)
    assert [row[name] for name in ("iops", "mbps", "mean_us", "p99_us", "max_us", "limited_by")] == [""] * 6
    [point] = points_as_json()
    assert point["failed_share"] > 0.2
    assert point["iops"] is None
    assert point["errors"] > 0
    page = page_of_last()
    assert share in page
    assert "reaches" not in ended.stdout + page


def test_a_row_of_which_a_little_failed_keeps_its_figures_marked_and_the_run_fails(
    mount: Mount, tmp_path: Path
):
    ended = run_on(method(tmp_path, COUNTED), mount("write:eio:0.005"))
    assert ended.returncode == 1, ended
    assert re.search(r"\(0\.(4\d|5\d?) % failed\)", ended.stdout)
    [point] = points_as_json()
    assert point["iops"] > 0
    assert point["failed_share"] == pytest.approx(0.005, abs=0.001)


def test_any_failed_io_is_noted_with_its_count(mount: Mount, tmp_path: Path):
    ended = run_on(method(tmp_path, COUNTED), mount("write:eio:0.0005"))
    assert ended.returncode == 0, ended
    [note] = [note for note in Run.open("last").notes if note.rule == "errors"]
    assert note.level == "error"
    assert "Input/output error" in note.text
    assert note.text.split()[0] == "2"
    assert note.text in ended.stdout.replace("\n", " ") or "failed" in ended.stdout


FILL = step("fill", "write", 'written = "1x"', kind="fill")


def test_a_target_that_fails_leaves_the_table_of_the_others(mount: Mount, tmp_path: Path):
    good = f"file:{tmp_path / 'good.bin'}"
    ended = run_on(method(tmp_path, FILL, COUNTED), mount("write:eio:0.8"), good)
    assert ended.returncode == 1, ended
    assert "step fill: 820 of 1,024 I/O failed" in ended.stderr
    assert "what was measured is in" in ended.stderr
    [point] = points_as_json()
    assert point["target"] == good
    assert f"{round(point['iops']):,}" in ended.stdout
    assert str(Run.open("last").path / "report.html") in ended.stdout
    assert "This run failed." in page_of_last()


def test_a_member_of_an_array_whose_fill_fails_ends_the_run(mount: Mount, tmp_path: Path):
    bad = mount("write:eio:0.8")
    ended = run_on(method(tmp_path, FILL, COUNTED), bad, f"file:{tmp_path / 'good.bin'}", "--together")
    assert ended.returncode == 1, ended
    assert f"step fill: 820 of 1,024 I/O failed on file:{bad}" in ended.stderr
    assert Run.open("last").points.num_rows == 0
    assert not ended.stdout


def test_nothing_is_sized_or_ranked_by_what_mostly_failed(mount: Mount, tmp_path: Path):
    path = method(tmp_path, COUNTED)
    run_on(path, mount("write:eio:0.005"))
    bad = Run.open("last").path
    assert run_on(path, mount("write:eio:0")).returncode == 0
    good = Run.open("last").path
    sized = fathom("size", "--need", "1M IOPS write", "--run", bad)
    assert sized.returncode == 1, sized
    assert sized.stderr.count("\n") == 1
    assert re.search(r"0\.\d+ % failed, so nothing is sized by this run", sized.stderr)
    page = plain(write_html([good, bad], tmp_path / "both.html").read_text())
    assert re.search(r"0\.\d+ % failed, so it is left out of comparisons", page)


def test_a_stall_at_the_end_is_in_the_largest_latency_as_a_lower_bound(mount: Mount, tmp_path: Path):
    ended = run_on(method(tmp_path, step("writes", "write", 'time = "3s"')), mount("write:hang:1:1.5:2.5"))
    assert ended.returncode == 0, ended
    [point] = Run.open("last").points.to_pylist()
    assert point["censored"] >= 1
    assert 1e6 < point["max_us"] <= 3e6
    assert point["censored_us"] <= point["max_us"]
    assert "in flight at the end of the window" in ended.stdout
    assert "≥ 1," in page_of_last()
    rows = [row for row in Run.open("last").latency.to_pylist() if row["censored"]]
    assert sum(row["count"] for row in rows) == point["censored"]


def test_the_seconds_of_a_stall_count_as_seconds_without_io(mount: Mount, tmp_path: Path):
    run_on(method(tmp_path, step("writes", "write", 'time = "5s"')), mount("write:hang:1:1.5:2.2"))
    run = Run.open("last")
    seconds = run.intervals.to_pylist()
    assert [row["index"] for row in seconds] == list(range(len(seconds)))
    assert min(row["iops"] for row in seconds) == 0
    [point] = run.points.to_pylist()
    whole = [row["n"] for row in seconds if row["length_s"] > 0.999]
    assert sum(whole) / len(whole) == pytest.approx(point["iops"], rel=0.05)


def test_a_second_interrupt_ends_a_run_whose_io_hangs_and_keeps_what_was_measured(
    mount: Mount, tmp_path: Path
):
    target = mount("write:hang:1:1.5:1e9")
    path = method(tmp_path, step("writes", "write", 'time = "60s"'))
    command = [*FATHOM, "run", str(path), f"file:{target}", "--size", "4MiB"]
    # The kernel does not let the process go that waits for FUSE; the one at the terminal ends.
    _, terminal = pty.openpty()
    with subprocess.Popen(
        command, stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        wait_for_seconds(1)
        time.sleep(3)
        run.send_signal(signal.SIGINT)
        time.sleep(0.5)
        asked = time.monotonic()
        run.send_signal(signal.SIGINT)
        run.wait(10)
        took_s = time.monotonic() - asked
    assert took_s < 2.5
    assert run.returncode == 130
    until = time.monotonic() + 30
    while Run.open("last").document.status == "running" and time.monotonic() < until:
        time.sleep(0.1)
    found = Run.open("last")
    assert found.document.status == "interrupted"
    [point] = found.points.to_pylist()
    assert point["n"] > 0
    assert point["max_us"] > 2e6


PASSES = [
    step("one", "write", 'written = "1x"', kind="fill", pattern="sequential", content="verify = 1"),
    step("two", "write", 'written = "1x"', kind="fill", pattern="sequential", content="verify = 2"),
    step("read", "read", 'written = "1x"', pattern="sequential", content="verify = 2").replace(
        'written = "1x"', "count = 1024"
    ),
]


@pytest.mark.parametrize(
    ("fault", "noticed"),
    [
        ("write:eio:0.01", "did not hold what was written"),
        ("write:lost:0.05", "stale"),
        ("write:torn:0.05", "torn"),
        ("read:garbled:0.01", "corrupt"),
        ("read:eio:0.05", "Input/output error"),
        ("read:short:0.05", ""),
        ("write:short:0.05", ""),
        ("write:hang:1:0.01:0.5", ""),
    ],
)
def test_blocks_that_are_read_back_are_right_or_noticed_under_every_fault(
    fault: str, noticed: str, mount: Mount, tmp_path: Path
):
    ended = run_on(method(tmp_path, *PASSES), mount(fault))
    told = " ".join((ended.stdout + ended.stderr).split())
    checked = [note.text for note in Run.open("last").notes if note.text.startswith("verify: thread")]
    if noticed:
        assert ended.returncode == 1, ended
        assert noticed in told
    else:
        # The kernel asks for the rest of what was cut short, and what hung was done in the end.
        assert ended.returncode == 0, ended
        assert checked == ["verify: thread 0: 1024 blocks read, 0 wrong"]
