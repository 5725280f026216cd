"""Validity notes on devices and data: what reached them, what else used them, how much of them was touched."""

import pytest
from judged_runs import (
    DEVICE,
    JOB,
    RATES,
    Measured,
    device,
    only,
    run_view,
    sample,
    sound,
    twin,
    whole_job,
)

from fathom.analysis.validity import link_mbps, notes


def test_reads_of_blocks_never_written_are_noted_with_their_share():
    note = only(sound(telemetry=[sample("unmapped_reads", 6e6)]))
    assert note.rule == "unmapped-reads"
    assert note.text.startswith("10.0 % of the reads")
    assert note.next_step == "fill the region first"


def test_reads_of_blocks_never_written_in_many_steps_are_one_note_of_the_worst():
    measured = [Measured(DEVICE, RATES, step=step) for step in ("r100", "r70", "r50")]
    telemetry = [sample("unmapped_reads", count, step=step) for step, count in (("r100", 6e6), ("r70", 9e6))]
    found = notes(run_view(measured, telemetry=telemetry, quick=True))
    [note] = [note for note in found if note.rule == "unmapped-reads"]
    assert note.step == "r70"
    assert note.text.endswith("; less in another step")
    assert note.next_step.startswith("run without --quick")


@pytest.mark.parametrize(("unmapped", "noted"), [(0.24e6, False), (0.36e6, True)])
def test_half_a_percent_of_reads_of_blocks_never_written_moves_no_figure(unmapped: float, noted: bool):
    assert bool(notes(sound(telemetry=[sample("unmapped_reads", unmapped)]))) == noted


def test_a_link_below_its_maximum_is_noted_with_both():
    slow = device(link_width_lanes=2)
    note = only(run_view([Measured(DEVICE, [500_000.0] * 60)], [slow]))
    assert note.rule == "link-below-maximum"
    assert "16 GT/s x2, but the drive supports 16 GT/s x4" in note.text


def test_more_bytes_than_the_link_carries_are_an_error():
    assert link_mbps(device()) == pytest.approx(7877, abs=1)
    note = only(run_view([Measured(DEVICE, [40_000.0] * 60, block_bytes=262_144)]))
    assert (note.rule, note.level) == ("beyond-link", "error")


@pytest.mark.parametrize("op", ["trim", "write-zeroes"])
def test_what_is_trimmed_or_zeroed_does_not_pass_over_the_link(op: str):
    assert notes(run_view([Measured(DEVICE, [40_000.0] * 60, op=op, block_bytes=262_144)])) == []


def test_io_served_by_the_page_cache_is_an_error_with_its_share():
    own = 60e6 * 4096
    job = JOB | {"direct": False}
    note = only(sound(job=job, telemetry=[sample("device_read", 0.25 * own), sample("device_written", 0.0)]))
    assert (note.rule, note.level) == ("page-cache", "error")
    assert "only 25 % of the bytes reached the device: the page cache served the rest" in note.text


def test_direct_io_that_the_device_never_saw_is_not_put_down_to_the_page_cache():
    own = 60e6 * 4096
    job = JOB | {"direct": True}
    note = only(sound(job=job, telemetry=[sample("device_read", 0.0), sample("device_written", 0.0)]))
    assert (note.rule, note.level) == ("not-on-device", "error")
    assert "reads of blocks never written" in note.text
    assert notes(sound(job=job, telemetry=[sample("device_read", own), sample("device_written", 0.0)])) == []


def test_writes_that_the_device_never_saw_are_not_put_down_to_reads():
    wrote = JOB | {"direct": True, "mix": {"ops": [{"op": "write"}]}}
    measured = Measured(DEVICE, RATES, op="write")
    telemetry = [sample("device_read", 0.0), sample("device_written", 1.0)]
    note = next(
        one for one in notes(run_view([measured], job=wrote, telemetry=telemetry)) if one.level == "error"
    )
    assert note.rule == "not-on-device"
    assert note.text.endswith("the file system compresses, or writes elsewhere too")


def test_what_is_trimmed_or_zeroed_moves_no_bytes_that_a_device_could_miss():
    own = 60e6 * 4096
    trimmed = Measured(DEVICE, RATES, op="trim", point={"mean_us": 256.0, "outstanding": 512.0})
    read = Measured(DEVICE, RATES, point={"mean_us": 256.0, "outstanding": 512.0})
    telemetry = [sample("device_read", own), sample("device_written", 0.0)]
    assert notes(run_view([read, trimmed], job=JOB | {"direct": True}, telemetry=telemetry)) == []


def test_foreign_io_above_a_thousandth_is_noted():
    own = 60e6 * 4096
    note = only(sound(telemetry=[sample("device_read", own), sample("device_written", 0.01 * own)]))
    assert note.rule == "foreign-io"
    assert "1.0 % of the device's traffic" in note.text
    assert notes(sound(telemetry=[sample("device_read", 1.0005 * own), sample("device_written", 0.0)])) == []


