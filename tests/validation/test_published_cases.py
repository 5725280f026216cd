"""Which published rows become which trials, and what is said of the others."""

import json
from typing import Any

import pytest
from tiny_drive import NAME, RANDOM_READ, READ_ROW, Catalogue, bench_toml, depths_toml

from fathom._core import Job
from fathom.catalog import device_names, load_device, load_published
from fathom.validation import cases
from fathom.validation.cases import Case, cases_of, published_jobs

TWINS = [
    name
    for name in device_names()
    if (device := load_device(name)).twin and load_published(device.published or name).rows
]
REVIEWED = [
    name
    for name in TWINS
    if not load_device(name).variant_of
    and any(
        row.workload.startswith("vdbench-")
        for row in load_published(load_device(name).published or name).rows
    )
]


BESIDE_A_SYSTEM = {twin.baseline for name in TWINS if (twin := load_device(name).twin) and twin.baseline}
"""Drives that are measured with the loads of `added-latency`, whose steps have names of their own."""


def tiny_cases() -> dict[str, Case]:
    return {case.name: case for case in cases_of(load_device(NAME))}


def job(case: Case) -> Any:
    assert case.trial is not None, case.remark
    return json.loads(case.trial.job.json)


def endless(job: Job) -> Any:
    return {key: value for key, value in json.loads(job.json).items() if key != "until"}


def test_methods_are_read_once_however_many_devices_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    first = published_jobs()
    monkeypatch.delattr(cases, "parse_method")
    assert published_jobs() == first


@pytest.mark.parametrize("name", [name for name in TWINS if name not in BESIDE_A_SYSTEM])
def test_a_row_that_states_its_io_is_the_job_that_the_built_in_method_gives_it(name: str) -> None:
    jobs = published_jobs()
    stated = [
        case
        for case in cases_of(load_device(name))
        if case.trial and case.remark is None and case.row.workload in jobs
    ]
    for case in stated:
        assert case.trial is not None
        assert endless(case.trial.job) == endless(jobs[case.row.workload][0]), case.name


def test_each_drive_of_the_workstation_review_has_rows_that_state_their_io() -> None:
    jobs = published_jobs()
    assert len(REVIEWED) >= 4
    for name in REVIEWED:
        workloads = {
            case.row.workload for case in cases_of(load_device(name)) if case.trial and not case.remark
        }
        assert len(workloads & set(jobs)) >= 5, name


@pytest.mark.parametrize("name", TWINS)
def test_every_written_reason_is_about_a_published_row(name: str) -> None:
    device = load_device(name)
    assert device.twin is not None
    published = load_published(device.published).rows if device.published else ()
    assert set(device.twin.reasons) <= {row.workload for row in published}


def test_the_region_is_the_benchs_and_threads_times_iodepth_the_rows(catalogue: Catalogue) -> None:
    mixed = 'block_kib = 16, read_pct = 70, pattern = "seq"'
    catalogue.write("systems/acme-bench.toml", bench_toml(region_pct=25))
    catalogue.rows(
        READ_ROW,
        f'{{ workload = "mix", role = "validation", {mixed}, threads = 3, iodepth = 2, iops = 1 }}',
    )
    read, mix = (job(case) for case in tiny_cases().values())
    assert read["region"]["size"] == {"fraction": 0.25}
    assert (read["load"]["threads"], read["load"]["iodepth"]) == (1, 8)
    assert (mix["load"]["threads"], mix["load"]["iodepth"]) == (3, 2)
    assert {op["op"]: op["weight"] for op in mix["mix"]["ops"]} == {"read": 70.0, "write": 30.0}
    assert mix["mix"]["ops"][0]["sizes"][0]["size_bytes"] == 16384
    assert mix["pattern"]["kind"] == "sequential"


METHOD = """
schema = "fathom-method/1"
name = "desk"
[[steps]]
name = "boot"
published = "desktop-boot"
[steps.job]
mix = { read = 90, write = 10 }
block = "8KiB"
pattern = "uniform"
load = { threads = 5 }
until = { time = "7s" }
"""


