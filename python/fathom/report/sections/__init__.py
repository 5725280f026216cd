"""The sections of a report, one module each.

A section module has `ORDER` (its place on the page) and `build(comparison) -> Section | None`; None leaves the
section out. Every module in this package is a section: to add one, add a module.
"""

from importlib import import_module
from pkgutil import iter_modules
from typing import Protocol, cast

from fathom.report.blocks import Section
from fathom.report.comparison import Comparison


class SectionModule(Protocol):
    """What a section module offers."""

    ORDER: int

    def build(self, comparison: Comparison) -> Section | None:
        """The section, or None when the runs hold nothing to show in it."""
        ...


def modules() -> list[SectionModule]:
    """All section modules in the order of the page."""
    found = [
        cast(SectionModule, import_module(f"{__name__}.{module.name}")) for module in iter_modules(__path__)
    ]
    return sorted(found, key=lambda module: module.ORDER)


def build_all(comparison: Comparison) -> list[Section]:
    """The sections of a page."""
    return [section for module in modules() if (section := module.build(comparison)) is not None]
