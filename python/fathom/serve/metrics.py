"""Runs that go on as metrics, for Prometheus: `/metrics`."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import get_args

from fastapi import FastAPI, Request, Response

from fathom.output.openmetrics import OPENMETRICS_TYPE, PROMETHEUS_TYPE, Family, Sample, exposition
from fathom.runs.live import LiveRun, LiveStep, LiveTarget, Phase, State, life_of, read_live
from fathom.serve.index import RunIndex


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


@dataclass(frozen=True)
class Gauge:
    """A figure of a running step; None where the step has none."""

    name: str
    meaning: str
    value_of: Callable[[LiveStep], float | None]


GAUGES = (
    Gauge("fathom_live_iops", "I/Os per second in the last second", lambda step: step.iops),
    Gauge(
        "fathom_live_bandwidth_bytes_per_second",
        "Bytes per second in the last second",
        lambda step: step.bytes_per_s,
    ),
    Gauge(
        "fathom_live_mean_latency_seconds",
        "Mean latency in the last second",
        lambda step: _scaled(step.mean_latency_us, 1e-6),
    ),
    Gauge("fathom_live_step", "Number of the running step, from 1", lambda step: step.number),
    Gauge("fathom_live_steps", "Steps of the method", lambda step: step.total),
    Gauge(
        "fathom_live_step_done_ratio",
        "Share of the running step that is done",
        lambda step: step.share if step.basis else None,
    ),
    Gauge(
        "fathom_live_step_left_seconds",
        "Real time until the running step ends, or the most that it can take",
        lambda step: step.left_s,
    ),
    Gauge(
        "fathom_live_steady",
        "Whether the target is steady (1) or not (0); absent where nothing judges it",
        lambda step: None if step.steady is None else float(step.steady),
    ),
)


def add_metrics(app: FastAPI, index: RunIndex) -> None:
    """Adds the page that Prometheus reads."""

    @app.get("/metrics")
    def _metrics(request: Request) -> Response:
        now = datetime.now(UTC)
        going = [index.home / row.name for row in index.rows() if row.state == "running"]
        found = [(run, live) for run in going if (live := read_live(run))]
        alive = [live for run, live in found if life_of(run, live, now) != "dead"]
        is_open = "application/openmetrics-text" in request.headers.get("accept", "")
        kind = OPENMETRICS_TYPE if is_open else PROMETHEUS_TYPE
        return Response(metrics_of(alive, now), headers={"Content-Type": kind})


def metrics_of(runs: Sequence[LiveRun], now: datetime) -> str:
    """Returns the metrics of runs that go on."""
    steps = [(run, target, target.step) for run in runs for target in run.targets if target.step]
    return exposition(
        [
            Family("fathom_live_runs", "Runs that go on", [Sample({}, len(runs))]),
            Family(
                "fathom_live_age_seconds",
                "Time since the run was heard of",
                [Sample({"run": run.run}, max(0.0, (now - run.updated).total_seconds())) for run in runs],
            ),
            Family("fathom_live_state", "What a target does: 1 for its state", list(_states(runs))),
            Family("fathom_live_phase", "Phase of the step: 1 for the present one", list(_phases(steps))),
            *(
                Family(
                    gauge.name,
                    gauge.meaning,
                    [
                        Sample(_of_step(run, target, step), value)
                        for run, target, step in steps
                        if (value := gauge.value_of(step)) is not None
                    ],
                )
                for gauge in GAUGES
            ),
        ]
    )


def _states(runs: Sequence[LiveRun]) -> Iterator[Sample]:
    for run in runs:
        for target in run.targets:
            for state in get_args(State):
                yield Sample(_of_target(run, target) | {"state": state}, int(target.state == state))


def _phases(steps: Sequence[tuple[LiveRun, LiveTarget, LiveStep]]) -> Iterator[Sample]:
    for run, target, step in steps:
        for phase in get_args(Phase):
            yield Sample(_of_target(run, target) | {"phase": phase}, int(step.phase == phase))


def _of_target(run: LiveRun, target: LiveTarget) -> dict[str, str]:
    return {"run": run.run, "method": run.method, "target": target.name}


def _of_step(run: LiveRun, target: LiveTarget, step: LiveStep) -> dict[str, str]:
    return {**_of_target(run, target), "step": step.name}
