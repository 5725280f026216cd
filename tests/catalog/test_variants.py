"""Variants: other capacities and forms of a product, which say only what differs."""

import json

import pytest
from catalog_samples import Write

from fathom import catalog
from fathom.catalog.store import CatalogError
from fathom.catalog.twin_params import twin_params_json
from fathom.new_device.flash import PARITY_DIES

SN861 = "wd-ultrastar-dc-sn861"
U2 = [f"{SN861}-{capacity}tb" for capacity in ("1.6", "1.92", "3.2", "3.84", "6.4", "7.68")]


def test_a_variant_has_what_its_file_says_and_the_rest_of_its_base() -> None:
    base, small = catalog.load_device(f"{SN861}-7.68tb"), catalog.load_device(f"{SN861}-1.92tb")
    assert base.twin is not None
    assert small.twin is not None
    assert small.twin.parameters["dies_per_channel"].value == 2
    assert small.twin.parameters["erase_us"] == base.twin.parameters["erase_us"]
    assert small.identity.vendor == base.identity.vendor
    assert small.identity.label != base.identity.label


def test_what_is_written_about_the_misses_of_the_base_is_not_said_of_a_variant() -> None:
    base, small = catalog.load_device(f"{SN861}-7.68tb"), catalog.load_device(f"{SN861}-1.92tb")
    assert base.twin is not None
    assert small.twin is not None
    assert base.twin.reasons
    assert not small.twin.reasons


def test_every_capacity_of_the_data_sheet_is_a_twin() -> None:
    rated = {
        row.capacity_gb
        for row in catalog.load_published(SN861).ratings
        if not row.uncertain and row.form_factor == "U.2 15mm"
    }
    held = {round(catalog.load_device(name).capacity_bytes / 1e7) / 100 for name in U2}
    assert {round(capacity / 10) for capacity in held} == {round((gb or 0) / 10) for gb in rated}


def test_placement_handles_are_those_of_the_form_that_has_them() -> None:
    assert all(catalog.load_device(name).placement_handles == 1 for name in U2)
    assert catalog.load_device(f"{SN861}-e1s-7.68tb").placement_handles > 1


def test_figures_measured_on_one_form_are_not_published_results_of_another() -> None:
    assert catalog.published_for(f"{SN861}-7.68tb", "fio-4k-rand-read")
    assert not catalog.published_for(f"{SN861}-e1s-7.68tb", "fio-4k-rand-read")
    assert not catalog.published_for(f"{SN861}-6.4tb", "fio-4k-rand-read")


def test_a_variant_of_a_variant_is_refused_with_its_file(write: Write) -> None:
    text = f'schema = "fathom-device/1"\nname = "mine"\nvariant_of = "{SN861}-1.92tb"\ncapacity_bytes = 1\n'
    write("devices/mine.toml", text)
    with pytest.raises(CatalogError, match=r"mine\.toml: wd-ultrastar-dc-sn861-1\.92tb is a variant itself"):
        catalog.load_device("mine")


def test_a_wrong_file_that_a_variant_is_of_is_named_with_its_own_line(write: Write) -> None:
    write("devices/base.toml", 'schema = "fathom-device/1"\nname = "base"\nno toml\n')
    write("devices/mine.toml", 'schema = "fathom-device/1"\nname = "mine"\nvariant_of = "base"\n')
    with pytest.raises(CatalogError, match=r"base\.toml:3: not TOML"):
        catalog.load_device("mine")


def test_a_variant_may_name_its_base_in_either_quotes(write: Write) -> None:
    text = (
        f'schema = "fathom-device/1"\nname = "mine"\nvariant_of = \'{SN861}-7.68tb\'\ncapacity_bytes = 4096\n'
    )
    write("devices/mine.toml", text)
    assert (
        catalog.load_device("mine").identity.vendor == catalog.load_device(f"{SN861}-7.68tb").identity.vendor
    )


def test_a_wrong_key_of_a_variant_is_named_with_its_line(write: Write) -> None:
    text = f'schema = "fathom-device/1"\nname = "mine"\nvariant_of = "{SN861}-7.68tb"\ncapacity_byte = 1\n'
    write("devices/mine.toml", text)
    with pytest.raises(CatalogError, match=r"mine\.toml:4: unknown key \"capacity_byte\""):
        catalog.load_device("mine")


DIES = {"1.6": 32, "1.92": 32, "3.2": 64, "3.84": 64, "6.4": 64, "7.68": 64}
DIE_GBIT = {"1.6": 512, "1.92": 512, "3.2": 512, "3.84": 512, "6.4": 1024, "7.68": 1024}


@pytest.mark.parametrize("capacity", DIES)
def test_the_spare_area_is_what_the_dies_hold_beyond_the_capacity_and_parity(capacity: str) -> None:
    device = catalog.load_device(f"{SN861}-{capacity}tb")
    parameters = json.loads(twin_params_json(device))
    assert parameters["channels"] * parameters["dies_per_channel"] == DIES[capacity]
    raw_bytes = DIES[capacity] * DIE_GBIT[capacity] * 2**30 / 8
    spare = raw_bytes * (1 - 1 / PARITY_DIES) / device.capacity_bytes - 1
    assert parameters["over_provisioning"] == pytest.approx(spare, abs=2e-3)
