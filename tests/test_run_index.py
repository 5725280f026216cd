"""The index of a folder of runs: it answers as the runs themselves do, whatever happened to either."""

import os
import shutil
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NoReturn

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from fathom.cli import app
from fathom.runs import index as index_module
from fathom.runs.document import RunDocument
from fathom.runs.home import run_directories
from fathom.runs.index import FOLDER, LIST, look
from fathom.runs.listing import runs_table
from fathom.runs.manifest import Manifest
from fathom.runs.query import query
from small_runs import add

SQL = "select run, iops from points order by run, iops"


def rates() -> list[tuple[str, float]]:
    return [(row["run"][-4:], row["iops"]) for row in query(SQL).to_pylist()]


def names(home: Path) -> list[str]:
    return [name[-4:] for name in runs_table(home)["run"].to_pylist()]


def opens(home: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Returns the runs that a list and a query open."""
    opened: list[str] = []
    with monkeypatch.context() as patch:
        load = RunDocument.load

        def noted(run: Path) -> RunDocument:
            opened.append(run.name[-4:])
            return load(run)

        patch.setattr(RunDocument, "load", noted)
        runs_table(home)
        query(SQL)
    return sorted(set(opened))


@pytest.fixture
def two(runs_home: Path) -> Path:
    """A home of two runs that the index has."""
    add(runs_home, 1, 10.0, 11.0)
    add(runs_home, 2, 20.0)
    assert look(runs_home).others == ()
    return runs_home


def test_a_list_and_a_query_open_no_run_that_the_index_has(
    two: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert opens(two, monkeypatch) == []
    assert rates() == [("0001", 10.0), ("0001", 11.0), ("0002", 20.0)]


def test_it_answers_as_the_runs_themselves_do(two: Path) -> None:
    everything = "select * from points order by run, iops"
    kept, listed = query(everything), runs_table(two)
    shutil.rmtree(two / FOLDER)
    (two / FOLDER).write_text("a file in its place, so that nothing can be kept")
    assert len(look(two).others) == 2
    assert query(everything).equals(kept)
    assert runs_table(two).equals(listed)


def test_a_new_run_is_opened_once(two: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add(two, 3, 30.0)
    assert opens(two, monkeypatch) == ["0003"]
    assert opens(two, monkeypatch) == []
    assert rates()[-1] == ("0003", 30.0)


def test_a_removed_run_is_gone_from_list_and_points(two: Path) -> None:
    shutil.rmtree(run_directories(two)[0])
    assert names(two) == ["0002"]
    assert rates() == [("0002", 20.0)]


def test_a_run_that_was_written_again_has_its_new_points(two: Path) -> None:
    shutil.rmtree(run_directories(two)[0])
    add(two, 1, 99.0)
    assert rates() == [("0001", 99.0), ("0002", 20.0)]


def test_a_damaged_table_is_noticed_though_size_and_time_are_as_before(
    two: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = run_directories(two)[0] / "points.parquet"
    before = table.stat()
    data = bytearray(table.read_bytes())
    data[len(data) // 2] ^= 1
    table.write_bytes(data)
    os.utime(table, ns=(before.st_atime_ns, before.st_mtime_ns))
    left_out: list[str] = []
    assert query(SQL, left_out.append).num_rows == 1
    assert ["points.parquet is not as it was written" in one for one in left_out] == [True]


def test_a_run_that_goes_on_is_never_taken_up(two: Path) -> None:
    run = run_directories(two)[0]
    document = RunDocument.load(run)
    (run / "manifest.json").unlink()
    document.status = "running"
    document.save(run)
    assert [one.name for one in look(two).others] == [run.name]
    assert runs_table(two)["status"].to_pylist() == ["killed", "complete"]


@pytest.mark.parametrize("file", [LIST, "points-*.parquet"])
@pytest.mark.parametrize("harm", ["flip", "cut", "remove"])
def test_a_damaged_index_is_made_again(two: Path, file: str, harm: str) -> None:
    [path] = (two / FOLDER).glob(file)
    data = bytearray(path.read_bytes())
    if harm == "flip":
        data[len(data) // 3] ^= 0x10
        path.write_bytes(data)
    elif harm == "cut":
        path.write_bytes(data[: len(data) // 2])
    else:
        path.unlink()
    assert rates() == [("0001", 10.0), ("0001", 11.0), ("0002", 20.0)]
    assert names(two) == ["0001", "0002"]
    assert rates() == [("0001", 10.0), ("0001", 11.0), ("0002", 20.0)]
    assert look(two).others == ()
    assert look(two).points()[1] == []


@pytest.mark.parametrize("place", [-2, 0.3, 0.9])
@pytest.mark.parametrize("change", ["added", "removed"])
def test_a_run_that_comes_or_goes_beside_a_damaged_segment_of_the_same_size_makes_the_index_again(
    two: Path, place: float, change: str
) -> None:
    [path] = (two / FOLDER).glob("points-*.parquet")
    data = bytearray(path.read_bytes())
    data[int(place if place < 0 else place * len(data))] ^= 0x10
    path.write_bytes(data)
    if change == "added":
        add(two, 3, 30.0)
        add(two, 4, 40.0)
        left = [("0001", 10.0), ("0001", 11.0), ("0002", 20.0), ("0003", 30.0), ("0004", 40.0)]
    else:
        shutil.rmtree(run_directories(two)[0])
        left = [("0002", 20.0)]
    assert names(two) == list(dict.fromkeys(name for name, _ in left))
    assert rates() == left
    assert look(two).others == ()
    assert not path.exists() or path not in look(two).segments


def test_the_index_is_not_written_through_a_link(two: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (two / FOLDER).rename(elsewhere)
    (two / FOLDER).symlink_to(elsewhere)
    before = sorted(elsewhere.iterdir())
    add(two, 3, 30.0)
    assert names(two) == ["0001", "0002", "0003"]
    assert sorted(elsewhere.iterdir()) == before


def test_a_full_disk_leaves_the_answer_right(two: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> NoReturn:
        raise OSError(28, "No space left on device")

    shutil.rmtree(run_directories(two)[0])
    add(two, 3, 30.0)
    monkeypatch.setattr(index_module.pq, "write_table", full)
    assert names(two) == ["0002", "0003"]
    assert rates() == [("0002", 20.0), ("0003", 30.0)]


def test_runs_that_come_one_by_one_end_in_few_segments(runs_home: Path) -> None:
    for number in range(20):
        add(runs_home, number, float(number))
        look(runs_home)
    assert len(look(runs_home).segments) <= 5
    assert [rate for _, rate in rates()] == [float(number) for number in range(20)]


def test_segments_that_no_longer_count_go_after_an_hour(two: Path) -> None:
    [old] = look(two).segments
    add(two, 3, 30.0)
    add(two, 4, 40.0)
    look(two)
    assert old.exists()
    os.utime(old, (0, 0))
    add(two, 5, 50.0)
    look(two)
    assert not old.exists()
    assert len(rates()) == 6


def _look_at(home: Path) -> list[str]:
    found = look(home)
    return sorted([*found.facts["run"].to_pylist(), *(run.name for run in found.others)])


def test_several_that_look_at_once_all_see_every_run(runs_home: Path) -> None:
    expected = [add(runs_home, number, float(number)).name for number in range(12)]
    with ProcessPoolExecutor(4) as pool:
        assert list(pool.map(_look_at, [runs_home] * 8)) == [expected] * 8
    assert len(rates()) == 12


def test_points_of_a_version_with_another_column_are_read_from_the_run(two: Path) -> None:
    run = run_directories(two)[0]
    table = index_module.read_table(run / "points.parquet")
    shutil.rmtree(run)
    document = RunDocument.load(run_directories(two)[0]).model_copy(update={"id": run.name, "sha256": None})
    run.mkdir()
    index_module.pq.write_table(
        table.append_column("later", pa.array([7] * table.num_rows)), run / "points.parquet"
    )
    Manifest.of_run(run, run.name, document.text()).save(run)
    document.save(run)
    assert [one.name for one in look(two).others] == [run.name]
    assert query("select max(later) as later from points").to_pylist() == [{"later": 7}]


def test_a_name_of_no_run_does_not_keep_the_others_from_being_checked(two: Path, tmp_path: Path) -> None:
    names_of_runs = [str(run) for run in run_directories(two)]
    done = CliRunner().invoke(app, ["check", names_of_runs[0], str(tmp_path), names_of_runs[1]])
    assert done.exit_code != 0
    assert [Path(name).name in done.stdout for name in names_of_runs] == [True, True]
    assert str(tmp_path) in done.stderr
