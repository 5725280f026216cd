"""Hosts that send what cannot be: each is lost with the reason, and what the others measured is kept."""

import json
import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from test_fleet import METHOD, fleet_of, hosts, pool

from fathom import _core
from fathom.errors import FathomError
from fathom.fleet.agent import Ended, HostAgent, JobProgress
from fathom.method.method import parse_method

__all__ = ["pool"]


def repeated(number: int, news: JobProgress) -> JobProgress:
    """Each second a thousand times."""
    return replace(news, intervals=[one for one in news.intervals for _ in range(1000)])


def with_interval(number: int, news: JobProgress, alter: Callable[[dict[str, Any]], object]) -> JobProgress:
    """With the first second altered."""
    if not news.intervals:
        return news
    first = json.loads(news.intervals[0])
    alter(first)
    return replace(news, intervals=[json.dumps(first).encode(), *news.intervals[1:]])


GARBAGE: dict[str, tuple[Callable[[int, JobProgress], object], str]] = {
    "seconds repeated": (repeated, "it sent second 0, second 1 was due"),
    "bytes": (lambda number, news: JobProgress([b"\xff\x00garbage"]), "it sent an invalid second of a load"),
    "empty bytes": (lambda number, news: JobProgress([b""]), "it sent an invalid second of a load"),
    "another type": (lambda number, news: "news", "wrong type|no attribute|does not return"),
    "nothing": (lambda number, news: None, "wrong type|no attribute|does not return"),
    "numbers for seconds": (lambda number, news: JobProgress([1, 2]), "wrong type|does not return"),  # pyright: ignore
    "a start that is no time": (
        lambda number, news: replace(news, started_unix_ns="now"),
        "wrong type|does not return",
    ),
    "a second of the future": (
        lambda number, news: with_interval(number, news, lambda one: one.update(start_ns=10**13)),
        r"it sent second 0 of a step that is \d+ s old",
    ),
    "a later second": (
        lambda number, news: with_interval(number, news, lambda one: one.update(index=9)),
        "it sent second 9, second 0 was due",
    ),
    "counts beyond 64 bits": (
        lambda number, news: with_interval(
            number, news, lambda one: one["ops"]["read"].update(bytes=1 << 70)
        ),
        "it sent an invalid second of a load",
    ),
    "counts that contradict each other": (
        lambda number, news: with_interval(
            number, news, lambda one: one["ops"]["read"]["service"].update(min_ns=1 << 63)
        ),
        "it sent an invalid second of a load: its counts contradict each other",
    ),
}


@pytest.mark.parametrize("name", GARBAGE)
def test_a_host_that_sends_garbage_is_lost_and_the_others_are_kept(
    pool: ThreadPoolExecutor, name: str
) -> None:
    garble, why = GARBAGE[name]
    remotes = hosts(pool, 2)
    fleet = fleet_of(remotes)
    poll = remotes[1].agent.poll
    remotes[1].answers[HostAgent.poll] = lambda timeout_s: garble(0, poll(timeout_s))
    [target] = fleet.resolve(["null:"], None)
    backend, _ = fleet.start(target, lambda: False)
    with fleet.claim(target, writes=False):
        brief = METHOD.replace('"3s"', '"1500ms"')
        handle = backend.start(parse_method(brief, "shared.toml").steps[1].job, 1)
        while not handle.done():
            handle.poll(0.1)
        total, first, second = handle.result()
    assert re.search(why, fleet.hosts[1].lost or "")
    assert fleet.hosts[0].lost is None
    assert first.window_s == pytest.approx(1.5, abs=0.1)
    assert second.window_s <= 1
    assert fleet.shortfall() == "lost h2"
    assert total.ops[0].n <= first.ops[0].n + sum(op.n for op in second.ops)


def with_longer_window(ended: Ended) -> Ended:
    """With a thousand times the window, for a thousandth of the rate."""
    recording = json.loads(ended.recording)
    recording["window_ns"] *= 1000
    return replace(ended, recording=json.dumps(recording).encode())


@pytest.mark.parametrize(
    ("ended", "why"),
    [
        (lambda ended: replace(ended, recording=b"garbage"), "it sent an invalid recording"),
        (
            lambda ended: replace(ended, recording=_core.Recording().to_bytes()),
            "its recording is not the sum of the seconds that it sent",
        ),
        (
            with_longer_window,
            "its recording is not the sum of the seconds that it sent",
        ),
        (lambda ended: replace(ended, telemetry=[1, 2]), "wrong type|does not return"),
        (lambda ended: replace(ended, telemetry=None), "wrong type|does not return"),
        (lambda ended: 5, "wrong type|does not return"),
    ],
)
def test_a_result_that_is_none_loses_the_host(
    pool: ThreadPoolExecutor, ended: Callable[[Any], object], why: str
) -> None:
    remotes = hosts(pool, 2)
    fleet = fleet_of(remotes)
    result = remotes[1].agent.result
    remotes[1].answers[HostAgent.result] = lambda: ended(result())
    [target] = fleet.resolve(["null:"], None)
    backend, sampling = fleet.start(target, lambda: False)
    with fleet.claim(target, writes=False), sampling as sampler:
        handle = backend.start(parse_method(METHOD, "shared.toml").steps[2].job, 1)
        while not handle.done():
            handle.poll(0.1)
        handle.result()
        sampler.drain()
    assert re.search(why, fleet.hosts[1].lost or "")
    assert fleet.hosts[0].lost is None


def test_a_clock_that_jumps_at_every_reading_is_refused(pool: ThreadPoolExecutor) -> None:
    remote = hosts(pool, 1)[0]
    readings = iter(range(1000))
    remote.answers[HostAgent.clock_ns] = lambda: time.time_ns() + next(readings) * 20_000_000
    with pytest.raises(
        FathomError, match=r"host h1: its clock jumps: two readings are \d+\.\d ms further apart"
    ):
        fleet_of([remote])


def test_a_clock_that_is_set_between_two_steps_is_noted(pool: ThreadPoolExecutor) -> None:
    remotes = hosts(pool, 2)
    fleet = fleet_of(remotes)
    fleet.compare_clocks()
    assert "clock-jump" not in {note.rule for note in fleet.notes()}
    remotes[1].answers[HostAgent.clock_ns] = lambda: time.time_ns() + 500_000_000
    fleet.compare_clocks()
    [note] = [note for note in fleet.notes() if note.rule == "clock-jump"]
    assert "the clock of host h2 moved by 500." in note.text


@pytest.mark.parametrize("answer", ["soon", None, -1, 1 << 70, 1.5])
def test_a_clock_that_is_no_number_is_refused(pool: ThreadPoolExecutor, answer: object) -> None:
    remote = hosts(pool, 1)[0]
    remote.answers[HostAgent.clock_ns] = lambda: answer
    with pytest.raises(FathomError, match=r"host h1: .*(wrong type|does not return)"):
        fleet_of([remote])


@pytest.mark.parametrize(
    "wrong",
    [{"kind": "twin"}, {"capacity_bytes": 0}, {"capacity_bytes": 1 << 64}, {"logical_block_bytes": 0}],
)
def test_a_target_that_no_host_can_have_is_refused(pool: ThreadPoolExecutor, wrong: dict[str, Any]) -> None:
    remotes = hosts(pool, 2)
    fleet = fleet_of(remotes)
    resolve = remotes[1].agent.resolve
    remotes[1].answers[HostAgent.resolve] = lambda text, size_bytes: replace(
        resolve(text, size_bytes), **wrong
    )
    with pytest.raises(FathomError, match="host h2: it describes null: as what it cannot be"):
        fleet.resolve(["null:"], None)
