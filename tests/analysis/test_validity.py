"""Validity notes: a sound run has none, and each thing that can be wrong is said with its figure and the next step."""

import ast
import errno
import json
import os
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
    device,
    only,
    run_view,
    sample,
    sound,
    twin,
)

import fathom
from fathom import _core
from fathom.analysis.run_view import Remark
from fathom.analysis.validity import link_mbps, notes, of_figures, of_run
from fathom.runs.remarks import (
    CpuWait,
    DoubtfulTimes,
    Fact,
    FailedIo,
    Fallback,
    Fault,
    LateArrivals,
    LeftOut,
    LostIo,
    Refused,
    ShortWindow,
    UncountedArrivals,
    Words,
    facts_of,
)
from fathom.targets.not_measured import NotMeasured, Quantity
from fathom.traces.clock import Doubt, TimesFault


def uneven(rates: Sequence[float]) -> list[float]:
    """The rates with 1 % of noise."""
    return list(np.array(rates) * (1 + 0.01 * np.random.default_rng(1).standard_normal(len(rates))))


def test_a_sound_run_has_no_notes():
    assert notes(sound()) == []


def test_a_quick_run_says_by_how_much_it_was_shortened():
    note = only(sound(quick=True))
    assert (note.rule, note.level) == ("quick-run", "warning")
    assert "divided by 12, volumes by 2" in note.text


def test_an_interrupted_run_says_how_to_go_on():
    assert "fathom resume 20261120-231500-m-0001" in only(sound(status="interrupted")).next_step


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


def test_the_governor_is_noted_for_hardware_only():
    slow = ENVIRONMENT | {"governor": "powersave"}
    assert only(sound(environment=slow)).rule == "governor"
    assert notes(run_view([Measured("twin:a", RATES)], [twin("a", "A")], environment=slow)) == []


def test_a_power_state_that_drives_were_held_in_is_noted_with_its_limit():
    held = ENVIRONMENT | {"power_state": {"number": 2, "most_w": {"nvme0n1": 8.25}, "before": {"nvme0n1": 0}}}
    note = only(sound(environment=held))
    assert note.rule == "power-state"
    assert note.text == "the drives were held in power state 2 for this run: nvme0n1 may draw 8.25 W at most"


def test_a_link_below_its_maximum_is_noted_with_both():
    slow = device(link_width_lanes=2)
    note = only(run_view([Measured(DEVICE, [500_000.0] * 60)], [slow]))
    assert note.rule == "link-below-maximum"
    assert "16 GT/s x2, but the drive supports 16 GT/s x4" in note.text


def test_more_bytes_than_the_link_carries_are_an_error():
    assert link_mbps(device()) == pytest.approx(7877, abs=1)
    note = only(run_view([Measured(DEVICE, [40_000.0] * 60, block_bytes=262_144)]))
    assert (note.rule, note.level) == ("beyond-link", "error")


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


def test_failed_io_comes_first_as_an_error():
    found = notes(sound(errors=3, quick=True))
    assert [note.rule for note in found] == ["errors", "quick-run"]
    assert "3 I/Os failed" in found[0].text


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


EVERY_FACT: list[Fact] = [
    FailedIo(errno=5, n=2),
    FailedIo(errno=errno.EILSEQ, n=1),
    LostIo(n=1, waited_ns=1, age_ns=1),
    Refused(op="write", offset_bytes=0, size_bytes=1, about="full"),
    LateArrivals(mean_ns=1e5),
    UncountedArrivals(thread_ns=1),
    CpuWait(share=0.5),
    Fallback(reason="EPERM"),
    LeftOut(reason="no handles"),
    ShortWindow(window_s=1, asked_s=2),
    DoubtfulTimes(doubt=Doubt(fault=TimesFault.COARSE, step_ns=10**9, ios_at_once=400)),
    Words(
        text="I/O failed: the data read are not those written; load threads waited 31 %; step x left out: y"
    ),
]


def test_every_kind_of_fact_is_among_those_tried():
    assert {type(fact) for fact in EVERY_FACT} == set(Fact.__args__)


@pytest.mark.parametrize("fact", EVERY_FACT, ids=lambda fact: fact.code)
def test_no_rule_reads_the_words_of_a_fact(fact: Fact, monkeypatch: pytest.MonkeyPatch):
    view = sound(errors=3, remarks=[Remark(DEVICE, "4k-rand-read", fact)])
    before = [(note.rule, note.level, note.target, note.step) for note in notes(view)]
    for module in (of_figures, of_run):
        monkeypatch.setattr(module, "in_words", lambda fact: "x")
    after = [(note.rule, note.level, note.target, note.step) for note in notes(view)]
    assert before == after
    if isinstance(fact, Words):
        assert [rule for rule, *_ in before] == ["errors", "load-generator"]


def test_only_the_module_of_words_reads_what_rust_says_in_words():
    """A rule that matched a recording's notes or a remark's words would hang on how they are put."""
    package = Path(fathom.__file__).parent
    for path in package.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                read = f"{node.value.id}.{node.attr}"
                told = read in ("recording.notes", "remark.text", "fact.text")
                assert not told or path.name == "remarks.py", f"{path}:{node.lineno}: {read}"


def test_percentiles_that_are_left_out_say_how_many_ios_they_take():
    text = only(run_view([Measured(DEVICE, [1000.0] * 15)])).text
    assert "p99.99 in 1 step (needs 1,000,000 I/Os), p99.9 in 1 step (needs 100,000 I/Os)" in text
    assert text.endswith("this step has the fewest I/Os, 15,000")


