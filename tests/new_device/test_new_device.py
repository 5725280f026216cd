"""A drive from its data sheet: what is read, what is refused unsimulated, what is filled in and fitted."""

import io
import json
import re
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from documented import block
from fathom import _core
from fathom.catalog import CatalogError, load_device, load_published
from fathom.catalog.models import Parameter, SpecRow
from fathom.catalog.sheet import checked_fact, checked_text
from fathom.catalog.terminal import print_entry
from fathom.catalog.twin_params import twin_params_json
from fathom.cli import app
from fathom.errors import RefusedError, UsageError
from fathom.load.workers import InProcess
from fathom.new_device.ask import ask_for_sheet
from fathom.new_device.checks import problems
from fathom.new_device.classes import classes
from fathom.new_device.draft import draft, published_of
from fathom.new_device.files import device_toml, published_toml
from fathom.new_device.fit import fit
from fathom.new_device.flash import MOST_DIES_PER_CHANNEL, flash_of
from fathom.new_device.make import Made, check, make
from fathom.new_device.sheet import DataSheet, read_sheet
from fathom.new_device.terminal import missed_words, print_made
from fathom.serve.catalog_view import entry_view
from fathom.validation.calibrate import calibrate, row_job
from fathom.validation.ratings import PRECISION, rated_cases
from fathom.validation.systems import every_case
from fathom.validation.trial import run_trial
from fathom.validation.validate import TrialRunner, devices_to_validate

ACME = block("docs/how-to/new-device.md", "toml")
DISK = """
vendor = "Acme"
model = "Platter"
kind = "disk"
capacity_gb = 24000
interface = "SATA"
seq_read_mbps = 285
rpm = 7200
platters = 10
cache_mb = 512
power_idle_w = 6
source = "Acme Platter data sheet"
"""


HERE = TrialRunner(InProcess())


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("FATHOM_CATALOG", raising=False)
    return tmp_path / "config/fathom"


def sheet_of(text: str, tmp_path: Path, name: str = "sheet.toml") -> DataSheet:
    path = tmp_path / name
    path.write_text(text)
    return read_sheet(path)


def changed(tmp_path: Path, **keys: object) -> DataSheet:
    """The sheet of the page with other values; None leaves a key out."""
    document = {key: value for key, value in (tomllib.loads(ACME) | keys).items() if value is not None}
    return sheet_of(json.dumps(document, indent=1), tmp_path, "sheet.json")


def test_json_and_toml_say_the_same(tmp_path: Path) -> None:
    assert changed(tmp_path) == sheet_of(ACME, tmp_path)


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ({"source": None}, 'key "source" is missing'),
        ({"pcie_generation": None}, 'key "pcie_generation" is missing: 3 to 6'),
        ({"nand": None}, 'key "nand" is missing: "TLC" or "QLC"'),
        ({"nand": "TCL"}, 'nand: "TCL" is not one of TLC, QLC; did you mean "TLC"?'),
        ({"seq_read_mbps": None, "rand_read_iops": None}, "too few ratings: seq_read_mbps, rand_read_iops"),
        ({"seq_reed_mbps": 3}, 'unknown key "seq_reed_mbps"; did you mean "seq_read_mbps"?'),
        ({"kind": "disk"}, 'interface: "PCIe" is none of a disk'),
        ({"capacity_gb": "480 GB"}, 'capacity_gb: expected a number, found "480 GB"'),
    ],
)
def test_a_sheet_that_is_not_whole_is_one_line_each(
    tmp_path: Path, keys: dict[str, object], text: str
) -> None:
    with pytest.raises(CatalogError) as error:
        changed(tmp_path, **keys)
    (line,) = error.value.problems
    assert text in line
    assert line.startswith(f"{tmp_path / 'sheet.json'}:")


def test_a_wrong_key_has_its_line(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match=r"sheet.json:5: capacity_gb: expected a number above 0, found -1"):
        changed(tmp_path, capacity_gb=-1)
    with pytest.raises(CatalogError, match=r"sheet.toml:4: capacity_gb: expected a number above 0, found -1"):
        sheet_of(ACME.replace("capacity_gb = 480", "capacity_gb = -1"), tmp_path)


def test_text_that_is_no_json_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match=r"sheet\.json:2: not JSON"):
        sheet_of('{"vendor": "Acme",\n', tmp_path, "sheet.json")


