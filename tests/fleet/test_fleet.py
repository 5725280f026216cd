"""Agents in this process stand for hosts: what the coordinator does with them does not depend on where they are."""

import json
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar, cast

import pytest

from fathom._core import Job
from fathom.analysis.run_view import RunView
from fathom.analysis.settled import Unsettled, unsettled
from fathom.columns.schema import Reading
from fathom.errors import FathomError, RefusedError, UsageError
from fathom.fleet import asking, clocks, load, wire
from fathom.fleet import fleet as fleet_module
from fathom.fleet.agent import HostAgent, JobProgress
from fathom.fleet.fleet import Fleet
from fathom.fleet.hosts import hosts_of_file
from fathom.fleet.ray_cluster import RayHost, ray_connected
from fathom.method.method import parse_method
from fathom.report.blocks import Table
from fathom.report.comparison import compare
from fathom.report.data import load as read
from fathom.report.findings import gate
from fathom.report.sections import provenance
from fathom.runs.event_log import read_events
from fathom.runs.reader import Run
from fathom.session import Options, resume_run, start_run, stepper
from fathom.targets.own_file import file_bytes
from fathom.targets.target import Target
from fathom.targets.telemetry import Telemetry
from old_runs import changed

T = TypeVar("T")

METHOD = """
schema = "fathom-method/1"
name = "shared"
title = "A shared directory"
summary = "What do several hosts get of it together?"
source = "this test"
[[steps]]
name = "fill"
kind = "fill"
workload = "1m-seq-write"
label = "fill"
[steps.job]
mix = "write"
block = "1MiB"
pattern = "sequential"
load = { threads = 1, iodepth = 4 }
until = { written = "1x" }
[[steps]]
name = "read"
kind = "measure"
workload = "4k-rand-read"
label = "4 KiB random read"
[steps.job]
mix = "read"
block = "4KiB"
pattern = "uniform"
load = { threads = 1, iodepth = 4 }
until = { time = "3s" }
[[steps]]
name = "again"
kind = "measure"
workload = "64k-rand-read"
label = "64 KiB random read"
[steps.job]
mix = "read"
block = "64KiB"
pattern = "uniform"
load = { rate = "200/s", iodepth = 1 }
until = { time = "1s" }
"""


BRIEF = METHOD.replace('"3s"', '"1s"')
"""For hosts that live through it, where no figure is looked at."""


class InProcess:
    """A host in threads of this process. `die` makes every later call fail, as those to a dead host do; `answers` are
    given in place of the agent's own. Both go through the wire's checks."""

    def __init__(self, name: str, pool: ThreadPoolExecutor, lease_s: float = 5.0) -> None:
        self.agent = HostAgent(name, lease_s)
        self._pool = pool
        self._dead_from = float("inf")
        self.answers: dict[Callable[..., Any], Callable[..., object]] = {}

    def die(self, after_s: float) -> None:
        self._dead_from = time.monotonic() + after_s

    def submit(self, method: Callable[..., T], *arguments: object) -> "Future[T]":
        return self._pool.submit(self._call, method, *arguments)

    def _call(self, method: Callable[..., T], *arguments: object) -> T:
        if time.monotonic() > self._dead_from:
            raise ConnectionError("gone")
        if method not in self.answers:
            return method(self.agent, *arguments)
        return cast(T, wire.as_sent(method, self.answers[method](*arguments)))


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(32) as threads:
        yield threads


def hosts(pool: ThreadPoolExecutor, count: int) -> list[InProcess]:
    return [InProcess(f"h{k}", pool) for k in range(1, count + 1)]


def fleet_of(remotes: list[InProcess]) -> Fleet:
    return Fleet([(remote.agent.name, remote) for remote in remotes])


def run_shared(fleet: Fleet, shared: Path, out: Path, text: str = BRIEF) -> Run:
    targets = fleet.resolve([f"dir:{shared}"], 16 << 20)
    return start_run(parse_method(text, "shared.toml"), targets, Options(out=out, initiator=fleet))


def rows(run: Run, table: str, step: str) -> list[dict[str, Any]]:
    return [row for row in getattr(run, table).to_pylist() if row["step"] == step]


def bins(run: Run, step: str, target: str) -> dict[tuple[int, int], int]:
    counts: dict[tuple[int, int], int] = {}
    for row in rows(run, "latency", step):
        if row["target"] == target:
            key = (row["low_ns"], row["high_ns"])
            counts[key] = counts.get(key, 0) + row["count"]
    return counts


