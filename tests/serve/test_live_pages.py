"""Pages of runs that go on: what they say, the events that move them, and how they end."""

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

import pytest

from fathom.runs.live import write_live
from fathom.serve import live_events
from fathom.serve.live_view import view_of
from fathom.serve.settings import settings_of
from live_runs import end, going, live_run
from serve_client import Served, serving

FIRST = "20261120-231500-four-corners-aaaa"
GOING = "20261125-151500-four-corners-live"
SCRIPT = "<script>alert(1)</script>"


@pytest.fixture
def runs(home: Path, tmp_path: Path) -> Iterator[Path]:
    """A folder with one run, which goes on."""
    folder = tmp_path / "going"
    folder.mkdir()
    with going(home / FIRST, folder / GOING):
        yield folder


@pytest.fixture
def watched(runs: Path) -> Iterator[Served]:
    with serving(settings_of(runs, "127.0.0.1:0", None)) as server:
        yield server


class Stream:
    """The events of a run, read one by one."""

    def __init__(self, served: Served, **headers: str) -> None:
        self.connection = http.client.HTTPConnection(served.settings.host, served.settings.port, timeout=30)
        self.connection.request("GET", f"/runs/{GOING}/live/events", headers=headers)
        self.answer = self.connection.getresponse()

    def next(self) -> tuple[str, dict[str, str]]:
        """The next event; an empty name where the stream is over."""
        name = self.answer.readline().decode().strip().removeprefix("event: ")
        if not name:
            return "", {}
        data = json.loads(self.answer.readline().decode().removeprefix("data: "))
        assert self.answer.readline() == b"\n"
        return name, data

    def close(self) -> None:
        """Leaves as a browser does that closes a page."""
        self.answer.close()
        self.connection.close()


@contextmanager
def stream(served: Served) -> Iterator[Stream]:
    opened = Stream(served)
    try:
        yield opened
    finally:
        opened.close()


def test_the_list_says_how_far_a_run_is_and_leads_to_its_live_page(watched: Served) -> None:
    text = watched.ask("/").text
    assert "1 run, going on now" in text
    assert f'href="/runs/{GOING}/live"' in text
    assert "0 of 2 targets done" in text


def test_the_live_page_says_what_each_target_does(watched: Served) -> None:
    answer = watched.ask(f"/runs/{GOING}/live")
    assert answer.status == 200
    for words in (
        "1 of 2 targets at work",
        "Step 3 of 12: 4 KiB random read",
        ">measuring<",
        "812.3k IOPS",
        "87.2\N{NO-BREAK SPACE}µs",
        ">36\N{NO-BREAK SPACE}s<",
        "by the time of the step",
        ">steady<",
        ">waiting<",
        'value="0.4000"',
    ):
        assert words in answer.text, words


def test_the_report_of_a_run_leads_to_its_live_page_as_long_as_the_run_goes_on(
    watched: Served, runs: Path
) -> None:
    link = f'href="/runs/{GOING}/live"'
    assert link in watched.ask(f"/runs/{GOING}").text
    end(runs / GOING)
    assert link not in watched.ask(f"/runs/{GOING}").text


def test_names_in_a_live_file_are_text_and_nothing_else(watched: Served, runs: Path) -> None:
    write_live(runs / GOING, live_run(runs / GOING, label=f"{SCRIPT}\x1b[31m‮"))
    text = watched.ask(f"/runs/{GOING}/live").text
    assert SCRIPT not in text
    assert "&lt;script&gt;" in text
    assert "\x1b" not in text
    assert "‮" not in text


def test_events_come_once_a_second_with_what_is_new_and_say_the_end(watched: Served, runs: Path) -> None:
    with stream(watched) as events:
        assert events.answer.headers["content-type"].startswith("text/event-stream")
        name, data = events.next()
        assert (name, data["0.rate"]) == ("live", "812.3k IOPS")
        assert data["0.rate-path"].startswith("M")
        begun_s = monotonic()
        write_live(runs / GOING, live_run(runs / GOING, iops=1234.0))
        name, data = events.next()
        assert 0.8 < monotonic() - begun_s < 10
        assert (name, data["0.rate"]) == ("live", "1,234 IOPS")
        end(runs / GOING)
        # The lock is still held here: between the last line and the end of the process.
        assert events.next() == ("live", {})


def test_a_run_that_ends_leads_to_its_report(home: Path, tmp_path: Path) -> None:
    with serving(settings_of(tmp_path, "127.0.0.1:0", None)) as watched:
        with going(home / FIRST, tmp_path / GOING) as run:
            events = Stream(watched)
            assert events.next()[0] == "live"
            end(run)
        found = [events.next()[0] for _ in range(2)]
        assert "ended" in found
        events.close()
        answer = watched.ask(f"/runs/{GOING}/live")
        assert (answer.status, answer.headers["location"]) == (303, f"/runs/{GOING}")


def test_a_run_whose_process_was_killed_is_shown_as_that(home: Path, tmp_path: Path) -> None:
    with serving(settings_of(tmp_path, "127.0.0.1:0", None)) as watched:
        with going(home / FIRST, tmp_path / GOING):
            events = Stream(watched)
            assert events.next()[0] == "live"
        # Its last words stay on the page.
        assert [events.next()[0], events.next()[0]][-1] in ("killed", "")
        events.close()
        text = watched.ask(f"/runs/{GOING}/live").text
        assert "This run was killed" in text
        assert "812.3k IOPS" in text
        assert "state killed" in watched.ask("/").text


def test_pages_beyond_the_limit_are_refused_until_one_is_closed(
    watched: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_events, "MOST_STREAMS", 1)
    path = f"/runs/{GOING}/live/events"
    with stream(watched) as events:
        events.next()
        refused = watched.ask(path)
        assert refused.status == 503
        assert "Close one of them" in refused.text
    status, end_s = 503, monotonic() + 20
    while status != 200 and monotonic() < end_s:
        again = Stream(watched)
        status = again.answer.status
        again.close()
    assert status == 200


def test_a_live_page_needs_the_token_too(runs: Path) -> None:
    with serving(settings_of(runs, "127.0.0.1:0", "correct-horse-battery")) as guarded:
        for path in (f"/runs/{GOING}/live", f"/runs/{GOING}/live/events"):
            assert guarded.ask(path).status == 401


@pytest.mark.parametrize("name", ["no-such-run", "..", "%2e%2e", "%00", "a%2fb"])
def test_a_name_that_is_no_run_has_no_live_page(watched: Served, name: str) -> None:
    for path in (f"/runs/{name}/live", f"/runs/{name}/live/events"):
        assert watched.ask(path).status == 404, path


def test_the_sentence_behind_the_last_step_says_that_the_report_is_being_written(runs: Path) -> None:
    live = live_run(runs / GOING)
    done = [target.model_copy(update={"state": "done", "step": None}) for target in live.targets]
    view = view_of(live.model_copy(update={"targets": tuple(done)}), "running", live.updated)
    assert view.headline == "All is measured: the report is being written"
    waiting = done[0], live.targets[1]
    view = view_of(live.model_copy(update={"targets": waiting}), "running", live.updated)
    assert view.headline == "Nothing runs just now"


def test_the_sentence_of_one_target_names_its_step_and_rate(runs: Path) -> None:
    live = live_run(runs / GOING)
    view = view_of(live.model_copy(update={"targets": live.targets[:1]}), "running", live.updated)
    assert view.headline == "4 KiB random read: 812.3k IOPS"
