"""The pages of a store: the list, reports and comparisons of runs that are fetched, and one line for what fails."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from fathom.errors import FathomError
from fathom.runs.document import RunDocument
from fathom.runs.manifest import Manifest
from fathom.serve import shared
from fathom.serve.folder import NoRunError
from fathom.serve.settings import settings_of
from fathom.serve.shared import SharedRuns
from fathom.store import extensions
from fathom.store.address import Address, parse_address
from fathom.store.failures import failure
from fathom.store.store import Store, open_store
from serve_client import Served, serving
from servers import SECRET
from small_runs import add
from synthetic import TWINS, Visit, assert_fits, make_run

FIRST, SECOND = "20261120-231500-four-corners-aaaa", "20261121-231500-four-corners-bbbb"
LISTEN = "127.0.0.1:0"
PATIENCE_MS = 120_000


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two runs of two twins, a day apart."""
    home = tmp_path_factory.mktemp("shared")
    days = {FIRST: "2026-11-20T23:15:00Z", SECOND: "2026-11-21T23:15:00Z"}
    return [
        sealed(
            make_run(home / name, TWINS[:2], measure_s=2, precondition_s=2, fill_s=1, created=day, seed=seed)
        )
        for seed, (name, day) in enumerate(days.items(), 1)
    ]


def sealed(run: Path) -> Path:
    """Gives a run the checksums that it has when it has ended."""
    document = RunDocument.load(run)
    document.id = run.name
    document.save(run)
    Manifest.of_run(run, document.id, document.text()).save(run)
    return run


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files, of this test alone."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def put(address: Address, *runs: Path) -> None:
    with open_store(address, to_write=True) as store:
        store.add(runs, lambda name, new: None)


def text_of(served: Served, path: str) -> str:
    answer = served.ask(path)
    assert answer.status == 200, answer.text
    return answer.text


def test_runs_of_a_store_are_listed_found_and_open_their_reports(address: Address, runs: list[Path]) -> None:
    with serving(settings_of(address, LISTEN, None)) as served:
        assert "fathom store add" in text_of(served, "/")
        put(address, *runs)
        text = text_of(served, "/")
        assert text.index(SECOND) < text.index(FIRST)
        assert FIRST not in text_of(served, "/?q=bbbb")
        report = text_of(served, f"/runs/{FIRST}")
        assert "Four corners" in report
        assert "All runs" in report
        assert "Open the report" in text_of(served, f"/runs/{FIRST}/about")


def test_ticked_runs_of_a_store_are_compared_as_those_of_a_folder(address: Address, runs: list[Path]) -> None:
    put(address, *runs)
    ticked = f"?run={SECOND}&run={FIRST}"
    with (
        serving(settings_of(address, LISTEN, None)) as shared_pages,
        serving(settings_of(runs[0].parent, LISTEN, None)) as own_pages,
    ):
        for page in ("/compare", "/side-by-side"):
            assert text_of(shared_pages, page + ticked) == text_of(own_pages, page + ticked)
        assert shared_pages.ask(f"/compare?run={FIRST}&run={FIRST}").status == 400


def test_what_was_fetched_is_removed_when_the_server_ends(
    folder_store: Address, runs: list[Path], temporary: Path
) -> None:
    put(folder_store, *runs)
    with serving(settings_of(folder_store, LISTEN, None)) as served:
        text_of(served, f"/runs/{FIRST}")
        [folder] = temporary.iterdir()
        assert [run.name for run in folder.iterdir()] == [FIRST]
    assert list(temporary.iterdir()) == []


