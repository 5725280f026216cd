"""`fathom compare`: what changed, how surely, and limits that fail a build."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from shutil import copytree
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import synthetic
from fathom.analysis.consistency import floor_of
from fathom.catalog import load_device
from fathom.cli import app
from fathom.columns.schema import POINTS, Point
from fathom.compare import rows as rows_of
from fathom.compare.gate import parse_gate
from fathom.compare.metrics import DEFAULT, METRICS
from fathom.compare.rows import Compared, Result, Row, compare_sides
from fathom.compare.sides import read_side
from fathom.compare.words import meaning
from fathom.errors import FathomError, UsageError
from fathom.load.resolve import resolve_targets
from fathom.method.method import parse_method
from fathom.prediction.interval import order_chance, spread_of
from fathom.report.published import Published
from fathom.runs.event_log import append_event
from fathom.runs.reader import Run
from fathom.session import Options, start_run
from fathom.statistics.differences import Difference, Verdict, confidence_of_each

Made = Callable[..., Path]
MIX = """
schema = "fathom-method/1"
name = "mix"
[[steps]]
name = "mixed"
[steps.job]
mix = { read = 70, write = 30 }
block = "4KiB"
pattern = "uniform"
region = "64MiB"
load = { threads = 1, iodepth = 8 }
until = { time = "50ms" }
"""
BUSY = {
    "rule": "client-limits",
    "level": "warning",
    "target": synthetic.FILE.name,
    "step": "4k-rand-read",
    "text": "the client is the limit",
}
VIRTUAL = {"rule": "virtual-disk", "level": "warning", "text": "this machine is virtual"}
SMALL = {"rule": "small-region", "level": "info", "text": "caches cover more of it"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Makes a run of a file at a share of its rates, alone or with its repeats, once; returns the first."""

    @cache
    def make(
        name: str,
        share: float = 1.0,
        *,
        repeats: int = 1,
        seed: int = 1,
        governor: str = "performance",
        label: str = synthetic.FILE.label,
        target: str = synthetic.FILE.name,
        warned: bool = False,
    ) -> Path:
        folder = tmp_path_factory.mktemp("runs")
        paths = [folder / f"{name}-four-corners-{number}" for number in range(repeats)]
        for number, path in enumerate(paths):
            rates = [share * rate for rate in synthetic.FILE.rates]
            fake = replace(synthetic.FILE, name=target, label=label, rates=rates)
            synthetic.make_run(
                path,
                [fake],
                measure_s=8,
                precondition_s=4,
                fill_s=4,
                seed=seed + number,
                notes=[BUSY | {"text": f"{BUSY['text']} {number}"}, VIRTUAL, SMALL] if warned else (),
            )
            document = json.loads((path / "run.json").read_text())
            document |= {"id": path.name, "repeat_of": paths[0].name if number else None}
            document["environment"]["governor"] = governor
            (path / "run.json").write_text(json.dumps(document))
        return paths[0]

    return make


@dataclass
class Done:
    """What a command ended with."""

    returncode: int
    stdout: str
    stderr: str


def fathom(*arguments: object) -> Done:
    """The command within this process, and the line that an error prints."""
    result = CliRunner().invoke(app, ["compare", *map(str, arguments)])
    error = result.exception
    if isinstance(error, FathomError):
        return Done(int(error.exit_code), result.stdout, f"fathom: {error}\n")
    assert error is None or isinstance(error, SystemExit), error
    return Done(result.exit_code, result.stdout, result.stderr)


def rows(base: Path, new: Path, *more: object) -> dict[tuple[str, str], dict[str, object]]:
    done = fathom(base, new, "--json", *more)
    assert done.returncode in (0, 4), done.stderr
    [found] = json.loads(done.stdout)["comparisons"]
    return {(row["workload"], row["metric"]): row for pair in found["pairs"] for row in pair["rows"]}


def test_a_tenth_slower_is_worse_in_rate_and_latency_with_intervals_that_hold_it(made: Made):
    found = rows(made("a", repeats=3), made("b", 0.9, repeats=3, seed=10))
    rate = found["4 KiB random read", "iops"]
    assert rate["verdict"] == "worse"
    assert rate["ratio_low"] < 0.9 < rate["ratio_high"]  # pyright: ignore[reportOperatorIssue]
    latency = found["4 KiB random read", "p50"]
    assert latency["verdict"] == "worse"
    assert latency["ratio_low"] < 1 / 0.9 < latency["ratio_high"]  # pyright: ignore[reportOperatorIssue]
    assert found["256 KiB sequential read", "mbps"]["verdict"] == "worse"


