"""What others do at a moment of a run."""

from collections.abc import Callable
from types import ModuleType

import pytest


def meanwhile(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str, happens: Callable[[], object]
) -> None:
    """Lets something happen once, when a module is about to call its function of that name."""
    function = getattr(module, name)

    def first(*arguments: object) -> object:
        monkeypatch.setattr(module, name, function)
        happens()
        return function(*arguments)

    monkeypatch.setattr(module, name, first)
