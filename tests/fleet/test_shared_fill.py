"""A fill by several hosts: what they share they write once together, what each has for itself it writes whole."""

import json
import os
import pickle
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event

import pytest
from test_fleet import InProcess, fleet_of, hosts, rows

from fathom import _core
from fathom._core import Job
from fathom.analysis.settled import Unsettled
from fathom.catalog import method_text
from fathom.errors import FathomError, InterruptedRunError
from fathom.fleet.agent import HostAgent, JobProgress
from fathom.fleet.fleet import Fleet
from fathom.fleet.host_targets import is_shared
from fathom.method.method import Method, Step, load_method, parse_method
from fathom.report.comparison import compare
from fathom.report.data import load
from fathom.report.findings import gate
from fathom.runs.document import TargetRecord
from fathom.runs.event_log import read_events
from fathom.runs.reader import Run
from fathom.runs.store import StepOutcome
from fathom.session import Options, resume_run, start_run
from fathom.session.options import SilentObserver
from fathom.targets import sysfs
from fathom.targets.target import Identity, Target

MIB = 1 << 20
BLOCK = 128 << 10
FILL = {"mix": "write", "block": "128KiB", "pattern": "sequential", "until": {"written": "1x"}, "load": {}}
METHOD = """
schema = "fathom-method/1"
name = "shelf"
[[steps]]
name = "fill"
kind = "fill"
job = { mix = "write", block = "128KiB", pattern = "sequential", load = { iodepth = 4 }, until = { written = "1x" } }
[[steps]]
name = "read"
job = { mix = "read", block = "4KiB", pattern = "uniform", load = { iodepth = 4 }, until = { time = "1s" } }
"""
MEASURED = ["4k-rand-read-1x32", "4k-rand-write-1x32", "4k-rand-70r30w-1x32"]
SHORTER = {
    'time = "2min"': 'time = "1s"',
    # Whether rounds are even is the machine's affair. What the hosts have written is the test's.
    'kind     = "precondition"': 'kind = "measure"',
    'steady   = { round = "1min" }\n': "",
    'time = "25min"': 'written = "1x"',
}


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(32) as threads:
        yield threads


@pytest.fixture
def images(tmp_path: Path) -> Iterator[list[Path]]:
    """Two empty images, whose loop devices are detached again."""
    if os.geteuid() != 0 or subprocess.run(["losetup", "-f"], capture_output=True, check=False).returncode:
        pytest.skip("loop devices need root and a kernel with a free one")
    made = [tmp_path / "disk1.img", tmp_path / "disk2.img"]
    for image in made:
        image.write_bytes(bytes(64 * MIB))
    yield made
    for image in made:
        subprocess.run(["losetup", "-d", attached(image)], check=False)


def attached(image: Path) -> Path:
    """The loop device of an image, attached where it is not."""
    known = subprocess.run(["losetup", "-j", image], check=True, capture_output=True, text=True).stdout
    if known:
        return Path(known.partition(":")[0])
    command = ["losetup", "--find", "--show", image]
    return Path(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip())


def drive(number: int, size_bytes: int, wwid: str | None) -> Target:
    return Target(
        name=f"/dev/none{number}",
        kind="device",
        path=Path(f"/dev/none{number}"),
        capacity_bytes=size_bytes,
        logical_block_bytes=4096,
        direct_align_bytes=4096,
        identity=Identity(wwid=wwid, size_bytes=size_bytes),
        label="a drive",
    )


def shelf(drives: Sequence[Target]) -> Target:
    names = tuple(one.name for one in drives)
    return replace(
        drives[0],
        name=f"array:{','.join(names)}",
        kind="array",
        path=None,
        capacity_bytes=sum(one.capacity_bytes for one in drives),
        members=tuple(drives),
        parts=names,
    )


