"""Hosts that load several targets at once, as the hosts of a shelf load its drives."""

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest
from test_fleet import METHOD, bins, fleet_of, hosts, rows

from fathom._core import Job
from fathom.errors import FathomError, UsageError
from fathom.fleet.agent import HostAgent, JobProgress
from fathom.fleet.fleet import Fleet
from fathom.method.method import parse_method
from fathom.plan.prepare import prepare
from fathom.report.page import write_html
from fathom.runs.reader import Run
from fathom.session import Options, resume_run, start_run
from fathom.targets.own_file import file_bytes
from fathom.targets.target import Identity, Target
from old_runs import changed

SIZE = 8 << 20


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(32) as threads:
        yield threads


@pytest.fixture
def drives(tmp_path: Path) -> list[Path]:
    folders = [tmp_path / "a", tmp_path / "b", tmp_path / "c"]
    for folder in folders:
        folder.mkdir()
    return folders


def named(folders: Sequence[Path]) -> str:
    return "array:" + ",".join(f"dir:{folder}" for folder in folders)


def run_array(fleet: Fleet, text: str, out: Path) -> Run:
    targets = fleet.resolve([text], SIZE)
    return start_run(parse_method(METHOD, "shared.toml"), targets, Options(out=out, initiator=fleet))


def test_the_total_is_the_sum_of_what_hosts_get_of_all_drives(
    pool: ThreadPoolExecutor, tmp_path: Path, drives: list[Path]
) -> None:
    total = named(drives)
    run = run_array(fleet_of(hosts(pool, 2)), total, tmp_path / "runs")
    parts = [f"h1:{total}", f"h2:{total}"]
    assert [one.name for one in run.targets if one.part_of == total] == parts
    summed: dict[tuple[int, int], int] = {}
    for part in parts:
        for key, count in bins(run, "read", part).items():
            summed[key] = summed.get(key, 0) + count
    assert bins(run, "read", total) == summed
    points = {row["target"]: row for row in rows(run, "points", "read")}
    assert set(points) == {total, *parts}
    assert points[total]["n"] == sum(points[part]["n"] for part in parts) > 0
    filled = {
        part: sum(row["bytes"] for row in rows(run, "intervals", "fill") if row["target"] == part)
        for part in (total, *parts)
    }
    assert filled == {total: 6 * SIZE, parts[0]: 3 * SIZE, parts[1]: 3 * SIZE}
    made = sorted(path for folder in drives for path in folder.glob("fathom-h*/fathom-scratch.bin"))
    assert len(made) == 6


def test_the_members_of_each_host_stand_in_the_run_as_what_they_are(
    pool: ThreadPoolExecutor, tmp_path: Path, drives: list[Path]
) -> None:
    total = named(drives)
    run = run_array(fleet_of(hosts(pool, 2)), total, tmp_path / "runs")
    members = [one for one in run.targets if one.part_of == f"h2:{total}"]
    assert [one.name for one in members] == [f"h2:dir:{folder}/fathom-h2" for folder in drives]
    assert {one.kind for one in members} == {"dir"}
    uuids = {str(one.identity.get("file_uuid")) for one in run.targets if one.kind == "dir"}
    assert len(uuids) == 6
    assert "None" not in uuids
    page = tmp_path / "page.html"
    write_html([run.path], page)
    assert "How the load was shared" in page.read_text()


def test_a_run_on_an_array_resumes_with_the_same_files_and_no_others(
    pool: ThreadPoolExecutor, tmp_path: Path, drives: list[Path]
) -> None:
    run = run_array(fleet_of(hosts(pool, 2)), named(drives), tmp_path / "runs")
    changed(run.path, status="interrupted")
    resumed = resume_run(run.path, Options(initiator=fleet_of(hosts(pool, 2))))
    assert resumed.points.equals(run.points)
    changed(run.path, status="interrupted")
    with pytest.raises(UsageError, match="host h3 had no part in this run"):
        resume_run(run.path, Options(initiator=fleet_of(hosts(pool, 3))))
    (drives[1] / "fathom-h2" / "fathom-scratch.bin").unlink()
    with pytest.raises(FathomError, match=r"host h2: .*the file that this run began with is gone"):
        resume_run(run.path, Options(initiator=fleet_of(hosts(pool, 2))))


