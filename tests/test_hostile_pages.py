"""Pages that commands write, with names that are scripts, 300 characters long or no text at all: harmless everywhere.

A report's own page has more of such names in tests/report/test_hostile_page.py; a server's pages have theirs in
tests/serve.
"""

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import synthetic
from fathom.catalog import entries
from fathom.cli import app, main
from fathom.load.workers import local_workers
from fathom.recommend.page import render as recommendation_page
from fathom.recommend.portion import portion
from fathom.recommend.ranking import Recommendation, recommend
from fathom.report.choice_page import render as choice_page
from fathom.report.sizing_page import render as sizing_page
from fathom.report.trace.page import render as trace_page
from fathom.sizing.choose import choose
from fathom.sizing.drive import rated_drive
from fathom.sizing.files import Needs, read_prices
from fathom.sizing.needs import parse_need
from fathom.sizing.size import size
from fathom.sizing.system import rated_system
from fathom.traces.opening import open_trace
from fathom.traces.prepare import prepare
from fathom.traces.profile import Profile, characterise
from small_trace import write_trace
from synthetic import Visit, assert_fits, unfolded

NAMES: Mapping[str, str] = {
    "a script": "</script><script>alert(1)</script><img src=x onerror=alert(2)>",
    "300 characters": "S" * 300,
    "no text": "a\x00\x1b]0;owned\x07b\u202ec\ufffd\ufffe\u2028",
}
SN861, PM9A3 = "wd-ultrastar-dc-sn861", "samsung-pm9a3-7.68tb"
CLUSTER = "weka-cluster-mainstream-7450-pro"
Page = Callable[[Path, str], Path]


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    return characterise(open_trace(write_trace(tmp_path_factory.mktemp("trace") / "app.csv")))


@pytest.fixture(scope="module")
def recommendation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recommendation]:
    prepared = prepare(open_trace(write_trace(tmp_path_factory.mktemp("trace") / "app.csv")))
    with local_workers(1) as pool:
        yield recommend(prepared, portion(prepared, 2000), [PM9A3], [], read_prices(None), pool)


def of_command(*words: object) -> None:
    done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output


def a_run(folder: Path, name: str, *, seed: int = 1) -> Path:
    first, *others = synthetic.TARGETS
    identity = {"model": name, "serial": name, "firmware": name}
    return synthetic.make_run(folder, [replace(first, label=name, identity=identity), *others], seed=seed)


def compared(folder: Path, name: str) -> Path:
    runs = [a_run(folder / f"run-{seed}", name, seed=seed) for seed in (1, 2)]
    of_command("compare", *runs, "--out", folder / "page.html")
    return folder / "page.html"


def short(folder: Path, name: str) -> Path:
    of_command("report", a_run(folder / "run", name), "--edition", "short", "--out", folder / "page.html")
    return folder / "page.html"


def what_if(folder: Path, name: str) -> Path:
    devices = folder / "devices"
    devices.mkdir()
    text = next(entry for entry in entries("devices") if entry.name == PM9A3).text()
    label = "".join(letter if letter.isprintable() else "?" for letter in name)
    text = text.replace(f'name = "{PM9A3}"', 'name = "mine"')
    (devices / "mine.toml").write_text(re.sub('(?m)^label = ".*"$', f'label = "{label}"', text))
    of_command("what-if", "twin:mine", "--out", folder / "page.html")
    return folder / "page.html"


def sized(folder: Path, name: str) -> Path:
    drive = replace(rated_drive(SN861), name=name)
    return written(folder, sizing_page(size(drive, [parse_need("64 GB/s read"), parse_need("150 TB")])))


def chosen(folder: Path, name: str) -> Path:
    prices = read_prices(None)
    needs = Needs.model_validate({"schema": "fathom-needs/1", "needs": ["250 TB"]})
    system = rated_system(CLUSTER, prices)
    hostile = replace(system, drive=replace(system.drive, name=name))
    return written(folder, choice_page(choose(needs, [hostile], prices)))


METHOD = """
schema = "fathom-method/1"
name = "small"
title = {name}
slice = "4GB"
[[steps]]
name = "write"
label = {name}
[steps.job]
mix = "write"
block = "128KiB"
pattern = "sequential"
load = {{ iodepth = 8 }}
until = {{ time = "20ms" }}
"""


def swept(folder: Path, name: str) -> Path:
    (folder / "small.toml").write_text(METHOD.format(name=json.dumps(name)))
    options = ("--set", "program_us=400,800", "--out", folder / "runs")
    of_command("sweep", folder / "small.toml", f"twin:{PM9A3}", *options)
    [page] = (folder / "runs").glob("*/report.html")
    return page


def written(folder: Path, text: str) -> Path:
    path = folder / "page.html"
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("page", [compared, short, swept, what_if, sized, chosen])
def test_a_hostile_name_on_a_page_of_a_command_is_harmless(
    page: Page, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, visit: Callable[..., Visit]
) -> None:
    monkeypatch.setenv("FATHOM_CATALOG", str(tmp_path))
    assert_harmless(page(tmp_path, name), visit)


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_hostile_name_of_a_trace_and_its_processes_is_harmless(
    name: str, profile: Profile, tmp_path: Path, visit: Callable[..., Visit]
) -> None:
    hostile = profile.model_copy(update={"name": name, "processes": [name], "devices": [name]})
    assert_harmless(written(tmp_path, trace_page(hostile)), visit)


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_hostile_name_on_a_recommendation_is_harmless(
    name: str, recommendation: Recommendation, tmp_path: Path, visit: Callable[..., Visit]
) -> None:
    candidates = [replace(one, device=name) for one in recommendation.candidates]
    hostile = replace(recommendation, name=name, candidates=candidates)
    assert_harmless(written(tmp_path, recommendation_page(hostile)), visit)


def assert_harmless(page: Path, visit: Callable[..., Visit]) -> None:
    """Passes where a page runs nothing of a name, asks for nothing, complains of nothing and keeps its width."""
    seen = visit(page, width=390, height=844)
    unfolded(seen.page)
    assert seen.complaints == []
    assert [url for url in seen.requests if not url.startswith((page.as_uri(), "data:", "blob:"))] == []
    assert seen.page.locator("img, [onerror], script[src]").count() == 0
    assert_fits(seen.page, 390)


@pytest.mark.parametrize(
    "words",
    [
        ["characterise", "{name}"],
        ["recommend", "{name}", f"twin:{PM9A3}"],
        ["choose", "{name}", CLUSTER],
        ["size", "--need", "1 TB", "--device", "{name}"],
        ["what-if", "twin:{name}"],
        ["report", "{name}"],
        ["compare", "{name}", "{name}"],
    ],
    ids=lambda words: words[0],
)
def test_a_name_that_is_no_utf_8_is_refused_in_one_line_before_any_page_is_written(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    name = os.fsdecode(b"\xff")
    write_trace(tmp_path / name)
    monkeypatch.setattr(sys, "argv", ["fathom", *(word.format(name=name) for word in words)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    [line] = capfd.readouterr().err.splitlines()
    assert line.endswith("not UTF-8, as reports and tables are; rename it")
    assert not list(tmp_path.glob("*.html"))
