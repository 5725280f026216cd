"""Two replays are compared by what they can differ in: latency, and whether they kept up with the recorded times."""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from random import Random
from typing import Any

import pytest

import fathom
from fathom.columns.schema import PhaseOfOp
from fathom.compare.metrics import DEFAULT
from fathom.compare.phases import PhasePair
from fathom.compare.rows import Compared, Result, compare_sides
from fathom.compare.sides import read_side
from fathom.compare.views import to_markdown
from fathom.compare.words import answer
from fathom.plan.replay import Replay
from fathom.runs.reader import Run

SETTLED = "twin:samsung-pm9a3-7.68tb?settled_share=1"
OTHER = "twin:kioxia-cm7-r-7.68tb?settled_share=1"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def replayed(folder: Path, target: str, *, speed: float = 1.0) -> Run:
    """Replays 6000 reads and writes of 6 s, too few for a p99."""
    trace = folder / "app.csv"
    if not trace.exists():
        drawn = Random(1)
        lines = [f"{1000 * n},{'RRW'[n % 3]},{4096 * drawn.randrange(4096)},4096\n" for n in range(6000)]
        trace.write_text("time_us,op,offset,size\n" + "".join(lines))
    return fathom.run("replay", [target], replay=Replay(trace, speed=speed), out=folder / "runs")


def compared(base: Run, new: Run, metrics: Sequence[str] = DEFAULT) -> Result:
    return compare_sides(read_side(str(base.path)), read_side(str(new.path)), metrics)


def test_a_rate_that_both_replays_kept_up_with_and_a_waf_of_few_writes_are_not_compared(
    tmp_path: Path,
) -> None:
    result = compared(replayed(tmp_path, SETTLED), replayed(tmp_path, OTHER))
    assert {row.metric.name for row in result.rows} == {"response-p50"}
    assert (
        "Both kept up with the recorded times of app.csv, as recorded, so that rate is no result."
        in answer(result)
    )


def test_a_waf_of_few_writes_that_is_asked_for_has_no_change(tmp_path: Path) -> None:
    result = compared(replayed(tmp_path, SETTLED), replayed(tmp_path, OTHER), ["waf"])
    assert {(row.metric.name, row.why, row.change_pct) for row in result.rows} == {
        ("waf", "too little written", None)
    }


def test_a_replay_that_fell_behind_is_named_with_the_time_that_its_ios_waited(tmp_path: Path) -> None:
    base = replayed(tmp_path, SETTLED, speed=3000)
    new = replayed(tmp_path, f"{SETTLED},ecc_us=500", speed=3000)
    result = compared(base, new)
    assert "iops" in {row.metric.name for row in result.rows}
    [said] = [text for text in answer(result) if "fell behind" in text]
    assert said.startswith(
        "app.csv, at 3000 times the recorded speed: base fell behind the recorded times, its I/Os"
    )
    [pair] = result.pairs
    [load] = pair.loads
    assert not load.new_kept
    assert load.new_wait_us > load.base_wait_us > 0


def test_phases_name_their_operations_as_the_tables_do() -> None:
    values: dict[str, Any] = dict.fromkeys(field.name for field in fields(PhaseOfOp))
    values |= {"op": "flush", "phase": 1, "recorded_start_s": 0.0, "recorded_length_s": 2.0}
    row = PhaseOfOp(**values)
    pair = Compared("new", "base", [], [], [], [PhasePair(row, row)])
    text = to_markdown(Result("base", "new", [pair], 0.95, 2.0, []), [])
    assert "| flushes |" in text
