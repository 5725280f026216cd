"""The two locks: what running needs, and everything."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PINNED = re.compile(r"^([a-z0-9][\w.-]*==[^ \\]+)", re.M)


def pinned(lock: str) -> set[str]:
    return set(PINNED.findall((ROOT / lock).read_text()))


def test_what_running_needs_is_locked_in_the_versions_that_the_tests_run_with():
    running, everything = pinned("requirements-run.lock"), pinned("requirements.lock")
    assert running
    assert running <= everything


def test_a_review_installs_no_test_runner_no_linter_and_no_fleet():
    names = {pin.partition("==")[0] for pin in pinned("requirements-run.lock")}
    assert not names & {"pytest", "ruff", "pyright", "playwright", "ray", "scipy", "pandas"}
