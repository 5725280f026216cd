"""The page with the twin of a system inside, in a browser: hosts, links, drives, and the command."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from fathom.catalog import load_device
from fathom.catalog.twin_params import twin_params_json
from fathom.errors import FathomError
from fathom.what_if.page import write_page
from fathom.what_if.played import played
from playing import assert_same_figures, move, printed_rows, settled
from synthetic import Visit, assert_fits

SHELF, CLUSTER = "twin:atto-xstreamcore-9400", "twin:weka-6x-micron-7450-pro"
SN640 = "wd-ultrastar-dc-sn640-3.2tb.count"
SCREENS = ((1280, 900), (390, 844))


def test_the_page_of_a_shelf_answers_while_its_hosts_and_links_move(
    tmp_path: Path, visit: Callable[..., Visit]
) -> None:
    seen = visit(write_page(SHELF, tmp_path / "shelf.html"))
    settled(seen.page)
    said = seen.page.inner_text("#sentence")
    assert re.fullmatch(
        r"[\d.]+M IOPS with 128 in flight per host, limited by internal link \(read\)\.", said
    )
    for width, height in SCREENS:
        seen.page.set_viewport_size({"width": width, "height": height})
        for name in ("#sentence", "#numbers", "#curve", "#s-mix"):
            box = seen.page.locator(name).bounding_box()
            assert box is not None, name
            assert box["y"] + box["height"] <= height, name
        assert_fits(seen.page, width)
    assert seen.page.locator('[data-number="waf"]').is_visible()
    move(seen.page, link_mbps=0)
    settled(seen.page, beside=True)
    slower = re.search(r": ([\d.]+) times the system as it is\.", seen.page.inner_text("#sentence"))
    assert slower
    assert float(slower[1]) < 0.2
    assert {url.partition(":")[0] for url in seen.requests} == {"file", "blob"}
    assert seen.complaints == []


@pytest.mark.parametrize(
    ("target", "places"),
    [
        (SHELF, {}),
        (SHELF, {"hosts": 6, SN640: 8, "mix": 14, "drives.over_provisioning": 0}),
        (f"{SHELF}?ports=2", {"host_nic_gbps": 1, "block": 5}),
        (CLUSTER, {"clients": 2, "servers": 0, "mix": 0}),
    ],
    ids=["as it is", "more hosts and drives", "a system with settings", "fewer clients and servers"],
)
def test_the_printed_command_gives_the_figures_of_the_page(
    target: str, places: dict[str, int], tmp_path: Path, visit: Callable[..., Visit]
) -> None:
    seen = visit(write_page(target, tmp_path / "page.html"))
    move(seen.page, **places)
    shown = {point["name"]: point for point in settled(seen.page)}
    rows = printed_rows(seen.page, tmp_path)
    assert_same_figures(rows, shown)
    named = re.search(r"limited by (.+?)(?:: |\.$)", seen.page.inner_text("#sentence"))
    assert named
    [limit] = {row["limited_by"] for row in rows if row["step"] == "q128"}
    assert limit.startswith(named[1]), "page and run name one limit"
    assert seen.complaints == []


def test_every_choice_of_a_system_is_what_its_setting_makes_of_the_device() -> None:
    one = played(SHELF)
    sliders = {slider.key: slider for slider in one.sliders}
    eight = next(choice for choice in sliders["hosts"].choices if choice.label == "8 hosts")
    assert eight.settings == ("hosts=8",)
    assert eight.parameters == {"between.fabric.hosts": 8, "host.cores": 112}
    assert eight.hosts == 8
    drives = next(choice for choice in sliders[SN640].choices if choice.label == "24 drives")
    assert drives.parameters == {"drives.0.count": 24}
    for slider in one.sliders:
        assert slider.choices[slider.start].parameters == {}, slider.key


def test_a_system_takes_another_number_of_drives_and_its_hosts_keep_their_cores() -> None:
    more = load_device(f"atto-xstreamcore-9400?{SN640}=12,hosts=2")
    assert more.twin is not None
    assert more.twin.members["wd-ultrastar-dc-sn640-3.2tb"] == 12
    assert '"cores": 28' in twin_params_json(more)
    all_kinds = load_device("atto-xstreamcore-9400?drives.count=5")
    assert all_kinds.twin is not None
    assert set(all_kinds.twin.members.values()) == {5}
    for wrong in ("0", "many", "1.5", "10001"):
        with pytest.raises(FathomError, match="expected a whole number from 1 to 10000"):
            load_device(f"atto-xstreamcore-9400?{SN640}={wrong}")
