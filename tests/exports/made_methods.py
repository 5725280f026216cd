"""Methods of a few lines, and what export makes of them."""

import shutil
from collections.abc import Mapping
from types import MappingProxyType

import pytest

from fathom.exports import export_method
from fathom.method.method import Method, parse_method

needs_fio = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
HEAD = 'schema = "fathom-method/1"\nname = "made"\n'
JOB = {
    "mix": '"read"',
    "block": '"4KiB"',
    "pattern": '"uniform"',
    "load": "{ iodepth = 4 }",
    "until": '{ time = "10s" }',
}


def method(steps: str) -> Method:
    return parse_method(HEAD + steps, "made.toml")


def step(name: str = "x", keys: str = "", job: Mapping[str, str] = MappingProxyType({})) -> str:
    """A step of a timed random read, with these keys instead or besides."""
    lines = "\n".join(f"{key} = {value}" for key, value in {**JOB, **job}.items())
    return f'[[steps]]\nname = "{name}"\n{keys}\n[steps.job]\n{lines}\n'


def exported(steps: str, target: str | None = None, size_bytes: int | None = None) -> tuple[str, list[str]]:
    return export_method(method(steps), target, size_bytes)
