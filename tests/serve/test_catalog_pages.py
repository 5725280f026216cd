"""The catalogue as pages: every entry is listed and has a page, figures and sources are those of the files."""

import html
import re
from pathlib import Path

import pytest

from fathom.catalog import device_names, entries, entry_text, load_device, load_published
from fathom.catalog.load import is_about
from serve_client import Served

SN861 = "wd-ultrastar-dc-sn861-7.68tb"
PLAYED = {SN861, "atto-xstreamcore-9400", "weka-6x-micron-6500-ion"}
"""A drive and a system of each kind, with a twin in their pages."""
NOT_PLAYED = {"wd-ultrastar-dc-zn540-1tb", "seagate-exos-x24-24tb"}


@pytest.fixture(scope="module")
def catalogue(served: Served) -> str:
    answer = served.ask("/catalog")
    assert answer.status == 200
    return answer.text


def row_of(text: str, address: str) -> str:
    start = text.index(f'href="{address}"')
    return text[start : text.index("</tr>", start)]


def test_every_device_and_bench_is_listed_and_each_link_leads_to_a_page(
    served: Served, catalogue: str
) -> None:
    links = set(re.findall(r'href="(/catalog/[^"]+)"', catalogue))
    assert {f"/catalog/devices/{name}" for name in device_names()} <= links
    assert {f"/catalog/systems/{entry.name}" for entry in entries("systems")} <= links
    for link in links:
        assert served.ask(link).status == 200, link


def test_the_list_has_the_ratings_of_the_data_sheet(catalogue: str) -> None:
    row = row_of(catalogue, f"/catalog/devices/{SN861}")
    published = load_published(str(load_device(SN861).published))
    [rated] = [one for one in published.ratings if is_about(one, load_device(SN861))]
    for head, value in (
        ("read MB/s", rated.seq_read_mbps),
        ("write MB/s", rated.seq_write_mbps),
        ("read kIOPS", (rated.rand_read_iops or 0) / 1000),
        ("write kIOPS", (rated.rand_write_iops or 0) / 1000),
        ("DWPD", rated.endurance_dwpd),
    ):
        assert f'data-head="{head}">{value:,.0f}<' in row
    assert "StorageReview" in row


def test_a_doubtful_rating_is_marked_in_the_list(catalogue: str) -> None:
    assert "(?)" in row_of(catalogue, "/catalog/devices/kioxia-cm7-r-7.68tb")


@pytest.mark.parametrize("name", [SN861, "wd-ultrastar-dc-hc560-20tb", "samsung-pm9a3-7.68tb"])
def test_the_page_of_a_device_has_every_parameter_result_and_source(served: Served, name: str) -> None:
    text = html.unescape(served.ask(f"/catalog/devices/{name}").text)
    device = load_device(name)
    assert device.twin is not None
    assert all(f">{parameter}</td>" in text for parameter in device.twin.parameters)
    rows = [row for row in load_published(str(device.published)).rows if is_about(row, device)]
    assert rows
    for row in rows:
        assert row.workload in text
        assert re.sub(r" \(\d{3}_[0-9a-f]{16}\)", "", row.source) in text
    assert f'href="/start?twin={name}"' in text
    assert f'href="/catalog/systems/{device.twin.bench}"' in text


def test_a_command_in_a_fact_is_shown_as_code(served: Served) -> None:
    text = served.ask(f"/catalog/devices/{SN861}").text
    assert f"<code>fathom validate {SN861}</code>" in text
    assert "`" not in text


def test_a_system_has_the_sources_of_its_product_and_leads_to_its_figures(
    served: Served, catalogue: str
) -> None:
    assert "Micron" in row_of(catalogue, "/catalog/devices/weka-6x-micron-7450-pro").partition('"source"')[2]
    text = served.ask("/catalog/devices/weka-6x-micron-7450-pro").text
    [published] = re.findall(r'href="(/catalog/published/[^"]+)"', text)
    assert "Published results on" in served.ask(published).text


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(PLAYED | NOT_PLAYED, id="one of each kind"),
        pytest.param(set(device_names()), id="all", marks=pytest.mark.long),
    ],
)
def test_what_can_be_played_with_leads_to_its_page_and_what_cannot_has_none(
    served: Served, names: set[str]
) -> None:
    played = set()
    for name in names:
        page = f"/catalog/devices/{name}/what-if"
        is_linked = f'href="{page}"' in served.ask(f"/catalog/devices/{name}").text
        answer = served.ask(page)
        assert answer.status == (200 if is_linked else 400), name
        if is_linked:
            played.add(name)
            assert f'href="/catalog/devices/{name}"' in answer.text
            assert "'wasm-unsafe-eval'" in answer.text
    assert played >= PLAYED
    assert played.isdisjoint(NOT_PLAYED)


@pytest.mark.parametrize(
    "path",
    [
        "/catalog/devices/no-such/what-if",
        f"/catalog/devices/{SN861}%3Fslice_denominator=1/what-if",
        f"/catalog/published/{SN861}/what-if",
        "/catalog/devices/no-such",
        "/catalog/devices/..%2f..%2fetc%2fpasswd",
        "/catalog/devices/%00",
        "/catalog/devices/%3Cscript%3Ealert(1)%3C%2Fscript%3E",
        f"/catalog/devices/{SN861}%3Fslice_denominator=1",
        f"/catalog/published/{SN861}",
        "/catalog/methods/four-corners",
        "/catalog/nothing/at-all",
    ],
)
def test_a_name_that_is_no_entry_has_no_page(served: Served, path: str) -> None:
    answer = served.ask(path)
    assert answer.status in (400, 404)
    assert "<script>alert(1)" not in answer.text


def test_entries_of_the_users_are_text_and_damaged_ones_say_why(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    devices = tmp_path / "devices"
    devices.mkdir()
    good = next(entry for entry in entries("devices") if entry.name == SN861).text()
    hostile = good.replace(f'name = "{SN861}"', 'name = "mine"').replace(
        'label = "WD Ultrastar DC SN861 7.68TB"', 'label = "<script>alert(1)</script>"'
    )
    assert "<script>" in hostile
    (devices / "mine.toml").write_text(hostile)
    (devices / "broken.toml").write_text("schema = ")
    monkeypatch.setenv("FATHOM_CATALOG", str(tmp_path))
    text = served.ask("/catalog").text
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)" in text
    assert "broken.toml" in row_of(text, "/catalog/devices/broken")
    assert "<script>alert" not in served.ask("/catalog/devices/mine").text
    assert "<script>alert" not in served.ask("/catalog/devices/mine/what-if").text
    assert served.ask("/catalog/devices/broken").status == 400
    assert served.ask("/start").status == 200


def test_a_drive_of_the_users_that_the_model_refuses_has_a_page_and_cannot_be_played_with(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FATHOM_CATALOG", str(tmp_path))
    text = entry_text(SN861).replace(f'name = "{SN861}"', 'name = "mine"')
    (tmp_path / "devices").mkdir()
    (tmp_path / "devices" / "mine.toml").write_text(
        re.sub(r"(parameters\.program_us\]\n(?:#[^\n]*\n)*value = )[^\n]*", r'\1"long"', text)
    )
    page = served.ask("/catalog/devices/mine")
    assert page.status == 200
    assert "/what-if" not in page.text
    refused = served.ask("/catalog/devices/mine/what-if")
    assert refused.status == 400
    assert "long" in refused.text


def test_a_page_says_how_many_published_rates_the_ranges_of_its_twin_hold(served: Served) -> None:
    assert "hold 1 of 4 of its published rates" in served.ask("/catalog/devices/kioxia-cm9-r-15.36tb").text
