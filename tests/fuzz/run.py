"""Fuzzes parsers for a time each: `python tests/fuzz/run.py NAME [NAME=SECONDS ...]`.

Exit code 0: nothing but refusals. Coverage-guided by Atheris. An input that breaks the parser is left in the folder
named by `--artifacts`. Once it is mended, the input belongs into `tests/fuzz/corpus/NAME`, where every run of the tests
tries it again.

Preparing the package for the fuzzer takes longer than many a parser has, so a process prepares it once and forks for
each parser. What each prints is in NAME.log among the artifacts, and how each ended in NAME.status.
"""

import argparse
import os
import signal
import sys
import tempfile
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import atheris

with atheris.instrument_imports(include=["fathom"], enable_loader_override=False):  # pyright: ignore[reportAttributeAccessIssue]
    from parsers import CORPUS, PARSERS

MOST_BYTES = 16_384
MOST_MIB = 4_096
SLOWEST_S = 30
"""An input that takes longer is a finding."""


LOOK_S = 0.1
LATE_S = 120
"""How long after its time a fuzzer may still run."""


@dataclass(frozen=True)
class Running:
    """A parser's process, and when it must have ended."""

    name: str
    pid: int
    latest_s: float


def main() -> int:
    """Parses the command line, fuzzes each parser in a process of its own, and returns 1 where one broke."""
    options = argparse.ArgumentParser(description="Fuzz parsers.")
    options.add_argument("names", nargs="+", metavar="NAME[=SECONDS]")
    options.add_argument("--seconds", type=int, default=60)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--at-once", type=int, default=1)
    options.add_argument("--artifacts", type=Path, default=Path())
    asked = options.parse_args()
    waiting, running, broken = deque(asked.names), dict[int, Running](), False
    while waiting or running:
        while waiting and len(running) < asked.at_once:
            one = _start(waiting.popleft(), asked)
            running[one.pid] = one
        time.sleep(LOOK_S)
        for one in list(running.values()):
            ended, status = os.waitpid(one.pid, os.WNOHANG)
            if ended:
                del running[one.pid]
                code = os.waitstatus_to_exitcode(status)
                (asked.artifacts / f"{one.name}.status").write_text(str(code))
                broken |= code != 0
            elif time.monotonic() > one.latest_s:
                os.kill(one.pid, signal.SIGKILL)
    return int(broken)


def _start(asked_of: str, asked: argparse.Namespace) -> Running:
    """Forks for the fuzzer of `NAME[=SECONDS]`. There are no threads yet, so nothing is held in the fork."""
    name, _, own = asked_of.partition("=")
    seconds = int(own or asked.seconds)
    pid = os.fork()
    if not pid:
        log = os.open(asked.artifacts / f"{name}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.dup2(log, 1)
        os.dup2(log, 2)
        _fuzz(name, seconds, asked.seed, asked.artifacts)
    return Running(name, pid, time.monotonic() + seconds + LATE_S)


def _fuzz(name: str, seconds: int, seed: int, artifacts: Path) -> NoReturn:
    """Hands over to the fuzzer, which ends the process."""
    parser = PARSERS[name]

    def test_one_input(data: bytes) -> None:
        try:
            parser.feed(data)
        except parser.refusals:
            return

    found = Path(tempfile.mkdtemp(prefix=f"fathom-fuzz-{name}-"))
    for number, sample in enumerate(parser.samples()):
        (found / f"sample{number}").write_bytes(sample)
    kept = CORPUS / name
    arguments = [
        sys.argv[0],
        str(found),
        *([str(kept)] if kept.is_dir() else []),
        f"-max_total_time={seconds}",
        f"-seed={seed}",
        f"-max_len={MOST_BYTES}",
        f"-rss_limit_mb={MOST_MIB}",
        f"-timeout={SLOWEST_S}",
        f"-artifact_prefix={artifacts}/{name}-",
        "-print_final_stats=1",
        "-verbosity=0",
    ]
    atheris.Setup(arguments, test_one_input)
    atheris.Fuzz()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
