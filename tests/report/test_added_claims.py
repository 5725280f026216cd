"""Sentences about the latency that a system adds claim only figures of targets that had settled."""

from pathlib import Path

import pytest

import fathom
from fathom.report.comparison import compare
from fathom.report.data import load
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