def test_a_row_without_a_mix_takes_the_job_of_the_method_that_names_it_and_says_so(
    catalogue: Catalogue,
) -> None:
    catalogue.write("methods/desk.toml", METHOD)
    catalogue.rows('{ workload = "desktop-boot", role = "validation", pattern = "trace", iops = 1000 }')
    case = tiny_cases()["desktop-boot"]
    assert job(case)["load"]["threads"] == 5
    assert job(case)["until"]["time_ns"] == 10**9, "the end that the method gives is left out"
    assert case.remark == "assumed mix: desk"
    assert case.load == "~5T/1Q"


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ('pattern = "trace", iops = 1', "does not publish the mix, and no method defines it"),
        ('block_kib = 4, read_pct = 0, pattern = "rand", iops = 1', "does not state the I/Os in flight"),
        (
            'block_kib = 4, read_pct = 0, pattern = "rand", iodepth = 1, value = 1, unit = "W"',
            "no rule yet for W",
        ),
        ('block_kib = 4, read_pct = 0, pattern = "rand", iodepth = 1, hosts = 4, iops = 1', "from 4 hosts"),
        (
            'block_kib = 4, read_pct = 0, pattern = "rand", iodepth = 1, iops = 1, bench = "no-lab"',
            "no-lab is not in",
        ),
        ('iodepth = 1, latency_us = 3, latency_kind = "added"', "latency of kind added"),
        (
            f'{RANDOM_READ}, value = 2, unit = "ratio of IOPS to M510DC"',
            "no twin of M510DC with the same capacity",
        ),
        (f'{RANDOM_READ}, value = 4, unit = "iodepth of the maximum"', "does not list its depths"),
        (f'{RANDOM_READ}, latency_us = 9, latency_kind = "threshold"', "whether any I/O exceeded"),
    ],
)
def test_a_row_that_cannot_be_imitated_says_why(catalogue: Catalogue, row: str, why: str) -> None:
    catalogue.rows(f'{{ workload = "odd", role = "validation", {row} }}')
    [case] = tiny_cases().values()
    assert case.trial is None
    assert why in (case.remark or "")


def test_a_row_about_the_depth_of_the_maximum_shares_the_trial_of_the_rows_before_the_depths(
    catalogue: Catalogue,
) -> None:
    write = 'block_kib = 4, read_pct = 0, pattern = "rand"'
    catalogue.write("systems/acme-bench.toml", depths_toml())
    catalogue.rows(
        f'{{ workload = "depth", role = "validation", {write}, iodepth = 4, value = 4, bound = "at-most", '
        'unit = "iodepth of the maximum" }',
        f'{{ workload = "rate", role = "validation", {write}, iodepth = 8, iops = 1 }}',
    )
    depth, rate = tiny_cases().values()
    assert depth.trial == rate.trial
    assert depth.figures == {"depth": 4.0}
    assert (depth.load, rate.load) == ("1-16Q", "8Q")


def test_a_row_that_relates_two_drives_is_one_trial_on_both() -> None:
    evo, m510dc = (
        {case.name: case for case in cases_of(load_device(name))}["rand-write-qd32-relation"]
        for name in ("samsung-845dc-evo-480gb", "micron-m510dc-480gb")
    )
    assert evo.other == m510dc.device
    assert m510dc.other == evo.device
    assert evo.trial == m510dc.trial
    assert (evo.figures, m510dc.figures) == ({"iops_ratio": 0.5}, {"iops_ratio": 2.0})
    assert not evo.may_be_fitted


def test_rows_about_other_capacities_and_sets_and_mere_statements_are_left_out(catalogue: Catalogue) -> None:
    load = f"{RANDOM_READ}, iops = 1"
    catalogue.rows(
        READ_ROW,
        f'{{ workload = "other", role = "validation", capacity_gb = 7680, {load} }}',
        f'{{ workload = "set", role = "validation", units = 8, {load} }}',
        '{ workload = "rank", role = "context", value = 1, unit = "place" }',
        f'{{ workload = "repeated", role = "context", {load} }}',
    )
    assert list(tiny_cases()) == ["rand-read", "repeated"]


def test_only_certain_calibration_rows_about_the_device_may_be_fitted(catalogue: Catalogue) -> None:
    load = f"{RANDOM_READ}, iops = 1"
    catalogue.rows(
        READ_ROW,
        f'{{ workload = "v", role = "validation", {load} }}',
        f'{{ workload = "c", role = "context", {load} }}',
        f'{{ workload = "u", role = "calibration", uncertain = true, note = "a listing", {load} }}',
        f'{{ workload = "w", role = "calibration", calibrates = "workload", {load} }}',
    )
    cases = tiny_cases()
    assert [name for name, case in cases.items() if case.may_be_fitted] == ["rand-read"]
    assert [name for name, case in cases.items() if case.excluded] == ["c", "u", "w"]
