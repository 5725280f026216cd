"""What becomes of an export: import reads the same job from it, and fio does as many I/Os as Fathom."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from made_methods import HEAD, exported, method, needs_fio, step

import fathom
from fathom.errors import FathomError, UsageError
from fathom.imports import import_method
from fathom.method.method import parse_method

_MIXES = st.sampled_from(['"read"', '"write"', "{ read = 70, write = 30 }", "{ read = 1, write = 99 }"])
_SIZES = st.sampled_from(["4KiB", "8KiB", "64KiB", "16384", "1MiB"])
_BLOCKS = _SIZES.map(json.dumps) | st.tuples(_SIZES, _SIZES, st.integers(1, 99)).map(
    lambda one: (
        f'[{{ size = "{one[0]}", share = {one[2]} }}, {{ size = "{one[1]}", share = {100 - one[2]} }}]'
    )
)
_PATTERNS = st.sampled_from(
    [
        *('"sequential"', '"uniform"', '"random-once"', '"backwards"'),
        *("{ zipf = 0.8 }", "{ pareto = 0.3 }", '{ random = "80%" }'),
        "{ hot-spots = [{ area = 5, access = 50 }, { area = 15, access = 30 }] }",
    ]
)
_REGIONS = st.sampled_from(
    ['"100%"', '"25%"', '"10GiB"', '{ start = "40%", size = "20%" }', '{ start = "4GiB", size = "20GiB" }']
)
_LOADS = st.tuples(
    st.sampled_from([1, 2, 4, 5]), st.integers(1, 64), st.sampled_from(["", "rate", "linear"])
).map(
    lambda one: (
        f"{{ threads = {one[0]}, iodepth = {one[1]}"
        + (f', rate = "{1000 * one[0]}/s"' if one[2] else "")
        + (', arrival = "deterministic"' if one[2] == "linear" else "")
        + " }"
    )
)
_UNTILS = st.sampled_from(
    [
        *('{ time = "30s" }', '{ time = "1500ms" }', '{ bytes = "960MiB" }', "{ count = 20000 }"),
        *('{ written = "1x" }', '{ written = "4x" }', '{ written = "2x", time = "1h" }'),
    ]
)


def normal(job_json: str) -> dict[str, Any]:
    """What of a job both tools have, with weights as shares."""
    job = json.loads(job_json)
    ops = job["mix"]["ops"]
    weight = sum(op["weight"] for op in ops)

    def sizes(op: Mapping[str, Any]) -> list[tuple[int, float]]:
        shares: dict[int, float] = {}
        for one in op["sizes"]:
            shares[one["size_bytes"]] = shares.get(one["size_bytes"], 0.0) + one["weight"]
        return [(size, round(share / sum(shares.values()), 6)) for size, share in sorted(shares.items())]

    mix = {op["op"]: (round(op["weight"] / weight, 6), sizes(op)) for op in ops}
    until, region = job["until"], job["region"]["size"]
    if until["region_multiple"] and "bytes" in region:
        until |= {"bytes": round(until["region_multiple"] * region["bytes"]), "region_multiple": None}
    return {key: job[key] for key in ("pattern", "region", "load", "until", "direct")} | {"mix": mix}


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    mix=_MIXES,
    block=_BLOCKS,
    pattern=_PATTERNS,
    region=_REGIONS,
    load=_LOADS,
    until=_UNTILS,
    direct=st.booleans(),
)
def test_import_makes_the_same_job_of_an_export(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, direct: bool, **job: str
) -> None:
    monkeypatch.setenv("TARGET", "/dev/nvme0n1")
    if position := _fio_position(job):
        job["position"] = position
    try:
        steps = step(job=job | {"direct": str(direct).lower()})
        text, _ = exported(steps)
    except FathomError:
        assume(False)
        return
    file = tmp_path / "made.fio"
    file.write_text(text)
    again, refusal = "", ""
    try:
        again, _ = import_method(file)
    except UsageError as error:
        refusal = error.message
    if refusal:
        # Other tests than a method's: jobs that stay in parts of their own, a mix that goes backwards from two places.
        known = ("offset_increment: parts that end by bytes", "steps of -")
        assert any(reason in refusal for reason in known)
        return
    [measured] = [one for one in parse_method(again, "again").steps if one.kind == "measure"]
    made = normal(measured.job.json)
    if measured.job.streams:
        assert job["pattern"] == '"random-once"'
        return
    assert made == normal(method(steps).steps[0].job.json)


def _fio_position(job: Mapping[str, str]) -> str | None:
    """Where fio's jobs go on from: each from the start, reads and writes by themselves."""
    if job["pattern"] == '"sequential"':
        return '{ threads = "start", operations = "apart" }'
    return '"start"' if job["pattern"] in ('"backwards"', '{ random = "80%" }') else None


@needs_fio
@pytest.mark.parametrize(
    ("job", "expected"),
    [
        ({"until": "{ count = 2000 }", "load": "{ threads = 2, iodepth = 4 }"}, {"read": 2000}),
        (
            {"mix": '"write"', "block": '"64KiB"', "pattern": '"sequential"', "until": '{ written = "2x" }'}
            | {"load": "{ threads = 4, iodepth = 2 }"},
            {"write": 512},
        ),
        (
            {"mix": '"write"', "pattern": '"random-once"', "until": '{ written = "1x" }'}
            | {"load": "{ threads = 4, iodepth = 2 }", "region": '{ start = "25%", size = "50%" }'},
            {"write": 2048},
        ),
        ({"until": '{ count = 100, volume = "4x" }'}, {"read": 100}),
        (
            {"mix": '"write"', "until": '{ count = 600, volume = "2x" }', "region": '"1MiB"'},
            {"write": 512},
        ),
        (
            {"pattern": '{ stride = "64KiB" }', "region": '"1MiB"', "until": '{ volume = "1x" }'},
            {"read": 256},
        ),
    ],
    ids=["count", "passes", "part", "count first", "volume first", "laps over gaps"],
)
def test_fio_and_fathom_do_as_many_of_each(
    job: dict[str, str], expected: Mapping[str, int], tmp_path: Path
) -> None:
    steps = step(job=job | {"direct": "false"})
    target, file = f"file:{tmp_path / 'made.bin'}", tmp_path / "made.fio"
    path = tmp_path / "made.toml"
    path.write_text(HEAD + steps)
    run = fathom.run(str(path), targets=[target], size_bytes=16 << 20, out=tmp_path / "runs")
    points = run.points.to_pylist()
    assert {row["op"]: row["n"] for row in points} == expected

    (tmp_path / "made.bin").touch()
    with (tmp_path / "made.bin").open("r+b") as made:
        made.truncate(16 << 20)
    file.write_text(exported(steps, target, 16 << 20)[0])
    found = subprocess.run(
        ["fio", "--output-format=json", str(file)], capture_output=True, text=True, timeout=60, check=True
    )
    [counted] = json.loads(found.stdout[found.stdout.index("{") :])["jobs"]
    assert counted["error"] == 0
    assert {op: counted[op]["total_ios"] for op in expected} == expected
