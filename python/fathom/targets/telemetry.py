"""What machine and devices did while a job ran, once a second: temperature, traffic, CPU, energy, throttling.

A source that the machine does not have is in `not_measured` and gives no rows; nothing is estimated in its place. Rows
without a target are of the whole machine.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Protocol

from fathom.columns.schema import Reading
from fathom.targets import media_logs, sysfs
from fathom.targets.mounts import PROC, SYS
from fathom.targets.not_measured import NotMeasured, Quantity
from fathom.targets.sysfs import BlockDevice, number, text
from fathom.targets.target import REAL_KINDS, Target
from fathom.targets.telemetry_names import (
    ARRAY_COPYING,
    ARRAY_DEGRADED,
    CONTROLLER_RESETS,
    CPU_QUOTA,
    JOULES,
    NIC_BUSY,
    PATH_DOWN,
    PATHS,
)

_JOULES_PER_MICROJOULE = 1e-6


@dataclass(frozen=True, slots=True)
class Value:
    """A quantity that a source measured since the last sample."""

    name: str
    value: float
    unit: str


class Source(Protocol):
    """Something that can be sampled; `target` is None for the whole machine."""

    target: str | None

    def sample(self, length_s: float) -> list[Value]:
        """Returns values over the `length_s` since the last call; empty when it has gone."""
        ...


class Telemetry:
    """Samples in a thread of its own between enter and exit.

    `step` begins a step: it closes the running interval, so that no interval spans two steps. `drain` hands
    over the rows gathered since the last call. The thread costs some file reads a second and no CPU between.
    """

    def __init__(
        self, targets: Sequence[Target], *, period_s: float = 1.0, proc: Path = PROC, sys: Path = SYS
    ) -> None:
        """Find the sources that exist; what does not is listed in `not_measured`."""
        self.not_measured: list[NotMeasured] = []
        self._sources: list[Source] = []
        for found in _sources(targets, proc, sys):
            if isinstance(found, NotMeasured):
                self.not_measured.append(found)
            else:
                self._sources.append(found)
        self._period_s = period_s
        self._rows: list[Reading] = []
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="telemetry", daemon=True)
        self._step: str | None = None
        self._step_start_s = self._last_s = time.monotonic()

    def __enter__(self) -> "Telemetry":
        """Start sampling; rows begin with the first `step`."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the last sample and end the thread."""
        self._stop.set()
        self._thread.join()
        self._sample()

    def step(self, name: str) -> None:
        """Ends the interval of the step before and counts time from here."""
        self._sample()
        with self._lock:
            self._step = name
            self._step_start_s = self._last_s

    def drain(self) -> list[Reading]:
        """Returns the rows since the last call, up to now."""
        self._sample()
        with self._lock:
            rows, self._rows = self._rows, []
        return rows

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Asks no drive for anything inside the `with`: the kernel resets one that is too busy to answer."""
        with self._lock:
            yield

    def _run(self) -> None:
        while not self._stop.wait(self._period_s):
            self._sample()

    def _sample(self) -> None:
        with self._lock:
            now_s = time.monotonic()
            start_s, length_s = self._last_s - self._step_start_s, now_s - self._last_s
            if length_s <= 0:
                return
            self._last_s = now_s
            rows = [
                Reading(
                    target=source.target,
                    step=self._step or "",
                    start_s=start_s,
                    length_s=length_s,
                    name=value.name,
                    value=value.value,
                    unit=value.unit,
                )
                for source in self._sources
                for value in source.sample(length_s)
            ]
            self._rows += rows if self._step is not None else []


def _sources(targets: Sequence[Target], proc: Path, sys: Path) -> list[Source | NotMeasured]:
    found: list[Source | NotMeasured] = [
        _Cpu(proc),
        _CpuQuota(proc, sys),
        _frequency(sys),
        _energy(sys),
        _throttling(sys),
        _network(proc, sys),
    ]
    for target in targets:
        if target.kind in REAL_KINDS:
            device = sysfs.readable_by_dev(target.identity.dev, sys) if target.identity.dev else None
            if device is None:
                found += [
                    NotMeasured(quantity, "no block device is known below it", target.name)
                    for quantity in (Quantity.DRIVE, Quantity.ENERGY)
                ]
            else:
                found += [
                    _traffic(target, device.disk),
                    _temperature(target.name, device.controller),
                    _power(target.name, device.controller),
                    _media(target.name, device.disk),
                    *_paths(target.name, device),
                    *_resets(target.name, device),
                    *_arrays(target.name, device),
                ]
    return found


class _Counters(NamedTuple):
    """What a disk has done since it appeared."""

    sectors_read: int
    sectors_written: int
    busy_ms: int
    """An unsigned int of the kernel: it begins again after 50 days of work."""


class _Disk:
    """Traffic of the whole disk, from its `stat` file (Documentation/block/stat.rst)."""

    def __init__(self, target: str, directory: Path) -> None:
        self.target: str | None = target
        self._path = directory / "stat"
        self._last = self._read()

    def _read(self) -> _Counters | None:
        fields = (text(self._path) or "").split()
        return _Counters(int(fields[2]), int(fields[6]), int(fields[9])) if len(fields) > 9 else None

    def sample(self, length_s: float) -> list[Value]:
        before, self._last = self._last, self._read()
        now = self._last
        if before is None or now is None:
            return []
        read_bytes = (now.sectors_read - before.sectors_read) * sysfs.SECTOR_BYTES
        written_bytes = (now.sectors_written - before.sectors_written) * sysfs.SECTOR_BYTES
        busy_ms = (now.busy_ms - before.busy_ms) % (1 << 32)
        return [
            Value("device_read", float(read_bytes), "B"),
            Value("device_written", float(written_bytes), "B"),
            Value("device_busy", min(100.0, busy_ms / (length_s * 10)), "%"),
        ]


def _traffic(target: Target, disk: BlockDevice) -> Source | NotMeasured:
    if target.passthrough:
        return NotMeasured(Quantity.TRAFFIC, "the kernel does not count I/O by passthrough", target.name)
    if not disk.counts_io:
        why = f"the kernel counts no I/O: queue/iostats of {disk.name} is 0"
        return NotMeasured(Quantity.TRAFFIC, why, target.name)
    return _Disk(target.name, disk.directory)


class MediaWrites:
    """What the drive's own logs count of its writes; nothing where they fall behind or change."""

    def __init__(self, target: str, reader: media_logs.MediaReader, first: media_logs.MediaCounts) -> None:
        self.target: str | None = target
        self._reader = reader
        self._last: media_logs.MediaCounts | None = first

    def sample(self, length_s: float) -> list[Value]:
        """Returns bytes counted since the last call; none where the log is gone, has gone back or is another."""
        before, self._last = self._last, self._reader.read()
        now = self._last
        if before is None or now is None or before.source != now.source:
            return []
        grown = {
            "host_write_bytes": now.host_write_bytes - before.host_write_bytes,
            "media_write_bytes": now.media_write_bytes - before.media_write_bytes,
        }
        if now.media_erase_bytes is not None and before.media_erase_bytes is not None:
            grown["media_erase_bytes"] = now.media_erase_bytes - before.media_erase_bytes
        if min(grown.values()) < 0:
            return []
        return [Value(name, float(value), "B") for name, value in grown.items()]


