"""The gate before a sentence claims a figure."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from judged_runs import DEVICE, Measured, device, run_view, twin

from fathom._core import Job
from fathom.analysis.findings import findings
from fathom.analysis.run_view import IO_LIMIT, OFF_DEVICE, PAGE_CACHE, Origin, Remark, RunView
from fathom.analysis.settled import Unsettled, no_target, unsettled
from fathom.runs.remarks import CpuWait

WRITES = {
    "mix": {"ops": [{"op": "write"}]},
    "pattern": {"kind": "uniform"},
    "region": {"size": {"fraction": 1.0}},
    "content": {"compressible": 0.0},
}


FILL = WRITES | {"pattern": {"kind": "sequential"}}
READS = WRITES | {"mix": {"ops": [{"op": "read"}]}}


def writes(
    capacity_x: float, step: str = "4k-rand-write", job: Mapping[str, object] = WRITES, target: str = DEVICE
) -> Measured:
    """A minute of writes, at random by default, of so many times the drive's 10^12 bytes."""
    kind = "measure" if step == "4k-rand-write" else "fill"
    return Measured(target, [capacity_x * 1e12 / 4096 / 60] * 60, step=step, op="write", job=job, kind=kind)


def reads(job: Mapping[str, object] = READS) -> Measured:
    return Measured(DEVICE, [1e5] * 3, job=job)


def why_not(view: RunView, step: str) -> set[Unsettled]:
    return {why for (_, own), why in unsettled(view).items() if own == step}


def test_a_drive_that_the_run_never_filled_has_no_figure_claimed() -> None:
    view = run_view([writes(0.2)], [device()], job=WRITES)
    assert unsettled(view) == {(DEVICE, "4k-rand-write"): Unsettled.NOT_FILLED}
    said = [one.text for one in findings(view) if one.step == "4k-rand-write"]
    assert said[0] == (
        "No figure is claimed in 4k rand write: Drive had not settled (the run had left part of its region unwritten)."
    )


@pytest.mark.parametrize(
    ("before", "why"),
    [
        ([(1.0, FILL)], set[Unsettled]()),
        ([(1.0, WRITES)], {Unsettled.NOT_FILLED}),
        ([(3.0, WRITES)], {Unsettled.NOT_FILLED}),
        ([(5.0, WRITES)], set[Unsettled]()),
        ([(0.6, FILL), (0.6, FILL)], {Unsettled.NOT_FILLED}),
        ([(0.6, FILL), (4.0, WRITES)], set[Unsettled]()),
    ],
    ids=[
        "a fill",
        "one capacity at random leaves 37 %",
        "three leave 5 %",
        "five leave 0.7 %",
        "two fills that end early begin at the same place",
        "random writes cover what a fill left",
    ],
)
def test_reads_are_claimed_where_the_run_wrote_every_block(
    before: list[tuple[float, Mapping[str, object]]], why: set[Unsettled]
) -> None:
    steps = [writes(x, f"before-{place}", job) for place, (x, job) in enumerate(before)]
    assert why_not(run_view([*steps, reads()], [device()]), "4k-rand-read") == why


def test_reads_of_a_part_are_claimed_where_that_part_was_filled() -> None:
    half = {"region": {"size": {"fraction": 0.5}}}
    view = run_view([writes(0.5, "fill", FILL | half), reads(READS | half)], [device()])
    assert unsettled(view) == {}
    often = run_view([writes(2.0, "fill", FILL | half), reads()], [device()])
    assert why_not(often, "4k-rand-read") == {Unsettled.NOT_FILLED}


def test_reads_behind_a_purge_of_another_method_are_judged_by_their_own_run() -> None:
    view = run_view([writes(1.0, "fill", FILL), writes(1.0, "purge", FILL), reads()], [device()])
    steps = dict(view.named)
    steps["purge"]["kind"] = "purge"
    assert why_not(view, "4k-rand-read") == {Unsettled.NOT_FILLED}
    del steps["purge"]
    own = replace(view, origins={DEVICE: Origin(steps, {name: view.jobs[name] for name in steps})})
    assert unsettled(own) == {}


def test_of_repeats_the_one_that_wrote_least_decides() -> None:
    whole = run_view([writes(1.0, "fill", FILL), reads()], [device()])
    part = run_view([writes(0.5, "fill", FILL), reads()], [device()])
    assert unsettled(whole) == {}
    assert why_not(replace(whole, further=[part.intervals]), "4k-rand-read") == {Unsettled.NOT_FILLED}


def test_streams_on_a_drive_that_was_never_filled_are_not_claimed() -> None:
    stream = '{ name = "%s", mix = "%s", block = "4KiB", pattern = "uniform", load = { iodepth = 1 } }'
    both = ", ".join(stream % pair for pair in (("reads", "read"), ("writes", "write")))
    view = run_view([writes(0.5, "fill", FILL), reads()], [device()])
    view.jobs["4k-rand-read"] = Job(f'until = {{ time = "1min" }}\nstreams = [{both}]', "streams.toml")
    assert why_not(view, "4k-rand-read") == {Unsettled.NOT_FILLED}


