from collections.abc import Sequence
from dataclasses import replace
from math import isclose
from pathlib import Path
from typing import Literal, get_args

import pytest

from fathom._core import Job
from fathom.catalog import device_names, load_device
from fathom.prediction.interval import (
    COVERAGE,
    FAR,
    Blocks,
    Spread,
    blocks_of,
    coverage,
    kept_record,
    known_device,
    order_chance,
    refuted,
    spread_of,
    spread_without,
    tried_spread,
)
from fathom.prediction.misses import DeviceMisses, Family, Miss, digest_of, misses_toml, shipped_misses
from fathom.prediction.words import record_words, spread_words
from fathom.statistics.conformal import two_sided_p
from fathom.validation.systems import every_case

SMALL, MIDDLE, LARGE = 4096, 16384, 262144
PAGE_ROWS: Sequence[tuple[str, Sequence[Family], Blocks | None]] = (
    ("all", get_args(Family), None),
    ("SSDs, up to 8 KiB", ("ssd",), "up to 8 KiB"),
    ("SSDs, above 8 KiB, below 128 KiB", ("ssd",), "above 8 KiB, below 128 KiB"),
    ("SSDs, several sizes", ("ssd",), "several sizes"),
    ("systems, up to 8 KiB", ("system",), "up to 8 KiB"),
    ("systems, from 128 KiB", ("system",), "from 128 KiB"),
    ("SSDs fitted to a data sheet, up to 8 KiB", ("data-sheet-ssd",), "up to 8 KiB"),
    (
        "SSDs fitted to a data sheet, above 8 KiB, below 128 KiB",
        ("data-sheet-ssd",),
        "above 8 KiB, below 128 KiB",
    ),
    ("SSDs fitted to a data sheet, from 128 KiB", ("data-sheet-ssd",), "from 128 KiB"),
)
"""Rows of the table in docs/explanation/uncertainty.md."""


def device(name: str, ratios: list[float], block: int | None = SMALL) -> DeviceMisses:
    rows = tuple(
        Miss(workload="w", metric="iops", role="validation", block_bytes=block, ratio=ratio)
        for ratio in ratios
    )
    return DeviceMisses(name=name, family="ssd", digest="0", rows=rows)


@pytest.mark.parametrize("left_out", ["device", "row"])
def test_intervals_of_80_percent_hold_75_to_85_percent_of_all_predicted_rates(
    left_out: Literal["device", "row"],
):
    found = coverage(shipped_misses(), left_out=left_out)
    assert found is not None
    assert found.rows >= 80
    assert 0.75 <= found.share <= 0.85
    assert two_sided_p(found.held, found.rows, COVERAGE) > 0.05


@pytest.mark.parametrize("blocks", get_args(Blocks))
def test_no_class_of_blocks_holds_so_little_that_chance_cannot_explain_it(blocks: Blocks):
    found = coverage(shipped_misses(), blocks=blocks)
    assert found is not None
    assert found.share >= COVERAGE or two_sided_p(found.held, found.rows, COVERAGE) > 0.05


def test_intervals_are_narrower_than_a_fixed_30_percent():
    found = coverage(shipped_misses())
    assert found is not None
    assert found.median_factor < 1.3


def test_a_drive_s_own_published_figures_do_not_move_its_interval():
    own = load_device("samsung-pm9a3-7.68tb")
    known = shipped_misses()
    perfect = [
        one.model_copy(update={"rows": tuple(row.model_copy(update={"ratio": 1.0}) for row in one.rows)})
        if one.name == own.name
        else one
        for one in known
    ]
    assert spread_of(own, SMALL, known=perfect) == spread_of(own, SMALL, known=known)
    other = load_device("kioxia-cm7-r-7.68tb")
    assert spread_of(other, SMALL, known=perfect) != spread_of(other, SMALL, known=known)


def test_calibration_rows_and_figures_that_are_no_rates_teach_nothing():
    own = load_device("samsung-pm9a3-7.68tb")
    taught = device("a", [1.1] * 5)
    others = [
        row.model_copy(update=change)
        for row in taught.rows
        for change in ({"role": "calibration", "ratio": 9.0}, {"metric": "above_pct", "ratio": 9.0})
    ]
    more = taught.model_copy(update={"rows": (*taught.rows, *others)})
    spread = spread_of(own, SMALL, known=[more])
    assert spread is not None
    assert isclose(spread.factor, 1.1)
    assert spread.rows == 5


