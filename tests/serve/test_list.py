"""The list of runs, labels beside them, and names that try to lead out of the folder."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any
from urllib.parse import quote

import pytest

from fathom.report import REPORT, page, write_html
from fathom.report.blocks import Section
from fathom.report.opening import Opening, opened
from fathom.runs.check import check
from fathom.runs.home import run_directories
from fathom.serve.index import RunIndex
from fathom.serve.settings import settings_of
from serve_client import Served, copied, serving, small_run

FIRST, SECOND = "20261120-231500-four-corners-aaaa", "20261121-231500-four-corners-bbbb"
DAMAGED = "20261118-100000-four-corners-dddd"


def shown(served: Served, query: str = "") -> str:
    answer = served.ask(f"/{query}")
    assert answer.status == 200
    return answer.text


def test_every_run_is_listed_newest_first_and_a_damaged_one_as_that(served: Served) -> None:
    text = shown(served)
    assert "4 runs" in text
    assert text.index(f'value="{SECOND}"') < text.index(f'value="{FIRST}"') < text.index(f'value="{DAMAGED}"')
    assert "not a readable run" in text


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("?q=bbbb", {SECOND}),
        ("?q=FOUR+corners+aaaa", {FIRST}),
        ("?state=damaged", {DAMAGED}),
        ("?target=KIOXIA+CM7-R+7.68TB&q=2026112", {FIRST, SECOND}),
        ("?method=no-such-method", set()),
        ("?q=%00%ff%3Cb%3E", set()),
    ],
)
def test_search_and_filters_leave_what_was_asked_for(served: Served, query: str, found: set[str]) -> None:
    text = shown(served, query)
    assert {name for name in (FIRST, SECOND, DAMAGED) if f'value="{name}"' in text} == found
    assert found or "No run matches" in text


def test_an_empty_folder_and_none_at_all_say_how_to_make_the_first_run(tmp_path: Path) -> None:
    for home in (tmp_path, tmp_path / "none"):
        with serving(settings_of(home, "127.0.0.1:0", None)) as served:
            text = shown(served)
            assert "No runs yet" in text
            assert "fathom review" in text


def test_labels_are_kept_beside_the_run_and_its_files_stay_as_they_are(served: Served, home: Path) -> None:
    before = {path: path.read_bytes() for path in (home / FIRST).rglob("*") if path.is_file()}
    answer = served.send(f"/runs/{FIRST}/about", "tags=golden,+b%26%3Cw%3E,golden&note=two%0D%0Alines")
    assert answer.status == 303
    assert before == {path: path.read_bytes() for path in (home / FIRST).rglob("*") if path.is_file()}
    assert json.loads((home / ".labels" / f"{FIRST}.json").read_text())["tags"] == ["golden", "b&<w>"]
    text = shown(served, "?tag=golden")
    assert f'value="{FIRST}"' in text
    assert f'value="{SECOND}"' not in text
    assert "b&amp;&lt;w&gt;" in text
    assert "two\nlines" in text
    assert [run.name for run in run_directories(home) if run.name.startswith(".")] == []
    shutil.rmtree(home / ".labels")


def test_each_run_has_the_sentence_that_its_report_opens_with(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def worded(*given: Any) -> tuple[Opening | None, list[Section]]:
        opening, sections = opened(*given)
        return opening and replace(opening, sentence="It answers in 62.4 us & <b>."), sections

    runs = tmp_path / "runs"
    run = copied(home / FIRST, runs / FIRST)
    index = RunIndex(runs)
    assert [row.headline for row in index.rows()] == [""]
    monkeypatch.setattr(page, "opened", worded)
    write_html([run], run / REPORT)
    assert [row.headline for row in index.rows()] == ["It answers in 62.4 us & <b>."]
    with serving(settings_of(runs, "127.0.0.1:0", None)) as served:
        assert "us &amp; &lt;b&gt;." in shown(served).replace("µ", "u")


@pytest.mark.parametrize(
    ("report", "text"),
    [
        (b"", ""),
        (b"\xff\x00<meta", ""),
        (
            b'<meta name="description" content="&lt;script&gt;alert(1)&lt;/script&gt;\x1b[2J">',
            "<script>alert(1)",
        ),
        (b" " * 5000 + b'<meta name="description" content="far">', ""),
    ],
)
def test_a_report_of_anybody_is_text_in_the_list(
    home: Path, tmp_path: Path, report: bytes, text: str
) -> None:
    run = copied(home / FIRST, tmp_path / "runs" / FIRST)
    (run / REPORT).write_bytes(report)
    [row] = RunIndex(tmp_path / "runs").rows()
    assert row.headline.startswith(text)
    assert bool(row.headline) == bool(text)
    assert "\x1b" not in row.headline
    with serving(settings_of(tmp_path / "runs", "127.0.0.1:0", None)) as served:
        assert "<script>alert" not in shown(served)


@pytest.mark.parametrize(
    "body", [f"tags={'x' * 41}", f"tags={','.join(map(str, range(30)))}", f"note={'n' * 4500}"]
)
def test_labels_beyond_their_limits_are_refused(served: Served, home: Path, body: str) -> None:
    assert served.send(f"/runs/{FIRST}/about", body).status == 400
    assert not (home / ".labels").exists()


@pytest.mark.parametrize(
    "name",
    [
        "..",
        "%2e%2e",
        "..%2f..%2fetc",
        "%2fetc%2fpasswd",
        ".labels",
        "%00",
        "a%00b",
        "%ff%fe",
        "no-such-run",
        "x" * 5000,
    ],
)
@pytest.mark.parametrize("page", ["", "/about"])
def test_a_name_leads_nowhere_but_to_runs_of_the_folder(served: Served, name: str, page: str) -> None:
    answer = served.ask(f"/runs/{name}{page}")
    assert answer.status in (404, 307)
    assert "root:" not in answer.text
    assert served.ask(f"/compare?run={name}&run={FIRST}").status == 404


def test_a_page_of_an_error_begins_as_a_sentence(served: Served) -> None:
    answer = served.ask("/runs/nowhere")
    assert answer.status == 404
    assert ">No run &#39;nowhere&#39; here." in answer.text


def test_a_comparison_names_runs_and_not_the_folder_that_they_lie_in(served: Served, home: Path) -> None:
    text = served.ask(f"/compare?run={FIRST}&run={SECOND}").text
    assert FIRST in text
    assert str(home) not in text


def test_links_and_special_files_are_named_and_never_opened(tmp_path: Path) -> None:
    home, elsewhere = tmp_path / "runs", tmp_path / "elsewhere"
    small_run(elsewhere)
    home.mkdir()
    (home / "linked").symlink_to(elsewhere)
    inside = copied(elsewhere, home / "inside")
    (inside / "points.parquet").unlink()
    (inside / "points.parquet").symlink_to("/etc/passwd")
    pipe = copied(elsewhere, home / "pipe")
    (pipe / "run.json").unlink()
    os.mkfifo(pipe / "run.json")
    (pipe / "manifest.json").write_text("{}")
    (home / os.fsdecode(b"\xff\xfe")).mkdir()
    with serving(settings_of(home, "127.0.0.1:0", None)) as served:
        text = shown(served)
        assert "2 runs" in text
        assert text.count("is a link or a special file, so it is not opened") == 2
        assert served.ask("/runs/linked").status == 404
        for name in ("inside", "pipe"):
            answer = served.ask(f"/runs/{name}")
            assert answer.status == 422
            assert "root:" not in answer.text


def test_a_thousand_runs_are_listed_within_a_second_after_the_first_time(home: Path, tmp_path: Path) -> None:
    many = tmp_path / "many"
    for number in range(1000):
        run = many / f"run-{number:04d}"
        run.mkdir(parents=True)
        os.link(home / FIRST / "run.json", run / "run.json")
    index = RunIndex(many)
    assert len(index.rows()) == 1000
    with serving(settings_of(many, "127.0.0.1:0", None)) as served:
        shown(served)
        begun_s = perf_counter()
        text = shown(served, "?page=10")
        assert perf_counter() - begun_s < 1
    assert "Page 10 of 10" in text
    (many / "run-0500" / "run.json").unlink()
    (many / "run-0500" / "run.json").write_text("{}")
    assert sum(row.state == "damaged" for row in index.rows()) == 1


def test_damaged_runs_of_every_kind_have_a_page_and_stop_nobody(home: Path, tmp_path: Path) -> None:
    spoiled = tmp_path / "runs"
    for number, content in enumerate([b"", b"\xff\xfe", b"[]", b"[" * 100_000, b'{"id": 1}', b"null"]):
        run = spoiled / f"run-{number}"
        shutil.copytree(home / FIRST, run)
        (run / "run.json").write_bytes(content)
    for number, name in enumerate(("points.parquet", "intervals.parquet", "latency.parquet")):
        run = spoiled / f"table-{number}"
        shutil.copytree(home / FIRST, run)
        (run / name).write_bytes(b"PAR1" + bytes(100))
    with serving(settings_of(spoiled, "127.0.0.1:0", None)) as served:
        assert shown(served).count("state damaged") == 6
        for run in spoiled.iterdir():
            answer = served.ask(f"/runs/{quote(run.name)}")
            assert answer.status in (200, 422), run.name
            assert served.ask(f"/runs/{quote(run.name)}/about").status == 200
    assert check(home / FIRST).error is None
