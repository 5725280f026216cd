"""The words for what limits a step."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from fathom import _core
from fathom.statistics.limit_words import limited_by


def busy(resource: str, servers: int, mean: float, most: float, waiting: float = 0.0) -> SimpleNamespace:
    return SimpleNamespace(resource=resource, servers=servers, mean=mean, max=most, waiting=waiting)


DIES, HOT = busy("dies", 64, 0.96, 0.97, 2.13), busy("dies", 64, 0.30, 0.45, 14.0)
LINK, CPU = busy("PCIe link (read)", 1, 0.71, 0.71), busy("load generator CPU", 1, 0.4, 0.4)


@pytest.mark.parametrize(
    ("kind", "resource", "amount", "following", "words"),
    [
        ("saturated", DIES, None, LINK, "dies 97 %, next PCIe link (read) 71 %"),
        ("saturated", busy("dies", 64, 0.2, 0.99), None, None, "busiest of 64 dies 99 % (mean 20 %)"),
        ("saturated", LINK, None, HOT, "PCIe link (read) 71 %, next busiest of 64 dies 45 % (mean 30 %)"),
        ("queue", HOT, None, LINK, "dies (14 waiting) 30 %, next PCIe link (read) 71 %"),
        ("queue", DIES, None, None, "dies (2.1 waiting) 96 %"),
        ("outstanding-io", None, 31.97, DIES, "outstanding I/O (32), busiest dies 97 %"),
        ("outstanding-io", None, 9.5, HOT, "outstanding I/O (9.5), busiest of 64 dies 45 % (mean 30 %)"),
        ("outstanding-io", None, 0.998, None, "outstanding I/O (1)"),
        ("offered-rate", None, 1005.0, None, "offered rate (1005 IOPS)"),
        (
            "target-or-outstanding-io", None, 32.0, CPU,
            "target or outstanding I/O (32), busiest load generator CPU 40 %",
        ),
    ],
)  # fmt: skip
def test_a_limit_has_the_words_of_its_values(
    kind: str, resource: Any, amount: float, following: Any, words: str
):
    limit = SimpleNamespace(kind=kind, resource=resource, amount=amount, next=following)
    recording = cast("_core.Recording", SimpleNamespace(limit=lambda: limit))
    assert limited_by(recording) == words


def test_a_recording_of_nothing_has_no_limit():
    assert limited_by(_core.Recording()) is None
