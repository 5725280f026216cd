"""The layers of the package, which docs/ARCHITECTURE.md draws: who may import whom."""

from collections import Counter, defaultdict
from pathlib import Path

import pytest

from imports_of import Import, imports, modules

#: From the lowest: a package imports from those above it in this list, and from itself.
LAYERS = (
    "errors",
    "text_file",
    "output",
    "statistics",
    "columns",
    "traces",
    "catalog",
    "prediction",
    "targets",
    "capture",
    "method",
    "runs",
    "namespaces",
    "store",
    "load",
    "fleet",
    "analysis",
    "sizing",
    "plan",
    "fitting",
    "power",
    "session",
    "report",
    "compare",
    "sweep",
    "what_if",
    "serve",
    "validation",
    "new_device",
    "recommend",
    "exports",
    "imports",
    "results",
    "api",
    "cli",
    "__main__",
)

#: Modules that open, erase or load a device, or begin what does.
TOUCHING = (
    "fathom.targets.claim",
    "fathom.targets.file_hold",
    "fathom.targets.file_making",
    "fathom.targets.mkfs",
    "fathom.targets.page_cache",
    "fathom.targets.purge",
    "fathom.targets.safety",
    "fathom.targets.telemetry",
    "fathom.namespaces",
    "fathom.load.backend",
    "fathom.load.initiator",
    "fathom.session",
    "fathom.fleet",
    "fathom.power",
)
READING = ("statistics", "analysis", "sizing", "report", "compare")


@pytest.fixture(scope="module")
def found() -> list[Import]:
    """All imports but those of the extension and the version, which the package itself gives."""
    return [one for one in imports() if one.imported != "fathom" or set(one.names) - {"_core", "__version__"}]


def package(module: str) -> str:
    return module.split(".")[1] if "." in module else module


def test_every_package_is_in_a_layer():
    packages = {package(name) for name in modules()} - {"fathom"}
    assert packages == set(LAYERS)


def test_a_package_imports_only_from_layers_below_it(found: list[Import]):
    upwards = {
        f"{one.module} imports {one.imported}"
        for one in found
        if one.module != "fathom" and one.imported != "fathom"
        if LAYERS.index(package(one.imported)) > LAYERS.index(package(one.module))
    }
    assert upwards == set()


def test_no_module_imports_itself_by_way_of_others(found: list[Import]):
    """An import in a function hides a circle from Python, not from a reader. `fathom` itself only hands names on."""
    after = defaultdict(set)
    for one in found:
        if "fathom" not in (one.module, one.imported):
            after[one.module].add(one.imported)
    circles = {name for name in modules() if name in reached(after, name)}
    assert circles == set()


def test_analysis_and_reports_load_nothing_that_can_touch_a_device(found: list[Import]):
    after = defaultdict(set)
    for one in found:
        after[one.module].add(one.imported)
    touched = {
        f"{name} reaches {other}"
        for name in modules()
        if package(name) in READING
        for other in reached(after, name)
        if any(other == one or other.startswith(f"{one}.") for one in TOUCHING)
    }
    assert touched == set()


def test_no_two_modules_of_tests_share_a_name():
    """The folders of tests are no packages: two modules with one name end `pytest -m long` before its first test."""
    names = Counter(path.name for path in Path(__file__).parent.rglob("*.py") if path.name != "conftest.py")
    assert [name for name, count in names.items() if count > 1] == []


def reached(after: dict[str, set[str]], name: str) -> set[str]:
    """What is loaded with the module, at any distance; itself only by way of others."""
    seen: set[str] = set()
    waiting = [*after[name]]
    while waiting:
        one = waiting.pop()
        if one not in seen:
            seen.add(one)
            waiting += after[one]
    return seen
