"""What a fleet's coordinator pays for each second of load: taking in, adding up and keeping the intervals of 100 hosts.

The hosts are agents that answer with one recorded interval; what is left out is the way of the calls.
"""

import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import TypeVar, cast

from fathom import _core
from fathom.fleet.agent import HostAgent, JobProgress
from fathom.fleet.clocks import Offset
from fathom.fleet.load import FleetLoad, Host
from fathom.method.method import parse_method
from fathom.runs.rows import StepRows

T = TypeVar("T")

HOSTS = 100
SECONDS = 20
MOST_SHARE = 0.20
GATE_FAILED = 4
METHOD = """
schema = "fathom-method/1"
name = "bench"
title = "Bench"
summary = "One interval of a mixed load."
source = "this bench"
[[steps]]
name = "mixed"
kind = "measure"
workload = "4k-70-30"
label = "4 KiB random, 70 % read"
[steps.job]
mix = { read = 70, write = 30 }
block = "4KiB"
pattern = "uniform"
load = { threads = 1, iodepth = 8 }
until = { time = "1500ms" }
"""


class Answering:
    """A host whose every answer has the next second."""

    def __init__(self, second: bytes) -> None:
        self._second = second

    def submit(self, method: Callable[..., T], *arguments: object) -> "Future[T]":
        answer: Future[T] = Future()
        answer.set_result(cast("T", JobProgress([self._second])))
        return answer


def one_second() -> bytes:
    """An interval with both operations, recorded on `null:`."""
    job = parse_method(METHOD, "bench.toml").steps[0].job
    handle = _core.start_engine(job, [_core.EngineTarget("", "null", 1 << 30)], 1)
    while not handle.done():
        if intervals := handle.poll(0.1):
            return intervals[0].to_bytes()
    raise RuntimeError("no interval")


def main() -> int:
    """Prints the cost and whether it is within the bar."""
    second = one_second()
    hosts = [Host(f"h{k}", Answering(second), Offset(0, 0)) for k in range(HOSTS)]
    starts = {host.name: host.remote.submit(HostAgent.start) for host in hosts}
    load = FleetLoad(hosts, starts, lambda skew, lost: None)
    step = parse_method(METHOD, "bench.toml").steps[0]
    parts = [StepRows(f"h{k}", replace(step), each_second=False) for k in range(HOSTS)]
    rows = StepRows("all", step, parts)
    costs = []
    for _ in range(SECONDS):
        before = time.process_time()
        taken = 0
        while taken <= HOSTS:
            for interval in load.poll(0):
                rows.add(interval)
                taken += 1
        costs.append(time.process_time() - before)
    cost_s = statistics.median(costs)
    print(f"# Fleet: the coordinator's CPU for a second of {HOSTS} hosts, median of {SECONDS}")
    print(f"one interval on the wire  {len(second) / 1e3:.1f} kB")
    print(f"CPU per second of load    {cost_s * 1e3:.0f} ms   bar {MOST_SHARE * 1e3:.0f} ms   ", end="")
    print("pass" if cost_s <= MOST_SHARE else "FAIL")
    return 0 if cost_s <= MOST_SHARE else GATE_FAILED


if __name__ == "__main__":
    sys.exit(main())