def test_a_run_is_fetched_once_and_old_ones_make_room_but_not_while_a_page_reads_them(
    folder_store: Address, runs: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    put(folder_store, *runs)
    fetched: list[str] = []
    fetch = Store.fetch

    def counted(store: Store, name: str, folder: Path | None = None) -> Path:
        fetched.append(name)
        return fetch(store, name, folder)

    monkeypatch.setattr(Store, "fetch", counted)
    source = SharedRuns(folder_store)
    for _ in range(2):
        with source.opened([FIRST]) as [first]:
            assert (first / "run.json").is_file()
    assert fetched == [FIRST]
    monkeypatch.setattr(shared, "MOST_BYTES", 1)
    with source.opened([FIRST]) as [first]:
        with source.opened([SECOND]) as [second]:
            pass
        assert first.is_dir()
        assert not second.exists()
    assert not first.exists()
    source.close()


@pytest.mark.parametrize("name", ["no-such-run", "..", "a/b", "%", "last", "'", ".labels"])
def test_a_name_that_no_run_has_is_refused(folder_store: Address, runs: list[Path], name: str) -> None:
    put(folder_store, runs[0])
    source = SharedRuns(folder_store)
    with pytest.raises(NoRunError, match="in the store"), source.opened([name]):
        pass
    source.close()


def test_a_server_of_a_store_changes_no_run_and_starts_nothing(
    folder_store: Address, runs: list[Path]
) -> None:
    put(folder_store, runs[0])
    with serving(settings_of(folder_store, LISTEN, None)) as served:
        for path in ("/start", "/metrics", f"/runs/{FIRST}/live"):
            assert served.ask(path).status == 404, path
        assert served.send("/start", "method=four-corners").status == 404
        for path in ("/", "/catalog/devices/wd-ultrastar-dc-sn861-7.68tb", f"/runs/{FIRST}/about"):
            text = text_of(served, path)
            assert 'href="/start' not in text


def test_tags_and_notes_of_a_store_are_given_found_and_kept(address: Address, runs: list[Path]) -> None:
    put(address, *runs)
    with serving(settings_of(address, LISTEN, None)) as served:
        about = f"/runs/{FIRST}/about"
        assert 'name="tags" value=""' in text_of(served, about)
        answer = served.send(about, "tags=golden, rack 7&note=New+firmware.%0AThird+try.")
        assert answer.status == 303
        assert "Saved in the store" in text_of(served, f"{about}?saved=true")
        assert "golden, rack 7" in text_of(served, about)
        assert "Third try." in text_of(served, about)
        for query in ("tag=golden", "q=THIRD"):
            text = text_of(served, f"/?{query}")
            assert FIRST in text
            assert SECOND not in text
        assert served.send(about, "tags=&note=").status == 303
        assert FIRST not in text_of(served, "/?q=golden")
        assert served.send(about, f"tags={'x' * 41}&note=").status == 400
        assert served.send("/runs/no-such-run/about", "tags=golden&note=").status == 404
    with open_store(address) as store:
        kept = store.fetch(FIRST)
    assert (kept / "manifest.json").read_bytes() == (runs[0] / "manifest.json").read_bytes()


def test_people_who_label_a_run_at_once_lose_no_tag(address: Address, runs: list[Path]) -> None:
    put(address, *runs)

    def give(number: int) -> None:
        with open_store(address, to_write=True) as store:
            store.label(FIRST, lambda before: before.changed([f"tag {number}"], [], None))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(give, range(8)))
    with open_store(address) as store:
        assert set(store.labels()[FIRST].tags) == {f"tag {number}" for number in range(8)}
        assert SECOND not in store.labels()


def test_many_readers_and_an_adder_work_at_once(address: Address, runs_home: Path) -> None:
    source = SharedRuns(address)
    first, *others = [add(runs_home, number, float(number)) for number in range(4)]
    put(address, first)

    def read(_: int) -> int:
        with source.opened([first.name]) as [run]:
            assert (run / "run.json").is_file()
        return len(source.rows())

    with ThreadPoolExecutor(4) as pool:
        seen = pool.map(read, range(8))
        for run in others:
            put(address, run)
        assert all(1 <= count <= 4 for count in seen)
    assert len(source.rows()) == 4
    source.close()


def test_a_store_that_goes_away_makes_a_page_of_one_line_and_the_server_goes_on(
    folder_store: Address, runs: list[Path], tmp_path: Path
) -> None:
    put(folder_store, runs[0])
    with serving(settings_of(folder_store, LISTEN, None)) as served:
        shutil.move(tmp_path / "store", tmp_path / "elsewhere")
        answer = served.ask("/")
        assert answer.status == 400
        assert "no store" in answer.text
        shutil.move(tmp_path / "elsewhere", tmp_path / "store")
        assert FIRST in text_of(served, "/")