def _media(target: str, disk: BlockDevice) -> Source | NotMeasured:
    namespace = disk.identity().namespace
    if namespace is None:
        return NotMeasured(Quantity.MEDIA_WRITES, "not an NVMe drive", target)
    try:
        reader = media_logs.open_reader(disk.node, namespace)
        first = reader.read()
    except OSError as error:
        why = f"its logs cannot be read ({error.strerror or error})"
        return NotMeasured(Quantity.MEDIA_WRITES, why, target)
    if first is None:
        why = "it has neither FDP statistics (log 22h) nor the OCP log (C0h)"
        return NotMeasured(Quantity.MEDIA_WRITES, why, target)
    return MediaWrites(target, reader, first)


class _Cpu:
    """Use of all processors together, from the first line of /proc/stat, proc(5)."""

    def __init__(self, proc: Path) -> None:
        self.target: str | None = None
        self._path = proc / "stat"
        self._last = self._read()

    def _read(self) -> tuple[int, int, int]:
        lines = (text(self._path) or "cpu").splitlines()
        user, nice, system, idle, iowait, irq, softirq, steal = (
            [int(word) for word in lines[0].split()[1:9]] + [0] * 8
        )[:8]
        busy = user + nice + system + irq + softirq
        return busy, steal, busy + steal + idle + iowait

    def sample(self, length_s: float) -> list[Value]:
        before, self._last = self._last, self._read()
        busy, steal, total = (now - then for now, then in zip(self._last, before, strict=True))
        if total <= 0:
            return []
        return [Value("cpu_busy", 100 * busy / total, "%"), Value("cpu_steal", 100 * steal / total, "%")]


