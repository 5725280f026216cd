"""Validity notes: a sound run has none, and each thing that can be wrong is said with its figure and the next step."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from judged_runs import (
    DEVICE,
    ENVIRONMENT,
    JOB,
    RATES,
    Measured,
    Row,
    only,
    run_view,
    sample,
    sound,
    twin,
)

from fathom.analysis.run_view import Remark
from fathom.analysis.settled import Unsettled, unsettled
from fathom.analysis.validity import notes
from fathom.catalog import find
from fathom.runs.remarks import (
    WRONG_DATA_ERRNO,
    FailedIo,
    Fault,
    LostIo,
    ShortWindow,
)


def test_a_sound_run_has_no_notes():
    assert notes(sound()) == []


@pytest.mark.parametrize(("kept", "noted"), [(256.0, False), (244.0, False), (243.0, True)])
def test_a_queue_that_was_less_deep_than_asked_is_noted_from_95_percent_down(kept: float, noted: bool):
    found = notes(run_view([Measured(DEVICE, RATES, point={"outstanding": kept, "mean_us": kept})]))
    assert [note.rule for note in found] == (["achieved-depth"] if noted else [])


def test_a_shallow_queue_is_noted_with_both_depths():
    note = only(run_view([Measured(DEVICE, RATES, point={"outstanding": 128.0, "mean_us": 128.0})]))
    assert "128.0 of the 256 I/Os asked for were in flight on average (50 %)" in note.text
    assert (note.target, note.step) == (DEVICE, "4k-rand-read")


def test_a_load_that_thinks_between_its_requests_was_not_asked_to_be_deep():
    shallow = [Measured(DEVICE, RATES, point={"outstanding": 3.0, "mean_us": 3.0})]
    assert notes(run_view(shallow, job=JOB | {"pace": {"think_ns": 5_000_000}})) == []
    assert only(run_view(shallow, job=JOB | {"pace": {"think_ns": 0}})).rule == "achieved-depth"


def test_a_gap_in_littles_law_is_noted():
    note = only(run_view([Measured(DEVICE, RATES, point={"mean_us": 230.0})]))
    assert note.rule == "littles-law"
    assert "gives 230.0 I/Os in flight, but 256.0 were (-10 %)" in note.text


def test_ios_under_way_at_the_ends_of_a_short_window_are_no_gap_in_littles_law():
    slow: dict[str, object] = {"mean_us": 1_200_000.0}
    short, long = (Measured(DEVICE, [196.0] * seconds, point=slow) for seconds in (10, 120))
    assert "littles-law" not in {note.rule for note in notes(run_view([short]))}
    assert "littles-law" in {note.rule for note in notes(run_view([long]))}


def test_littles_law_is_judged_over_both_halves_of_a_mix():
    halves = [
        Measured(DEVICE, [700_000.0] * 60, op="read", point={"mean_us": 256.0}),
        Measured(DEVICE, [300_000.0] * 60, op="write", point={"mean_us": 256.0}),
    ]
    assert notes(run_view(halves)) == []


def test_a_busy_load_generator_is_noted_with_its_share_of_the_cores():
    worked = sample("utilisation: load generator CPU", 0.92, unit="1")
    telemetry = [worked, sample("cpu_user_ns", 100e9), sample("cpu_sys_ns", 340e9)]
    note = only(sound(telemetry=telemetry))
    assert note.rule == "generator-cpu"
    assert "92 % of its 8 cores" in note.text
    assert notes(sound(telemetry=[worked, sample("cpu_user_ns", 100e9), sample("cpu_sys_ns", 300e9)])) == []


def test_the_governor_is_noted_for_hardware_only():
    slow = ENVIRONMENT | {"governor": "powersave"}
    assert only(sound(environment=slow)).rule == "governor"
    assert notes(run_view([Measured("twin:a", RATES)], [twin("a", "A")], environment=slow)) == []


def test_a_power_state_that_drives_were_held_in_is_noted_with_its_limit():
    held = ENVIRONMENT | {"power_state": {"number": 2, "most_w": {"nvme0n1": 8.25}, "before": {"nvme0n1": 0}}}
    note = only(sound(environment=held))
    assert note.rule == "power-state"
    assert note.text == "the drives were held in power state 2 for this run: nvme0n1 may draw 8.25 W at most"


def test_stolen_processor_time_is_noted():
    telemetry = [sample("cpu_steal", 4.0, target=None), sample("cpu_steal", 2.0, target=None, step="fill")]
    assert "3.0 %" in only(sound(telemetry=telemetry)).text


def test_a_drive_on_another_numa_node_is_noted():
    two = ENVIRONMENT | {"numa_nodes": 2}
    assert only(sound(environment=two)).level == "info"
    assert notes(sound(environment=two | {"load_numa_nodes": [0]})) == []
    note = only(sound(environment=two | {"load_numa_nodes": [1]}))
    assert (note.rule, note.level) == ("remote-numa", "warning")
    assert "--cpunodebind=0" in note.next_step


def test_failed_io_comes_first_as_an_error():
    found = notes(sound(errors=3, quick=True))
    assert [note.rule for note in found] == ["errors", "quick-run"]
    assert "3 I/Os failed" in found[0].text


def test_a_share_that_failed_is_said_of_the_operation_whose_it_is():
    few = Measured(DEVICE, [10.0] * 60, op="write")
    [note] = [
        one for one in notes(run_view([Measured(DEVICE, RATES), few], errors=30)) if one.rule == "errors"
    ]
    assert note.text == (
        "60 I/Os failed, among them 4.8 % of the step's writes: above 1 %, no figures are shown; rates and latencies "
        "leave failed I/O out"
    )


def test_a_share_with_reads_of_wrong_data_in_it_says_so():
    wrong = Remark(DEVICE, "4k-rand-read", FailedIo(errno=WRONG_DATA_ERRNO, n=299))
    [_, note] = notes(run_view([Measured(DEVICE, [100.0] * 100)], errors=300, remarks=[wrong]))[:2]
    assert note.text.startswith("1 I/O failed besides, in all 2.9 % of the step's I/O: above 1 %")


def test_failed_io_is_said_with_its_share_and_every_way_in_which_it_failed():
    places = (Fault(op="read", start_bytes=0, end_bytes=4096, n=2),)
    facts = [FailedIo(errno=5, n=2, ranges=places), FailedIo(errno=28, n=1)]
    note = only(sound(errors=3, remarks=[Remark(DEVICE, "4k-rand-read", fact) for fact in facts]))
    assert note.rule == "errors"
    assert "2 I/O failed: Input/output error" in note.text
    assert "2 x read between byte 0 and byte 4096" in note.text
    assert "1 I/O failed: No space left" in note.text


def test_io_that_never_returned_and_windows_that_ended_early_are_errors():
    facts = [LostIo(n=4, waited_ns=30 * 10**9, age_ns=37 * 10**9), ShortWindow(window_s=2.0, asked_s=10.0)]
    found = notes(sound(remarks=[Remark(DEVICE, "4k-rand-read", fact) for fact in facts]))
    assert [(note.rule, note.level) for note in found] == [("lost-io", "error"), ("short-window", "error")]
    assert "the oldest was in flight for 37.0 s" in found[0].text


def test_io_in_flight_at_the_end_is_said_with_its_age():
    late = {"censored": 4, "censored_us": 6e6, "max_us": 6e6}
    note = only(run_view([Measured(DEVICE, RATES, point=late)]))
    assert (note.rule, note.level) == ("in-flight", "warning")
    assert note.text.startswith("4 I/Os were still in flight at the end of the window, longer than any")
    assert "The oldest had waited 6 s" in note.text


def test_percentiles_that_are_left_out_say_how_many_ios_they_take():
    text = only(run_view([Measured(DEVICE, [1000.0] * 15)])).text
    assert "p99.99 in 1 step (needs 1,000,000 I/Os), p99.9 in 1 step (needs 100,000 I/Os)" in text
    assert text.endswith("this step has the fewest I/Os, 15,000")


def test_few_ios_of_one_operation_are_not_called_those_of_the_step():
    few = Measured(DEVICE, [10.0] * 60, op="write")
    found = {note.rule: note.text for note in notes(run_view([Measured(DEVICE, RATES), few]))}
    assert found["n-too-small"].endswith("the fewest I/Os of one operation, 600")


def test_five_nines_are_missed_only_where_a_step_was_made_to_tell_them():
    six_million = [Measured(DEVICE, [100_000.0] * 60)]
    assert notes(run_view(six_million)) == []
    note = only(run_view(six_million, step={"percentile": 99.999 / 100}))
    assert "p99.999 in 1 step (needs 10,000,000 I/Os)" in note.text


def test_what_was_not_steady_is_noted():
    assert only(run_view([Measured(DEVICE, RATES, point={"steady": False})])).rule == "not-steady"
    assert notes(run_view([Measured(DEVICE, RATES, point={"steady": None})])) == []


def uneven(rates: Sequence[float]) -> list[float]:
    """The rates with 1 % of noise."""
    return list(np.array(rates) * (1 + 0.01 * np.random.default_rng(1).standard_normal(len(rates))))


def test_a_rate_that_changes_level_is_noted_with_when_and_between_what():
    fell = uneven([412_000.0] * 24 + [371_000.0] * 36)
    note = only(run_view([Measured(DEVICE, fell)]))
    assert (note.rule, note.level) == ("level-change", "info")
    assert "after 40 % of the window, from 412" in note.text
    saw = uneven(([300_000.0] * 20 + [200_000.0] * 20) * 2)
    assert "changes level 3 times in the window" in only(run_view([Measured(DEVICE, saw)])).text


def test_levels_in_several_steps_are_one_note_that_names_the_widest():
    steps = {"one": 371_000.0, "two": 206_000.0}
    view = run_view(
        [Measured(DEVICE, uneven([412_000.0] * 24 + [then] * 36), step=step) for step, then in steps.items()]
    )
    note = only(view)
    assert note.step == "two"
    assert note.text.endswith("the same in another step")


@pytest.mark.parametrize(
    ("rates", "point"),
    [
        ([400_000.0] * 30 + [380_000.0] * 30, {}),
        ([400_000.0] * 30 + [300_000.0] * 30, {"offered_iops": 350_000.0}),
        ([400_000.0] * 4 + [300_000.0] * 4, {}),
    ],
    ids=["less than a tenth apart", "a rate that was asked for", "too few seconds to tell"],
)
def test_levels_that_say_nothing_are_not_noted(rates: list[float], point: Row):
    assert "level-change" not in {
        note.rule for note in notes(run_view([Measured(DEVICE, rates, point=point)]))
    }


def test_a_virtual_machine_is_noted_by_its_hypervisor():
    assert "virtual (kvm)" in only(sound(environment=ENVIRONMENT | {"virtualisation": "kvm"})).text


def test_a_twin_that_only_its_data_sheet_is_known_of_is_noted():
    name = "solidigm-d5-p5336-61.44tb"
    note = only(run_view([Measured(f"twin:{name}", RATES)], [twin(name, "D5-P5336")]))
    assert note.rule == "data-sheet-alone"
    assert note.text.startswith(
        "D5-P5336 is calibrated on its data sheet alone. Measurements have checked only reads"
    )
    assert (
        notes(run_view([Measured("twin:samsung-pm9a3-7.68tb", RATES)], [twin("samsung-pm9a3-7.68tb", "A")]))
        == []
    )


def test_a_twin_that_missed_its_own_ratings_says_so_in_each_of_its_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missed = (
        "[[twin.missed]]\nrating = 'seq_write_mbps'\nrated = 5000\nsimulated = 750\nlimited_by = 'NAND'\n"
    )
    name = "solidigm-d5-p5336-61.44tb"
    text = find("devices", name).text()
    (tmp_path / "devices").mkdir()
    (tmp_path / f"devices/{name}.toml").write_text(f"{text}\n{missed}")
    monkeypatch.setenv("FATHOM_CATALOG", str(tmp_path))
    view = run_view([Measured(f"twin:{name}", RATES)], [twin(name, "D5-P5336")])
    [note] = [note for note in notes(view) if note.rule == "missed-ratings"]
    assert (note.level, note.target) == ("warning", f"twin:{name}")
    assert (
        "seq_write_mbps is rated 5,000 MB/s, but the twin gives 750 (−85.0 %), limited by: NAND" in note.text
    )


def test_a_system_of_drives_that_missed_their_ratings_says_so_of_these_drives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missed = "[[twin.missed]]\nrating = 'seq_write_mbps'\nrated = 5000\nsimulated = 750\n"
    drive, system = "micron-7450-pro-7.68tb", "weka-6x-micron-7450-pro"
    text = find("devices", drive).text()
    (tmp_path / "devices").mkdir()
    (tmp_path / f"devices/{drive}.toml").write_text(f"{text}\n{missed}")
    monkeypatch.setenv("FATHOM_CATALOG", str(tmp_path))
    view = run_view([Measured(f"twin:{system}", RATES)], [twin(system, "WEKA")])
    [note] = [note for note in notes(view) if note.rule == "missed-ratings"]
    assert note.target == f"twin:{system}"
    assert note.text.startswith(f"a drive of WEKA, {drive}, was fitted to its data sheet and misses it: seq")


def test_a_twin_whose_range_published_rates_refute_is_noted():
    name = "atto-xstreamcore-9400"
    note = only(run_view([Measured(f"twin:{name}", RATES)], [twin(name, "ATTO")]))
    assert (note.rule, note.level) == ("refuted-range", "warning")
    assert "80 % ranges learnt from other devices hold 3 of 7 of its published rates" in note.text


def test_a_simulated_slice_is_said():
    note = only(run_view([Measured("twin:a", RATES)], [twin("a", "A", scale=1 / 64)]))
    assert note.text.startswith("simulated slice 1/64")


def test_a_rate_that_was_not_sustained_is_said_with_its_backlog():
    point = {"offered_iops": 1_200_000.0, "backlog": 5_000_000}
    note = only(run_view([Measured(DEVICE, RATES, point=point)]))
    assert note.rule == "unsustained"
    assert "1,200,000 IOPS were offered, 1,000,000 done and 5,000,000 I/Os waited" in note.text


def test_windows_that_a_twin_ends_early_are_counted_with_their_precision():
    job = {
        "mix": {"ops": [{"op": "read"}]},
        "region": {"size": {"fraction": 1.0}},
        "content": {},
        "until": {"time_ns": 600 * 10**9},
    }
    steps = {"precision": 0.02}
    note = only(run_view([Measured("twin:a", RATES)], [twin("a", "A")], job=job, step=steps))
    assert note.rule == "early-window"
    assert "ended 1 of 1 windows early, once" in note.text
    assert "known to 2 %" in note.text
    whole = job | {"until": {"time_ns": len(RATES) * 10**9}}
    assert notes(run_view([Measured("twin:a", RATES)], [twin("a", "A")], job=whole, step=steps)) == []


def test_windows_of_an_array_s_drives_are_not_counted_beside_its_own():
    drives = [twin("a*2", "2 x A"), twin("a*2#1", "A 1"), twin("a*2#2", "A 2")]
    for part in drives[1:]:
        part.part_of = drives[0].name
    measured = [Measured(drive.name, RATES, point={"window_s": 3.0}) for drive in drives]
    view = run_view(measured, drives, job=JOB | {"until": {"time_ns": 60 * 10**9}}, step={"precision": 0.01})
    assert any("ended 1 of 1 windows early, once" in note.text for note in notes(view))


@pytest.mark.parametrize(("window_s", "noted"), [(0.001, True), (0.98, True), (1.0, False)])
def test_a_window_below_a_second_is_noted_and_nothing_is_claimed_of_it(window_s: float, noted: bool):
    view = run_view([Measured(DEVICE, [1e6], point={"window_s": window_s, "steady": None})])
    assert [note.rule for note in notes(view)] == (["brief-window"] if noted else [])
    assert [*unsettled(view).values()] == ([Unsettled.BRIEF] if noted else [])


def test_of_several_windows_below_a_second_the_shortest_is_named_once_for_a_target():
    steps = {"a": 0.5, "b": 0.002, "c": 60.0}
    note = only(
        run_view([Measured(DEVICE, [1e6], step=step, point={"window_s": s}) for step, s in steps.items()])
    )
    assert (note.level, note.step) == ("warning", "b")
    assert "the window of 2 ms is shorter than a second; so is that of 1 more step" in note.text
    assert "measure for 5 s or more" in (note.next_step or "")


@pytest.mark.parametrize(
    ("asked_s", "ios", "noted"), [(0.001, 262, True), (0.05, 50_000, False), (60, 262, False)]
)
def test_a_short_window_of_a_twin_is_noted_only_where_the_method_asks_for_one_of_few_ios(
    asked_s: float, ios: int, noted: bool
):
    simulated = twin("samsung-pm9a3-7.68tb", "PM9A3")
    job = JOB | {"until": {"time_ns": round(asked_s * 1e9)}}
    point: Row = {"window_s": 0.001, "n": ios, "steady": None}
    view = run_view([Measured(simulated.name, [262.0], point=point, job=job)], [simulated])
    assert ("brief-window" in {note.rule for note in notes(view)}) == noted