def test_a_sheet_that_is_not_there_is_answered_with_the_two_ways_to_give_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"TOML or JSON; without one, `fathom new-device` asks"):
        read_sheet(tmp_path / "acme.toml")


@pytest.mark.parametrize(
    ("keys", "key", "text"),
    [
        ({"seq_read_mbps": 9000}, "seq_read_mbps", "9,000 MB/s is above the 7,714 MB/s that PCIe Gen4 x4"),
        ({"seq_write_mbps": 6000}, "seq_write_mbps", "exceed what 8 dies of 512 Gb can program, 1,680 MB/s"),
        ({"rand_read_iops": 1_900_000}, "rand_read_iops", "1,900,000 of 4 KiB are 7,782 MB/s, above the"),
        ({"rand_write_iops": 300_000}, "rand_write_iops", "above the sequential 900 MB/s"),
        ({"tbw_tb": 438}, "tbw_tb", "876 TB of 1 drive write a day for 5 years (assumed: no warranty_years)"),
        ({"tbw_tb": 438, "warranty_years": 1}, "tbw_tb", "not the 175 TB of 1 drive write a day for 1 year"),
        ({"die_gbit": 2048}, "die_gbit", "no TLC die of 2048 Gb is known; give 1024 or 512, or leave it out"),
        ({"dies": 4, "die_gbit": 512}, "dies", "4 dies of 512 Gb are 0.2749 TB for a capacity of 0.4801 TB"),
        ({"capacity_gb": 540, "tbw_tb": None}, "capacity_gb", "no whole number of dies gives 0.5401 TB"),
        ({"capacity_gb": 60, "tbw_tb": None, "seq_write_mbps": 90, "rand_write_iops": 4000,
          "rand_read_iops": 900_000}, "rand_read_iops", "that 1 die of 512 Gb can sense"),
        ({"seq_read_mbps": 3.5}, "rand_read_iops", "300,000 of 4 KiB are 1,229 MB/s, above the sequential 3.5 MB/s"),
        ({"read_latency_us": 8}, "read_latency_us", "8 us is less than the 40 us in which TLC senses a page"),
        ({"seq_read_latency_us": 70}, "seq_read_latency_us", "such a drive does not read ahead"),
        ({"read_latency_us": 80_000}, "read_latency_us", "of 80,000 us each need 24,000 in flight"),
        ({"rand_read_iops": 300}, "rand_read_iops", "300 reads a second are fewer than the 12,500 of one read of 80"),
        ({"mixed_iops": 200_000}, "mixed_iops", "60,000 writes of the mix are above the 40,000 of writes alone"),
        ({"power_active_w": 1.5}, "power_idle_w", "2 W idle is above the 1.5 W at work"),
    ],
)  # fmt: skip
def test_a_rating_that_no_such_drive_can_have_is_named(
    tmp_path: Path, keys: dict[str, object], key: str, text: str
) -> None:
    found = problems(changed(tmp_path, **keys))
    assert found[0].key == key
    assert text in found[0].text
    assert {one.key for one in found} == {key}


@pytest.mark.parametrize(("generation", "rated"), [(4, 7450), (5, 14_900)])
def test_drives_rated_at_what_the_largest_packets_carry_are_taken(
    tmp_path: Path, generation: int, rated: int
) -> None:
    assert problems(changed(tmp_path, pcie_generation=generation, seq_read_mbps=rated)) == []


def test_writes_above_what_flash_programs_may_be_those_of_an_slc_cache(tmp_path: Path) -> None:
    (found,) = problems(changed(tmp_path, seq_write_mbps=6000))
    assert found.text.endswith("1,680 MB/s; leave out the rate of an SLC cache")


def test_a_link_of_tags_is_held_to_the_32_ios_that_its_ratings_are_simulated_with(tmp_path: Path) -> None:
    sata: dict[str, object] = {"interface": "SATA", "pcie_generation": None, "rand_read_iops": 95_000}
    (found,) = problems(changed(tmp_path, **sata, seq_read_mbps=540, seq_write_mbps=450, read_latency_us=400))
    assert found.text.endswith("of 400 us each need 38 in flight; a rating is simulated with 32")


def test_random_reads_of_a_disk_are_bounded_by_its_turns(tmp_path: Path) -> None:
    (found,) = problems(sheet_of(DISK + "rand_read_iops = 1000\n", tmp_path))
    assert str(found) == "rand_read_iops: 1,000 reads a second are more than 8 in a turn at 7200 rpm"


