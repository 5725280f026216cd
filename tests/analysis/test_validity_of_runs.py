"""Validity notes on a run as a whole: how it ended, whether it was shortened, and what its load generator remarked."""

import ast
import errno
import json
import os
from pathlib import Path

import pytest
from judged_runs import (
    DEVICE,
    ENVIRONMENT,
    only,
    sample,
    sound,
)

import fathom
from fathom import _core
from fathom.analysis.run_view import Remark
from fathom.analysis.validity import notes, of_figures, of_run
from fathom.runs.remarks import (
    CpuWait,
    DoubtfulTimes,
    Fact,
    FailedIo,
    Fallback,
    LateArrivals,
    LeftOut,
    LostIo,
    Refused,
    ShortWindow,
    StoodStill,
    Stopped,
    UncountedArrivals,
    Words,
    facts_of,
)
from fathom.targets.not_measured import NotMeasured, Quantity
from fathom.traces.clock import Doubt, TimesFault


def test_a_quick_run_says_by_how_much_it_was_shortened():
    note = only(sound(quick=True))
    assert (note.rule, note.level) == ("quick-run", "warning")
    assert "divided by 12, volumes by 2" in note.text


def test_an_interrupted_run_says_how_to_go_on():
    assert "fathom resume 20261120-231500-m-0001" in only(sound(status="interrupted")).next_step


EVERY_FACT: list[Fact] = [
    FailedIo(errno=5, n=2),
    FailedIo(errno=errno.EILSEQ, n=1),
    LostIo(n=1, waited_ns=1, age_ns=1),
    Refused(op="write", offset_bytes=0, size_bytes=1, about="full"),
    LateArrivals(mean_ns=1e5),
    UncountedArrivals(thread_ns=1),
    CpuWait(share=0.5),
    StoodStill(still_ns=3 * 10**9),
    Fallback(reason="EPERM"),
    LeftOut(reason="no handles"),
    ShortWindow(window_s=1, asked_s=2),
    Stopped(window_s=1),
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


@pytest.mark.parametrize(("late_us", "said"), [(90, "90 us"), (2061, "2.06 ms"), (1_234_567, "1.23 s")])
def test_how_late_arrivals_were_has_the_unit_of_other_latencies(late_us: int, said: str):
    note = only(sound(remarks=[Remark(DEVICE, "step", LateArrivals(mean_ns=1000 * late_us))]))
    assert f"issued arrivals {said} late on average" in note.text


@pytest.mark.parametrize(
    ("cores", "do"),
    [
        (8, "stop other programs on this machine"),
        (2, "8 load threads share 2 cores: load with fewer, each with a larger iodepth"),
    ],
)
def test_load_threads_that_wait_for_each_other_are_not_put_down_to_other_programs(cores: int, do: str):
    remarks = [Remark(DEVICE, "4k-rand-read", CpuWait(share=0.4))]
    note = only(sound(remarks=remarks, environment=ENVIRONMENT | {"threads_allowed": cores}))
    assert (note.rule, note.next_step) == ("cpu-wait", do)
    assert "other program" not in note.text


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
