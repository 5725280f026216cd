"""Fits a device's calibrated parameters to its calibration rows, and puts the values into its file.

Only parameters of basis `calibrated` change, and only calibration rows are read; validation rows are not even
simulated. Rows that show the bench or no steady state are left out. The maxima of the data sheet are lower bounds of
what the drive can do. Parameters that the rows cannot determine are reported, not guessed.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

import numpy as np

from fathom.catalog import find
from fathom.catalog.models import Device
from fathom.catalog.positions import key_lines
from fathom.catalog.twin_params import twin_params_json
from fathom.errors import FathomError, UsageError
from fathom.runs.files import write_atomically
from fathom.validation.cases import Case, cases_of
from fathom.validation.comparison import error_of
from fathom.validation.ratings import PRECISION, at_least, is_maximum, rated_cases
from fathom.validation.search import ALONE, Floats, Sensitivity, fit
from fathom.validation.trial import Measured
from fathom.validation.validate import Job, TrialRunner

DIGITS = 4
"""Significant digits of a fitted value: a published figure seldom has more than three."""


@dataclass(frozen=True)
class FittedParameter:
    """A calibrated parameter before and after the fit, and its sensitivity at the value before."""

    name: str
    before: float
    after: float
    sensitivity: Sensitivity
    remark: str | None
    """Why the value should not be believed, if so."""

    @property
    def changed(self) -> bool:
        """Whether the fit moved it."""
        return self.before != self.after


class LeftOut(StrEnum):
    """Why a row shows nothing about the drive's parameters."""

    BENCH = "the bench limits it"
    UNSTEADY = "it is not steady within the longest trial"


@dataclass(frozen=True)
class Calibration:
    """A fit: parameters, and the errors of its rows in percent, in the order of `cases`."""

    device: Device
    cases: Sequence[Case]
    parameters: Sequence[FittedParameter]
    before_pct: Sequence[float]
    after_pct: Sequence[float]
    evaluations: int
    left_out: Sequence[tuple[Case, LeftOut]] = ()
    """Rows that nothing was fitted to."""

    def determined_by(self, index: int) -> list[str]:
        """Returns the parameters whose effect on a case, by its place in `cases`, is their greatest."""
        return [one.name for one in self.parameters if one.sensitivity.strongest == index]


def calibrate(device: Device, runner: TrialRunner) -> Calibration:
    """Fits the device to its calibration rows; to the ratings of its data sheet where nobody has measured it.

    A measured device's rated rates are maxima that its twin has to reach on the bench `data-sheet`. Ratings alone are
    simulated as `new_device` does, so the errors before the fit are those that it prints.

    Raises:
        UsageError: the device has no twin, no calibrated parameter, or no calibration row that can be simulated and
            shows something about it.
        FathomError: its twin refuses the parameters it has.
    """
    if device.twin is None:
        raise UsageError(f"{device.name} has no twin, so there is nothing to calibrate")
    start = {
        name: float(parameter.value)
        for name, parameter in device.twin.parameters.items()
        if parameter.basis == "calibrated" and type(parameter.value) in (int, float)
    }
    if zero := [name for name, value in start.items() if value <= 0]:
        raise UsageError(
            f"{device.name}: {zero[0]} is not above 0, but a fit scales its start", "give it a start above 0"
        )
    measured, rated = cases_of(device), rated_cases(device)
    rows = [*measured, *(at_least(case) for case in rated if is_maximum(case))] if measured else rated
    cases = [case for case in rows if case.may_be_fitted and case.trial]
    if not start:
        raise UsageError(f'{device.name} has no parameter of basis "calibrated", so nothing can be fitted')
    if not cases:
        raise UsageError(
            f"{device.name} has no calibration row that can be simulated, so nothing can be fitted"
        )
    covered = None if measured else PRECISION
    return _Calibrator(device, cases, start, runner, covered).run_on_what_shows_it()


def fit_to(
    device: Device,
    cases: Sequence[Case],
    start: Mapping[str, float],
    runner: TrialRunner,
    *,
    covered: float,
) -> Calibration:
    """Fits the parameters of `start`, from there, to the cases alone.

    `covered` is that of `Trial`.

    Raises:
        FathomError: the twin refuses the parameters it has.
    """
    return _Calibrator(device, cases, start, runner, covered).run()


