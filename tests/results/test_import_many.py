"""Many files at once: each is imported, found to be there, or named as bad; then the commands for runs take them."""

import json
import shutil
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import pytest
from others import Fathom

from fathom.errors import FathomError, UsageError
from fathom.load.workers import Workers, local_workers
from fathom.results.formats import Format
from fathom.results.import_files import FEW, Outcome, import_results
from fathom.results.known import Known
from fathom.runs.check import check
from fathom.runs.reader import Run

T = TypeVar("T")

SAMPLES = Path(__file__).parents[1] / "data/results"


def fio_result(iops: float, name: str = "job", version: str = "fio-3.33") -> str:
    read = {"io_bytes": 4096, "bw_bytes": 4096 * iops, "iops": iops, "runtime": 1000, "total_ios": 1}
    job = {"jobname": name, "groupid": 0, "error": 0, "read": read}
    return json.dumps({"fio version": version, "timestamp": 1_500_000_000, "jobs": [job]})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Forty good files in two folders, one of them there twice, and three bad ones."""
    (tmp_path / "in/deep").mkdir(parents=True)
    for number in range(40):
        place = tmp_path / ("in/deep" if number % 2 else "in")
        (place / f"{number:02}.json").write_text(fio_result(100.0 + number))
    (tmp_path / "in/again.json").write_text(fio_result(100.0))
    (tmp_path / "in/cut.json").write_text(fio_result(1.0)[:-40])
    (tmp_path / "in/notes.txt").write_text("a shopping list\n")
    (tmp_path / "in/drive.bin").write_bytes(b"\0\1\2")
    return tmp_path / "in"


def test_a_run_of_fathoms_own_is_one_line_and_what_is_beside_it_is_imported(folder: Path):
    own = import_results([folder / "00.json"]).runs[0]
    shutil.copytree(own, folder / "own")
    (folder / "other").mkdir()
    (folder / "other/run.json").write_text(fio_result(7.0))
    (folder / ".cache").mkdir()
    (folder / ".cache/hidden.json").write_text("not a result")
    outcome = import_results([folder / "own", folder / "other", folder])
    first, *others = outcome.bad
    line = f"{folder / 'own'}: a run already; `fathom report` and `fathom compare` take it as it is"
    assert first.why == line
    assert {one.file.name for one in others} == {"cut.json", "drive.bin", "notes.txt"}
    assert 7.0 in [Run(run).points["iops"].to_pylist()[0] for run in outcome.runs]


def test_what_fathom_wrote_into_a_folder_is_a_line_for_its_runs_and_one_for_its_sweeps(
    folder: Path, fathom: Fathom
):
    own = import_results([folder / "00.json"]).runs[0]
    for place in ("home/one", "home/two", "home/swept/points/0001", "home/swept/points/0002"):
        shutil.copytree(own, folder / place)
    (folder / "home/swept/sweep.json").write_text('{"schema": "fathom-sweep/1"}')
    (folder / "home/swept/report.html").write_text("<html>")
    (folder / "other").mkdir()
    (folder / "other/sweep.json").write_text("[]")
    found = fathom("import-results", folder / "home", folder / "other")
    runs, sweeps, other, end = found.err.splitlines()
    assert (
        f"{folder}/home: 2 runs already; `fathom report` and `fathom compare` take them as they are" in runs
    )
    assert f"{folder}/home/swept: a sweep already" in sweeps
    assert "other/sweep.json: no format" in other
    assert end == "fathom: 4 of 4 not imported; the lines above give the reasons"


def test_a_list_of_imported_runs_fits_80_columns_and_its_ids_find_them(
    tmp_path: Path, fathom: Fathom, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("COLUMNS", "80")
    job = json.loads(fio_result(100.0, "a-name-that-describes-all-that-a-long-test-does"))
    job["jobs"][0]["job options"] = {"filename": f"/{'directory_of_tests/' * 4}{'x' * 60}"}
    (tmp_path / "long.json").write_text(json.dumps(job))
    import_results([tmp_path / "long.json"])
    lines = fathom("runs").out.splitlines()
    assert max(len(line) for line in lines[:-1]) <= 80
    assert "(from fio 3.33)" in " ".join(line.strip() for line in lines)
    run = lines[1].split()[0]
    assert fathom("export-results", run, "--format", "csv").code == 0


def test_a_list_of_runs_says_which_another_program_measured(folder: Path, fathom: Fathom):
    import_results([folder / "00.json"])
    assert "unknown (from fio 3.33)" in fathom("runs").out
    [row] = json.loads(fathom("runs", "--json").out)["runs"]
    assert row["imported_from"] == "fio 3.33"


def test_a_folder_is_imported_whole_and_its_bad_files_do_not_stop_the_rest(folder: Path):
    news: list[tuple[int, int]] = []
    outcome = import_results([folder], progress=lambda done, count: news.append((done, count)))
    assert len(outcome.runs) == 40
    assert [(one.file.name, one.run) for one in outcome.duplicates] == [
        (
            "again.json",
            next(run.name for run in outcome.runs if Run(run).points["iops"].to_pylist() == [100.0]),
        )
    ]
    assert [one.file.name for one in outcome.bad] == ["cut.json", "drive.bin", "notes.txt"]
    assert all(str(folder) in one.why for one in outcome.bad)
    assert news[-1] == (44, 44)
    rates = sorted(Run(run).points["iops"].to_pylist()[0] for run in outcome.runs)
    assert rates == [100.0 + number for number in range(40)]


def test_what_was_imported_before_is_not_imported_again(folder: Path):
    first = import_results([folder])
    second = import_results([folder])
    assert second.runs == []
    assert len(second.duplicates) == 41
    assert {one.run for one in second.duplicates} == {run.name for run in first.runs}


def test_the_command_names_runs_duplicates_and_bad_files_and_ends_with_one(folder: Path, fathom: Fathom):
    done = fathom("import-results", folder)
    assert done.code == 1
    assert len(done.out.splitlines()) == 40
    lines = done.err.splitlines()
    assert len(lines) == 5
    assert "already there" in lines[0]
    assert lines[-1] == "fathom: 3 of 44 not imported; the lines above give the reasons"
    assert "Traceback" not in done.err


def test_the_only_file_ends_with_its_own_reason(tmp_path: Path, fathom: Fathom):
    (tmp_path / "junk.json").write_text("junk")
    done = fathom("import-results", tmp_path / "junk.json")
    assert done.code == 2
    assert done.err.startswith(f"fathom: {tmp_path}/junk.json: no format of results that Fathom reads")
    assert len(done.err.splitlines()) == 1


def test_many_files_that_are_already_there_are_counted(folder: Path, fathom: Fathom):
    fathom("import-results", folder)
    lines = [line for line in fathom("import-results", folder).err.splitlines() if "already there" in line]
    assert len(lines) == 2
    assert lines[1] == "fathom: 40 more files are already there; --json lists them with their runs"


def test_a_format_that_is_given_is_taken_and_an_unknown_one_refused(tmp_path: Path, fathom: Fathom):
    file = SAMPLES / "summary.html"
    [bad] = import_results([file], Format.ELBENCHO).bad
    assert "no headings of elbencho" in bad.why
    assert fathom("import-results", "--format", "xml", file).code == 2
    assert fathom("import-results", "--unit", "hours", file).code == 2
    with pytest.raises(UsageError, match="no file"):
        import_results([tmp_path])


def test_what_fio_prints_for_people_and_an_empty_file_are_named_with_what_to_do(
    tmp_path: Path, fathom: Fathom
):
    normal, empty = tmp_path / "normal.txt", tmp_path / "empty.json"
    normal.write_text("randread: (g=0): rw=randread, bs=(R) 4096B-4096B, ioengine=libaio\nfio-3.33\n")
    empty.touch()
    refused = fathom("import-results", normal, empty)
    assert refused.code == 1
    assert "run fio with --output-format=json+" in refused.err
    assert "empty.json: is empty" in refused.err


def test_report_compare_query_and_runs_take_imported_runs(tmp_path: Path, fathom: Fathom):
    for name, iops in (("old", 100.0), ("new", 120.0)):
        (tmp_path / f"{name}.json").write_text(
            fio_result(iops, version="fio-2.1" if name == "old" else "fio-3.33")
        )
    old, new = fathom("import-results", tmp_path / "old.json", tmp_path / "new.json").out.split()
    compared = fathom("compare", old, new)
    assert compared.code == 0
    assert "fio: 2.1 → 3.33" in compared.out
    assert "measured by fio 2.1 elsewhere" in compared.out
    assert "no interval" in compared.out
    assert "+20.0 %" in compared.out
    assert "--repeats" not in compared.out
    assert "measured this elsewhere" not in compared.out
    assert not any(verdict in compared.out for verdict in ("Better", "Worse"))
    page = tmp_path / "page.html"
    assert fathom("report", old, new, "--out", page).code == 0
    assert "measured by fio 3.33, elsewhere" in page.read_text()
    rows = fathom("query", "select iops from points order by iops", "--csv").out.splitlines()
    assert rows == ["iops", "100.0", "120.0"]
    assert "unknown" in fathom("runs").out
    refused = fathom("resume", old)
    assert refused.code == 2
    assert "was imported" in refused.err


def test_a_table_of_several_runs_has_one_header_and_says_which_run_a_row_is_of(
    tmp_path: Path, fathom: Fathom
):
    for name in ("a", "b"):
        (tmp_path / f"{name}.json").write_text(fio_result(100.0, name))
    runs = fathom("import-results", tmp_path / "a.json", tmp_path / "b.json").out.split()
    lines = fathom("report", *runs, "--csv").out.splitlines()
    assert [line.split(",")[0] for line in lines] == ["run", *(Path(run).name for run in runs)]


def test_a_run_that_cannot_be_written_whole_leaves_nothing_behind(
    tmp_path: Path, runs_home: Path, monkeypatch: pytest.MonkeyPatch
):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    (tmp_path / "a.json").write_text(fio_result(100.0))
    monkeypatch.setattr("fathom.runs.whole.sync_files", full)
    with pytest.raises(FathomError, match="No space left"):
        import_results([tmp_path / "a.json"])
    assert list(runs_home.iterdir()) == []


def opened(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Returns the list of the runs whose documents are opened for their digests from here on."""
    from fathom.results import known

    found: list[Path] = []
    of_files = known.files_of

    def noted(run: Path) -> frozenset[str]:
        found.append(run)
        return of_files(run)

    monkeypatch.setattr(known, "files_of", noted)
    return found


