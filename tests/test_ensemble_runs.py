"""Runs over the members of an ensemble: a row is that of a run of the member alone, and damage costs no other row."""

from collections.abc import Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pytest

import fathom
from fathom.catalog import CatalogError
from fathom.catalog.ensemble import load_ensemble, write_ensemble
from fathom.errors import FathomError, UsageError
from fathom.load.resolve import resolve_targets
from fathom.method.method import Method, parse_method
from fathom.output.text import signed_pct
from fathom.prediction.members import narrowing, range_over
from fathom.report import write_html
from fathom.report.blocks import Table
from fathom.report.comparison import compare
from fathom.report.data import load
from fathom.report.sections import corners
from fathom.runs.check import check, repair
from fathom.runs.damage import DamageWarning
from fathom.runs.ensemble import FILE
from fathom.runs.reader import Run
from fathom.session import Options, start_run
from fathom.sweep.members import add_ensemble, check_ensemble

DRIVE = "twin:samsung-pm9a3-7.68tb"
SETTLED = f"{DRIVE}?settled_share=1"
WITHOUT = "twin:kioxia-cd8-r-7.68tb"
MEMBERS = 8
METHOD = """
schema = "fathom-method/1"
name = "tiny"
slice = "2GB"
[[steps]]
name = "mixed"
label = "4 KiB 70/30"
[steps.job]
mix = { read = 70, write = 30 }
block = "4KiB"
pattern = "uniform"
load = { threads = 4, iodepth = 16 }
until = { time = "20ms" }
"""


def method() -> Method:
    return parse_method(METHOD, "tiny.toml")


def run_on(target: str, out: Path) -> Run:
    return start_run(method(), resolve_targets([target]), Options(out=out))


@pytest.fixture(scope="module")
def workers() -> Iterator[Executor]:
    with ThreadPoolExecutor(2) as pool:
        yield pool


@pytest.fixture
def run(tmp_path: Path, workers: Executor) -> Run:
    made = run_on(SETTLED, tmp_path)
    add_ensemble(made, MEMBERS, workers, lambda label, done, total: None)
    return Run(made.path)


def test_a_members_rows_are_those_of_a_run_of_the_member_with_what_the_user_set(
    run: Run, tmp_path: Path
) -> None:
    rows = run.table("ensemble")
    assert sorted(set(rows["member"].to_pylist())) == list(range(1, MEMBERS + 1))
    alone = run_on(f"{DRIVE}?member=3,settled_share=1", tmp_path / "alone").points
    third = rows.filter(pc.field("member") == 3)
    assert set(third["target"].to_pylist()) == {SETTLED}
    for column in ("op", "iops", "mbps", "mean_us", "p99_us", "waf", "n"):
        assert third[column].to_pylist() == alone[column].to_pylist(), column
    assert len(set(rows.filter(pc.field("op") == "read")["iops"].to_pylist())) == MEMBERS


def test_a_report_has_the_range_over_the_members(run: Run, tmp_path: Path) -> None:
    page = write_html([run.path], tmp_path / "report.html").read_text().replace("\N{NO-BREAK SPACE}", " ")
    rows = run.table("ensemble").group_by("member").aggregate([("iops", "sum")])
    own = sum(run.points["iops"].to_pylist())
    low, high = 100 * (np.quantile(rows["iops_sum"].to_numpy(), [0.1, 0.9]) / own - 1)
    shown = f"{signed_pct(low)} to {signed_pct(high)}"
    assert "What the parameters leave open" in page
    assert shown in page


def test_results_have_what_the_members_leave_open_beneath_each_figure(run: Run) -> None:
    section = corners.build(compare([load(run.path)]))
    assert section is not None
    [table] = section.blocks
    assert isinstance(table, Table)
    [reads, _] = table.groups[0].rows
    members = run.table("ensemble").filter(pc.field("op") == "read")
    points = run.points.filter(pc.field("op") == "read")
    for head, column in (("Result", "iops"), ("Latency, mean", "mean_us")):
        place = [item.text for item in table.head].index(head)
        [own] = points[column].to_pylist()
        low, high = 100 * (np.quantile(members[column].to_numpy(), [0.1, 0.9]) / own - 1)
        assert reads.cells[place].open == f"[{signed_pct(low).removesuffix(' %')} to {signed_pct(high)}]"
    assert not any("--ensemble" in note for note in table.footnotes)