class _Calibrator:
    def __init__(
        self,
        device: Device,
        cases: Sequence[Case],
        start: Mapping[str, float],
        runner: TrialRunner,
        covered: float | None,
    ) -> None:
        refuse_others(cases)
        self._device = device
        self._cases = cases
        self._left_out: list[tuple[Case, LeftOut]] = []
        self._names = tuple(start)
        self._start = np.array(list(start.values()))
        self._runner = runner
        # Above the number of dies a power budget means nothing, and a search would wander there.
        self._most = {"programming_dies_max": _dies(device)}
        self._covered = covered
        self._known: dict[tuple[float, ...], Floats | None] = {}

    def run_on_what_shows_it(self) -> Calibration:
        """Fits to the rows that the device's own parameters decide.

        Raises UsageError where there are none.
        """
        every = list(zip(self._cases, self._measure(tuple(self._start.tolist())), strict=True))
        reasons = [(case, _left_out(one)) for case, one in every]
        self._left_out = [(case, why) for case, why in reasons if why]
        self._cases = [case for case, why in reasons if why is None]
        if not self._cases:
            raise UsageError(
                f"{self._device.name}: no calibration row shows anything about the drive: "
                + "; ".join(f"{case.name}: {why}" for case, why in self._left_out)
            )
        return self.run()

    def run(self) -> Calibration:
        """Fits to every row."""
        found = fit(self._residuals, self._start, self._tidy)
        return Calibration(
            device=self._device,
            cases=self._cases,
            parameters=[
                FittedParameter(name, before, after, sensitivity, _remark(sensitivity))
                for name, before, after, sensitivity in zip(
                    self._names,
                    self._start.tolist(),
                    found.values.tolist(),
                    found.sensitivities,
                    strict=True,
                )
            ],
            before_pct=_percent(found.start_residuals),
            after_pct=_percent(found.residuals),
            evaluations=found.evaluations,
            left_out=self._left_out,
        )

    def _whole(self, name: str) -> bool:
        assert self._device.twin is not None
        return isinstance(self._device.twin.parameters[name].value, int)

    def _tidy(self, values: Floats) -> Floats:
        """Returns values as written to the file: whole numbers, or few digits. Unchanged values stay as they are."""
        pairs = zip(self._names, values.tolist(), self._start.tolist(), strict=True)
        return np.array(
            [before if value == before else self._round(name, value) for name, value, before in pairs]
        )

    def _round(self, name: str, value: float) -> float:
        most = self._most.get(name, np.inf)
        if not self._whole(name):
            return float(f"{min(value, most):.{DIGITS}g}")
        return float(min(max(round(value), 1), most))

    def _residuals(self, values: Floats) -> Floats | None:
        """Logarithms of simulated over published, one per case; None where the twin refuses the values."""
        key = tuple(values.tolist())
        if key not in self._known:
            try:
                measured = self._measure(key)
            except FathomError:
                if not self._known:
                    raise
                self._known[key] = None
            else:
                self._known[key] = np.array(
                    [_residual(*pair) for pair in zip(self._cases, measured, strict=True)]
                )
        return self._known[key]

    def _measure(self, values: Sequence[float]) -> list[Measured]:
        return self._runner.run([self._job(case, values) for case in self._cases])

    def _job(self, case: Case, values: Sequence[float]) -> Job:
        named = {
            name: int(value) if self._whole(name) else value
            for name, value in zip(self._names, values, strict=True)
        }
        label = f"set {len(self._known) + 1}: {case.name}"
        return row_job(self._device, case, named, label, covered=self._covered)


def row_job(
    device: Device,
    case: Case,
    values: Mapping[str, float],
    label: str,
    *,
    covered: float | None,
) -> Job:
    """Returns the simulation of a calibration row by the device's twin with other values of some parameters.

    `covered` is that of `Trial`. No row about iodepths is fitted, so what follows the window is left out.
    """
    trial = case.trial
    assert trial is not None
    parameters = json.loads(twin_params_json(device, trial.bench)) | dict(values)
    return Job(label, json.dumps(parameters), replace(trial, iodepths=(), covered=covered))


def _dies(device: Device) -> float:
    """Returns the number of dies of the drive, as crate `twin` counts them."""
    parameters = device.twin.parameters if device.twin else {}
    counts = [parameters[name].value for name in ("channels", "dies_per_channel") if name in parameters]
    return float(np.prod([count for count in counts if isinstance(count, int)]))


def refuse_others(cases: Sequence[Case]) -> None:
    """Raises ValueError for a case that no device may be fitted to (rule 6 of the design): a defect of the caller."""
    for case in cases:
        if not case.may_be_fitted:
            raise ValueError(f"{case.row.workload} ({case.row.role}) must not be fitted to")


def _left_out(measured: Measured) -> LeftOut | None:
    if measured.bench_limits:
        return LeftOut.BENCH
    return None if measured.steady else LeftOut.UNSTEADY


def _residual(case: Case, measured: Measured) -> float:
    metric, published = next(iter(case.figures.items()))
    simulated = measured.value(case.row, metric)
    if error_of(case.row, published, simulated) is None:
        return 0.0
    return float(np.log(max(simulated, 1e-9) / published))


def _percent(residuals: Floats) -> list[float]:
    return (100 * np.expm1(residuals)).tolist()


def _remark(sensitivity: Sensitivity) -> str | None:
    if not sensitivity.felt:
        return "not identifiable: no calibration row depends on it; unchanged"
    if sensitivity.alone < ALONE:
        return "not separable: other parameters together have the same effect on these rows"
    return None


def toml_values(calibration: Calibration) -> str:
    """Returns the changed parameters as lines to paste into the device's file."""
    return "\n".join(
        f"[twin.parameters.{one.name}]\nvalue = {_toml_number(calibration.device, one)}"
        for one in calibration.parameters
        if one.changed
    )


def write_values(calibration: Calibration) -> Path:
    """Writes the changed values into the device's file, and leaves everything else in it as it is.

    Raises:
        FathomError: the file cannot be written.
    """
    entry = find("devices", calibration.device.name)
    path = Path(str(entry.file)).resolve()
    text = entry.text()
    lines = text.splitlines(keepends=True)
    at = key_lines(text)
    for one in calibration.parameters:
        if one.changed:
            number = at["twin", "parameters", one.name, "value"] - 1
            new = _toml_number(calibration.device, one)
            lines[number] = re.sub(r"(\bvalue\s*=\s*)[^\s,#}]+", rf"\g<1>{new}", lines[number], count=1)
    try:
        mode = path.stat().st_mode
        write_atomically(path, "".join(lines))
        path.chmod(mode)
    except OSError as error:
        raise FathomError(
            f"{path}: {error.strerror}",
            "paste the values printed above, or copy the file into your own catalogue",
        ) from error
    return path


def _toml_number(device: Device, one: FittedParameter) -> str:
    assert device.twin is not None
    whole = isinstance(device.twin.parameters[one.name].value, int)
    return str(int(one.after)) if whole else repr(one.after)