def test_each_file_of_each_host_keeps_its_size_when_a_run_goes_on(
    pool: ThreadPoolExecutor, tmp_path: Path, drives: list[Path]
) -> None:
    """Files of one command line are unlike where a disk has less room, or where they are there already."""
    text = named(drives[:2])
    sizes = {"h1": (SIZE, 2 * SIZE), "h2": (3 * SIZE, SIZE)}
    remotes = hosts(pool, 2)
    for remote in remotes:
        agent, own = remote.agent, sizes[remote.agent.name]

        def unlike(whole: str, size: object, agent: HostAgent = agent, own: tuple[int, int] = own) -> Target:
            assert (whole, size) == (text, None)
            return agent.resolve(whole, own)

        remote.answers[HostAgent.resolve] = unlike
    fleet = fleet_of(remotes)
    run = start_run(
        parse_method(METHOD, "shared.toml"),
        fleet.resolve([text]),
        Options(out=tmp_path / "runs", initiator=fleet),
    )
    changed(run.path, status="interrupted")
    resume_run(run.path, Options(initiator=fleet_of(hosts(pool, 2))))
    for host, own in sizes.items():
        made = [folder / f"fathom-{host}" / "fathom-scratch.bin" for folder in drives[:2]]
        assert [path.stat().st_size for path in made] == [file_bytes(size) for size in own]


def test_a_load_for_the_drives_of_a_host_is_whole_on_each_host(
    pool: ThreadPoolExecutor, drives: list[Path]
) -> None:
    remotes = hosts(pool, 2)
    fleet = fleet_of(remotes)
    [target] = fleet.resolve([named(drives)], SIZE)
    backend, _ = fleet.start(target, lambda: False)
    sent: list[Job] = []
    for remote in remotes:
        remote.answers[HostAgent.start] = lambda name, job, *further: sent.append(job) or JobProgress()
    base = {"mix": "read", "block": "4KiB", "pattern": "uniform", "until": {"time": "1s"}}
    with fleet.claim(target, writes=True):
        for split in ("drives", "even"):
            load = {"threads": 3, "iodepth": 32, "split": split}
            running = backend.start(Job(json.dumps(base | {"load": load})), 1)
            wait([member.news for member in running.members if member.news])
    in_flight = [sum(one.threads * one.iodepth for one in job.of_parts(3)) for job in sent]
    assert in_flight == [96, 96, 48, 48]


@pytest.mark.parametrize("sent", ["fewer", "another"])
def test_a_host_that_describes_other_members_is_refused(
    pool: ThreadPoolExecutor, drives: list[Path], sent: str
) -> None:
    remotes = hosts(pool, 1)
    agent = remotes[0].agent
    there = {"fewer": drives[:2], "another": drives}[sent]
    remotes[0].answers[HostAgent.resolve] = lambda text, size: agent.resolve(
        named(there) if sent == "fewer" else f"dir:{there[0]}", size
    )
    with pytest.raises(FathomError, match=r"host h1: it describes array:dir:.* as what it cannot be"):
        fleet_of(remotes).resolve([named(drives)], SIZE)


def test_a_methods_file_system_on_a_bare_device_is_refused_before_the_coordinator_looks_for_the_device(
    pool: ThreadPoolExecutor,
) -> None:
    remotes = hosts(pool, 1)
    there = Target(
        name="/dev/none0",
        kind="device",
        path=Path("/dev/none0"),
        capacity_bytes=1 << 40,
        logical_block_bytes=4096,
        direct_align_bytes=4096,
        identity=Identity(),
        label="a drive",
    )
    remotes[0].answers[HostAgent.resolve] = lambda text, size: there
    method = parse_method(f'file_system = "btrfs"\n{METHOD.lstrip()}', "shared.toml")
    with pytest.raises(UsageError, match="shared: hosts put no btrfs on bare devices"):
        prepare(method, ["/dev/none0"], fleet_of(remotes))
