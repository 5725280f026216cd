"""What a command may write its results to: a new file or its own earlier one, never anybody else's, never a device."""

import errno
import hashlib
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from loop_devices import Loops, sh

from fathom.errors import RefusedError, UsageError
from fathom.report import write_html
from fathom.runs.document import MethodRecord, RunDocument, TargetRecord
from fathom.runs.files import append_line
from fathom.runs.query import query
from fathom.runs.store import RunStore, StepKey, StepOutcome
from fathom.runs.writer import is_written, writing_run
from fathom.sweep.table import write_tables

THESIS = "three years of work\n"


@pytest.fixture
def run(runs_home: Path) -> Path:
    document = RunDocument(
        id="20260101-000000-short-0000",
        created="2026-01-01T00:00:00Z",
        status="complete",
        seed=1,
        method=MethodRecord(name="short", title="Short", source="", text="", parsed={"steps": []}),
        targets=[TargetRecord(name="null:", kind="null", label="null", capacity_bytes=1 << 30)],
    )
    store = RunStore.create(runs_home / document.id, document)
    store.finish_step(StepKey(0, 1, "read"), {}, StepOutcome("complete", None, "", 1.0, 0))
    store.compact()
    return store.path


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def test_a_report_is_not_written_into_a_mounted_device(loops: Loops, run: Path) -> None:
    node = loops.attach(16 << 20)
    sh("mkfs.ext4", "-q", node)
    loops.mount(node)
    done = subprocess.run(
        [sys.executable, "-m", "fathom", "report", str(run), "--out", str(node)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == f"fathom: {node}: is a block device; give the path of a file that does not exist\n"
    with node.open("rb") as device:
        assert device.read(1024) == bytes(1024), "the boot block of ext4 is empty"


def fifo(path: Path) -> None:
    os.mkfifo(path)


def bound_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))


def link(path: Path) -> None:
    (path.parent / "thesis.tex").write_text(THESIS)
    path.symlink_to(path.parent / "thesis.tex")


def dangling_link(path: Path) -> None:
    path.symlink_to(path.parent / "nothing")


def users_file(path: Path) -> None:
    path.write_text(THESIS)


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (fifo, "is a FIFO"),
        (bound_socket, "is a socket"),
        (link, "is a symbolic link"),
        (dangling_link, "is a symbolic link"),
        (users_file, "exists and is not an earlier output of Fathom"),
    ],
)
def test_what_fathom_did_not_write_is_refused_and_left_as_it_is(
    run: Path, tmp_path: Path, make: Callable[[Path], None], what: str
) -> None:
    out = tmp_path / "out.html"
    make(out)
    before = {path.name: path.lstat().st_ino for path in tmp_path.iterdir()}
    with pytest.raises(RefusedError, match=what):
        write_html([run], out)
    assert {path.name: path.lstat().st_ino for path in tmp_path.iterdir()} == before
    if out.is_file():
        assert out.read_text() == THESIS


def test_a_character_device_is_refused(run: Path) -> None:
    with pytest.raises(RefusedError, match="/dev/full: is a character device"):
        write_html([run], Path("/dev/full"))


