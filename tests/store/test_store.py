"""A store gives back what was added: lists, rows and files, whoever adds at once and whenever one is cut."""

import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import fathom
from fathom.columns.schema import TABLES
from fathom.errors import FathomError, UsageError
from fathom.runs.check import check
from fathom.runs.document import RunDocument
from fathom.runs.facts import FACTS
from fathom.runs.listing import runs_table
from fathom.runs.manifest import Manifest
from fathom.runs.query import query as query_folder
from fathom.store import extensions, tables
from fathom.store import store as store_module
from fathom.store.address import Address, parse_address, parse_data
from fathom.store.fetch import fetched
from fathom.store.finder import StoreRuns
from fathom.store.lake import attached
from fathom.store.query import query
from fathom.store.store import Store, open_store
from servers import SECRET
from small_runs import add

RATES = "select run, iops from points order by run, iops"
TWO_READS = Path(__file__).parents[1] / "data" / "two-reads.toml"
ADD = "import sys; from fathom.cli import main; main()"


def add_to(address: Address, *runs: Path) -> list[tuple[str, bool]]:
    said: list[tuple[str, bool]] = []
    with open_store(address, to_write=True) as store:
        store.add(runs, lambda name, new: said.append((name[-4:], new)))
    return said


def rates(store: Store) -> list[tuple[str, float]]:
    return [(row["run"][-4:], row["iops"]) for row in query(RATES, store).to_pylist()]


def files_of(run: Path) -> dict[str, bytes]:
    return {str(path.relative_to(run)): path.read_bytes() for path in run.rglob("*") if path.is_file()}


def adder(address: Address, *runs: Path) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-c", ADD, "store", "add", "--store", address.text, *map(str, runs)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def test_a_store_lists_and_queries_runs_as_their_folder_does(address: Address, runs_home: Path) -> None:
    runs = [add(runs_home, 1, 10.0, 11.0), add(runs_home, 2, 20.0)]
    assert add_to(address, *runs) == [("0001", True), ("0002", True)]
    with open_store(address) as store:
        assert store.runs_table().to_pylist() == runs_table(runs_home).to_pylist()
        assert rates(store) == [("0001", 10.0), ("0001", 11.0), ("0002", 20.0)]
        assert query("select count(*) as n from intervals", store).to_pylist() == [{"n": 3}]
        assert query("select points from runs order by run", store)["points"].to_pylist() == [2, 1]


def test_a_run_comes_back_byte_for_byte(address: Address, runs_home: Path) -> None:
    run = add(runs_home, 1, 10.0)
    add_to(address, run)
    with open_store(address) as store:
        back = store.fetch(run.name)
        assert files_of(back) == files_of(run)
        assert check(back).whole
        (back / "points.parquet").unlink()
        (back / "manifest.json").write_text("{}")
        assert files_of(store.fetch(run.name)) == files_of(run)


def test_a_run_comes_back_with_its_files_that_are_empty(folder_store: Address, runs_home: Path) -> None:
    run = add(runs_home, 1, 10.0)
    (run / "steps").mkdir(exist_ok=True)
    (run / "steps" / "00-001-read.interrupted-1.jsonl").touch()
    document = RunDocument.load(run)
    Manifest.of_run(run, document.id, document.text()).save(run)
    document.save(run)
    assert check(run).whole
    add_to(folder_store, run)
    with open_store(folder_store) as store:
        assert files_of(store.fetch(run.name)) == files_of(run)


def test_a_folder_that_was_moved_keeps_its_runs_and_takes_others(
    folder_store: Address, runs_home: Path, tmp_path: Path
) -> None:
    assert folder_store.folder is not None
    runs = [add(runs_home, 1, 10.0), add(runs_home, 2, 20.0)]
    add_to(folder_store, runs[0])
    moved = parse_address(str(folder_store.folder.rename(tmp_path / "moved")))
    add_to(moved, runs[1])
    for address in (moved, folder_store):
        with open_store(address) as store:
            assert rates(store) == [("0001", 10.0), ("0002", 20.0)]
            assert [files_of(store.fetch(run.name)) for run in runs] == [files_of(run) for run in runs]
        if address is moved:
            (tmp_path / "moved").rename(folder_store.folder)


