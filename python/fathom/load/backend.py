"""What runs a job on targets: the protocol that the session knows, and its two local implementations.

`start` gives a handle. The handle's intervals are polled while it runs, and its recordings taken when it has ended. A
twin waits after every `hold_every_s` (a round) for an order to proceed or stop. So decisions fall at the same virtual
time however fast the reader is; real devices never wait. Given a precision, a twin ends a window, or a round, as soon
as its figures are known that well. A real device takes the time it was given.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Protocol

from fathom import _core
from fathom._core import Job
from fathom.errors import FathomError, RefusedError
from fathom.method.job import NS_PER_S
from fathom.targets import sysfs
from fathom.targets.claim import Claimed, claimed
from fathom.targets.file_sets import drop_cached_set
from fathom.targets.page_cache import drop_cached
from fathom.targets.target import FILE_KINDS, Target

FLUSH = Job('{"mix": "flush", "pattern": "sequential", "load": {"threads": 1}, "until": {"count": 1}}')
"""An fsync of the file, or a flush of the drive."""
RAMP_BLOCK_BYTES = 1 << 20
RAMP_OVERWRITES = 1.3
"""Block size that fills a page cache fast in sequential order. At random, more is written, because some writes hit the
same pages.
"""


class Handle(Protocol):
    """A running job."""

    @property
    def started_unix_ns(self) -> int | None:
        """When the load began, ns since 1970; None before, of twins, and once `result` was taken."""
        ...

    def poll(self, timeout_s: float = 0.2) -> list[_core.Interval]:
        """Returns intervals finished since the last call; waits up to `timeout_s` for one, in virtual time for some
        dozens.
        """
        ...

    def held(self) -> bool:
        """Returns whether the job waits for `proceed` or `stop` and all its intervals have been polled."""
        ...

    def proceed(self) -> None:
        """Goes on to the next hold."""
        ...

    def stop(self) -> None:
        """Ends the job; what is in flight completes."""
        ...

    def abandon(self) -> None:
        """Ends the job and gives up what is in flight, at once."""
        ...

    def done(self) -> bool:
        """Returns whether the job has ended and all its intervals have been polled."""
        ...

    def result(self) -> list[_core.Recording]:
        """Returns one recording per target, in the order given. Raises `_core.BackendError`."""
        ...


class Backend(Protocol):
    """Starts jobs on the targets it was made for."""

    @property
    def real_time(self) -> bool:
        """Whether it runs in real time. If so, measurements cannot be repeated, and are logged as they come."""
        ...

    @property
    def settled(self) -> bool:
        """Whether it is a twin without a state to bring to rest."""
        ...

    @property
    def capacity_bytes(self) -> int | None:
        """Bytes that jobs address, where that is not the target's own capacity (a twin simulates a slice)."""
        ...

    @property
    def parts(self) -> Sequence[str]:
        """Names of the targets whose sum the target is: its share of each host, its drives. Often none.

        With parts, a handle's interval of target 0 is of the whole, and one of target k is of part k. Its recordings
        are in that order too.
        """
        ...

    @property
    def divides_fill(self) -> bool:
        """Whether the load that runs is a fill and each part has a share of it, because the parts share a drive."""
        ...

    @property
    def of_hosts(self) -> bool:
        """Whether the parts are hosts of a fleet. Each has the whole of a load that drives share."""
        ...

    def start(
        self,
        job: Job,
        seed: int,
        hold_every_s: float | None = None,
        precision: _core.Precision | None = None,
        *,
        fills: bool = False,
    ) -> Handle:
        """Starts a job on every target at once. Raises FathomError when it cannot.

        `fills` says that the job only has to leave data in every block, so that hosts may divide it between them.
        """
        ...

    @property
    def copied(self) -> "Callable[[], Backend] | None":
        """Makes a backend of its own in the state of this one; None where the targets cannot be copied."""
        ...


@contextmanager
def errors_of_core() -> Iterator[None]:
    """Raises errors of the engine and of twins as FathomError."""
    try:
        yield
    except _core.BackendError as error:
        raise FathomError(str(error)) from error


def engine_target(target: Claimed) -> _core.EngineTarget:
    """Returns the target as the engine opens it. Raises TypeError for one that was not claimed."""
    target = claimed(target)
    kind = "file" if target.kind in FILE_KINDS else target.kind
    if target.passthrough:
        return _core.EngineTarget(str(target.passthrough), "nvme-generic", target.capacity_bytes, target.held)
    return _core.EngineTarget(str(target.path or ""), kind, target.capacity_bytes, target.held)


def ensure_writable(job: Job, targets: Sequence[Claimed]) -> None:
    """Passes when each target is held for writing, or the job writes nothing. Raises RefusedError."""
    for target in targets:
        if job.destructive and not target.writes:
            raise RefusedError(f"{target.name} was checked for reading only, and the job writes")


def pins(targets: Sequence[Target]) -> bool:
    """Returns whether each load thread gets a core of its own.

    Not where a disk has one queue for all cores, as virtio and SATA disks have. Its interrupt comes to one of them, and
    a thread pinned to another is woken across. At iodepth 1 that cost a third of the IOPS on a virtio disk.
    """
    devices = [sysfs.readable_by_dev(target.identity.dev) for target in targets if target.identity.dev]
    return not any(device.shares_one_queue for device in devices if device)


def _drop_cached(target: Claimed) -> None:
    if target.files is not None:
        drop_cached_set(target)
    elif target.path is not None:
        drop_cached(target.path)


def loads_at_once(job: Job, backend: Backend) -> int:
    """Returns on how many parts of a target a load runs whole; 1 for a target without parts, and for a split load."""
    return 1 if job.is_split(backend.of_hosts) else max(1, len(backend.parts))


