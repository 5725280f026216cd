"""The sections of a report, one module each.

A section module has `ORDER` (its place on the page) and `build(comparison) -> Section | None`; None leaves the
section out. Every module in this package is a section: to add one, add a module.
"""

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pkgutil import iter_modules
from typing import Protocol, cast

from fathom.report.blocks import Answer, Section
from fathom.report.comparison import Comparison

OF_ONE_METHOD = ("added-latency", "cluster", "gpu-feed", "verdict")
"""Keys of sections for one method. If one of them answers, general sections need not."""


class SectionModule(Protocol):
    """What a section module offers."""

    ORDER: int

    def build(self, comparison: Comparison) -> Section | None:
        """Returns the section, or None when the runs hold nothing to show in it."""
        ...


def modules() -> list[SectionModule]:
    """Returns all section modules in the order of the page."""
    found = [
        cast(SectionModule, import_module(f"{__name__}.{module.name}")) for module in iter_modules(__path__)
    ]
    return sorted(found, key=lambda module: module.ORDER)


def build_all(comparison: Comparison) -> list[Section]:
    """Returns the sections of a page. The first, the findings, begins with the answers of all."""
    built = [section for module in modules() if (section := module.build(comparison)) is not None]
    if (texts := answers(built)) and built:
        built[0] = replace(built[0], blocks=[Answer(texts), *built[0].blocks])
    return built


def answers(built: Sequence[Section]) -> list[str]:
    """Returns the sections' answers to the questions of the runs' methods."""
    own = [section for section in built if section.key in OF_ONE_METHOD and section.answer]
    overall = [section for section in built if section.key == "summary"]
    told = [*own, *overall] if own else built
    return [text for section in told for text in section.answer]
