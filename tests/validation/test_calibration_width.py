"""What `fathom calibrate` and `fathom validate` print is whole in a terminal of 80 columns."""

from io import StringIO

import numpy as np
from rich.console import Console

from fathom.catalog import load_device
from fathom.validation.calibrate import Calibration, FittedParameter
from fathom.validation.cases import cases_of
from fathom.validation.comparison import Compared
from fathom.validation.ratings import at_least, is_maximum, rated_cases
from fathom.validation.search import Sensitivity
from fathom.validation.terminal import print_calibration, print_validation

DEVICE = "samsung-pm9a3-7.68tb"


def test_the_name_of_each_parameter_that_moves_a_row_is_on_one_line() -> None:
    device = load_device(DEVICE)
    cases = cases_of(device)[:3]
    assert device.twin is not None
    names = list(device.twin.parameters)[:12]
    effect = Sensitivity(np.array([0.01, 0.0, -0.02]), np.array([-0.01, 0.0, 0.02]), 1.0)
    parameters = [FittedParameter(name, 1.0, 1.1, effect, None) for name in names]
    printed = StringIO()
    print_calibration(
        Console(file=printed, width=80), Calibration(device, cases, parameters, [0.0] * 3, [0.0] * 3, 1)
    )
    matrix = printed.getvalue().split("sensitivity")[1]
    for name in names:
        assert sum(name in line.split() for line in matrix.splitlines()) == 2, name
    assert "+2.0" in matrix


def test_a_bound_that_the_twin_keeps_counts_in_no_median_of_a_calibration() -> None:
    device = load_device("wd-ultrastar-dc-sn861-7.68tb")
    measured = [case for case in cases_of(device) if case.may_be_fitted and case.trial][:2]
    kept = [at_least(case) for case in rated_cases(device) if is_maximum(case)][:3]
    errors = [2.0, -4.0, 0.0, 0.0, 0.0]
    printed = StringIO()
    print_calibration(
        Console(file=printed, width=120), Calibration(device, [*measured, *kept], [], errors, errors, 1)
    )
    (line,) = [line for line in printed.getvalue().splitlines() if "median of absolute errors" in line]
    assert line.split()[-4:] == ["3.00", "%", "3.00", "%"]


def test_names_of_published_rows_are_divided_at_hyphens_only_and_errors_keep_their_percent() -> None:
    cases = [case for case in cases_of(load_device(DEVICE)) if case.figures]
    rows = [
        Compared(case, metric, value, None, 1.5 * value, 134.9, True, False, "a reason")
        for case in cases
        for metric, value in list(case.figures.items())[:1]
    ]
    printed = StringIO()
    print_validation(Console(file=printed, width=80), rows)
    lines = [line for line in printed.getvalue().splitlines() if line.startswith("   ") and line.strip()]
    names = [f"-{case.name}" for case in cases]
    ends = [piece for piece in (line.split()[0] for line in lines) if not piece.endswith("-")]
    assert len(ends) == len(rows)
    assert [piece for piece in ends if not any(name.endswith(f"-{piece}") for name in names)] == []
    assert sum("+134.9 %" in line for line in lines) == len(rows)
