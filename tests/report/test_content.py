"""What the report says: figures, published figures, who leads, what is too little to tell, and the other formats."""

import csv
import io
import json
import re
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

import synthetic
from fathom.columns.schema import POINTS, Point
from fathom.output.text import many_of, signed_pct
from fathom.report import print_table, run_json, runs_csv, style, write_html
from fathom.report.blocks import Figure, Table
from fathom.report.comparison import Comparison, compare, shortened
from fathom.report.data import load
from fathom.report.findings import finding_texts
from fathom.report.reference import reason
from fathom.report.sections import corners, latency
from fathom.report.sections.timeline import MAX_BUCKETS
from fathom.runs.writer import writing_run
from synthetic import REVIEWED, lookup


@pytest.mark.parametrize(
    ("op", "many"), [("read", "reads"), ("flush", "flushes"), ("write-zeroes", "write-zeroes")]
)
def test_operations_are_named_in_the_plural(op: str, many: str) -> None:
    assert many_of(op) == many


@pytest.fixture(scope="module")
def comparison(run: Path) -> Comparison:
    return compare([load(run)], lookup)


def test_points_have_the_columns_of_the_run_format() -> None:
    assert [field.name for field in fields(Point)] == POINTS.names


def test_json_holds_the_points_of_the_parquet_file(run: Path) -> None:
    document = run_json(run)
    assert list(document) == ["schema", "run", "points", "notes"]
    assert document["schema"] == "fathom-run/1"
    assert document["points"] == pq.read_table(run / "points.parquet").to_pylist()
    assert document["notes"] == [dict(note) for note in synthetic.NOTES]
    assert json.loads(json.dumps(document, allow_nan=False)) == document


def test_csv_holds_the_points_of_the_parquet_file(run: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(runs_csv([run]))))
    wanted = pq.read_table(run / "points.parquet").to_pylist()
    assert rows == [
        {name: "" if value is None else str(value) for name, value in row.items() if name != "limit"}
        for row in wanted
    ]


def test_large_blocks_are_headlined_in_mbps_and_small_ones_in_iops(comparison: Comparison) -> None:
    assert [corner.unit for corner in comparison.corners] == ["MB/s", "MB/s", "IOPS", "IOPS"]


def test_a_published_figure_stands_beside_the_measured_one_with_its_error(comparison: Comparison) -> None:
    column = comparison.columns[1]
    for place, corner in enumerate(comparison.corners):
        cell = corner.cell(column)
        assert cell is not None
        assert cell.value is not None
        published = REVIEWED["wd-ultrastar-dc-sn861-7.68tb"][place]
        assert cell.published is not None
        assert cell.published.value == published
        assert cell.error_pct == pytest.approx(100 * (cell.value - published) / published)


def test_results_of_twins_say_that_their_intervals_are_of_sampling_alone(
    comparison: Comparison, tmp_path: Path
) -> None:
    section = corners.build(comparison)
    assert section is not None
    [table] = section.blocks
    assert isinstance(table, Table)
    [note] = [note for note in table.footnotes if note.startswith("± and intervals of a twin")]
    assert note == (
        "± and intervals of a twin are of sampling alone: how well its window is known. They do not say how near a "
        "real drive is. “Measured, 80 % expected” does that for rates, and nothing does for latencies."
    )
    measured = compare([load(synthetic.make_run(tmp_path / "file", (synthetic.FILE,)))])
    [alone] = (corners.build(measured) or section).blocks
    assert isinstance(alone, Table)
    assert not [note for note in alone.footnotes if note.startswith("± and intervals of a twin")]


def test_results_name_the_command_that_shows_what_the_parameters_of_the_twins_leave_open(
    comparison: Comparison, tmp_path: Path
) -> None:
    def commands(of: Comparison) -> list[str]:
        section = corners.build(of)
        assert section is not None
        [table] = section.blocks
        assert isinstance(table, Table)
        return [note for note in table.footnotes if "--ensemble" in note]

    [command] = commands(comparison)
    names = " ".join(twin.name for twin in synthetic.TWINS)
    assert command.startswith(f"`fathom run four-corners {names} --ensemble 16`")
    assert commands(compare([load(synthetic.make_run(tmp_path / "file", (synthetic.FILE,)))])) == []


