"""The page with the twin of a drive inside, in a browser: its first screen, its sliders, the command that it prints."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fathom.errors import UsageError
from fathom.what_if.page import render, write_page
from playing import MOST_MS, assert_same_figures, move, printed_rows, settled
from synthetic import Visit, assert_fits

PM9A3 = "twin:samsung-pm9a3-7.68tb"
#: Half a gigabyte and a bit: with twice the dies or little spare space it can be simulated, but not with both.
SMALL = f"{PM9A3}?slice_denominator=8192"
SCREENS = ((1280, 900), (390, 844))


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_page(PM9A3, tmp_path_factory.mktemp("what-if") / "what-if.html")


@pytest.fixture
def seen(page_file: Path, visit: Callable[..., Visit]) -> Iterator[Visit]:
    one = visit(page_file)
    settled(one.page)
    yield one
    assert one.complaints == []


def test_the_first_screen_holds_the_answer_and_sliders_to_change_it(seen: Visit) -> None:
    for width, height in SCREENS:
        seen.page.set_viewport_size({"width": width, "height": height})
        for name in ("#sentence", "#numbers", "#curve", "#s-mix", "#s-block"):
            box = seen.page.locator(name).bounding_box()
            assert box is not None, name
            assert box["y"] + box["height"] <= height, name
        assert_fits(seen.page, width)
    assert re.fullmatch(
        r"[\d.]+[kM] IOPS with 32 in flight, limited by .*\.", seen.page.inner_text("#sentence")
    )
    assert all(text != "–" for text in seen.page.locator("#numbers strong").all_inner_texts())


def test_the_page_asks_nobody(seen: Visit, page_file: Path) -> None:
    move(seen.page, over_provisioning=9)
    assert {url.partition(":")[0] for url in seen.requests} == {"file", "blob"}
    assert [url for url in seen.requests if url.startswith("file")] == [page_file.as_uri()]


def test_on_paper_the_curve_is_a_vector_in_light_colours(
    page_file: Path, visit: Callable[..., Visit]
) -> None:
    seen = visit(page_file, dark=True)
    settled(seen.page)
    seen.page.emulate_media(media="print")
    drawn = seen.page.wait_for_selector(".chart-paper svg")
    assert drawn is not None
    box = drawn.bounding_box()
    assert box is not None
    assert box["height"] > 200
    strokes = drawn.eval_on_selector_all("path", "paths => paths.map((path) => path.getAttribute('stroke'))")
    assert "rgb(20,102,186)" in [str(stroke).replace(" ", "") for stroke in strokes], "the light first colour"
    seen.page.emulate_media(media="screen")
    seen.page.wait_for_selector(".chart-paper", state="detached")
    assert seen.page.locator("#curve").is_visible()
    assert seen.complaints == []


def test_more_spare_space_writes_faster_than_the_drive_as_it_is(seen: Visit) -> None:
    move(seen.page, over_provisioning=14, mix=0)
    points = {point["depth"]: point for point in settled(seen.page, beside=True)}
    assert [op["op"] for op in points[256]["ops"]] == ["write"]
    said = seen.page.inner_text("#sentence")
    assert float(re.search(r"([\d.]+) times the drive as it is", said)[1]) > 1.5  # pyright: ignore[reportOptionalSubscript]
    assert seen.page.locator('[data-number="read"]').is_hidden()
    assert seen.page.locator('[data-number="iops"] .delta').get_attribute("data-way") == "good"
    seen.page.click("#as-it-is")
    seen.page.wait_for_selector("#as-it-is[disabled]", timeout=MOST_MS)
    assert "times the drive" not in seen.page.inner_text("#sentence")


def test_the_sentence_says_that_its_figures_are_of_the_first_pass_until_they_are_settled(seen: Visit) -> None:
    seen.page.evaluate(
        """() => {
          window.said = [];
          const sentence = document.getElementById("sentence");
          new MutationObserver(() => window.said.push(sentence.textContent)).observe(sentence, { childList: true });
        }"""
    )
    move(seen.page, over_provisioning=8)
    settled(seen.page, beside=True)
    said: list[str] = seen.page.evaluate("() => window.said")
    assert any(text.startswith("First pass: ") for text in said)
    assert not said[-1].startswith("First pass: ")
    seen.page.click("#as-it-is")


def test_a_slider_moves_by_keys_and_says_its_value_with_its_unit(seen: Visit) -> None:
    seen.page.focus("#s-program_us")
    seen.page.keyboard.press("ArrowRight")
    said = seen.page.locator("#s-program_us").get_attribute("aria-valuetext")
    assert said == seen.page.inner_text('[data-slider="program_us"] output') == "1.4 ms"
    for slider in seen.page.locator(".slider").all():
        range_, label = slider.locator("input"), slider.locator("label")
        assert label.get_attribute("for") == range_.get_attribute("id")
        assert re.search(r"[%sWBt6]|none|\.0$", range_.get_attribute("aria-valuetext") or "")


@pytest.mark.parametrize(
    "places",
    [
        {},
        {"over_provisioning": 10, "mix": 0, "block": 1, "fill": 5},
        {"mix": 14, "pcie_lanes": 0, "block": 4},
        {"mix": 14, "block": 6},
    ],
    ids=["as it is", "writes into a half-full drive", "reads over one lane", "large reads, limited by bytes"],
)
def test_the_printed_command_gives_the_figures_of_the_page(
    seen: Visit, places: dict[str, int], tmp_path: Path
) -> None:
    move(seen.page, **places)
    shown = {point["name"]: point for point in settled(seen.page)}
    rows = printed_rows(seen.page, tmp_path)
    assert_same_figures(rows, shown)


def test_a_drive_that_cannot_be_simulated_leaves_the_last_figure_and_says_so(
    tmp_path: Path, visit: Callable[..., Visit]
) -> None:
    one = visit(write_page(SMALL, tmp_path / "small.html"))
    before = settled(one.page)
    dies = one.page.locator("#s-dies_per_channel").get_attribute("max") or ""
    move_without_waiting = {"over_provisioning": 0, "dies_per_channel": int(dies)}
    one.page.evaluate(
        """places => Object.entries(places).forEach(([key, place]) => {
          const input = document.getElementById(`s-${key}`);
          input.value = place;
          input.dispatchEvent(new Event("input", { bubbles: true }));
        })""",
        move_without_waiting,
    )
    one.page.wait_for_selector("#problem:not([hidden])", timeout=MOST_MS)
    assert "cannot be simulated: twin parameter slice_denominator" in one.page.inner_text("#problem")
    assert settled(one.page)[0]["name"] == before[0]["name"]
    one.page.click("#as-it-is")
    one.page.wait_for_selector("#problem", state="hidden", timeout=MOST_MS)
    assert settled(one.page) == before


def test_the_page_of_a_twin_of_a_data_sheet_says_so() -> None:
    said = "fitted to a data sheet alone"
    assert said in render("twin:samsung-pm9d3a-7.68tb?over_provisioning=0.2")
    assert said not in render(PM9A3)


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("twin:samsung-pm9a3-7.68tb*8", "not a single virtual drive or system"),
        ("file:scratch.bin", "not a single virtual drive or system"),
        ("twin:wd-ultrastar-dc-zn540-1tb", "only twins of single SSDs without zones"),
        ("twin:wd-ultrastar-dc-zn540-1tb?over_provisioning=0.2", "only twins of single SSDs without zones"),
        ("twin:samsung-pm9a3-7.68tb?over_provisioning=99", "give another value"),
        ("twin:samsung-pm9a3-7.68tb?dies_per_channel=0", "dies_per_channel: 0 is not within"),
        ("twin:wd-ultrastar-dc-hc560-20tb", "only twins of single SSDs without zones"),
    ],
)
def test_what_has_no_settled_twin_is_refused(target: str, reason: str) -> None:
    with pytest.raises(UsageError, match=re.escape(reason)):
        render(target)
