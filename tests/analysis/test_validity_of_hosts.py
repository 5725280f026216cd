"""Validity notes on what is loaded together: hosts of a fleet, drives of an array, and the machine that loads them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
import pytest
from judged_runs import (
    DEVICE,
    JOB,
    RATES,
    Measured,
    Row,
    device,
    only,
    run_view,
    sample,
    sound,
    twin,
    whole_job,
)

from fathom.analysis.interval_sums import OpCounts
from fathom.analysis.run_view import IO_LIMIT, Remark, RunView, absent_hosts
from fathom.analysis.settled import unsettled
from fathom.analysis.validity import notes
from fathom.analysis.validity.of_hosts import stragglers
from fathom.runs.remarks import CpuWait

HOSTS = ("h1", "h2", "h3")


def fleet(rates: dict[str, float], telemetry: Sequence[Row] = (), **identity: object) -> RunView:
    """A directory loaded by hosts."""
    total = device("dir:/s", "S", **identity).model_copy(update={"kind": "dir"})
    parts = [total.model_copy(update={"name": f"{host}:dir:/s", "part_of": "dir:/s"}) for host in rates]
    whole = Measured("dir:/s", [sum(rates.values())] * 60)
    own = [Measured(f"{host}:dir:/s", [rate] * 60) for host, rate in rates.items() if rate]
    return run_view([whole, *own], [total, *parts], telemetry=telemetry)


def test_hosts_that_keep_up_are_not_stragglers() -> None:
    assert notes(fleet({"h1": 10_000.0, "h2": 9_000.0, "h3": 8_500.0})) == []


def test_the_limit_of_a_control_group_is_judged_by_the_rate_of_each_host_and_not_of_all() -> None:
    found = notes(fleet({"h1": 9_900.0, "h2": 9_100.0}, read_iops_max=10_000))
    assert [note.target for note in found if note.rule == IO_LIMIT] == ["h1:dir:/s", "h2:dir:/s"]
    found = notes(fleet({"h1": 5_000.0, "h2": 4_800.0}, read_iops_max=10_000))
    assert IO_LIMIT not in {note.rule for note in found}


def test_an_array_on_a_host_is_judged_by_the_limits_of_its_drives_together() -> None:
    for limit, near in ((10_000, True), (20_000, False)):
        total = device("array:/dev/sda,/dev/sdb", "S", read_iops_max=limit).model_copy(
            update={"kind": "array"}
        )
        host = total.model_copy(update={"name": f"h1:{total.name}", "part_of": total.name})
        drives = [
            device(f"h1:{name}", dev=name, read_iops_max=limit // 2).model_copy(update={"part_of": host.name})
            for name in ("/dev/sda", "/dev/sdb")
        ]
        measured = [Measured(one.name, [9_900.0] * 60) for one in (total, host)]
        found = [note for note in notes(run_view(measured, [total, host, *drives])) if note.rule == IO_LIMIT]
        assert [note.target for note in found] == [host.name] * near
        assert all("IOPS of reads on all drives together" in note.text for note in found)


@pytest.mark.parametrize("own", [4_900.0, 9_100.0, 2_000.0])
def test_an_array_of_files_that_share_a_limited_device_gets_one_note_where_no_file_comes_near(own: float):
    total = device("array:file:/mnt/a,file:/mnt/b", "S", read_iops_max=10_000).model_copy(
        update={"kind": "array"}
    )
    files = [
        device(f"file:/mnt/{name}", dev="8:0", read_iops_max=10_000).model_copy(
            update={"kind": "file", "part_of": total.name}
        )
        for name in "ab"
    ]
    measured = [
        Measured(total.name, [2 * own] * 60),
        *(Measured(one.name, [own] * 60) for one in files),
    ]
    found = [note.target for note in notes(run_view(measured, [total, *files])) if note.rule == IO_LIMIT]
    named = {4_900.0: [total.name], 9_100.0: [one.name for one in files], 2_000.0: []}
    assert found == named[own]


def test_a_straggler_is_named_with_its_share_and_jains_index() -> None:
    note = only(fleet({"h1": 10_000.0, "h2": 12_000.0, "h3": 4_400.0}))
    assert (note.rule, note.target) == ("straggler", "h3:dir:/s")
    assert note.text == (
        "host h3 did 4,400 IOPS, 40 % of the median of the 2 others (11,000); Jain's index over all is 0.882"
    )


def test_a_host_that_ended_no_io_is_a_straggler_of_zero() -> None:
    under_way = sample("outstanding", 1.0, "h3:dir:/s", unit="I/O")
    note = only(fleet({"h1": 10_000.0, "h2": 12_000.0, "h3": 0.0}, [under_way]))
    assert note.text.startswith("host h3 did 0 IOPS, 0 % of the median of the 2 others (11,000)")


def test_a_step_that_a_lost_host_did_not_load_names_the_host_and_asks_the_others_for_their_own_depth() -> (
    None
):
    view = fleet({"h1": 10_000.0, "h2": 12_000.0, "h3": 0.0})
    [whole, *own] = view.points.to_pylist()
    doubled = {name: 2 * whole[name] for name in ("outstanding", "mean_us")}
    of_all = whole | doubled | {"threads": 3 * whole["threads"]}
    points = pa.Table.from_pylist([of_all, *own], schema=view.points.schema)
    assert "achieved-depth" in {note.rule for note in notes(replace(view, points=points))}
    note = only(replace(view, points=points, absent=absent_hosts(view.document, view.intervals)))
    assert (note.rule, note.level, note.target) == ("absent-host", "error", "dir:/s")
    assert note.text == "host h3 did not load it: the figures are those of 2 of 3 hosts"
    assert "fathom resume" in note.next_step


def test_waits_of_hosts_for_cores_do_not_send_a_reader_to_this_machine() -> None:
    waits = [Remark("dir:/s", "4k-rand-read", CpuWait(share=0.4))]
    note = only(replace(fleet(dict.fromkeys(HOSTS, 9e3)), remarks=waits))
    assert note.next_step == "stop other programs on the hosts, and give each host a machine of its own"


def test_a_host_without_processor_time_left_is_named_as_the_limit() -> None:
    quota = sample("cpu_quota_used_up", 62.0, "h2:dir:/s", unit="%")
    busy = sample("cpu_busy", 97.0, "h3:dir:/s", unit="%")
    found = {note.target: note for note in notes(fleet(dict.fromkeys(HOSTS, 9e3), [quota, busy]))}
    assert set(found) == {"h2:dir:/s", "h3:dir:/s"}
    assert (
        "the client, not the target, is the limit: host h2 had used up its control group"
        in found["h2:dir:/s"].text
    )
    assert "in 62 % of the periods" in found["h2:dir:/s"].text
    assert "host h3 had its processors 97 % busy" in found["h3:dir:/s"].text


@pytest.mark.parametrize(
    ("identity", "noted"),
    [
        ({"file_system": "nfs4"}, True),
        ({"file_system": "wekafs"}, True),
        ({"transport": "nvme-tcp"}, True),
        ({"device": "/dev/nbd0"}, True),
        ({"file_system": "ext4", "transport": "pcie"}, False),
    ],
)
def test_a_full_network_interface_limits_what_goes_over_the_network(
    identity: dict[str, str], noted: bool
) -> None:
    full = sample("nic_busy: eth0", 93.0, "h1:dir:/s", unit="%")
    found = notes(fleet(dict.fromkeys(HOSTS, 9e3), [full], **identity))
    assert [note.rule for note in found] == (["client-limits"] if noted else [])
    assert all("host h1 had its network interface eth0 at 93 % of its speed" in note.text for note in found)


def test_of_one_machine_the_whole_is_judged_by_its_own_telemetry() -> None:
    note = only(sound(telemetry=[sample("cpu_busy", 99.0, None, unit="%")]))
    assert "this machine had its processors 99 % busy" in note.text


def at_once(
    rates: dict[str, float],
    telemetry: Sequence[Row] = (),
    devs: Sequence[str] = ("8:0", "8:16"),
    job: Mapping[str, object] = JOB,
) -> RunView:
    """Two real drives loaded together as an array."""
    total = device("array:" + ",".join(rates), "2 x Drive").model_copy(update={"kind": "array"})
    parts = [
        device(name, dev=dev).model_copy(update={"part_of": total.name})
        for name, dev in zip(rates, devs, strict=True)
    ]
    whole = Measured(total.name, [sum(rates.values())] * 60)
    own = [Measured(name, [rate] * 60) for name, rate in rates.items()]
    return run_view([whole, *own], [total, *parts], telemetry=telemetry, job=job)


def test_drives_loaded_together_are_judged_one_by_one() -> None:
    assert notes(at_once({"/dev/sda": 9e3, "/dev/sdb": 9e3})) == []
    note = only(at_once({"/dev/sda": 18e3, "/dev/sdb": 9e3}))
    assert note.text == "/dev/sdb did 9,000 IOPS, 50 % of the other (18,000); Jain's index over all is 0.900"


def test_a_drive_without_figures_because_its_io_failed_is_no_straggler_of_zero() -> None:
    loaded = [sample("outstanding", 32.0, name) for name in ("/dev/sda", "/dev/sdb")]
    view = at_once({"/dev/sda": 9e3, "/dev/sdb": 9e3}, loaded)
    failing = [
        row | {"errors": row["n"] // 10} if row["target"] == "/dev/sdb" else row
        for row in view.points.to_pylist()
    ]
    points = pa.Table.from_pylist(failing, schema=view.points.schema)
    assert notes(replace(view, points=points)) == []


def test_the_processors_of_a_twins_bench_are_no_load_generator() -> None:
    drives = [twin("a*2", "2 x A"), twin("a*2#1", "A 1"), twin("a*2#2", "A 2")]
    for part in drives[1:]:
        part.part_of = drives[0].name
    busy = [sample("cpu_user_ns", 480e9, part.name) for part in drives[1:]]
    measured = [Measured(drive.name, RATES) for drive in drives]
    assert notes(run_view(measured, drives, telemetry=busy)) == []


def test_drives_with_streams_of_their_own_are_no_stragglers() -> None:
    named = [{"name": name, "job": whole_job({}), "targets": [at]} for at, name in enumerate("ab", 1)]
    apart = {"streams": named, "load": {"kind": "closed", "threads": 16, "iodepth": 32}}
    assert notes(at_once({"/dev/sda": 18e3, "/dev/sdb": 9e3}, job=apart)) == []


def test_drives_that_are_meant_to_have_unequal_shares_are_no_stragglers() -> None:
    meant = JOB | {"pace": {"split": {"shares": [80.0, 20.0]}}}
    assert notes(at_once({"/dev/sda": 16e3, "/dev/sdb": 4e3}, job=meant)) == []
    even = JOB | {"pace": {"split": "even"}}
    assert only(at_once({"/dev/sda": 16e3, "/dev/sdb": 4e3}, job=even)).rule == "straggler"


def test_a_client_that_limits_an_array_is_named_once() -> None:
    busy = sample("cpu_busy", 97.0, None, unit="%")
    note = only(at_once({"/dev/sda": 9e3, "/dev/sdb": 9e3}, [busy]))
    assert (note.rule, note.target) == ("client-limits", "array:/dev/sda,/dev/sdb")
    assert "this machine had its processors 97 % busy" in note.text


def test_a_client_that_limits_many_steps_is_one_note_on_the_busiest() -> None:
    steps = {"a": 90.0, "b": 98.0, "c": 91.0}
    busy = [sample("cpu_busy", busy_pct, None, step, unit="%") for step, busy_pct in steps.items()]
    note = only(run_view([Measured(DEVICE, RATES, step=step) for step in steps], telemetry=busy))
    assert (note.rule, note.step) == ("client-limits", "b")
    assert note.text.endswith("had its processors 98 % busy; the same in 2 other steps")


def worked(share: float, step: str = "4k-rand-read") -> Row:
    return sample("utilisation: load generator CPU", share, step=step, unit="1")


def test_processor_time_spent_in_waiting_for_the_next_arrival_is_not_the_drives_limit() -> None:
    measured = [Measured(DEVICE, RATES)]
    spun = [sample("cpu_user_ns", 470e9)]
    assert only(run_view(measured, telemetry=[*spun, worked(0.9)])).rule == "generator-cpu"
    assert notes(run_view(measured, telemetry=[*spun, worked(0.1)])) == []


def test_threads_that_poll_a_device_tell_nothing_of_what_they_have_left() -> None:
    assert notes(run_view([Measured(DEVICE, RATES)], telemetry=[sample("cpu_sys_ns", 480e9)])) == []


def test_busy_processors_do_not_limit_a_load_that_kept_its_rate() -> None:
    busy = [sample("cpu_busy", 99.0, None, unit="%")]
    kept, fell_behind = ({"offered_iops": iops, "backlog": 0} for iops in (1.001e6, 1.02e6))
    assert notes(run_view([Measured(DEVICE, RATES, point=kept)], telemetry=busy)) == []
    rules = {
        note.rule for note in notes(run_view([Measured(DEVICE, RATES, point=fell_behind)], telemetry=busy))
    }
    assert "client-limits" in rules


def test_a_busy_load_generator_in_many_steps_is_one_note_on_the_worst() -> None:
    steps = {"a": 420e9, "b": 470e9}
    used = [
        row
        for step, ns in steps.items()
        for row in (sample("cpu_user_ns", ns, step=step), worked(0.95, step))
    ]
    note = only(run_view([Measured(DEVICE, RATES, step=step) for step in steps], telemetry=used))
    assert (note.rule, note.step) == ("generator-cpu", "b")
    assert note.text.endswith("may set the figure; the same in another step")


@pytest.mark.parametrize(("devs", "foreign"), [(("8:0", "8:0"), False), (("8:0", "8:16"), True)])
def test_what_one_member_moves_on_a_shared_device_is_not_foreign_to_the_other(
    devs: Sequence[str], foreign: bool
) -> None:
    both = 2 * 9e3 * 60 * 4096
    telemetry = [
        sample(name, value, drive)
        for drive in ("/dev/sda", "/dev/sdb")
        for name, value in (("device_read", both), ("device_written", 0.0))
    ]
    rules = [note.rule for note in notes(at_once({"/dev/sda": 9e3, "/dev/sdb": 9e3}, telemetry, devs))]
    assert rules == (["foreign-io"] * 2 if foreign else [])


class Walked(dict[tuple[str, str, str], OpCounts]):
    """Counts that know how often they were gone through."""

    walks = 0

    def items(self):
        self.walks += 1
        return super().items()

    def __iter__(self):
        self.walks += 1
        return super().__iter__()


@pytest.mark.parametrize("judge", [stragglers, unsettled])
def test_the_time_to_judge_a_fleet_grows_with_its_hosts_and_not_with_their_square(
    judge: Callable[[RunView], Iterable[object]],
) -> None:
    walks: list[int] = []
    for hosts in (5, 50):
        rates = {f"h{number}": 1000.0 for number in range(hosts)}
        at_work = [sample("outstanding", 1.0, f"{host}:dir:/s", unit="I/O") for host in rates]
        view = fleet(rates, at_work)
        counts = Walked(view.intervals.counts)
        assert not [*judge(replace(view, intervals=replace(view.intervals, counts=counts)))]
        walks.append(counts.walks)
    assert walks[0] == walks[1]
