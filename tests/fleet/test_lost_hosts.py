"""Fleets of real processes: one is killed while it loads; of four one hangs and one is slowed down."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from test_fleet import METHOD

from fathom.runs.event_log import read_events

TIMEOUT_S = 240
STEP = """
[[steps]]
name = "read"
[steps.job]
mix = "read"
block = "4KiB"
pattern = "uniform"
load = { threads = 1, iodepth = 32 }
until = { time = "20ms" }
"""


def processes(host: str) -> list[int]:
    """The agents of the host of that name."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if "fathom.fleet.serve" in words and host in words:
            found.append(int(path.parent.name))
    return found


def read_is_ordered(runs: Path) -> bool:
    """Whether the step `read` has been ordered; its hosts may begin later."""
    events = (event for journal in runs.glob("*/journal.jsonl") for event in read_events(journal.parent))
    return any(event["event"] == "step-start" and event["step"] == "read" for event in events)


def seconds_read(runs: Path, host: str) -> int:
    """Seconds of the step `read` that the coordinator has from that host."""
    return sum(
        f'"target": "{host}:' in line
        for log in runs.glob("*/steps/*-read.live.jsonl")
        for line in log.read_text().splitlines()
    )


def outcomes(runs: Path) -> dict[str, str]:
    """How each step of the one run ended."""
    events = (event for journal in runs.glob("*/journal.jsonl") for event in read_events(journal.parent))
    return {str(event["step"]): str(event["status"]) for event in events if event["event"] == "step-end"}


