"""What runs on each host of a fleet: finds the targets there, checks and holds them, and loads them by the engine.

An agent obeys one coordinator and outlives none. When the coordinator is silent for the length of a lease, the agent
stops its load by itself. So a host that was cut off does not go on writing.
"""

import os
import platform
import socket
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import Field, FiniteFloat, PositiveInt, StringConstraints

from fathom import __version__, _core
from fathom.errors import FathomError, RefusedError, UsageError
from fathom.load.array import ArrayTotal
from fathom.load.backend import EngineBackend, errors_of_core
from fathom.method.job import SentJob
from fathom.targets.array import PREFIX, array_text, member_texts
from fathom.targets.claim import Claimed, check_target, claim, recheck
from fathom.targets.not_measured import NotMeasured
from fathom.targets.parse import FileSizes, parse_targets
from fathom.targets.target import Target
from fathom.targets.telemetry import Telemetry

LEASE_S = 5.0
LEASE_TICKS = 5
"""The lease is counted in ticks of the agent's own: while the agent itself did not run, nobody could be heard."""
FIRST_POLL_S = 60.0
"""The lease before the first poll of a step: on a slow host, the answer that it has begun takes a while."""
LOOK_S = 0.002
"""How often an agent looks whether a load that waits for its start has begun."""
FOLDER = "fathom-{host}"
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


Words = Annotated[str, StringConstraints(max_length=200)]
UnixNs = Annotated[int, Field(ge=0, lt=1 << 63)]


def machine() -> str:
    """Returns an id of this machine since its last boot."""
    return BOOT_ID.read_text().strip()


@dataclass(frozen=True)
class HostFacts:
    """Who a host is. Hosts with the same `machine` share its cores."""

    name: Words
    machine: Words
    version: Words
    kernel: Words
    cores: PositiveInt

    def require_same_fathom(self, host: str) -> None:
        """Raises UsageError where that host has another version than this one."""
        if self.version != __version__:
            raise UsageError(
                f"host {host} has Fathom {self.version}, this machine has {__version__}",
                "install the same version on every host",
            )


@dataclass(frozen=True)
class JobProgress:
    """What has happened on a host since the last poll. `intervals` are as `Interval.to_bytes` gives them."""

    intervals: list[bytes] = field(default_factory=list)
    started_unix_ns: UnixNs | None = None
    done: bool = False


@dataclass(frozen=True)
class Sampled:
    """One row of telemetry."""

    target: str | None
    step: Words
    start_s: FiniteFloat
    length_s: FiniteFloat
    name: Words
    value: FiniteFloat
    unit: Words


@dataclass(frozen=True)
class Ended:
    """A host's part of a step: its recording on the wire, and what it sampled meanwhile."""

    recording: bytes
    telemetry: list[Sampled]


@dataclass(frozen=True)
class _Held:
    """A held target, its sampler, and the stack that releases both."""

    target: Claimed
    telemetry: Telemetry
    stack: ExitStack