def test_a_sheet_without_a_fault_has_no_problem(tmp_path: Path) -> None:
    assert problems(sheet_of(ACME, tmp_path)) == []
    assert problems(sheet_of(DISK, tmp_path)) == []


def test_problems_are_found_before_anything_is_simulated_and_nothing_is_written(
    tmp_path: Path, home: Path
) -> None:
    with pytest.raises(CatalogError, match="seq_read_mbps"):
        check(changed(tmp_path, seq_read_mbps=9000), None, force=False)
    assert not home.exists()


@pytest.mark.parametrize("name", ["samsung-pm9a3-7.68tb", "samsung-pm9a3"])
def test_a_sheet_does_not_hide_what_the_catalogue_comes_with(tmp_path: Path, name: str) -> None:
    with pytest.raises(RefusedError, match=rf"{name}: (is a device|are published results) of the catalogue"):
        check(changed(tmp_path, name=name), None, force=False)
    check(changed(tmp_path, name=name), None, force=True)


def test_a_check_does_not_ask_whether_the_drive_is_there_already(
    tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sheet = sheet_of(ACME, tmp_path)
    there = home / f"devices/{sheet.device_name}.toml"
    there.parent.mkdir(parents=True)
    there.write_text("")
    app(["new-device", str(tmp_path / "sheet.toml"), "--check"], standalone_mode=False)
    assert "no rating is impossible" in capsys.readouterr().out
    assert there.read_text() == ""


def test_dies_are_small_enough_to_sense_the_rated_random_reads(tmp_path: Path) -> None:
    sheet = changed(tmp_path, capacity_gb=1920, tbw_tb=None, pcie_generation=5, rand_read_iops=2_000_000,
                    seq_read_mbps=13_000)  # fmt: skip
    assert (flash_of(sheet).dies, flash_of(sheet).nand.die_gbit) == (32, 512)
    assert problems(sheet) == []


@pytest.mark.parametrize("dies", [128, 130, 192, 264])
def test_all_dies_of_a_sheet_are_on_channels_of_as_many(tmp_path: Path, dies: int) -> None:
    flash = flash_of(changed(tmp_path, capacity_gb=7680, tbw_tb=None, dies=dies, die_gbit=512))
    assert dies % flash.channels == 0
    assert dies // flash.channels <= MOST_DIES_PER_CHANNEL


@pytest.mark.parametrize(
    ("capacity_gb", "dies"), [(3840, 32), (7680, 64), (6400, 64), (15360, 128), (25600, 256)]
)
def test_dies_are_a_power_of_two_of_the_largest_that_program_the_rated_writes(
    tmp_path: Path, capacity_gb: int, dies: int
) -> None:
    sheet = changed(tmp_path, capacity_gb=capacity_gb, tbw_tb=None, seq_write_mbps=4000)
    assert (flash_of(sheet).dies, flash_of(sheet).nand.die_gbit) == (dies, 1024)
    fast = changed(tmp_path, capacity_gb=3840, tbw_tb=None, pcie_generation=5, seq_write_mbps=10_000)
    assert flash_of(fast).nand.die_gbit == 512


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"pcie_generation": 5},
        {"interface": "SATA", "pcie_generation": None, "seq_read_mbps": 540, "rand_read_iops": 90_000},
        {"interface": "SAS", "pcie_generation": None, "seq_read_mbps": 1100, "rand_read_iops": 200_000},
        {"nand": "QLC", "capacity_gb": 122_880, "tbw_tb": None},
    ],
)  # fmt: skip
def test_the_twin_takes_what_is_filled_in_and_each_parameter_has_basis_and_source(
    tmp_path: Path, keys: dict[str, object]
) -> None:
    device = draft(changed(tmp_path, **keys)).device
    assert device.twin is not None
    _core.ssd_parameters(twin_params_json(device))
    assert {one.basis for one in device.twin.parameters.values()} == {"published", "derived", "assumed"}
    assert all(one.source for one in device.twin.parameters.values())
    written = tomllib.loads(device_toml(device))["twin"]["parameters"]
    assert {name: one["value"] for name, one in written.items()} == {
        name: one.value for name, one in device.twin.parameters.items()
    }