def test_a_change_over_repeats_that_is_not_new_over_base_is_explained(made: Made):
    told = "a change is that of the geometric means of their own figures"
    repeated = fathom(made("a", repeats=3), made("b", 0.9, repeats=3, seed=10), "--markdown").stdout
    assert told in " ".join(repeated.split())
    assert told not in " ".join(fathom(made("d"), made("e", 0.9, seed=20), "--markdown").stdout.split())


def test_equal_runs_differ_in_nothing(made: Made):
    found = rows(made("a", repeats=3), made("b", repeats=3, seed=10))
    assert {row["verdict"] for row in found.values()} <= {"level", "cannot tell"}
    assert all(row["ratio_low"] <= 1 <= row["ratio_high"] for row in found.values() if row["ratio"])  # pyright: ignore[reportOperatorIssue]


def test_a_run_made_with_repeats_stands_for_all_of_them_and_runs_can_be_named_one_by_one(made: Made):
    first = made("a", repeats=3)
    alone = made("b", seed=10)
    others = ",".join(str(path) for path in sorted(first.parent.glob("a-*")))
    assert rows(first, alone) == {
        key: row
        for key, row in rows(others, alone).items()  # pyright: ignore[reportArgumentType]
    }


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (1, "The interval holds with 95 %."),
        (2, "The 2 intervals hold together with 95 % (each with 97.5 %)."),
    ],
)
def test_one_interval_holds_by_itself_and_several_hold_together(count: int, said: str):
    row = Row("w", METRICS["iops"], 1.0, 1.1, Difference(1.1, 1.0, 1.2, 0.95), Verdict.UNKNOWN)
    pair = Compared("new", "base", [row] * count, [], [])
    assert said in meaning(Result("base", "new", [pair], confidence_of_each(count), 2.0, ()))[0]