def test_what_is_in_flight_when_a_window_ends_is_no_foreign_io():
    large = JOB | {"mix": {"ops": [{"op": "read", "sizes": [{"size_bytes": 262_144, "weight": 1.0}]}]}}
    blocks, in_flight = 5 * 4000, 8 * 32
    measured = Measured(DEVICE, [4000.0] * 5, block_bytes=262_144)

    def rules(device_blocks: float) -> list[str]:
        telemetry = [sample("device_read", device_blocks * 262_144), sample("device_written", 0.0)]
        return [note.rule for note in notes(run_view([measured], job=large, telemetry=telemetry))]

    assert "foreign-io" not in rules(blocks + in_flight)
    assert "foreign-io" in rules(blocks + in_flight + 0.01 * blocks)


def test_foreign_io_in_many_steps_is_one_note_that_names_the_worst():
    own = 60e6 * 4096
    steps = {"first": 1.01, "second": 1.25, "third": 1.02}
    telemetry = [
        sample(name, value, step=step)
        for step, factor in steps.items()
        for name, value in (("device_read", factor * own), ("device_written", 0.0))
    ]
    note = only(run_view([Measured(DEVICE, RATES, step) for step in steps], telemetry=telemetry))
    assert (note.rule, note.step) == ("foreign-io", "second")
    assert note.text.startswith("20.0 % of the device's traffic")
    assert note.text.endswith("was not this test's; less of it in 2 other steps")


@pytest.mark.parametrize(
    ("kind", "share", "level"),
    [("file", 0.008, "info"), ("file", 0.012, "warning"), ("device", 0.008, "warning")],
)
def test_on_a_file_a_hundredth_may_be_the_file_systems_own(kind: str, share: float, level: str):
    own = 60e6 * 4096
    telemetry = [sample("device_read", own), sample("device_written", share / (1 - share) * own)]
    target = device().model_copy(update={"kind": kind})
    assert only(sound(targets=[target], telemetry=telemetry)).level == level


def test_throttling_is_noted_for_drive_and_processors():
    note = only(
        sound(
            telemetry=[sample("cpu_throttled", 12.0, target=None), sample("cpu_throttled", 0.0, step="idle")]
        )
    )
    assert (note.rule, note.step) == ("throttled", "4k-rand-read")
    assert "processors" in note.text


def test_a_path_that_was_down_is_one_line_with_what_it_cost():
    def down(seconds: float, step: str = "4k-rand-read"):
        return [sample("nvme_paths", 2.0, step=step), sample("nvme_path_down", seconds, step=step)]

    assert notes(sound(telemetry=down(0.0))) == []
    note = only(sound(telemetry=down(3.0)))
    assert (note.rule, note.level, note.step) == ("path-down", "warning", "4k-rand-read")
    assert note.text.startswith("one of 2 paths to the drive was down for 3.0 of ")
    alone = [sample("nvme_paths", 1.0), sample("nvme_path_down", 1.0)]
    assert only(sound(telemetry=alone)).text.startswith("the only path to the drive was down")


def test_a_reset_of_the_controller_is_noted_with_how_often():
    assert notes(sound(telemetry=[sample("nvme_resets", 0.0)])) == []
    for resets, often in ((1.0, "once"), (3.0, "3 times")):
        note = only(sound(telemetry=[sample("nvme_resets", resets)]))
        assert (note.rule, note.level, note.step) == ("controller-reset", "warning", "4k-rand-read")
        assert note.text.startswith(f"the kernel reset the drive's controller {often} during this step")


@pytest.mark.parametrize(
    ("name", "rule", "text"),
    [
        ("md_degraded", "array-degraded", "the md array lacked a member for 3.0 of "),
        ("md_copying", "array-copying", "the md array copied or compared data of its own for 3.0 of "),
    ],
)
def test_an_array_that_was_not_whole_and_at_rest_is_noted(name: str, rule: str, text: str):
    assert notes(sound(telemetry=[sample(name, 0.0)])) == []
    note = only(sound(telemetry=[sample(name, 3.0)]))
    assert (note.rule, note.level) == (rule, "warning")
    assert note.text.startswith(text)


def test_compressible_writes_are_noted_and_reads_are_not():
    job = {
        "mix": {"ops": [{"op": "write"}]},
        "region": {"size": {"fraction": 1.0}},
        "content": {"compressible": 0.5},
    }
    assert only(sound(job=job)).text.startswith("50 % of the written data compresses away")
    assert notes(sound(job=job | {"mix": {"ops": [{"op": "read"}]}})) == []