def test_a_class_of_blocks_learns_from_itself_and_from_all_where_it_has_too_few_rows():
    own = load_device("samsung-pm9a3-7.68tb")
    known = [device("a", [1.1] * 5), device("b", [1.9] * 4, MIDDLE), device("c", [1.2] * 2, LARGE)]
    small, middle, large = (spread_of(own, block, known=known) for block in (SMALL, MIDDLE, LARGE))
    assert small
    assert middle
    assert large
    assert (round(small.factor, 3), small.rows, small.of_class) == (1.1, 5, True)
    assert (round(middle.factor, 3), middle.rows, middle.of_class) == (1.9, 4, True)
    assert (large.rows, large.of_class) == (11, False)
    assert "any size" in spread_words(large)


def test_the_order_of_two_rates_is_as_likely_as_pairs_of_misses_leave_it():
    own = load_device("samsung-pm9a3-7.68tb")
    one = spread_of(own, SMALL, known=[device("a", [0.8, 1.0, 1.0, 1.25])])
    assert one is not None
    assert order_chance(2.0, one, one) == 1.0
    assert order_chance(1.2, one, None) == pytest.approx(3 / 4)
    assert order_chance(1.2, None, one) == pytest.approx(3 / 4)
    assert order_chance(1.2, one, one) == pytest.approx(11 / 16)
    assert order_chance(2.0, None, None) is None


def test_a_family_of_which_too_little_is_published_has_no_interval():
    assert spread_of(load_device("wd-ultrastar-dc-hc560-20tb"), SMALL) is None


def test_a_device_whose_own_published_rates_refute_its_interval_has_none():
    own = load_device("samsung-pm9a3-7.68tb")
    others = device("a", [1.1] * 30)
    far, near = (device(own.name, [1.3] * 4 + [1.0] * inside) for inside in (3, 6))
    assert spread_of(own, SMALL, known=[others, far]) is None, "3 of 7: 3 % by chance"
    assert tried_spread(own, SMALL, known=[others, far]) is not None
    assert spread_of(own, SMALL, known=[others, near]) is not None, "6 of 10: 12 % by chance"
    assert refuted(load_device("atto-xstreamcore-9400"))
    assert not refuted(own)


def test_a_device_that_this_catalogue_does_not_know_is_none():
    assert known_device("samsung-pm9a3-7.68tb") == load_device("samsung-pm9a3-7.68tb")
    assert known_device("no-such-drive") is None
    assert known_device(None) is None


def test_the_interval_holds_the_rates_between_its_bounds():
    spread = spread_of(load_device("samsung-pm9a3-7.68tb"), SMALL, known=[device("a", [1.25] * 30)])
    assert spread is not None
    assert spread.around(100.0) == pytest.approx((80.0, 125.0))
    assert [spread.holds(ratio) for ratio in (0.75, 0.85, 1.2, 1.3)] == [False, True, True, False]
    assert [spread.is_far(ratio) for ratio in (0.75, 1.2, 1.3)] == [True, False, True]
    assert not replace(spread, far_factor=None).is_far(9.0)


@pytest.mark.parametrize("one", shipped_misses(), ids=lambda one: one.name)
def test_the_kept_misses_are_those_of_the_catalogue_s_present_twins(one: DeviceMisses):
    assert one.digest == digest_of(load_device(one.name)), "run `fathom validate --keep` again"
    names = {(case.row.workload, case.row.op, case.row.role) for case in every_case(load_device(one.name))}
    assert {(row.workload, row.op, row.role) for row in one.rows} <= names


def test_every_device_with_counted_rows_is_kept():
    kept = {one.name for one in shipped_misses()}
    for name in device_names():
        found = load_device(name)
        counted = [case for case in every_case(found) if case.trial and case.excluded is None]
        if found.twin and any(case.row.bound is None for case in counted):
            assert name in kept


def test_the_file_reads_back_as_it_was_written():
    import tomllib

    from fathom.prediction.misses import Misses

    assert Misses.model_validate(tomllib.loads(misses_toml(shipped_misses()))).device == shipped_misses()


def test_the_picture_in_the_documentation_shows_the_present_misses():
    import runpy

    tool = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "intervals_picture.py"))
    assert tool["PICTURE"].read_text() == tool["picture"]()