def test_a_limit_that_is_missed_ends_with_exit_code_4_and_names_the_figure(made: Made):
    base, new = made("a", repeats=3), made("b", 0.9, repeats=3, seed=10)
    done = fathom(base, new, "--fail-if", "p50 > +5%", "--fail-if", "iops < -3%")
    assert done.returncode == 4, done
    assert "Limit missed, p50 > +5%: p50 of 4 KiB random read" in done.stdout
    assert done.stderr.startswith("fathom: limits: ")
    command = [sys.executable, "-m", "fathom", "compare", base, new, "--fail-if", "p50 > +5%"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 4
    kept = fathom(base, new, "--fail-if", "p50 > +20%", "--fail-if", "iops < -20%")
    assert kept.returncode == 0
    assert "No change is beyond a limit: p50 > +20% and iops < -20%." in kept.stdout


def test_a_change_that_may_be_chance_misses_no_limit_unless_strict(made: Made):
    base, new = made("a"), made("b", 0.995, seed=2)
    limit = ("--fail-if", "iops < -0.01%", "--metrics", "iops")
    assert fathom(base, new, *limit).returncode == 0
    strict = fathom(base, new, *limit, "--strict")
    assert strict.returncode == 4
    assert "not decided" in strict.stderr


def test_a_limit_on_what_was_not_measured_fails(made: Made):
    done = fathom(made("a"), made("b", seed=2), "--fail-if", "waf > +5%")
    assert done.returncode == 4
    assert "Not checked, waf > +5%" in done.stdout


def test_a_limit_on_a_figure_without_interval_is_not_called_absent(made: Made):
    done = fathom(made("a"), made("b", seed=2), "--fail-if", "max > +5%")
    assert done.returncode == 4
    assert "max > +5%: no workload has it with an interval on both sides." in " ".join(done.stdout.split())


def test_a_workload_that_the_new_run_lacks_fails_a_limit(made: Made, tmp_path: Path):
    import pyarrow.compute as pc

    base, new = made("a"), tmp_path / "b"
    shutil.copytree(made("b", seed=2), new)
    points = pq.read_table(new / "points.parquet")
    pq.write_table(points.filter(pc.field("workload") != "4k-rand-write"), new / "points.parquet")
    done = fathom(base, new, "--fail-if", "iops < -50%")
    assert done.returncode == 4
    assert "4 KiB random write: not measured in" in done.stdout.replace("\n", " ")


@pytest.mark.parametrize(
    "text", ["p99", "p99 > 5", "p98 > 5%", "p99 >= 5%", "> 5%", "p99 > +nan%", "p99 > 5% 6%", "p99 > x5%"]
)
def test_what_is_no_limit_is_refused_in_one_line(made: Made, text: str):
    with pytest.raises(UsageError):
        parse_gate(text)
    done = fathom("a", "b", "--fail-if", text)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("text", ["iops > -3%", "p99 < +5%", "iops > −3%"])
def test_a_limit_that_equal_figures_miss_is_refused(text: str):
    with pytest.raises(UsageError, match="equal figures would miss this limit"):
        parse_gate(text)


@pytest.mark.parametrize("text", ["iops > 0%", "p99 < -0%", "iops > +3%", "p99 < -5%"])
def test_a_limit_that_equal_figures_keep_is_taken_on_either_side(text: str):
    assert parse_gate(text).text == text


def test_junit_has_a_case_a_figure_and_a_failure_a_missed_limit(made: Made, tmp_path: Path):
    base, new = made("a", repeats=3), made("b", 0.9, repeats=3, seed=10)
    out = tmp_path / "junit.xml"
    limits = ("--fail-if", "p50 > +5%", "--fail-if", "p50 > +6%")
    assert fathom(base, new, *limits, "--junit", out).returncode == 4
    [suite] = ElementTree.parse(out).getroot()
    assert any("p50 > +5%, p50 > +6%: " in one.get("message", "") for one in suite.iter("failure"))
    assert suite.get("tests") == str(len(suite)) == "4"
    assert suite.get("failures") == str(len(suite.findall(".//failure"))) != "0"


def test_targets_of_one_label_are_called_by_their_names_where_one_takes_the_place_of_the_other(made: Made):
    text = fathom(made("a", target="file:/a/x.bin"), made("b", seed=2, target="file:/b/x.bin")).stdout
    assert "target: file:/a/x.bin → file:/b/x.bin" in " ".join(text.split())


@pytest.mark.parametrize(("base", "said"), [({}, False), ({"io_bytes_max": 131072}, True)])
def test_a_fact_on_devices_that_earlier_versions_lack_is_no_difference(
    base: dict[str, int], said: bool, made: Made, tmp_path: Path
):
    for name, facts in (("old", base), ("new", {"io_bytes_max": 524288})):
        copytree(made("a"), tmp_path / name)
        document = json.loads((tmp_path / name / "run.json").read_text())
        document |= {"id": name}
        document["targets"][0]["identity"] |= facts
        (tmp_path / name / "run.json").write_text(json.dumps(document))
    text = fathom(tmp_path / "old", tmp_path / "new").stdout
    assert ("io bytes max: 131072 → 524288" in text) is said
    assert ("io bytes max" in text) is said


def test_what_else_differs_comes_before_the_figures(made: Made):
    done = fathom(made("a"), made("b", seed=2, governor="powersave"))
    assert "governor: performance → powersave" in done.stdout
    assert done.stdout.index("governor") < done.stdout.index("4 KiB random read")
    assert "A side is a single run" in done.stdout.replace("\n", " ")


def test_where_nothing_is_compared_nothing_is_said_of_intervals_or_repeats(made: Made, tmp_path: Path):
    out = tmp_path / "changes.html"
    done = fathom(made("a"), "--against", "published", "--out", out)
    assert "Nothing could be compared" in done.stdout
    assert "single run" not in done.stdout
    assert "single run" not in out.read_text()


def test_warnings_of_the_runs_come_before_the_figures_those_of_repeats_and_of_both_sides_once(made: Made):
    words = fathom(made("a", warned=True), made("b", seed=2, repeats=2, warned=True)).stdout
    text = " ".join(words.split())
    assert text.count("base and new: in 4k-rand-read, the client is the limit 0") == text.count("client") == 1
    assert text.count("base and new: this machine is virtual") == text.count("virtual") == 1
    assert text.index("virtual") < text.index("IOPS")
    assert SMALL["text"] not in text
    assert "client" not in fathom(made("a"), made("b", seed=2)).stdout


def test_nothing_is_claimed_of_steps_whose_load_threads_waited_for_cores_of_other_programs(
    made: Made, tmp_path: Path
):
    base, new = made("a"), tmp_path / "b"
    shutil.copytree(made("b", 0.5, seed=2), new)
    event = {
        "event": "remark",
        "time": "2026-11-20T23:15:00.000Z",
        "target": synthetic.FILE.name,
        "text": "waited",
    }
    append_event(new, event | {"step": "4k-rand-read", "code": "cpu-wait", "share": 0.2})
    found = rows(base, new)
    verdicts = {workload: row["verdict"] for (workload, metric), row in found.items() if metric == "iops"}
    assert verdicts == {"4 KiB random read": "cannot tell", "4 KiB random write": "worse"}
    done = fathom(base, new, "--fail-if", "iops < -99%")
    assert done.returncode == 0
    text = " ".join(done.stdout.split())
    assert "cannot tell (1 machine busy)" in text
    assert "4 KiB random read: new, its load threads waited for cores" in text
    undecided = fathom(base, new, "--fail-if", "iops < -3%")
    assert "Not decided, iops < -3%: IOPS of 4 KiB random read, machine busy" in " ".join(
        undecided.stdout.split()
    )


def test_a_warning_of_one_repeat_says_so(made: Made):
    first = made("b", seed=2, repeats=2, warned=True)
    runs = ",".join([str(first), str(made("b", seed=2, repeats=2).parent / "b-four-corners-1")])
    text = " ".join(fathom(made("a"), runs).stdout.split())
    assert "new: this machine is virtual (in 1 of 2 runs)" in text


def test_markdown_and_terminal_make_no_markup_of_what_runs_are_called(made: Made):
    label = "[red]x|`*_\x1b[31m"
    base, new = made("a", label=label), made("b", seed=2, label=label)
    markdown = fathom(base, new, "--markdown").stdout
    assert "\\[red\\]x\\|\\`\\*\\_" in markdown
    assert "\x1b" not in markdown
    assert "[red]x|`*_" in fathom(base, new).stdout


def test_the_page_has_every_change_and_loads_nothing(made: Made, tmp_path: Path):
    out = tmp_path / "changes.html"
    assert fathom(made("a", repeats=3), made("b", 0.9, repeats=3, seed=10), "--out", out).returncode == 0
    page = out.read_text()
    assert page.count('"markLine"') >= 1
    assert "Worse: " in page
    [sentence] = re.findall(r"<h1[^>]*>(.+?)</h1>", page)
    assert re.match(r"Worse in \d+ of \d+ figures, most in .+: [+−][\d.]+.%\.$", sentence)
    assert "default-src &#39;none&#39;" in page or "default-src 'none'" in page


def test_the_page_has_the_caveats_of_its_runs_on_the_first_screen(made: Made, tmp_path: Path):
    out = tmp_path / "changes.html"
    fathom(made("a"), made("b", seed=2, warned=True), "--out", out)
    first, _, _ = out.read_text().partition('class="part"')
    assert "of the runs limit" in first
    assert "A side is a single run" in first
    assert "Shortened run" in first


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (0.5, "It has no interval, so it may be chance."),
        (1.0, "No figure differs, but none has an interval."),
    ],
)
def test_single_runs_without_intervals_open_with_their_largest_change_and_hollow_dots(
    tmp_path: Path, share: float, said: str
):
    runs = [
        synthetic.make_run(
            tmp_path / f"run-{number}",
            [replace(synthetic.FILE, rates=[part * rate for rate in synthetic.FILE.rates])],
            measure_s=2,
            precondition_s=2,
            fill_s=1,
            notes=(),
        )
        for number, part in enumerate((1.0, share))
    ]
    out = tmp_path / "page.html"
    assert fathom(*runs, "--out", out).returncode == 0
    page = out.read_text()
    assert said in page
    assert "A hollow dot has no interval: one run." in page
    assert page.count(f"New: {synthetic.FILE.label}. Base: ") == 1
    dots = re.findall(r'"itemStyle": ?\{[^}]*"borderColor": ?"\$ink"', page)
    assert len(dots) >= 8


