"""The pattern `one-pass` on a twin: what it leaves behind is what random writing for long leaves."""

import pytest

from fathom import _core
from fathom.catalog import load_device
from fathom.catalog.twin_params import twin_params_json
from fathom.fitting.on_twin import fresh_twin, run_plain

PARAMETERS = twin_params_json(load_device("samsung-pm9a3-7.68tb"))
#: Its over-provisioning.
SPARE = 0.127


def writes(pattern: str, volume: float) -> _core.Job:
    return _core.Job(
        f'{{"mix": "write", "block": "4KiB", "pattern": {pattern}, "load": {{"iodepth": 64}}, '
        f'"until": {{"written": "{volume:g}x"}}}}'
    )


def random_iops_after(*jobs: _core.Job) -> float:
    device = fresh_twin(PARAMETERS, 1)
    for job in jobs:
        run_plain(job, device, 2)
    after = run_plain(writes('"uniform"', 0.1), device, 3)
    return sum(op.bytes for op in after.ops) / 4096 / after.window_s


def test_one_pass_leaves_an_ssd_as_three_passes_of_random_writes_do():
    fill = writes('"sequential"', 1)
    steady = random_iops_after(fill, writes('"uniform"', 3))
    passed = random_iops_after(writes(f'{{"one-pass": {{"spare": "{SPARE * 100}%"}}}}', 1 + SPARE))
    assert passed == pytest.approx(steady, rel=0.03)
    assert random_iops_after(fill) > 1.15 * steady
