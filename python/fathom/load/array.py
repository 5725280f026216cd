"""Drives of one host loaded at once as one target: twins, or real targets of any kind.

Each twin has its own state, requests and virtual time, and they run on as many threads as there are drives. They share
the cores of the bench and the link of its host bus adapter. These are dealt out evenly beforehand
(`fathom.catalog.models.System.share`). So are the benches of unlike twins. Real targets share what they really share.
"""

from collections.abc import Callable, Sequence
from copy import copy
from typing import NamedTuple

from fathom import _core
from fathom.load.backend import EngineBackend, make_twin, ready_twins, start_twins
from fathom.load.parts import Totals
from fathom.load.seeds import part_seed
from fathom.targets.claim import Claimed


class Drive(NamedTuple):
    """One twin of several. `parameters_json` has its share of the bench."""

    name: str
    parameters_json: str
    file_system: str | None = None


class ArrayBackend:
    """Twins whose sum is the target."""

    real_time = False
    settled = False
    of_hosts = False
    divides_fill = False

    def __init__(self, drives: Sequence[Drive], seed: int) -> None:
        self.parts = tuple(drive.name for drive in drives)
        self.devices = [
            make_twin(drive.parameters_json, own, drive.file_system)
            for drive, own in zip(drives, self._seeds(seed), strict=True)
        ]
        self._layered = [drive.file_system is not None for drive in drives]
        self.capacity_bytes = sum(device.capacity_bytes for device in self.devices)
        self.scales = {name: device.scale for name, device in zip(self.parts, self.devices, strict=True)}
        alike = len(set(self.scales.values())) == 1
        real_bytes = sum(one.capacity_bytes / one.scale for one in self.devices)
        self.scale = self.devices[0].scale if alike else self.capacity_bytes / real_bytes

    def start(
        self,
        job: _core.Job,
        seed: int,
        hold_every_s: float | None = None,
        precision: _core.Precision | None = None,
        *,
        fills: bool = False,
    ) -> "ArrayLoad":
        """Starts the job on every drive at once. A precision is that of the total, so that all drives end their windows
        together.
        """
        if any(self._layered):
            layered = zip(self.devices, self._layered, strict=True)
            ready_twins(job, [device for device, has_file_system in layered if has_file_system])
        seeds = self._seeds(seed)
        return ArrayLoad(start_twins(job, self.devices, seeds, hold_every_s, precision), len(self.parts))

    @property
    def copied(self) -> "Callable[[], ArrayBackend]":
        """Makes drives of their own in the states of these."""
        return self._copied

    def _copied(self) -> "ArrayBackend":
        array = copy(self)
        array.devices = [device.copied() for device in self.devices]
        return array

    def _seeds(self, seed: int) -> list[int]:
        return [part_seed(seed, number) for number in range(1, len(self.parts) + 1)]


class EngineArray(EngineBackend):
    """Real targets whose sum is the target, each with threads of its own; all begin at one moment."""

    def __init__(self, members: Sequence[Claimed], is_stopped: Callable[[], bool] | None = None) -> None:
        super().__init__(members, is_stopped)
        self.parts = tuple(member.name for member in members)

    def start(
        self,
        job: _core.Job,
        seed: int,
        hold_every_s: float | None = None,
        precision: _core.Precision | None = None,
        *,
        fills: bool = False,
    ) -> "ArrayLoad":
        """Starts the job on every target at once; holds and precision do not apply to real devices."""
        return ArrayLoad(self.start_each(job, seed), len(self.parts))


class ArrayLoad:
    """A running step. Intervals of target 0 are the total's, those of target k the k-th drive's."""

    def __init__(self, handle: _core.Handle, drives: int) -> None:
        self._handle = handle
        self._totals = Totals(drives)
        self._held = self._done = False

    @property
    def started_unix_ns(self) -> int | None:
        """When the load began, ns since 1970; None before."""
        return self._handle.started_unix_ns

    def poll(self, timeout_s: float = 0.2) -> list[_core.Interval]:
        """Returns seconds that have come in, of drives and of the total; waits up to `timeout_s` for the first.

        Some drives may lack a second, as at the end of a fill. It is added up when all that still run wait or have
        ended. Only then is it known that nothing more comes of the others.
        """
        own = [
            _core.Interval.merged([interval], interval.target + 1)
            for interval in self._handle.poll(timeout_s)
        ]
        for interval in own:
            self._totals.add(interval)
        self._held, self._done = self._handle.held(), self._handle.done()
        awaited = not (self._held or self._done)
        return [*own, *self._totals.fresh([awaited] * len(self._totals.sums))]

    def held(self) -> bool:
        """Returns whether every drive that still runs waits, and all intervals have been polled, the total's too."""
        return self._held

    def proceed(self) -> None:
        """Goes on to the next hold."""
        self._held = False
        self._handle.proceed()

    def stop(self) -> None:
        """Ends the load on every drive; what is in flight completes."""
        self._handle.stop()

    def abandon(self) -> None:
        """Ends the load and gives up what is in flight."""
        self._handle.abandon()

    def done(self) -> bool:
        """Returns whether every drive has ended and all intervals have been polled, the total's too."""
        return self._done

    def result(self) -> list[_core.Recording]:
        """Returns the total over the seconds common to all drives, then each drive's own. Raises
        `_core.BackendError`.
        """
        return self._totals.recordings(self._handle.result())


class ArrayTotal:
    """The total of an array's running step alone: what a host of a fleet sends. Its recording is the sum of its
    seconds.
    """

    def __init__(self, handle: _core.Handle, drives: int) -> None:
        self._handle = handle
        self._load = ArrayLoad(handle, drives)
        self._sum = _core.Recording()

    @property
    def started_unix_ns(self) -> int | None:
        """When the load began, ns since 1970; None before."""
        return self._handle.started_unix_ns

    def poll(self, timeout_s: float = 0.2) -> list[_core.Interval]:
        """Returns seconds of the total that have come in; waits up to `timeout_s` for the first."""
        fresh = [interval for interval in self._load.poll(timeout_s) if interval.target == 0]
        for interval in fresh:
            self._sum = self._sum.plus(interval)
        return fresh

    def stop(self) -> None:
        """Ends the load on every drive; what is in flight completes."""
        self._handle.stop()

    def done(self) -> bool:
        """Returns whether every drive has ended and all seconds have been polled."""
        return self._load.done()

    def result(self) -> list[_core.Recording]:
        """Returns the recording of the total. Raises `_core.BackendError`."""
        return [self._sum.with_parts(self._handle.result())]