def test_where_the_link_bounds_sequential_writes_random_ones_set_the_flash(tmp_path: Path) -> None:
    sata = {"interface": "SATA", "pcie_generation": None, "seq_read_mbps": 560, "rand_read_iops": 90_000}
    bound = draft(changed(tmp_path, **sata, seq_write_mbps=530))
    assert (bound.sets["seq_write_mbps"], bound.sets["rand_write_iops"]) == ("write_unit_ns", "program_us")
    free = draft(changed(tmp_path, **sata, seq_write_mbps=300))
    assert (free.sets["seq_write_mbps"], free.sets["rand_write_iops"]) == ("program_us", "gc_page_ns")


def test_ratings_of_larger_random_blocks_count_all_units_of_their_blocks(tmp_path: Path) -> None:
    def values(**keys: object) -> dict[str, float]:
        device = draft(changed(tmp_path, **keys)).device
        assert device.twin is not None
        found = device.twin.parameters
        return {name: float(found[name].value) for name in ("gc_page_ns", "command_ns", "read_unit_ns")}

    small, large = values(), values(rand_write_iops=50_000, rand_write_block_kib=16)
    same = values(rand_write_iops=200_000)
    assert large["gc_page_ns"] == same["gc_page_ns"]
    assert large["gc_page_ns"] != small["gc_page_ns"]
    reads = values(rand_read_iops=200_000, rand_read_block_kib=16)
    assert reads["command_ns"] == pytest.approx(1e9 / 200_000 - 4 * reads["read_unit_ns"], rel=0.01)


def test_a_drive_reads_ahead_where_its_sheet_rates_reads_in_order_quicker_than_flash_senses(
    tmp_path: Path,
) -> None:
    def parameters(**keys: object) -> Mapping[str, Parameter]:
        twin = draft(changed(tmp_path, **keys)).device.twin
        assert twin is not None
        return twin.parameters

    assert "read_ahead_bytes" not in parameters()
    assert parameters(seq_read_latency_us=8)["read_ahead_bytes"].value == 1 << 20
    assert draft(changed(tmp_path, seq_read_latency_us=8)).sets["seq_read_latency_us"] == "dram_read_us"


@pytest.mark.parametrize("name", ["solidigm-d5-p5336-122.88tb", "dapustor-r6060-122.88tb"])
def test_catalogue_drives_answer_a_lone_sequential_reader_in_the_rated_time(name: str) -> None:
    device = load_device(name)
    (case,) = [case for case in rated_cases(device) if case.row.workload == "rated-seq-read-latency"]
    job = row_job(device, case, {}, case.name, covered=PRECISION)
    measured = run_trial(job.parameters_json, job.trial, seed=2)
    assert measured.value(case.row, "latency_us") == pytest.approx(case.figures["latency_us"], rel=0.03)


def test_rated_power_sets_what_a_program_takes(tmp_path: Path) -> None:
    def energy(**keys: object) -> float:
        twin = draft(changed(tmp_path, **keys)).device.twin
        assert twin is not None
        return float(twin.parameters["program_uj"].value)

    assert energy(power_write_w=6) < energy(power_write_w=9)


def test_ratings_are_kept_with_their_source(tmp_path: Path) -> None:
    text = published_toml(published_of(sheet_of(ACME, tmp_path)))
    (group,) = tomllib.loads(text)["spec"]
    assert group["source"] == "Acme One data sheet, revision 3"
    assert group["rows"][0]["rand_read_iops"] == 300_000


def test_a_disk_is_made_found_by_name_and_marked_as_unchecked(tmp_path: Path, home: Path) -> None:
    sheet = sheet_of(DISK, tmp_path)
    made = make(sheet, check(sheet, None, force=False), HERE)
    assert [path.relative_to(home) for path in made.paths] == [
        Path("devices/acme-platter-24tb.toml"),
        Path("published/acme-platter-24tb.toml"),
    ]
    (rating,) = made.fitted.ratings
    assert (rating.key, rating.parameter, rating.met) == ("seq_read_mbps", "outer_mbps", True)
    device = load_device("acme-platter-24tb")
    assert device == made.fitted.device
    assert device.twin is not None
    assert device.twin.parameters["heads"].value == 20
    assert device.twin.parameters["outer_mbps"].basis == "calibrated"
    published = load_published("acme-platter-24tb")
    assert checked_text(device, published) == "none"
    assert checked_fact(device, published).endswith("calibrated on its data sheet alone")
    assert [case.row.workload for case in rated_cases(device)] == ["rated-seq-read"]
    with pytest.raises(RefusedError, match="exists; give --force"):
        check(sheet, None, force=False)
    assert check(sheet, None, force=True) == made.paths