def test_a_directory_is_a_usage_error(run: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a directory"):
        write_html([run], tmp_path)


def test_an_earlier_report_is_replaced_at_once(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "out.html"
    write_html([run], out)
    page, inode = out.read_text(), out.stat().st_ino
    write_html([run], out)
    assert (out.read_text(), list(out.parent.iterdir())) == (page, [out])
    assert out.stat().st_ino != inode, "it is renamed into its place, so that nobody sees half of it"
    assert out.stat().st_mode & 0o777 == 0o666 & ~umask()


def umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_a_report_that_somebody_changed_is_not_replaced(run: Path, tmp_path: Path) -> None:
    out = write_html([run], tmp_path / "out.html")
    with out.open("a") as file:
        file.write(THESIS)
    with pytest.raises(RefusedError, match="was changed since Fathom wrote it; remove it"):
        write_html([run], out)
    shutil.copyfile(__file__, out)
    with pytest.raises(RefusedError, match="was changed since"):
        write_html([run], out)


def test_a_file_put_in_the_place_of_a_report_while_it_is_made_is_not_replaced(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, thesis, fsync = tmp_path / "out.html", tmp_path / "thesis.tex", os.fsync

    def meanwhile(fd: int) -> None:
        fsync(fd)
        if not out.exists():
            out.write_text(THESIS)

    monkeypatch.setattr(os, "fsync", meanwhile)
    with pytest.raises(RefusedError, match="appeared while"):
        write_html([run], out)
    assert (out.read_text(), sorted(tmp_path.glob("*.html"))) == (THESIS, [out])
    assert not thesis.exists()


@pytest.fixture
def no_xattrs(monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(*_: object, **__: object) -> bytes:
        raise OSError(errno.EOPNOTSUPP, "not supported")

    monkeypatch.setattr(os, "setxattr", unsupported)
    monkeypatch.setattr(os, "getxattr", unsupported)


@pytest.mark.usefixtures("no_xattrs")
def test_without_extended_attributes_a_side_car_tells_fathoms_outputs_from_others(
    run: Path, tmp_path: Path
) -> None:
    out = write_html([run], tmp_path / "out.html")
    write_html([run], out)
    out.write_text(THESIS)
    with pytest.raises(RefusedError, match="was changed since"):
        write_html([run], out)
    (tmp_path / ".out.html.fathom-output").unlink()
    with pytest.raises(RefusedError, match="not an earlier output"):
        write_html([run], out)


@pytest.mark.usefixtures("no_xattrs")
def test_a_side_car_of_another_user_vouches_for_nothing(run: Path, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("giving a file to another user needs root")
    out = write_html([run], tmp_path / "out.html")
    os.chown(tmp_path / ".out.html.fathom-output", 65534, 65534)
    with pytest.raises(RefusedError, match="not an earlier output"):
        write_html([run], out)


def test_the_report_beside_a_run_of_an_earlier_version_is_made_anew(run: Path) -> None:
    own = run / "report.html"
    own.write_text("<!doctype html>")
    write_html([run], own)
    assert "Short" in own.read_text()
    elsewhere = run.parent / "report.html"
    elsewhere.write_text(THESIS)
    with pytest.raises(RefusedError):
        write_html([run], elsewhere)


def test_a_sweeps_tables_do_not_follow_a_link(run: Path, tmp_path: Path) -> None:
    from fathom.runs.reader import Run

    (tmp_path / "thesis.tex").write_text(THESIS)
    (tmp_path / "points.csv").symlink_to(tmp_path / "thesis.tex")
    with pytest.raises(RefusedError, match="symbolic link"):
        write_tables(Run(run).table("points"), tmp_path)
    assert (tmp_path / "thesis.tex").read_text() == THESIS


WRITING = [
    "copy (select 1) to '{place}/out.csv'",
    "copy (pivot points on step using sum(n)) to '{place}/out.csv'",
    "copy (select 1 as x) to '{run}/points.parquet'",
    "explain analyze copy (select 1 as x) to '{run}/points.parquet'",
    "explain analyze copy (select 1 as x) to '{place}/out.csv'",
    "export database '{place}/out'",
    "attach '{place}/out.db'",
    "attach '{place}/out.db' as x (type duckdb)",
    "install httpfs",
    "load httpfs",
    "set enable_external_access = true",
    "set temp_directory = '{place}'",
    "pragma enable_profiling = 'json'",
    "create table x as select 1",
    "create secret s (type http)",
    "select * from read_text('{place}/thesis.tex')",
    "select * from '{place}/thesis.tex'",
    "select * from glob('{place}/*')",
    "select * from read_blob('/etc/hostname')",
    "select 1) ; copy (select 1) to '{place}/out.csv'; from (select 1",
]


@pytest.mark.parametrize("sql", WRITING)
def test_a_query_reads_runs_and_nothing_else_and_writes_nothing(run: Path, tmp_path: Path, sql: str) -> None:
    place = tmp_path / "place"
    place.mkdir()
    (place / "thesis.tex").write_text(THESIS)
    before = digest(run / "points.parquet")
    with pytest.raises(UsageError, match="query: ") as caught:
        query(sql.format(place=place, run=run))
    assert "\n" not in str(caught.value)
    assert [path.name for path in place.iterdir()] == ["thesis.tex"]
    assert digest(run / "points.parquet") == before


@pytest.mark.parametrize(
    "sql",
    [
        "select count(*) from points;",
        "select 1 -- a remark",
        "with a as (select 1 as n) select n from a",
        "from points",
        "describe points",
        "summarize points",
        "show tables",
        "pivot points on step using sum(n)",
        "values (1)",
    ],
)
@pytest.mark.usefixtures("run")
def test_a_query_in_any_form_that_asks_is_answered(sql: str) -> None:
    assert query(sql).num_columns > 0


@pytest.mark.parametrize(
    "sql",
    [
        "create type x as enum ('a'); pivot points on step using sum(n)",
        "select 1; pivot points on step using sum(n)",
        "pivot points on step using sum(n); pivot points on step using sum(n)",
    ],
)
@pytest.mark.usefixtures("run")
def test_a_pivot_takes_no_other_statement_with_it(sql: str) -> None:
    with pytest.raises(UsageError, match="expected one SQL statement"):
        query(sql)


def test_a_query_that_copies_says_how_to_get_a_file(run: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"query: only reads.*--csv > FILE"):
        query(f"copy points to '{tmp_path}/points.csv'")


def to_a_file(loops: Loops, folder: Path) -> Path:
    victim = folder / "thesis.tex"
    victim.write_text(THESIS)
    return victim


def to_a_device(loops: Loops, folder: Path) -> Path:
    return loops.attach(1 << 20)


@pytest.mark.parametrize("lead", [to_a_file, to_a_device])
def test_a_run_whose_journal_is_a_link_is_not_written(
    loops: Loops, run: Path, tmp_path: Path, lead: Callable[[Loops, Path], Path]
) -> None:
    victim = lead(loops, tmp_path)
    before = digest(victim)
    (run / "journal.jsonl").unlink()
    (run / "journal.jsonl").symlink_to(victim)
    with pytest.raises(RefusedError, match=r"journal\.jsonl is not a regular file"), writing_run(run):
        pass
    with pytest.raises(OSError, match="symbolic links"):
        append_line(run / "journal.jsonl", {"event": "resumed"})
    assert digest(victim) == before


def test_a_run_whose_journal_is_a_fifo_is_refused_and_not_waited_for(run: Path) -> None:
    (run / "journal.jsonl").unlink()
    fifo(run / "journal.jsonl")
    with pytest.raises(RefusedError, match=r"journal\.jsonl is not a regular file"), writing_run(run):
        pass
    assert not is_written(run)