def wait_until(process: "subprocess.Popen[str]", reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline:
        if reached():
            return
        if process.poll() is not None:
            raise AssertionError(f"ended too early: {process.communicate()[1]}")
        time.sleep(0.1)
    raise AssertionError("was not reached")


@contextmanager
def running(runs: Path, shared: Path, *fleet: str) -> Iterator["subprocess.Popen[str]"]:
    """`fathom run` of the method with a read of 8 s, from that fleet."""
    method = runs.parent / "shared.toml"
    method.write_text(METHOD.replace('"3s"', '"8s"'))
    shared.mkdir()
    command = [sys.executable, "-m", "fathom", "run", str(method), f"dir:{shared}", "--size", "16MiB"]
    with subprocess.Popen(
        [*command, *fleet, "--out", str(runs), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def quota() -> Iterator[Path]:
    """A control group that may use 5 % of a processor, in version 1 or 2."""
    root = Path("/sys/fs/cgroup")
    old = (root / "cpu/cpu.cfs_quota_us").exists()
    group = (root / "cpu" if old else root) / "fathom-slow"
    try:
        group.mkdir()
        (group / ("cpu.cfs_quota_us" if old else "cpu.max")).write_text("5000" if old else "5000 100000")
    except OSError as error:
        pytest.skip(f"no control group with a quota can be made here: {error}")
    try:
        yield group
    finally:
        for pid in (group / "cgroup.procs").read_text().split():
            (group.parent / "cgroup.procs").write_text(pid)
        group.rmdir()


def test_a_killed_node_is_named_and_the_report_is_complete(tmp_path: Path) -> None:
    shared, runs = tmp_path / "shared", tmp_path / "runs"
    with running(runs, shared, "--local-hosts", "2") as process:
        wait_until(process, lambda: seconds_read(runs, "host2") >= 2)
        killed = processes("host2")
        assert killed
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        out, errors = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 1, errors
    assert "fathom: host host2 was lost: the host or its agent has died" in errors
    document = json.loads(out)
    notes = {note["rule"]: note["text"] for note in document["notes"]}
    assert document["run"]["status"] == "partial"
    assert "host host2 was lost" in notes["lost-host"]
    assert outcomes(runs) == {"fill": "complete", "read": "partial", "again": "partial"}
    total = f"dir:{shared}"
    read = {point["target"]: point for point in document["points"] if point["step"] == "read"}
    assert set(read) == {total, f"host1:{total}", f"host2:{total}"}
    assert read[f"host1:{total}"]["window_s"] == pytest.approx(8, abs=0.2)
    assert 1 <= read[f"host2:{total}"]["window_s"] <= 7
    assert read[total]["window_s"] == pytest.approx(read[f"host2:{total}"]["window_s"], abs=0.1)
    again = {point["target"] for point in document["points"] if point["step"] == "again"}
    assert again == {total, f"host1:{total}"}
    skew = next(note["text"] for note in document["notes"] if note["rule"] == "start-skew")
    # Hosts that do not wait for each other start seconds apart; other tests may take the processor for some ms.
    assert float(skew.partition("within ")[2].partition(" ms")[0]) < 50
    assert [*runs.glob("*/report.html")]
    deadline = time.monotonic() + 20
    while processes("host1") and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not processes("host1"), "agents are left behind"


def test_of_four_hosts_one_hangs_one_is_slow_and_the_run_says_which(tmp_path: Path, quota: Path) -> None:
    runs = tmp_path / "runs"
    # In memory what a host does depends on its processor time alone.
    with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
        shared = Path(memory) / "shared"
        with running(runs, shared, "--local-hosts", "4") as process:
            wait_until(process, lambda: read_is_ordered(runs))
            [slow] = processes("host4")
            (quota / "cgroup.procs").write_text(str(slow))
            wait_until(process, lambda: seconds_read(runs, "host2") >= 2)
            [hung] = processes("host2")
            os.kill(hung, signal.SIGSTOP)
            out, errors = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 1, errors
    assert "fathom: host host2 was lost: has not answered for 31 s" in errors
    document = json.loads(out)
    total = f"dir:{shared}"
    notes = {(note["rule"], note["target"], note["step"]): note["text"] for note in document["notes"]}
    assert notes["lost-host", None, None].startswith("host host2 was lost")
    names = [f"host{k}:{total}" for k in range(1, 5)]
    read = {point["target"]: point for point in document["points"] if point["step"] == "read"}
    assert set(read) == {total, *names}
    assert read[f"host1:{total}"]["window_s"] == pytest.approx(8, abs=0.2)
    assert 1 <= read[f"host2:{total}"]["window_s"] <= 7
    assert "host host4 did " in notes["straggler", f"host4:{total}", "read"]
    again = {point["target"] for point in document["points"] if point["step"] == "again"}
    assert again == {total, *names} - {f"host2:{total}"}
    assert not processes("host2"), "the agent that hung is left behind"


def test_a_quota_that_holds_a_client_back_is_seen_from_within(quota: Path) -> None:
    script = f"""
import os, time
from pathlib import Path
from fathom.targets.telemetry import Telemetry
from fathom.targets.telemetry_names import CPU_QUOTA
with Telemetry([], period_s=60) as telemetry:
    Path("{quota}/cgroup.procs").write_text(str(os.getpid()))
    telemetry.step("busy")
    end = time.monotonic() + 1
    while time.monotonic() < end:
        pass
    print(*(row.value for row in telemetry.drain() if row.name == CPU_QUOTA))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert float(done.stdout) > 50


def test_simulations_give_the_same_on_hosts_as_in_this_process(tmp_path: Path) -> None:
    parameters, job = "dies_per_channel=2,8", [sys.executable, "-m", "fathom", "sweep"]
    method = tmp_path / "tiny.toml"
    method.write_text(METHOD.partition("[[steps]]")[0] + STEP)
    command = [*job, str(method), "twin:wd-ultrastar-dc-sn640-3.2tb", "--set", parameters, "--csv", "--out"]
    texts = [
        subprocess.run(
            [*command, str(tmp_path / name), *options],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=True,
        ).stdout
        for name, options in (("here", []), ("there", ["--local-hosts", "2"]))
    ]
    assert texts[0].count("\n") == 3
    assert texts[0] == texts[1]
