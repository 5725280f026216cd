"""What limits a step, in values and in words."""

from types import SimpleNamespace
from typing import cast

import pyarrow as pa
import pytest

from fathom import _core
from fathom.columns.schema import POINTS
from fathom.method.method import load_method
from fathom.runs.rows import StepRows
from fathom.statistics.limits import (
    Busy,
    Limit,
    LimitKind,
    limit_in,
    limit_of,
    with_client,
    with_io_limit,
    with_think_time,
)

DIES = Busy("dies", 64, 0.96, 0.97)
HOT = Busy("dies", 64, 0.30, 0.45)
LINK = Busy("PCIe link (read)", 1, 0.71, 0.71)
CPU = Busy("load generator CPU", 1, 0.4, 0.4)
UNKNOWN = Limit(LimitKind.TARGET_OR_OUTSTANDING_IO, amount=32.0, next=CPU)
LOAD = Limit(LimitKind.OUTSTANDING_IO, amount=9.5, next=HOT)
CORES = Busy("server CPU", 228, 0.4, 0.99)
WORDS = [
    (Limit(LimitKind.SATURATED, CORES), "busiest of 228 server CPUs 99 % (mean 40 %)"),
    (Limit(LimitKind.SATURATED, DIES, next=LINK), "dies 97 %, next PCIe link (read) 71 %"),
    (Limit(LimitKind.SATURATED, Busy("dies", 64, 0.2, 0.99)), "busiest of 64 dies 99 % (mean 20 %)"),
    (Limit(LimitKind.SATURATED, LINK, next=HOT), "PCIe link (read) 71 %, next busiest of 64 dies 45 % (mean 30 %)"),
    (Limit(LimitKind.QUEUE, HOT, waiting=14.0, next=LINK), "dies (14 waiting) 30 %, next PCIe link (read) 71 %"),
    (Limit(LimitKind.QUEUE, DIES, waiting=2.13), "dies (2.1 waiting) 96 %"),
    (Limit(LimitKind.OUTSTANDING_IO, amount=31.97, next=DIES), "outstanding I/O (32), busiest dies 97 %"),
    (LOAD, "outstanding I/O (9.5), busiest of 64 dies 45 % (mean 30 %)"),
    (Limit(LimitKind.OUTSTANDING_IO, amount=0.998), "outstanding I/O (1)"),
    (Limit(LimitKind.OFFERED_RATE, amount=1005.0), "offered rate (1,005 IOPS)"),
    (UNKNOWN, "target or outstanding I/O (32), busiest load generator CPU 40 %"),
    (
        with_io_limit(UNKNOWN, reached=True),
        "target or I/O limit of the control group, busiest load generator CPU 40 %",
    ),
    (with_think_time(UNKNOWN), "target or think time, busiest load generator CPU 40 %"),
    (with_think_time(Limit(LimitKind.OUTSTANDING_IO, amount=2.0)), "think time"),
]  # fmt: skip


@pytest.mark.parametrize(("limit", "words"), WORDS)
def test_a_limit_has_these_words(limit: Limit, words: str) -> None:
    assert limit.words == words


@pytest.mark.parametrize(("limit", "words"), WORDS)
def test_a_limit_is_the_same_after_it_was_a_row_of_points(limit: Limit, words: str) -> None:
    table = pa.Table.from_pylist([{"limited_by": words, "limit": limit.as_row()}], schema=POINTS)
    [row] = table.to_pylist()
    read = limit_in(row)
    assert read == limit
    assert read is not None
    assert read.as_row() == limit.as_row()


def test_a_sentence_names_the_busiest_of_equal_servers_with_an_article() -> None:
    assert Limit(LimitKind.SATURATED, CORES).name == "the busiest of 228 server CPUs"
    assert Limit(LimitKind.SATURATED, DIES).name == "dies"


def test_a_queue_is_named_with_the_busy_share_of_what_is_waited_for() -> None:
    limit = Limit(LimitKind.QUEUE, Busy("flash dies", 64, 0.34, 0.5), 19.0, next=LINK)
    assert (limit.name, limit.share, limit.other) == ("flash dies", "34 %", "next PCIe link (read) 71 %")


