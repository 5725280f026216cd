"""Notes on write amplification that had not settled."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from judged_runs import JOB, Measured, Row, device, run_view, sample

from fathom.analysis.run_view import RunView
from fathom.analysis.validity import Note, notes
from fathom.load.resolve import resolve_targets
from fathom.method.method import parse_method
from fathom.session import Options, start_run

DEVICE = "/dev/nvme0n1"


def only(view: RunView) -> Note:
    found = notes(view)
    assert len(found) == 1, found
    return found[0]


WRITES = JOB | {"mix": {"ops": [{"op": "write"}]}, "pattern": {"kind": "uniform"}}


def writing(wafs: Sequence[float], *, capacities: float, steady: bool | None) -> RunView:
    """A step that writes so much of the device, with a WAF for each of its seconds."""
    iops = capacities * 10**12 / 4096 / len(wafs)
    step = Measured(DEVICE, [iops] * len(wafs), op="write", point={"waf": 2.0, "steady": steady})
    media: list[Row] = [
        sample("media_write_bytes", waf * int(iops) * 4096, unit="B") | {"start_s": float(i), "length_s": 1.0}
        for i, waf in enumerate(wafs)
    ]
    return run_view([step], [device(link_speed_gtps=None)], job=WRITES, telemetry=media)


def test_waf_of_a_pattern_that_has_hardly_begun_is_noted_with_what_was_written():
    note = only(writing([2.0] * 60, capacities=0.06, steady=None))
    assert note.rule == "unsettled-waf"
    assert note.text == (
        "WAF may not have settled: 0.06x of its region was written since its pattern began, so the figure may still "
        "change"
    )


def test_a_region_of_an_array_is_that_part_of_each_of_its_drives():
    total = device("twin:a*4", "4 x A").model_copy(update={"kind": "twin", "capacity_bytes": 4 * 10**12})
    parts = [total.model_copy(update={"name": f"twin:a*4#{n}", "part_of": total.name}) for n in range(1, 5)]
    region = WRITES | {"region": {"size": {"bytes": 10**12}}}
    written = Measured(total.name, [2e12 / 4096 / 60] * 60, op="write", point={"waf": 2.0, "steady": None})
    [note] = [
        one for one in notes(run_view([written], [total, *parts], job=region)) if one.rule == "unsettled-waf"
    ]
    assert "0.5x of its region was written" in note.text


def test_waf_that_moves_over_its_window_is_noted_even_after_a_steady_precondition():
    note = only(writing(list(np.linspace(2.0, 2.4, 60)), capacities=0.06, steady=True))
    assert note.rule == "unsettled-waf"
    assert note.text == "WAF had not settled: it moves by +17 % over the window. The figure is still changing"


@pytest.mark.parametrize(("capacities", "steady"), [(1.1, None), (0.06, True)])
def test_settled_waf_has_no_note(capacities: float, steady: bool | None):
    assert notes(writing([2.0, 2.02] * 30, capacities=capacities, steady=steady)) == []


def test_writes_that_all_wait_in_a_buffer_have_no_waf_and_a_note_that_says_why(tmp_path: Path) -> None:
    method = """
schema = "fathom-method/1"
name = "writes"
title = "Writes"
summary = "Few writes"
source = "this test"
[[steps]]
name = "write"
workload = "4k-rand-write"
label = "4 KiB random write"
job = { mix = "write", block = "4KiB", pattern = "uniform", load = { iodepth = 1 }, until = { count = 20 } }
"""
    targets = resolve_targets(["twin:samsung-pm9a3-7.68tb"])
    run = start_run(parse_method(method, "writes.toml"), targets, Options(out=tmp_path))
    [point] = run.points.to_pylist()
    assert (point["n"], point["waf"], point["waf_low"]) == (20, None, None)
    [note] = [note for note in run.notes if note.rule == "unsettled-waf"]
    assert note.text == "WAF is not known: all that the window wrote still waited in a buffer"