def test_five_nines_are_missed_only_where_a_step_was_made_to_tell_them():
    six_million = [Measured(DEVICE, [100_000.0] * 60)]
    assert notes(run_view(six_million)) == []
    note = only(run_view(six_million, step={"percentile": 99.999 / 100}))
    assert "p99.999 in 1 step (needs 10,000,000 I/Os)" in note.text


def test_what_was_not_steady_is_noted():
    assert only(run_view([Measured(DEVICE, RATES, point={"steady": False})])).rule == "not-steady"
    assert notes(run_view([Measured(DEVICE, RATES, point={"steady": None})])) == []


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


def test_a_fallback_from_io_uring_is_said_once_for_all_steps():
    fact = Fallback(reason="EPERM")
    remarks = [Remark(DEVICE, "4k-rand-read", fact), Remark(DEVICE, "fill", fact)]
    note = only(sound(remarks=remarks))
    assert (note.rule, note.step) == ("io-uring-fallback", None)
    assert "instead of io_uring (EPERM)" in note.text


def test_an_engine_whose_threads_wait_for_cores_says_so_with_their_share():
    job = {"mix": "read", "block": "4KiB", "pattern": "uniform", "until": {"time": "500ms"}}
    job["load"] = {"threads": min(4 * (os.cpu_count() or 1), 1024), "iodepth": 1}
    handle = _core.start_engine(_core.Job(json.dumps(job)), [_core.EngineTarget("null:", "null", 1 << 30)], 1)
    while not handle.done():
        handle.poll()
    [fact] = [fact for fact in facts_of(handle.result()[0]) if isinstance(fact, CpuWait)]
    assert 0.05 < fact.share < 1


def test_waits_for_cores_are_one_note_a_target_of_the_worst_step():
    shares = {"4k-rand-read": 0.09, "fill": 0.31, "4k-rand-write": 0.12}
    remarks = [Remark(DEVICE, step, CpuWait(share=share)) for step, share in shares.items()]
    note = only(sound(remarks=remarks))
    assert (note.rule, note.step) == ("cpu-wait", "fill")
    assert note.text.startswith("load threads waited 31 %")
    assert "2 other steps" in note.text


def test_late_arrivals_are_one_note_a_target_of_the_worst_step():
    remarks = [Remark(DEVICE, f"{us}-late", LateArrivals(mean_ns=1000 * us)) for us in (12, 90, 31)]
    note = only(sound(remarks=remarks))
    assert (note.rule, note.step) == ("cpu-wait", "90-late")
    assert note.text.startswith("the load generator itself issued arrivals 90 us late")
    assert note.text.endswith("less in 2 other steps")


def test_a_machine_without_processor_time_is_one_note_with_every_figure_that_tells_it():
    said = CpuWait(share=0.55)
    busy = sample("cpu_busy", 99.0, unit="%")
    view = sound(
        telemetry=[{**busy, "target": None, "step": "4k-rand-read"}], remarks=[Remark(DEVICE, "fill", said)]
    )
    note = only(view)
    assert (note.rule, note.step) == ("client-limits", "4k-rand-read")
    assert "had its processors 99 % busy. From the same cause: in fill, load threads waited 55 %" in note.text
    assert "stop other programs on this machine" in note.next_step
    assert "load from more or faster hosts" in note.next_step


def test_a_note_of_one_cause_does_not_name_its_own_step_again():
    busy = sample("cpu_busy", 99.0, unit="%")
    view = sound(
        telemetry=[{**busy, "target": None, "step": "4k-rand-read"}],
        remarks=[Remark(DEVICE, "4k-rand-read", CpuWait(share=0.55))],
    )
    note = only(view)
    assert note.step == "4k-rand-read"
    assert "From the same cause: load threads waited 55 %" in note.text


def test_steps_left_out_for_one_reason_are_one_note_a_target():
    reasons = {"fill-log": "no handles", "fill-small": "no handles", "purge": "a file cannot be purged"}
    remarks = [Remark(DEVICE, step, LeftOut(reason=why)) for step, why in reasons.items()]
    found = notes(sound(remarks=remarks))
    assert {note.rule for note in found} == {"left-out"}
    assert [note.text for note in found] == [
        "steps fill-log; fill-small left out: no handles",
        "step purge left out: a file cannot be purged",
    ]


def test_a_step_left_out_of_every_round_is_named_once_as_tables_name_it():
    names = [f"iops.{number:02}.rnd-512b-r0" for number in (1, 2, 3)]
    remarks = [Remark(DEVICE, name, LeftOut(reason="blocks of 4 KiB")) for name in names]
    view = sound(remarks=remarks)
    steps = [
        {"name": name, "round": {"of": "iops", "step": "rnd-512b-r0", "number": number}}
        for number, name in enumerate(names, 1)
    ]
    view.document.method.parsed["steps"] = [*view.named.values(), *steps]  # pyright: ignore[reportArgumentType]
    view.__dict__.pop("named")
    assert only(view).text == "step iops, rnd-512b-r0 left out: blocks of 4 KiB"


def test_what_nobody_could_sample_is_said_once_for_a_target_with_its_reasons():
    not_measured = [
        NotMeasured(Quantity.ENERGY, "the drive has no power sensor", DEVICE),
        NotMeasured(Quantity.CPU_ENERGY, "no RAPL"),
    ]
    note = only(sound(not_measured={DEVICE: not_measured}))
    assert (note.rule, note.level, note.target) == ("not-measured", "info", DEVICE)
    assert note.text.endswith("energy (the drive has no power sensor); CPU package energy (no RAPL)")


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
