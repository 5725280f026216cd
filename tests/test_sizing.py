"""How many drives: against the counts that the SN861 review gives for one H100, and by hand."""

import json
import re
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from fathom.api.results import export_results, import_results
from fathom.catalog.pcie import link_of
from fathom.cli import app
from fathom.errors import UsageError
from fathom.load.resolve import resolve_targets
from fathom.method.method import load_method, parse_method
from fathom.prediction.words import range_words
from fathom.runs.reader import Run
from fathom.session import Options, start_run
from fathom.sizing.choose import choose, systems_to_compare
from fathom.sizing.drive import Drive, Figure, rated_drive
from fathom.sizing.files import Needs, read_prices
from fathom.sizing.measured import measured_drive
from fathom.sizing.needs import Kind, Need, parse_need
from fathom.sizing.size import size
from fathom.sizing.terminal import amount, basis_text, each_text, headline, sentences, sizing_json

SN861 = "wd-ultrastar-dc-sn861"


@pytest.mark.parametrize(
    ("device", "derate", "drives"),
    [("wd-ultrastar-dc-sn655", 1.0, 10), (SN861, 1.0, 5), (SN861, 0.9, 6)],
)
def test_one_h100_takes_as_many_drives_as_the_review_says(device: str, derate: float, drives: int) -> None:
    assert size(rated_drive(device), [parse_need("64 GB/s read")], derate).drives == drives


@pytest.mark.parametrize(
    ("text", "need"),
    [
        ("64 GB/s read", ("bandwidth", 64e9, "read")),
        ("1.5GiB/s write", ("bandwidth", 1.5 * 2**30, "write")),
        ("5M IOPS write", ("iops", 5e6, "write")),
        ("2M IOPS 70/30", ("iops", 2e6, "70/30")),
        ("900 IOPS read", ("iops", 900, "read")),
        ("500 TB", ("capacity", 500e12, None)),
        ("2 TB/day for 5 years", ("endurance", 2e12 * 365 * 5, None)),
        ("read in 0.1 ms", ("latency", 100, "read")),
        ("0.4 kW", ("power", 400, None)),
    ],
)
def test_needs_are_read_as_people_write_them(text: str, need: tuple[str, float, str | None]) -> None:
    parsed = parse_need(text)
    assert (parsed.kind, parsed.amount, parsed.op) == (need[0], pytest.approx(need[1]), need[2])


@pytest.mark.parametrize("text", ["64 GB/s", "fast", "5 X", "-3 TB", "0 TB", ""])
def test_what_is_no_need_is_refused_with_the_forms_there_are(text: str) -> None:
    with pytest.raises(UsageError, match="--need"):
        parse_need(text)


def test_no_need_takes_less_than_one_drive_or_more_than_can_be_counted() -> None:
    assert size(rated_drive(SN861), [parse_need("0.0001 IOPS read")]).drives == 1
    with pytest.raises(UsageError, match="asks for more than can be counted"):
        parse_need("9" * 400 + " TB")


def test_the_tightest_need_binds_and_the_next_is_named() -> None:
    sizing = size(
        rated_drive(SN861), [parse_need(text) for text in ("200 TB", "64 GB/s read", "1M IOPS read")]
    )
    assert sizing.drives == 27
    assert headline(sizing) == "27 x Western Digital Ultrastar DC SN861 7.68 TB: 200 TB binds"
    assert sentences(sizing)[0] == "Next limit: 64 GB/s read; 5 would do."


def test_a_power_budget_below_the_count_is_an_answer_of_none() -> None:
    sizing = size(rated_drive(SN861), [parse_need("60 W"), parse_need("30M IOPS read")])
    assert sizing.drives is None
    assert headline(sizing).endswith("60 W: enough for 3 drives; 10 are needed")
    sizing = size(rated_drive(SN861), [parse_need("20 W"), parse_need("30M IOPS read")])
    assert headline(sizing).endswith("20 W: enough for 1 drive; 10 are needed")


def test_the_power_of_writing_is_not_called_that_of_any_activity() -> None:
    assert rated_drive("micron-9550-max-12.8tb").figures["power", None].basis == "rated, writing"
    assert rated_drive("kioxia-cm9-r-15.36tb").figures["power", None].basis == "rated, active"


