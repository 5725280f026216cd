"""Zoned SSDs of the catalogue: their published figures, and any drive made zoned."""

import json
from pathlib import Path

import pytest

import fathom
from fathom import _core
from fathom.analysis.settled import Unsettled
from fathom.catalog import load_device
from fathom.catalog.twin_params import twin_params_json
from fathom.errors import FathomError
from fathom.load.backend import TwinBackend
from fathom.load.resolve import resolve_targets
from fathom.method.method import parse_method
from fathom.plan.expect import expect
from fathom.report.comparison import compare
from fathom.report.data import load
from fathom.report.findings import gate
from fathom.session import Options, start_run
from followed import LastShares

ZN540 = "wd-ultrastar-dc-zn540-1tb"


def run(name: str, job: str) -> _core.Recording:
    backend = TwinBackend(twin_params_json(load_device(name)), seed=1)
    handle = backend.start(_core.Job(job, "job.json"), seed=1)
    while not handle.done():
        handle.poll()
    return handle.result()[0]


ONE_PASS = """
schema = "fathom-method/1"
name = "pass"
slice = "1GiB"
[[steps]]
name = "pass"
[steps.job]
mix = "write"
block = "128KiB"
pattern = { zones = "in-order" }
load = { threads = 1, iodepth = 1 }
until = { written = "1x" }
"""


READS = """
[[steps]]
name = "reads"
job = { mix = "read", block = "4KiB", pattern = "uniform", load = { iodepth = 8 }, until = { time = "1s" } }
"""


def zones_job(threads: int, until: str = '{"time": "1s"}') -> str:
    load = f'{{"threads": {threads}, "iodepth": 1}}'
    return (
        f'{{"mix": "write", "block": "128KiB", "pattern": {{"zones": 1}}, "load": {load}, "until": {until}}}'
    )


@pytest.mark.parametrize("threads", [1, 14])
def test_the_zn540_writes_at_its_published_rate_into_one_zone_and_into_all_it_may_have_open(threads: int):
    recording = run(ZN540, zones_job(threads))
    written = sum(op.bytes for op in recording.ops)
    assert written / (recording.window_s) == pytest.approx(1_230e6, rel=0.05)
    assert not recording.errno


def test_the_zn540_refuses_more_zones_than_it_may_have_open():
    with pytest.raises(_core.BackendError, match="= 15, the device allows 14"):
        run(ZN540, zones_job(15))


def test_any_drive_becomes_a_zoned_one_and_says_what_it_then_cannot_have():
    settings = "zone_bytes=1073741824,zone_dies=16,max_active_zones=64"
    with pytest.raises(FathomError, match="block_bytes: 512: a zoned drive has blocks of 4096 bytes"):
        run(f"samsung-pm9a3-7.68tb?{settings}", zones_job(1))
    recording = run(f"samsung-pm9a3-7.68tb?block_bytes=4096,{settings}", zones_job(1))
    assert sum(op.bytes for op in recording.ops) > 0
    with pytest.raises(_core.BackendError, match="needs a host-managed zoned device"):
        run("samsung-pm9a3-7.68tb", zones_job(1))


@pytest.mark.parametrize(
    ("block", "threads", "takes_mib"), [("1MiB", 1, 1077), ("1MiB", 3, 1077), ("16MiB", 1, 1072)]
)
def test_one_pass_is_what_the_zones_take_and_not_the_gaps_behind(block: str, threads: int, takes_mib: int):
    job = json.loads(zones_job(threads, '{"written": "1x"}'))
    recording = run(ZN540, json.dumps({**job, "block": block, "pattern": {"zones": "in-order"}}))
    zones = 56
    assert sum(op.bytes for op in recording.ops) == zones * takes_mib * 2**20
    assert not recording.errno
    assert not any("reset" in note for note in recording.notes)


def test_a_block_that_no_zone_takes_is_refused_in_one_line():
    job = zones_job(1).replace("128KiB", "64MiB")
    with pytest.raises(_core.BackendError, match="a block of 67108864 bytes does not fit into a zone"):
        run(f"{ZN540}?zone_capacity_bytes=50331648", job)


TWICE = """
schema = "fathom-method/1"
name = "twice"
""" + "".join(
    f"""
[[steps]]
name = "{name}"
[steps.job]
mix = "write"
block = "128KiB"
pattern = "sequential"
region = "1077MiB"
load = {{ iodepth = 8 }}
until = {{ written = "1x" }}
"""
    for name in ("once", "again")
)


def test_a_step_that_fails_on_zones_names_the_zone_and_why_it_refused(tmp_path: Path):
    said = r"step again: .* I/O failed .* was refused: zone 0 is full .*NVMe status 1B9h"
    with pytest.raises(FathomError, match=said):
        fathom.run(TWICE, targets=[f"twin:{ZN540}"], out=tmp_path)


def test_zones_that_a_pass_has_filled_are_claimed_as_filled(tmp_path: Path):
    text = ONE_PASS.replace('name = "pass"\n[steps.job]', 'name = "pass"\nkind = "fill"\n[steps.job]') + READS
    for drives in ("", "*2"):
        run = fathom.run(text, targets=[f"twin:{ZN540}{drives}"], out=tmp_path)
        assert gate(compare([load(run.path)])) == {}
    unwritten = ONE_PASS.split("[[steps]]")[0] + READS
    [why] = gate(
        compare([load(fathom.run(unwritten, targets=[f"twin:{ZN540}"], out=tmp_path).path)])
    ).values()
    assert why is Unsettled.NOT_FILLED


def test_one_pass_is_planned_as_what_the_zones_take():
    target = resolve_targets([f"twin:{ZN540}"])[0]
    [step] = parse_method(ONE_PASS, "pass.toml").steps
    assert expect(step, target, None).written_bytes == 904 * 1077 * 2**20


def test_a_pass_over_zones_is_done_when_they_are_full(tmp_path: Path):
    observer = LastShares()
    target = resolve_targets([f"twin:{ZN540}"])[0]
    start_run(parse_method(ONE_PASS, "pass.toml"), [target], Options(out=tmp_path, observer=observer))
    assert observer.shares["pass"] == pytest.approx(1, abs=0.05)