def sent(
    remotes: list[InProcess],
    seen: Sequence[Target],
    job: dict[str, object] = FILL,
    *,
    lost: str = "",
    fills: bool = True,
) -> list[Job]:
    """What each host that is left is told to do."""
    for remote, own in zip(remotes, seen, strict=True):
        remote.answers[HostAgent.resolve] = lambda text, size, own=own: own
    fleet = fleet_of(remotes)
    [target] = fleet.resolve([seen[0].name])
    told: dict[str, Job] = {}
    for host, remote in zip(fleet.hosts, remotes, strict=True):
        host.lost = "gone" if host.name == lost else None
        remote.answers[HostAgent.start] = lambda name, job, *further, host=host.name: (
            told.update({host: job}) or JobProgress()
        )
    running = fleet.start(target, lambda: False)[0].start(Job(json.dumps(job)), 1, fills=fills)
    wait([member.news for member in running.members if member.news])
    return [told[host.name] for host in fleet.hosts if host.name in told]


def visits(jobs: Sequence[Job], capacity_bytes: int) -> Counter[int]:
    """How often each block of 128 KiB is written."""
    found = Counter[int]()
    for job in jobs:
        _, size_bytes = job.region_on(capacity_bytes)
        for _, _, offset, size in _core.requests(job, capacity_bytes, 4096, 1, size_bytes // BLOCK):
            found.update(range(offset // BLOCK, (offset + size) // BLOCK))
    return found


def test_hosts_write_every_block_of_the_drives_that_they_share_exactly_once(pool: ThreadPoolExecutor) -> None:
    sizes = [64 * MIB, 101 * MIB]
    own = shelf([drive(number, size, f"eui.{number}") for number, size in enumerate(sizes)])
    jobs = sent(hosts(pool, 3), [own] * 3)
    assert len(jobs) == 3
    for size in sizes:
        assert visits(jobs, size) == Counter(range(size // BLOCK))


def test_a_host_that_is_lost_before_the_fill_leaves_its_part_to_the_others(pool: ThreadPoolExecutor) -> None:
    jobs = sent(hosts(pool, 3), [drive(1, 64 * MIB, "naa.1")] * 3, lost="h2")
    assert len(jobs) == 2
    assert visits(jobs, 64 * MIB) == Counter(range(512))


@pytest.mark.parametrize(
    "wwids",
    [("eui.1", "eui.2"), (None, None), ("t10.ATA QEMU HARDDISK QM00001",) * 2],
    ids=["other drives", "no id", "an id that machines share"],
)
def test_drives_that_are_not_known_to_be_one_are_each_filled_whole(
    pool: ThreadPoolExecutor, wwids: tuple[str | None, str | None]
) -> None:
    jobs = sent(hosts(pool, 2), [drive(1, 64 * MIB, wwid) for wwid in wwids])
    assert [visits([job], 64 * MIB) for job in jobs] == [Counter(range(512))] * 2


def test_a_part_reaches_a_host_as_it_was_sent() -> None:
    own = Job(json.dumps(FILL)).in_part(1, 3)
    received: Job = pickle.loads(pickle.dumps(own))
    assert received == own
    assert received.region_on(96 * MIB) == (32 * MIB, 32 * MIB)


def test_what_hosts_measure_on_a_drive_that_they_share_is_all_of_it(pool: ThreadPoolExecutor) -> None:
    jobs = sent(hosts(pool, 2), [drive(1, 64 * MIB, "naa.1")] * 2, fills=False)
    assert [job.region_on(64 * MIB) for job in jobs] == [(0, 64 * MIB)] * 2


@pytest.mark.parametrize(
    "other",
    [{"until": {"bytes": "64MiB"}}, {"region": "128KiB"}, {"direct": False}],
    ids=["bytes", "a region too small", "page caches of the hosts"],
)
def test_a_fill_that_cannot_be_divided_is_each_hosts_own(
    pool: ThreadPoolExecutor, other: dict[str, object]
) -> None:
    jobs = sent(hosts(pool, 2), [drive(1, 64 * MIB, "naa.1")] * 2, FILL | other)
    assert jobs == [Job(json.dumps(FILL | other))] * 2


def test_a_drive_beside_a_file_of_each_host_is_not_shared() -> None:
    beside = replace(drive(2, MIB, "naa.2"), kind="dir")
    assert is_shared([drive(1, MIB, "naa.1")] * 2)
    assert not is_shared([shelf([drive(1, MIB, "naa.1"), beside])] * 2)


@dataclass
class Drives:
    """Loop devices that stand for one drive, one for each host. So each image shows what its host wrote."""

    images: list[Path]
    nodes: list[Path]

    @property
    def name(self) -> str:
        return str(self.nodes[0])

    @property
    def destroy(self) -> tuple[str, ...]:
        return tuple(f"{node.name}:{image}" for node, image in zip(self.nodes, self.images, strict=True))

    def resolved_by(self, remotes: list[InProcess]) -> Fleet:
        for remote, node in zip(remotes, self.nodes, strict=False):
            own = remote.agent.resolve(str(node), None)
            remote.answers[HostAgent.resolve] = lambda text, size, own=own: own
        return fleet_of(remotes)

    @property
    def data(self) -> list[Sequence[int]]:
        return [data_in(image) for image in self.images]

    def empty(self) -> None:
        for image in self.images:
            image.write_bytes(bytes(64 * MIB))


@pytest.fixture
def drives(images: list[Path], monkeypatch: pytest.MonkeyPatch) -> Drives:
    read = sysfs._first
    monkeypatch.setattr(sysfs, "_first", lambda *paths: "eui.1" if paths[0].name == "wwid" else read(*paths))
    return Drives(images, [attached(image) for image in images])


def test_two_hosts_fill_a_real_device_once_and_a_resumed_run_does_not_fill_it_again(
    pool: ThreadPoolExecutor, drives: Drives, tmp_path: Path
) -> None:
    interrupt = Event()

    class AfterFill(SilentObserver):
        def step_ended(self, target: Target, step: Step, outcome: StepOutcome) -> None:
            interrupt.set()

    options = Options(
        out=tmp_path / "runs",
        initiator=drives.resolved_by(hosts(pool, 2)),
        destroy=drives.destroy,
        interrupt=interrupt,
        observer=AfterFill(),
    )
    with pytest.raises(InterruptedRunError):
        start_run(parse_method(METHOD, "shelf.toml"), options.initiator.resolve([drives.name]), options)
    assert drives.data == [range(512)[:256], range(512)[256:]]
    drives.empty()
    [path] = (tmp_path / "runs").iterdir()
    fleet = drives.resolved_by(hosts(pool, 2))
    run = resume_run(path, Options(initiator=fleet, destroy=drives.destroy))
    total = drives.name
    assert written(run) == {total: 64 * MIB, f"h1:{total}": 32 * MIB, f"h2:{total}": 32 * MIB}
    assert sum(row["n"] for row in rows(run, "points", "read") if row["target"] == total) > 0
    assert not any(drives.data)


@pytest.mark.parametrize(
    ("back", "filled"),
    [(2, [range(512)[:256], range(512)[256:]]), (1, [range(512)])],
    ids=["it is back", "it stays away"],
)
def test_a_host_that_is_lost_during_the_fill_ends_the_run_and_a_resumed_run_fills_all(
    pool: ThreadPoolExecutor, drives: Drives, tmp_path: Path, back: int, filled: list[Sequence[int]]
) -> None:
    remotes = hosts(pool, 2)
    lost = remotes[1]
    fleet = drives.resolved_by(remotes)

    def poll(timeout_s: float) -> JobProgress:
        news = lost.agent.poll(timeout_s)
        if news.intervals:
            lost.die(0.0)
            lost.agent.close()
        return news

    lost.answers[HostAgent.poll] = poll
    slow = METHOD.replace(
        "iodepth = 4 }, until = { written", 'iodepth = 4, rate = "128/s" }, until = { written'
    )
    method = parse_method(slow, "shelf.toml")
    options = Options(out=tmp_path / "runs", initiator=fleet, destroy=drives.destroy)
    with pytest.raises(FathomError) as raised:
        start_run(method, fleet.resolve([drives.name]), options)
    [path] = (tmp_path / "runs").iterdir()
    assert raised.value.message == (
        f"{drives.name}: host h2 was lost (ConnectionError: gone) during a fill that hosts divide, so its part is not "
        f"written; what was measured is in {path}"
    )
    tokens = " ".join(f"--destroy {token}" for token in drives.destroy)
    assert raised.value.hint == f"remove the cause, then `fathom resume {path.name} {tokens}`"
    ends = [event for event in read_events(path) if event["event"] == "step-end"]
    assert [(event["step"], event["status"]) for event in ends] == [("fill", "partial")]
    own, hole = drives.data
    assert 0 < len(own) < 256, "the others go on for a run that cannot go on"
    assert 0 < len(hole) < 256
    again = drives.resolved_by(hosts(pool, back))
    run = resume_run(path, Options(initiator=again, destroy=drives.destroy))
    assert drives.data[:back] == filled
    assert run.document.status == "complete"
    assert written(run)[drives.name] == 64 * MIB
    assert sum(row["n"] for row in rows(run, "points", "read") if row["target"] == drives.name) > 0


def data_in(image: Path) -> Sequence[int]:
    """The blocks of 128 KiB that hold data throughout; none holds some."""
    data = image.read_bytes()
    full = [any(data[at : at + 4096]) for at in range(0, len(data), 4096)]
    blocks = [full[at : at + 32] for at in range(0, len(full), 32)]
    assert all(len(set(block)) == 1 for block in blocks)
    found = [number for number, block in enumerate(blocks) if block[0]]
    return range(found[0], found[-1] + 1) if found else ()


def written(run: Run) -> Counter[str]:
    found = Counter[str]()
    for row in rows(run, "intervals", "fill"):
        found[row["target"]] += row["bytes"]
    return found


def test_added_latency_fills_before_it_settles_and_reads() -> None:
    first, second, *_ = load_method("added-latency").steps
    assert (first.kind, first.job.region_multiple) == ("fill", 1.0)
    assert (second.kind, second.workload) == ("precondition", "4k-rand-write")


@pytest.fixture
def ssds(drives: Drives) -> Iterator[Drives]:
    """The drives of `drives`, as SSDs: a report claims little of one that the run did not fill and settle."""
    kinds = [Path(f"/sys/block/{node.name}/queue/rotational") for node in drives.nodes]
    before = [kind.read_text() for kind in kinds]
    for kind in kinds:
        kind.write_text("0")
    yield drives
    for kind, text in zip(kinds, before, strict=True):
        kind.write_text(text)


def added_latency(steps: Sequence[str]) -> Method:
    """The method of the catalogue with these steps, its times and loads shortened."""
    head, *blocks = method_text("added-latency").split("[[steps]]\n")
    text = "[[steps]]\n".join([head, *(one for one in blocks if any(f'"{step}"' in one for step in steps))])
    for long, short in SHORTER.items():
        text = text.replace(long, short)
    return parse_method(text, "added-latency.toml")


@pytest.mark.parametrize(
    ("before", "missing"),
    [(["fill", "settle-4k-rand-write"], set[Unsettled]()), ([], {Unsettled.NOT_FILLED})],
    ids=["filled and settled", "neither"],
)
def test_figures_of_a_drive_are_claimed_where_its_hosts_filled_and_settled_it_together(
    pool: ThreadPoolExecutor, ssds: Drives, tmp_path: Path, before: list[str], missing: set[Unsettled]
) -> None:
    fleet = ssds.resolved_by(hosts(pool, 2))
    options = Options(out=tmp_path, initiator=fleet, destroy=ssds.destroy)
    run = start_run(added_latency([*before, *MEASURED]), fleet.resolve([ssds.name]), options)
    total = [row for row in run.points.to_pylist() if row["target"] == ssds.name]
    assert {row["step"] for row in total} >= set(MEASURED)
    # Other programs may have had the cores.
    reasons = {why for (_, step), why in gate(compare([load(run.path)])).items() if step in MEASURED}
    assert reasons - {Unsettled.MACHINE_BUSY} == missing


def test_a_report_counts_the_drives_that_hosts_have_each_for_themselves(
    pool: ThreadPoolExecutor, ssds: Drives, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TargetRecord, "shared_id", property(lambda record: (record.name, None)))
    fleet = ssds.resolved_by(hosts(pool, 2))
    options = Options(out=tmp_path, initiator=fleet, destroy=ssds.destroy)
    run = start_run(parse_method(METHOD, "shelf.toml"), fleet.resolve([ssds.name]), options)
    comparison = compare([load(run.path)])
    # Together they wrote the drive's capacity once: half of two drives.
    assert gate(comparison)[comparison.columns[0].short, "read"] is Unsettled.NOT_FILLED
