"""The trace that a recommendation replays: read, with the I/Os of a coarse clock spread over its step."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fathom.errors import UsageError
from fathom.recommend.objective import Objective
from fathom.recommend.portion import Portion, portion
from fathom.traces.batch import Trace
from fathom.traces.clock import Clock, TimesFault, refuse_length
from fathom.traces.convert import complaints
from fathom.traces.prepare import Prepared, prepare
from fathom.traces.spread import spread


@dataclass(frozen=True)
class Reading:
    """A prepared trace, the part of it that is replayed, and a sentence per fault of the trace."""

    prepared: Prepared
    portion: Portion
    complaints: Sequence[str]


def read(
    opened: Callable[[], Trace],
    device: str | None,
    objectives: Sequence[Objective],
    most: int,
    *,
    once: bool = False,
) -> Reading:
    """Reads a trace for a recommendation; `most` is the number of I/Os that are replayed.

    A coarse clock makes bursts of its own. So its I/Os are spread, which takes two more readings, and objectives of
    latency are refused. Raises UsageError there, for times that jump or have another unit, for none, and where a trace
    that can be read `once` must be spread.
    """
    trace = opened()
    prepared = prepare(trace, device)
    clock = trace.findings.clock
    _check(trace.name, clock, objectives)
    step_ns = clock.step_ns if clock.coarse else 0
    if step_ns and once:
        raise UsageError(
            f"{trace.name}: {'. '.join(clock.doubts())}; such a trace is read several times",
            "save it with `fathom trace convert - OUT.parquet`",
        )
    if step_ns:
        prepared = prepare(spread(opened, step_ns)(), device)
    said = complaints(trace.name, trace.findings, clock.ios)
    return Reading(prepared, portion(prepared, most, step_ns), said)


def _check(name: str, clock: Clock, objectives: Sequence[Objective]) -> None:
    refuse_length(name, clock)
    doubt = clock.doubt
    if doubt and doubt.fault is TimesFault.UNIT:
        raise UsageError(
            f"{name}: {doubt.text}", "name the unit of its times, as in --columns time_ms,op,offset,size"
        )
    if doubt and doubt.fault is TimesFault.COARSE and objectives:
        raise UsageError(
            f"--slo {objectives[0].text!r}: {name} shows no latency: {doubt.text}",
            "leave out --slo, which ranks the drives by the rate that they keep up with, or record a finer trace",
        )