def test_hundreds_of_files_are_counted_and_those_known_are_found_without_opening_their_runs(
    tmp_path: Path, runs_home: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "in").mkdir()
    for number in range(300):
        (tmp_path / f"in/{number:03}.json").write_text(fio_result(100.0 + number % 290))
    (tmp_path / "in/cut.json").write_text(fio_result(1.0)[:-40])
    first = import_results([tmp_path / "in"])
    assert (len(first.runs), len(first.duplicates), len(first.bad)) == (290, 10, 1)
    assert [path for path in runs_home.iterdir() if path.name.endswith(".new")] == []
    looked = opened(monkeypatch)
    second = import_results([tmp_path / "in"])
    assert (len(second.runs), len(second.duplicates), len(second.bad)) == (0, 300, 1)
    assert looked == []


def test_two_imports_of_the_same_files_at_once_leave_whole_runs_and_one_of_each(folder: Path, tmp_path: Path):
    out = tmp_path / "out"

    def imported(_: int) -> Outcome | UsageError:
        try:
            return import_results([folder], out=out)
        except UsageError as error:
            return error

    with ThreadPoolExecutor(max_workers=4) as pool:
        outcomes = list(pool.map(imported, range(4)))
    errors = [str(one) for one in outcomes if isinstance(one, UsageError)]
    assert all("a run of this name is there already" in error for error in errors)
    import_results([folder], out=out)
    runs = [Run(path) for path in out.iterdir() if not path.name.startswith(".")]
    assert len(runs) == 40
    assert all(check(run.path).whole for run in runs)
    assert not list(out.glob(".*.new"))


