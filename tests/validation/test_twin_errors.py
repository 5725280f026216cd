"""Errors, what counts, medians, flags and the gate, on made-up measurements."""

import pytest

from fathom.catalog import load_device
from fathom.catalog.models import Device, PublishedRow
from fathom.errors import ExitCode, GateError
from fathom.validation.cases import Case, Trial
from fathom.validation.comparison import Compared, check_gate, compare_case, medians
from fathom.validation.terminal import validation_json
from fathom.validation.trial import AtDepth, Measured, OpFigures

ROW = {"workload": "w", "bench": "b", "subject": "s", "source": "x", "role": "validation"}


@pytest.fixture
def device() -> Device:
    """A shipped device with one written reason."""
    device = load_device("samsung-pm9a3-7.68tb")
    assert device.twin is not None
    twin = device.twin.model_copy(update={"reasons": {"explained": "the bench compresses"}})
    return device.model_copy(update={"name": "d", "twin": twin})


def compared(device: Device, simulated_iops: float, *, steady: bool = True, **row: object) -> list[Compared]:
    case = Case(device, PublishedRow.model_validate(ROW | row), Trial("b", "{}"), None)
    figures = OpFigures(simulated_iops, simulated_iops * 4096 / 1e6, 100.0)
    half = OpFigures(simulated_iops / 2, 1.0, 100.0)
    measured = Measured({None: figures, "read": half}, 5.0, 0.1, steady, "still falling", None)
    return compare_case(case, measured)


def test_errors_are_signed_and_relative_to_the_published_figure(device: Device) -> None:
    [row] = compared(device, 90.0, iops=100)
    assert row.error_pct == pytest.approx(-10)
    assert row.counted
    [half] = compared(device, 90.0, iops=50, op="read")
    assert half.simulated == 45


@pytest.mark.parametrize(("figure", "ratio"), [("IOPS", 0.5), ("IOPS/W", 0.25)])
def test_a_row_that_relates_two_drives_divides_what_was_measured_on_both(
    device: Device, figure: str, ratio: float
) -> None:
    row = PublishedRow.model_validate(ROW | {"value": 2 * ratio, "unit": f"ratio of {figure} to other"})
    case = Case(device, row, Trial("b", "{}"), None, device)
    mine, its = (
        Measured({None: OpFigures(iops, 1.0, 1.0)}, window_s, None, True, "", None, joules=joules)
        for iops, window_s, joules in ((50.0, 5.0, 20.0), (100.0, 10.0, 20.0))
    )
    [one] = compare_case(case, mine, its)
    assert one.simulated == pytest.approx(ratio)
    assert one.error_pct == pytest.approx(-50)
    assert one.counted


@pytest.mark.parametrize(
    ("rates", "depth", "error"), [((60.0, 94.0, 96.0, 100.0), 4, None), ((60.0, 80.0, 94.0, 100.0), 8, 100)]
)
def test_the_depth_of_the_maximum_is_the_least_with_nearly_the_greatest_rate(
    device: Device, rates: tuple[float, ...], depth: int, error: float | None
) -> None:
    unit = {"value": 4, "unit": "iodepth of the maximum", "bound": "at-most"}
    case = Case(device, PublishedRow.model_validate(ROW | unit), Trial("b", "{}"), None)
    depths = tuple(AtDepth(iodepth, iops, 0.5) for iodepth, iops in zip((1, 2, 4, 8), rates, strict=True))
    measured = Measured({}, 5.0, None, True, "", None, depths=depths)
    [row] = compare_case(case, measured)
    assert (row.simulated, row.error_pct) == (depth, error)
    assert "60 ± 0.5 % at 1" in (row.reason or "")


def test_only_the_first_figure_of_a_row_counts_because_the_others_say_the_same(device: Device) -> None:
    rows = compared(device, 90.0, iops=100, mbps=1, latency_us=80, latency_kind="mean")
    assert [(row.metric, row.counted) for row in rows] == [
        ("iops", True),
        ("mbps", False),
        ("latency_us", False),
    ]
    assert rows[2].error_pct == pytest.approx(25)