class EngineBackend:
    """Real files and devices through the io_uring engine.

    It asks `is_stopped` while a job is set up. Filling large buffers takes long, and a handle stops only a job that has
    started.
    """

    real_time = True
    settled = False
    of_hosts = False
    divides_fill = False
    copied = None
    capacity_bytes = None
    parts: Sequence[str] = ()

    def __init__(self, targets: Sequence[Claimed], is_stopped: Callable[[], bool] | None = None) -> None:
        self._claimed = targets
        self._is_stopped = is_stopped
        self._targets = [engine_target(target) for target in targets]
        self._cached = [target for target in targets if target.path and not target.passthrough]
        self._pin = pins(targets)

    def start(
        self,
        job: Job,
        seed: int,
        hold_every_s: float | None = None,
        precision: _core.Precision | None = None,
        *,
        fills: bool = False,
    ) -> Handle:
        """Starts the job; holds and precision do not apply to real devices."""
        return self.start_each(job, seed)

    def start_each(
        self, job: Job, seed: int, *, start_at_unix_ns: int | None = None, pin: bool = True
    ) -> _core.Handle:
        """Starts the job on every target; intervals and recordings are of each, numbered from 0.

        A job through the page cache begins with none of the target in it, as on a twin. Raises RefusedError for a job
        that writes to what is held for reading.

        Args:
            job: what each target gets, or its share of.
            seed: of every random choice.
            start_at_unix_ns: when the load begins, by this machine's clock; at once for None.
            pin: whether each load thread may have a core of its own, where the target's queues allow.
        """
        ensure_writable(job, self._claimed)
        if not job.direct:
            for target in self._cached:
                _drop_cached(target)
        with errors_of_core():
            return _core.start_engine(
                job,
                self._targets,
                seed,
                start_at_unix_ns=start_at_unix_ns,
                pin=pin and self._pin,
                is_stopped=self._is_stopped,
            )


class TwinBackend:
    """A virtual drive or system. Its state lasts from job to job for as long as the backend lives.

    A system has its `hosts` built in: a job's threads are those of each, as in a fleet. `history` says what the twin is
    made of. Who keeps twins for others of the same history adds the steps since.
    """

    real_time = False
    of_hosts = False
    divides_fill = False
    parts: Sequence[str] = ()

    def __init__(
        self,
        parameters_json: str,
        seed: int,
        file_system: str | None = None,
        *,
        hosts: int = 1,
        settled: bool = False,
    ) -> None:
        self.device = make_twin(parameters_json, seed, file_system)
        self.history = repr((parameters_json, seed, file_system, hosts, settled))
        self.settled = settled
        self._layered = file_system is not None
        self._hosts = hosts
        self.capacity_bytes = self.device.capacity_bytes
        self.scale = self.device.scale
        self.scales: Mapping[str, float] = {}

    def start(
        self,
        job: Job,
        seed: int,
        hold_every_s: float | None = None,
        precision: _core.Precision | None = None,
        *,
        fills: bool = False,
    ) -> Handle:
        """Starts the job in virtual time."""
        if self._hosts > 1:
            job = job.on_hosts(self._hosts)
        if self._layered:
            ready_twins(job, [self.device])
        return start_twins(job, [self.device], [seed], hold_every_s, precision)

    @property
    def copied(self) -> "Callable[[], TwinBackend]":
        """Makes a twin of its own in the state of this one."""
        return self._copied

    def _copied(self) -> "TwinBackend":
        twin = copy(self)
        twin.device = self.device.copied()
        return twin


def make_twin(parameters_json: str, seed: int, file_system: str | None = None) -> _core.TwinDevice:
    """Returns a fresh virtual drive, with a file system on it where one is named.

    Raises FathomError for parameters that cannot be simulated.
    """
    with errors_of_core():
        return _core.TwinDevice(parameters_json, seed, file_system)


def sync_twins(devices: Sequence[_core.TwinDevice]) -> None:
    """Flushes the page caches, so that a step does not pay for what the step before left in them."""
    _run_out(start_twins(FLUSH, devices, [0] * len(devices), None))


def ready_twins(job: Job, devices: Sequence[_core.TwinDevice]) -> None:
    """Empties the page caches before a job; fills them again, to where writers wait, before one that only writes.

    What memory takes in the first seconds is not the drive's rate, and its share depends on the window's length.
    The job itself runs until the drive sets the pace, with other requests; in order, at the end of its region.
    """
    sync_twins(devices)
    alike: dict[tuple[int, int], dict[int, _core.TwinDevice]] = {}
    for number, device in enumerate(devices, 1):
        alike.setdefault((device.capacity_bytes, device.dirty_limit_bytes), {})[number] = device
    for (capacity_bytes, limit_bytes), own in alike.items():
        ramp = job.ramp(capacity_bytes, limit_bytes, RAMP_BLOCK_BYTES, RAMP_OVERWRITES)
        if ramp is not None:
            _run_out(start_twins(ramp, list(own.values()), [number << 32 for number in own], None))


def _run_out(handle: _core.Handle) -> None:
    """Runs a job to its end; nobody wants its figures."""
    while not handle.done():
        handle.poll()
    handle.result()


def start_twins(
    job: Job,
    devices: Sequence[_core.TwinDevice],
    seeds: Sequence[int],
    hold_every_s: float | None,
    precision: _core.Precision | None = None,
) -> _core.Handle:
    """Starts a job on virtual drives, each with requests of its own seed. Raises FathomError."""
    hold_every_ns = None if hold_every_s is None else round(hold_every_s * NS_PER_S)
    with errors_of_core():
        return _core.start_twins(job, list(devices), list(seeds), hold_every_ns, precision)