class _CpuQuota:
    """In how many of its periods this process's control group had used up its share of the processors.

    From `cpu.stat` of version 1 or 2 (Documentation/scheduler/sched-bwc.rst). The group is looked up each time: a
    process can be moved. Gives nothing where there is no quota.
    """

    def __init__(self, proc: Path, sys: Path) -> None:
        self.target: str | None = None
        self._proc, self._root = proc, sys / "fs/cgroup"
        self._last = self._read()

    def _read(self) -> tuple[Path, int, int] | None:
        for line in (text(self._proc / "self/cgroup") or "").splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers == "" or "cpu" in controllers.split(","):
                file = self._root / controllers / path.lstrip("/") / "cpu.stat"
                pairs = dict(pair.split() for pair in (text(file) or "").splitlines())
                if pairs.get("nr_periods", "0") != "0":
                    return file, int(pairs["nr_periods"]), int(pairs["nr_throttled"])
        return None

    def sample(self, length_s: float) -> list[Value]:
        before, self._last = self._last, self._read()
        if self._last is None:
            return []
        file, periods, used_up = self._last
        if before is not None and before[0] == file:
            periods, used_up = periods - before[1], used_up - before[2]
        return [Value(CPU_QUOTA, 100 * used_up / periods, "%")] if periods > 0 else []


class _Network:
    """Traffic of network interfaces whose speed is known, from /proc/net/dev, proc(5); of the busier direction."""

    def __init__(self, proc: Path, speeds_mbps: Mapping[str, float]) -> None:
        self.target: str | None = None
        self._path = proc / "net/dev"
        self._speeds_mbps = speeds_mbps
        self._last = self._read()

    def _read(self) -> dict[str, tuple[int, int]]:
        found = {}
        for line in (text(self._path) or "").splitlines():
            name, colon, counters = line.partition(":")
            if colon and name.strip() in self._speeds_mbps:
                words = counters.split()
                found[name.strip()] = int(words[0]), int(words[8])
        return found

    def sample(self, length_s: float) -> list[Value]:
        before, self._last = self._last, self._read()
        values = []
        for name, now in self._last.items():
            received, sent = (new - old for new, old in zip(now, before.get(name, now), strict=True))
            able_bytes = self._speeds_mbps[name] * 1e6 / 8 * length_s
            values += [
                Value(f"nic_received: {name}", float(received), "B"),
                Value(f"nic_sent: {name}", float(sent), "B"),
                Value(f"{NIC_BUSY}{name}", 100 * max(received, sent) / able_bytes, "%"),
            ]
        return values


def _network(proc: Path, sys: Path) -> Source | NotMeasured:
    """Interfaces with a link of their own: no bridge, no bond over others, nothing that has no speed."""
    speeds_mbps = {
        path.parent.name: float(speed)
        for path in sorted(sys.glob("class/net/*/speed"))
        if (speed := number(path)) is not None
        and speed > 0
        and not any((path.parent / kind).exists() for kind in ("bridge", "bonding"))
    }
    if not speeds_mbps:
        return NotMeasured(Quantity.NETWORK, "no interface with a known speed")
    return _Network(proc, speeds_mbps)


@dataclass
class _Gauge:
    """The mean of some files, scaled."""

    target: str | None
    name: str
    unit: str
    scale: float
    paths: list[Path]

    def sample(self, length_s: float) -> list[Value]:
        values = [value for path in self.paths if (value := number(path)) is not None]
        return [Value(self.name, sum(values) / len(values) * self.scale, self.unit)] if values else []


class _Counter:
    """The growth of some counters together, scaled; one that wrapped has gone through its range once."""

    def __init__(
        self,
        name: str,
        unit: str,
        scale: float,
        paths: list[Path],
        wraps_at: Callable[[Path], int] = lambda _: 0,
        target: str | None = None,
    ) -> None:
        self.target = target
        self._name, self._unit, self._scale = name, unit, scale
        self._last = {path: number(path) for path in paths}
        self._range = {path: wraps_at(path) for path in paths}

    def sample(self, length_s: float) -> list[Value]:
        before, self._last = self._last, {path: number(path) for path in self._last}
        grown = 0
        for path, now in self._last.items():
            then = before[path]
            if now is None or then is None:
                return []
            grown += now - then if now >= then else now - then + self._range[path]
        return [Value(self._name, grown * self._scale, self._unit)]


def _frequency(sys: Path) -> Source | NotMeasured:
    paths = sorted(sys.glob("devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq"))
    if not paths:
        return NotMeasured(Quantity.CPU_FREQUENCY, "no cpufreq driver")
    return _Gauge(None, "cpu_frequency", "MHz", 1e-3, paths)


