"""Curves: shares of a measured maximum, what counts as sustained, the search for an SLO, and resuming in the middle."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from math import sqrt
from pathlib import Path
from statistics import pvariance

import pytest

import fathom
from fathom.analysis.run_view import RunView
from fathom.analysis.validity import notes
from fathom.errors import FathomError, UsageError
from fathom.method.curve import (
    GAP_CV2,
    Arrival,
    Curve,
    Figures,
    Objective,
    Place,
    Slo,
    Worst,
    capacity,
    failing_rate,
    figures,
    next_rate,
    open_job,
    rate_of,
)
from fathom.method.method import load_method, parse_method
from fathom.runs.reader import Run
from fathom.session import Options, resume_run

CURVE = Path(__file__).parent / "data" / "curve.toml"
SN861 = "twin:wd-ultrastar-dc-sn861-7.68tb"
SHARES = (0.3, 0.6, 0.9, 1.2)
POINTS = [f"mixed@{share:.0f}" for share in (30, 60, 90, 120)]
SERVICE_US = 10.0


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return fathom.run(str(CURVE), targets=[SN861], seed=5, out=tmp_path_factory.mktemp("runs"))


def steps(run: Run) -> dict[str, Figures]:
    rows: dict[str, list[dict[str, object]]] = {}
    for row in run.points.to_pylist():
        rows.setdefault(row["step"], []).append(row)
    return {step: figures(members, "exponential") for step, members in rows.items()}


def server(rate_iops: float) -> Figures:
    """An M/M/1 queue of 100,000 I/O per s: the response time is exponential, p99 = ln(100) / (mu - lambda)."""
    capacity_iops = 1e6 / SERVICE_US
    spare = max(capacity_iops - rate_iops, 1e-9)
    p99_us = 4.605170 / spare * 1e6
    achieved = min(rate_iops, capacity_iops)
    worst = {"response_p99_us": Worst(p99_us, p99_us)}
    return Figures(
        f"m@{rate_iops}", rate_iops, achieved, 0.0, rate_iops - achieved, 64, None, 1e6 / spare, worst
    )


WITHIN_200_US = Objective("response_p99_us", 200)


def test_the_steps_of_a_curve_are_known_before_the_run() -> None:
    method = load_method(str(CURVE))
    assert [step.name for step in method.steps] == ["fill", "mixed", *POINTS, "mixed@slo-1", "mixed@slo-2"]
    assert [step.kind for step in method.steps[1:3]] == ["measure", "point"]
    assert {step.published for step in method.steps[2:]} == {None}


def test_every_point_is_offered_its_share_of_the_measured_maximum(run: Run) -> None:
    found = steps(run)
    for name, share in zip(POINTS, SHARES, strict=True):
        assert found[name].offered_iops == pytest.approx(share * found["mixed"].iops, rel=0.02)


def test_below_the_maximum_a_twin_gives_what_is_offered_and_above_it_no_more_than_the_maximum(
    run: Run,
) -> None:
    found = steps(run)
    achieved = [found[name].iops for name in POINTS]
    assert achieved == sorted(achieved)
    assert [found[name].sustained for name in POINTS] == [True, True, True, False]
    assert achieved[-1] == pytest.approx(found["mixed"].iops, rel=0.02)


def test_response_is_never_shorter_than_service_and_grows_with_the_rate(run: Run) -> None:
    found = [steps(run)[name] for name in POINTS]
    response = [point.mean("response") or 0.0 for point in found]
    assert response == sorted(response)
    assert all((one.mean("response") or 0) >= (one.mean("service") or 0) for one in found)


def test_no_more_is_in_flight_at_a_point_than_at_the_maximum(run: Run) -> None:
    assert all(row["outstanding"] <= 4.001 for row in run.points.to_pylist())


def test_the_search_of_a_run_ends_between_the_rates_it_started_from(run: Run) -> None:
    curve = load_method(str(CURVE)).steps[1].curve
    assert curve is not None
    within_500_us = Objective("response_p99_us", 500)
    assert curve.objective == within_500_us
    found = steps(run)
    best = capacity(list(found.values()), within_500_us)
    assert best is not None
    assert best.meets(within_500_us)
    assert found["mixed@60"].iops <= best.iops < found["mixed@90"].iops


def test_a_search_may_limit_any_percentile_of_either_latency() -> None:
    text = CURVE.read_text().replace('p99 = "500us"', 'p95 = "400us"')
    curve = parse_method(text.replace('latency = "response"', 'latency = "service"'), "m.toml").steps[1].curve
    assert curve is not None
    assert curve.objective == Objective("p95_us", 400)


def test_bisection_finds_the_known_capacity_of_a_queue() -> None:
    slo = Slo("p99", 200, steps=8)
    curve = Curve((0.5, 1.0, 1.2), 1, "exponential", "response", slo)
    maximum = replace(server(1), step="m", offered_iops=None, iops=100_000)
    measured = [maximum, *(server(share * 100_000) for share in curve.shares)]
    for _ in range(slo.steps):
        rate_iops = rate_of(Place("m", None), curve, measured)
        assert rate_iops is not None
        measured.append(server(rate_iops))
    best = capacity(measured[1:], WITHIN_200_US)
    known_iops = 100_000 - 4.605170 / 200e-6
    assert best is not None
    assert known_iops * (1 - 0.5 / 2**8) - 400 <= best.iops <= known_iops


def test_where_too_few_ios_tell_no_p99_the_search_goes_on_above_and_not_below() -> None:
    few, within, beyond = replace(server(50_000), percentiles={}), server(76_000), server(120_000)
    assert [one.meets(WITHIN_200_US) for one in (few, within, beyond)] == [None, True, False]
    assert next_rate([few, beyond], WITHIN_200_US) == pytest.approx(85_000)
    assert next_rate([few, within, beyond], WITHIN_200_US) == pytest.approx(98_000)
    assert next_rate([few], WITHIN_200_US) is None
    assert failing_rate([few, within, beyond], WITHIN_200_US) == pytest.approx(120_000)


def test_one_operation_beyond_the_objective_misses_it_though_the_others_have_too_few_ios() -> None:
    read, write = (
        {"step": "m@50", "offered_iops": 20_000.0, "iops": iops, "mbps": 1.0, "n": n, "window_s": 1.0}
        | {"threads": 1, "iodepth": 64, "backlog": 0, "mean_us": 100.0, "p99_us": p99_us}
        | {"response_mean_us": 100.0, "response_p99_us": p99_us}
        for iops, n, p99_us in ((14_000.0, 14_000, 300.0), (6_000.0, 6_000, None))
    )
    found = figures([read, write], "exponential")
    for column in ("response_p99_us", "p99_us"):
        assert found.percentiles[column] == Worst(None, 300)
        assert [found.meets(Objective(column, limit_us)) for limit_us in (299, 301)] == [False, None]


def test_what_is_not_sustained_misses_the_objective_whatever_its_p99() -> None:
    assert replace(server(120_000), percentiles={}).meets(WITHIN_200_US) is False


def test_a_search_ends_where_every_point_meets_the_objective() -> None:
    curve = Curve((0.5,), 1, "exponential", "response", Slo("p99", 1e9, 3))
    maximum = replace(server(1), step="m", offered_iops=None, iops=100_000)
    assert rate_of(Place("m", None), curve, [maximum, server(50_000)]) is None


def test_a_target_that_completes_nothing_has_no_curve() -> None:
    curve = Curve((0.5,), 1, "exponential", "response", None)
    with pytest.raises(FathomError, match="no rate"):
        rate_of(Place("m", 0.5), curve, [])


@pytest.mark.parametrize(
    ("iops", "backlog", "arrival", "sustained"),
    [
        (99_500.0, 0, "exponential", True),
        (98_900.0, 0, "exponential", False),
        (98_900.0, 0, "deterministic", False),
        (99_500.0, 60, "deterministic", True),  # fits in flight
        (99_500.0, 900, "deterministic", True),  # grows by 90 I/O per s, less than 0.1 %
        (99_500.0, 1100, "uniform", True),  # within two standard deviations of 10^6 arrivals: 1155
        (99_500.0, 1200, "uniform", False),
        (99_500.0, 1900, "exponential", True),  # within two standard deviations of 10^6 arrivals: 2000
        (99_500.0, 2100, "exponential", False),
        (99_500.0, 1100, "deterministic", False),  # their number does not vary
    ],
)
def test_a_point_is_unsustained_when_it_falls_short_or_its_backlog_grows_beyond_the_chance_of_its_arrivals(
    iops: float, backlog: int, arrival: Arrival, sustained: bool
) -> None:
    row: dict[str, object] = {
        "step": "m@100",
        "offered_iops": 100_000.0,
        "iops": iops,
        "mbps": 1.0,
        "backlog": backlog,
        "window_s": 10.0,
        "threads": 64,
        "iodepth": 1,
        "n": 995_000,
        "mean_us": 1.0,
        "p99_us": 2.0,
        "response_mean_us": 1.0,
        "response_p99_us": 2.0,
    }
    assert figures([row], arrival).sustained is sustained


def test_the_number_of_arrivals_a_second_varies_as_the_allowance_for_chance_says(tmp_path: Path) -> None:
    seconds, rate_iops = 500, 400
    steps = "".join(
        f"""
        [[steps]]
        name = "{arrival}"
        kind = "measure"
        [steps.job]
        mix = "read"
        block = "4KiB"
        pattern = "uniform"
        load = {{ rate = "{rate_iops}/s", arrival = "{arrival}", threads = 2, iodepth = 8 }}
        until = {{ time = "{seconds}s" }}
        """
        for arrival in GAP_CV2
    )
    path = tmp_path / "arrivals.toml"
    path.write_text(f'schema = "fathom-method/1"\nname = "arrivals"\n{steps}')
    run = fathom.run(str(path), targets=[SN861], out=tmp_path)
    offered: dict[str, list[int]] = {}
    for row in run.table("intervals").to_pylist():
        offered.setdefault(row["step"], []).append(row["offered"])
    for arrival, cv2 in GAP_CV2.items():
        assert len(offered[arrival]) == seconds
        # The variance of n near-normal numbers has the standard deviation sqrt(2 / n) of itself. One arrival may fall
        # on either side of the end of a second.
        variance = pvariance(offered[arrival]) / rate_iops
        assert variance == pytest.approx(cv2, rel=4 * sqrt(2 / seconds), abs=1 / rate_iops)


def test_a_short_window_does_not_call_a_queue_that_comes_and_goes_a_backlog() -> None:
    row: dict[str, object] = {
        "step": "m@80",
        "iops": 312_842.0,
        "mbps": 1.0,
        "threads": 8,
        "iodepth": 8,
        "n": 625_684,
    }
    row |= {
        "offered_iops": 313_264.0,
        "window_s": 2.0,
        "backlog": 788,
        "mean_us": 1.0,
        "response_mean_us": 1.0,
    }
    assert figures([row], "exponential").sustained, "the next point, at 90 %, left 607"
    later = row | {"offered_iops": 391_629.0, "iops": 388_482.0, "backlog": 6230}
    assert not figures([later], "exponential").sustained


def test_resuming_in_the_middle_of_a_curve_offers_the_same_rates_and_adds_no_point_twice(
    run: Run, interrupted: Callable[[Path, Iterable[str]], Path]
) -> None:
    copy = interrupted(run.path, ("00-005-mixed@90", "00-006-mixed@120", "00-008-mixed@slo-2"))
    resumed = resume_run(copy, Options())
    assert resumed.points.equals(run.points)
    assert resumed.latency.equals(run.latency)


def test_a_search_with_nothing_left_is_passed_over_and_not_come_back_to(tmp_path: Path) -> None:
    text = CURVE.read_text().replace('"500us"', '"100s"').replace(', "90%", "120%"', "")
    method = tmp_path / "easy.toml"
    method.write_text(text)
    run = fathom.run(str(method), targets=["null:"], quick=True, out=tmp_path)
    done = {row["step"] for row in run.points.to_pylist()}
    assert {"mixed", "mixed@30", "mixed@60"} <= done
    assert all((run.path / "steps" / f"00-00{n}-mixed@slo-{n - 4}" / "step.json").exists() for n in (5, 6))


def test_a_real_file_runs_a_curve_from_no_more_threads_than_cores(
    disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0})
    run = fathom.run(
        str(CURVE), targets=[f"file:{disk / 'scratch.bin'}"], size_bytes=64 << 20, quick=True, out=disk
    )
    rows = run.points.to_pylist()
    assert {(row["threads"], row["iodepth"]) for row in rows} == {(1, 4)}
    assert set(POINTS) <= {row["step"] for row in rows}
    assert all(row["offered_iops"] for row in rows if row["step"] != "mixed")


def test_points_make_no_validity_notes_of_their_own(run: Run) -> None:
    assert not [note for note in notes(RunView.of(run)) if note.step and "@" in note.step]


def test_an_unknown_bench_is_refused_by_name() -> None:
    text = CURVE.read_text().replace("storagereview-r760-vdbench", "storagereview-r760-vdbnch")
    with pytest.raises(UsageError, match=r"mine\.toml: bench: .*storagereview-r760-vdbench"):
        parse_method(text, "mine.toml")


def test_the_bench_of_a_method_drives_its_twins(run: Run, tmp_path: Path) -> None:
    text = CURVE.read_text().replace("storagereview-r760-vdbench", "storagereview-r760-fio")
    method = tmp_path / "fio.toml"
    method.write_text(text)
    lighter = fathom.run(str(method), targets=[SN861], seed=5, out=tmp_path)
    assert steps(lighter)["mixed"].iops > steps(run)["mixed"].iops * 1.02


def test_a_point_keeps_everything_of_its_job_but_load_and_end() -> None:
    job = load_method(str(CURVE)).steps[1].job
    curve = Curve((1.0,), 2.5, "uniform", "service", None)
    point = open_job(job, curve, 123.5)
    assert (point.rate_iops, point.arrival, point.threads, point.iodepth) == (123.5, "uniform", 2, 2)
    assert (point.time_ns, point.bytes, point.region_multiple, point.count) == (
        2_500_000_000,
        None,
        None,
        None,
    )
    assert point.json.split('"load"')[0] == job.json.split('"load"')[0]
