"""The names of steps for people: labels as in tables, not the keys of the method."""

from collections.abc import Mapping
from typing import cast

from fathom.method.curve import curve_of, is_point, share_or_search
from fathom.method.rounds import RoundJson

Steps = Mapping[str, Mapping[str, object]]
"""The steps of a method in normal form by key."""


def called(step: str, steps: Steps, *, any_round: bool = False) -> str:
    """Returns `4 KiB random read, 1T/32Q`; of a curve's point `...: 60 % of its maximum`; of a step in rounds `random,
    4T/32Q, 4 KiB, writes, round 3`, or without the number for all rounds together. A step that the method does not have
    keeps its key.
    """
    entry = steps.get(step, {})
    if place := cast("RoundJson | None", entry.get("round")):
        whole = str(entry.get("label") or f"{place['of']}, {place['step']}")
        return whole if any_round else f"{whole}, round {place['number']}"
    if is_point(step):
        return f"{called(curve_of(step), steps)}: {share_or_search(step)}"
    label = entry.get("label")
    return label if isinstance(label, str) and label else step