def test_the_page_on_predictions_has_the_present_counts():
    tree = Path(__file__).parents[2]
    page = (tree / "docs/explanation/uncertainty.md").read_text()
    whole = coverage(shipped_misses())
    assert whole is not None
    for label, families, blocks in PAGE_ROWS:
        found = coverage(shipped_misses(), families, blocks)
        assert found is not None
        ratios = [
            row.ratio
            for one in shipped_misses()
            if one.family in families
            for row in one.rows
            if row.role == "validation" and row.is_rate and blocks in (None, blocks_of(row.block_bytes))
            if spread_without(one.name, one.family, blocks_of(row.block_bytes), shipped_misses())
        ]
        fixed = sum(1 / 1.3 <= ratio <= 1.3 for ratio in ratios)
        share, factor = f"{100 * found.share:.0f} %", f"{found.median_factor:.2f}"
        assert f"| {label} | {found.rows} | {found.held} | {share} | {factor} | {fixed} |" in page
    by_row = coverage(shipped_misses(), left_out="row")
    assert by_row is not None
    share, factor = f"{100 * by_row.share:.0f} %", f"{by_row.median_factor:.2f}"
    said = f"Without its own row alone, {by_row.held} of {by_row.rows} ({share}) are inside, half within {factor}."
    assert said in page
    assert f"it held {whole.held} of {whole.rows} published figures" in (tree / "README.md").read_text()


def test_the_page_on_predictions_calls_as_many_figures_far_as_there_are_and_chance_explains_them():
    judged = [
        spread.is_far(row.ratio)
        for one in shipped_misses()
        for row in one.rows
        if row.role == "validation" and row.is_rate
        if (spread := spread_without(one.name, one.family, blocks_of(row.block_bytes), shipped_misses()))
        if spread.far_factor is not None
    ]
    page = (Path(__file__).parents[2] / "docs/explanation/uncertainty.md").read_text()
    assert f"Among {len(judged)} figures with such an interval {sum(judged)} are far" in page
    assert sum(judged) <= (1 - FAR) * len(judged)


def test_a_twin_of_a_data_sheet_has_an_interval_for_what_others_checked_of_such_twins_alone():
    own = load_device("micron-9550-max-6.4tb")

    def spread(mix: str, pattern: str) -> Spread | None:
        job = Job(
            f'mix = {mix}\nblock = "4KiB"\npattern = "{pattern}"\nload = {{ threads = 1 }}\nuntil = {{ time = "1s" }}',
            "job.toml",
        )
        return spread_of(own, 4096, job)

    assert spread('"read"', "uniform")
    assert spread('"read"', "sequential")
    assert spread('"write"', "sequential")
    assert spread('"write"', "uniform") is None
    assert spread("{ read = 70, write = 30 }", "uniform") is None
    assert spread_of(own, 4096) is None
    reads = spread('"read"', "uniform")
    assert reads is not None
    assert reads.family == "data-sheet-ssd"
    assert "fitted to a data sheet" in spread_words(reads)


def test_twins_of_data_sheets_and_of_measurements_learn_nothing_from_each_other():
    known = [one for one in shipped_misses() if one.family != "data-sheet-ssd"]
    own = load_device("samsung-pm9a3-7.68tb")
    assert spread_of(own, SMALL, known=known) == spread_of(own, SMALL)


def test_a_disk_of_a_data_sheet_has_no_interval_even_where_two_others_were_measured():
    read = Job(
        'mix = "read"\nblock = "128KiB"\npattern = "sequential"\nload = { threads = 1 }\nuntil = { time = "1s" }',
        "job.toml",
    )
    assert spread_of(load_device("toshiba-mg11-24tb"), LARGE, read) is None


def test_what_has_checked_a_twin_comes_with_how_many_of_its_ranges_held():
    short, well = load_device("kioxia-cm9-r-15.36tb"), load_device("samsung-pm9a3-7.68tb")
    assert "hold 1 of 4 of its published rates" in (record_words(short) or "")
    assert "reports give it no range" in (record_words(short) or "")
    record = kept_record(well)
    assert record is not None
    assert f"hold {record.held} of {record.rows} of its published rates" in (record_words(well) or "")
    assert "no range" not in (record_words(well) or "")


def test_a_twin_without_ranges_says_why_and_one_that_nothing_checked_says_nothing():
    assert "too few such twins" in (record_words(load_device("wd-ultrastar-dc-hc560-20tb")) or "")
    assert "no published rate" in (record_words(load_device("micron-m510dc-480gb")) or "")
    assert record_words(load_device("toshiba-mg10-20tb")) is None


def test_a_twin_with_other_parameters_than_those_checked_has_no_record():
    device = load_device("samsung-pm9a3-7.68tb")
    assert record_words(device) is not None
    assert device.twin is not None
    slower = device.twin.parameters["read_sense_us"].model_copy(update={"value": 400.0})
    changed = device.twin.model_copy(
        update={"parameters": {**device.twin.parameters, "read_sense_us": slower}}
    )
    assert record_words(device.model_copy(update={"twin": changed})) is None