def test_a_run_without_members_has_no_such_section(tmp_path: Path) -> None:
    made = run_on(SETTLED, tmp_path)
    assert made.table("ensemble").num_rows == 0
    assert (
        "What the parameters leave open" not in write_html([made.path], tmp_path / "report.html").read_text()
    )


def test_another_number_of_members_replaces_the_first(run: Run, workers: Executor) -> None:
    add_ensemble(run, MEMBERS + 1, workers, lambda label, done, total: None)
    assert max(Run(run.path).table("ensemble")["member"].to_pylist()) == MEMBERS + 1
    assert not check(run.path).damage


def test_damage_to_the_members_is_named_and_costs_no_other_row(run: Run) -> None:
    (run.path / FILE).write_bytes(b"PAR1")
    [damage] = check(run.path).damage
    assert str(damage) == f"{FILE} is not as it was written; it is left out"
    with pytest.warns(DamageWarning):
        opened = Run(run.path)
    assert opened.table("ensemble").num_rows == 0
    assert opened.points.equals(run.points)
    assert repair(run.path) == []
    assert check(run.path).damage == (damage,)


@pytest.mark.parametrize(
    ("target", "members", "said"),
    [
        (WITHOUT, MEMBERS, "has no ensemble, so it has no members; `fathom calibrate"),
        ("twin:atto-xstreamcore-9400", MEMBERS, "has no ensemble: only twins of SSDs have one"),
        (DRIVE, 101, "has 100 members"),
        (DRIVE, 7, "too few for a range"),
        (f"{DRIVE}*2", MEMBERS, "is no twin of a single drive"),
        ("null:", MEMBERS, "no target is a twin"),
    ],
)
def test_what_has_no_range_over_members_is_refused_before_anything_runs(
    target: str, members: int, said: str
) -> None:
    with pytest.raises((UsageError, CatalogError), match=said):
        check_ensemble(resolve_targets([target]), members)


def test_an_ensemble_around_other_parameters_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FATHOM_CATALOG", str(tmp_path))
    name = DRIVE.removeprefix("twin:")
    write_ensemble(load_ensemble(name).model_copy(update={"digest": "0" * 16}))
    with pytest.raises(UsageError, match="made around other parameters"):
        check_ensemble(resolve_targets([DRIVE]), MEMBERS)


def test_a_member_that_fails_is_named_with_the_run_that_is_whole(tmp_path: Path) -> None:
    class Failing:
        def submit(self, function: object, /, *arguments: object) -> Future[object]:
            failed: Future[object] = Future()
            failed.set_exception(FathomError("no such flash"))
            return failed

    made = run_on(SETTLED, tmp_path)
    with pytest.raises(FathomError, match=r"member \d: no such flash; the run itself is whole"):
        add_ensemble(made, MEMBERS, Failing(), lambda label, done, total: None)  # pyright: ignore[reportArgumentType]
    assert not check(made.path).damage


def test_a_run_that_has_not_ended_gets_no_members(run: Run, workers: Executor) -> None:
    run.document.status = "running"
    with pytest.raises(UsageError, match="has not ended"):
        add_ensemble(run, MEMBERS, workers, lambda label, done, total: None)


def test_a_range_holds_the_middle_members() -> None:
    assert range_over([*range(1, 8)]) is None
    low, high = range_over([*range(101)]) or (0, 0)
    assert (low, high) == pytest.approx((10, 90))


def test_a_figure_narrows_what_goes_with_it_and_nothing_else() -> None:
    random = np.random.default_rng(1)
    one, other = random.lognormal(size=(2, 1000)).tolist()
    assert narrowing(one[:20], other[:20]) is None
    assert narrowing(one, [value**2 for value in one]) == pytest.approx(1.0)
    assert narrowing(one, [1.0] * 1000) is None
    assert narrowing(one, other) == pytest.approx(0.0, abs=0.005)
    # r = 0.8 leaves 60 % of the range.
    mixed = [a**0.8 * b**0.6 for a, b in zip(one, other, strict=True)]
    assert narrowing(one, mixed) == pytest.approx(0.4, abs=0.03)


def test_python_adds_members_on_processes_of_its_own(tmp_path: Path) -> None:
    made = run_on(SETTLED, tmp_path)
    assert fathom.add_ensemble(made.path, MEMBERS).table("ensemble").num_rows == 2 * MEMBERS