def test_the_total_is_the_sum_of_the_hosts_to_the_count(pool: ThreadPoolExecutor, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    run = run_shared(fleet_of(hosts(pool, 3)), shared, tmp_path / "runs", METHOD)
    total = f"dir:{shared}"
    parts = [target.name for target in run.targets if target.part_of == total]
    assert parts == [f"h1:{total}", f"h2:{total}", f"h3:{total}"]
    summed: dict[tuple[int, int], int] = {}
    for part in parts:
        for key, count in bins(run, "read", part).items():
            summed[key] = summed.get(key, 0) + count
    assert bins(run, "read", total) == summed
    points = {row["target"]: row for row in rows(run, "points", "read")}
    assert points[total]["n"] == sum(points[part]["n"] for part in parts) == sum(summed.values())
    assert sorted(path.name for path in shared.iterdir()) == ["fathom-h1", "fathom-h2", "fathom-h3"]
    [note] = [note for note in run.document.notes if note.rule == "not-measured"]
    assert note.target == total
    assert "WAF (" in note.text
    assert "on every host)" in note.text


def test_each_of_several_targets_gets_its_own_load(pool: ThreadPoolExecutor, tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    fleet = fleet_of(hosts(pool, 2))
    sizes = dict(zip(folders, (8 << 20, 16 << 20), strict=True))
    targets = [target for folder in folders for target in fleet.resolve([f"dir:{folder}"], sizes[folder])]
    # With two targets there is the most to write back: a disk may then stand still for more than a second.
    run = start_run(
        parse_method(METHOD, "shared.toml"), targets, Options(out=tmp_path / "runs", initiator=fleet)
    )
    filled = Counter[str]()
    for row in rows(run, "intervals", "fill"):
        filled[row["target"]] += row["bytes"]
    of_first = {target: moved for target, moved in filled.items() if target.startswith("h1:")}
    assert of_first == {f"h1:dir:{folder}": size for folder, size in sizes.items()}
    for folder, size in sizes.items():
        data = (folder / "fathom-h1" / "fathom-scratch.bin").read_bytes()
        assert len(data) == file_bytes(size)
        assert data.count(0) < size // 2


def test_hosts_read_addresses_of_their_own(pool: ThreadPoolExecutor, tmp_path: Path) -> None:
    remotes = hosts(pool, 2)
    fleet = fleet_of(remotes)
    [target] = fleet.resolve(["null:"], None)
    backend, _ = fleet.start(target, lambda: False)
    seeds: list[int] = []
    for remote in remotes:
        remote.answers[HostAgent.start] = lambda name, job, seed, *further: (
            seeds.append(seed) or JobProgress()
        )
    with fleet.claim(target, writes=False):
        running = backend.start(parse_method(METHOD, "shared.toml").steps[1].job, 7)
        wait([member.news for member in running.members if member.news])
    assert len(set(seeds)) == 2


def test_starts_are_within_the_bound_and_the_run_says_so(pool: ThreadPoolExecutor, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    fleet = fleet_of(hosts(pool, 2))
    run = run_shared(fleet, shared, tmp_path / "runs")
    assert len(fleet.skews_ns) == 3
    [note] = [note for note in run.notes if note.rule == "start-skew"]
    assert "2 hosts began each of 3 steps within" in note.text
    document = json.loads((run.path / "run.json").read_text())
    assert [host["name"] for host in document["environment"]["fleet"]] == ["h1", "h2"]


def test_a_host_that_dies_is_named_and_the_others_finish(pool: ThreadPoolExecutor, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    remotes = hosts(pool, 3)
    fleet = fleet_of(remotes)
    start = HostAgent.start

    def start_and_die(name: str, job: Job, seed: int, step: str, at_ns: int, pin: bool) -> JobProgress:
        news = start(remotes[2].agent, name, job, seed, step, at_ns, pin)
        if step == "read":
            remotes[2].die(after_s=1.5)
        return news

    remotes[2].agent.start = start_and_die  # pyright: ignore[reportAttributeAccessIssue]
    remotes[2].submit = lambda method, *arguments: pool.submit(  # pyright: ignore[reportAttributeAccessIssue]
        remotes[2]._call,
        lambda agent, *given: getattr(agent, method.__name__)(*given),
        *arguments,
    )
    run = run_shared(fleet, shared, tmp_path / "runs", METHOD)
    assert run.document.status == "partial"
    ended = [event for event in read_events(run.path) if event["event"] == "step-end"]
    assert [(event["step"], event["status"]) for event in ended] == [
        ("fill", "complete"), ("read", "partial"), ("again", "partial"),
    ]  # fmt: skip
    [note] = [note for note in run.notes if note.rule == "lost-host"]
    assert note.level == "error"
    assert "host h3 was lost: ConnectionError: gone" in note.text
    total = f"dir:{shared}"
    points = {row["target"]: row for row in rows(run, "points", "read")}
    assert set(points) == {total, f"h1:{total}", f"h2:{total}", f"h3:{total}"}
    assert points[f"h1:{total}"]["window_s"] == pytest.approx(3, abs=0.1)
    assert points[total]["window_s"] == pytest.approx(points[f"h3:{total}"]["window_s"], abs=0.1)
    assert points[total]["window_s"] < 2.5
    last = {row["target"] for row in rows(run, "points", "again")}
    assert last == {total, f"h1:{total}", f"h2:{total}"}
    [absent] = [note for note in run.notes if note.rule == "absent-host"]
    assert (absent.target, absent.step) == (total, "again")
    assert absent.text == "host h3 did not load it: the figures are those of 2 of 3 hosts"
    assert unsettled(RunView.of(run))[total, "again"] is Unsettled.HOSTS_MISSING
    assert Unsettled.HOSTS_MISSING in gate(compare([read(run.path)])).values()
    assert "achieved-depth" not in {note.rule for note in run.notes}
    remotes[2].agent.close()
    resumed = resume_run(run.path, Options(initiator=fleet_of(hosts(pool, 3))))
    assert resumed.document.status == "complete"
    assert {"lost-host", "absent-host"}.isdisjoint(note.rule for note in resumed.notes)
    for step in ("read", "again"):
        assert len(rows(resumed, "points", step)) == 4


@pytest.mark.parametrize("call", [1, 2], ids=["before a step", "in mid-step"])
def test_a_host_that_dies_when_it_is_asked_whether_its_target_is_its_own_is_lost_and_the_others_go_on(
    pool: ThreadPoolExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: int
) -> None:
    monkeypatch.setattr(stepper, "WATCH_S", 0.3)
    shared = tmp_path / "shared"
    shared.mkdir()
    remotes = hosts(pool, 2)
    calls = iter(range(1, 100))

    def recheck(name: str, writes: bool) -> None:
        if next(calls) >= call:
            remotes[1].die(after_s=0)
            raise ConnectionError("gone")

    remotes[1].answers[HostAgent.recheck] = recheck
    method = BRIEF.replace('written = "1x"', 'time = "2s"').replace('kind = "fill"', 'kind = "measure"')
    targets = (fleet := fleet_of(remotes)).resolve([f"dir:{shared}"], 16 << 20)
    options = Options(out=tmp_path / "runs", initiator=fleet)
    run = start_run(parse_method(method, "shared.toml"), targets, options)
    assert fleet.hosts[1].lost == "ConnectionError: gone"
    assert run.document.status == "partial"
    ends = [str(event["status"]) for event in read_events(run.path) if event["event"] == "step-end"]
    assert ends == ["partial", "partial", "partial"]
    ours = [row for row in run.points.to_pylist() if row["target"] == f"h1:dir:{shared}"]
    assert [row["step"] for row in ours] == ["fill", "read", "again"]
    assert ours[0]["window_s"] == pytest.approx(2, abs=0.2)


def test_a_silent_host_is_given_up(
    pool: ThreadPoolExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load, "CROWDED_SILENCE_S", 0.8)
    monkeypatch.setattr(load, "POLL_S", 0.2)
    remotes = hosts(pool, 2)
    fleet = fleet_of(remotes)
    answer: Future[object] = Future()
    submit = remotes[1].submit
    remotes[1].submit = lambda method, *given: (  # pyright: ignore[reportAttributeAccessIssue]
        answer if method is HostAgent.poll else submit(method, *given)
    )
    [target] = fleet.resolve(["null:"], None)
    backend, _ = fleet.start(target, lambda: False)
    with fleet.claim(target, writes=False):
        handle = backend.start(parse_method(METHOD, "shared.toml").steps[2].job, 1)
        while not handle.done():
            handle.poll(0.1)
        total, first, second = handle.result()
    assert fleet.hosts[1].lost == "has not answered for 1 s"
    assert first.window_s == pytest.approx(1, abs=0.1)
    assert second.window_s == 0
    assert total.window_s == pytest.approx(1, abs=0.1)


def drain(agent: HostAgent) -> None:
    while not agent.poll(1).done:
        pass


def test_an_agent_that_nobody_polls_stops_its_load(tmp_path: Path) -> None:
    agent = HostAgent("alone", lease_s=0.5)
    target = agent.resolve("null:", None)
    agent.hold(target, False, ())
    job = parse_method(METHOD.replace('"3s"', '"60s"'), "shared.toml").steps[1].job
    begun = time.monotonic()
    agent.start("null:", job, 1, "read", time.time_ns(), pin=False)
    agent.poll(0)
    time.sleep(1.5)
    with pytest.raises(FathomError, match="the coordinator was silent"):
        drain(agent)
    ended = agent.result()
    assert time.monotonic() - begun < 10
    assert ended.recording
    agent.release("null:")


def test_a_load_that_is_stopped_while_it_waits_for_its_start_ends_at_once(pool: ThreadPoolExecutor) -> None:
    agent = HostAgent("alone")
    agent.hold(agent.resolve("null:", None), False, ())
    job = parse_method(METHOD.replace('"3s"', '"60s"'), "shared.toml").steps[1].job
    begun = time.monotonic()
    starting = pool.submit(agent.start, "null:", job, 1, "read", time.time_ns() + 20_000_000_000, pin=False)
    time.sleep(0.5)
    agent.stop()
    starting.result()
    drain(agent)
    assert time.monotonic() - begun < 10
    assert agent.result().recording
    agent.release("null:")


def test_samples_of_a_step_begin_with_its_load_and_leave_out_the_wait_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def drain_slowly(telemetry: Telemetry) -> list[Reading]:
        rows = drain_at_once(telemetry)
        time.sleep(0.05)
        return rows

    drain_at_once = Telemetry.drain
    monkeypatch.setattr(Telemetry, "drain", drain_slowly)
    agent = HostAgent("alone")
    agent.hold(agent.resolve("null:", None), False, ())
    step = parse_method(METHOD.replace('"3s"', '"1s"'), "shared.toml").steps[1]
    for name in ("first", "second"):
        agent.start("null:", step.job, 1, name, time.time_ns() + 2_000_000_000, pin=False)
        drain(agent)
        busy = [row for row in agent.result().telemetry if row.name == "cpu_busy"]
        assert {row.step for row in busy} == {name}
        assert 0 <= busy[0].start_s < 0.5
        assert sum(row.length_s for row in busy) < 2
    agent.release("null:")


def test_hosts_outlive_a_session_that_is_busy_elsewhere(
    pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_module, "RENEW_S", 0.05)
    remote = InProcess("h1", pool, lease_s=1.0)
    fleet = fleet_of([remote])
    [target] = fleet.resolve(["null:"], None)
    backend, _ = fleet.start(target, lambda: False)
    with fleet.claim(target, writes=False):
        handle = backend.start(parse_method(METHOD, "shared.toml").steps[1].job, 1)
        while handle.poll(0.1) == []:
            pass
        time.sleep(1.8)
        while not handle.done():
            handle.poll(0.1)
        total, _ = handle.result()
    assert fleet.hosts[0].lost is None
    assert total.window_s == pytest.approx(3, abs=0.1)


def test_a_host_that_takes_minutes_to_make_its_file_is_waited_for(
    pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = fleet_of(hosts(pool, 1))
    [target] = fleet.resolve(["null:"], None)
    hold = HostAgent.hold

    def slowly(self: HostAgent, *arguments: Any) -> Target:
        time.sleep(1.0)
        return hold(self, *arguments)

    monkeypatch.setattr(asking, "CALL_S", 0.2)
    monkeypatch.setattr(HostAgent, "hold", slowly)
    with fleet.claim(target, writes=False) as held:
        assert held.name == "null:"


def test_a_host_that_falls_silent_while_it_makes_its_file_is_named(
    pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = fleet_of(hosts(pool, 1))
    [target] = fleet.resolve(["null:"], None)
    monkeypatch.setattr(asking, "CALL_S", 0.2)
    monkeypatch.setattr(HostAgent, "hold", lambda *_: time.sleep(1.0))
    monkeypatch.setattr(HostAgent, "clock_ns", lambda _: time.sleep(1.0))
    with (
        pytest.raises(FathomError, match=r"host h1: did not answer within 0 s"),
        fleet.claim(target, writes=False),
    ):
        pass


def test_no_host_left_ends_the_run_with_what_was_measured(pool: ThreadPoolExecutor, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    remotes = hosts(pool, 2)
    fleet = fleet_of(remotes)
    for remote in remotes:
        remote.die(after_s=4.5)
    with pytest.raises(FathomError, match="h1: ConnectionError: gone; h2: ConnectionError: gone"):
        run_shared(fleet, shared, tmp_path / "runs", METHOD)


def test_a_run_of_a_fleet_resumes_with_a_fleet(pool: ThreadPoolExecutor, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    run = run_shared(fleet_of(hosts(pool, 2)), shared, tmp_path / "runs")
    changed(run.path, status="interrupted")
    fleet = fleet_of(hosts(pool, 2))
    resumed = resume_run(run.path, Options(initiator=fleet))
    assert resumed.points.equals(run.points)


def test_a_run_of_a_fleet_does_not_resume_without_its_hosts(pool: ThreadPoolExecutor, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    run = run_shared(fleet_of(hosts(pool, 2)), shared, tmp_path / "runs")
    changed(run.path, status="interrupted")
    with pytest.raises(UsageError, match="was loaded by hosts: h1, h2"):
        resume_run(run.path, Options())


def test_a_resumed_fleet_takes_no_other_file_of_a_host_and_no_other_host(
    pool: ThreadPoolExecutor, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    run = run_shared(fleet_of(hosts(pool, 2)), shared, tmp_path / "runs")
    records = {one.name: one.identity.get("file_uuid") for one in run.document.targets}
    own = [records[f"{host}:dir:{shared}"] for host in ("h1", "h2")]
    assert None not in own
    assert own[0] != own[1]
    changed(run.path, status="interrupted")
    with pytest.raises(UsageError, match="host h3 had no part in this run"):
        resume_run(run.path, Options(initiator=fleet_of(hosts(pool, 3))))
    scratch = shared / "fathom-h2" / "fathom-scratch.bin"
    scratch.unlink()
    with pytest.raises(FathomError, match=r"host h2: .*the file that this run began with is gone"):
        resume_run(run.path, Options(initiator=fleet_of(hosts(pool, 2))))
    parse_and_make = fleet_of(hosts(pool, 2))
    [target] = parse_and_make.resolve([f"dir:{shared}"], 16 << 20)
    with parse_and_make.claim(target, writes=True):
        assert scratch.exists()
    with pytest.raises(FathomError, match=r"host h2: "):
        resume_run(run.path, Options(initiator=fleet_of(hosts(pool, 2))))


def test_hosts_that_share_one_file_are_sent_to_its_directory(
    pool: ThreadPoolExecutor, tmp_path: Path
) -> None:
    fleet = fleet_of(hosts(pool, 2))
    [target] = fleet.resolve([f"file:{tmp_path / 'one'}"], 16 << 20)
    refused = pytest.raises(
        RefusedError, match=rf"host h[12]: .*another Fathom run.*dir:{tmp_path} gives them"
    )
    with refused, fleet.claim(target, writes=True):
        pass


def test_a_file_that_is_not_fathoms_is_refused_with_the_host_named(
    pool: ThreadPoolExecutor, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    (shared / "fathom-h1").mkdir(parents=True)
    (shared / "fathom-h1" / "fathom-scratch.bin").write_bytes(bytes(16 << 20))
    with pytest.raises(RefusedError, match=r"host h1: .*was not made by Fathom"):
        run_shared(fleet_of(hosts(pool, 2)), shared, tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_a_folder_of_a_host_that_leads_elsewhere_is_refused(tmp_path: Path) -> None:
    victim, shared = tmp_path / "victim", tmp_path / "shared"
    victim.mkdir()
    shared.mkdir()
    (shared / "fathom-h1").symlink_to(victim)
    for name in ("h1", "x/../../victim"):
        with pytest.raises(RefusedError, match="leads elsewhere"):
            HostAgent(name).resolve(f"dir:{shared}", 1 << 20)
    assert not [*victim.iterdir()]


def test_twins_are_refused_by_a_fleet(pool: ThreadPoolExecutor) -> None:
    with pytest.raises(UsageError, match="hosts load only real targets"):
        fleet_of(hosts(pool, 1)).resolve(["twin:samsung-pm9a3-7.68tb"], None)


def test_numbers_of_files_are_refused_by_a_fleet(pool: ThreadPoolExecutor) -> None:
    with pytest.raises(UsageError, match="hosts hold no numbers of files"):
        fleet_of(hosts(pool, 1)).resolve(["dir:/mnt*8"], None)


def test_an_offset_is_found_within_its_own_error() -> None:
    def ask() -> int:
        time.sleep(0.001)
        return time.time_ns() + 123_000_000

    offset = clocks.measure(ask, samples=4)
    assert abs(offset.offset_ns - 123_000_000) <= offset.error_ns
    assert offset.usable


def test_a_slow_round_trip_is_refused(pool: ThreadPoolExecutor) -> None:
    remote = InProcess("far", pool)
    remote.agent.clock_ns = lambda: time.sleep(0.012) or time.time_ns()  # pyright: ignore
    submit = remote.submit
    remote.submit = lambda method, *given: (  # pyright: ignore[reportAttributeAccessIssue]
        pool.submit(remote.agent.clock_ns) if method is HostAgent.clock_ns else submit(method, *given)
    )
    with pytest.raises(UsageError, match=r"host far: a round trip takes 1\d\.\d ms"):
        fleet_of([remote])


@pytest.mark.parametrize(
    ("text", "message"),
    [(b"# none\n", "no host in it"), (b"a\nb\na\n", "a: twice"), (b"\xff\xfe", "not UTF-8 text")],
)
def test_a_bad_file_of_hosts_is_refused_before_any_is_brought_up(
    tmp_path: Path, text: bytes, message: str
) -> None:
    path = tmp_path / "hosts"
    path.write_bytes(text)
    with pytest.raises(UsageError, match=message):
        hosts_of_file(path)


@pytest.mark.parametrize(
    ("host", "shell", "message"),
    [("a", "ssh '-v", "--shell ssh '-v: No closing quotation"), ("é" * 70, "ssh", "host é+: .*; give names")],
)
def test_a_shell_or_a_host_that_cannot_be_meant_is_one_line(
    tmp_path: Path, host: str, shell: str, message: str
) -> None:
    path = tmp_path / "hosts"
    path.write_text(host)
    with pytest.raises(UsageError, match=message):
        hosts_of_file(path, shell)


def test_a_ray_cluster_that_does_not_answer_is_told_at_once():
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unheard.getsockname()[1]}"
        refused = pytest.raises(
            FathomError, match=f"{address}: no Ray cluster there: Connection refused; give"
        )
        with refused, ray_connected(address):
            pass


@pytest.mark.parametrize(("sent", "given"), [(5, 5), ("soon", FathomError), (-1, FathomError)])
def test_what_a_node_of_ray_sends_is_checked_too(sent: object, given: object) -> None:
    class Actor:
        class clock_ns:
            @staticmethod
            def remote() -> Any:
                answer: Future[object] = Future()
                answer.set_result(sent)
                return SimpleNamespace(future=lambda: answer)

    host = RayHost.__new__(RayHost)
    host._actor = cast(Any, Actor)
    answer = host.submit(HostAgent.clock_ns)
    if given is FathomError:
        with pytest.raises(FathomError, match=r"wrong type|does not return"):
            answer.result(1)
    else:
        assert answer.result(1) == given


def test_a_shared_directory_that_a_host_does_not_have_is_told_with_the_host():
    with pytest.raises(UsageError, match=r"/nowhere is not a directory on host2; create it, or mount it"):
        HostAgent("host2").resolve("dir:/nowhere", None)


def test_the_report_shows_the_capacity_that_all_hosts_load_together(
    pool: ThreadPoolExecutor, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    remotes = hosts(pool, 2)
    run = run_shared(fleet_of(remotes), shared, tmp_path / "runs")
    for remote in remotes:
        remote.agent.close()
    section = provenance.build(compare([read(run.path)]))
    assert section is not None
    [table] = [block for block in section.blocks if isinstance(block, Table) and block.corner == "Target"]
    shown = {
        row.label.text: [cell.text for cell in row.cells] for group in table.groups for row in group.rows
    }
    assert shown["capacity"] == ["33.6 MB, all hosts together"]