def test_findings_have_the_range_of_measurements_behind_the_rate_of_a_twin(tmp_path: Path) -> None:
    drive = synthetic.TWINS[3]
    told = compare([load(synthetic.make_run(tmp_path / "twin", [drive]))], lookup)
    cell = told.corners[3].cells[0]
    assert cell.spread is not None
    assert cell.value is not None
    low, high = (style.about(bound) for bound in cell.spread.around(cell.value))
    said = finding_texts(told).outcomes[3]
    assert said.endswith(f"80 % of measurements of Samsung PM9A3 are expected at {low} to {high} IOPS.")
    measured = compare([load(synthetic.make_run(tmp_path / "file", [synthetic.FILE]))], lookup)
    assert "expected" not in " ".join(finding_texts(measured).outcomes)


def test_cards_and_findings_agree_on_who_leads_and_who_is_level(comparison: Comparison) -> None:
    read, write = comparison.corners[0], comparison.corners[3]
    assert {cell.column.index for cell in read.unbeaten} == {2, 3}
    assert write.unbeaten == []
    told = " ".join(finding_texts(comparison).outcomes)
    assert (
        "WD Ultrastar DC SN861, Samsung PM1743 and KIOXIA CM7-R are level in 256 KiB sequential read" in told
    )
    assert "WD Ultrastar DC SN861 is ahead in 256 KiB sequential write" in told


def test_no_target_that_had_not_settled_is_marked_best_in_the_results(comparison: Comparison) -> None:
    best = comparison.corners[3].ranking[0]
    place = best.column.target.name, best.step.name
    run = comparison.runs[0]
    unsteady = [
        replace(point, steady=False) if (point.target, point.step) == place else point for point in run.points
    ]
    marks = []
    for points in (run.points, unsteady):
        section = corners.build(compare([replace(run, points=points)], lookup))
        assert section is not None
        table = section.blocks[0]
        assert isinstance(table, Table)
        marks.append(table.groups[3].rows[best.column.index].cells[0].sub.split(" · ")[-1])
    assert marks == ["best", "not settled"]


def test_no_winner_is_declared_from_too_few_seconds(tmp_path: Path) -> None:
    run = synthetic.make_run(tmp_path / "run", synthetic.TWINS[:2], measure_s=2)
    comparison = compare([load(run)], lookup)
    for corner in comparison.corners:
        assert corner.unbeaten == corner.ranking[1:]
    assert "too few seconds to separate them" in " ".join(finding_texts(comparison).outcomes)


def test_the_interval_of_a_bandwidth_is_that_of_its_rate(comparison: Comparison) -> None:
    cell = comparison.corners[0].cells[1]
    assert cell.interval is not None
    assert cell.point.iops is not None
    assert cell.point.iops_low is not None
    assert cell.value is not None
    assert cell.interval[0] / cell.value == pytest.approx(cell.point.iops_low / cell.point.iops)


def test_findings_say_who_leads_what_is_simulated_and_how_near_published_figures_are(
    comparison: Comparison,
) -> None:
    told = finding_texts(comparison)
    assert told.overall == "4 workloads: WD Ultrastar DC SN861 is ahead in 3 and 1 is level."
    assert "4 of 5 targets are twins" in told.remarks[-1]
    assert "the median difference is" in told.agreement


def test_uncertain_published_figures_are_shown_but_not_counted(run: Path) -> None:
    def uncertain(device: str, workload: str) -> list[synthetic.FakeRow]:
        return [replace(row, uncertain=True) for row in lookup(device, workload)]

    comparison = compare([load(run)], uncertain)
    cell = comparison.corners[0].cells[1]
    assert cell.published is not None
    assert cell.published.role == "calibration, uncertain"
    told = finding_texts(comparison)
    assert "figures are left out because their sources are in doubt: the largest is off by" in told.agreement
    assert "median" not in told.agreement
    assert not any("published" in text for text in [*told.surprises, *told.remarks])


def test_a_twin_far_from_a_published_figure_says_why_or_that_nobody_knows(run: Path, tmp_path: Path) -> None:
    def halved(device: str, workload: str) -> list[synthetic.FakeRow]:
        return [replace(row, mbps=row.mbps and row.mbps / 2) for row in lookup(device, workload)]

    def unsure(device: str, workload: str) -> list[synthetic.FakeRow]:
        return [replace(row, uncertain=True) for row in halved(device, workload)]

    page = write_html([run], tmp_path / "far.html", halved).read_text()
    assert re.search(r"256 KiB sequential read, \+[\d.]+\s%: no reason is known\.", page)
    for near in (lookup, unsure):
        assert "no reason is known" not in write_html([run], tmp_path / "near.html", near).read_text()
    assert "in order" in (reason("samsung-pm9a3-7.68tb", "vdbench-16k-rand-70r30w") or "")
    assert reason("samsung-pm9a3-7.68tb", "fio-4k-rand-read") is None