def serve(*words: str, **variables: str) -> tuple[int, str]:
    """Runs the command until it ends by itself; its exit code and what it says."""
    command = [sys.executable, "-m", "fathom", "serve", "--listen", LISTEN, *words]
    done = subprocess.run(
        command, env=os.environ | variables, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stdout == ""
    return done.returncode, done.stderr


def test_a_store_that_cannot_be_read_is_one_line_of_the_command(tmp_path: Path) -> None:
    nothing, nobody = str(tmp_path / "nothing"), "postgresql://127.0.0.1:9/fathom"
    code, said = serve("--store", nothing)
    assert (code, said) == (
        2,
        f"fathom: store {nothing}: no store; `fathom store init {nothing}` makes one\n",
    )
    code, said = serve("--store", nobody)
    assert code == 1
    assert said.startswith(f"fathom: store {nobody}: ")
    assert said.count("\n") == 1
    assert "is PostgreSQL there" in said


class Refusing(BaseHTTPRequestHandler):
    """An S3 that takes no credentials."""

    def refuse(self) -> None:
        self.send_response(403)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_HEAD = refuse

    def log_message(self, format: str, *args: object) -> None:
        """Keeps quiet."""


def test_an_s3_that_refuses_or_is_not_there_is_named_without_its_secret(
    team_store: Address, runs_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(team_store, add(runs_home, 1, 10.0))
    source = SharedRuns(team_store)
    with HTTPServer(("127.0.0.1", 0), Refusing) as refusing:
        Thread(target=refusing.serve_forever, daemon=True).start()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{refusing.server_port}")
        with pytest.raises(FathomError, match=r"S3 refuses .*403.*AWS_SECRET_ACCESS_KEY") as failed:
            source.rows()
        assert SECRET not in str(failed.value)
        refusing.shutdown()
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(FathomError, match=r"S3 does not answer at http://127.0.0.1:9; "):
        source.rows()
    source.close()


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (
            'IO Error: Unable to connect to Postgres at "x": connection to server failed: FATAL:  '
            'password authentication failed for user "me"',
            'store team: PostgreSQL refuses the login: password authentication failed for user "me"; '
            "look at PGUSER and PGPASSWORD, or at ~/.pgpass",
        ),
        (
            'IO Error: Unable to connect to Postgres at "x": FATAL:  database "gone" does not exist',
            "store team: PostgreSQL has no data base gone; `createdb` makes it, then `fathom store init` the store",
        ),
        (
            "HTTP Error: GET 'http://s3/a' (HTTP 503 Service Unavailable)",
            "store team: S3 fails (HTTP 503); try again later",
        ),
        ("Some Error: first line\nsecond line", "store team: Some Error: first line"),
    ],
)
def test_an_error_of_a_server_becomes_one_line(said: str, line: str) -> None:
    found = failure(parse_address("team"), RuntimeError(said))
    assert f"{found}" == line


def test_a_folder_and_a_store_at_once_are_refused_wherever_the_store_is_named(tmp_path: Path) -> None:
    both = "serve shows a folder or a store, not both"
    assert both in serve("--runs", str(tmp_path), "--store", "team")[1]
    assert both in serve("--runs", str(tmp_path), FATHOM_STORE="team")[1]


def test_without_the_extension_the_server_names_the_package(
    folder_store: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extensions, "find_spec", lambda name: None)
    source = SharedRuns(folder_store)
    with pytest.raises(FathomError, match="a store needs DuckLake") as failed:
        source.rows()
    assert "duckdb-extension-ducklake==" in (failed.value.hint or "")
    source.close()


@pytest.mark.parametrize("width", [1280, 390])
def test_the_pages_of_a_store_are_clicked_through(
    folder_store: Address, runs: list[Path], visit: Callable[..., Visit], width: int
) -> None:
    put(folder_store, *runs)
    with serving(settings_of(folder_store, LISTEN, None)) as served:
        seen = visit(served.url, width=width)
        for name in (FIRST, SECOND):
            seen.page.get_by_label(name, exact=True).check()
        seen.page.get_by_role("button", name="Compare").click()
        seen.page.wait_for_url("**/compare?*", timeout=PATIENCE_MS)
        seen.page.get_by_role("link", name="All runs").click()
        seen.page.locator(f'a[href="/runs/{FIRST}"]').click()
        seen.page.wait_for_url(f"**/runs/{FIRST}", timeout=PATIENCE_MS)
        assert_fits(seen.page, width)
        assert seen.complaints == []
        assert [url for url in seen.requests if not url.startswith((served.url, "data:", "blob:"))] == []
