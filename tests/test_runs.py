"""The run directory: what is written survives a crash at any moment and reads back as it was."""

import json
import os
import shutil
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import cast

import pyarrow as pa
import pytest

from fathom.errors import DamageWarning, FathomError, UsageError
from fathom.runs.checksums import signed
from fathom.runs.compact import ROW_GROUP_BYTES, batches
from fathom.runs.document import MethodRecord, RunDocument, TargetRecord
from fathom.runs.event_log import read_events, scan_events
from fathom.runs.files import append_line, drop_cut_line, write_atomically
from fathom.runs.home import called, find_run, run_directories
from fathom.runs.layout import step_folders
from fathom.runs.manifest import leave_out_steps
from fathom.runs.query import query
from fathom.runs.reader import Run
from fathom.runs.store import RunStore, StepKey, StepOutcome
from fathom.runs.tables import Tables

KEY = StepKey(0, 1, "read")
COMPLETE = StepOutcome("complete", None, "", 1.0, 0)


def new_store(home: Path, run_id: str = "20260101-000000-short-0000") -> RunStore:
    document = RunDocument(
        id=run_id,
        created="2026-01-01T00:00:00Z",
        status="running",
        seed=1,
        method=MethodRecord(name="short", title="Short", source="", text="", parsed={"steps": []}),
        targets=[TargetRecord(name="null:", kind="null", label="null", capacity_bytes=1 << 30)],
    )
    return RunStore.create(home / run_id, document)


def point(iops: float) -> dict[str, object]:
    return {"target": "null:", "step": "read", "workload": "read", "op": "read", "iops": iops, "n": int(iops)}


def test_a_finished_step_reads_back_with_nulls_where_nothing_applies(runs_home: Path) -> None:
    store = new_store(runs_home)
    store.finish_step(KEY, {"points": [point(5.0)]}, COMPLETE)
    [row] = Run(store.path).points.to_pylist()
    assert row["iops"] == 5.0
    assert row["waf"] is None
    assert store.outcome(KEY) == COMPLETE


def test_a_step_that_was_being_written_when_the_power_went_does_not_exist(runs_home: Path) -> None:
    store = new_store(runs_home)
    half = store.path / "steps" / f".{KEY.folder}.new"
    half.mkdir()
    (half / "points.parquet").write_bytes(b"half")
    reopened = RunStore.reopen(store.path)
    assert reopened.outcome(KEY) is None
    assert not half.exists()
    reopened.finish_step(KEY, {"points": [point(7.0)]}, COMPLETE)
    assert Run(store.path).points.num_rows == 1


class Killed(BaseException):
    """Ends a writer as a signal would."""


@pytest.mark.parametrize("change", ["rename", "rmdir", "unlink", "fsync"])
@pytest.mark.parametrize("number", range(1, 5))
@pytest.mark.parametrize("after", [False, True])
def test_a_step_that_is_written_again_is_there_once_whenever_the_writer_is_killed(
    runs_home: Path, monkeypatch: pytest.MonkeyPatch, change: str, number: int, after: bool
) -> None:
    store = new_store(runs_home)
    store.finish_step(KEY, {"points": [point(1.0)]}, StepOutcome("partial", None, "", 0.5, 0))
    left = number
    lock = Lock()
    call = getattr(os, change)

    def deadly(*arguments: object, **named: object) -> object:
        nonlocal left
        with lock:
            left -= 1
            if left < 0 or (left == 0 and not after):
                raise Killed
        result = call(*arguments, **named)
        if left == 0:
            raise Killed
        return result

    with monkeypatch.context() as patch:
        patch.setattr(os, change, deadly)
        with suppress(Killed):
            store.finish_step(KEY, {"points": [point(2.0)]}, COMPLETE)
    assert Run(store.path).points["iops"].to_pylist() in ([], [1.0], [2.0])
    reopened = RunStore.reopen(store.path)
    outcome = reopened.outcome(KEY)
    assert outcome is not None
    assert Run(store.path).points["iops"].to_pylist() == [2.0 if outcome.status == "complete" else 1.0]
    ends = [event["status"] for event in read_events(store.path) if event["event"] == "step-end"]
    assert ends == ["partial", "complete"][: 2 if outcome.status == "complete" else 1]


