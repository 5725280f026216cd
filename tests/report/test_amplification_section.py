"""Write amplification in the report: from a twin's counters, step by step."""

from pathlib import Path
from typing import cast

import numpy as np
import pytest

import fathom
from fathom.analysis.settled import Unsettled
from fathom.report.comparison import compare
from fathom.report.data import load
from fathom.report.sections import amplification
from fathom.report.waf import waf_interval

METHOD = """
schema = "fathom-method/1"
name = "waf"
[[steps]]
name = "first"
job = { mix = "write", block = "4KiB", pattern = "uniform", load = { iodepth = 8 }, until = { time = "2s" } }
[[steps]]
name = "second"
job = { mix = "write", block = "4KiB", pattern = "sequential", load = { iodepth = 8 }, until = { time = "2s" } }
"""


def test_waf_of_the_section_is_that_of_the_counters(tmp_path: Path) -> None:
    method = tmp_path / "waf.toml"
    method.write_text(METHOD)
    run = fathom.run(str(method), "twin:samsung-pm9a3-7.68tb", out=tmp_path)
    data = load(run.path)
    section = amplification.build(compare([data], lambda *_: ()))
    assert section is not None
    rows = section.blocks[0].data.groups[0].rows  # pyright: ignore[reportAttributeAccessIssue]
    for point, row in zip(data.points, rows, strict=True):
        samples = data.written(point.target)[point.step]
        media, host = sum(one[2] for one in samples), sum(one[1] for one in samples)
        assert media / host == pytest.approx(point.waf)
        assert row.cells[0].text == amplification.grouped(point.waf or 0.0)
    years = float(rows[0].cells[3].text)
    assert years == pytest.approx(14_016e12 / (data.points[0].mbps or 0) / 1e6 / 86_400 / 365, abs=0.006)


def test_the_waf_of_a_window_below_a_second_is_drawn_over_it(tmp_path: Path) -> None:
    method = tmp_path / "waf.toml"
    method.write_text(METHOD.replace('"2s"', '"500ms"'))
    run = fathom.run(str(method), "twin:samsung-pm9a3-7.68tb", out=tmp_path)
    section = amplification.build(compare([load(run.path)], lambda *_: ()))
    assert section is not None
    [chart] = section.blocks[0].charts  # pyright: ignore[reportAttributeAccessIssue]
    [line] = cast("list[dict[str, list[list[float | None]]]]", chart.option["series"])
    points = line["data"]
    assert [at_s for at_s, _ in points] == [0.0, 0.5, 0.5, 0.5, 1.0, 1.0]
    assert [waf is None for _, waf in points] == [False, False, True] * 2


@pytest.mark.parametrize("filled", [False, True])
def test_no_write_amplification_is_claimed_of_a_drive_that_was_not_filled(
    filled: bool, tmp_path: Path
) -> None:
    method = tmp_path / "waf.toml"
    method.write_text(METHOD.replace('name = "waf"', 'name = "waf"\nkey_figure = "amplification"'))
    target = "twin:samsung-pm9a3-7.68tb" + ("?settled_share=1" if filled else "")
    run = fathom.run(str(method), target, out=tmp_path)
    section = amplification.build(compare([load(run.path)], lambda *_: ()))
    assert section is not None
    assert section.key_figure is not None
    no_claim = "No target had settled, so no write amplification is claimed."
    assert (section.key_figure.sentence == no_claim) is not filled
    assert bool(section.answer) is filled


@pytest.mark.parametrize(("why", "claimed"), [(Unsettled.MACHINE_BUSY, True), (Unsettled.NOT_FILLED, False)])
def test_what_speaks_against_the_rate_alone_leaves_the_write_amplification(
    why: Unsettled, claimed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    method = tmp_path / "waf.toml"
    method.write_text(METHOD.replace('name = "waf"', 'name = "waf"\nkey_figure = "amplification"'))
    run = fathom.run(str(method), "twin:samsung-pm9a3-7.68tb?settled_share=1", out=tmp_path)
    data = load(run.path)
    found = compare([data], lambda *_: ())
    out = {(found.columns[0].short, step): why for step in ("first", "second")}
    monkeypatch.setattr(amplification, "gate", lambda _: out)
    section = amplification.build(found)
    assert section is not None
    assert bool(section.answer) is claimed


def test_one_step_alone_makes_no_section(tmp_path: Path) -> None:
    method = tmp_path / "waf.toml"
    method.write_text(METHOD[: METHOD.rindex("[[steps]]")])
    run = fathom.run(str(method), "twin:samsung-pm9a3-7.68tb", out=tmp_path)
    assert amplification.build(compare([load(run.path)], lambda *_: ())) is None


def test_the_interval_of_waf_is_that_of_a_ratio_and_not_of_the_rate() -> None:
    """Host writes that halve and double leave the ratio alone; 1 % of noise in the media writes moves it."""
    rng = np.random.default_rng(3)
    host = [float(value) for value in rng.uniform(1e8, 4e8, 101)]
    exact = waf_interval([(i, one, 3 * one) for i, one in enumerate(host)])
    assert exact is not None
    assert exact[1] - exact[0] < 1e-9
    noisy = [(i, 2e8, 6e8 * (1 + 0.01 * rng.standard_normal())) for i in range(101)]
    found = waf_interval(noisy)
    assert found is not None
    low, high = found
    assert low < 3 < high
    assert high - low == pytest.approx(2 * 1.98 * 0.03 / 10, rel=0.3)
    assert waf_interval(noisy[:1]) is None
