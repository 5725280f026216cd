"""Runs shell commands at once and prints their outputs one after the other.

`python tools/side_by_side.py NAME COMMAND [NAME COMMAND ...]` writes what COMMAND prints into `target/logs/NAME.log`.
It shows the first command's output as it comes, then that of each next one. It ends with the exit status of the first
command named that failed (128 and the signal where one killed it), or 0. Ctrl-C reaches all.
"""

import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

LOGS = Path(__file__).parent.parent / "target" / "logs"
LOOK_S = 0.2


def run(commands: Sequence[tuple[str, str]], logs: Path) -> int:
    """Returns the status of the first command that failed, or 0."""
    logs.mkdir(parents=True, exist_ok=True)
    running = [(logs / f"{name}.log", _start(command, logs / f"{name}.log")) for name, command in commands]
    try:
        statuses = [_shown(log, process) for log, process in running]
    except KeyboardInterrupt:
        for _, process in running:
            process.wait()
        return 128 + signal.SIGINT
    return next((128 - status if status < 0 else status for status in statuses if status), 0)


def _start(command: str, log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as file:
        return subprocess.Popen(
            ["/bin/bash", "-euo", "pipefail", "-c", command],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
        )


def _shown(log: Path, process: subprocess.Popen[bytes]) -> int:
    """Prints the log until its process has ended, and returns the status."""
    with log.open("rb") as file:
        while (status := process.poll()) is None:
            _print(file.read())
            time.sleep(LOOK_S)
        _print(file.read())
    return status


def _print(output: bytes) -> None:
    sys.stdout.buffer.write(output)
    sys.stdout.buffer.flush()


def main(words: list[str]) -> int:
    """Returns the exit code: 2 where a name lacks its command."""
    if not words or len(words) % 2:
        print("side_by_side.py: expected NAME COMMAND [NAME COMMAND ...]", file=sys.stderr)
        return 2
    return run(list(zip(words[::2], words[1::2], strict=True)), LOGS)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
