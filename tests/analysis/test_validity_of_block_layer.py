"""Validity notes on the kernel's block layer: limits of a control group, splitting, schedulers."""

from dataclasses import replace

import pytest
from judged_runs import DEVICE, JOB, Measured, device, only, run_view, sound

from fathom.analysis.run_view import IO_LIMIT
from fathom.analysis.settled import Unsettled, unsettled
from fathom.analysis.validity import Note, notes

MIB = 1 << 20


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"read_iops_max": 1_100_000}, "1.10M IOPS of reads"),
        ({"read_bytes_per_s_max": 4_500_000_000}, "4,500 MB/s of reads"),
        (
            {"read_bytes_per_s_max": 4_500_000_000, "read_iops_max": 1_100_000},
            "4,500 MB/s of reads and 1.10M IOPS of reads",
        ),
    ],
)
def test_a_rate_near_the_limit_of_the_control_group_is_noted(limits: dict[str, int], said: str):
    note = only(sound(targets=[device(DEVICE, "Drive", **limits)]))
    assert (note.rule, note.level, note.step) == (IO_LIMIT, "warning", "4k-rand-read")
    assert note.text.startswith(f"the control group of this process allows {said}: that may set the rate")


def test_a_limit_that_a_rate_stays_below_or_passes_is_not_noted():
    far = {"read_iops_max": 1_300_000, "write_iops_max": 10, "read_bytes_per_s_max": 3_000_000_000}
    assert notes(sound(targets=[device(DEVICE, "Drive", **far)])) == []


def test_nothing_is_claimed_of_a_rate_that_a_control_group_may_have_set():
    view = sound()
    limited = replace(view, not_its_own={(DEVICE, "4k-rand-read"): IO_LIMIT})
    assert unsettled(limited)[DEVICE, "4k-rand-read"] is Unsettled.LIMITED


def split_note(op: str, direct: bool = True, **limits: object) -> Note | None:
    """The note on blocks of 1 MiB on a device with these limits."""
    job = JOB | {
        "direct": direct,
        "mix": {"ops": [{"op": op, "sizes": [{"size_bytes": MIB, "weight": 1.0}]}]},
    }
    measured = Measured(DEVICE, [4000.0] * 60, op=op, block_bytes=MIB)
    found = notes(run_view([measured], [device(DEVICE, "Drive", **limits)], job=job))
    return next((note for note in found if note.rule == "split-io"), None)


def test_a_step_on_another_target_is_not_said_to_be_split_on_this_one():
    large = JOB | {"mix": {"ops": [{"op": "read", "sizes": [{"size_bytes": MIB, "weight": 1.0}]}]}}
    drives = [device(DEVICE, "A", io_bytes_max=MIB // 4), device("/dev/nvme1n1", "B", io_bytes_max=MIB)]
    measured = [
        Measured(DEVICE, [4000.0] * 60, step="small"),
        Measured("/dev/nvme1n1", [4000.0] * 60, step="large", block_bytes=MIB, job=large),
    ]
    assert "split-io" not in {note.rule for note in notes(run_view(measured, drives))}


def test_blocks_that_the_kernel_splits_are_noted_with_what_can_be_done():
    note = split_note("read", io_bytes_max=MIB // 4, command_bytes_max=MIB // 2)
    assert note is not None
    assert note.text.startswith("the kernel splits I/O of 1 MiB into commands of at most 256 KiB")
    assert note.next_step == "write up to 512 into queue/max_sectors_kb of the device, or use smaller blocks"
    most = split_note("write", io_bytes_max=MIB // 2, command_bytes_max=MIB // 2)
    assert most is not None
    assert most.next_step == "for one command an I/O, use blocks of at most 512 KiB"


def test_what_fits_is_trimmed_or_goes_through_the_page_cache_is_not_called_split():
    assert split_note("read", io_bytes_max=MIB) is None
    assert split_note("read", command_bytes_max=4096) is None
    assert split_note("read", direct=False, io_bytes_max=4096) is None
    assert split_note("trim", io_bytes_max=4096) is None


@pytest.mark.parametrize(
    ("scheduler", "rotational", "zoned", "level"),
    [
        ("bfq", False, "none", "warning"),
        ("mq-deadline", False, "none", "info"),
        ("none", False, "none", None),
        ("mq-deadline", True, "none", None),
        ("mq-deadline", False, "host-managed", None),
    ],
)
def test_a_scheduler_that_orders_the_io_of_an_ssd_is_noted(
    scheduler: str, rotational: bool, zoned: str, level: str | None
):
    target = device(scheduler=scheduler, rotational=rotational, zoned=zoned)
    found = {note.rule: note for note in notes(sound(targets=[target]))}
    assert (found["io-scheduler"].level if "io-scheduler" in found else None) == level
    if level:
        assert f"scheduler {scheduler} orders" in found["io-scheduler"].text
