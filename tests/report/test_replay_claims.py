"""Sentences about a replay claim no more than its run allows, and open its report whatever the number of devices."""

from io import StringIO
from pathlib import Path
from random import Random

import pytest
from rich.console import Console

import fathom
from fathom.output.text import latency_text
from fathom.plan.replay import Replay, Timing
from fathom.report.built import build
from fathom.report.comparison import compare
from fathom.report.data import load
from fathom.report.findings import finding_texts
from fathom.report.opening import opened
from fathom.report.sections import build_all, corners, placement, replayed
from fathom.report.terminal import print_table
from fathom.runs.reader import Run

TWIN = "twin:samsung-pm9a3-7.68tb"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def replay(folder: Path, *targets: str) -> Run:
    """Replays 400 I/Os of as many devices as there are targets."""
    drawn, trace = Random(1), folder / "app.csv"
    lines = [
        f"{500 * number},{'RRW'[number % 3]},{4096 * drawn.randrange(4096)},4096,d{number % len(targets)}\n"
        for number in range(400)
    ]
    trace.write_text("time_us,op,offset,size,device\n" + "".join(lines))
    return fathom.run("replay", list(targets), replay=Replay(trace), out=folder / "runs")


def test_a_replay_on_a_drive_that_was_not_filled_claims_no_more_than_what_it_did(tmp_path: Path) -> None:
    section = replayed.build(compare([load(replay(tmp_path, TWIN).path)]))
    assert section is not None
    assert section.key_figure is not None
    assert "PM9A3 answered the recorded reads in " in section.key_figure.sentence
    assert section.key_figure.reasons[-1] == (
        "Samsung PM9A3 had not settled: the run had left part of its region unwritten."
    )
    [told] = section.answer
    assert told.endswith(
        "No more is claimed: it had not settled (the run had left part of its region unwritten)."
    )


def test_a_replay_on_a_drive_that_begins_settled_claims_its_latency(tmp_path: Path) -> None:
    section = replayed.build(compare([load(replay(tmp_path, f"{TWIN}?settled_share=1").path)]))
    assert section is not None
    assert section.key_figure is not None
    assert " answers the recorded reads in " in section.key_figure.sentence
    [told] = section.answer
    assert told.endswith(" on average, counted from the recorded times; it kept up with them.")


def test_a_replay_of_several_devices_opens_with_its_latency_and_claims_no_write_amplification(
    tmp_path: Path,
) -> None:
    comparison = build([replay(tmp_path, TWIN, TWIN).path]).comparison
    opening, _ = opened(build_all(comparison))
    assert opening is not None
    assert "PM9A3 answered the recorded reads in " in opening.sentence
    placed = placement.build(comparison)
    assert placed is not None
    assert placed.answer == []


@pytest.mark.parametrize(
    ("us", "text"), [(62.34, "62.3 us"), (999.6, "1 ms"), (1764.0, "1.76 ms"), (2_100_000.0, "2.1 s")]
)
def test_latencies_in_sentences_have_the_unit_that_fits(us: float, text: str) -> None:
    assert latency_text(us) == text


def test_a_rate_that_was_only_offered_has_no_range_of_measurements(tmp_path: Path) -> None:
    run = replay(tmp_path, f"{TWIN}?settled_share=1")
    cells = [cell for corner in compare([load(run.path)]).corners for cell in corner.cells]
    assert [cell.point.limit.name for cell in cells if cell.point.limit] == ["offered rate"] * len(cells)
    assert [cell.spread for cell in cells] == [None] * len(cells)
    printed = StringIO()
    print_table(Console(file=printed, width=80), [run.path])
    assert "of measurements within" not in printed.getvalue()


@pytest.mark.parametrize("target", [TWIN, f"{TWIN}?settled_share=1"])
def test_the_findings_of_a_replay_say_once_why_no_more_is_claimed(tmp_path: Path, target: str) -> None:
    assert finding_texts(compare([load(replay(tmp_path, target).path)])).outcomes == []


def of_whole_seconds(folder: Path, timing: Timing = "as-recorded") -> Run:
    """Replays 400 I/Os, 100 of them at each second of a coarse clock, on a drive that begins settled."""
    drawn, trace = Random(1), folder / "app.csv"
    lines = [f"{n // 100},{'RRW'[n % 3]},{4096 * drawn.randrange(4096)},4096\n" for n in range(400)]
    trace.write_text("time_s,op,offset,size\n" + "".join(lines))
    target = f"{TWIN}?settled_share=1"
    return fathom.run("replay", [target], replay=Replay(trace, timing=timing), out=folder / "runs")


def test_a_replay_at_times_of_a_coarse_clock_claims_no_latency(tmp_path: Path) -> None:
    run = of_whole_seconds(tmp_path)
    comparison = build([run.path]).comparison
    opening, _ = opened(build_all(comparison))
    assert opening is not None
    assert opening.sentence == (
        "No latency of the recorded load is known: the trace's clock is too coarse to show when its I/Os came."
    )
    assert opening.reasons == ["Samsung PM9A3 (settled) kept up with the recorded times."]
    [note] = [note for note in run.document.notes if note.rule == "doubtful-times"]
    assert "its times are multiples of 1 s, with 100 I/Os at once on average" in note.text
    section = replayed.build(comparison)
    assert section is not None
    assert section.answer[0].endswith(
        "No more is claimed: it was loaded at doubtful times "
        "(the trace's clock is too coarse to show when its I/Os came)."
    )


def test_a_replay_that_keeps_no_times_claims_its_latency_at_the_depth_that_it_chose(tmp_path: Path) -> None:
    run = of_whole_seconds(tmp_path, "as-fast-as-possible")
    section = replayed.build(compare([load(run.path)]))
    assert section is not None
    assert section.key_figure is not None
    assert "answers the recorded reads in " in section.key_figure.sentence
    assert section.key_figure.sentence.endswith(" on average at 32 in flight.")
    assert section.answer[0].endswith(" on average at 32 in flight.")
    assert "doubtful-times" not in [note.rule for note in run.document.notes]


@pytest.mark.parametrize(("timing", "of_trace"), [("as-recorded", True), ("as-fast-as-possible", False)])
def test_a_rate_that_the_trace_sets_has_no_interval_and_the_reason(
    timing: Timing, of_trace: bool, tmp_path: Path
) -> None:
    drawn, trace = Random(1), tmp_path / "app.csv"
    times = [
        int(sum(drawn.expovariate(1 / 500) for _ in range(20)) + 10_000 * number) for number in range(700)
    ]
    trace.write_text(
        "time_us,op,offset,size\n"
        + "".join(f"{us},R,{4096 * drawn.randrange(4096)},4096\n" for us in sorted(times))
    )
    run = fathom.run("replay", [f"{TWIN}?settled_share=1"], replay=Replay(trace, timing=timing), out=tmp_path)
    comparison = compare([load(run.path)])
    [corner] = comparison.corners
    [cell] = corner.cells
    if of_trace:
        assert cell.point.iops_low is not None, "the trace's seconds differ"
    assert cell.is_rate_of_trace == of_trace
    assert (cell.interval is None) or not of_trace
    section = corners.build(comparison)
    assert ("no interval: the trace sets its rate" in str(section)) == of_trace
