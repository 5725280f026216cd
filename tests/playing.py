"""Plays with a page that has a twin inside: moves its sliders, waits for its figures, runs its command."""

import csv
import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page
from typer.testing import CliRunner

from fathom.cli import app

MOST_MS = 60_000


def settled(page: Page, *, beside: bool = False) -> list[dict[str, Any]]:
    """Waits for the settled figures, and those of the drive as it is; returns the former."""
    wanted = "#curve[data-stage=settled]" + ("[data-as-is=settled]" if beside else "")
    page.wait_for_selector(wanted, timeout=MOST_MS)
    return json.loads(page.locator("#curve").get_attribute("data-points") or "")


def move(page: Page, **places: int) -> None:
    """Puts sliders to places at once, as dragging them would; waits until the figures are theirs."""
    page.evaluate(
        """places => {
          const inputs = Object.entries(places).map(([key, place]) => {
            const input = document.getElementById(`s-${key}`);
            input.value = place;
            return input;
          });
          inputs.forEach((input) => input.dispatchEvent(new Event("input", { bubbles: true })));
        }""",
        places,
    )
    asked = " ".join(f"{key}:{place}" for key, place in places.items() if key != "depth")
    if asked:
        for one in asked.split():
            page.wait_for_selector(f'#curve[data-id~="{one}"]', timeout=MOST_MS)


def printed_rows(page: Page, folder: Path) -> list[dict[str, str]]:
    """Runs the command that the page prints; returns its rows of the points that the page shows."""
    words = shlex.split(page.inner_text("#command").replace("\\\n", " "))
    assert words[:2] == ["fathom", "sweep"]
    assert words[2].startswith("what-if")
    done = CliRunner().invoke(app, [*words[1:], "--csv", "--out", str(folder)], catch_exceptions=False)
    return [row for row in csv.DictReader(done.stdout.splitlines()) if row["workload"] == "random"]


def assert_same_figures(rows: list[dict[str, str]], shown: dict[str, dict[str, Any]]) -> None:
    """Passes where the rows of a sweep are the page's points to the last digit."""
    assert len(rows) == sum(len(point["ops"]) for point in shown.values())
    for row in rows:
        point = shown[row["step"]]
        [op] = [one for one in point["ops"] if one["op"] == row["op"]]
        for key in ("n", "iops", "mbps", "mean_us", "p99_us"):
            assert float(row[key] or "nan") == pytest.approx(
                op[key] or float("nan"), rel=0, abs=0, nan_ok=True
            )
        assert float(row["waf"] or "nan") == pytest.approx(point["waf"] or float("nan"), rel=0, nan_ok=True)
        if point["limit"]["resource"]:
            assert row["limited_by"].startswith((point["limit"]["resource"]["name"], "busiest"))
