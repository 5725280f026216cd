"""Fitting the tiny drive: what moves, what is looked at, and what is written."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from tiny_drive import NAME, RANDOM_READ, Catalogue, bench_toml

from fathom.catalog import load_device
from fathom.catalog.twin_params import twin_params_json
from fathom.errors import UsageError
from fathom.validation.calibrate import (
    Calibration,
    LeftOut,
    calibrate,
    refuse_others,
    toml_values,
    write_values,
)
from fathom.validation.cases import cases_of
from fathom.validation.trial import LIMITS, Limits, run_trial
from fathom.validation.validate import TrialRunner

WRITE = 'block_kib = 64, read_pct = 0, pattern = "seq", iodepth = 4'
QUICK = replace(LIMITS, most_s=20)


def fitted_now(limits: Limits = LIMITS) -> Calibration:
    with ThreadPoolExecutor(2) as workers:
        return calibrate(load_device(NAME), TrialRunner(workers, limits=limits))


def row(workload: str, role: str, load: str, iops: float) -> str:
    return f'{{ workload = "{workload}", role = "{role}", {load}, iops = {iops} }}'


def measured_iops() -> list[float]:
    """What the drive of the catalogue really does under its published rows."""
    device = load_device(NAME)
    return [
        run_trial(twin_params_json(device, case.trial.bench), case.trial, limits=QUICK).ops[None].iops
        for case in cases_of(device)
        if case.trial
    ]


@pytest.fixture
def perturbed(catalogue: Catalogue) -> Catalogue:
    """Published results of the true drive, a validation row that is nonsense, and a drive with two values wrong."""
    catalogue.rows(row("read", "calibration", RANDOM_READ, 1), row("write", "calibration", WRITE, 1))
    read, write = measured_iops()
    catalogue.rows(
        row("read", "calibration", RANDOM_READ, read),
        row("absurd", "validation", RANDOM_READ, 5 * read),
        row("write", "calibration", WRITE, write),
    )
    catalogue.device(("read_sense_us", "program_us", "suspend_us"), read_sense_us=95.0, program_us=1000.0)
    return catalogue


def values(calibration: Calibration) -> dict[str, float]:
    return {one.name: one.after for one in calibration.parameters}


def test_perturbed_parameters_are_recovered_from_calibration_rows_alone(perturbed: Catalogue) -> None:
    fitted = fitted_now(QUICK)
    assert [case.name for case in fitted.cases] == ["read", "write"]
    assert values(fitted)["read_sense_us"] == pytest.approx(80, rel=0.02)
    assert values(fitted)["program_us"] == pytest.approx(1200, rel=0.02)
    assert max(map(abs, fitted.before_pct)) > 8
    assert max(map(abs, fitted.after_pct)) < 0.5


def test_a_parameter_that_no_calibration_row_feels_is_left_and_named(perturbed: Catalogue) -> None:
    [suspend] = [one for one in fitted_now(QUICK).parameters if one.name == "suspend_us"]
    assert not suspend.changed
    assert "not identifiable" in (suspend.remark or "")


def test_a_fit_is_the_same_every_time(perturbed: Catalogue) -> None:
    one, two = (fitted_now(QUICK) for _ in range(2))
    assert values(one) == values(two)
    assert one.after_pct == two.after_pct


def test_written_values_change_nothing_else_in_the_file(perturbed: Catalogue) -> None:
    fitted = fitted_now(QUICK)
    before = (perturbed.folder / f"devices/{NAME}.toml").read_text().splitlines()
    path = write_values(fitted)
    after = path.read_text().splitlines()
    changed = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    new = values(fitted)
    assert changed == [
        ("value = 95.0 # a comment", f"value = {new['read_sense_us']!r} # a comment"),
        ("value = 1000.0 # a comment", f"value = {new['program_us']!r} # a comment"),
    ]
    assert toml_values(fitted).splitlines() == [
        "[twin.parameters.read_sense_us]",
        f"value = {new['read_sense_us']!r}",
        "[twin.parameters.program_us]",
        f"value = {new['program_us']!r}",
    ]


def test_values_are_written_to_the_file_that_a_link_in_the_catalogue_names(
    perturbed: Catalogue, tmp_path: Path
) -> None:
    fitted = fitted_now(QUICK)
    link, own = perturbed.folder / f"devices/{NAME}.toml", tmp_path / "kept-elsewhere.toml"
    link.rename(own)
    link.symlink_to(own)
    own.chmod(0o640)
    write_values(fitted)
    assert link.is_symlink()
    assert f"value = {values(fitted)['program_us']!r}" in own.read_text()
    assert own.stat().st_mode & 0o777 == 0o640


def test_values_are_written_into_inline_tables_too(perturbed: Catalogue) -> None:
    fitted = fitted_now(QUICK)
    path = perturbed.folder / f"devices/{NAME}.toml"
    old = '[twin.parameters.program_us]\nvalue = 1000.0 # a comment\nbasis = "calibrated"\nsource = "test"\n'
    new = '[twin.parameters]\nprogram_us = { value = 1000.0, basis = "calibrated", source = "test" } # why\n'
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    write_values(fitted)
    after = values(fitted)["program_us"]
    assert (
        f'program_us = {{ value = {after!r}, basis = "calibrated", source = "test" }} # why'
        in path.read_text()
    )


@pytest.mark.parametrize("role", ["validation", "context"])
def test_no_other_row_can_be_fitted_to(catalogue: Catalogue, role: str) -> None:
    catalogue.rows(row("read", role, RANDOM_READ, 1))
    with pytest.raises(ValueError, match=f"read .{role}. must not be fitted to"):
        refuse_others(cases_of(load_device(NAME)))


def test_what_cannot_be_calibrated_is_said_in_one_line(catalogue: Catalogue) -> None:
    with pytest.raises(UsageError, match="no parameter of basis"):
        fitted_now()
    catalogue.device(("read_sense_us",))
    catalogue.rows(row("read", "validation", RANDOM_READ, 1))
    with pytest.raises(UsageError, match="no calibration row"):
        fitted_now()


def with_slow_bench(catalogue: Catalogue) -> None:
    """A host whose one thread takes 50 us for each I/O, where eight reads take 85 us together."""
    text = bench_toml().replace("value = 1.0", "value = 25.0")
    catalogue.write("systems/acme-bench.toml", text)


def test_a_row_that_the_bench_limits_fits_nothing_and_is_named(perturbed: Catalogue) -> None:
    with_slow_bench(perturbed)
    fitted = fitted_now(QUICK)
    assert [(case.name, why) for case, why in fitted.left_out] == [("read", LeftOut.BENCH)]
    assert [case.name for case in fitted.cases] == ["write"]
    assert values(fitted)["read_sense_us"] == 95
    assert values(fitted)["program_us"] == pytest.approx(1200, rel=0.02)


def test_where_the_bench_limits_every_row_one_line_says_so(catalogue: Catalogue) -> None:
    catalogue.device(("read_sense_us",))
    with_slow_bench(catalogue)
    with pytest.raises(
        UsageError, match="no calibration row shows anything about the drive: rand-read: the bench"
    ):
        fitted_now(QUICK)


def test_a_row_that_is_not_steady_in_the_longest_trial_fits_nothing(perturbed: Catalogue) -> None:
    fitted = fitted_now(replace(LIMITS, most_s=10))
    assert ("read", LeftOut.UNSTEADY) in [(case.name, why) for case, why in fitted.left_out]
    assert values(fitted)["read_sense_us"] == 95


def test_a_rated_maximum_is_a_bound_beside_measured_rows(perturbed: Catalogue) -> None:
    write = measured_iops()[2] * 65_536 / 1e6
    published = (perturbed.folder / "published/acme-tiny.toml").read_text()
    rated = '[[spec]]\nsource = "a sheet"\nrows = [{{ seq_write_mbps = {} }}]\n'

    def errors(rating: float) -> dict[str, float]:
        perturbed.write("published/acme-tiny.toml", published + rated.format(rating))
        fitted = fitted_now(QUICK)
        return dict(zip((case.name for case in fitted.cases), fitted.after_pct, strict=True))

    assert errors(0.8 * write)["rated-seq-write"] == 0
    # The measured row and the rating cannot both be met: the fit lies between them.
    torn = errors(1.4 * write)
    assert torn["write"] > 2
    assert torn["rated-seq-write"] < -2


def test_each_row_is_shown_with_the_parameters_that_it_determines(perturbed: Catalogue) -> None:
    fitted = fitted_now(QUICK)
    assert [fitted.determined_by(index) for index in range(2)] == [["read_sense_us"], ["program_us"]]


def test_a_calibrated_parameter_without_a_start_is_named(catalogue: Catalogue) -> None:
    catalogue.device(("suspend_us",), suspend_us=0.0)
    with pytest.raises(UsageError, match="suspend_us is not above 0"):
        fitted_now()
