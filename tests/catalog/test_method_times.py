"""The times of the built-in methods that their reference shows are those of their files."""

import re

import pytest

from documented import ROOT
from fathom import catalog
from fathom.method.method import Method, load_method

TABLE = (ROOT / "docs/reference/method.md").read_text().partition("## Built-in methods")[2]
ROWS: list[tuple[str, str, str]] = re.findall(
    r"^\| `([\w-]+)` \|.*\| ([^|]+) \| ([^|]+) \|$", TABLE, flags=re.MULTILINE
)


def test_the_table_has_every_method() -> None:
    assert {name for name, *_ in ROWS} == set(catalog.method_names())


@pytest.mark.parametrize(
    ("name", "full", "quick"), [row for row in ROWS if not row[0].startswith("snia-rwsw")]
)
def test_a_method_without_a_trace_takes_the_times_of_the_table(name: str, full: str, quick: str) -> None:
    for text, method in ((full, load_method(name)), (quick, load_method(name, quick=True))):
        unit_s = 60 if text.endswith("min") else 1
        shown = [float(one) * unit_s for one in re.findall(r"[\d.]+", text)]
        assert [shown[0], shown[-1]] == pytest.approx(times_s(method), rel=0.01)


def times_s(method: Method) -> tuple[float, float]:
    """Returns the time without fills, of a target that is steady at once and of one that never is."""
    least = most = 0.0
    for step in method.steps:
        if step.kind == "fill":
            continue
        time_s = step.job.time_s or 0.0
        most += time_s
        if step.round is None or step.round.number <= step.round.window:
            rounds = step.steady
            least += min(rounds.round_s * rounds.window, time_s) if rounds else time_s
    return least, most
