"""Sentences about the latency that a system adds claim only figures of targets that had settled."""

from pathlib import Path

import pytest

import fathom
from fathom.report.added_loads import Measured
from fathom.report.added_pairs import Added, no_pair, pairs_of
from fathom.report.comparison import compare
from fathom.report.data import load
from fathom.report.findings import Gate, gate
from fathom.report.sections import added_latency

STEP = """
[[steps]]
name = "4k-rand-read-{name}"
workload = "4k-rand-read-{name}"
[steps.job]
mix = "read"
block = "4KiB"
pattern = "uniform"
load = {{ threads = {threads}, iodepth = 32 }}
until = {{ time = "50ms" }}
"""
METHOD = 'schema = "fathom-method/1"\nname = "small"\nkey_figure = "added-latency"\n' + "".join(
    STEP.format(name=f"{threads}x32", threads=threads) for threads in (1, 6)
)


@pytest.mark.parametrize("settled", [False, True])
def test_what_a_system_adds_is_claimed_only_where_both_had_settled(settled: bool, tmp_path: Path) -> None:
    keys = "?settled_share=1" if settled else ""
    targets = [f"twin:samsung-pm1743-7.68tb{keys}", f"twin:samsung-pm9a3-7.68tb{keys}"]
    run = fathom.run(METHOD, targets, out=tmp_path)
    section = added_latency.build(compare([load(run.path)]))
    assert section is not None
    told = " ".join(section.answer)
    assert ("the system adds most to" in told) is settled
    assert ("Its maximum is" in told) is settled
    assert ("no figure of those is claimed" in told) is not settled


def test_the_reason_names_the_side_alone_that_had_not_settled(tmp_path: Path) -> None:
    targets = ["twin:samsung-pm1743-7.68tb?settled_share=1", "twin:samsung-pm9a3-7.68tb"]
    pairs, columns, out = _pairs(targets, tmp_path)
    assert pairs
    sentence = no_pair(pairs, columns, out)
    assert (
        sentence == "Samsung PM9A3 7.68TB had not settled at the loads shown, so no added latency is claimed."
    )


def _pairs(targets: list[str], folder: Path) -> tuple[list[Added], list[Measured], Gate]:
    comparison = compare([load(fathom.run(METHOD, targets, out=folder).path)])
    system, drive = map(Measured, comparison.columns)
    return pairs_of(system, drive), [system, drive], gate(comparison)


def test_a_maximum_is_that_of_the_loads_claimed_where_others_are_not(tmp_path: Path) -> None:
    run = fathom.run(METHOD, "twin:samsung-pm9a3-7.68tb?settled_share=1", out=tmp_path)
    section = added_latency.build(compare([load(run.path)]))
    assert section is not None
    assert section.answer[0].startswith("Its maximum is")
    assert "published" not in section.answer[0], "its source gives no rate of a single job"
    system = Measured(compare([load(run.path)]).columns[0], {"4k-rand-read-6x32"})
    assert added_latency.reached(system)[0].startswith("Its maximum over the loads that are claimed is")
