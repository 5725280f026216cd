"""The files of each crate as a graph of what they `use`: no file reaches itself by way of others."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

CRATES = Path(__file__).parents[1] / "crates"


@pytest.mark.parametrize("crate", sorted(path.name for path in CRATES.iterdir()))
def test_no_file_of_a_crate_uses_one_that_uses_it(crate: str) -> None:
    assert circles(uses(CRATES / crate / "src")) == set()


@pytest.mark.parametrize(
    ("crate", "others"),
    [("trace", set()), ("workload", set()), ("recording", {"workload"}), ("engine", {"workload", "recording"}),
     ("twin", {"workload", "recording"}), ("load", {"workload", "recording", "engine", "twin"})],
)  # fmt: skip
def test_a_crate_depends_only_on_those_below_it(crate: str, others: set[str]) -> None:
    text = (CRATES / crate / "Cargo.toml").read_text(encoding="utf-8")
    named = set(re.findall(r"^(\w+)\.workspace = true", text.partition("[dependencies]")[2], re.MULTILINE))
    assert named & {path.name for path in CRATES.iterdir()} == others


def test_two_files_that_use_each_other_are_a_circle(tmp_path: Path) -> None:
    (tmp_path / "lib.rs").write_text("mod a;\nmod b;\n")
    (tmp_path / "a.rs").write_text("use crate::b::{self, Two};\n")
    (tmp_path / "b.rs").write_text("use super::a::One;\n")
    assert circles(uses(tmp_path)) == {("a", "b")}


def uses(source: Path) -> dict[str, set[str]]:
    """Maps each module with a file of its own, tests apart, to those that it uses; the crate's root counts for none."""
    files = {_name(path.relative_to(source)): path for path in source.rglob("*.rs")}
    files = {name: path for name, path in files.items() if "tests" not in name.split("::")}
    return {name: _used(name, path.read_text(encoding="utf-8"), set(files)) for name, path in files.items()}


def _name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return "::".join(parts[:-1] if parts[-1] in ("lib", "mod") else parts)


def _used(module: str, text: str, known: set[str]) -> set[str]:
    code = re.split(r"#\[cfg\(test\)\]\s*mod tests", re.sub(r"//[^\n]*", "", text))[0]
    found = re.findall(r"\buse ((?:crate|super|self)\b[^;]*);", code)
    targets = {_target(module, path, known) for tree in found for path in _paths(re.sub(r"\s", "", tree))}
    return targets - {module, ""}


def _target(module: str, path: str, known: set[str]) -> str:
    """The module with a file that a path leads to, or into."""
    first, *rest = path.split("::")
    here = module.split("::") if module else []
    parts = [] if first == "crate" else here if first == "self" else here[:-1]
    while rest and rest[0] == "super":
        parts, rest = parts[:-1], rest[1:]
    parts = [*parts, *rest]
    while parts and "::".join(parts) not in known:
        parts = parts[:-1]
    return "::".join(parts)


def _paths(tree: str) -> Iterator[str]:
    """The paths of a use: `a::{b,c::{d}}` has two."""
    match = re.fullmatch(r"(.*?)\{(.*)\}", tree)
    if match is None:
        yield tree
        return
    for branch in re.findall(r"(?:[^,{}]|\{(?:[^{}]|\{[^{}]*\})*\})+", match[2]):
        yield from _paths(match[1] + branch)


def circles(graph: dict[str, set[str]]) -> set[tuple[str, ...]]:
    """Groups of modules each of which reaches all others of its group."""
    reached = {name: _reached(graph, name) for name in graph}
    return {
        tuple(sorted({name, *(other for other in reached[name] if name in reached[other])}))
        for name in graph
        if name in reached[name]
    }


def _reached(graph: dict[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    waiting = [*graph[start]]
    while waiting:
        one = waiting.pop()
        if one not in seen:
            seen.add(one)
            waiting += graph[one]
    return seen