def test_duplicates_among_the_writes_are_noted():
    job = {
        "mix": {"ops": [{"op": "write"}]},
        "region": {"size": {"fraction": 1.0}},
        "content": {"compressible": 0.0, "dedup": 0.25},
    }
    note = only(sound(job=job))
    assert (note.rule, note.level) == ("duplicate-data", "info")
    assert note.text.startswith("25 % of the written data are copies")


def test_data_of_streams_that_can_shrink_is_noted_with_its_stream():
    job = {"content": {"compressible": 0.0}, "load": {"kind": "closed", "threads": 16, "iodepth": 32}}
    made = {
        "log": {"mix": {"ops": [{"op": "write"}]}, "content": {"compressible": 0.5, "dedup": 0.25}},
        "lookups": {"mix": {"ops": [{"op": "read"}]}, "content": {"compressible": 0.9}},
    }
    streams = [{"name": name, "job": whole_job(own)} for name, own in made.items()]
    found = {note.rule: note.text for note in notes(sound(job=job | {"streams": streams}))}
    assert found["compressible-data"].startswith("50 % of the written data of stream log compresses away")
    assert found["duplicate-data"].startswith("25 % of the written data of stream log are copies")


FIFTY_GIB = {
    "mix": {"ops": [{"op": "read"}]},
    "region": {"size": {"bytes": 50 * 2**30}},
    "content": {"compressible": 0.0},
}


@pytest.mark.parametrize(("size_bytes", "noted"), [(480 * 2**30, False), (520 * 2**30, True)])
def test_a_tenth_of_a_device_is_enough_of_it(size_bytes: int, noted: bool):
    assert bool(notes(sound(job=FIFTY_GIB, targets=[device(size_bytes=size_bytes)]))) == noted


def test_a_short_stroked_disk_is_noted_with_the_part_that_was_touched():
    note = only(sound(job=FIFTY_GIB, targets=[device(rotational=True, size_bytes=20 * 10**12)]))
    assert (note.rule, note.level) == ("small-region", "warning")
    assert "50 GiB, 0.27 % of the device: seeks are shorter" in note.text


@pytest.mark.parametrize("transport", ["virtio", "loop"])
def test_a_small_part_of_what_only_calls_itself_rotational_says_nothing_of_seeks(transport: str):
    target = device(rotational=True, transport=transport, size_bytes=20 * 10**12)
    note = only(sound(job=FIFTY_GIB, targets=[target]))
    assert (note.rule, note.level) == ("small-region", "info")
    assert "seeks" not in note.text


def test_a_region_that_the_target_cuts_is_noted_with_both_sizes():
    job = {
        "mix": {"ops": [{"op": "read"}]},
        "region": {"size": {"up-to": 50 * 10**9}},
        "content": {"compressible": 0.0},
    }
    small = device(size_bytes=4 << 30).model_copy(update={"capacity_bytes": 4 << 30})
    note = only(run_view([Measured(DEVICE, RATES)], [small], job=job))
    assert note.rule == "cut-region"
    assert "region of 46.6 GiB, the target has 4 GiB" in note.text
    whole = device(size_bytes=60 * 10**9).model_copy(update={"capacity_bytes": 60 * 10**9})
    assert notes(run_view([Measured(DEVICE, RATES)], [whole], job=job)) == []


def test_a_region_is_cut_by_each_drive_of_an_array_not_by_their_sum():
    job = JOB | {"region": {"size": {"up-to": 50 * 10**9}}}
    whole = device("array", size_bytes=80 * 10**9).model_copy(
        update={"kind": "array", "capacity_bytes": 80 * 10**9}
    )
    drives = [
        device(name, size_bytes=40 * 10**9).model_copy(
            update={"capacity_bytes": 40 * 10**9, "part_of": whole.name}
        )
        for name in ("/dev/sda", "/dev/sdb")
    ]
    found = notes(run_view([Measured(whole.name, RATES)], [whole, *drives], job=job))
    cut = [note for note in found if note.rule == "cut-region"]
    assert [note.target for note in cut] == ["array"]
    assert "the target has 37.3 GiB" in cut[0].text


@pytest.mark.parametrize(("scale", "noted"), [(1 / 16, True), (1 / 4, False), (1.0, False)])
def test_a_file_that_crowds_the_slice_of_a_twin_is_noted_with_its_share_of_the_drive(scale, noted):
    job = JOB | {"mix": {"ops": [{"op": "write"}]}, "region": {"size": {"up-to": 50 * 10**9}}}
    one = twin("x/btrfs", "X, btrfs", scale).model_copy(
        update={"catalog": None, "identity": {"file_system": "btrfs"}}
    )
    found = notes(run_view([Measured(one.name, RATES, op="write")], [one], job=job))
    crowded = [note.text for note in found if note.rule == "crowded-slice"]
    assert bool(crowded) == noted
    if noted:
        assert "takes 80 % of the 58.2 GiB that the twin simulates, and 5 % of the drive" in crowded[0]