def test_a_run_is_not_compared_with_itself_or_with_another_of_its_own_repeats(made: Made):
    first = made("a", repeats=3)
    for other in (first, first.with_name("a-four-corners-2")):
        done = fathom(first, other)
        assert done.returncode == 2
        assert "is the same run or another of its repeats" in done.stderr


def test_the_last_good_run_beside_itself_is_said_to_be_that(made: Made):
    good = made("a", repeats=3)
    fathom(good, "--against", "last-good")
    done = fathom(good, "--against", "last-good")
    assert done.returncode == 0
    assert "is the last good run itself" in done.stdout


def test_an_interval_without_end_hides_neither_figures_nor_verdict_in_80_columns(
    made: Made, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(rows_of, "difference", lambda *_: Difference(0.5, 1e-30, 1e30, 0.95))
    text = fathom(made("a"), made("b", seed=2)).stdout
    assert "(−100.0 to over +9900.0)" in text
    assert "…" not in text
    assert [line for line in text.splitlines() if "IOPS " in line and line.endswith("cannot tell")]


def test_changes_without_intervals_are_printed_as_the_page_has_them(tmp_path: Path):
    runs = [
        synthetic.make_run(
            tmp_path / f"run-{number}",
            [replace(synthetic.FILE, rates=[part * rate for rate in synthetic.FILE.rates])],
            measure_s=2,
            precondition_s=2,
            fill_s=1,
        )
        for number, part in enumerate((1.0, 0.5))
    ]
    lines = fathom(*runs).stdout.splitlines()
    without = [line for line in lines if re.search(r"% +no interval$", line.rstrip())]
    assert any("−50.0 %" in line for line in without)
    assert any(f" cannot tell ({len(without)} no interval" in line for line in lines)
    assert "| −50.0 % | no interval |" in fathom(*runs, "--markdown").stdout


def test_a_target_without_published_figures_says_why_nothing_was_compared(made: Made):
    done = fathom(made("a"), "--against", "published")
    assert "the catalogue has no published figure of these targets" in " ".join(done.stdout.split())
    assert "beside what is published" not in done.stdout


def test_a_simulated_target_beside_a_measured_one_is_called_that(made: Made, tmp_path: Path):
    text = " ".join(fathom(made("a"), of_twin(tmp_path / "twin", 0)).stdout.split())
    assert re.search(r"target: .* \(file, measured\) → .* \(twin, simulated\)", text)


def test_the_last_good_run_moves_on_only_to_what_is_not_worse(made: Made):
    good, better, worse = (
        made("a", repeats=3),
        made("b", repeats=3, seed=10),
        made("c", 0.9, repeats=3, seed=20),
    )
    assert "is it from now on" in fathom(good, "--against", "last-good").stdout
    assert str(good) in fathom(better, "--against", "last-good", "--json").stdout
    assert str(better) in fathom(worse, "--against", "last-good", "--json").stdout
    assert str(better) in fathom(worse, "--against", "last-good", "--json").stdout


@pytest.mark.parametrize(
    ("change", "is_base"), [(0.99, False), (1.01, True)], ids=["one percent less", "one percent more"]
)
def test_a_step_to_the_worse_that_shows_does_not_move_the_base_though_it_is_level(
    change: float, is_base: bool, tmp_path: Path
):
    base = of_twin(tmp_path, 0)
    new = tmp_path / "new-four-corners"
    shutil.copytree(base, new)
    for run, factor in ((base, 1.0), (new, change)):
        scale(run, factor)
    assert "is it from now on" in fathom(base, "--against", "last-good").stdout
    done = fathom(new, "--against", "last-good", "--metrics", "iops", "--json")
    [found] = json.loads(done.stdout)["comparisons"]
    assert {row["verdict"] for pair in found["pairs"] for row in pair["rows"]} == {"level"}
    assert (f"{new} is the base from now on" in done.stderr) is is_base
    assert ("stays the base: IOPS of " in done.stderr) is not is_base


def scale(run: Path, factor: float) -> None:
    """Scales the rates of a run, and makes their intervals narrow."""
    points = pq.read_table(run / "points.parquet").to_pylist()
    for row in points:
        row["mbps"] *= factor
        row["iops"] *= factor
        row["iops_low"], row["iops_high"] = 0.9995 * row["iops"], 1.0005 * row["iops"]
    pq.write_table(pa.Table.from_pylist(points, POINTS), run / "points.parquet")


def test_what_no_limit_names_keeps_a_run_from_being_the_base_too(made: Made):
    base, half = made("a", repeats=3), made("half", 0.5, repeats=3, seed=20)
    fathom(base, "--against", "last-good")
    done = fathom(half, "--against", "last-good", "--fail-if", "p50 > +300%")
    assert done.returncode == 0
    assert "stays the base: " in done.stderr


def test_the_last_good_run_may_have_a_comma_in_its_path(made: Made, tmp_path: Path):
    good = tmp_path / "old, and kept" / "a-four-corners-0"
    shutil.copytree(made("a"), good)
    assert "is it from now on" in fathom(good, "--against", "last-good").stdout
    done = fathom(made("b", seed=2), "--against", "last-good", "--json")
    assert str(good) in done.stdout, done.stderr


def test_a_run_that_did_not_end_well_becomes_no_base(made: Made, tmp_path: Path):
    cut = tmp_path / "cut-four-corners-0"
    shutil.copytree(made("a"), cut)
    document = json.loads((cut / "run.json").read_text())
    (cut / "run.json").write_text(json.dumps(document | {"status": "interrupted"}))
    done = fathom(cut, "--against", "last-good")
    assert done.returncode == 2
    assert "was interrupted, so it is no base" in done.stderr
    assert "is it from now on" in fathom(made("b", seed=2), "--against", "last-good").stdout


def test_the_page_says_of_every_new_run_what_else_differs(made: Made, tmp_path: Path):
    out = tmp_path / "changes.html"
    fathom(made("a"), made("b", seed=2), made("c", seed=3, governor="powersave"), "--out", out)
    assert "performance → powersave" in out.read_text()


def test_layers_below_a_file_that_only_one_run_has_are_named(made: Made, tmp_path: Path):
    run = tmp_path / made("b", seed=2).name
    shutil.copytree(made("b", seed=2), run)
    document = json.loads((run / "run.json").read_text())
    document["targets"][0]["identity"]["layers"] = ["LVM", "dm-crypt"]
    (run / "run.json").write_text(json.dumps(document))
    assert "layers: unknown → LVM, dm-crypt" in " ".join(fathom(made("a"), run).stdout.split())


def test_a_target_without_a_counterpart_is_refused(made: Made):
    base = made("a")
    two = made("b", seed=2, target="file:/other")
    assert fathom(base, two).returncode == 0
    done = fathom(base)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


def test_runs_that_are_no_repeats_are_not_taken_as_one_side(made: Made):
    one, other = made("a"), made("b", seed=2, governor="powersave")
    done = fathom(f"{one},{other}", made("c", seed=3))
    assert done.returncode == 2
    assert "no repeats of one measurement" in done.stderr


def test_iops_per_watt_are_known_no_better_than_the_rate_is():
    values = dict.fromkeys(POINTS.names) | {
        "op": "read",
        "n": 10_000,
        "iops": 1000.0,
        "iops_low": 990.0,
        "iops_high": 1010.0,
        "joules": 50.0,
        "joules_low": 49.99,
        "joules_high": 50.01,
    }
    bounds = METRICS["iops/W"].bounds(Point.of(values))
    assert bounds is not None
    low, high = bounds
    assert low <= 198.0
    assert high >= 202.0


def test_iops_per_watt_of_a_mix_are_one_figure_of_all_its_operations(tmp_path: Path):
    method = parse_method(MIX, "mix.toml")
    runs = [
        start_run(method, resolve_targets(["twin:samsung-pm9a3-7.68tb"]), Options(seed=seed, out=tmp_path))
        for seed in (1, 2)
    ]
    found = rows(*(run.path for run in runs), "--metrics", "iops/W,iops")
    points = Run(runs[0].path).points.to_pylist()
    mixed = [row for row in points if row["step"] == "mixed"]
    [row] = [row for (_, metric), row in found.items() if metric == "iops/W"]
    assert row["base"] == pytest.approx(sum(row["n"] for row in mixed) / mixed[0]["joules"])
    assert len([row for _, metric in found if metric == "iops"]) == 2


def of_twin(folder: Path, number: int, *, catalog: str | None = None, share: float = 1.0) -> Path:
    """A run of the first or second synthetic twin, or of one with other parameters."""
    own = synthetic.TWINS[number]
    rates = [share * rate for rate in own.rates]
    fake = replace(own, rates=rates, catalog=catalog or own.catalog)
    path = folder / f"{number}-{share:g}-four-corners"
    return synthetic.make_run(
        path, [fake], measure_s=8, precondition_s=4, fill_s=4, seed=number + 1, notes=()
    )


def test_a_twin_beside_figures_that_it_may_be_fitted_to_is_said_to_predict_nothing(tmp_path: Path):
    own = of_twin(tmp_path, 0)
    printed = " ".join(fathom(own, "--against", "published").stdout.split())
    assert "published figures are for calibration: twins may be fitted to them, so being near" in printed
    beside = " ".join(fathom(own, of_twin(tmp_path, 1)).stdout.split())
    assert "for calibration" not in beside


def test_a_published_floor_stands_beside_the_floor_of_each_repeat(
    made: Made, monkeypatch: pytest.MonkeyPatch
):
    floor = Published(38_000.0, "validation, floor", "a review", is_floor=True)
    monkeypatch.setattr("fathom.report.published.find", lambda *_: floor)
    side, alone = (read_side(str(made(name, repeats=count))) for name, count in (("a", 3), ("d", 1)))
    label = "4 KiB random write"
    [cell] = [one.cells[0] for one in side.comparison.corners if one.label == label]
    [row] = [row for row in compare_sides(None, side, DEFAULT).rows if row.workload == f"{label} (floor)"]
    assert row.new == pytest.approx(floor_of(*cell.repeats))
    assert row.new != pytest.approx(cell.value)
    assert row.difference is not None
    assert not [
        row
        for row in compare_sides(None, alone, DEFAULT).rows
        if "(floor)" in row.workload and row.difference
    ]


def test_a_rate_by_its_own_name_is_compared_with_what_is_published(tmp_path: Path):
    printed = fathom(of_twin(tmp_path, 0), "--against", "published", "--metrics", "iops").stdout
    assert "the catalogue has no published figure" not in " ".join(printed.split())
    assert "4 KiB random read" in printed


def test_two_drives_twins_differ_with_the_chance_that_real_drives_do(tmp_path: Path):
    sides = of_twin(tmp_path, 0), of_twin(tmp_path, 1, share=0.6)
    found = rows(*sides)
    read = found["4 KiB random read", "iops"]
    assert read["verdict"] == "worse"
    spreads = [spread_of(load_device(str(synthetic.TWINS[n].catalog)), 4096) for n in (0, 1)]
    assert isinstance(read["base"], float)
    assert isinstance(read["new"], float)
    assert read["order_chance"] == order_chance(read["base"] / read["new"], *spreads)
    assert found["4 KiB random read", "p99"]["order_chance"] is None
    printed = fathom(*sides, "--metrics", "rate").stdout
    [heading] = [line for line in printed.splitlines() if line.split()[:2] == ["metric", "base"]]
    assert heading.rstrip().endswith("drives")
    [line] = [line for line in printed.splitlines() if line.split()[:1] == ["IOPS"] and "worse" in line][:1]
    assert line.rstrip().endswith("%"), "the share stands on the row of its verdict"
    assert len(line.rstrip()) <= 80
    assert "worse; real drives " in fathom(*sides, "--metrics", "rate", "--markdown").stdout


def test_targets_with_one_label_are_told_apart_by_their_names_where_sides_do_not_match(tmp_path: Path):
    paths = []
    for place in ("a", "b"):
        one = replace(synthetic.FILE, name=f"file:/{place}/scratch.bin")
        targets = [one, synthetic.TWINS[0]] if place == "b" else [one]
        paths.append(synthetic.make_run(tmp_path / f"{place}-four-corners", targets, notes=()))
    said = fathom(*paths).stderr
    assert f"{synthetic.FILE.label} (file:/b/scratch.bin) of " in said
    assert f"only {synthetic.FILE.label} (file:/a/scratch.bin)" in said


def test_one_drives_twin_with_other_parameters_has_no_such_chance(tmp_path: Path):
    other = f"{synthetic.TWINS[0].catalog}?ecc_us=30"
    found = rows(of_twin(tmp_path, 0), of_twin(tmp_path, 0, catalog=other, share=0.8))
    assert found["4 KiB random write", "iops"]["verdict"] == "worse"
    assert {row["order_chance"] for row in found.values()} == {None}


def test_every_metric_is_known_by_a_name_that_a_limit_takes():
    for name in METRICS:
        assert parse_gate(f"{name} > +5%").metric == name
