"""Streams that depend on each other, on a twin and by the engine: in step by their weights, ended by one of them."""

from pathlib import Path
from typing import Any

import pytest

import fathom
from fathom.errors import UsageError
from fathom.method.method import parse_method

TARGETS = ("twin:samsung-pm9a3-7.68tb", "null:")
HEAD = 'schema = "fathom-method/1"\nname = "together"\n[[steps]]\nname = "both"\n[steps.job]\n'
READS = 'mix = "read", block = "4KiB", pattern = "uniform"'


def counts(tmp_path: Path, target: str, job: str) -> dict[str, int]:
    """I/Os of each stream."""
    method = tmp_path / "together.toml"
    method.write_text(HEAD + job)
    run = fathom.run(str(method), targets=[target], out=tmp_path / "runs")
    rows: list[dict[str, Any]] = run.table("streams").to_pylist()
    return {row["stream"]: row["n"] for row in rows}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("heavy", ["4", '{ weight = 4, pause = "100us" }'])
def test_streams_in_step_issue_in_proportion_to_their_weights(
    tmp_path: Path, target: str, heavy: str
) -> None:
    job = f"""streams = [
  {{ name = "light", {READS}, load = {{ iodepth = 2 }}, flow = 1, until = {{ count = 50 }}, exitall = true }},
  {{ name = "heavy", {READS}, load = {{ iodepth = 32 }}, flow = {heavy} }},
]
"""
    found = counts(tmp_path, target, job)
    assert found["light"] == 50
    # What is in flight at the end is not counted.
    assert found["heavy"] == pytest.approx(200, abs=40)


@pytest.mark.parametrize("target", TARGETS)
def test_a_stream_in_step_goes_on_alone_when_the_others_have_done_their_part(
    tmp_path: Path, target: str
) -> None:
    job = f"""streams = [
  {{ name = "short", {READS}, load = {{ iodepth = 4 }}, flow = 1, until = {{ count = 50 }} }},
  {{ name = "long", {READS}, load = {{ iodepth = 4 }}, flow = 1, until = {{ count = 500 }} }},
]
"""
    assert counts(tmp_path, target, job) == {"short": 50, "long": 500}


@pytest.mark.parametrize("target", TARGETS)
def test_a_stream_ends_all_others_when_it_has_done_its_part(tmp_path: Path, target: str) -> None:
    paced = 'load = { rate = "2k/s", arrival = "deterministic", iodepth = 8 }'
    job = f"""streams = [
  {{ name = "first", {READS}, {paced}, until = {{ count = 100 }}, exitall = true }},
  {{ name = "beside", {READS}, load = {{ iodepth = 2 }} }},
]
"""
    found = counts(tmp_path, target, job)
    assert found["first"] == 100
    assert found["beside"] > 20


@pytest.mark.parametrize(
    ("keys", "what"),
    [
        ("flow = 1", "flow is a part of the I/Os of several streams: give it to two or more"),
        ("exitall = true", "exitall ends all streams when this one has done its part"),
    ],
)
def test_what_depends_on_nothing_is_refused(tmp_path: Path, keys: str, what: str) -> None:
    job = f'until = {{ time = "10ms" }}\nstreams = [{{ name = "a", {READS}, load = {{ iodepth = 1 }}, {keys} }}]\n'
    with pytest.raises(UsageError, match=what):
        counts(tmp_path, "null:", job)


@pytest.mark.parametrize("target", TARGETS)
def test_a_step_with_exitall_ends_with_the_first_thread_that_has_done_its_part(
    tmp_path: Path, target: str
) -> None:
    method = tmp_path / "tail.toml"
    method.write_text(
        f'{HEAD}mix = {{ read = 70, write = 30 }}\nblock = "4KiB"\npattern = "uniform"\nexitall = true\n'
        'load = { threads = 4, iodepth = 4 }\nuntil = { count = 4000, time = "1min" }\n'
    )
    run = fathom.run(str(method), targets=[target], out=tmp_path / "runs")
    done = sum(run.points["n"].to_pylist())
    assert 1000 <= done <= 4000


def test_a_window_of_a_system_by_count_has_the_rate_of_one_by_time(tmp_path: Path) -> None:
    """Threads on drives of their own are done before those that share one."""
    head = 'schema = "fathom-method/1"\nname = "tail"\n'
    job = 'mix = "read"\nblock = "4KiB"\npattern = "uniform"\nload = {{ threads = 8, iodepth = 8 }}\nuntil = {{ {} }}\n'
    ends = {"time": 'time = "20ms"', "tail": "count = 40000", "first": "count = 40000"}
    steps = [
        f'[[steps]]\nname = "{name}"\n[steps.job]\n{"exitall = true" if name == "first" else ""}\n{job.format(end)}'
        for name, end in ends.items()
    ]
    method = tmp_path / "tail.toml"
    method.write_text(head + "".join(steps))
    run = fathom.run(str(method), targets=["twin:atto-xstreamcore-9400"], out=tmp_path / "runs")
    found = dict(zip(run.points["step"].to_pylist(), run.points["iops"].to_pylist(), strict=True))
    assert found["first"] == pytest.approx(found["time"], rel=0.02)
    assert found["tail"] < 0.99 * found["first"]


def test_exitall_needs_a_volume() -> None:
    with pytest.raises(
        UsageError, match="exitall ends the step when a thread has done its part: set until to"
    ):
        parse_method(
            f'{HEAD}mix = "read"\nblock = "4KiB"\npattern = "uniform"\nexitall = true\nload = {{ iodepth = 1 }}\n'
            'until = { time = "1s" }\n',
            "tail.toml",
        )
