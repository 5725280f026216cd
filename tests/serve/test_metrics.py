"""Runs that go on as metrics, and the dashboard that shows them."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fathom.runs.live import write_live
from fathom.serve.metrics import metrics_of
from fathom.serve.settings import settings_of
from live_runs import going, live_run
from serve_client import Served, serving

FIRST = "20261120-231500-four-corners-aaaa"
GOING = "20261125-151500-four-corners-live"
DOCS = Path(__file__).parents[2] / "docs" / "how-to"
SAMPLE = re.compile(
    r'(?P<name>[a-z_]+)(?:\{(?P<labels>(?:[a-z]+="(?:[^"\\\n]|\\.)*",?)*)\})? (?P<value>[0-9.e+-]+)'
)
NAME = re.compile(r"\bfathom_[a-z_]+")


@pytest.fixture
def runs(home: Path, tmp_path: Path) -> Iterator[Path]:
    with going(home / FIRST, tmp_path / GOING):
        yield tmp_path


@pytest.fixture
def watched(runs: Path) -> Iterator[Served]:
    with serving(settings_of(runs, "127.0.0.1:0", None)) as server:
        yield server


def samples(text: str) -> dict[str, list[tuple[str, float]]]:
    """Labels and values by name; fails on a line that is no exposition."""
    lines = text.splitlines()
    assert lines[-1] == "# EOF"
    found: dict[str, list[tuple[str, float]]] = {}
    for line in lines[:-1]:
        if line.startswith(("# TYPE ", "# HELP ", "# UNIT ")):
            continue
        sample = SAMPLE.fullmatch(line)
        assert sample is not None, line
        found.setdefault(sample["name"], []).append((sample["labels"] or "", float(sample["value"])))
    return found


def test_each_figure_of_a_run_that_goes_on_is_a_metric(watched: Served) -> None:
    answer = watched.ask("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    found = samples(answer.text)
    assert found["fathom_live_runs"] == [("", 1.0)]
    [(labels, iops)] = found["fathom_live_iops"]
    assert iops == 812_345
    assert f'run="{GOING}"' in labels
    assert 'method="four-corners"' in labels
    assert 'step="4k-rand-read"' in labels
    assert found["fathom_live_mean_latency_seconds"][0][1] == pytest.approx(87.2e-6)
    assert found["fathom_live_bandwidth_bytes_per_second"][0][1] == 812_345 * 4096
    assert found["fathom_live_step_done_ratio"][0][1] == 0.4
    assert found["fathom_live_step_left_seconds"][0][1] == 36
    assert found["fathom_live_steady"][0][1] == 1
    assert sorted(value for _, value in found["fathom_live_phase"]) == [0, 0, 1]
    assert sum(value for labels, value in found["fathom_live_state"] if 'state="waiting"' in labels) == 1


def test_a_scraper_that_asks_for_openmetrics_gets_it(watched: Served) -> None:
    answer = watched.ask("/metrics", Accept="application/openmetrics-text; version=1.0.0,text/plain;q=0.5")
    assert answer.headers["content-type"].startswith("application/openmetrics-text")


def test_hostile_names_stay_inside_their_label(runs: Path) -> None:
    live = live_run(runs / GOING)
    target = live.targets[0].model_copy(update={"name": 'x"} 1\nowned_total{a="\\'})
    text = metrics_of([live.model_copy(update={"targets": (target,)})], datetime.now(UTC))
    assert "owned_total" not in samples(text)
    assert len(samples(text)["fathom_live_iops"]) == 1


def test_a_killed_run_and_one_that_ended_have_no_metrics(home: Path, tmp_path: Path) -> None:
    with going(home / FIRST, tmp_path / GOING) as run:
        live = live_run(run)
    write_live(run, live)
    with serving(settings_of(tmp_path, "127.0.0.1:0", None)) as served:
        found = samples(served.ask("/metrics").text)
    assert found == {"fathom_live_runs": [("", 0.0)]}


def test_a_scraper_needs_the_token(runs: Path) -> None:
    token = "correct-horse-battery"
    with serving(settings_of(runs, "127.0.0.1:0", token)) as guarded:
        assert guarded.ask("/metrics").status == 401
        assert "fathom_live_iops" in guarded.ask("/metrics", Authorization=f"Bearer {token}").text


def test_the_dashboard_and_its_page_name_metrics_that_there_are(watched: Served) -> None:
    there = set(samples(watched.ask("/metrics").text))
    dashboard = json.loads((DOCS / "grafana-dashboard.json").read_text())
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    asked += [str(one["query"]) for one in dashboard["templating"]["list"]]
    named = {name for text in asked for name in NAME.findall(text)}
    assert named == there
    assert {name for name in NAME.findall((DOCS / "serve.md").read_text()) if "live" in name} == there


def test_the_panels_of_the_dashboard_lie_side_by_side() -> None:
    dashboard = json.loads((DOCS / "grafana-dashboard.json").read_text())
    taken: set[tuple[int, int]] = set()
    for panel in dashboard["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