@pytest.mark.parametrize(
    ("bound", "simulated", "error"),
    [("at-least", 110, None), ("at-least", 80, -20), ("at-most", 90, None), ("at-most", 130, 30)],
)
def test_a_bound_counts_only_where_it_is_broken(
    device: Device, bound: str, simulated: float, error: float | None
) -> None:
    [row] = compared(device, simulated, iops=100, bound=bound)
    assert row.error_pct == pytest.approx(error)
    assert row.counted == (error is not None)


def test_uncertain_rows_context_and_rows_about_the_mix_are_shown_and_not_counted(device: Device) -> None:
    rows = [
        *compared(device, 90.0, iops=100, uncertain=True, note="misprint"),
        *compared(device, 90.0, iops=100, role="context"),
        *compared(device, 90.0, iops=100, role="calibration", calibrates="workload"),
    ]
    assert [row.counted for row in rows] == [False] * 3
    assert all(row.error_pct == pytest.approx(-10) for row in rows)
    assert "misprint" in (rows[0].reason or "")
    assert medians(rows) == []


def test_a_row_beyond_25_percent_needs_a_reason_in_the_devices_file(device: Device) -> None:
    [explained] = compared(device, 126.0, iops=100, workload="explained")
    assert (explained.reason, explained.unexplained) == ("the bench compresses", False)
    [flagged] = compared(device, 126.0, iops=100)
    assert flagged.unexplained
    assert "without a reason" in (flagged.reason or "")
    [near] = compared(device, 124.0, iops=100, workload="explained")
    assert (near.reason, near.unexplained) == (None, False)


def test_a_workload_that_did_not_become_steady_is_said_to_be_so(device: Device) -> None:
    [row] = compared(device, 100.0, iops=100, steady=False)
    assert row.reason == "not steady: still falling"


def test_medians_are_of_absolute_errors_per_device_and_role_and_of_all(device: Device) -> None:
    other = device.model_copy(update={"name": "e"})
    rows = [
        *(row for iops in (99, 103, 80) for row in compared(device, iops, iops=100)),
        *compared(device, 102.0, iops=100, role="calibration"),
        *compared(other, 60.0, iops=100),
    ]
    found = {(one.device, one.role): (one.median_pct, one.n) for one in medians(rows)}
    assert found["d", "validation"] == (pytest.approx(3), 3)
    assert found["d", "calibration"] == (pytest.approx(2), 1)
    assert found["e", "validation"] == (pytest.approx(40), 1)
    assert found[None, "validation"] == (pytest.approx(11.5), 4)
    assert ("e", "calibration") not in found


def test_the_gate_names_the_device_the_role_and_the_limit(device: Device) -> None:
    check_gate(
        medians([*compared(device, 97.1, iops=100, role="calibration"), *compared(device, 91, iops=100)])
    )
    with pytest.raises(GateError, match=r"d: calibration 4\.0 % \(at most 3 %\)$") as failed:
        check_gate(
            medians([*compared(device, 96, iops=100, role="calibration"), *compared(device, 91, iops=100)])
        )
    assert failed.value.exit_code == ExitCode.GATE_FAILED
    with pytest.raises(GateError, match=r"validation 11\.0 %"):
        check_gate(medians(compared(device, 111, iops=100)))


def test_a_row_that_was_not_simulated_is_there_with_its_reason(device: Device) -> None:
    case = Case(device, PublishedRow.model_validate(ROW | {"iops": 5}), None, "not simulated: no such bench")
    [row] = validation_json(compare_case(case, None))["rows"]  # type: ignore[misc]
    assert (row["published"], row["simulated"], row["error_pct"]) == (5, None, None)
    assert row["reason"] == "not simulated: no such bench"