def test_files_whose_run_another_import_named_meanwhile_are_duplicates_and_leave_nothing(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    out = tmp_path / "out"
    import_results([folder], out=out)
    nothing = Known(out, {})
    monkeypatch.setattr(Known, "of", lambda _: nothing)
    outcome = import_results([folder], out=out)
    assert (len(outcome.runs), len(outcome.duplicates), len(outcome.bad)) == (0, 41, 3)
    assert not list(out.glob(".*.new"))


class Counting:
    """Passes calls on and counts them."""

    def __init__(self, workers: Workers) -> None:
        self.calls = 0
        self._workers = workers

    def submit(self, function: Callable[..., T], /, *arguments: object) -> "Future[T]":
        self.calls += 1
        return self._workers.submit(function, *arguments)


def test_workers_import_many_files_as_one_process_does_and_leave_few_to_it(folder: Path, tmp_path: Path):
    for number in range(FEW):
        text = fio_result(200.0 + number)
        (folder / f"many{number:03}.json").write_text(text if number % 50 else text[:-40])
        if number % 100 == 0:
            # A good file comes twice in a row, and so does a bad one, while the first is still being read.
            (folder / f"many{number:03}-again.json").write_text(text if number else text[:-40])
    alone = import_results([folder], out=tmp_path / "alone")
    with local_workers(2) as processes:
        workers = Counting(processes)
        together = import_results([folder], out=tmp_path / "together", workers=workers)
        # Each content goes to a worker once; a binary file and what is like one before it do not.
        assert workers.calls == len(together.runs) + len(together.bad) - 2
        workers.calls = 0
        few = import_results([folder / "deep"], out=tmp_path / "few", workers=workers)
        assert (len(few.runs), workers.calls) == (20, 0)
    assert [run.name for run in together.runs] == [run.name for run in alone.runs]
    assert [one.file for one in together.bad] == [one.file for one in alone.bad]
    assert together.duplicates == alone.duplicates
    assert {"many000-again.json", "many000.json"} <= {one.file.name for one in together.bad}
    for run in together.runs:
        mine, theirs = Run(run).points, Run(tmp_path / "alone" / run.name).points
        assert mine.equals(theirs)
    assert [one for one in (tmp_path / "together").iterdir() if one.name.endswith(".new")] == []


def test_a_run_that_was_removed_is_imported_again_and_one_from_elsewhere_is_known(
    folder: Path, runs_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    runs = import_results([folder]).runs
    other = import_results([folder], out=tmp_path / "other").runs
    for number in (0, 1):
        shutil.rmtree(runs[number])
    shutil.copytree(other[1], runs[1])
    looked = opened(monkeypatch)
    again = import_results([folder])
    assert [run.name for run in again.runs] == [runs[0].name]
    assert looked == [runs[1]]


@pytest.mark.parametrize("damage", ["", "{}", '{"a": 3}', "\0"])
def test_a_damaged_list_of_what_is_known_costs_time_and_nothing_else(
    folder: Path, runs_home: Path, damage: str
):
    import_results([folder])
    (runs_home / ".index/imported.json").write_text(damage)
    again = import_results([folder])
    assert (len(again.runs), len(again.duplicates)) == (0, 41)


def test_logs_beside_a_file_of_the_format_that_is_given_are_bad_files_each(tmp_path: Path):
    (tmp_path / "a.json").write_text(fio_result(1000.0))
    for kind in ("bw", "iops"):
        (tmp_path / f"x_{kind}.1.log").write_text("1000, 500, 0, 0\n2000, 500, 0, 0\n")
    outcome = import_results([tmp_path], Format.FIO_JSON)
    assert len(outcome.runs) == 1
    assert [bad.file.name for bad in outcome.bad] == ["x_bw.1.log", "x_iops.1.log"]
