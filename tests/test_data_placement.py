"""The catalogue's cache on a twin: its write amplification is that of the load, wherever the log begins."""

import json
import tomllib

import pytest

from fathom import _core
from fathom.catalog import load_device, method_text
from fathom.catalog.twin_params import twin_params_json
from fathom.load.backend import make_twin, start_twins

TWIN = "wd-ultrastar-dc-sn861-7.68tb"
SETTLING_S = 24.0
"""Three turns of the log."""
MEASURED_S = 8.0
"""One turn."""
OF_ONE_SIZE, SHIFTED = "128KiB", "4.04%"
"""A log's start that shifts the end of its turn by nearly half a superblock of the twin's slice."""


def cache(start: str, block: object = None) -> _core.Job:
    """The cache with one handle, its log from `start`, in blocks of the method's own sizes or of another size."""
    steps = tomllib.loads(method_text("data-placement"))["steps"]
    [job] = [step["job"] for step in steps if step["name"] == "cache-shared"]
    log, *others = job["streams"]
    assert log["pattern"] == "sequential"
    log |= {"region": {"start": start}} | ({"block": block} if block else {})
    until = {"time": f"{SETTLING_S + MEASURED_S:g}s"}
    return _core.Job(json.dumps({"until": until, "streams": [log, *others]}))


def waf(job: _core.Job) -> float:
    """Media bytes / host bytes of the last turn, from a filled drive."""
    twin = make_twin(twin_params_json(load_device(TWIN)), seed=1)
    fill = {"mix": "write", "block": "128KiB", "pattern": "sequential", "until": {"written": "1x"}}
    runs(twin, _core.Job(json.dumps(fill | {"load": {"iodepth": 32}})))
    turn = [one for one in runs(twin, job) if one.start_s >= SETTLING_S]
    written = sum(op.bytes for one in turn for op in one.ops if op.op == "write")
    return sum(one.counters["media_write_bytes"] for one in turn) / written


def runs(twin: _core.TwinDevice, job: _core.Job) -> list[_core.Interval]:
    handle = start_twins(job, [twin], [1], None)
    seconds = []
    while not handle.done():
        seconds += handle.poll()
    handle.result()
    return seconds


@pytest.mark.long
def test_the_waf_of_a_cache_does_not_depend_on_where_its_log_begins() -> None:
    first, shifted = waf(cache("4%")), waf(cache(SHIFTED))
    assert abs(shifted / first - 1) < 0.03
    of_one_size = waf(cache(SHIFTED, OF_ONE_SIZE)) / waf(cache("4%", OF_ONE_SIZE))
    assert of_one_size > 1.05
