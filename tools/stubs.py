"""Compares the stub of the extension with the extension: names, members and the names of parameters.

Run by `make lint`. Prints each difference on a line and ends with 1 where there is one.
"""

import ast
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parent.parent
STUB = ROOT / "python" / "fathom" / "_core.pyi"
#: Members that the extension has by itself, or that a stub leaves to `object`.
IMPLIED = frozenset(
    ("__doc__", "__module__", "__new__", "__init__", "__eq__", "__ne__", "__repr__", "__reduce__")
)
#: Members of `object`, which every class has.
INHERITED = frozenset(dir(object)) - {"__hash__"}


def differences(stub: str, core: ModuleType) -> list[str]:
    """Returns what the stub states otherwise than the extension has it."""
    tree = ast.parse(stub)
    stated = {name: node for node in tree.body if (name := _name(node))}
    there = {name for name in vars(core) if not name.startswith("_")} | {"__version__"}
    found = [f"{name}: the stub lacks it" for name in sorted(there - stated.keys())]
    found += [f"{name}: the extension lacks it" for name in sorted(stated.keys() - there)]
    for name in sorted(there & stated.keys()):
        node, thing = stated[name], getattr(core, name)
        if isinstance(node, ast.FunctionDef):
            found += _parameters(name, node, thing)
        elif isinstance(node, ast.ClassDef) and not issubclass(thing, Exception):
            found += _members(node, thing)
    return found


def _name(node: ast.stmt) -> str | None:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return node.name
    return node.target.id if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) else None


def _members(node: ast.ClassDef, kind: type) -> list[str]:
    stated = {name: one for one in node.body if (name := _name(one))}
    there = {name for name in vars(kind) if name not in INHERITED and name not in IMPLIED}
    # A class that compares by value but has no hash says so with None.
    there -= {"__hash__"} if vars(kind).get("__hash__", 0) is None else set()
    there -= (
        {"__hash__"} if "__hash__" not in stated and vars(kind).get("__hash__") is object.__hash__ else set()
    )
    names = stated.keys() - IMPLIED
    found = [f"{node.name}.{name}: the stub lacks it" for name in sorted(there - names)]
    found += [f"{node.name}.{name}: the extension lacks it" for name in sorted(names - there)]
    for name in sorted(there & names):
        one, thing = stated[name], vars(kind)[name]
        called = isinstance(one, ast.FunctionDef)
        if called != (callable(thing) or isinstance(thing, staticmethod)):
            found.append(f"{node.name}.{name}: a method on one side, a value on the other")
        elif isinstance(one, ast.FunctionDef) and called:
            found += _parameters(f"{node.name}.{name}", one, getattr(kind, name))
    made = stated.get("__new__") or stated.get("__init__")
    return found + (_parameters(node.name, made, kind) if isinstance(made, ast.FunctionDef) else [])


def _parameters(name: str, node: ast.FunctionDef, thing: object) -> list[str]:
    signature = getattr(thing, "__text_signature__", None)
    if signature is None:
        return []
    own = ast.parse(f"def f{signature.replace('$', '').replace('/, ', '').replace(', /', '')}: ...").body[0]
    assert isinstance(own, ast.FunctionDef)
    stated, there = (
        [one.arg for one in [*each.args.args, *each.args.kwonlyargs] if one.arg not in ("self", "cls")]
        for each in (node, own)
    )
    optional = [
        len(each.args.defaults) + sum(one is not None for one in each.args.kw_defaults)
        for each in (node, own)
    ]
    if stated != there:
        return [f"{name}: the stub has ({', '.join(stated)}), the extension ({', '.join(there)})"]
    return [] if optional[0] == optional[1] else [f"{name}: the number of defaults differs"]


if __name__ == "__main__":
    from fathom import _core

    if lines := differences(STUB.read_text(encoding="utf-8"), _core):
        print("\n".join(f"{STUB.relative_to(ROOT)}: {line}" for line in lines))
        sys.exit(1)
