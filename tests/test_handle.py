"""The handle of a running job, asked by several threads at once."""

import json
import math
from concurrent.futures import ThreadPoolExecutor
from time import monotonic, sleep

import pytest

from fathom import _core
from fathom.catalog import load_device
from fathom.catalog.twin_params import twin_params_json

PROMPT_S = 0.5


@pytest.fixture
def handle():
    """A job of five seconds on nothing; its first interval comes after one."""
    job = {
        "mix": "read",
        "block": "4KiB",
        "pattern": "uniform",
        "load": {"rate": "100/s", "threads": 1, "iodepth": 1},
        "until": {"time": "5s"},
    }
    handle = _core.start_engine(_core.Job(json.dumps(job)), [_core.EngineTarget("null:", "null", 1 << 30)], 1)
    yield handle
    handle.stop()


@pytest.mark.parametrize("waits", [lambda handle: handle.poll(60.0), lambda handle: handle.result()])
def test_stop_takes_effect_at_once_while_another_thread_waits(handle, waits):
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(waits, handle)
        sleep(0.1)
        began = monotonic()
        handle.stop()
        assert monotonic() - began < PROMPT_S
        waiting.result()
        assert monotonic() - began < PROMPT_S


def test_what_a_handle_tells_does_not_wait_for_a_poll_of_another_thread(handle):
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(handle.poll, 60.0)
        sleep(0.1)
        began = monotonic()
        assert not handle.done()
        assert not handle.held()
        assert monotonic() - began < PROMPT_S
        waiting.result()


def test_a_time_to_wait_that_is_no_number_is_refused(handle):
    with pytest.raises(ValueError, match="timeout_s is NaN"):
        handle.poll(math.nan)


def test_the_mean_of_a_second_whose_latencies_sum_beyond_64_bits_arrives_as_another_host_sent_it(handle):
    handle.poll(60.0)
    handle.stop()
    sent = json.loads(handle.result()[0].to_bytes())
    response, sum_ns = sent["ops"]["read"]["response"], (1 << 70) + 1
    # Bin 3072 begins at 2^30 ns.
    bounds = {"min_ns": 1 << 30, "max_ns": (1 << 30) + 1}
    response |= bounds | {"bins": [[3072, 1 << 40]], "count": 1 << 40, "sum_ns": sum_ns}
    received = _core.Recording.from_bytes(json.dumps(sent).encode())
    [read] = received.ops
    assert read.response_mean_us == pytest.approx((1 << 30) / 1e3)
    assert json.loads(received.to_bytes())["ops"]["read"]["response"]["sum_ns"] == sum_ns


def test_what_was_measured_of_a_target_that_failed_comes_with_the_error(tmp_path):
    path = tmp_path / "other.bin"
    path.write_bytes(bytes(4 << 20))
    job = {
        "mix": "read",
        "block": "4KiB",
        "pattern": "uniform",
        "load": {"threads": 1, "iodepth": 1, "rate": "100/s"},
        "direct": False,
        "content": {"verify": 2},
        "until": {"time": "10s"},
    }
    target = _core.EngineTarget(str(path), "file", 4 << 20)
    handle = _core.start_engine(_core.Job(json.dumps(job)), [target], 1)
    while not handle.done():
        handle.poll(0.2)
    with pytest.raises(_core.BackendError, match="whole second failed") as raised:
        handle.result()
    [recording] = raised.value.recordings
    assert sum(op.errors for op in recording.ops) >= 50
    assert any("verify" in str(note) or "never written" in str(note) for note in recording.notes), (
        recording.notes
    )
    assert _core.BackendError("of another kind").recordings == ()


def test_a_check_of_a_twin_that_waits_for_a_job_lets_other_threads_go_on():
    parameters = twin_params_json(load_device("samsung-pm9a3-7.68tb"))
    device = _core.TwinDevice(parameters, 1)
    job = _core.Job(
        json.dumps(
            {
                "mix": "read",
                "block": "4KiB",
                "pattern": "uniform",
                "load": {"threads": 1, "iodepth": 1},
                "until": {"time": "4s"},
            }
        )
    )
    handle = _core.start_twins(job, [device], [1], 1_000_000_000)
    while not handle.held():
        handle.poll(0.1)
    with ThreadPoolExecutor(1) as pool:
        checked = pool.submit(device.check, job)
        sleep(0.2)
        # It is reached only where the check has not kept the interpreter's lock.
        handle.stop()
        checked.result(timeout=60)
