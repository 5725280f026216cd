"""What steps cover of a target, against the places that their jobs really write to."""

from math import exp

import numpy as np
import pytest

from fathom import _core
from fathom._core import Job
from fathom.analysis.coverage import WHOLE, Coverage
from fathom.catalog import method_names
from fathom.method.method import load_method

SIZE = 64 << 20
UNIT = 4096
KEYS = 'block = "4KiB"\nload = { threads = %d, iodepth = 1 }\nuntil = { time = "1s" }\n%s'


def job(pattern: str, more: str = "", threads: int = 1, mix: str = '"write"') -> Job:
    return Job(f"mix = {mix}\npattern = {pattern}\n" + KEYS % (threads, more), "job.toml")


def touched(jobs: list[tuple[Job, float]]) -> tuple[float, list[int]]:
    """The share of a target that steps write to, and the bytes that each writes."""
    written = np.zeros(SIZE // UNIT, dtype=bool)
    volumes = []
    for seed, (one, volume_x) in enumerate(jobs):
        share = one.weights["write"] / sum(one.weights.values())
        most = round(volume_x * one.region_on(SIZE)[1] / UNIT / share)
        places = [
            (offset, size)
            for _, op, offset, size in _core.requests(one, SIZE, UNIT, seed, most)
            if op == "write"
        ]
        for offset, size in places:
            written[offset // UNIT : (offset + size) // UNIT] = True
        volumes.append(sum(size for _, size in places))
    return float(written.mean()), volumes


def counted(jobs: list[tuple[Job, float]], volumes: list[int]) -> float:
    coverage = Coverage(1.0, SIZE)
    for (one, _), volume in zip(jobs, volumes, strict=True):
        coverage.write(one, volume)
    return coverage.of(job('"uniform"', mix='"read"'))[0]


EXACT = [
    '"sequential"',
    '"backwards"',
    '"uniform"',
    '"random-once"',
    "{ sequential = 4 }",
    "{ zipf = 0.6 }",
    "{ zipf = 0.99 }",
    "{ zipf = 1.0 }",
    "{ zipf = 1.3 }",
    "{ pareto = 0.2 }",
    "{ hot-spots = [{ area = 20, access = 80 }] }",
    '{ random = "80%" }',
]


@pytest.mark.parametrize("volume_x", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("pattern", EXACT)
def test_a_step_covers_the_share_that_its_requests_touch(pattern: str, volume_x: float) -> None:
    steps = [(job(pattern), volume_x)]
    share, volumes = touched(steps)
    assert counted(steps, volumes) == pytest.approx(share, abs=0.01)


@pytest.mark.parametrize(
    "one",
    [
        job('{ stride = "1MiB" }'),
        job('{ strips = { size = "4MiB", gap = "12MiB" } }'),
        job("{ blocks = { order = [2, 0, 1] } }"),
        job('{ one-pass = { spare = "15%" } }'),
        job('"sequential"', threads=4),
        job('"sequential"', 'position = "start"', threads=4),
        job('"sequential"', 'align = "16KiB"'),
        job('"uniform"', 'align = "16KiB"'),
        job('"uniform"', 'region = "25%"'),
        job('"sequential"', mix="{ read = 50, write = 50 }"),
    ],
)
@pytest.mark.parametrize("volume_x", [0.3, 1.0, 1.2, 3.0])
def test_no_step_counts_for_more_than_its_requests_touch(one: Job, volume_x: float) -> None:
    steps = [(one, volume_x)]
    share, volumes = touched(steps)
    assert counted(steps, volumes) <= share + 0.01


@pytest.mark.parametrize("pattern", ['"sequential"', '"random-once"', '{ one-pass = { spare = "15%" } }'])
def test_a_whole_pass_covers_all(pattern: str) -> None:
    volume_x = 1.15 if "spare" in pattern else 1.0
    steps = [(job(pattern), volume_x)]
    share, volumes = touched(steps)
    assert counted(steps, volumes) >= WHOLE
    assert share >= WHOLE


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ('"sequential"', '"sequential"'),
        ('"sequential"', '"uniform"'),
        ('"uniform"', '"sequential"'),
        ("{ zipf = 0.99 }", "{ zipf = 0.99 }"),
        ('"random-once"', '"uniform"'),
        ("{ hot-spots = [{ area = 20, access = 80 }] }", '"uniform"'),
    ],
)
def test_steps_one_after_another_cover_what_their_requests_touch_together(first: str, second: str) -> None:
    steps = [(job(first), 0.6), (job(second), 0.6)]
    share, volumes = touched(steps)
    assert counted(steps, volumes) == pytest.approx(share, abs=0.015)


def test_a_region_is_judged_by_what_was_written_to_it() -> None:
    coverage = Coverage(1.0, SIZE)
    coverage.write(job('"sequential"', 'region = "50%"'), SIZE)
    assert coverage.of(job('"uniform"', 'region = "50%"'))[0] == pytest.approx(1.0)
    assert coverage.of(job('"uniform"', 'region = { start = "25%", size = "50%" }'))[0] == pytest.approx(0.5)
    assert coverage.of(job('"uniform"'))[0] == pytest.approx(0.5)


def test_copies_of_a_drive_are_covered_when_each_is_written() -> None:
    fill = job('"sequential"')
    coverage = Coverage(2.0, SIZE)
    coverage.write(fill, SIZE)
    assert coverage.of(fill)[0] == pytest.approx(0.5)
    coverage.write(fill, 2 * SIZE)
    assert coverage.of(fill)[0] == pytest.approx(1.0)


def test_what_is_deallocated_no_longer_counts() -> None:
    fill, trim = job('"sequential"'), job('"uniform"', mix='"trim"')
    coverage = Coverage(1.0, SIZE)
    coverage.write(fill, SIZE)
    coverage.write(trim, 0.0, freed_bytes=SIZE)
    assert coverage.of(fill)[0] == pytest.approx(exp(-1))
    coverage.write(fill, SIZE)
    assert coverage.of(fill)[0] == pytest.approx(1.0)


STREAM = (
    '{ name = "%s", mix = "write", block = "4KiB", pattern = "%s", region = "%s", load = { iodepth = 1 } }'
)


@pytest.mark.parametrize(
    ("streams", "covered"),
    [
        ([("a", "uniform", "100%"), ("b", "uniform", "100%")], 1 - exp(-5)),
        ([("a", "uniform", "100%"), ("b", "sequential", "100%")], 0.0),
        ([("a", "uniform", "50%"), ("b", "uniform", "100%")], 0.0),
    ],
    ids=["alike", "one in order", "one on a half"],
)
def test_streams_count_where_it_is_known_what_each_wrote(
    streams: list[tuple[str, str, str]], covered: float
) -> None:
    own = ", ".join(STREAM % one for one in streams)
    beside = Job(f'until = {{ time = "1s" }}\nstreams = [{own}]', "job.toml")
    coverage = Coverage(1.0, SIZE)
    coverage.write(beside, 5 * SIZE)
    assert coverage.of(job('"uniform"'))[0] == pytest.approx(covered)


def test_streams_are_judged_by_the_region_that_was_covered_least() -> None:
    own = ", ".join(STREAM % one for one in [("a", "uniform", "50%"), ("b", "uniform", "100%")])
    beside = Job(f'until = {{ time = "1s" }}\nstreams = [{own}]', "job.toml")
    coverage = Coverage(1.0, SIZE)
    coverage.write(job('"sequential"', 'region = "50%"'), SIZE / 2)
    assert coverage.of(beside)[0] == pytest.approx(0.5)


UNTIL_TIME = {"enterprise-steady-state", "snia-xsr"}
"""Methods that write in order for a time: a small or fast drive is filled, another one is not."""
BEGIN_SETTLED = {"what-if", "what-if-system"}


@pytest.mark.parametrize("name", [name for name in method_names() if "rwsw" not in name])
def test_shipped_methods_write_every_block_that_they_measure(name: str) -> None:
    coverage, least = Coverage(1.0, 10**12), 1.0
    for step in load_method(name).steps:
        if step.kind == "purge":
            coverage.purge()
        elif step.kind not in ("idle", "fill", "precondition"):
            least = min(least, coverage.of(step.job)[0])
        elif step.job.destructive and step.job.region_multiple:
            coverage.write(step.job, step.job.region_multiple * step.job.region_on(10**12)[1])
    expected = 1 - exp(-4) if name == "snia-wsat" else 0.0 if name in UNTIL_TIME | BEGIN_SETTLED else 1.0
    assert least == pytest.approx(expected, abs=1e-5)
