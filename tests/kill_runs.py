"""Kills runs of twins at random places until they come to their end, a process of its own; prints how often each was.

`python kill_runs.py DIRECTORY METHOD SEED TIMES [report]`: each run, its resumption, and, if asked, its report, live in
children that end without notice: at a random moment, or before or after a random change of the run directory.
"""

import json
import os
import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from fathom.load.resolve import resolve_targets
from fathom.method.method import load_method
from fathom.report import write_html
from fathom.runs.home import run_directories
from fathom.session import Options, resume_run, start_run

TARGETS = ("twin:samsung-pm9a3-7.68tb", "twin:wd-ultrastar-dc-sn861-7.68tb")
CHANGES = ("fsync", "rename", "replace", "unlink", "mkdir", "rmdir", "open")
MOST_CHANGES = 70
LONGEST_S = 3.0


def die_at_change(number: int, after: bool) -> None:
    """Ends this process at that change of the file system that Python makes."""
    left = number

    def deadly(call: Callable[..., object]) -> Callable[..., object]:
        def made(*arguments: object, **named: object) -> object:
            nonlocal left
            left -= 1
            if left == 0 and not after:
                os.kill(os.getpid(), signal.SIGKILL)
            result = call(*arguments, **named)
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return made

    for name in CHANGES:
        setattr(os, name, deadly(getattr(os, name)))


def die_after(seconds: float) -> None:
    """Ends this process some time from now; SIGALRM's own action runs no code of the process."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def child(work: Callable[[], object], prepare: Callable[[], None]) -> bool:
    """Does the work in a child that may be killed; returns whether it came to its end."""
    pid = os.fork()
    if pid == 0:
        prepare()
        work()
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise SystemExit(f"a child failed with {os.WEXITSTATUS(status)}")
    return os.WIFEXITED(status)


def until_the_end(method: str, chance: random.Random, report: bool) -> int:
    """Runs once, killed as often as chance has it; returns how often it was killed."""

    def work() -> None:
        runs = run_directories()
        finished = (
            resume_run(runs[0], Options())
            if runs
            else start_run(load_method(method), resolve_targets(TARGETS), Options(seed=5))
        )
        if report:
            write_html([finished.path], finished.path / "report.html")

    kills = 0
    while True:
        number, after = chance.randrange(1, MOST_CHANGES), chance.random() < 0.5
        if kills >= 4:
            prepare: Callable[[], None] = lambda: None  # noqa: E731
        elif chance.random() < 0.8:
            prepare = lambda: die_at_change(number, after)  # noqa: E731, B023
        else:
            prepare = lambda: die_after(LONGEST_S * chance.random())  # noqa: E731
        if child(work, prepare):
            return kills
        kills += 1


def main(directory: Path, method: str, seed: int, times: int, report: bool) -> None:
    """Each run has a home of its own."""
    chance = random.Random(seed)
    kills = []
    for number in range(times):
        os.environ["FATHOM_RUNS"] = str(directory / f"{number:03}")
        kills.append(until_the_end(method, chance, report))
    print(json.dumps(kills))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5:] == ["report"])
