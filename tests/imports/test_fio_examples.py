"""fio's own example job files, read from its package: each gives a method with all of its options, or one line."""

import os
from collections import Counter
from pathlib import Path

import pytest

from fathom.errors import UsageError
from fathom.imports import import_method
from fathom.method.method import parse_method

EXAMPLES = Path(os.environ.get("FIO_EXAMPLES", "/usr/share/doc/fio/examples"))

pytestmark = pytest.mark.skipif(
    not list(EXAMPLES.glob("*.fio")),
    reason=f"no examples in {EXAMPLES}: the package fio-examples is not installed",
)


def test_every_example_is_a_method_or_refused_at_a_line() -> None:
    outcomes: Counter[str] = Counter()
    refusals: dict[Path, str] = {}
    for file in sorted(EXAMPLES.glob("*.fio")):
        try:
            text, notes = import_method(file)
        except UsageError as error:
            refusals[file] = str(error)
        else:
            assert parse_method(text, "again").steps
            outcomes["noted" if notes else "applied"] += 1
    assert all(
        text.startswith(f"{file}:") and "internal fault" not in text for file, text in refusals.items()
    )
    assert outcomes["noted"] + outcomes["applied"] >= 15, outcomes
