"""Simulated beside published: errors, what counts, medians, and the gate. Runs nothing, prints nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from fathom.analysis.depths import FULL
from fathom.catalog.models import UNEXPLAINED_PCT, PublishedRow
from fathom.errors import GateError
from fathom.validation.cases import Case, Metric
from fathom.validation.overwritten import WARMED_X
from fathom.validation.systems import SystemCase
from fathom.validation.trial import Measured

Role = Literal["calibration", "validation"]
GATE_PCT: dict[Role, float] = {"calibration": 3.0, "validation": 10.0}
"""The gate: largest allowed median of a device's absolute errors, %."""


@dataclass(frozen=True)
class Compared:
    """One published figure and the simulated one; `simulated` is None where no trial imitates the row.

    `error_pct` is None too where the figure is only a bound and the simulated one keeps it. `counted` says whether the
    error enters the medians.
    """

    case: Case
    metric: str
    published: float
    measured: Measured | None
    simulated: float | None
    error_pct: float | None
    counted: bool
    unexplained: bool
    reason: str | None


@dataclass(frozen=True)
class Median:
    """The median of absolute errors over the `n` counted figures of a role; `device` None: of all devices."""

    device: str | None
    role: Role
    median_pct: float
    n: int


def compare_system(case: SystemCase, found: Sequence[Sequence[Measured]]) -> list[Compared]:
    """Returns the figures of a system's row, the one that counts first, each read from what its runs found."""
    if not case.readings:
        return compare_case(case, None)
    return [
        _compared(case, one.metric, one.published, runs[0], one.read(runs), first=index == 0)
        for index, (one, runs) in enumerate(zip(case.readings, found, strict=True))
    ]


def compare_case(case: Case, measured: Measured | None, other: Measured | None = None) -> list[Compared]:
    """Returns the case's figures, the one that counts first; a single one without a figure if nothing was simulated.

    `other` is what was measured on the drive that the row relates the device to.
    """
    if measured is None:
        metric, published = next(iter(case.figures.items()), (case.row.unit or "", case.row.value or 0.0))
        return [Compared(case, metric, published, None, None, None, False, False, case.remark)]
    return [
        _compare(case, metric, published, measured, other, first=index == 0)
        for index, (metric, published) in enumerate(case.figures.items())
    ]


def _compare(
    case: Case, metric: Metric, published: float, measured: Measured, other: Measured | None, *, first: bool
) -> Compared:
    simulated = measured.ratio(other, case.row, metric) if other else measured.value(case.row, metric)
    return _compared(case, metric, published, measured, simulated, other, first=first)


def _compared(
    case: Case,
    metric: Metric,
    published: float,
    measured: Measured,
    simulated: float,
    other: Measured | None = None,
    *,
    first: bool,
) -> Compared:
    error_pct = error_of(case.row, published, simulated)
    counted = first and error_pct is not None and case.excluded is None
    far = error_pct is not None and abs(error_pct) > UNEXPLAINED_PCT
    written = _reasons(case).get(case.row.workload) if far else None
    reasons = [
        case.excluded,
        case.remark,
        f"within the published bound ({case.row.bound})" if error_pct is None else None,
        _by_depth(measured) if metric == "depth" and measured.depths else None,
        _begun(measured, other),
        None if measured.steady else f"not steady: {measured.grounds}",
        f"the other drive is not steady: {other.grounds}" if other and not other.steady else None,
        written,
        f"beyond {UNEXPLAINED_PCT:g} % without a reason in the device's file"
        if far and counted and not written
        else None,
    ]
    return Compared(
        case,
        metric,
        published,
        measured,
        simulated,
        error_pct,
        counted,
        far and counted and written is None,
        "; ".join(reason for reason in reasons if reason) or None,
    )


def _begun(measured: Measured, other: Measured | None) -> str | None:
    """Returns in words what of the bench's prior work was computed."""
    own, others = measured.begins_settled, bool(other and other.begins_settled)
    if not (own or others):
        return None
    who = "both drives begin" if own and others else "begins" if own else "the other drive begins"
    simulated = f"all but its last {100 * WARMED_X:g} % of the capacity"
    return f"{who} settled: what the bench writes before is computed, {simulated}"


def _by_depth(measured: Measured) -> str:
    """Returns in words the rates by iodepth, which show the depth of the maximum."""
    rates = ", ".join(
        f"{one.iops:,.0f}{'' if one.interval_pct is None else f' ± {one.interval_pct:.1f} %'} at {one.iodepth}"
        for one in measured.depths
    )
    return f"least iodepth with {100 * FULL:.0f} % of the most IOPS: {rates}"


def _reasons(case: Case) -> dict[str, str]:
    return case.device.twin.reasons if case.device.twin else {}


def error_of(row: PublishedRow, published: float, simulated: float) -> float | None:
    """Returns how far the simulated figure lies above (+) or below (-), in percent; None where a bound is kept."""
    kept = {"at-least": simulated >= published, "at-most": simulated <= published}
    if row.bound and kept[row.bound]:
        return None
    return 100 * (simulated / published - 1)


def medians(rows: Sequence[Compared]) -> list[Median]:
    """Returns the medians per device and role, then over all devices; roles without a counted figure are left out."""
    names: list[str | None] = list(dict.fromkeys(row.case.device.name for row in rows))
    found = []
    for name in [*names, None]:
        for role in GATE_PCT:
            errors = [
                abs(row.error_pct)
                for row in rows
                if row.counted
                and row.error_pct is not None
                and row.case.row.role == role
                and name in (None, row.case.device.name)
            ]
            if errors:
                found.append(Median(name, role, median(errors), len(errors)))
    return found


def check_gate(found: Sequence[Median]) -> None:
    """Checks every device against the gate.

    Raises:
        GateError: which device misses which limit, and by how much.
    """
    missed = [
        f"{one.device}: {one.role} {one.median_pct:.1f} % (at most {GATE_PCT[one.role]:g} %)"
        for one in found
        if one.device and one.median_pct > GATE_PCT[one.role]
    ]
    if missed:
        raise GateError(f"median absolute error too large: {', '.join(missed)}")