def test_findings_compare_targets_of_different_runs(run: Path, tmp_path: Path) -> None:
    faster = replace(synthetic.TWINS[0], rates=[2 * rate for rate in synthetic.TWINS[0].rates])
    other = synthetic.make_run(tmp_path / "other", [faster], seed=2)
    told = finding_texts(compare([load(run), load(other)], lookup))
    assert told.overall == "WD Ultrastar DC SN861 · B is ahead in all 4 workloads."


def test_a_percentile_without_enough_ios_is_called_too_small_and_says_how_many_it_needs(
    run: Path, report: Path
) -> None:
    text = report.read_text()
    assert "n too small" in text
    assert "needs 1,000,000 I/Os" in text


def test_the_halves_of_a_mixed_step_are_shown_apart_and_not_held_against_a_published_total(
    tmp_path: Path,
) -> None:
    run = synthetic.make_run(tmp_path / "run", synthetic.TWINS[:1])
    points = pq.read_table(run / "points.parquet").to_pylist()
    halves = [*points, points[2] | {"op": "write", "iops": points[2]["iops"] * 0.43}]
    pq.write_table(pa.Table.from_pylist(halves, schema=POINTS), run / "points.parquet")
    corners = compare([load(run)], lookup).corners
    assert [corner.label for corner in corners[2:]] == [
        "4 KiB random read, reads",
        "4 KiB random write",
        "4 KiB random read, writes",
    ]
    assert [corner.cells[0].published is None for corner in corners] == [False, False, True, False, True]
    assert write_html([run], tmp_path / "report.html", lookup).exists()


def test_two_capacities_of_one_model_keep_their_capacity_in_short_labels(tmp_path: Path) -> None:
    first = synthetic.TWINS[0]
    second = replace(first, name="twin:other", label="WD Ultrastar DC SN861 3.84TB", catalog=None)
    run = synthetic.make_run(tmp_path / "run", [first, second], measure_s=2, precondition_s=2, fill_s=2)
    shorts = [column.short for column in compare([load(run)], lookup).columns]
    assert shorts == ["WD Ultrastar DC SN861 7.68TB", "WD Ultrastar DC SN861 3.84TB"]


def test_the_histogram_of_a_step_has_every_io_of_its_point(comparison: Comparison) -> None:
    for corner in comparison.corners:
        for cell in corner.cells:
            assert cell.histogram is not None
            assert cell.histogram.n == cell.point.n


def test_the_bins_of_slow_ios_are_told_without_an_exponent(comparison: Comparison) -> None:
    section = latency.build(comparison)
    assert section is not None
    [bars] = [
        block.data for block in section.blocks if isinstance(block, Figure) and block.group != "percentiles"
    ]
    edges = [row.label.text for group in bars.groups for row in group.rows]
    assert max(float(edge.replace(",", "")) for edge in edges) >= 10_000
    assert not any("e" in f"{row.label.text} {row.label.sub}" for group in bars.groups for row in group.rows)


def test_utilisation_is_read_per_resource_with_its_busiest_server(comparison: Comparison) -> None:
    cell = comparison.corners[0].cells[1]
    busiest = max(cell.busy, key=lambda busy: busy.mean)
    assert busiest.resource == cell.point.limited_by
    assert busiest.mean == pytest.approx(0.97)
    assert comparison.corners[0].cells[0].busy == []


def test_a_negative_figure_has_a_real_minus_sign_and_nothing_has_none() -> None:
    assert [style.grouped(value) for value in (-82.4, -1234.5, -0.001, 0)] == [
        "−82.40",
        "−1,234",
        "0.00",
        "0.00",
    ]


def test_a_number_stays_on_the_line_of_its_sign_and_of_its_percent_sign(run: Path, tmp_path: Path) -> None:
    page = write_html([run], tmp_path / "report.html", lookup).read_text()
    assert "±\N{NO-BREAK SPACE}" in page
    assert not re.search(r"± \d|\d %", page.partition('<script type="application/json"')[0])


def test_a_quick_report_of_five_targets_is_small(run: Path, tmp_path: Path) -> None:
    report = write_html([run], tmp_path / "report.html", lookup)
    assert report.stat().st_size < 3e6


