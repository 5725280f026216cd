"""Keeps pandas out of commands: pyarrow and DuckDB load it for any array, which takes half a second."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from types import ModuleType

OURS = ("fathom", "pyarrow", "duckdb")


@contextmanager
def no_frames() -> Iterator[None]:
    """Hides pandas from code that looks for it without being asked to: no command makes a frame."""
    finder = _NoFrames()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


class _NoFrames(MetaPathFinder):
    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        """Raises where compiled code looks for pandas: the module that called it is then the one that asks."""
        if name == "pandas" and _asking().partition(".")[0] in OURS:
            raise ModuleNotFoundError("commands make no frames", name=name)


def _asking() -> str:
    """Returns the name of the module whose code runs above the machinery of imports and this module."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(("importlib.", __name__)):
        frame = frame.f_back
    return frame.f_globals.get("__name__", "")