def test_a_drive_that_nobody_has_measured_is_calibrated_on_its_ratings_and_never_validated() -> None:
    device = load_device("toshiba-mg11-24tb")
    found = calibrate(device, HERE)
    assert [case.row.workload for case in found.cases] == ["rated-seq-read"]
    assert found.after_pct == pytest.approx([0.0], abs=1)
    with pytest.raises(UsageError, match="`fathom calibrate toshiba-mg11-24tb` compares it"):
        devices_to_validate([device.name])
    assert every_case(device) == []


@pytest.mark.long
def test_the_drive_of_the_page_meets_its_ratings_and_each_has_set_one_parameter(tmp_path: Path) -> None:
    sheet = sheet_of(ACME, tmp_path)
    made = make(sheet, check(sheet, None, force=False), HERE)
    assert all(one.met for one in made.fitted.ratings)
    assert [one.parameter for one in made.fitted.ratings] == [
        "read_sense_us",
        "write_ack_us",
        "read_unit_ns",
        "command_ns",
        "program_us",
        "gc_page_ns",
    ]


def test_answers_at_a_terminal_make_the_sheet_and_its_text(tmp_path: Path) -> None:
    document = tomllib.loads(DISK)
    words = {
        "vendor": "vendor", "model": "model", "kind, ssd or disk": "kind", "capacity in GB": "capacity_gb",
        "interface: PCIe, SATA or SAS": "interface", "turns a minute": "rpm", "platters": "platters",
        "cache in MB": "cache_mb", "sequential reads in MB/s": "seq_read_mbps",
        "idle power in W": "power_idle_w", "source: document and revision": "source",
    }  # fmt: skip
    sheet, text = ask_for_sheet(lambda question: str(document.get(words.get(question, ""), "")))
    assert sheet == sheet_of(DISK, tmp_path)
    assert tomllib.loads(text) == document


def test_a_wrong_answer_is_asked_for_again_with_the_reason_and_upper_case_does_not_matter() -> None:
    given = ["Acme", "One", "SSD", "480 GB", "480", "pcie", "", "4", "4", "tlc", *[""] * 6]
    rates = ["M.2", "3,500", "900", "300k", "300_000", *[""] * 4, "sheet"]
    asked: list[str] = []
    answers = iter([*given, *rates])

    def answer(question: str) -> str:
        asked.append(question)
        return next(answers)

    sheet, _ = ask_for_sheet(answer)
    assert (sheet.kind, sheet.interface, sheet.nand, sheet.rand_read_iops) == ("ssd", "PCIe", "TLC", 300_000)
    assert [one for one in asked if "\n" in one] == [
        'capacity_gb: expected a number, found "480 GB"\ncapacity in GB',
        "a sheet needs this\nPCIe generation",
        'rand_read_iops: expected a number, found "300k"\nrandom reads a second',
    ]


