"""A fleet of real Ray nodes on this machine, of which one is killed while it loads."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_fleet import METHOD

pytestmark = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed")

TIMEOUT_S = 240


def processes(address: str) -> list[int]:
    """The processes of the node with that address."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if any(word.partition("=")[2] == address and "node" in word for word in words):
            found.append(int(path.parent.name))
    return found


def wait_for_step(runs: Path, step: str) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline:
        for journal in runs.glob("*/journal.jsonl"):
            events = [json.loads(line) for line in journal.read_text().splitlines() if line.endswith("}")]
            if any(event["event"] == "step-start" and event["step"] == step for event in events):
                return
        time.sleep(0.1)
    raise AssertionError(f"step {step} was not reached")


def test_a_killed_node_is_named_and_the_report_is_complete(tmp_path: Path) -> None:
    shared, runs = tmp_path / "shared", tmp_path / "runs"
    shared.mkdir()
    method = tmp_path / "shared.toml"
    method.write_text(METHOD.replace('"3s"', '"8s"'))
    command = [sys.executable, "-m", "fathom", "run", str(method), f"dir:{shared}", "--size", "16MiB"]
    with subprocess.Popen(
        [*command, "--local-hosts", "2", "--out", str(runs), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        try:
            wait_for_step(runs, "read")
            time.sleep(5)
            killed = processes("127.0.0.4")
            assert killed
            for pid in killed:
                os.kill(pid, signal.SIGKILL)
            out, errors = running.communicate(timeout=TIMEOUT_S)
        finally:
            running.kill()
    assert running.returncode == 0, errors
    document = json.loads(out)
    notes = {note["rule"]: note["text"] for note in document["notes"]}
    assert "host host2 was lost" in notes["lost-host"]
    total = f"dir:{shared}"
    read = {point["target"]: point for point in document["points"] if point["step"] == "read"}
    assert set(read) == {total, f"host1:{total}", f"host2:{total}"}
    assert read[f"host1:{total}"]["window_s"] == pytest.approx(8, abs=0.2)
    assert 1 <= read[f"host2:{total}"]["window_s"] <= 7
    assert read[total]["window_s"] == pytest.approx(read[f"host2:{total}"]["window_s"], abs=0.1)
    again = {point["target"] for point in document["points"] if point["step"] == "again"}
    assert again == {total, f"host1:{total}"}
    skew = next(note["text"] for note in document["notes"] if note["rule"] == "start-skew")
    assert float(skew.partition("within ")[2].partition(" ms")[0]) < 5
    assert [*runs.glob("*/report.html")]
    deadline = time.monotonic() + 20
    while processes("127.0.0.2") and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not processes("127.0.0.2"), "nodes are left behind"
