"""Repeats: runs of one measurement are shown as one, with an interval that knows how much they differ."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

import synthetic
from fathom.report import print_table, runs_json, write_html
from fathom.report.blocks import Table
from fathom.report.comparison import Comparison, compare
from fathom.report.data import load
from fathom.report.findings import finding_texts
from fathom.report.note_groups import note_groups
from fathom.report.repeats import is_pooled
from fathom.report.rows import OpOfStep
from fathom.report.sections import repeats as section
from fathom.report.sections import summary
from fathom.statistics.percentiles import Histogram

Made = Callable[..., Path]


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """Makes a run of the file, at a share of its rates; by default a repeat of the first that was made."""

    def make(
        share: float = 1.0,
        *,
        repeat: bool = True,
        target: synthetic.Fake = synthetic.FILE,
        seed: int | None = None,
        kernel: str = "6.1",
    ) -> Path:
        number = len(list(tmp_path.glob("run-*")))
        fake = replace(target, rates=[share * rate for rate in target.rates])
        path = synthetic.make_run(
            tmp_path / f"run-{number}",
            [fake],
            measure_s=6,
            precondition_s=4,
            fill_s=4,
            seed=seed or number + 1,
        )
        document = json.loads((path / "run.json").read_text())
        document |= {"id": f"run-{number}", "repeat_of": "run-0" if repeat and number else None}
        document["environment"]["kernel"] = kernel
        (path / "run.json").write_text(json.dumps(document))
        return path

    return make


def seen(*runs: Path, pool: bool = False) -> Comparison:
    return compare([load(run) for run in runs], synthetic.lookup, pool=pool)


def test_repeats_are_one_target_whose_rate_is_their_mean_and_whose_interval_holds_their_differences(
    made: Made,
) -> None:
    runs = [made(0.9), made(1.0), made(1.1)]
    alone, together = seen(runs[1]).corners[3].cells[0], seen(*runs).corners[3].cells[0]
    assert together.column.repeats == 3
    assert "mean of 3 repeats" in together.column.kind
    each = [seen(run).corners[3].cells[0].value or 0 for run in runs]
    assert together.value == pytest.approx(sum(each) / 3)
    assert together.interval is not None
    assert alone.interval is not None
    # Student's t with 2 degrees of freedom over a spread of 10 %: 4.3 x 10 % / sqrt(3) = 25 % of the mean.
    assert (together.interval[1] - together.interval[0]) / 2 == pytest.approx(
        0.25 * (together.value or 0), rel=0.2
    )
    assert alone.interval[1] - alone.interval[0] < 0.3 * (together.interval[1] - together.interval[0])


def test_latencies_of_repeats_are_those_of_all_their_io(made: Made) -> None:
    runs = [made(), made(), made()]
    own = [load(run).histograms for run in runs]
    cell = seen(*runs).corners[2].cells[0]
    key = OpOfStep(cell.point.target, cell.point.step, cell.point.op)
    whole = Histogram.merged([found[key] for found in own])
    p99 = whole.quantile(0.99)
    assert p99 is not None
    assert (cell.point.n, cell.point.p99_us) == (whole.n, p99.us)
    bounds = cell.point.interval("p99_us")
    assert bounds is not None
    assert bounds[0] <= p99.us <= bounds[1]


def test_repeats_that_overlap_have_no_winner_where_single_runs_would_name_one(made: Made) -> None:
    rival = replace(synthetic.FILE, name="file:/tmp/other.bin", label="Other file")
    file = [made(share) for share in (0.9, 1.0, 1.1)]
    other = [made(share, target=rival) for share in (0.8, 0.9, 1.05)]
    assert not seen(file[0], other[0]).corners[3].unbeaten
    together = seen(*file, *other)
    assert [column.repeats for column in together.columns] == [3, 3]
    assert together.corners[3].unbeaten
    assert "No winner in 4 KiB random write" in " ".join(finding_texts(together).outcomes)
    opening = summary.build(together)
    assert opening is not None
    assert opening.key_figure is not None
    said = [opening.key_figure.sentence, *opening.key_figure.reasons]
    assert any("vary too much to separate them" in one for one in said), said
    assert not any("are level" in one for one in said), said


def test_runs_that_no_one_called_repeats_stand_side_by_side_until_they_are_pooled(made: Made) -> None:
    runs = [made(), made(repeat=False), made(repeat=False)]
    assert len(seen(*runs).columns) == 3
    assert [column.repeats for column in seen(*runs, pool=True).columns] == [3]


def test_what_differs_in_anything_recorded_is_not_pooled(made: Made) -> None:
    before, after = made(), made(kernel="6.18")
    assert [column.repeats for column in seen(before, after, pool=True).columns] == [1, 1]


def test_a_run_given_twice_and_a_twin_of_one_seed_are_no_repeats(made: Made) -> None:
    run = made()
    assert len(seen(run, run, pool=True).columns) == 2
    twins = [made(target=synthetic.TWINS[0], seed=7, repeat=False) for _ in range(2)]
    other_seed = made(target=synthetic.TWINS[0], seed=8, repeat=False)
    assert [column.repeats for column in seen(*twins, other_seed, pool=True).columns] == [2, 1]


def test_the_section_shows_every_repeat_beside_the_mean_and_warns_of_two(made: Made, tmp_path: Path) -> None:
    runs = [made(0.98), made(1.02)]
    built = section.build(seen(*runs))
    assert built is not None
    assert "take three or more" in " ".join(built.blocks[0].paragraphs)  # pyright: ignore[reportAttributeAccessIssue]
    table = built.blocks[1]
    assert isinstance(table, Table)
    assert [head.text for head in table.head] == ["Mean", "Repeats differ by", "Run A", "Run B"]
    assert len(table.groups[0].rows) == 4
    assert section.build(seen(runs[0])) is None
    page = write_html(runs, tmp_path / "report.html", synthetic.lookup).read_text()
    assert "2 repeats" in page
    assert page.count('<h2 class="run-letter">') == 1
    assert "Runs A, B" in page


def test_a_note_that_all_repeats_have_is_shown_once_with_their_letters(made: Made) -> None:
    runs = [made(), made()]
    document = json.loads((runs[1] / "run.json").read_text())
    document["notes"].append(
        {"rule": "unfinished", "level": "warning", "target": None, "text": "killed", "next_step": ""}
    )
    (runs[1] / "run.json").write_text(json.dumps(document))
    whole = [
        (group.target, group.notes[0].rule) for group in note_groups(seen(*runs)) if not group.notes[0].target
    ]
    assert whole == [("Runs A, B", "quick-run"), ("Run B", "unfinished")]


def test_what_repeats_say_alike_of_a_step_is_one_note_with_the_figures_of_the_first(made: Made) -> None:
    figures = [("12 %", "cold"), ("15 %", "cold"), ("13 %", None)]
    runs = [made() for _ in figures]
    for run, (share, other) in zip(runs, figures, strict=True):
        document = json.loads((run / "run.json").read_text())
        own = {"rule": "steal", "level": "warning", "target": synthetic.FILE.name, "step": "4k-rand-read"}
        document["notes"] = [own | {"text": f"waited {share} of the time"}]
        document["notes"] += [own | {"rule": "cache", "text": other}] if other else []
        document["notes"] += [own | {"rule": "clock", "text": "coarse"}]
        (run / "run.json").write_text(json.dumps(document))
    assert [[note.text for note in group.notes] for group in note_groups(seen(*runs))] == [
        ["waited 12 % of the time (in all 3 repeats, with the figures of the first of them)"],
        ["cold (in 2 of 3 repeats)"],
        ["coarse"],
    ]


def test_a_warning_that_every_repeat_has_is_printed_once_and_not_counted_as_more(
    made: Made, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [made(), made()]
    for run in runs:
        document = json.loads((run / "run.json").read_text())
        document["notes"] = [{"rule": "unfinished", "level": "warning", "text": "killed", "next_step": ""}]
        (run / "run.json").write_text(json.dumps(document))
    print_table(Console(width=120), runs)
    printed = capsys.readouterr().out
    assert printed.count("killed") == 1
    assert "in the report" not in printed


def test_points_on_a_curve_are_pooled_but_not_where_a_search_led(made: Made) -> None:
    run = load(made())
    assert is_pooled("4k-rand-read@80", run)
    assert not is_pooled("4k-rand-read@slo-1", run)


def test_json_of_several_runs_has_their_points_and_those_pooled(made: Made) -> None:
    document = runs_json([made(0.9), made(1.1)])
    runs, pooled = document["runs"], document["pooled"]
    assert isinstance(runs, list)
    assert isinstance(pooled, list)
    assert {row["repeats"] for row in pooled} == {2}
    each = [run["points"][3]["iops"] for run in runs]
    assert pooled[3]["iops"] == pytest.approx(sum(each) / 2)
