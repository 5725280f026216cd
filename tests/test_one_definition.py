"""Facts about operations and blocks have one definition each, which every module takes."""

import re
from pathlib import Path

import pytest

from fathom.statistics.means import mean_by_count

PACKAGE = Path(__file__).parents[1] / "python" / "fathom"


@pytest.mark.parametrize(
    ("fact", "written", "homes"),
    [
        ("write or append", r"\"write\", \"append\"", set()),
        ("large blocks", r"(FROM|LARGE)\w*BYTES = |>= (64 \* 1024|64 << 10|65536)", set()),
        ("the size of a region", r"\bfraction\b.* \* \w*capacity|capacity\w* \* .*\bfraction\b", set()),
        (
            "a mean weighted by I/Os",
            r"sum\(count \* (mean|value|_number)|mean_us or 0(\.0)?\) \* \(?\w+\.n\b",
            {"statistics/means.py"},
        ),
    ],
)
def test_a_fact_has_one_definition(fact: str, written: str, homes: set[str]) -> None:
    """Facts without a home here are those of the core: `crates/workload`."""
    sources = {str(one.relative_to(PACKAGE)): one.read_text() for one in PACKAGE.rglob("*.py")}
    found = {name for name, text in sources.items() if re.search(written, text)}
    assert found == homes, fact


def test_a_mean_counts_each_operation_by_its_ios_and_leaves_out_what_is_unknown() -> None:
    assert mean_by_count([(3, 10.0), (1, 50.0), (100, None)]) == 20.0
    assert mean_by_count([(0, 10.0), (None, 20.0)]) is None
