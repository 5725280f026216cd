"""Drives split into namespaces, and held to a power state, as named on the command line."""

from pathlib import Path

import pytest

from fathom import _core
from fathom.catalog import load_device
from fathom.catalog.twin_params import twin_params_json
from fathom.errors import FathomError
from fathom.load.backend import TwinBackend
from fathom.load.resolve import resolve_targets
from fathom.method.method import parse_method
from fathom.report import write_html
from fathom.session import Options, start_run

PM9A3 = "samsung-pm9a3-7.68tb"


def target(settings: str):
    [found] = resolve_targets([f"twin:{PM9A3}?{settings}"])
    return found


def backend(settings: str) -> TwinBackend:
    return TwinBackend(twin_params_json(load_device(f"{PM9A3}?{settings}")), seed=1)


def test_a_target_is_the_drive_or_one_of_its_namespaces():
    whole = load_device(PM9A3).capacity_bytes
    assert target("namespaces=2").capacity_bytes == whole
    assert target("namespaces=2,namespace=2").capacity_bytes == whole // 2
    assert target("namespaces=50+30+20,namespace=2").capacity_bytes == pytest.approx(0.3 * whole, rel=1e-9)
    simulated = (
        backend("namespaces=50+30+20,namespace=2").capacity_bytes / backend("namespaces=1").capacity_bytes
    )
    assert simulated == pytest.approx(0.3, rel=1e-4)


def test_handles_are_dealt_out_among_namespaces_if_there_are_enough():
    buffer = "write_buffer_bytes=200000000"
    assert target(f"placement_handles=6,{buffer},namespaces=3").placement_handles == 2
    assert target(f"placement_handles=2,{buffer},namespaces=3").placement_handles == 2


def test_every_reclaim_group_has_each_handle():
    assert target("placement_handles=2,reclaim_groups=4").placement_handles == 8


def test_the_drive_counts_each_namespace_by_itself():
    job = """{"until": {"time": "20ms"}, "streams": [
        {"name": "one", "mix": "read", "block": "4KiB", "pattern": "uniform", "region": "50%", "load": {"iodepth": 4}},
        {"name": "two", "mix": "read", "block": "4KiB", "pattern": "uniform", "region": {"start": "50%"},
         "load": {"iodepth": 8}}]}"""
    handle = backend("namespaces=2").start(_core.Job(job, "job.json"), seed=1)
    intervals = []
    while not handle.done():
        intervals += handle.poll()
    streams = handle.result()[0].streams
    counted = {(group, member): n for interval in intervals for group, member, n, *_ in interval.shares}
    for member, name, depth in ((1, "one", 4), (2, "two", 8)):
        seen = sum(op.n for op in streams[name])
        assert abs(counted["namespace", member] - seen) <= depth, "but for what was under way at the end"


TWO_TENANTS = """
schema = "fathom-method/1"
name = "two-tenants"
[[steps]]
name = "tenants"
[steps.job]
until = { time = "1s" }
[[steps.job.streams]]
name = "one"
mix = "read"
block = "4KiB"
pattern = "uniform"
region = "50%"
load = { iodepth = 1 }
[[steps.job.streams]]
name = "two"
mix = "read"
block = "4KiB"
pattern = "uniform"
region = { start = "50%" }
load = { iodepth = 16 }
"""


def test_a_report_judges_no_shares_of_namespaces_that_streams_load_each_in_its_own_way(tmp_path: Path):
    run = start_run(
        parse_method(TWO_TENANTS, "tenants.toml"),
        resolve_targets([f"twin:{PM9A3}?slice_denominator=64,namespaces=2"]),
        Options(out=tmp_path),
    )
    page = write_html([run.path], tmp_path / "report.html").read_text()
    section = page[page.index("How the load was spread") :]
    assert "namespaces (2)" in section
    assert "uneven over namespaces" not in section
    assert "namespaces that lag" not in section


def test_what_cannot_be_is_refused_in_one_line():
    for settings, message in (
        ("namespaces=50+x", "namespaces: 50[+]x: expected how many equal ones, or percentages"),
        ("namespaces=2,namespace=3", "namespace: 3: there are 2, numbered from 1"),
        ("power_state=1", "power_state: 1: there are 0 power_states"),
        ("power_states=25+2,power_state=1", "leave nothing above idle_w"),
        (
            "idle_state_after_us=10+x",
            "idle_state_after_us: 10[+]x: expected a number, or one for each idle state",
        ),
        (
            "idle_state_after_us=1+2,idle_state_w=1+2",
            "idle_state_w: 1[+]2: a deeper state takes no more power",
        ),
        ("slc_read_us=20", "slc_read_us: 20 has no effect without slc_bytes"),
    ):
        with pytest.raises(FathomError, match=message):
            backend(settings)


def test_a_power_state_caps_the_power():
    job = """{"mix": "read", "block": "128KiB", "pattern": "uniform", "load": {"threads": 4, "iodepth": 16},
              "until": {"time": "1s"}}"""
    fill = job.replace('"read"', '"write"').replace("uniform", "sequential").replace("1s", "3s")
    drive = backend("power_states=25+9,power_state=1")
    for text in (fill, job):
        handle = drive.start(_core.Job(text, "job.json"), seed=1)
        while not handle.done():
            handle.poll()
    recording = handle.result()[0]
    assert recording.counters["joules"] / recording.window_s == pytest.approx(9, rel=0.02)