def test_six_hours_of_seconds_are_downsampled_and_the_page_says_so(tmp_path: Path) -> None:
    run = synthetic.make_run(tmp_path / "run", quick=False, fill_s=7200, precondition_s=5400)
    report = write_html([run], tmp_path / "report.html", lookup)
    text = report.read_text()
    assert report.stat().st_size < 15e6
    assert "Each point is the mean of up to 25 one-second intervals" in text
    options = json.loads(text.split('id="charts">')[1].split("</script>")[0])
    points = [point for point in options["timeline-1"]["series"][0]["data"] if point[1] is not None]
    assert MAX_BUCKETS * 0.9 <= len(points) <= MAX_BUCKETS + 9
    assert all(low <= mean <= high for _, mean, low, high in points)


def test_no_second_is_lost_between_the_least_and_the_greatest_that_are_drawn(tmp_path: Path) -> None:
    run = synthetic.make_run(tmp_path / "run", synthetic.TWINS[:1], precondition_s=3000)
    text = write_html([run], tmp_path / "report.html", lookup).read_text()
    options = json.loads(text.split('id="charts">')[1].split("</script>")[0])
    points = [point for point in options["timeline-0"]["series"][0]["data"] if point[1] is not None]
    rates = pq.read_table(run / "intervals.parquet", columns=["iops"])["iops"].to_pylist()
    assert min(low for _, _, low, _ in points) == pytest.approx(min(rates), rel=1e-4)
    assert max(high for *_, high in points) == pytest.approx(max(rates), rel=1e-4)


def test_notes_of_one_rule_on_one_target_are_told_once_and_listed_by_step_on_the_page(tmp_path: Path) -> None:
    notes = [
        {
            "rule": "foreign",
            "level": "warning",
            "target": synthetic.FILE.name,
            "step": c.workload,
            "text": f"{i} % foreign",
        }
        for i, c in enumerate(synthetic.CORNERS)
    ]
    run = synthetic.make_run(
        tmp_path / "run", [synthetic.FILE], notes=notes, measure_s=2, precondition_s=2, fill_s=1
    )
    console = Console(width=120, record=True, file=io.StringIO())
    print_table(console, [run], lookup)
    shown = console.export_text()
    assert "0 % foreign" in shown
    assert "1 % foreign" not in shown
    assert "3 more notes are in the report" in shown
    one = synthetic.make_run(
        tmp_path / "one", [synthetic.FILE], notes=notes[:2], measure_s=2, precondition_s=2, fill_s=1
    )
    print_table(console, [one], lookup)
    assert "1 more note is in the report" in console.export_text()
    twins = list(synthetic.TWINS)[:2]
    alike = [{**note, "target": twin.name, "level": "info"} for note in notes for twin in twins]
    both = synthetic.make_run(tmp_path / "both", twins, notes=alike, measure_s=2, precondition_s=2, fill_s=1)
    print_table(console, [both], lookup)
    assert "4 more notes are in the report" in console.export_text(), (
        "what is true of two targets counts once"
    )
    page = write_html([run], tmp_path / "report.html", lookup).read_text()
    first, *others = synthetic.CORNERS
    assert (
        f"{first.label}:</strong> 0\N{NO-BREAK SPACE}% foreign; with other figures in 3 other steps" in page
    )
    for place, corner in enumerate(others, 1):
        assert f"<li>{corner.label}: {place}\N{NO-BREAK SPACE}% foreign</li>" in page


def test_a_note_on_many_targets_names_the_first_and_counts_the_others(tmp_path: Path) -> None:
    targets = [replace(synthetic.FILE, name=f"file:/mnt/{number}") for number in range(6)]
    notes = [{"rule": "foreign", "level": "warning", "target": one.name, "text": "others"} for one in targets]
    run = synthetic.make_run(tmp_path / "run", targets, notes=notes, measure_s=2, precondition_s=2, fill_s=1)
    console = Console(width=120, record=True, file=io.StringIO())
    print_table(console, [run], lookup)
    shown = console.export_text()
    assert "5 more: others" in shown
    assert "file:/mnt/5" not in shown


def test_a_step_of_one_second_is_drawn_as_long_as_it_took(tmp_path: Path) -> None:
    run = synthetic.make_run(tmp_path / "run", synthetic.TWINS[:1], fill_s=1)
    options = json.loads(
        write_html([run], tmp_path / "report.html", lookup)
        .read_text()
        .split('id="charts">')[1]
        .split("</script>")[0]
    )
    fill = options["timeline-0"]["series"][0]["data"][:3]
    assert [at for at, _ in fill] == [0.0, 1.0, 1.0]
    assert fill[2][1] is None


@pytest.mark.parametrize("width", [80, 100, 120])
def test_the_terminal_table_shows_five_targets_within_the_width(run: Path, width: int) -> None:
    console = Console(width=width, record=True, file=io.StringIO())
    print_table(console, [run], lookup)
    text = console.export_text()
    assert max(len(line) for line in text.splitlines()) <= width
    assert "…" not in text
    assert "2,108,065" in text
    assert "Shortened run: measured times are divided by 12" in text
    assert "what limited it" in text
    assert "Steady state was not reached" in text


