"""Runs that pages start: twins of the catalogue and nothing else, in a process of their own, two at a time."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from urllib.parse import urlencode

import pytest

from fathom.errors import UsageError
from fathom.runs.document import RunDocument
from fathom.runs.live import read_live
from fathom.serve import starts
from fathom.serve.settings import settings_of
from fathom.serve.starts import Asked
from serve_client import Answer, Served, serving

PM9A3 = "samsung-pm9a3-7.68tb"
PATIENCE_S = 120.0
ENDLESS = """
schema = "fathom-method/1"
name = "endless"
title = "Reads for hours of virtual time"
summary = "Does it go on?"
[[steps]]
name = "reads"
label = "4 KiB random read"
job = { mix = "read", block = "4KiB", pattern = "uniform", load = { iodepth = 256 }, until = { time = "10h" } }
"""
MISFIT = ENDLESS.replace("endless", "misfit").replace(
    'pattern = "uniform"', 'pattern = "uniform", placement = 300'
)
BRIEF = ENDLESS.replace("endless", "brief").replace("10h", "20ms")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A server of an empty folder, and methods of hours, of an instant, and that no twin can do."""
    methods = tmp_path / "catalog" / "methods"
    methods.mkdir(parents=True)
    (methods / "endless.toml").write_text(ENDLESS)
    (methods / "brief.toml").write_text(BRIEF)
    (methods / "misfit.toml").write_text(MISFIT)
    monkeypatch.setenv("FATHOM_CATALOG", str(tmp_path / "catalog"))
    with serving(settings_of(tmp_path / "runs", "127.0.0.1:0", None)) as served:
        yield served


def form(method: str = "endless", *twins: str, **more: str) -> str:
    return urlencode([("method", method), *(("twin", twin) for twin in twins), *more.items()])


def settled(served: Served, address: str) -> Answer:
    """The page of a started run as soon as it leads on, or says what went wrong."""
    answer, end_s = served.ask(address), monotonic() + PATIENCE_S
    while answer.status == 200 and 'role="alert"' not in answer.text:
        assert monotonic() < end_s, answer.text
        sleep(0.2)
        answer = served.ask(address)
    return answer


def started(served: Served, *form_of: str) -> Path:
    """Starts a run; returns its directory as soon as its live page opens."""
    answer = served.send("/start", form(*form_of))
    assert answer.status == 303, answer.text
    address = settled(served, answer.headers["location"]).headers["location"]
    name, _, page = address.removeprefix("/runs/").partition("/")
    assert page == "live"
    return served.home / name


def ended(run: Path) -> RunDocument:
    """What run.json says when the run has ended."""
    end_s = monotonic() + PATIENCE_S
    while (document := RunDocument.load(run)).status == "running" and monotonic() < end_s:
        sleep(0.2)
    return document


def children() -> set[str]:
    """The processes that this one has started and that go on."""
    lists = Path("/proc/self/task").glob("*/children")
    return {number for one in lists for number in one.read_text().split()}


@pytest.mark.parametrize(
    "target",
    [
        "/dev/sda",
        "/dev/null",
        "file:/tmp/data",
        "dir:/tmp",
        "null:",
        "nop:",
        "array:/dev/sda,/dev/sdb",
        f"array:twin:{PM9A3},/dev/sda",
        f"{PM9A3},/dev/sda",
        f"{PM9A3} /dev/sda",
        f"twin:{PM9A3}",
        f"{PM9A3}/btrfs",
        f"{PM9A3}?slice_denominator=1",
        f"{PM9A3}*1024",
        "--destroy",
        "--hosts=evil",
        "-h",
        "../../etc/passwd",
        f"../devices/{PM9A3}",
        f"{PM9A3}\n/dev/sda",
        f"{PM9A3}\0",
        "$(touch /tmp/owned)",
        "`id`",
        "<script>alert(1)</script>",
        "\udcff".encode("utf-8", "surrogatepass").decode("latin-1"),
        "x" * 3000,
    ],
)
def test_nothing_but_a_twin_of_the_catalogue_is_started(served: Served, home: Path, target: str) -> None:
    before = {path.name for path in home.iterdir()}, children()
    for twins in ((target,), (PM9A3, target)):
        answer = served.send("/start", form("four-corners", *twins))
        assert answer.status == 400
        assert "is no twin of the catalogue" in answer.text
        assert "<script>alert(1)" not in answer.text
    assert ({path.name for path in home.iterdir()}, children()) == before


@pytest.mark.parametrize(
    "method", ["no-such", "/etc/passwd", "./mine.toml", "../methods/four-corners", "replay", "--help"]
)
def test_nothing_but_a_method_of_the_catalogue_is_started(served: Served, method: str) -> None:
    answer = served.send("/start", form(method, PM9A3))
    assert answer.status == 400
    assert "is no method of the catalogue" in answer.text


@pytest.mark.parametrize(
    "body",
    [
        form("four-corners"),
        form("four-corners", *[PM9A3] * 2, seed="-1"),
        form("four-corners", PM9A3, seed=str(1 << 64)),
        form("four-corners", PM9A3, seed="one"),
        form("four-corners", PM9A3, quick="perhaps"),
        f"twin={PM9A3}",
        "method=%ff&twin=%fe",
        "&".join(f"twin={PM9A3}" for _ in range(500)),
    ],
)
def test_a_wrong_form_starts_nothing(served: Served, body: str) -> None:
    before = children()
    assert served.send("/start", body).status == 400
    assert children() == before