def test_without_a_sheet_and_a_terminal_the_command_says_what_to_give(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    with pytest.raises(UsageError, match="name a TOML or JSON file"):
        app(["new-device"], standalone_mode=False)


def test_every_class_is_like_a_device_of_the_catalogue_of_its_kind() -> None:
    for one in classes().drive:
        twin = load_device(one.like).twin
        assert twin is not None
        assert twin.kind == one.kind


@pytest.mark.parametrize(
    ("note", "nand"),
    [
        ("176-layer 3D TLC", "176-layer 3D TLC"),
        ("generation 8, TLC, 1 Tb", "generation 8, TLC, 1 Tb"),
        ("176 layers", "176 layers TLC"),
        (None, "TLC"),
    ],
)
def test_the_type_of_the_nand_is_named_once(tmp_path: Path, note: str | None, nand: str) -> None:
    sheet = changed(tmp_path, nand_note=note)
    assert published_of(sheet).identity.nand == nand
    assert draft(sheet).device.identity.nand == f"{nand}, taken as 8 dies of 512 Gb"


SATA = """
vendor = "Acme"
model = "Sata"
kind = "ssd"
capacity_gb = 960
interface = "SATA"
nand = "TLC"
seq_read_mbps = 560
seq_write_mbps = 530
rand_read_iops = 94_000
rand_write_iops = 3_000
source = "Acme Sata data sheet"
"""


@pytest.fixture(scope="module")
def sata(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Made]:
    """A catalogue's folder with a drive whose sequential and random writes no twin can both meet."""
    folder = tmp_path_factory.mktemp("sata")
    sheet = sheet_of(SATA, folder)
    return folder, make(sheet, check(sheet, folder, force=False), HERE)


def test_a_program_time_unlike_that_of_the_class_is_named_where_ratings_set_it(
    sata: tuple[Path, Made], tmp_path: Path
) -> None:
    fitted = sata[1].fitted
    [one] = [one for one in fitted.outside if one.parameter == "program_us"]
    assert one.low < flash_of(sheet_of(SATA, tmp_path)).nand.program_us < one.high < one.value
    assert [one.key for one in fitted.ratings if not one.met] == ["seq_write_mbps"]


def test_a_program_time_that_the_draft_derives_and_no_rating_feels_is_named_too(tmp_path: Path) -> None:
    narrow = {"pcie_generation": 3, "pcie_lanes": 2, "seq_read_mbps": 1800, "seq_write_mbps": 1600}
    made = draft(changed(tmp_path, **narrow, rand_write_iops=390_000))
    [one] = fit(made, SpecRow(), HERE).outside
    assert one.parameter == "program_us"
    assert one.value < one.low < made.of_class["program_us"] < one.high


def test_a_missed_rating_is_a_warning_that_says_what_the_twin_does_and_what_to_do(
    sata: tuple[Path, Made],
) -> None:
    out = io.StringIO()
    print_made(Console(file=out, width=100, force_terminal=True, color_system="standard"), sata[1])
    [line] = [line for line in out.getvalue().splitlines() if "Warning" in line]
    assert re.search(r"seq_write_mbps is rated 530 MB/s, but the twin gives \d+", line)
    assert "limited by: program power" in line
    assert "Check the rating." in line
    assert line.startswith("\x1b[33m"), "yellow, as warnings are"
    [missed] = [one for one in sata[1].fitted.ratings if not one.met]
    assert "No parameter was fitted" in missed_words(replace(missed, parameter=None))


def test_a_missed_rating_is_kept_with_the_device_and_shown_with_it(
    sata: tuple[Path, Made], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, made = sata
    monkeypatch.setenv("FATHOM_CATALOG", str(folder))
    name = made.fitted.device.name
    device = load_device(name)
    assert device.twin
    [kept] = device.twin.missed
    [missed] = [one for one in made.fitted.ratings if not one.met]
    assert (kept.rating, kept.rated) == ("seq_write_mbps", 530)
    assert kept.limited_by == missed.limited_by
    assert kept.error_pct == pytest.approx(missed.error_pct, abs=0.1)

    shown = io.StringIO()
    print_entry(Console(file=shown, width=300), name)
    page = entry_view("devices", name).facts["misses"]
    for text in (shown.getvalue(), page):
        assert "seq_write_mbps is rated 530 MB/s, but the twin gives " in text
        assert "limited by: program power" in text


def test_the_misses_of_a_device_are_not_inherited_by_its_variants(
    sata: tuple[Path, Made], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, made = sata
    base = made.fitted.device
    devices = tmp_path / "devices"
    devices.mkdir()
    (devices / f"{base.name}.toml").write_text((folder / f"devices/{base.name}.toml").read_text())
    (devices / "other-960gb.toml").write_text(
        f'schema = "fathom-device/1"\nname = "other-960gb"\nvariant_of = "{base.name}"\n'
        "capacity_bytes = 960_000_000_000\n"
    )
    monkeypatch.setenv("FATHOM_CATALOG", str(tmp_path))
    other = load_device("other-960gb")
    assert base.twin
    assert base.twin.missed
    assert other.twin
    assert other.twin.missed == ()


def test_calibrate_finds_the_errors_that_the_new_drive_was_printed_with(
    sata: tuple[Path, Made], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, made = sata
    monkeypatch.setenv("FATHOM_CATALOG", str(folder))
    found = calibrate(load_device(made.fitted.device.name), HERE)
    assert found.before_pct == pytest.approx([one.error_pct for one in made.fitted.ratings])
