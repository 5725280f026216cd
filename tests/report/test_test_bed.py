"""The test bed of a report: which machines, links and drives stand in it, and that its picture can be read."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import synthetic
from fathom.load.resolve import resolve_targets
from fathom.method.method import parse_method
from fathom.report import write_html
from fathom.report.blocks import Diagram, Table
from fathom.report.comparison import compare
from fathom.report.data import load
from fathom.report.sections import test_bed
from fathom.session import Options, start_run
from synthetic import Visit, unfolded

Open = Callable[..., Visit]

READS = """
schema = "fathom-method/1"
name = "reads"
[[steps]]
name = "read"
job = { mix = "read", block = "4KiB", pattern = "uniform", load = { iodepth = 4 }, until = { time = "10ms" } }
"""

REACH = """() => [...document.querySelectorAll('.diagram svg')].map((svg) => {
  const seen = svg.getBoundingClientRect();
  const boxes = [...svg.querySelectorAll('.box')].map((box) => box.getBoundingClientRect());
  const apart = boxes.every((a, i) => boxes.every((b, j) => i === j ||
    a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top));
  return { right: seen.right, scale: seen.width / svg.viewBox.baseVal.width, apart, boxes: boxes.length };
})"""


def _device(name: str, **identity: object) -> synthetic.Fake:
    return replace(synthetic.FILE, name=f"/dev/{name}", label=name, kind="device", identity=identity)


def _blocks(path: Path, targets: list[synthetic.Fake]) -> tuple[list[Diagram], list[Table]]:
    section = test_bed.build(compare([load(synthetic.make_run(path / "run", targets))], _no_row))
    assert section is not None
    diagrams = [block for block in section.blocks if isinstance(block, Diagram)]
    return diagrams, [block for block in section.blocks if isinstance(block, Table)]


def _no_row(device: str, workload: str) -> list[synthetic.FakeRow]:
    return []


def _cells(table: Table) -> dict[str, list[str]]:
    return {row.label.text: [cell.text for cell in row.cells] for group in table.groups for row in group.rows}


def test_twins_on_one_bench_share_the_machine_that_their_source_names(tmp_path: Path) -> None:
    [diagram], [machines, drives] = _blocks(tmp_path, list(synthetic.TWINS))
    assert _cells(machines)["memory"] == ["1 TB DDR5", "–"]
    assert len(drives.head) == len(synthetic.TWINS)
    assert {join.label for join in diagram.joins} >= {"PCIe Gen5 x4"}
    titles = [node.title for node in diagram.nodes]
    assert titles[:2] == ["Dell PowerEdge R760", "Serial Cables 8-bay PCIe Gen5 JBOF"]


@pytest.mark.parametrize(
    ("device", "path", "links"),
    [
        (
            "atto-xstreamcore-9400",
            [
                "2 × Supermicro X10DRU-i+",
                "2 × Dell PowerEdge R630",
                "Mellanox SN2100",
                "ATTO XstreamCORE 9400",
            ],
            {"100GbE", "4 x 100GbE", "PCIe Gen3 x16", "PCIe Gen3 x4"},
        ),
        (
            "weka-6x-micron-9400-pro",
            [
                "12 × Supermicro AS-1114S-WN10RT",
                "NVIDIA SN4700, 32 ports of 400GbE",
                "6 × Supermicro AS-1115CS-TNR",
            ],
            {"200 Gbit/s", "2 x 200 Gbit/s", "PCIe Gen4 x4"},
        ),
    ],
)
def test_a_simulated_system_is_drawn_from_its_hosts_to_its_drives(
    tmp_path: Path, device: str, path: list[str], links: set[str]
) -> None:
    twin = replace(synthetic.TWINS[0], name=f"twin:{device}", label=device, catalog=device)
    [diagram], _ = _blocks(tmp_path, [twin])
    assert [node.title for node in diagram.nodes][: len(path)] == path
    assert {join.label for join in diagram.joins} == links


def test_the_table_of_drives_has_endurance_reliability_size_and_temperature(tmp_path: Path) -> None:
    _, [_, drives, *_] = _blocks(tmp_path, list(synthetic.TWINS[:1]))
    cells = {name: texts[0] for name, texts in _cells(drives).items()}
    assert cells["endurance"] == "1 DWPD"
    assert cells["MTTF"] == "2,500,000 h"
    assert cells["UBER"] == "1e-17 per bit"
    assert cells["warranty"] == "5 years"
    assert cells["size"] == "69.85 x 100.45 x 15 mm"
    assert cells["operating"] == "0 to 70 °C"


def test_the_reviewers_caveat_stands_below_the_figures_of_its_drive_alone(report: Path, visit: Open) -> None:
    footnotes = unfolded(visit(report).page).locator("#results .footnotes").inner_text()
    assert "KIOXIA CM7-R 7.68TB: The reviewed unit came out of a Dell server" in footnotes
    assert footnotes.count("Dell server") == 1


def test_a_real_drive_stands_with_its_firmware_and_its_link(tmp_path: Path) -> None:
    drive = _device("nvme0n1", model="ACME ONE", firmware="1.2", link_speed_gtps=16.0, link_width_lanes=4)
    [diagram], [_, drives] = _blocks(tmp_path, [drive])
    assert _cells(drives)["firmware"] == ["1.2"]
    assert [join.label for join in diagram.joins] == ["PCIe Gen4 x4"]
    assert diagram.nodes[-1].title == "ACME ONE"


def test_a_file_on_a_stack_stands_with_its_drive_and_the_layers_between(tmp_path: Path) -> None:
    file = _device("dm-1", model="ACME ONE", layers=["LVM", "dm-crypt"], transport="sata")
    [diagram], [_, drives] = _blocks(tmp_path, [file])
    assert _cells(drives)["through"] == ["LVM, dm-crypt"]
    assert diagram.nodes[-1].title == "ACME ONE"


def test_a_file_on_several_drives_says_how_many(tmp_path: Path) -> None:
    [diagram], _ = _blocks(tmp_path, [_device("md127", layers=["raid1"], drives=2)])
    assert diagram.nodes[-1].title == "2 drives"


@pytest.mark.parametrize(("devices", "title"), [(("8:0", "8:0"), "DISK"), (("8:0", "8:16"), "2 × DISK")])
def test_files_of_an_array_on_one_device_stand_on_one_drive(
    devices: tuple[str, str], title: str, tmp_path: Path
) -> None:
    folder = synthetic.make_run(
        tmp_path / "run", [replace(synthetic.FILE, name="array:file:/mnt/a,file:/mnt/b", kind="array")]
    )
    column = compare([load(folder)], _no_row).columns[0]
    whole = column.target.model_copy(update={"identity": {}})
    files = [
        whole.model_copy(
            update={
                "name": f"file:/mnt/{name}",
                "kind": "file",
                "part_of": whole.name,
                "identity": {"dev": dev, "model": "DISK"},
            }
        )
        for name, dev in zip("ab", devices, strict=True)
    ]
    column.run.document.targets[:] = [whole, *files]
    section = test_bed.build(replace(compare([column.run], _no_row), columns=[column]))
    assert section is not None
    [*_, drives] = [block for block in section.blocks if isinstance(block, Table)]
    assert [head.text for head in drives.head] == [title]


def test_a_target_over_a_network_shows_the_network(tmp_path: Path) -> None:
    [diagram], _ = _blocks(tmp_path, [_device("nvme1n1", model="ACME", transport="nvme-tcp")])
    assert "NVMe over TCP" in [node.title for node in diagram.nodes]


def test_a_twin_with_set_parameters_has_the_price_of_its_drive(tmp_path: Path) -> None:
    drive = "micron-7450-pro-7.68tb"
    twins = [
        replace(synthetic.TWINS[0], name=f"twin:{name}", label=label, catalog=name)
        for name, label in ((drive, "as it is"), (f"{drive}?op=0.28", "with more spare space"))
    ]
    _, tables = _blocks(tmp_path, twins)
    shown = _cells(tables[-1])
    assert shown["as it is"][0] == shown["with more spare space"][0] == "7.68"


@pytest.mark.parametrize(
    ("target", "titles"),
    [
        ("twin:samsung-pm9a3-7.68tb*3", ["3 × Samsung PM9A3 7.68TB"]),
        (
            "array:twin:samsung-pm9a3-7.68tb,twin:samsung-pm9a3-7.68tb?op=0.28,twin:wd-ultrastar-dc-sn861-7.68tb",
            [
                "Samsung PM9A3 7.68TB",
                "Samsung PM9A3 7.68TB (28 % over-provisioning)",
                "WD Ultrastar DC SN861 7.68TB",
            ],
        ),
    ],
)
def test_the_drives_of_an_array_stand_each_with_its_own_data_sheet(
    target: str, titles: list[str], tmp_path: Path
) -> None:
    reads = parse_method(READS, "reads.toml")
    run = start_run(reads, resolve_targets([target]), Options(out=tmp_path))
    section = test_bed.build(compare([load(run.path)], _no_row))
    assert section is not None
    drives = [block for block in section.blocks if isinstance(block, Table)][-1]
    assert [head.text for head in drives.head] == titles
    links = ["PCIe Gen5 x4" if "SN861" in title else "PCIe Gen4 x4" for title in titles]
    assert _cells(drives)["link to it"] == links


def test_a_twin_that_the_catalogue_does_not_know_is_said_to_be_one(tmp_path: Path) -> None:
    twin = replace(synthetic.TWINS[0], name="twin:gone", catalog="gone")
    [diagram], _ = _blocks(tmp_path, [twin])
    assert [node.title for node in diagram.nodes] == [twin.label]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_picture_is_whole_and_in_full_size_on_screens_wide_and_narrow(
    report: Path, visit: Open, width: int, dark: bool
) -> None:
    seen = visit(report, width=width, dark=dark)
    unfolded(seen.page)
    pictures = seen.page.evaluate(REACH)
    assert pictures
    for picture in pictures:
        assert picture["right"] <= width
        assert picture["scale"] > 0.9
        assert picture["apart"]
        assert picture["boxes"] > 1
    assert seen.complaints == []


def test_the_picture_of_many_hosts_keeps_its_size_on_a_telephone(visit: Open, tmp_path: Path) -> None:
    twin = replace(synthetic.TWINS[0], name="twin:atto", catalog="atto-xstreamcore-9400")
    run = synthetic.make_run(tmp_path / "run", [twin])
    page = unfolded(visit(write_html([run], tmp_path / "report.html", _no_row), width=390).page)
    [picture] = page.evaluate(REACH)
    assert picture["right"] <= 390
    assert picture["scale"] > 0.9


def test_on_paper_the_picture_runs_from_left_to_right_in_light_colours(report: Path, visit: Open) -> None:
    page = unfolded(visit(report, width=390, dark=True).page)
    assert page.locator(".diagram").first.get_attribute("data-wide") == "false"
    page.emulate_media(media="print")
    page.wait_for_selector(".diagram[data-wide=true]")
    ink = page.evaluate("() => getComputedStyle(document.querySelector('.diagram text.title')).fill")
    assert ink == "rgb(22, 25, 29)"


def test_a_page_that_draws_a_diagram_carries_the_licence_of_its_library(report: Path) -> None:
    text = report.read_text()
    assert "Chris Pettitt" in text
    assert "Permission is hereby granted" in text