def _energy(sys: Path) -> Source | NotMeasured:
    """Package energy by RAPL; sub-domains (`intel-rapl:0:0`) are parts of their package and left out.

    So is the domain `psys`, which is the whole platform with its packages (Documentation/power/powercap/powercap.rst).
    """
    zones = sorted(sys.glob("class/powercap/intel-rapl:[0-9]/energy_uj"))
    paths = [path for path in zones if text(path.with_name("name")) != "psys"]
    if not paths:
        return NotMeasured(Quantity.CPU_ENERGY, "no RAPL")
    if any(number(path) is None for path in paths):
        return NotMeasured(Quantity.CPU_ENERGY, "RAPL can only be read by root")
    return _Counter("package_energy", "J", _JOULES_PER_MICROJOULE, paths, _rapl_range)


def _rapl_range(path: Path) -> int:
    return number(path.with_name("max_energy_range_uj")) or 0


def _throttling(sys: Path) -> Source | NotMeasured:
    paths = sorted(sys.glob("devices/system/cpu/cpu[0-9]*/thermal_throttle/*_throttle_count"))
    if not paths:
        return NotMeasured(Quantity.CPU_THROTTLING, "no counters")
    return _Counter("cpu_throttled", "events", 1, paths)


@dataclass
class _Paths:
    """The controllers that led to a namespace when the run began, and how long any of them was not live."""

    target: str | None
    ports: Sequence[Path]

    def sample(self, length_s: float) -> list[Value]:
        down = sum(text(port / "state") != "live" for port in self.ports)
        return [
            Value(PATHS, float(len(self.ports)), "paths"),
            Value(PATH_DOWN, down * length_s, "s"),
        ]


def _paths(target: str, device: BlockDevice) -> list[Source]:
    """Returns the paths of a drive that has several, or one over a network; nothing of a drive in its slot."""
    ports = device.ports
    over_network = [port for port in ports if text(port / "transport") not in ("pcie", "loop", None)]
    return [_Paths(target, ports)] if len(ports) > 1 or over_network else []


def _resets(target: str, device: BlockDevice) -> list[Source]:
    """Returns the resets of the controllers that lead to a drive, where the kernel counts them."""
    paths = [path for port in device.ports if (path := port / "diag/reset_count").exists()]
    return [_Counter(CONTROLLER_RESETS, "resets", 1, paths, target=target)] if paths else []


@dataclass
class _Arrays:
    """The md arrays with redundancy that a target lies on, by their folders `md`."""

    target: str | None
    folders: Sequence[Path]

    def sample(self, length_s: float) -> list[Value]:
        degraded = any(number(folder / "degraded") for folder in self.folders)
        copying = any(text(folder / "sync_action") not in (None, "idle", "frozen") for folder in self.folders)
        return [
            Value(ARRAY_DEGRADED, degraded * length_s, "s"),
            Value(ARRAY_COPYING, copying * length_s, "s"),
        ]


def _arrays(target: str, device: BlockDevice) -> list[Source]:
    """Returns the arrays at or below the device; nothing of a stripe, which ends with its first lost member."""
    folders = sorted(
        folder
        for one in device.below()
        if not one.is_partition and (folder := one.directory / "md") and (folder / "degraded").exists()
    )
    return [_Arrays(target, folders)] if folders else []


def _temperature(target: str, controller: Path) -> Source | NotMeasured:
    """Returns the first sensor of the drive: NVMe's composite temperature, or drivetemp's on SATA and SAS."""
    found = sorted([*controller.glob("hwmon*/temp1_input"), *controller.glob("hwmon/hwmon*/temp1_input")])
    if not found:
        return NotMeasured(Quantity.TEMPERATURE, "no hwmon sensor", target)
    return _Gauge(target, "device_temperature", "degC", 1e-3, found[:1])


@dataclass
class _Power:
    """Energy as what a power sensor shows, times the interval: exact as far as the sensor averages that long."""

    target: str | None
    path: Path

    def sample(self, length_s: float) -> list[Value]:
        microwatts = number(self.path)
        return [] if microwatts is None else [Value(JOULES, microwatts * 1e-6 * length_s, "J")]


def _power(target: str, controller: Path) -> Source | NotMeasured:
    """Returns the power sensor of the drive or its slot, the averaging one first
    (Documentation/hwmon/sysfs-interface).
    """
    names = ("power1_average", "power1_input")
    places = [
        place
        for at in ("hwmon*", "hwmon/hwmon*")
        for name in names
        for place in controller.glob(f"{at}/{name}")
    ]
    if not places:
        return NotMeasured(Quantity.ENERGY, "the drive has no power sensor", target)
    return _Power(target, places[0])
