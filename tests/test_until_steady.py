"""Measured steps that end when they hold still: the rule is fio's, a run ends by it, and says so."""

import json
import random
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

import fathom
from fathom import _core
from fathom.method.until_steady import UntilSteady
from fathom.runs.reader import Run
from fathom.session.still import StillSeconds

HEAD = 'schema = "fathom-method/1"\nname = "made"\n'
JOB = """
[steps.job]
mix     = "read"
block   = "4KiB"
pattern = "uniform"
load    = { iodepth = 4 }
until   = { time = "60s" }
"""


def rule(**changes: object) -> UntilSteady:
    usual = {
        "metric": "iops",
        "by": "deviation",
        "limit_fraction": 0.1,
        "over_s": 3,
        "after_s": 0,
        "every_s": 1,
    }
    return UntilSteady(**cast("dict", usual | changes))


def test_no_value_of_a_window_is_further_from_the_mean_than_the_limit() -> None:
    assert rule().holds([5, 100, 109, 91])
    assert not rule().holds([100, 111, 89])
    assert not rule().holds([100, 100])
    assert not rule().holds([0, 0, 0])


def test_a_line_through_a_window_moves_less_than_the_limit_from_value_to_value() -> None:
    slope = rule(by="slope")
    assert slope.holds([91, 100, 109])
    assert not slope.holds([89, 100, 111])
    assert slope.holds([200, 1, 200])


def second(start_s: int, n: int) -> _core.Interval:
    op = SimpleNamespace(op="read", n=n, bytes=4096 * n, mean_us=1e6 / n)
    return cast("_core.Interval", SimpleNamespace(start_s=float(start_s), length_s=1.0, ops=[op]))


@pytest.mark.parametrize(
    ("changes", "ends_s"),
    [
        ({}, 6),
        ({"metric": "mbps"}, 6),
        ({"metric": "latency"}, 6),
        ({"after_s": 4}, 7),
        ({"every_s": 2, "over_s": 4}, 8),
    ],
)
def test_seconds_are_judged_once_the_begin_is_over(changes: dict[str, object], ends_s: int) -> None:
    still = StillSeconds(rule(**changes))
    rates = [1000, 600, 300, 100, 101, 99, 100, 100, 100, 100]
    ended = [number for number, rate in enumerate(rates, 1) if still.add(second(number - 1, rate))]
    assert ended[0] == ends_s
    assert f"ended steady after {ends_s} s: " in still.conclude()


def test_a_step_that_never_holds_still_says_so() -> None:
    still = StillSeconds(rule())
    assert not any([still.add(second(number, 100 + 50 * (number % 2))) for number in range(20)])
    assert still.conclude() == "not steady before its end: IOPS less than 10 % from the mean over 3 s"


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
@pytest.mark.parametrize("kind", ["iops", "bw", "iops_slope", "bw_slope"])
def test_the_window_at_which_fio_ends_holds_here_too(tmp_path: Path, kind: str) -> None:
    limit = 30.0 if "slope" in kind else 60.0
    done = subprocess.run(
        [
            *(
                "fio",
                "--output-format=json",
                "--name=x",
                "--ioengine=null",
                "--size=1g",
                "--rw=randread",
                "--bs=4k",
            ),
            *("--norandommap", "--rate_iops=2000", "--time_based", "--runtime=20", "--thread"),
            *(f"--steadystate={kind}:{limit}%", "--steadystate_duration=3", "--steadystate_ramp_time=1"),
        ],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    told = json.loads(done.stdout)["jobs"][0]["steadystate"]
    values = told["data"]["bw" if kind.startswith("bw") else "iops"]
    assert told["attained"] == 1
    assert len(values) == 3
    by = "slope" if "slope" in kind else "deviation"
    # fio's figure in percent is the limit at which the rule just fails.
    found = abs(float(told["criterion"].rstrip("%"))) / 100
    if found > 1e-4:
        assert not rule(by=by, limit_fraction=found * 0.98).holds(values)
    assert rule(by=by, limit_fraction=found * 1.02 + 1e-4).holds(values)


def test_the_rule_is_fio_s_formula_on_any_values() -> None:
    draw = random.Random(4)
    for _ in range(200):
        values = [draw.uniform(50, 150) for _ in range(draw.randint(2, 12))]
        n, mean = len(values), sum(values) / len(values)
        # steadystate.c: sums over i = 0 .. n-1 of i, i^2, y and i*y.
        sum_x, sum_x_sq = n * (n - 1) / 2, (n - 1) * n * (2 * n - 1) / 6
        sum_xy = sum(i * y for i, y in enumerate(values))
        slope = (sum_xy - sum_x * sum(values) / n) / (sum_x_sq - sum_x * sum_x / n)
        for by, found in (
            ("slope", abs(slope) / mean),
            ("deviation", max(abs(y - mean) for y in values) / mean),
        ):
            assert rule(by=by, limit_fraction=found * 1.000001, over_s=n).holds(values)
            assert not rule(by=by, limit_fraction=found * 0.999999, over_s=n).holds(values)


def run_of(tmp_path: Path, keys: str, target: str, time: str = "60s") -> Run:
    file = tmp_path / "made.toml"
    file.write_text(f'{HEAD}[[steps]]\nname = "reads"\n{keys}\n{JOB.replace("60s", time)}')
    return fathom.run(str(file), target, out=tmp_path)


@pytest.mark.parametrize("target", ["twin:samsung-pm9a3-7.68tb", "twin:samsung-pm9a3-7.68tb*2"])
def test_a_run_ends_when_it_holds_still_and_says_when(tmp_path: Path, target: str) -> None:
    steady = 'until_steady = { deviation = "20%", over = "4s", after = "2s" }\nprecision = "50%"'
    run = run_of(tmp_path, steady, target)
    assert round(run.points.to_pylist()[0]["window_s"], 2) == 6.0
    assert any("step reads: ended steady after 6 s: IOPS less than 20 %" in note.text for note in run.notes)


def test_a_step_whose_rule_never_holds_takes_its_time(tmp_path: Path) -> None:
    steady = 'until_steady = { deviation = "20%", over = "10s" }'
    run = run_of(tmp_path, steady, "twin:samsung-pm9a3-7.68tb", time="6s")
    assert round(run.points.to_pylist()[0]["window_s"], 2) == 6.0
    assert any("step reads: not steady before its end" in note.text for note in run.notes)