@pytest.mark.parametrize("rotational", [True, None])
def test_a_disk_or_what_is_not_known_as_an_ssd_is_not_judged_by_what_was_written(
    rotational: bool | None,
) -> None:
    view = run_view([writes(0.2)], [device(rotational=rotational)], job=WRITES)
    assert unsettled(view) == {}


@pytest.mark.parametrize("hosts", [0, 2])
@pytest.mark.parametrize(("written_x", "why"), [(0.2, {Unsettled.NOT_FILLED}), (2.0, set[Unsettled]())])
def test_drives_loaded_at_once_are_judged_by_what_was_written_to_all_of_them(
    hosts: int, written_x: float, why: set[Unsettled]
) -> None:
    array = device(name="array:/dev/a,/dev/b").model_copy(
        update={"kind": "array", "capacity_bytes": 10**12, "identity": {}}
    )
    by_hosts = [
        array.model_copy(update={"name": f"h{host}:{array.name}", "part_of": array.name})
        for host in range(hosts)
    ]
    drives = [
        device(name=f"{total.name}/{drive}", wwid=f"eui.{drive}", size_bytes=5 * 10**11).model_copy(
            update={"part_of": total.name}
        )
        for total in by_hosts or [array]
        for drive in "ab"
    ]
    filling = writes(written_x, "fill", FILL, array.name)
    settling = writes(written_x, "settling", WRITES, array.name)
    after = Measured(array.name, [1e5] * 3, step="4k-rand-write", op="write")
    view = run_view([filling, settling, after], [array, *by_hosts, *drives], job=WRITES)
    assert {why for (_, step), why in unsettled(view).items() if step == after.step} == why


@pytest.mark.parametrize(
    ("wwids", "size_bytes", "why"),
    [
        (["eui.1", "eui.1"], 10**12, set[Unsettled]()),
        (["eui.1", "eui.2"], 10**12, {Unsettled.NOT_FILLED}),
        (["eui.1", "eui.2"], 2 * 10**11, set[Unsettled]()),
        (["t10.QEMU", "t10.QEMU"], 10**12, {Unsettled.NOT_FILLED}),
        ([None, None], 10**12, {Unsettled.NOT_FILLED}),
    ],
    ids=["one drive", "a drive each", "a small one beside it", "an id that drives share", "no id"],
)
def test_hosts_with_drives_of_their_own_under_one_name_write_each(
    wwids: list[str | None], size_bytes: int, why: set[Unsettled]
) -> None:
    drive = device(wwid=wwids[0], size_bytes=10**12)
    other = device(wwid=wwids[1], size_bytes=size_bytes)
    by_hosts = [
        one.model_copy(update={"name": f"h{number}:{drive.name}", "part_of": drive.name})
        for number, one in enumerate((drive, other))
    ]
    total = drive.model_copy(update={"capacity_bytes": min(10**12, size_bytes)})
    filling = writes(1.2, "fill", FILL, total.name)
    settling = writes(1.2, "settling", WRITES, total.name)
    after = Measured(total.name, [1e5] * 3, step="4k-rand-write", op="write")
    view = run_view([filling, settling, after], [total, *by_hosts], job=WRITES)
    assert {why for (_, step), why in unsettled(view).items() if step == after.step} == why


def test_a_step_that_never_became_steady_is_not_claimed() -> None:
    view = run_view([Measured(DEVICE, [1e5] * 60, point={"steady": False})], [device()])
    assert list(unsettled(view).values()) == [Unsettled.NOT_STEADY]


def test_a_target_whose_load_threads_waited_for_cores_is_not_ranked() -> None:
    busy = "Drive B"
    view = run_view(
        [Measured(name, [rate] * 60) for name, rate in ((DEVICE, 1e5), (busy, 2e5))],
        [device(), device(name=busy, label=busy)],
        remarks=[Remark(busy, "4k-rand-read", CpuWait(share=0.3))],
    )
    assert unsettled(view) == {(busy, "4k-rand-read"): Unsettled.MACHINE_BUSY}
    [said] = [one.text for one in findings(view) if one.step == "4k-rand-read"]
    assert said.endswith(f"Left out: {busy}, machine busy ({Unsettled.MACHINE_BUSY.value}).")


@pytest.mark.parametrize(
    ("low", "claimed"), [((0.0, 0.0), False), ((0.0, 400.0), True), ((10.0, 400.0), True)]
)
def test_a_rate_whose_interval_begins_at_zero_is_not_claimed(low: tuple[float, float], claimed: bool) -> None:
    read, write = (
        Measured(DEVICE, [1e3] * 60, op=op, point={"iops_low": bound, "iops_high": 3e3})
        for op, bound in zip(("read", "write"), low, strict=True)
    )
    view = run_view([read, write], [device(rotational=True)])
    assert list(unsettled(view).values()) == ([] if claimed else [Unsettled.UNCERTAIN])


PM9A3 = "samsung-pm9a3-7.68tb"


