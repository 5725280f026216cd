"""Damaged run directories: the figures are those that were measured, or the damage is named. Never a traceback."""

import json
import shutil
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import pyarrow as pa
import pytest

import fathom
from damage import damage
from fathom.columns.schema import TABLES
from fathom.errors import DamageWarning, FathomError
from fathom.report.data import RunData, load
from fathom.runs import tables
from fathom.runs.check import check, in_words
from fathom.runs.checksums import FileSum
from fathom.runs.document import RunDocument
from fathom.runs.files import text_of
from fathom.runs.layout import step_folders
from fathom.runs.query import query
from fathom.runs.reader import Run
from fathom.runs.tables import Tables
from old_runs import without_checksums

METHOD = Path(__file__).parent / "data" / "two-reads.toml"
TWIN = "twin:samsung-pm9a3-7.68tb"

Figures = dict[str, Counter[str]]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return fathom.run(str(METHOD), [TWIN], out=tmp_path_factory.mktemp("whole"))


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return fathom.run(str(METHOD), [TWIN], seed=2, out=tmp_path_factory.mktemp("other"))


@pytest.fixture
def copy(whole: Run, runs_home: Path) -> Path:
    shutil.copytree(whole.path, runs_home / whole.id)
    return runs_home / whole.id


FOUND_BY_THE_THOUSAND = (10_122, 10_446)
"""Seeds of damages: another run's run.json in the place of a run's own; a folder in the place of the journal."""


def test_a_step_that_ends_while_its_run_is_read_is_not_missing(
    whole: Run, interrupted: Callable[[Path, Iterable[str]], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    going = interrupted(whole.path, [])
    folders = step_folders(going)
    assert check(going).whole
    monkeypatch.setattr(tables, "step_folders", lambda run: folders[:-1])
    assert check(going).damage == ()
    assert [*Tables(going, RunDocument.load(going)).records()] == [folder.name for folder in folders]


@pytest.mark.parametrize("file", ["run.json", "manifest.json", "journal.jsonl"])
def test_a_device_in_the_place_of_a_file_of_a_run_is_damage_and_is_not_read(copy: Path, file: str) -> None:
    (copy / file).unlink()
    # Reads of /dev/null end at once and give nothing, unlike those of a device that has no end.
    (copy / file).symlink_to("/dev/null")
    with pytest.raises(OSError, match="a device, not a file"):
        text_of(copy / file)
    with pytest.raises(OSError, match="a device, not a file"):
        FileSum.of(copy / file)
    [damaged] = check(copy).damage
    assert damaged.file == file


def killed(run: Path) -> Path:
    """The same as a crash before its end leaves it."""
    (run / "manifest.json").unlink()
    document = RunDocument.load(run)
    document.status = "running"
    document.save(run)
    return run


def rows(tables: dict[str, pa.Table]) -> Figures:
    return {name: Counter(repr(row) for row in table.to_pylist()) for name, table in tables.items()}


def seen(run: Path, *, in_sql: bool = True) -> tuple[Figures, str]:
    """What each kind of reader makes of the tables, and the document. `in_sql` takes longer than all the rest."""
    data = load(run)
    found = {f"python {name}": data.run.table(name) for name in TABLES}
    if in_sql:
        found["report"] = data.query("latency", "select step, low_ns, high_ns, count from rows")
        found["query"] = query("select step, op, iops, n, max_us from points")
    return rows(found), json.dumps(run_document(data))


def outcome_of(run: Path, *, in_sql: bool) -> tuple[Figures, str] | FathomError:
    """What readers make of a run, or why they refuse it."""
    try:
        return seen(run, in_sql=in_sql)
    except FathomError as error:
        return error


def run_document(data: RunData) -> dict[str, object]:
    """run.json but for the notes, to which damage is added."""
    return data.document.model_dump(mode="json", exclude={"notes", "sha256"})


def is_part_of(some: Figures, all_: Figures) -> bool:
    return all(some[name] <= all_[name] for name in some)


def attack(
    run: Path, other: Path, seeds: Iterable[int], prepare: Callable[[Path], object], *, sums: bool
) -> None:
    """Damages copies of a run, one for each seed, and reads them."""
    pristine = run.with_name("pristine")
    prepare(run)
    shutil.copytree(run, pristine)
    true_rows, true_document = seen(run)
    for seed in seeds:
        shutil.rmtree(run)
        shutil.copytree(pristine, run)
        did = damage(run, other, seed)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            outcome = outcome_of(run, in_sql=seed % 4 == 0)
        if isinstance(outcome, FathomError):
            assert "\n" not in str(outcome), (seed, did)
            assert not sums or not check(run).whole, (seed, did, str(outcome))
            continue
        found, document = outcome
        named = [str(one.message) for one in said if issubclass(one.category, DamageWarning)]
        checked = check(run)
        whole = checked.whole
        assert in_words(checked)
        if not sums:
            continue
        assert is_part_of(found, true_rows), (seed, did, named)
        assert document == true_document, (seed, did, named)
        assert named or found == {name: true_rows[name] for name in found}, (seed, did)
        assert not (named and whole), (seed, did, named)


@pytest.mark.parametrize("seeds", [range(start, start + 50) for start in range(0, 200, 50)], ids=str)
def test_of_a_damaged_run_the_figures_are_right_or_the_damage_is_named(
    copy: Path, other: Run, seeds: range
) -> None:
    attack(copy, other.path, seeds, lambda run: None, sums=True)


def test_of_a_damaged_run_that_was_killed_the_figures_are_right_or_the_damage_is_named(
    copy: Path, other: Run
) -> None:
    attack(copy, other.path, [*range(1000, 1060), *FOUND_BY_THE_THOUSAND], killed, sums=True)


def test_a_damaged_run_without_checksums_never_ends_in_a_traceback(copy: Path, other: Run) -> None:
    attack(copy, other.path, range(2000, 2060), without_checksums, sums=False)


@pytest.mark.long
@pytest.mark.parametrize("prepare", [lambda run: None, killed], ids=["ended", "killed"])
def test_of_a_thousand_damages_each_is_named_or_changes_no_figure(
    copy: Path, other: Run, prepare: Callable[[Path], object]
) -> None:
    attack(copy, other.path, range(10_000, 11_000), prepare, sums=True)