class HostAgent:
    """One host's load generator. `name` sets it apart from others; its folder in a shared directory has that name."""

    def __init__(self, name: str, lease_s: float = LEASE_S) -> None:
        self.name = name
        self._lease_s = lease_s
        self._tick_s = lease_s / LEASE_TICKS
        self._handle: _core.Handle | ArrayTotal | None = None
        self._ticks_left = 0
        self._expired = False
        self._stopped = False
        self._held: dict[str, _Held] = {}
        self._running: _Held | None = None
        self._step = ""
        threading.Thread(target=self._watch_lease, daemon=True, name="lease").start()

    def facts(self) -> HostFacts:
        """Returns who this host is."""
        kernel = f"{platform.system()} {platform.release()}"
        return HostFacts(
            socket.gethostname(),
            machine(),
            __version__,
            kernel,
            len(os.sched_getaffinity(0)),
        )

    def clock_ns(self) -> UnixNs:
        """Returns this host's time, ns since 1970."""
        return time.time_ns()

    def resolve(self, text: str, size_bytes: FileSizes) -> Target:
        """Returns the target as this host sees it. A directory is shared, so that each host makes a folder of its own
        there.
        """
        if text.startswith(PREFIX):
            own = array_text([self._own_text(one) for one in member_texts(text)])
        else:
            own = self._own_text(text)
        [target] = parse_targets([own], size_bytes=size_bytes)
        return target

    def _own_text(self, text: str) -> str:
        if not text.startswith("dir:"):
            return text
        shared = Path(text.removeprefix("dir:")).expanduser()
        if not shared.is_dir():
            raise UsageError(
                f"{text}: {shared} is not a directory on {self.name}",
                "create it, or mount it on every host",
            )
        return f"dir:{self._own_folder(shared)}"

    def _own_folder(self, shared: Path) -> Path:
        """This host's folder in a shared directory. Raises RefusedError where somebody else leads it elsewhere."""
        folder = shared / FOLDER.format(host=self.name)
        if folder.parent != shared or folder.is_symlink():
            raise RefusedError(f"{folder}: leads elsewhere", "remove it, or give another directory")
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise UsageError(
                f"{folder}: {error.strerror or error}", "give a directory in which every host may write"
            ) from error
        return folder

    def check(
        self, target: Target, writes: bool, destroy_tokens: Sequence[str], unknown_data: bool = False
    ) -> Target:
        """Passes when the target may be used here. Raises RefusedError."""
        return check_target(target, writes=writes, destroy_tokens=destroy_tokens, unknown_data=unknown_data)

    def hold(
        self, target: Target, writes: bool, destroy_tokens: Sequence[str], unknown_data: bool = False
    ) -> Target:
        """Prepares the target and holds it until `release`."""
        with ExitStack() as stack:
            ready = stack.enter_context(
                claim(target, writes=writes, destroy_tokens=destroy_tokens, unknown_data=unknown_data)
            )
            telemetry = stack.enter_context(Telemetry(ready.members or [ready]))
            self._held[target.name] = _Held(ready, telemetry, stack.pop_all())
        return ready

    def recheck(self, name: str, writes: bool) -> None:
        """Passes when the target of that name is still what was held. Raises RefusedError or FathomError."""
        recheck(self._held_one(name).target, writes=writes)

    def not_measured(self, name: str) -> list[NotMeasured]:
        """Returns what is not sampled here for the target of that name."""
        return self._held_one(name).telemetry.not_measured

    def release(self, name: str) -> None:
        """Lets the target of that name go; what still loads it is stopped first."""
        held = self._held.pop(name, None)
        if held is not None:
            if held is self._running:
                self.stop()
            held.stack.close()

    def close(self) -> None:
        """Lets everything go."""
        for name in [*self._held]:
            self.release(name)

    def start(
        self, name: str, job: SentJob, seed: int, step: str, start_at_unix_ns: int, pin: bool
    ) -> JobProgress:
        """Starts a step on the target of that name at that time of this host's clock; returns once it has begun.

        `pin` gives each load thread a core of its own, where the target's queues allow (`fathom.load.backend.pins`).
        """
        held = self._running = self._held_one(name)
        members = held.target.members
        self._expired = self._stopped = False
        self._ticks_left = round(FIRST_POLL_S / self._tick_s)
        handle = EngineBackend(members or [held.target], lambda: self._stopped).start_each(
            job, seed, start_at_unix_ns=start_at_unix_ns, pin=pin
        )
        self._handle = ArrayTotal(handle, len(members)) if members else handle
        if self._stopped:
            handle.stop()
        while handle.started_unix_ns is None:
            time.sleep(LOOK_S)
        # The load has waited for its time until now: what was sampled meanwhile is of no step. `step` samples once
        # more, for the step before; `result` leaves that out.
        held.telemetry.drain()
        held.telemetry.step(step)
        self._step = step
        return JobProgress(started_unix_ns=handle.started_unix_ns)

    def poll(self, timeout_s: float) -> JobProgress:
        """Returns what is new; waits up to `timeout_s` for it. Renews the lease.

        Raises FathomError behind the last news of a load that the lease has ended.
        """
        self.renew()
        handle = self._handle
        if handle is None:
            return JobProgress(done=True)
        started = handle.started_unix_ns
        intervals = [interval.to_bytes() for interval in handle.poll(timeout_s)]
        self.renew()
        if self._expired and handle.done() and not intervals:
            raise FathomError(f"its load was stopped: the coordinator was silent for {self._lease_s:.0f} s")
        return JobProgress(intervals, started, handle.done() and not self._expired)

    def renew(self) -> None:
        """Renews the lease: the coordinator is there, whether it has time to ask for news or not."""
        self._ticks_left = LEASE_TICKS

    def stop(self) -> None:
        """Ends the load, one that waits for its start too; what is in flight completes."""
        self._stopped = True
        if self._handle is not None:
            self._handle.stop()

    def result(self) -> Ended:
        """Returns the step's recording. Raises FathomError when the target failed for good."""
        handle, self._handle = self._handle, None
        if handle is None:
            raise FathomError(f"{self.name}: no step has run")
        with errors_of_core():
            [recording] = handle.result()
        rows = self._running.telemetry.drain() if self._running is not None else []
        return Ended(recording.to_bytes(), [Sampled(**vars(row)) for row in rows if row.step == self._step])

    def _held_one(self, name: str) -> "_Held":
        if name not in self._held:
            raise FathomError(f"{self.name}: {name} is not held")
        return self._held[name]

    def _watch_lease(self) -> None:
        while True:
            time.sleep(self._tick_s)
            self._ticks_left -= 1
            handle = self._handle
            if handle is not None and self._ticks_left < 0 and not handle.done():
                self._expired = True
                handle.stop()
