"""A job is one class with one definition of each fact: no Python module takes its JSON apart or writes a fact again."""

import ast
import pickle
import re
from pathlib import Path

import pytest

from fathom import _core
from fathom._core import Job
from fathom.errors import FathomError
from fathom.method.job import read_job

PACKAGE = Path(__file__).parents[1] / "python" / "fathom"
TEXT = """
mix = { read = 70, write = 30 }
block = "8KiB"
pattern = "uniform"
region = "29%"
load = { threads = 4, iodepth = 8 }
until = { time = "2s" }
"""
KEYS = {"mix", "pattern", "region", "load", "until", "pace", "content", "placement"}
"""Keys of the normal form that tell a job from other documents."""
ADAPTERS = ("imports/", "sweep/", "catalog/", "what_if/", "method/template.py", "plan/devices.py")
"""What reads, writes or changes methods in the form that people write, or settings of a page."""


def job(text: str = TEXT) -> Job:
    return Job(text, "job.toml")


def sources() -> list[tuple[str, str]]:
    return [(str(one.relative_to(PACKAGE)), one.read_text()) for one in sorted(PACKAGE.rglob("*.py"))]


def taken_apart(text: str) -> set[str]:
    """The job keys that a module subscripts or `get`s, or names in a TypedDict."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            found.add(str(node.slice.value))
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "get" and node.args:
            found.add(str(getattr(node.args[0], "value", "")))
        if isinstance(node, ast.ClassDef) and any(
            getattr(base, "id", "") == "TypedDict" for base in node.bases
        ):
            found |= {
                str(getattr(one.target, "id", "")) for one in node.body if isinstance(one, ast.AnnAssign)
            }
    return found & KEYS


def test_no_module_takes_the_json_of_a_job_apart() -> None:
    found = {name: taken_apart(text) for name, text in sources() if not name.startswith(ADAPTERS)}
    assert {name: keys for name, keys in found.items() if keys} == {}


def test_the_json_of_a_job_becomes_a_job_in_one_module_only() -> None:
    takes = re.compile(r"\.job\.json|loads\([^)]*job")
    makes = re.compile(r"\bJob\((?!\s*f?(\"\"\"|'))")
    imports = re.compile(r"^from fathom\._core import .*\bJob\b", re.MULTILINE)
    found = {
        name
        for name, text in sources()
        if takes.search(text) or (imports.search(text) and makes.search(text))
    }
    assert found == {"method/job.py"}


def test_a_region_in_percent_is_as_long_in_a_plan_as_in_the_requests() -> None:
    capacity_bytes = 7_680_000_000_000
    start, size_bytes = job().region_on(capacity_bytes)
    once = Job(TEXT.replace('time = "2s"', "count = 4000"), "job.toml")
    ends = [first + length for _, _, first, length in _core.requests(once, capacity_bytes, 512, 1, 4000)]
    assert (start, size_bytes % (1 << 20)) == (0, 0)
    assert size_bytes * 0.99 < max(ends) <= size_bytes
    assert size_bytes == job().region_size.on(capacity_bytes)


def test_a_job_made_from_another_leaves_that_as_it_is() -> None:
    first = job()
    open_, ended = first.with_rate(5e4, "exponential"), first.with_until(bytes=1 << 30)
    assert (open_.rate_iops, open_.arrival, first.arrival) == (5e4, "exponential", None)
    assert (ended.time_ns, ended.bytes, first.time_ns) == (None, 1 << 30, 2_000_000_000)
    assert (first.with_load(iodepth=3).threads, first.with_load(iodepth=3).iodepth) == (4, 3)
    assert first == job()


def test_a_job_that_would_be_none_is_refused() -> None:
    with pytest.raises(_core.ParseError, match="until needs at least one"):
        job().with_until()
    with pytest.raises(_core.ParseError, match='no stream "a"'):
        job().with_rate(1.0, "uniform", "a")
    with pytest.raises(FathomError, match=r"run\.json"):
        read_job('{"mix": 3}', "run.json")


def test_a_job_travels_as_its_normal_form() -> None:
    first = job()
    assert pickle.loads(pickle.dumps(first)) == Job(first.json) == first
    assert len({first, Job(first.json)}) == 1
    assert first != job(TEXT.replace("70", "71"))
