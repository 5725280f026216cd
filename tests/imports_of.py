"""Which module of Fathom imports which, read from the sources. Imports for types alone do not count."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent / "python"


@dataclass(frozen=True)
class Import:
    """When the module is loaded or when one of its functions is called."""

    module: str
    imported: str
    names: tuple[str, ...]


def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    found = {}
    for path in sorted((ROOT / "fathom").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports() -> list[Import]:
    """Every import of one module of Fathom by another."""
    known = modules()
    return [one for name, path in known.items() for one in _of(name, path, known)]


def _of(name: str, path: Path, known: dict[str, Path]) -> Iterator[Import]:
    for node in _nodes(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name in known:
                    yield Import(name, alias.name, ())
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            inner = {alias.name for alias in node.names if f"{node.module}.{alias.name}" in known}
            for one in sorted(inner):
                yield Import(name, f"{node.module}.{one}", ())
            outer = tuple(alias.name for alias in node.names if alias.name not in inner)
            if outer and node.module in known:
                yield Import(name, node.module, outer)


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        yield child
        yield from _nodes(child)
