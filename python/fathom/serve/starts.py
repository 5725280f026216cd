"""Runs of twins that pages start: `fathom run` as a child process, two at a time, and never on anything real.

A name is taken only where the catalogue has a twin of exactly that name. No text of a form is parsed as a target.
"""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import IO

from pydantic import BaseModel, ValidationError

from fathom.catalog import device_names, load_device, method_names
from fathom.errors import FathomError, UsageError
from fathom.load.resolve import resolve_targets
from fathom.runs.live import read_live
from fathom.runs.writer import is_written
from fathom.serve.folder import run_names

MOST_AT_ONCE = 2
MOST_TWINS = 8
END_S = 20.0
"""Time for runs to save what was measured when the server ends."""
MOST_KEPT = 20
"""Ended runs whose output is kept."""
SHOWN_BYTES = 4000
SHOWN_LINES = 6
FROM_A_TERMINAL = "what is real is measured from a terminal: `fathom run METHOD TARGET`"
SECRETS = ("FATHOM_TOKEN",)
"""Variables that a child does not get."""


class BusyError(FathomError):
    """As many runs as may go on at once were started here and still do."""


class _Document(BaseModel):
    id: str


class _Result(BaseModel):
    """The part of `fathom run --json` that names the run."""

    run: _Document


@dataclass(frozen=True)
class Asked:
    """What a form asks for: a method and twins, by their names in the catalogue."""

    method: str
    twins: tuple[str, ...]
    quick: bool
    seed: int

    def __post_init__(self) -> None:
        """Raises UsageError for what is neither a method nor a twin of the catalogue, and for none or too many."""
        if self.method not in method_names():
            raise UsageError(f"{self.method!r} is no method of the catalogue", "choose one from the list")
        if not 1 <= len(self.twins) <= MOST_TWINS:
            raise UsageError(f"{len(self.twins)} twins are ticked", f"tick 1 to {MOST_TWINS} of them")
        for name in self.twins:
            _check_virtual(name)

    def command(self, home: Path) -> list[str]:
        """Returns the command that runs it."""
        quick = ["--quick"] if self.quick else []
        options = ["--out", str(home), "--seed", str(self.seed), "--json", *quick]
        targets = [f"twin:{name}" for name in self.twins]
        # -P: a folder `fathom` where the server was started is not the program.
        return [sys.executable, "-P", "-m", "fathom", "run", *options, "--", self.method, *targets]


def _check_virtual(name: str) -> None:
    """Raises UsageError for what is no twin of the catalogue, by its name and by the kind of target that it names."""
    refusal = UsageError(f"{name!r} is no twin of the catalogue", FROM_A_TERMINAL)
    if name not in device_names() or load_device(name).twin is None:
        raise refusal
    if any(target.kind != "twin" or target.members for target in resolve_targets([f"twin:{name}"])):
        raise refusal


@dataclass
class Started:
    """A run that was started here. `run` is its name, as soon as that is known."""

    number: int
    asked: Asked
    process: "subprocess.Popen[bytes]"
    out: IO[bytes]
    log: IO[bytes]
    when: datetime = field(default_factory=lambda: datetime.now(UTC))
    run: str | None = None
    stopped: bool = False

    @property
    def goes_on(self) -> bool:
        """Whether its process has not ended."""
        return self.process.poll() is None

    @property
    def failed(self) -> bool:
        """Whether it ended with an error."""
        return self.process.poll() not in (None, 0)

    def last_lines(self) -> str:
        """Returns the last lines that it printed, an error's among them; nothing of a run long ago."""
        if self.log.closed:
            return ""
        self.log.seek(0, os.SEEK_END)
        self.log.seek(max(0, self.log.tell() - SHOWN_BYTES))
        return "\n".join(self.log.read().decode("utf-8", "replace").splitlines()[-SHOWN_LINES:])

    def forget(self) -> None:
        """Drops what it printed."""
        self.out.close()
        self.log.close()

    def stop(self) -> None:
        """Asks it once to end, with what was measured saved: a second request would end it at once."""
        if self.goes_on and not self.stopped:
            self.stopped = True
            self.process.send_signal(signal.SIGINT)


class Starts:
    """The runs that this server has started."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._lock = Lock()
        self._all: list[Started] = []

    def start(self, asked: Asked) -> Started:
        """Starts a run. Raises BusyError, and FathomError where the folder of runs cannot be made."""
        with self._lock:
            if sum(one.goes_on for one in self._all) >= MOST_AT_ONCE:
                raise BusyError(
                    f"{MOST_AT_ONCE} runs that were started here go on already", "wait for one, or stop it"
                )
            started = self._begin(asked)
            self._all.append(started)
            self._forget_old()
            return started

    def _forget_old(self) -> None:
        for one in self._all[:-MOST_KEPT]:
            if not one.goes_on and not one.out.closed:
                one.run = one.run or self._name_of(one)
                one.forget()

    def _begin(self, asked: Asked) -> Started:
        out, log = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115 (read as long as the server runs)
        environment = {name: value for name, value in os.environ.items() if name not in SECRETS}
        try:
            self._home.mkdir(parents=True, exist_ok=True)
            process = subprocess.Popen(
                asked.command(self._home),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=log,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            raise FathomError(f"the run cannot be started: {error.strerror or error}") from error
        return Started(len(self._all) + 1, asked, process, out, log)

    def numbered(self, number: int) -> Started | None:
        """Returns the run of that number, from 1; its name is looked up."""
        with self._lock:
            if not 1 <= number <= len(self._all):
                return None
            started = self._all[number - 1]
        started.run = started.run or self._name_of(started)
        return started

    def of_run(self, name: str) -> Started | None:
        """Returns what was started here as the run of that name, while it goes on."""
        with self._lock:
            going = [one for one in self._all if one.goes_on]
        for one in going:
            one.run = one.run or self._name_of(one)
        return next((one for one in going if one.run == name), None)

    def end(self) -> None:
        """Stops all runs and waits for them, for a while."""
        with self._lock:
            going = [one for one in self._all if one.goes_on]
        for one in going:
            one.stop()
        for one in going:
            try:
                one.process.wait(END_S)
            except subprocess.TimeoutExpired:
                one.process.kill()

    def _name_of(self, started: Started) -> str | None:
        """Returns the name of the run: from its live.json, or from what it printed at its end."""
        if started.goes_on:
            return _written_by(started, self._home, run_names(self._home))
        if started.out.closed:
            return None
        started.out.seek(0)
        try:
            return _Result.model_validate_json(started.out.read()).run.id
        except ValidationError:
            return None


def _written_by(started: Started, home: Path, names: Sequence[str]) -> str | None:
    """Returns the run that the process writes. Another machine may have a process of the same number, but earlier."""
    for name in sorted(names, reverse=True):
        live = read_live(home / name)
        if (
            live
            and live.pid == started.process.pid
            and live.started >= started.when
            and is_written(home / name)
        ):
            return name
    return None
