"""The page on safety and the code agree: rules and tests that it names exist."""

import re
from pathlib import Path
from typing import get_args

from fathom.targets.refusal import Rule

TESTS = Path(__file__).parents[1]
PAGE = (TESTS.parent / "docs/reference/safety.md").read_text(encoding="utf-8")


def test_every_test_that_the_page_names_exists():
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    assert len(named) > 40
    there = {
        name
        for path in TESTS.rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)\(", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert named - there == set()


def test_every_rule_has_its_row_and_is_shown_by_a_test():
    rules = set(get_args(Rule)) - {"not-own"}
    first, second = PAGE.split("### Which test shows it")
    assert set(re.findall(r"^\| `([a-z-]+)` \|", first, re.MULTILINE)) == rules
    rows = [row.split("|") for row in second.split("### The token")[0].splitlines() if "`test_" in row]
    assert {rule for row in rows for rule in re.findall(r"`([a-z-]+)`", row[2])} == rules
