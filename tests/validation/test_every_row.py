"""Every published row with a role is read: simulated, or passed over for a reason that is written down."""

from collections import Counter

import pytest

from fathom.catalog import device_names, entries, load_device, load_published
from fathom.validation.cases import Case
from fathom.validation.systems import SystemCase, every_case
from fathom.validation.trial import Measured, OpFigures

CASES = [case for name in device_names() if load_device(name).twin for case in every_case(load_device(name))]
SIMULATED = {
    "atto-xstreamcore-9400": {"calibration": 1, "validation": 23},
    "dapustor-r6060-122.88tb": {"validation": 12},
    "diaway-tartu-20tb-cmr-vs-smr": {"calibration": 2, "validation": 5},
    "kioxia-cd9p-r-7.68tb": {"validation": 3},
    "kioxia-cm7-r": {"calibration": 5, "validation": 15},
    "kioxia-cm9-r-15.36tb": {"validation": 6},
    "micron-7600-max-6.4tb": {"validation": 10},
    "micron-9550-max-12.8tb": {"validation": 10},
    "micron-m510dc": {"calibration": 1, "validation": 4},
    "phison-pascari-x200p-7.68tb": {"validation": 4},
    "samsung-845dc-evo": {"validation": 3},
    "samsung-pm1743": {"calibration": 5, "validation": 15},
    "samsung-pm9a3": {"calibration": 5, "validation": 16},
    "sandisk-cloudspeed-eco": {"validation": 2},
    "sandisk-dc-sn861": {"validation": 2},
    "seagate-exos-m-30tb": {"validation": 4},
    "seagate-exos-x24-24tb": {"validation": 4},
    "solidigm-d5-p5336-122.88tb": {"validation": 10},
    "solidigm-d5-p5336-61.44tb": {"validation": 12},
    "solidigm-d7-ps1030-12.8tb": {"validation": 6},
    "wd-ultrastar-dc-hc560": {"calibration": 2, "validation": 5},
    "wd-ultrastar-dc-hc650": {"calibration": 2, "validation": 5},
    "wd-ultrastar-dc-sn640": {"calibration": 2, "validation": 10},
    "wd-ultrastar-dc-sn861": {"calibration": 11, "validation": 12},
    "weka-cluster-high-capacity-6500-ion": {"calibration": 4, "validation": 14},
    "weka-cluster-mainstream-7450-pro": {"calibration": 4, "validation": 14},
    "weka-cluster-performance-9400-pro": {"calibration": 4, "validation": 13},
}
"""Rows that a trial imitates, by source and role."""
WITHOUT_A_TRIAL = {
    "latency-distribution-main-mass": "the source does not say whether any I/O exceeded its latency",
    "latency-distribution-spread": "the source does not say whether any I/O exceeded its latency",
    "spec-data-rate": "the source does not publish the mix",
    "mechanical-random-seek-rate": "the source does not publish the mix",
    "fio-seq-read": "the source does not publish the mix",
    "fio-seq-write": "the source does not publish the mix",
}


def sources() -> dict[str, list[Case]]:
    """The cases of each file of published rows, found by the rows themselves."""
    found: dict[str, list[Case]] = {}
    for entry in entries("published"):
        rows = load_published(entry.name).rows
        found[entry.name] = [case for case in CASES if case.row in rows and case.row.role != "context"]
    return found


@pytest.mark.parametrize("name", [entry.name for entry in entries("published")])
def test_every_row_with_a_role_is_read_and_simulated_or_passed_over_with_the_reason(name: str) -> None:
    rows = [row for row in load_published(name).rows if row.role != "context"]
    read = sources()[name]
    assert [row.workload for row in rows if row not in [case.row for case in read]] == []
    for case in read:
        if case.trial is None:
            assert WITHOUT_A_TRIAL[case.row.workload] in (case.remark or "")
    simulated = [row for row in rows if any(case.row == row and case.trial for case in read)]
    assert dict(Counter(row.role for row in simulated)) == SIMULATED.get(name, {})


def system_case(device: str, workload: str) -> SystemCase:
    [case] = [
        case for case in every_case(load_device(device)) if case.row.workload == workload and case.row.value
    ]
    assert isinstance(case, SystemCase)
    return case


def measured(iops: float, mean_us: float, added_us: float = 0.0) -> Measured:
    figures = OpFigures(iops, iops * 4096 / 1e6, mean_us)
    return Measured({None: figures, "read": figures}, 1.0, None, True, "", None, added_us=added_us)


@pytest.mark.parametrize(("statistic", "share"), [("mean", 2.5), ("max", 3.0)])
def test_the_controllers_share_is_over_the_loads_that_are_published(statistic: str, share: float) -> None:
    case = system_case("atto-xstreamcore-9400", f"rand-read-controller-share-{statistic}")
    [reading] = case.readings
    assert "3 jobs x 32" in case.load
    assert "2 jobs x 64" in case.load
    assert reading.read([measured(1e6, 100.0, 3.0), measured(1e6, 150.0, 3.0)]) == pytest.approx(share)


def test_a_clusters_rate_per_tb_is_the_most_over_depths_over_its_raw_capacity() -> None:
    [reading] = system_case("weka-6x-micron-9400-pro", "normalised-read-iops-per-tb-raw").readings
    assert len(reading.runs) == 4
    found = [measured(iops, 100.0) for iops in (1e6, 4.608e6, 3e6, 2e6)]
    assert reading.read(found) == pytest.approx(10_000, rel=1e-3)


def test_a_clusters_latency_is_held_against_the_nearest_of_the_others() -> None:
    name = "latency-comparison-4k-rand-write-at-high-depth"
    [reading] = system_case("weka-6x-micron-9400-pro", name).readings
    assert reading.runs[0][0].name == "weka-6x-micron-9400-pro"
    assert {trial.label for _, trial in reading.runs} == {"4 KiB random write, 32 jobs x 16 per client"}
    assert reading.read([measured(1, 400.0), measured(1, 1000.0), measured(1, 800.0)]) == pytest.approx(0.5)


@pytest.mark.parametrize(("millions", "depth"), [((0.9, 1.06, 1.09, 1.1), 4), ((0.9, 1.04, 1.09, 1.1), 8)])
def test_a_clusters_depth_of_the_maximum_is_the_least_whose_rate_is_printed_alike(
    millions: tuple[float, ...], depth: int
) -> None:
    [reading] = system_case("weka-6x-micron-7450-pro", "qd-scaling-4k-rand-write").readings
    assert reading.published == 4
    assert [trial.job.iodepth for _, trial in reading.runs] == [1, 4, 8, 16]
    assert reading.read([measured(1e6 * one, 100.0) for one in millions]) == depth
