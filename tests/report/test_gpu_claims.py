"""Sentences on drives that feed a GPU claim only rates of targets that support a claim."""

import re
from pathlib import Path

import pytest

import fathom
from fathom.report.blocks import Figure
from fathom.report.comparison import compare
from fathom.report.data import load
from fathom.report.sections import gpu_feed

STEP = """
[[steps]]
name = "{name}"
workload = "{name}"
[steps.job]
mix = "read"
block = "1MiB"
pattern = "{pattern}"
load = {{ threads = 1, iodepth = 32 }}
until = {{ time = "200ms" }}
"""
METHOD = 'schema = "fathom-method/1"\nname = "small"\nkey_figure = "gpu-feed"\n' + "".join(
    STEP.format(name=name, pattern=pattern)
    for name, pattern in (("1m-seq-read", "sequential"), ("1m-brick-read", "uniform"))
)


@pytest.mark.parametrize("settled", [False, True])
def test_drives_are_counted_only_for_a_rate_that_is_claimed(settled: bool, tmp_path: Path) -> None:
    target = f"twin:samsung-pm9a3-7.68tb{'?settled_share=1' * settled}"
    section = gpu_feed.build(compare([load(fathom.run(METHOD, target, out=tmp_path).path)]))
    assert section is not None
    assert section.key_figure is not None
    told = " ".join(section.answer)
    assert ("reach the 64 GB/s published" in told) is settled
    assert ("reading in sequence" in told) is settled
    reason = "and had not settled (the run had left part of its region unwritten), so no number of drives is claimed."
    assert (reason in told) is not settled
    none = "No target had settled, so no number of drives is claimed."
    assert (section.key_figure.sentence == none) is not settled


def test_the_numbers_of_slow_drives_make_no_longer_table_and_their_rate_is_not_read_as_none(
    tmp_path: Path,
) -> None:
    slow = METHOD.replace("iodepth = 32 }", 'iodepth = 32, rate = "5/s" }').replace("200ms", "5s")
    section = gpu_feed.build(compare([load(fathom.run(slow, "twin:toshiba-mg11-24tb", out=tmp_path).path)]))
    assert section is not None
    assert section.key_figure is not None
    figure = section.key_figure.block
    assert isinstance(figure, Figure)
    assert len(figure.data.groups[0].rows) <= gpu_feed.MOST_COUNTS
    assert "each sustains 0.00" in section.key_figure.sentence
    assert "sustains 0.00 GB/s" not in section.answer[0]


def test_the_rate_of_a_headline_has_the_digits_that_the_terminal_prints(tmp_path: Path) -> None:
    targets = [
        f"twin:{name}?settled_share=1" for name in ("wd-ultrastar-dc-sn861-7.68tb", "kioxia-cm7-r-7.68tb")
    ]
    section = gpu_feed.build(compare([load(fathom.run(METHOD, targets, out=tmp_path).path)]))
    assert section is not None
    assert section.key_figure is not None
    told = " ".join((section.key_figure.sentence, *section.key_figure.reasons))
    printed = re.findall(r"sustains ([0-9.]+) GB/s", " ".join(section.answer))
    assert len(printed) == len(targets)
    assert sorted(re.findall(r"(?:sustains|at) ([0-9.]+) GB/s(?: each)?\.", told)) == sorted(printed)


def test_an_array_is_counted_as_arrays_and_never_as_its_drives(tmp_path: Path) -> None:
    run = fathom.run(METHOD, "twin:wd-ultrastar-dc-sn861-7.68tb?settled_share=1*2", out=tmp_path)
    section = gpu_feed.build(compare([load(run.path)]))
    assert section is not None
    assert section.key_figure is not None
    assert section.key_figure.sentence.startswith("3 arrays of 2 x ")
    assert ": 3 arrays reach the 64 GB/s" in section.answer[0]