def test_a_run_is_added_once(address: Address, runs_home: Path) -> None:
    run = add(runs_home, 1, 10.0)
    assert add_to(address, run, run) == [("0001", True), ("0001", True)]
    assert add_to(address, run) == [("0001", False)]
    with open_store(address) as store:
        assert rates(store) == [("0001", 10.0)]


def test_another_run_of_the_same_id_is_refused_and_changes_nothing(
    folder_store: Address, runs_home: Path, tmp_path: Path
) -> None:
    add_to(folder_store, add(runs_home, 1, 10.0))
    other = add(tmp_path / "elsewhere", 1, 99.0)
    with pytest.raises(UsageError, match="another run of the id"):
        add_to(folder_store, other)
    with open_store(folder_store) as store:
        assert rates(store) == [("0001", 10.0)]


def test_a_damaged_or_unfinished_run_is_not_added(folder_store: Address, runs_home: Path) -> None:
    damaged, unfinished = add(runs_home, 1, 10.0), add(runs_home, 2, 20.0)
    (damaged / "telemetry.parquet").write_bytes(b"PAR1")
    (unfinished / "manifest.json").unlink()
    document = RunDocument.load(unfinished)
    document.status = "running"
    document.save(unfinished)
    for run in (damaged, unfinished):
        with pytest.raises(UsageError, match="is not added"):
            add_to(folder_store, run)
    with open_store(folder_store) as store:
        assert store.runs_table().num_rows == 0


def test_adders_at_once_add_every_run_once(address: Address, runs_home: Path) -> None:
    runs = [add(runs_home, number, float(number)) for number in range(6)]
    adders = [adder(address, *runs[:4]), adder(address, *runs[2:])]
    assert [(one.communicate()[1], one.returncode) for one in adders] == [(b"", 0)] * 2
    with open_store(address) as store:
        assert [rate for _, rate in rates(store)] == [float(number) for number in range(6)]
        assert store.runs_table().num_rows == 6