def test_a_run_that_has_only_words_keeps_them() -> None:
    limit = limit_in({"limited_by": "flash dies 97 %, next controller 71 %", "limit": None})
    assert limit is not None
    assert limit.words == limit.name == "flash dies 97 %, next controller 71 %"
    assert limit_in({"limited_by": None}) is None


def points(rows: StepRows, iops: float) -> StepRows:
    """Rows with a point of reads of 4 KiB, of which nobody knows what limits them."""
    limit = {"limited_by": UNKNOWN.words, "limit": UNKNOWN.as_row()}
    rows.points.append({"op": "read", "iops": iops, "mbps": iops * 4096 / 1e6} | limit)
    return rows


def test_a_rate_near_the_limit_of_a_control_group_is_not_put_down_to_the_load() -> None:
    step = load_method("four-corners").steps[0]
    limited = {"read_iops_max": 1000}
    said = {True: "target or I/O limit of the control group", False: "target or outstanding I/O (32)"}
    for iops, near in ((990.0, True), (500.0, False), (2000.0, False)):
        rows = points(StepRows("/dev/sda", step), iops)
        assert rows.take_io_limits({"/dev/sda": limited}) is near
        assert str(rows.points[0]["limited_by"]).startswith(said[near])


def test_a_total_is_limited_where_all_its_parts_are() -> None:
    step = load_method("four-corners").steps[0]
    for rates, near in (((990.0, 980.0), True), ((990.0, 100.0), False)):
        parts = [points(StepRows(f"h{n}:/dev/sda", step), iops) for n, iops in enumerate(rates)]
        total = points(StepRows("/dev/sda", step, parts), sum(rates))
        limits = {one.target: {"read_iops_max": 1000} for one in parts}
        assert total.take_io_limits(limits) is near
        assert ("control group" in str(total.points[0]["limited_by"])) is near
        assert "control group" in str(parts[0].points[0]["limited_by"])


def test_files_that_share_the_limit_of_their_device_are_limited_together() -> None:
    step = load_method("four-corners").steps[0]
    for iops, near in ((495.0, True), (300.0, False)):
        files = [points(StepRows(f"file:/mnt/{name}", step), iops) for name in "ab"]
        total = points(StepRows("array:file:/mnt/a,file:/mnt/b", step, files), 2 * iops)
        limits = {one.target: {"read_iops_max": 1000} for one in (total, *files)}
        assert total.take_io_limits(limits) is near
        said = [str(one.points[0]["limited_by"]) for one in (total, *files)]
        assert ["control group" in words for words in said] == [near] * 3


def test_a_client_without_processor_time_left_is_the_limit_of_a_target_that_says_nothing() -> None:
    limit = with_client(UNKNOWN, 96.2)
    assert limit is not None
    assert limit.words == "client CPU 96 %"
    assert with_client(UNKNOWN, 84.0) is UNKNOWN


@pytest.mark.parametrize(
    "known",
    [
        Limit(LimitKind.SATURATED, CPU),
        Limit(LimitKind.OFFERED_RATE, amount=1005.0),
        Limit(LimitKind.OUTSTANDING_IO, amount=32.0),
        None,
    ],
)
def test_what_is_known_to_limit_stays_the_limit_however_busy_the_client(known: Limit | None) -> None:
    assert with_client(known, 99.0) is known


def use(resource: str, mean: float, most: float, waiting: float) -> SimpleNamespace:
    return SimpleNamespace(resource=resource, servers=64, mean=mean, max=most, waiting=waiting)


def test_a_recording_gives_its_limit_as_values() -> None:
    found = SimpleNamespace(
        kind="queue", resource=use("dies", 0.3, 0.45, 14.0), amount=None, next=use("links", 0.2, 0.2, 1.0)
    )
    limit = limit_of(cast("_core.Recording", SimpleNamespace(limit=lambda: found)))
    assert limit is not None
    assert (limit.kind, limit.resource, limit.waiting) == (LimitKind.QUEUE, HOT, 14.0)
    assert limit.next == Busy("links", 64, 0.2, 0.2)
    assert limit_of(_core.Recording()) is None