def test_the_end_of_a_step_that_a_crash_kept_from_the_journal_is_in_it_when_the_run_goes_on(
    runs_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = new_store(runs_home)
    with monkeypatch.context() as patch:
        patch.setattr(store, "log_event", lambda *_, **__: None)
        store.finish_step(KEY, {"points": [point(1.0)]}, COMPLETE)
    for _ in range(2):
        RunStore.reopen(store.path)
    events = [event["event"] for event in read_events(store.path)]
    assert events == ["run-start", "run-resume", "step-end", "run-resume"]


def test_the_seconds_of_a_killed_attempt_are_kept_beside_an_earlier_attempt(runs_home: Path) -> None:
    store = new_store(runs_home)
    for n in (1, 2):
        store.log_event("step-start", KEY)
        log = store.live_path(KEY)
        store.append_live(log, {"intervals": [{"n": n}]})
        if n == 1:
            store.finish_step(KEY, {}, StepOutcome("partial", None, "", 0.5, 0))
    kept = log.read_text()
    again = RunStore.reopen(store.path)
    assert not again.live_path(KEY).exists()
    assert (log.parent / f"{KEY.folder}.interrupted-1.jsonl").read_text() == kept
    again.log_event("step-start", KEY)
    again.append_live(log, {"intervals": [{"n": 3}]})
    shutil.copy(log, runs_home / "log")
    again.finish_step(KEY, {}, COMPLETE)
    shutil.copy(runs_home / "log", log)
    RunStore.reopen(store.path)
    assert not log.exists(), "the seconds of a step that has ended are in its folder"


def test_a_step_that_is_still_being_written_has_no_rows(runs_home: Path) -> None:
    store = new_store(runs_home)
    store.finish_step(KEY, {"points": [point(1.0)]}, COMPLETE)
    folder = store.path / "steps" / KEY.folder
    shutil.copytree(folder, folder.with_name(f".{KEY.folder}.new"))
    assert Run(store.path).points.num_rows == 1


def test_a_line_cut_short_is_dropped_and_the_log_goes_on(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    append_line(log, {"a": 1})
    with log.open("a") as file:
        file.write('{"a": 2')
    drop_cut_line(log)
    append_line(log, {"a": 3})
    assert [json.loads(line) for line in log.read_text().splitlines()] == [{"a": 1}, {"a": 3}]


def test_an_atomic_write_replaces_the_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "f"
    write_atomically(path, "long old text")
    write_atomically(path, "new")
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_repeating_a_step_replaces_its_points(runs_home: Path) -> None:
    store = new_store(runs_home)
    store.finish_step(KEY, {"points": [point(1.0)]}, StepOutcome("partial", None, "", 0.5, 0))
    store.finish_step(KEY, {"points": [point(2.0)]}, COMPLETE)
    assert Run(store.path).points["iops"].to_pylist() == [2.0]


def test_the_runs_own_tables_have_the_rows_of_its_steps_from_memory_or_from_their_files(
    runs_home: Path,
) -> None:
    store = new_store(runs_home)
    rows = [point(float(one)) for one in range(20_000)]
    store.finish_step(KEY, {"points": rows}, StepOutcome("partial", None, "", 0.5, 0))
    store.finish_step(KEY, {"points": rows[:2]}, COMPLETE)
    store.finish_step(replace(KEY, number=8), {"points": rows}, COMPLETE)
    store.finish_step(replace(KEY, number=9), {"points": rows[5:6]}, COMPLETE)
    store.compact()
    own = Tables(store.path, store.document, "own").read("points")
    assert own["iops"].to_pylist() == [0.0, 1.0, *range(20_000), 5.0]
    assert own["workload"].type == "string"
    assert own == Tables(store.path, store.document, "steps").read("points")
    RunStore.reopen(store.path).compact()
    assert Tables(store.path, store.document, "own").read("points") == own


def test_a_table_that_is_too_large_to_keep_takes_the_place_of_a_kept_one(runs_home: Path) -> None:
    store = new_store(runs_home)
    store.finish_step(KEY, {"points": [point(1.0)]}, StepOutcome("partial", None, "", 0.5, 0))
    store.finish_step(KEY, {"points": [point(float(one)) for one in range(20_000)]}, COMPLETE)
    store.compact()
    assert Tables(store.path, store.document, "own").read("points").num_rows == 20_000


def test_every_event_is_in_the_journal_with_its_time(runs_home: Path) -> None:
    store = new_store(runs_home)
    store.log_event("step-start", KEY, kind="measure")
    store.finish_step(KEY, {}, COMPLETE)
    events = read_events(store.path)
    assert [event["event"] for event in events] == ["run-start", "step-start", "step-end"]
    assert events[1]["target"] == "null:"
    assert all(str(event["time"]).endswith("Z") for event in events)


def test_queries_see_every_finished_run(runs_home: Path) -> None:
    for number, iops in enumerate((10.0, 30.0)):
        store = new_store(runs_home, f"20260101-00000{number}-short-000{number}")
        store.finish_step(KEY, {"points": [point(iops)]}, COMPLETE)
        store.document.status = "complete"
        store.compact()
        store.seal()
    assert query("select avg(iops) as mean from points").to_pylist() == [{"mean": 20.0}]
    assert query("select count(distinct run) as n from points join runs using (run)").to_pylist() == [
        {"n": 2}
    ]


def test_of_several_statements_none_is_left_without_its_answer() -> None:
    assert query("select 1 as n;").num_rows == 1
    with pytest.raises(UsageError, match="expected one SQL statement, got 2"):
        query("select 1; select 2")


@pytest.mark.parametrize(
    ("sql", "proposed"),
    [
        ("select workloda from points", '"workload"'),
        ("select * from point", '"points"'),
    ],
)
def test_an_unknown_name_gets_the_nearest_ones_in_one_line(runs_home: Path, sql: str, proposed: str) -> None:
    with pytest.raises(UsageError) as refused:
        query(sql)
    assert "\n" not in str(refused.value)
    assert f"did you mean {proposed}" in str(refused.value)
    assert "views: runs, points, " in str(refused.value)


def test_queries_without_any_run_give_empty_tables() -> None:
    assert query("select * from points").num_rows == 0


def test_a_run_is_found_by_part_of_its_id_and_by_last(runs_home: Path) -> None:
    first = new_store(runs_home, "20260101-000000-short-aaaa").path
    second = new_store(runs_home, "20260102-000000-short-bbbb").path
    assert run_directories() == [first, second]
    assert find_run("aaaa") == first
    assert find_run("last") == second
    with pytest.raises(UsageError, match="not unique"):
        find_run("short")
    with pytest.raises(UsageError, match="no run 'zzzz'"):
        find_run("zzzz")
    empty = runs_home / "empty"
    empty.mkdir()
    with pytest.raises(UsageError, match=r"a folder without run\.json"):
        find_run(str(empty))


@pytest.mark.parametrize("inside", [True, False], ids=["beside it", "by its path"])
def test_a_folder_of_runs_is_no_run_and_says_what_to_name(
    inside: bool, runs_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "archive"
    new_store(folder, "20260101-000000-short-aaaa")
    new_store(folder, "20260102-000000-short-bbbb")
    if inside:
        monkeypatch.chdir(tmp_path)
    text = "archive" if inside else f"{folder}/"
    with pytest.raises(UsageError) as refused:
        find_run(text)
    assert refused.value.message == f"{text}: not a run, but a folder that holds 2 runs"
    name = "archive" if inside else folder
    assert (
        refused.value.hint
        == f"name one, such as {name}/20260102-000000-short-bbbb, or all of them as {name}/*"
    )


@pytest.mark.parametrize("damage", [b"{", b'{"schema": "fathom-run/1"}', b"\xff\xfe"])
def test_a_damaged_run_is_one_line(runs_home: Path, damage: bytes) -> None:
    path = new_store(runs_home).path
    (path / "run.json").write_bytes(damage)
    with pytest.raises(FathomError, match=r"run\.json: not a readable run"):
        Run(path)


def test_a_damaged_step_is_named_and_resume_measures_it_again(runs_home: Path) -> None:
    store = new_store(runs_home)
    store.finish_step(KEY, {"points": [point(1.0)]}, COMPLETE)
    other = StepKey(0, 2, "other")
    store.finish_step(other, {"points": [point(2.0) | {"step": "other"}]}, COMPLETE)
    (store.path / "steps" / KEY.folder / "points.parquet").write_bytes(b"PAR1")
    with pytest.warns(DamageWarning, match=r"read/points\.parquet is not as it was written; it is left out"):
        assert Run(store.path).points["iops"].to_pylist() == [2.0]
    with pytest.warns(DamageWarning, match=r"read/points\.parquet"):
        reopened = RunStore.reopen(store.path)
    assert reopened.outcome(KEY) is None
    assert reopened.outcome(other) == COMPLETE
    assert (store.path / "damaged" / f"{KEY.folder}-1" / "points.parquet").read_bytes() == b"PAR1"
    reopened.finish_step(KEY, {"points": [point(3.0)]}, COMPLETE)
    assert Run(store.path).damage == []


@pytest.mark.parametrize(
    "line",
    [
        b"5",
        b"[]",
        b"\xff\xfe",
        b"{",
        b"[" * 100_000,
        b'{"time": "", "event": "remark"}',
        b'{"time": "", "event": "run-end"}',
    ],
)
def test_a_damaged_line_of_the_journal_is_named_and_left_aside(runs_home: Path, line: bytes) -> None:
    store = new_store(runs_home)
    store.finish_step(KEY, {"points": [point(1.0)]}, COMPLETE)
    with (store.path / "journal.jsonl").open("ab") as file:
        file.write(line + b"\n")
    events, damaged = scan_events(store.path)
    assert [event["event"] for event in events] == ["run-start", "step-end"]
    assert [one.file for one in damaged] == ["journal.jsonl:3"]
    with pytest.warns(DamageWarning, match=r"journal\.jsonl:3 is not as it was written; it is left out"):
        assert Run(store.path).points.num_rows == 1


def test_a_damaged_run_hides_no_other_run(runs_home: Path) -> None:
    good = new_store(runs_home)
    bad = new_store(runs_home, "20260102-000000-short-0000")
    (bad.path / "run.json").write_text("{")
    table = query("select run, status from runs order by run")
    assert table.to_pylist() == [
        {"run": good.path.name, "status": "killed"},
        {"run": bad.path.name, "status": "damaged"},
    ]


@pytest.mark.parametrize("damage", ["cut", "overwritten"])
def test_a_query_is_answered_from_the_other_runs_where_one_is_damaged(runs_home: Path, damage: str) -> None:
    for number, iops in enumerate((10.0, 30.0, 50.0)):
        store = new_store(runs_home, f"20260101-00000{number}-short-000{number}")
        store.finish_step(KEY, {"points": [point(iops + one) for one in range(5000)]}, COMPLETE)
        store.document.status = "complete"
        store.compact()
        store.seal()
        leave_out_steps(store.path, store.document.id)
    table = runs_home / "20260101-000001-short-0001" / "points.parquet"
    whole = table.read_bytes()
    middle = len(whole) // 4
    table.write_bytes(whole[:4] if damage == "cut" else whole[:middle] + bytes(middle) + whole[2 * middle :])
    said: list[str] = []
    found = query("select run, min(iops) as least from points group by run order by run", said.append)
    assert [row["least"] for row in found.to_pylist()] == [10, 50]
    assert len(said) == 1
    wanted = "run 20260101-000001-short-0001: points.parquet is not as it was written; it is left out"
    assert said[0] == wanted
    with pytest.raises(UsageError, match="nothing"):
        query("select nothing from points")


def test_a_run_of_a_later_version_with_a_new_key_is_not_called_damaged(runs_home: Path) -> None:
    path = new_store(runs_home).path / "run.json"
    document = json.loads(path.read_text())
    later = {key: one for key, one in document.items() if key != "sha256"} | {"colour": "red"}
    path.write_text(json.dumps(signed(later | {"versions": {"fathom": "9.9.9"}})))
    with pytest.raises(FathomError, match=r"written by fathom 9\.9\.9, .* its colour: .*; update Fathom$"):
        RunDocument.load(path.parent)
    path.write_text(json.dumps(document | {"colour": "red"}))
    with pytest.raises(FathomError, match=r"not a readable run: .*; bring it back from a copy"):
        RunDocument.load(path.parent)


def test_a_run_of_another_format_is_refused(runs_home: Path) -> None:
    path = new_store(runs_home).path
    document = json.loads((path / "run.json").read_text()) | {"schema": "fathom-run/9"}
    (path / "run.json").write_text(json.dumps(document))
    with pytest.raises(FathomError, match="fathom-run/9"):
        Run(path)


def test_the_size_of_a_steps_table_is_taken_once_however_many_steps_there_are() -> None:
    """A run in rounds has a thousand small tables: to add them all up again for each took a minute of its end."""

    class Sized:
        asked = 0

        @property
        def nbytes(self) -> int:
            Sized.asked += 1
            return ROW_GROUP_BYTES // 10

    found = list(batches(cast("list[pa.Table]", [Sized() for _ in range(25)])))
    assert [len(batch) for batch in found] == [11, 11, 3]
    assert Sized.asked == 25


def test_commands_call_a_run_by_its_id_at_home_and_by_its_path_elsewhere(
    runs_home: Path, tmp_path: Path
) -> None:
    at_home, elsewhere = (
        runs_home / "20261120-231500-short-7f3a",
        tmp_path / "out here" / "20261120-231500-short-7f3a",
    )
    assert called(at_home) == at_home.name
    assert called(elsewhere) == f"'{elsewhere}'"


def test_folders_of_steps_are_in_the_order_in_which_the_steps_ran(tmp_path: Path) -> None:
    keys = [
        StepKey(target, number, "read") for target in (0, 99, 100) for number in (99, 100, 101, 1000, 1001)
    ]
    for key in reversed(keys):
        (tmp_path / "steps" / key.folder).mkdir(parents=True)
    assert [folder.name for folder in step_folders(tmp_path)] == [key.folder for key in keys]