@pytest.mark.parametrize(
    ("begins", "why"),
    [
        ("", {Unsettled.NOT_FILLED}),
        ("?settled_share=0.5", {Unsettled.NOT_FILLED}),
        ("?settled_share=1", set[Unsettled]()),
    ],
)
def test_a_twin_that_begins_settled_needs_no_writes_of_the_run(begins: str, why: set[Unsettled]) -> None:
    name = f"{PM9A3}{begins}"
    writes = Measured(f"twin:{name}", [1e5] * 3, step="4k-rand-write", op="write")
    view = run_view([writes], [twin(name, "PM9A3")], job=WRITES)
    assert set(unsettled(view).values()) == why


@pytest.mark.parametrize(
    ("begins", "why"), [("", {Unsettled.NOT_FILLED}), ("?settled_share=1", set[Unsettled]())]
)
@pytest.mark.parametrize("file_system", [None, "btrfs"])
def test_twins_loaded_at_once_are_judged_as_their_drives(
    begins: str, why: set[Unsettled], file_system: str | None
) -> None:
    total = twin(f"{PM9A3}*2", "2 x PM9A3").model_copy(
        update={"catalog": None, "identity": {"file_system": file_system}}
    )
    drives = [
        twin(f"{PM9A3}{begins}", "PM9A3").model_copy(
            update={"name": f"{total.name}#{number}", "part_of": total.name}
        )
        for number in (1, 2)
    ]
    writes = Measured(total.name, [1e5] * 3, step="4k-rand-write", op="write")
    view = run_view([writes], [total, *drives], job=WRITES)
    assert set(unsettled(view).values()) == (set() if file_system else why)


TENTH = {"region": {"size": {"fraction": 0.1}}}


@pytest.mark.parametrize(
    ("purges", "more_x", "why"),
    [
        (True, 0.0, {Unsettled.NOT_TURNED_OVER}),
        (True, 0.6, {Unsettled.NOT_TURNED_OVER}),
        (True, 0.8, set[Unsettled]()),
        (False, 0.0, set[Unsettled]()),
    ],
    ids=["a tenth, twice", "less than the capacity", "the capacity", "what the drive held is not known"],
)
def test_random_writes_of_a_part_are_claimed_once_a_purged_drive_was_written_as_much_as_it_holds(
    purges: bool, more_x: float, why: set[Unsettled]
) -> None:
    view = run_view(
        [
            *([writes(0.0001, "purge", FILL)] if purges else []),
            writes(0.1, "fill", FILL | TENTH),
            writes(0.1 + more_x, "overwrite", WRITES | TENTH),
            writes(0.1, job=WRITES | TENTH),
        ],
        [device()],
    )
    if purges:
        view.named["purge"]["kind"] = "purge"
    assert why_not(view, "4k-rand-write") == why


def test_reads_of_a_part_need_no_more_writes_than_those_of_the_part() -> None:
    view = run_view(
        [writes(0.0001, "purge", FILL), writes(0.1, "fill", FILL | TENTH), reads(READS | TENTH)], [device()]
    )
    view.named["purge"]["kind"] = "purge"
    assert unsettled(view) == {}


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (PAGE_CACHE, "Drive used the page cache (not all bytes reached the device)."),
        (IO_LIMIT, "Drive came near an I/O limit (a control group may have set the rate)."),
        (OFF_DEVICE, "Drive did not see all I/O (its file system answered or compressed some of it)."),
    ],
)
def test_bytes_that_did_not_reach_the_device_are_no_figure_of_it(rule: str, said: str) -> None:
    view = run_view([writes(1.0, "fill", FILL), reads()], [device()])
    assert unsettled(view) == {}
    off = replace(view, not_its_own={(DEVICE, "4k-rand-read"): rule})
    [text] = [one.text for one in findings(off) if one.kind == "unsettled"]
    assert text == f"No figure is claimed in 4k rand read: {said}"


def test_a_target_that_the_page_cache_served_is_not_ranked_before_one_that_it_did_not() -> None:
    targets = [device("/dev/a", "A"), device("/dev/b", "B")]
    both = [Measured(name, [rate] * 60, job=READS) for name, rate in (("/dev/a", 9e5), ("/dev/b", 1e5))]
    fills = [writes(1.0, "fill", FILL, one.name) for one in targets]
    view = replace(run_view([*fills, *both], targets), not_its_own={("/dev/a", "4k-rand-read"): PAGE_CACHE})
    [text] = [one.text for one in findings(view) if one.kind == "single"]
    assert text.startswith("B reaches ")
    assert text.endswith("Left out: A, page cache (not all bytes reached the device).")


def test_where_no_target_supports_a_claim_the_sentence_says_what_each_did() -> None:
    assert no_target([Unsettled.NOT_FILLED, Unsettled.NOT_STEADY]) == "no target had settled"
    assert no_target([Unsettled.PAGE_CACHE, Unsettled.NOT_FILLED]) == (
        "every target used the page cache or had not settled"
    )