@pytest.mark.parametrize("after_s", [0.0, pytest.param(0.2, marks=pytest.mark.long)])
def test_an_adder_that_is_killed_leaves_whole_runs_and_nothing_locked(
    address: Address, runs_home: Path, after_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [add(runs_home, number, float(number)) for number in range(8)]
    code = f"from fathom.store import store; store.BATCH_RUNS = 1; {ADD}"
    command = [sys.executable, "-c", code, "store", "add", "--store", address.text, *map(str, runs)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(after_s)
        process.send_signal(signal.SIGKILL)
    with open_store(address) as store:
        listed = store.runs_table()["run"].to_pylist()
        assert listed
        assert rates(store) == [(name[-4:], float(int(name[-4:], 16))) for name in listed]
        for name in listed:
            assert check(store.fetch(name)).whole
    said = dict(add_to(address, *runs))
    assert [said[name[-4:]] for name in listed] == [False] * len(listed)
    assert len(said) == 8
    with open_store(address) as store:
        assert len(rates(store)) == 8


def test_a_failure_in_the_middle_of_an_addition_leaves_nothing_of_it(
    address: Address, runs_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = add(runs_home, 1, 10.0)
    insert = store_module.insert

    def failing(connection: object, table: str, rows: object) -> None:
        if table == "runs":
            raise OSError(28, "No space left on device")
        insert(connection, table, rows)  # pyright: ignore[reportArgumentType]

    with monkeypatch.context() as patch:
        patch.setattr(store_module, "insert", failing)
        with pytest.raises(OSError, match="No space"):
            add_to(address, run)
    with open_store(address) as store:
        assert rates(store) == []
    assert add_to(address, run) == [("0001", True)]


def test_runs_that_come_one_by_one_end_in_few_files(
    address: Address, runs_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "MOST_SMALL", 3)
    for number in range(8):
        add_to(address, add(runs_home, number, float(number)))
    with open_store(address) as store:
        assert len(store.files("points")) <= 4
        assert len(store.files("runs")) <= 4
        assert [rate for _, rate in rates(store)] == [float(number) for number in range(8)]
        assert query("select * from points", store).column_names == tables.ROWS["points"].names


@pytest.mark.long
def test_readers_and_an_adder_do_not_disturb_each_other(team_store: Address, runs_home: Path) -> None:
    runs = [add(runs_home, number, float(number)) for number in range(6)]

    def count(_: int) -> int:
        with open_store(team_store) as store:
            return len(rates(store))

    with ThreadPoolExecutor(3) as pool:
        seen = pool.map(count, range(6))
        for run in runs:
            add_to(team_store, run)
        assert all(0 <= one <= 6 for one in seen)
    assert count(0) == 6


def test_repeats_of_a_run_are_fetched_with_it(address: Address, runs_home: Path) -> None:
    first = add(runs_home, 1, 10.0)
    second, other = add(runs_home, 2, 11.0, repeat_of=first.name), add(runs_home, 3, 30.0)
    add_to(address, first, second, other)
    with open_store(address) as store:
        finder = StoreRuns(store)
        assert [run.name for run in finder.repeats(finder.find("0002"))] == [first.name, second.name]
        assert finder.find("last").name == other.name
        assert finder.find(str(other)) == other


def test_sql_of_a_user_reads_the_tables_and_nothing_else(
    address: Address, runs_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_to(address, add(runs_home, 1, 10.0))
    with open_store(address) as store:
        [file] = store.files("files")
        for sql in (
            f"select * from read_parquet('{file}')",
            "select * from read_text('/etc/hostname')",
            "select * from lake.files",
            "select * from postgres_query('catalogue', 'select 1')",
        ):
            with pytest.raises(UsageError, match="query: "):
                query(sql, store)
        with pytest.raises(UsageError, match="only reads"):
            query("insert into points values (null)", store)
        if store.is_on_s3:
            [row] = query("select secret_string as text from duckdb_secrets(), runs", store).to_pylist()
            assert "secret=redacted" in row["text"]


def test_no_message_and_no_file_holds_a_secret(
    team_store: Address, runs_home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run = add(runs_home, 1, 10.0)
    add_to(team_store, run)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("PGPASSWORD", "a password")
    with pytest.raises(FathomError) as failed, open_store(team_store) as store:
        store.fetch(run.name)
    assert team_store.text in str(failed.value)
    assert SECRET not in str(failed.value)
    monkeypatch.setenv("PGHOST", str(tmp_path))
    with pytest.raises(FathomError, match="is PostgreSQL there") as failed, open_store(team_store):
        pass
    assert "a password" not in str(failed.value)
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path for path in kept if SECRET.encode() in path.read_bytes()] == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("postgresql://me:secret@host/db", "a password in the address"),
        ("postgresql://host/db?password=secret", "a password in the address"),
        ("postgresql://host/db?sslmode=require", "has options"),
        ("mysql://me:secret@host/db", "neither a folder nor"),
        ("postgresql://host:port/db", "is no address"),
        ("", "is empty"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_without_its_secret(text: str, why: str) -> None:
    with pytest.raises(UsageError, match=why) as refused:
        parse_address(text)
    assert "secret@" not in str(refused.value)
    assert "=secret" not in str(refused.value)


def test_data_on_s3_needs_credentials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    address = parse_address(str(tmp_path / "store"))
    with pytest.raises(UsageError, match="no credentials"):
        tables.init(address, parse_data("s3://bucket/fathom", address))
    with pytest.raises(UsageError, match="not s3://BUCKET"):
        parse_data("s3://", address)


@pytest.mark.parametrize("name", ["../out", "/etc/out", ".hidden", "a/../../out", "a\nb"])
def test_no_file_of_a_store_is_written_outside_the_cache(tmp_path: Path, name: str) -> None:
    with pytest.raises(FathomError, match="a file of the name"):
        fetched(tmp_path / "cache", "run", "0" * 64, [(name, b"evil")])
    with pytest.raises(FathomError, match="not the name of a run"):
        fetched(tmp_path / "cache", name, "0" * 64, [("run.json", b"evil")])
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_what_comes_back_changed_is_refused(folder_store: Address, runs_home: Path, tmp_path: Path) -> None:
    run = add(runs_home, 1, 10.0)
    add_to(folder_store, run)
    with open_store(folder_store) as store:
        [row] = store.facts().to_pylist()
    parts = [(name, data) for name, data in files_of(run).items() if name != "telemetry.parquet"]
    with pytest.raises(FathomError, match="is not the run that was added"):
        fetched(tmp_path / "fresh", run.name, row["manifest"], parts)


def test_a_query_on_a_store_gives_the_rows_of_one_on_the_folder(address: Address, runs_home: Path) -> None:
    run = fathom.run(str(TWO_READS), ["twin:samsung-pm9a3-7.68tb"], out=runs_home).path
    add_to(address, run)
    with open_store(address) as store:
        for view in TABLES:
            sql = f"select * from {view} order by all"
            own, shared = query_folder(sql), query(sql, store)
            assert shared.schema.names == own.schema.names
            assert shared.to_pylist() == own.to_pylist(), view
        bins = "select step, op, sum(count) as n from latency group by all order by all"
        assert query(bins, store).num_rows > 0


def test_a_table_that_an_earlier_version_did_not_keep_is_filled_with_the_next_addition(
    tmp_path: Path, runs_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = parse_address(str(tmp_path / "old"))
    earlier, later = add(runs_home, 1, 10.0), add(runs_home, 2, 20.0)
    with monkeypatch.context() as patch:
        for name in ("SCHEMAS", "ROWS"):
            kept = {table: schema for table, schema in getattr(tables, name).items() if table != "points"}
            patch.setattr(tables, name, kept)
        patch.setattr(store_module, "ROWS", tables.ROWS)
        tables.init(address, parse_data(None, address))
        add_to(address, earlier)
    with open_store(address) as store, pytest.raises(UsageError, match="without points"):
        rates(store)
    add_to(address, later)
    with open_store(address) as store:
        assert rates(store) == [("0001", 10.0), ("0002", 20.0)]


def test_a_store_of_an_earlier_version_gets_the_tables_and_columns_that_it_lacks(
    tmp_path: Path, runs_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = parse_address(str(tmp_path / "old"))
    with monkeypatch.context() as patch:
        points = tables.ROWS["points"]
        earlier = points.remove(points.get_field_index("limit")).remove(points.get_field_index("waf"))
        kept = {name: schema for name, schema in tables.SCHEMAS.items() if name != "phases"}
        patch.setattr(tables, "SCHEMAS", {**kept, "points": earlier})
        tables.init(address, parse_data(None, address))
    run = add(runs_home, 1, 10.0)
    with open_store(address) as store:
        assert query("select * from points", store).num_rows == 0
        assert query("select * from phases", store).num_rows == 0
    add_to(address, run)
    with open_store(address) as store:
        assert query('select iops, waf, "limit" from points', store).to_pylist() == [
            {"iops": 10.0, "waf": None, "limit": None}
        ]
        assert query("select phase from phases", store).num_rows == 0


def test_a_store_of_a_later_format_is_named(folder_store: Address) -> None:
    with attached(folder_store, to_write=True) as lake:
        lake.connection.execute("update lake.about set format = 'fathom-store/2'")
    with (
        pytest.raises(FathomError, match="format fathom-store/2, this Fathom reads fathom-store/1"),
        open_store(folder_store),
    ):
        pass


def test_a_place_without_a_store_and_one_that_has_one_are_told_apart(
    folder_store: Address, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="there is a store already"):
        tables.init(folder_store, parse_data(None, folder_store))
    with pytest.raises(UsageError, match=r"there is a store already, with its data in .*/store/data/;"):
        tables.init(folder_store, parse_data(str(tmp_path / "elsewhere"), folder_store))
    with pytest.raises(UsageError, match=r"DuckDB opens no file whose path has a `\?`"):
        parse_address(str(tmp_path / "what?"))
    with (
        pytest.raises(UsageError, match=r"no store; `fathom store init"),
        open_store(parse_address(str(tmp_path / "nothing"))),
    ):
        pass
    assert not (tmp_path / "nothing").exists()


def test_who_writes_to_a_folder_that_is_not_there_is_shown_how_to_make_a_store(tmp_path: Path) -> None:
    with (
        pytest.raises(UsageError, match="no store; `fathom store init"),
        open_store(parse_address(str(tmp_path / "nothing")), to_write=True),
    ):
        pass
    assert not (tmp_path / "nothing").exists()


def test_a_run_that_the_store_lacks_is_answered_with_the_list_of_that_store(folder_store: Address) -> None:
    with (
        open_store(folder_store) as store,
        pytest.raises(UsageError, match=f"`fathom runs --store {folder_store.text}` lists the runs"),
    ):
        store.fetch("nope")


def test_an_empty_store_says_how_a_run_comes_into_it(folder_store: Address, tmp_path: Path) -> None:
    for words in (("runs",), ("query", "select run from runs"), ("report", "last"), ("label", "last")):
        done = subprocess.run(
            [sys.executable, "-c", ADD, *words, "--store", folder_store.text],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
        )
        said = done.stdout + done.stderr
        assert f"`fathom store add RUN --store {folder_store.text}` adds the first" in said, words
        assert "fathom review" not in said


def test_who_writes_to_a_folder_without_a_store_leaves_nothing_in_it(tmp_path: Path) -> None:
    with (
        pytest.raises(UsageError, match="no store; `fathom store init"),
        open_store(parse_address(str(tmp_path)), to_write=True),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_store_without_a_column_of_facts_lists_its_runs_with_nothing_in_it(
    runs_home: Path, tmp_path: Path
) -> None:
    run = add(runs_home, 1, 10.0)
    address = parse_address(str(tmp_path / "store"))
    kept = tables.SCHEMAS
    with pytest.MonkeyPatch.context() as patch:
        earlier = kept["runs"].remove(kept["runs"].get_field_index("imported_from"))
        patch.setattr(tables, "SCHEMAS", {**kept, "runs": earlier})
        tables.init(address, parse_data(None, address))
    with open_store(address) as store:
        assert store.runs_table().schema == FACTS
    with open_store(address, to_write=True) as store:
        store.add([run], lambda name, new: None)
        assert store.runs_table().select(["run", "imported_from"]).to_pylist() == [
            {"run": run.name, "imported_from": None}
        ]


def test_a_place_where_no_store_can_be_made_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    inside, beside = parse_address(str(tmp_path / "file" / "store")), parse_address(str(tmp_path / "store"))
    for address, data in ((inside, None), (beside, str(tmp_path / "file" / "data"))):
        with pytest.raises(FathomError, match="cannot make the folder") as refused:
            tables.init(address, parse_data(data, address))
        assert refused.value.hint == "give another folder"


def test_extensions_of_another_version_are_named_and_nothing_is_downloaded(
    folder_store: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extensions.duckdb, "__version__", "9.9.9")
    with (
        pytest.raises(UsageError, match=r"is for DuckDB [\d.]+, and DuckDB 9.9.9 is installed"),
        open_store(folder_store),
    ):
        pass


def test_the_commands_take_a_store_from_option_and_environment(
    folder_store: Address, runs_home: Path, tmp_path: Path
) -> None:
    run = add(runs_home, 1, 10.0)
    environment = os.environ | {"FATHOM_STORE": folder_store.text}

    def fathom(*words: str, **variables: str) -> str:
        command = [sys.executable, "-m", "fathom", *words]
        done = subprocess.run(
            command, env=environment | variables, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert fathom("store", "add", "last") == f"{run.name}\n"
    shutil.rmtree(runs_home)
    assert run.name in fathom("runs", "--store", folder_store.text, FATHOM_STORE="")
    assert fathom("query", "--csv", "select iops from points") == "iops\n10.0\n"
    assert f'"id": "{run.name}"' in fathom("report", "--json", "last")
    assert fathom("label", "last", "--tag", "golden", "--note", "Third try.").splitlines() == [
        run.name,
        "  tags: golden",
        "  note: Third try.",
    ]
    assert "[golden]" in fathom("runs")
    assert "no run in" in fathom("runs", "--tag", "silver")
    assert files_of(Path(fathom("store", "fetch", "0001").strip()))
