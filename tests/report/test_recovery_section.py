"""Recovery: what is said of a drive that comes back to a rate, and when the rate is not claimed."""

from pathlib import Path

import pytest

import fathom
from fathom.report.blocks import Figure
from fathom.report.comparison import compare
from fathom.report.data import load
from fathom.report.sections import recovery
from fathom.report.sections.recovery import recovered_s

METHOD = """
schema = "fathom-method/1"
name = "back-again"
key_figure = "recovery"
%s
[[steps]]
name = "before"
workload = "seq"
[steps.job]
mix = "write"
block = "1MiB"
pattern = "sequential"
load = { iodepth = 8, rate = "200/s" }
until = { time = "2s" }

[[steps]]
name = "between"
job = { mix = "write", block = "8KiB", pattern = "uniform", load = { iodepth = 16 }, until = { time = "2s" } }

[[steps]]
name = "after"
workload = "seq"
[steps.job]
mix = "write"
block = "1MiB"
pattern = "sequential"
load = { iodepth = 8, rate = "200/s" }
until = { time = "4s" }
"""
FILL = """
[[steps]]
name = "fill"
kind = "fill"
job = { mix = "write", block = "128KiB", pattern = "sequential", load = { iodepth = 32 }, until = { written = "2x" } }
"""
NAME = "Samsung PM9A3"
WHY = f"{NAME}: the run had left part of its region unwritten."


@pytest.mark.parametrize("filled", [True, False])
def test_a_rate_of_a_drive_that_was_not_filled_is_no_rate_to_be_back_at(tmp_path: Path, filled: bool) -> None:
    method = tmp_path / "back-again.toml"
    method.write_text(METHOD % (FILL if filled else ""))
    run = fathom.run(str(method), "twin:samsung-pm9a3-7.68tb", out=tmp_path)
    section = recovery.build(compare([load(run.path)]))
    assert section is not None
    assert section.key_figure is not None
    key = section.key_figure
    assert key.sentence.startswith(NAME if filled else f"{NAME} had not settled: it ")
    assert (" had not settled" in key.sentence) is not filled
    assert (WHY in key.reasons) is not filled


def test_the_rate_of_a_mix_of_sizes_is_the_bytes_that_it_moves(tmp_path: Path) -> None:
    method = tmp_path / "back-again.toml"
    sizes = '[{ size = "64KiB", share = 50 }, { size = "1MiB", share = 50 }]'
    method.write_text((METHOD % FILL).replace('block = "1MiB"', f"block = {sizes}"))
    run = load(fathom.run(str(method), "twin:samsung-pm9a3-7.68tb", out=tmp_path).path)
    section = recovery.build(compare([run]))
    assert section is not None
    assert section.key_figure is not None
    figure = section.key_figure.block
    assert isinstance(figure, Figure)
    assert figure.data is not None
    shown = {row.label.text: row.cells[0].text for row in figure.data.groups[0].rows}
    measured = next(point.mbps for point in run.points if point.step == "before")
    assert float(shown["seq"]) == pytest.approx(measured, rel=0.2)


@pytest.mark.parametrize(
    ("after", "expected_s"),
    [
        ([100.0] * 30, 0.0),
        ([40.0, 60.0, 80.0, *[100.0] * 27], 3.0),
        ([100.0, 40.0] * 15, None),
        ([95.0, *[20.0] * 9, *[100.0] * 20], 10.0),
        ([*[100.0] * 15, *[30.0] * 15], None),
        ([*[100.0] * 20, 0.0, *[100.0] * 9], 0.0),
        ([*[70.0] * 29, 100.0], None),
        ([100.0] * 4, 0.0),
    ],
    ids=[
        "as before",
        "three slow seconds",
        "every other second is slow",
        "one fast second before slow ones",
        "slow from the middle on",
        "one second without I/O later",
        "fast in the last second alone",
        "a step of four seconds",
    ],
)
def test_a_drive_has_recovered_once_it_keeps_the_rate_in_the_mean(
    after: list[float], expected_s: float | None
) -> None:
    assert recovered_s([(float(at_s), rate) for at_s, rate in enumerate(after)], 100.0) == expected_s