def test_a_latency_need_is_no_next_limit_of_a_number_of_drives() -> None:
    sizing = size(rated_drive(SN861), [parse_need("200 TB"), parse_need("read in 1 ms")])
    assert not any("Next limit" in one for one in sentences(sizing))
    assert sizing_json(sizing)["next"] is None


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("bandwidth", 285e6, "285 MB/s"),
        ("bandwidth", 6.7e9, "6.70 GB/s"),
        ("bandwidth", 1.4e12, "1,400.00 GB/s"),
        ("power", 13.5, "13.5 W"),
        ("power", 1_234_567.0, "1,235,000 W"),
    ],
)
def test_a_figure_of_any_size_is_read_without_exponent_and_to_three_digits(
    kind: Kind, value: float, text: str
) -> None:
    assert amount(kind, value) == text


def test_more_drives_do_not_make_one_read_faster() -> None:
    sizing = size(rated_drive(SN861), [parse_need("read in 20 us")])
    assert sizing.drives is None
    assert "more drives do not make one I/O faster" in headline(sizing)


def test_endurance_is_drive_writes_a_day_over_the_warranty() -> None:
    figure = rated_drive(SN861 + "-7.68tb").figures["endurance", None]
    assert figure.value == pytest.approx(7.68e12 * 365 * 5)
    assert figure.basis == "1 drive write a day for 5 years"


def test_a_whole_multiple_takes_no_drive_too_many() -> None:
    drive = Drive("d", "d", {("bandwidth", "read"): Figure(0.1e9, "rated", "test")})
    assert size(drive, [Need("n", "bandwidth", 0.3e9, "read")]).drives == 3


def test_a_power_budget_that_is_a_whole_multiple_loses_no_drive() -> None:
    drive = Drive("d", "d", {("power", None): Figure(0.1, "rated", "test")})
    assert size(drive, [Need("n", "power", 0.3)]).answers[0].drives == 3


def test_pcie_5_x16_carries_63_gb_per_second_raw() -> None:
    label, raw = link_of("5x16")
    assert (label, round(raw / 1e9, 2)) == ("PCIe 5.0 x16", 63.02)
    assert sentences(size(rated_drive(SN861), [parse_need("64 GB/s read")]))[-1] == (
        "64 GB/s read over one PCIe 5.0 x16: 63.0 GB/s raw; one link cannot carry it: spread it over 2 links."
    )


def test_a_need_of_many_links_is_spread_over_as_many_as_carry_it() -> None:
    sizing = size(rated_drive(SN861), [parse_need("200 GB/s read")])
    assert sentences(sizing)[-1].endswith("one link cannot carry it: spread it over 4 links.")