def test_a_twin_whose_name_parses_as_something_real_is_refused_by_its_kind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = starts.resolve_targets(["null:"])
    monkeypatch.setattr(starts, "resolve_targets", lambda texts: real)
    with pytest.raises(UsageError, match="no twin of the catalogue"):
        Asked("four-corners", (PM9A3,), quick=True, seed=1)


def test_the_command_is_a_list_whose_names_are_behind_two_hyphens() -> None:
    asked = Asked("four-corners", (PM9A3,), quick=True, seed=7)
    assert asked.command(Path("/runs")) == [
        *(sys.executable, "-P", "-m", "fathom", "run", "--out", "/runs", "--seed", "7", "--json", "--quick"),
        *("--", "four-corners", f"twin:{PM9A3}"),
    ]


@pytest.mark.parametrize("origin", [None, "null", "http://evil.example", "https://127.0.0.1:1"])
def test_another_site_starts_and_stops_nothing(served: Served, origin: str | None) -> None:
    headers = {} if origin is None else {"Origin": origin}
    before = children()
    for path, body in (("/start", form("four-corners", PM9A3)), ("/runs/any/stop", "")):
        assert served.ask(path, "POST", body, **headers).status == 403
    assert children() == before


def test_who_has_not_the_token_starts_nothing(home: Path) -> None:
    with serving(settings_of(home, "127.0.0.1:0", "correct-horse-battery")) as guarded:
        before = children()
        assert guarded.send("/start", form("four-corners", PM9A3)).status == 401
        assert children() == before


def test_a_run_lands_on_its_live_page_and_stops_with_what_was_measured(server: Served) -> None:
    run = started(server, "endless", PM9A3)
    live = read_live(run)
    assert live is not None
    assert str(live.pid) in children()
    environment = Path(f"/proc/{live.pid}/environ").read_bytes()
    assert b"FATHOM_TOKEN" not in environment
    page = server.ask(f"/runs/{run.name}/live").text
    assert "Samsung PM9A3 7.68TB" in page
    assert "Stop it" in page
    assert server.send(f"/runs/{run.name}/stop", "").status == 303
    assert server.send(f"/runs/{run.name}/stop", "").status == 303
    assert ended(run).status == "interrupted"


def test_a_run_that_was_started_elsewhere_is_stopped_there(served: Served) -> None:
    answer = served.send("/runs/20261120-231500-four-corners-aaaa/stop", "")
    assert answer.status == 400
    assert "was not started here" in answer.text


def test_a_run_of_an_instant_lands_on_its_report(server: Served) -> None:
    answer = server.send("/start", form("brief", PM9A3))
    place = settled(server, answer.headers["location"]).headers["location"].removesuffix("/live")
    [run] = [path for path in server.home.iterdir() if not path.name.startswith(".")]
    assert place == f"/runs/{run.name}"
    assert ended(run).status == "complete"
    assert settled(server, answer.headers["location"]).headers["location"] in (place, f"{place}/live")
    assert server.ask(place).status == 200


def test_a_third_run_is_refused_while_two_go_on(server: Served) -> None:
    runs = [started(server, "endless", PM9A3) for _ in range(2)]
    refused = server.send("/start", form("endless", PM9A3))
    assert refused.status == 503
    assert "go on already" in refused.text
    live = read_live(runs[0])
    assert live is not None
    os.kill(live.pid, signal.SIGKILL)
    end_s = monotonic() + PATIENCE_S
    while server.send("/start", form("brief", PM9A3)).status == 503:
        assert monotonic() < end_s
        sleep(0.2)


def test_what_runs_of_long_ago_printed_is_dropped_and_their_names_are_kept(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starts, "MOST_KEPT", 1)
    kept = starts.Starts(server.home)
    first = kept.start(Asked("brief", (PM9A3,), quick=False, seed=1))
    assert first.process.wait(PATIENCE_S) == 0
    second = kept.start(Asked("misfit", (PM9A3,), quick=False, seed=1))
    assert second.process.wait(PATIENCE_S) != 0
    assert "fathom: " in second.last_lines()
    assert first.out.closed
    found = kept.numbered(1)
    assert found is not None
    assert found.run is not None
    assert (server.home / found.run / "report.html").is_file()


def test_what_a_run_says_of_its_failure_is_shown(server: Served) -> None:
    answer = server.send("/start", form("misfit", PM9A3))
    page = settled(server, answer.headers["location"])
    assert page.status == 200
    assert "The run ended with an error" in page.text
    assert "fathom: " in page.text


def test_the_end_of_the_server_ends_its_runs_with_what_was_measured(tmp_path: Path, server: Served) -> None:
    with serving(settings_of(tmp_path / "second", "127.0.0.1:0", None)) as other:
        run = started(other, "endless", PM9A3)
    assert ended(run).status == "interrupted"


def test_a_number_that_was_not_started_here_is_no_page(served: Served) -> None:
    for number in ("0", "1", "-1", "99999999999999999999", "x"):
        assert served.ask(f"/started/{number}").status in (400, 404), number


def test_the_form_ticks_the_twin_that_a_link_names_and_shows_hostile_ones_nowhere(served: Served) -> None:
    text = served.ask(f"/start?{urlencode({'twin': PM9A3, 'method': 'mixed-ratio'})}").text
    assert f'value="{PM9A3}" checked' in text
    assert 'value="mixed-ratio" selected' in text
    assert "<b>" not in served.ask("/start?twin=%3Cb%3E&method=%3Cb%3E").text