def test_the_terminal_takes_names_as_text(tmp_path: Path) -> None:
    target = replace(synthetic.TWINS[0], label="[red]x[/red]\x1b[2J", limits=("[bold]y",) * 4)
    run = synthetic.make_run(tmp_path / "run", [target], measure_s=2, precondition_s=2, fill_s=2, notes=[])
    console = Console(width=100, record=True, file=io.StringIO())
    print_table(console, [run], lookup)
    text = console.export_text()
    assert "[red]x[/red]" in text
    assert "[bold]y" in text
    assert "\x1b" not in text


@pytest.mark.parametrize(("scheme", "paper"), [(style.LIGHT, "#ffffff"), (style.DARK, "#14171b")])
def test_every_series_colour_stands_out_from_its_page(scheme: tuple[str, ...], paper: str) -> None:
    for colour in scheme:
        assert contrast(colour, paper) >= 3, colour


@pytest.mark.parametrize("scheme", [style.LIGHT, style.DARK])
@pytest.mark.parametrize("vision", ["normal", "protan", "deutan"])
def test_colours_are_told_apart_by_every_eye(scheme: tuple[str, ...], vision: str) -> None:
    seen = [simulated(colour, vision) for colour in scheme]
    for place, first in enumerate(seen):
        for second in seen[place + 1 :]:
            assert np.linalg.norm(lab(first) - lab(second)) > 15, (scheme, vision)


def linear(colour: str) -> np.ndarray:
    s = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(s <= 0.04045, s / 12.92, ((s + 0.055) / 1.055) ** 2.4)


def contrast(a: str, b: str) -> float:
    """WCAG 2.2 contrast ratio."""
    light, dark = sorted((float(linear(c) @ [0.2126, 0.7152, 0.0722]) for c in (a, b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def simulated(colour: str, vision: str) -> np.ndarray:
    """Full dichromacy after Machado, Oliveira and Fernandes (2009), in linear RGB."""
    matrices = {
        "normal": np.eye(3),
        "protan": np.array([[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]]),
        "deutan": np.array([[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]),
    }
    return np.clip(matrices[vision] @ linear(colour), 0, 1)


def lab(rgb: np.ndarray) -> np.ndarray:
    """CIE L*a*b* of linear sRGB, D65."""
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ rgb
    f = np.cbrt(xyz / [0.9505, 1.0, 1.089])
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize(
    ("value", "digits", "shown"),
    [(3.14, 1, "+3.1 %"), (-3.14, 0, "\N{MINUS SIGN}3 %"), (-0.04, 1, "0.0 %"), (0.4, 0, "0 %")],
)
def test_a_difference_that_rounds_to_nothing_has_no_sign(value: float, digits: int, shown: str) -> None:
    assert signed_pct(value, digits) == shown


def test_a_factor_of_one_is_left_out_of_what_was_shortened(tmp_path: Path) -> None:
    path = synthetic.make_run(tmp_path / "run", synthetic.TWINS[:1])
    document = json.loads((path / "run.json").read_text())
    document["quick"]["divide_volumes_by"] = 1.0
    (path / "run.json").write_text(json.dumps(document))
    assert (
        shortened(load(path).document.quick)
        == "measured times are divided by 12, times of preconditioning by 30"
    )


def test_a_run_that_was_killed_is_not_said_to_go_on(tmp_path: Path) -> None:
    path = synthetic.make_run(tmp_path / "run", synthetic.TWINS[:1])
    document = json.loads((path / "run.json").read_text())
    (path / "run.json").write_text(json.dumps(document | {"status": "running"}))
    assert "This run was killed" in write_html([path], tmp_path / "report.html").read_text()
    with writing_run(path):
        text = write_html([path], tmp_path / "report.html").read_text()
    assert "This run is still going on" in text
    assert "fathom resume" not in text


def test_sizes_of_a_device_are_read_in_units(tmp_path: Path) -> None:
    identity: dict[str, object] = {"size_bytes": 274_877_906_944, "physical_block_bytes": 4096}
    target = replace(synthetic.TARGETS[-1], identity=identity)
    page = write_html([synthetic.make_run(tmp_path / "run", [target])], tmp_path / "report.html").read_text()
    assert "275 GB" in page
    assert "4 KiB" in page
    assert "274877906944" not in page.replace(",", "")