def test_a_random_rating_of_other_blocks_is_no_figure_of_4_kib(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FATHOM_CATALOG", str(tmp_path))
    (tmp_path / "published").mkdir()
    identity = 'vendor = "Acme"\nmodel = "Q"\nkind = "ssd"\nsource = "s"'
    row = "capacity_gb = 30720, rand_read_iops = 900000, rand_write_iops = 40000, rand_write_block_kib = 16"
    (tmp_path / "published/acme-q.toml").write_text(
        f'schema = "fathom-published/1"\nname = "acme-q"\n[identity]\n{identity}\n'
        f'[[spec]]\nsource = "s"\nrows = [{{ {row} }}]\n'
    )
    figures = rated_drive("acme-q").figures
    assert figures["iops", "read"].value == 900_000
    assert ("iops", "write") not in figures


def test_a_disks_rated_bandwidth_is_that_of_its_outer_tracks() -> None:
    assert rated_drive("seagate-exos-x24-24tb").figures["bandwidth", "read"].basis == "rated, outer tracks"
    assert rated_drive(SN861).figures["bandwidth", "read"].basis == "rated"


def test_no_run_is_asked_for_what_no_run_measures() -> None:
    sizing = size(rated_drive("solidigm-d5-p5336-122.88tb"), [parse_need("20 TB/day for 5 years")])
    assert headline(sizing).endswith("its data sheet in the catalogue does not rate it")


def test_a_system_is_not_sized_as_a_drive_and_the_command_that_does_is_named() -> None:
    with pytest.raises(UsageError, match=r"fathom choose NEEDS\.toml weka-cluster-mainstream-7450-pro"):
        rated_drive("weka-cluster-mainstream-7450-pro")


SHORT = """
schema = "fathom-method/1"
name = "short"
[[steps]]
name = "r"
[steps.job]
mix = "read"
block = "4KiB"
pattern = "uniform"
load = { threads = 1, iodepth = 1 }
until = { time = "1ms" }
"""
"""Reads for so short a time that few end in it."""


@pytest.fixture(scope="module")
def own_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Four corners of one twin."""
    method = load_method("four-corners", quick=True)
    out = tmp_path_factory.mktemp("runs")
    return start_run(method, resolve_targets(["twin:samsung-pm9a3-7.68tb"]), Options(out=out))


def corner(run: Run, op: str, block_bytes: int) -> dict[str, float]:
    rows = run.points.to_pylist()
    return next(row for row in rows if row["op"] == op and row["block_bytes"] == block_bytes)


def test_a_run_of_ones_own_drive_sizes_by_what_it_measured(own_run: Run) -> None:
    best = corner(own_run, "read", 256 * 1024)["mbps"]
    sizing = size(measured_drive(own_run.path), [parse_need("64 GB/s read")])
    assert sizing.answers[0].each == pytest.approx(best * 1e6)
    assert sizing.drives == -(-64e9 // (best * 1e6))


def test_a_rate_of_a_few_ios_is_said_to_be_that(own_run: Run, tmp_path: Path) -> None:
    method = parse_method(SHORT, "short.toml")
    targets = resolve_targets(["twin:samsung-pm9a3-7.68tb?settled_share=1.0"])
    short = start_run(method, targets, Options(out=tmp_path))
    need = [parse_need("1M IOPS read")]
    [said] = [one for one in sentences(size(measured_drive(short.path), need)) if "only" in one]
    [row] = short.points.to_pylist()
    assert f"step r, had only {row['n']} I/Os: its rate may be far off" in said
    assert not any("only" in one for one in sentences(size(measured_drive(own_run.path), need)))


def test_a_rate_that_supports_no_claim_or_was_offered_is_said_to_be_that(tmp_path: Path) -> None:
    text = SHORT.replace('"1ms"', '"2s"').replace("iodepth = 1", 'iodepth = 32, rate = "5k/s"')
    run = start_run(
        parse_method(text, "slow.toml"), resolve_targets(["twin:samsung-pm9a3-7.68tb"]), Options(out=tmp_path)
    )
    said = sentences(size(measured_drive(run.path), [parse_need("1M IOPS read")]))
    assert any("step r, had the rate that was offered: a drive may do more" in one for one in said)
    assert any(
        "step r, supports no claim: the run had left part of its region unwritten" in one for one in said
    )
    assert not any("step r" in one for one in measured_drive(run.path, [parse_need("10 GB/s write")]).notes)


TRIMS = """
schema = "fathom-method/1"
name = "trims"
[[steps]]
name = "beside"
[steps.job]
mix = { read = 70, trim = 30 }
block = "4KiB"
pattern = "uniform"
region = "64MiB"
load = { threads = 1, iodepth = 32 }
until = { time = "20ms" }
[[steps]]
name = "mixed"
[steps.job]
mix = { read = 70, write = 30 }
block = "4KiB"
pattern = "uniform"
region = "64MiB"
load = { threads = 1, iodepth = 4 }
until = { time = "20ms" }
"""
"""Reads beside trims, and a mix of reads and writes with less in flight."""


def test_reads_beside_trims_are_no_mix_of_reads_and_writes(tmp_path: Path) -> None:
    targets = resolve_targets(["twin:samsung-pm9a3-7.68tb"])
    run = start_run(parse_method(TRIMS, "trims.toml"), targets, Options(out=tmp_path))
    figures = measured_drive(run.path).figures
    mixed = [row["iops"] for row in run.points.to_pylist() if row["step"] == "mixed"]
    assert figures["iops", "70/30"].value == pytest.approx(sum(mixed))
    assert ("iops", "read") not in figures


ROUNDS = """
schema = "fathom-method/1"
name = "fresh"
[[steps]]
name = "rounds"
kind = "rounds"
rounds = { most = 6, track = ["w"] }
[[steps.steps]]
name = "w"
[steps.steps.job]
mix = "write"
block = "4KiB"
pattern = "uniform"
load = { threads = 4, iodepth = 32 }
until = { time = "2s" }
"""
"""Random writes to a fresh drive, which slows down from round to round."""


def test_of_rounds_the_last_counts_and_not_the_fresh_drive_of_the_first(tmp_path: Path) -> None:
    target = resolve_targets(["twin:samsung-pm9a3-7.68tb?slice_denominator=4096"])
    run = start_run(parse_method(ROUNDS, "rounds.toml"), target, Options(out=tmp_path))
    rates = [row["iops"] for row in run.points.to_pylist()]
    assert rates[0] > 2 * rates[-1]
    assert measured_drive(run.path).figures["iops", "write"].value == rates[-1]


def test_of_two_latency_needs_of_reads_the_tighter_one_counts(own_run: Run) -> None:
    point = corner(own_run, "read", 4096)
    tight, loose = (parse_need(f"read in {point['mean_us'] * share:.3f} us") for share in (0.99, 1.01))
    for needs in ([tight, loose], [loose, tight]):
        assert ("iops", "read") not in measured_drive(own_run.path, needs).figures


def test_rates_of_a_twin_are_called_simulated_with_their_range_and_the_count_at_its_low_end(
    own_run: Run,
) -> None:
    sizing = size(measured_drive(own_run.path), [parse_need("64 GB/s read")])
    (answer,) = sizing.answers
    assert answer.figure
    assert answer.figure.spread
    assert basis_text(answer) == f"simulated, {range_words(answer.figure.spread)}"
    low, _ = answer.figure.spread.around(answer.figure.value)
    assert sizing.drives_at_low_end == -(-64e9 // low)
    assert sentences(sizing)[:3] == [
        "Simulated: a twin's rate, with the range that 80 % of measurements lie in.",
        "The run is shortened, and not for quoting.",
        f"At the low end of the 80 % ranges {sizing.drives_at_low_end} drives are needed.",
    ]


def test_a_data_sheet_beside_a_run_adds_what_no_run_measures(own_run: Run) -> None:
    life, rate = parse_need("20 TB/day for 5 years"), parse_need("64 GB/s read")
    alone = measured_drive(own_run.path)
    assert "--device NAME adds" in headline(size(alone, [life]))
    both = alone.with_ratings(rated_drive("samsung-pm9a3"))
    assert size(both, [life]).drives == 3
    assert size(both, [rate]).answers == size(alone, [rate]).answers


def test_a_run_of_an_array_sizes_by_arrays_and_takes_no_rating_of_one_drive(tmp_path: Path) -> None:
    method = parse_method(SHORT, "short.toml")
    targets = resolve_targets(["twin:samsung-pm9a3-7.68tb?settled_share=1.0*2"])
    run = start_run(method, targets, Options(out=tmp_path))
    array = measured_drive(run.path)
    assert (array.noun, size(array, [parse_need("1 TB")]).drives) == ("array", 1)
    assert array.notes[0] == (
        "Simulated: the rate of several twins together. Ranges are known of single drives alone."
    )
    with pytest.raises(UsageError, match=r"rates one drive, and 2 x Samsung PM9A3 .* is one array"):
        array.with_ratings(rated_drive("samsung-pm9a3"))


def test_a_run_that_records_no_capacity_sizes_by_its_rates(own_run: Run, tmp_path: Path) -> None:
    file = tmp_path / "fio.json"
    file.write_bytes(export_results(own_run, "fio-json+"))
    (imported,) = import_results(file, out=tmp_path / "runs").runs
    drive = measured_drive(imported)
    assert drive.figures["iops", "read"].value == pytest.approx(
        corner(own_run, "read", 4096)["iops"], rel=1e-3
    )
    assert drive.notes[0] == "Simulated: a twin's rate, without a range: its device is not in this catalogue."
    assert headline(size(drive, [parse_need("1 TB")])).endswith("the run does not say what its drive holds")


def test_the_size_of_a_file_is_not_the_capacity_of_its_drive(tmp_path: Path) -> None:
    method = parse_method(SHORT.replace("1ms", "1s"), "short.toml")
    targets = resolve_targets([f"file:{tmp_path / 'scratch'}"], size_bytes=1 << 20)
    run = start_run(method, targets, Options(out=tmp_path))
    assert ("capacity", None) not in measured_drive(run.path).figures


def test_only_points_that_keep_a_latency_need_count(own_run: Run) -> None:
    point = corner(own_run, "read", 4096)
    above, below = (parse_need(f"read in {point['mean_us'] * share:.3f} us") for share in (1.01, 0.99))
    kept = measured_drive(own_run.path, [above]).figures
    assert kept["iops", "read"].value == point["iops"]
    assert kept["latency", "read"].value == point["mean_us"]
    missed = measured_drive(own_run.path, [below])
    assert ("iops", "read") not in missed.figures
    assert ("iops", "write") in missed.figures
    assert size(missed, [below]).drives is None
    assert missed.absent.endswith("within the latency needed")
    assert "latency" not in measured_drive(own_run.path).absent


def test_a_need_that_the_run_has_no_figure_of_is_not_called_impossible(own_run: Run) -> None:
    unknown = size(measured_drive(own_run.path), [parse_need("1M IOPS 70/30")])
    assert re.match(
        "How many .* this takes is not known: 1M IOPS 70/30: no workload of the run", headline(unknown)
    )
    impossible = size(measured_drive(own_run.path), [parse_need("read in 1 us")])
    assert headline(impossible).startswith("No number of ")


def test_a_mix_counts_reads_and_writes_together_and_both_keep_the_latency(
    own_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = corner(own_run, "read", 4096) | {"step": "mix", "read_pct": 70.0, "iops": 700.0, "mean_us": 90.0}
    write = read | {"op": "write", "iops": 300.0, "mean_us": 40.0}
    mixed = pa.Table.from_pylist([read, write], schema=own_run.points.schema)
    monkeypatch.setattr(Run, "points", mixed)
    assert measured_drive(own_run.path).figures["iops", "70/30"].value == 1000
    for text, counts in [("read in 100 us", True), ("read in 80 us", False), ("write in 30 us", False)]:
        figures = measured_drive(own_run.path, [parse_need(text)]).figures
        assert (("iops", "70/30") in figures) is counts


def test_a_system_is_chosen_by_a_run_of_it_where_there_is_one(own_run: Run) -> None:
    stated = Needs.model_validate({"schema": "fathom-needs/1", "needs": ["100 TB", "5M IOPS read"]})
    names = ["weka-cluster-high-capacity-6500-ion", "weka-cluster-mainstream-7450-pro"]
    prices = read_prices(None)
    choice = choose(stated, systems_to_compare(names, [f"{names[1]}={own_run.path}"], stated, prices), prices)
    read_iops = corner(own_run, "read", 4096)["iops"]
    assert [offer.count for offer in choice.offers] == [1, -(-5e6 // read_iops)]
    assert choice.offers[1].system.usable_bytes == 304e12
    with pytest.raises(UsageError, match="names no system of this comparison"):
        systems_to_compare(names, ["weka=last"], stated, prices)
    with pytest.raises(UsageError) as none_named:
        systems_to_compare([], ["weka=last"], stated, prices)
    assert none_named.value.hint == "write SYSTEM=RUN"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--device", "wd-ultrastar-dc-sn6"], "no data sheet of that name"),
        (["--device", SN861 + "-5tb"], "no such capacity"),
        (["--device", SN861, "--derate", "0"], "--derate 0"),
        (["--device", SN861, "--link", "9x16"], "not a PCIe link"),
        (["--device", SN861, "--link", "²x16"], "not a PCIe link"),
        ([], "no drive to size with"),
    ],
)
def test_mistakes_are_answered_in_one_line(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(app, ["size", "--need", "64 GB/s read", *arguments])
    assert isinstance(result.exception, UsageError)
    assert message in str(result.exception)


def test_json_has_the_count_what_binds_and_the_sources() -> None:
    result = CliRunner().invoke(app, ["size", "--need", "64 GB/s read", "--device", SN861, "--json"])
    document = json.loads(result.stdout)
    assert (document["schema"], document["drives"], document["binds"]) == ("fathom-size/1", 5, "64 GB/s read")
    assert document["needs"][0]["source"]
    assert document["links"][0]["carries"] is False


def test_a_device_of_the_catalogue_is_rated_by_its_own_form_factor() -> None:
    figures = rated_drive("samsung-pm9a3-7.68tb").figures
    assert figures["bandwidth", "write"].value == 4000e6, "not the 3200 MB/s of the E1.S variant"
    assert figures["iops", "write"].value == 200_000, "not its 150,000"


def test_a_derated_figure_stands_beside_the_whole_one() -> None:
    sizing = size(rated_drive(SN861), [parse_need("64 GB/s read")], 0.9)
    assert each_text(sizing.answers[0], sizing) == "12.33 GB/s (0.9 of 13.70 GB/s)"
    assert sentences(sizing)[0] == "Bandwidth and IOPS of one drive count at 0.9 of what it does (derate)."
