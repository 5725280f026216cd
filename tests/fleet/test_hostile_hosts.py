"""Hosts whose every word may be garbled at random: the other host's figures stay, and nothing ends in a traceback."""

import json
import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from test_fleet import METHOD, InProcess, fleet_of, pool

from fathom.fleet import load
from fathom.fleet.agent import Ended, HostAgent, JobProgress, Sampled
from fathom.method.method import Method, parse_method
from fathom.session import Options, start_run

__all__ = ["pool"]

HEAD, _, READ, _ = METHOD.split("[[steps]]")
AGE_S = 5.0
"""How long ago the step began by the coordinator's clock: what was recorded is played back at once."""
MOST_DEPTH = 50
NUMBERS = (0, 1, -1, 1 << 62, 1 << 63, 1 << 64, 1e308, 0.5, float("nan"), float("inf"), None, "x")
TEXTS = ("", "\x1b[31m", "x" * 100_000, "../../x", None, 5)


@dataclass(frozen=True)
class Recorded:
    """A step as a host sends it."""

    seconds: list[bytes]
    ended: Ended


def read_only() -> Method:
    return parse_method(f"{HEAD}[[steps]]{READ}", "shared.toml")


@pytest.fixture(scope="module")
def recorded() -> Recorded:
    agent = HostAgent("recorded")
    agent.hold(agent.resolve("null:", None), False, ())
    agent.start("null:", read_only().steps[0].job, 1, "read", time.time_ns(), pin=False)
    return Recorded(list(_seconds(agent)), agent.result())


def _seconds(agent: HostAgent) -> Iterator[bytes]:
    while not (news := agent.poll(0.5)).done:
        yield from news.intervals
    yield from news.intervals


def other_value(value: object, chance: random.Random) -> object:
    match value:
        case bool():
            return not value
        case int() | float():
            return chance.choice((*NUMBERS, value + 1, value * 1000))
        case str():
            return chance.choice((*TEXTS, value + "x"))
        case _:
            return chance.choice((None, [], {}, 5, "x", [1]))


def alter(document: object, chance: random.Random) -> None:
    """Changes, removes, doubles or adds one value somewhere in the document."""
    place: Any = document
    key: Any = None
    for _ in range(MOST_DEPTH):
        if not place:
            return
        key = chance.choice(list(place) if isinstance(place, dict) else range(len(place)))
        if not (isinstance(place[key], dict | list) and place[key] and chance.random() < 0.9):
            break
        place = place[key]
    match chance.randrange(5):
        case 0:
            del place[key]
        case 1 if isinstance(place, list):
            place.insert(key, place[key])
        case 1:
            place["added"] = 1
        case _:
            place[key] = other_value(place[key], chance)


def garbled(sent: bytes, chance: random.Random) -> bytes:
    if chance.random() < 0.15:
        place = chance.randrange(len(sent))
        return sent[:place] + bytes([sent[place] ^ 1 << chance.randrange(8)]) + sent[place + 1 :]
    document = json.loads(sent)
    for _ in range(chance.choice((1, 1, 1, 2, 5))):
        alter(document, chance)
    return json.dumps(document).encode()


class Player(InProcess):
    """A host that plays a recorded step, garbled where `chance` has it."""

    def __init__(
        self, name: str, pool: ThreadPoolExecutor, recorded: Recorded, chance: random.Random | None
    ) -> None:
        super().__init__(name, pool)
        self._left = [*recorded.seconds]
        self._ended = recorded.ended
        self._chance = chance
        self.answers = {
            HostAgent.start: lambda *_: JobProgress(started_unix_ns=time.time_ns()),
            HostAgent.poll: self._poll,
            HostAgent.result: self._result,
        }

    def _maybe_garbled(self, sent: bytes) -> bytes:
        return garbled(sent, self._chance) if self._chance and self._chance.random() < 0.3 else sent

    def _poll(self, timeout_s: float) -> JobProgress:
        count = self._chance.choice((1, 3)) if self._chance else 1
        some, self._left = self._left[:count], self._left[count:]
        return JobProgress([self._maybe_garbled(one) for one in some], time.time_ns(), done=not self._left)

    def _result(self) -> Ended:
        rows = self._ended.telemetry
        if self._chance and self._chance.random() < 0.3:
            rows = [replace(row, **self._one_value(row)) for row in rows]
        return Ended(self._maybe_garbled(self._ended.recording), rows)

    def _one_value(self, row: Sampled) -> dict[str, Any]:
        assert self._chance is not None
        name = self._chance.choice(("step", "start_s", "length_s", "name", "value", "unit"))
        return {name: other_value(getattr(row, name), self._chance)}


def figures(folder: Path, remotes: list[Player]) -> tuple[dict[str, dict[str, Any]], str | None]:
    """Each target's row of a run by these hosts, and why the last of them was lost."""
    fleet = fleet_of([*remotes])
    targets = fleet.resolve(["null:"], None)
    run = start_run(read_only(), targets, Options(out=folder, initiator=fleet))
    return {str(row["target"]): row for row in run.points.to_pylist()}, fleet.hosts[-1].lost


def attack(
    folder: Path, pool: ThreadPoolExecutor, recorded: Recorded, seeds: range, patch: pytest.MonkeyPatch
) -> None:
    # The steps are played back faster than they went.
    patch.setattr(load, "AHEAD_S", load.AHEAD_S + AGE_S)
    whole, _ = figures(folder / "whole", [Player(name, pool, recorded, None) for name in ("h1", "h2")])
    lost = 0
    for seed in seeds:
        remotes = [
            Player("h1", pool, recorded, None),
            Player("h2", pool, recorded, random.Random(seed)),
        ]
        rows, why = figures(folder / str(seed), remotes)
        assert rows["h1:null:"] == whole["h1:null:"], seed
        lost += why is not None
        if why is None:
            assert rows["h2:null:"]["window_s"] == whole["h2:null:"]["window_s"], seed
    assert lost >= len(seeds) // 4


def test_of_a_host_that_garbles_what_it_sends_the_other_hosts_figures_stay(
    tmp_path: Path, pool: ThreadPoolExecutor, recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    attack(tmp_path, pool, recorded, range(10), monkeypatch)


def test_a_host_with_more_in_flight_than_can_be_is_lost_and_the_run_goes_on(
    tmp_path: Path, pool: ThreadPoolExecutor, recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load, "AHEAD_S", load.AHEAD_S + AGE_S)
    sent = [json.dumps(json.loads(one) | {"mean_outstanding": 1e308}).encode() for one in recorded.seconds]
    remotes = [Player("h1", pool, recorded, None), Player("h2", pool, replace(recorded, seconds=sent), None)]
    rows, why = figures(tmp_path, remotes)
    assert rows["h1:null:"]["n"] > 0
    assert why is not None
    assert "too large" in why


@pytest.mark.long
def test_of_a_thousand_hosts_that_garble_what_they_send_the_others_figures_stay(
    tmp_path: Path, pool: ThreadPoolExecutor, recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    attack(tmp_path, pool, recorded, range(1_000, 2_000), monkeypatch)
