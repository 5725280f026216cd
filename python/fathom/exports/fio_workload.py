"""A workload as fio's options are made of it: its operations, its sizes, and the jobs of fio that it takes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fathom._core import Job, JobOp
from fathom.exports.units import NoCounterpartError, Place

#: Most processes and threads of one job file.
MOST_JOBS = 4096
_ORDER = ("read", "write", "trim")
#: Patterns that give each thread its own part of the region.
_DIVIDED = frozenset(("sequential", "sequential-streams", "backwards", "strided", "random-once"))


@dataclass(frozen=True)
class RateFromSection:
    """A rate that is known only after another section has run: this share of its IOPS, over all operations."""

    section: str
    share: float


@dataclass(frozen=True)
class Workload:
    """What one section is of: `job` is a workload of `whole`, or `whole` itself."""

    job: Job
    whole: Job
    place: Place
    note: Callable[[str], None]
    """Is called with what differs."""
    of_another: RateFromSection | None
    """Stands for the rate of an open load."""
    ops: tuple[JobOp, ...]
    """All but flushes, in fio's order."""
    numjobs: int
    iodepth: int

    @property
    def kind(self) -> str:
        """Returns the pattern's name."""
        return self.job.pattern.kind

    @property
    def flushes(self) -> float:
        """Returns the weight of flushes among the operations."""
        return self.job.weights.get("flush", 0.0)

    @property
    def weight(self) -> float:
        """Returns the weight of all other operations together."""
        return sum(op.weight for op in self.ops)

    @property
    def sizes(self) -> list[int]:
        """Returns the block sizes, the smallest first, bytes."""
        return sorted({size_bytes for op in self.ops for size_bytes, _ in op.sizes})

    @property
    def parts(self) -> int:
        """Returns the number of equal parts into which the jobs divide the region."""
        divided = self.kind in _DIVIDED and self.job.thread_positions == "part"
        return self.numjobs if divided else 1

    def has(self, op: str) -> bool:
        """Returns whether it issues the operation."""
        return any(one.op == op for one in self.ops)

    def one_size(self, what: str) -> int:
        """Returns the only block size, bytes. Raises NoCounterpartError where there are several."""
        if len(self.sizes) > 1:
            raise NoCounterpartError(f"{what} of several block sizes")
        return self.sizes[0]


def workload_of(
    job: Job, whole: Job, place: Place, note: Callable[[str], None], of_another: RateFromSection | None
) -> Workload:
    """Returns the workload. Raises NoCounterpartError for what fio cannot do at all."""
    ops = [op for op in job.ops if op.op != "flush"]
    _check_operations(job, ops, place)
    _check_places(job)
    _check_threads(job)
    if job.rate_changes:
        raise NoCounterpartError("a rate that changes over time: fio's is constant")
    numjobs, iodepth = _workers(job, note)
    ordered = tuple(sorted(ops, key=lambda op: _ORDER.index(op.op)))
    return Workload(job, whole, place, note, of_another, ordered, numjobs, iodepth)


def _check_operations(job: Job, ops: Sequence[JobOp], place: Place) -> None:
    if job.pattern.kind == "replay":
        raise NoCounterpartError("a recorded trace: `fathom trace convert` writes it as an iolog of fio")
    if not ops:
        raise NoCounterpartError("flushes alone: fio's follow writes")
    for op in ops:
        if op.op not in _ORDER:
            raise NoCounterpartError(f"{op.op}, which fio does not issue")
    if len(ops) > 1 and {op.op for op in ops} != {"read", "write"}:
        raise NoCounterpartError("trims beside other operations: fio gives them no share")
    if place.is_file and any(op.op == "trim" for op in ops):
        raise NoCounterpartError("trims of a file: fio trims only devices")


def _check_places(job: Job) -> None:
    if job.pattern.kind == "blocks":
        raise NoCounterpartError("a list of blocks, which fio 3.33 does not take")
    if job.files:
        raise NoCounterpartError("a set of files, which fio lays out and chooses from by rules of its own")
    if job.placement:
        raise NoCounterpartError("placement handles, which fio 3.33 does not send")


def _check_threads(job: Job) -> None:
    """Raises NoCounterpartError for positions that threads or operations share, which fio's jobs never do."""
    several = job.threads > 1
    if job.thread_positions == "shared" and several:
        raise NoCounterpartError("one position for all threads: each of fio's jobs has its own")
    if job.thread_positions == "start" and several and job.pattern.kind == "sequential-streams":
        raise NoCounterpartError("several sequential places of each thread that all threads begin at")
    if job.operation_positions == "together" and job.pattern.kind == "mixed":
        raise NoCounterpartError("random jumps that reads and writes follow together")


def _workers(job: Job, note: Callable[[str], None]) -> tuple[int, int]:
    """Returns the number of jobs, and the I/Os in flight of each."""
    threads, iodepth = job.threads, job.iodepth
    streams = job.pattern.streams or 1
    if streams > 1:
        if iodepth % streams:
            raise NoCounterpartError("sequential places that do not divide the iodepth")
        note("one job per sequential position, where Fathom's threads share them in turn")
        threads, iodepth = threads * streams, iodepth // streams
    if job.think_ns and iodepth > 1:
        if job.pattern.kind in _DIVIDED:
            raise NoCounterpartError("pauses per I/O in flight: fio's are per job")
        threads, iodepth = threads * iodepth, 1
    if threads > MOST_JOBS:
        raise NoCounterpartError(f"more than {MOST_JOBS} jobs")
    return threads, iodepth
