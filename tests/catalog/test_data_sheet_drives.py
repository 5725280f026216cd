"""Drives of the catalogue that were made from a data sheet: what there are, that each says so, and that it meets its
ratings.
"""

import json
import re
from math import prod

import pytest

from fathom import _core
from fathom.catalog import entries, load_device, load_published
from fathom.catalog.load import is_about
from fathom.catalog.models import Device, SpecRow
from fathom.catalog.sheet import checked_text
from fathom.catalog.twin_params import SLICE_ROWS, twin_params_json
from fathom.new_device.files import FITTED, device_toml
from fathom.new_device.fit import MET_PCT
from fathom.prediction.misses import shipped_misses
from fathom.validation.calibrate import row_job
from fathom.validation.ratings import PRECISION, rated_cases
from fathom.validation.trial import run_trial

SHIPPED = [entry.name for entry in entries("devices") if entry.shipped]
DRIVES = [name for name in SHIPPED if load_device(name).is_of_data_sheet]
TEXTS = {entry.name: entry.text() for entry in entries("devices")}


def rated(device: Device) -> SpecRow:
    (row,) = [row for row in load_published(str(device.published)).ratings if is_about(row, device)]
    return row


def of(wanted: str) -> list[str]:
    """The drives whose interface, form, NAND or kind has these words."""
    found = []
    for name in DRIVES:
        device = load_device(name)
        assert device.twin is not None
        identity = device.identity
        words = (identity.interface, identity.form_factor, identity.nand, device.twin.kind)
        if wanted in " ".join(filter(None, words)):
            found.append(name)
    return found


@pytest.mark.parametrize(
    ("wanted", "least"),
    [
        ("U.2", 3), ("E1.S", 1), ("E3.S", 3), ("M.2", 1), ("TLC", 9), ("QLC", 4), ("Gen4", 4), ("Gen5", 7),
        ("SATA 6 Gb/s 2.5in", 3), ("disk", 4),
    ],
)  # fmt: skip
def test_there_are_drives_of_each_form_and_kind(wanted: str, least: int) -> None:
    assert len(of(wanted)) >= least


def test_there_are_drives_of_today_of_each_endurance_and_of_60_tb_and_more() -> None:
    devices = [load_device(name) for name in DRIVES]
    assert len(devices) >= 15
    assert {1, 3} <= {rated(device).endurance_dwpd for device in devices}
    assert sum(device.capacity_bytes > 60e12 for device in devices) >= 2


@pytest.mark.parametrize("name", DRIVES)
def test_a_drive_says_that_it_was_fitted_to_its_data_sheet_alone(name: str) -> None:
    device = load_device(name)
    assert TEXTS[name].splitlines()[0] == f"# {device.identity.label}: {FITTED}."
    assert TEXTS[name] == device_toml(device), "made by `fathom new-device`, and changed by hand"


@pytest.mark.parametrize("name", DRIVES)
def test_what_others_measured_of_such_a_drive_checks_it_and_is_never_fitted(name: str) -> None:
    device = load_device(name)
    published = load_published(str(device.published))
    assert {row.role for row in published.rows} <= {"validation"}
    checked = any(not row.uncertain for row in published.rows)
    assert (checked_text(device, published) == "none") != checked
    assert (name in {one.name for one in shipped_misses()}) == checked


def test_outside_measurements_check_several_drives_of_a_data_sheet_among_them_qlc_and_a_hamr_disk() -> None:
    checked = {one.name for one in shipped_misses()} & set(DRIVES)
    assert len(checked) >= 10
    assert len(checked & set(of("QLC"))) >= 3
    assert "seagate-exos-m-30tb" in checked


@pytest.mark.parametrize("name", DRIVES)
def test_the_ratings_name_a_document_that_can_be_looked_up(name: str) -> None:
    assert re.search(r"https://\S+", rated(load_device(name)).source)


@pytest.mark.parametrize("name", DRIVES)
def test_every_rating_of_a_load_can_be_simulated(name: str) -> None:
    cases = rated_cases(load_device(name))
    assert cases
    assert all(case.trial and case.may_be_fitted for case in cases)


@pytest.mark.parametrize("name", of("QLC"))
def test_a_small_slice_of_a_very_large_drive_still_has_superblocks_to_choose_from(name: str) -> None:
    text = twin_params_json(load_device(name), slice_bytes=1 << 30)
    values = json.loads(text)
    keys = ("planes_per_die", "nand_page_bytes", "pages_per_program", "channels", "dies_per_channel")
    row_bytes = prod(values[key] for key in keys)
    assert values["capacity_bytes"] / values["slice_denominator"] >= SLICE_ROWS * row_bytes
    _core.TwinDevice(text, 1)


@pytest.mark.long
@pytest.mark.parametrize("name", DRIVES)
def test_a_drive_meets_the_ratings_that_it_was_fitted_to(name: str) -> None:
    device = load_device(name)
    for case in rated_cases(device):
        if case.row.workload != "rated-mixed":
            job = row_job(device, case, {}, case.name, covered=PRECISION)
            measured = run_trial(job.parameters_json, job.trial, seed=2)
            metric, figure = next(iter(case.figures.items()))
            assert measured.value(case.row, metric) == pytest.approx(figure, rel=MET_PCT / 100), case.name
