"""The HTML report as a reader meets it: in a browser, offline, light and dark, on paper, on a telephone."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import synthetic
from fathom.report import sections, write_html
from fathom.report.sections import modules
from synthetic import Visit, assert_fits, lookup, unfolded

Open = Callable[..., Visit]

CURVES = "echarts.getInstanceByDom(document.querySelector('[data-chart^=percentiles]'))"

NAMES = """([place, width]) => {
  const shown = [...document.querySelectorAll(place)].filter((element) => element.getClientRects().length);
  const isInline = (element) => getComputedStyle(element).display === "inline";
  const isCut = (element) => !isInline(element) && element.scrollWidth > element.clientWidth + 1;
  const isOutside = (element) => element.getBoundingClientRect().right > width;
  const cut = shown.filter((element) => isCut(element) || isOutside(element));
  return [shown.map((element) => element.textContent), cut.map((element) => element.outerHTML)];
}"""
"""The texts of what is shown at a place of the page, and those that are cut or reach beyond the window."""

INK = """(canvas) => {
  const { width, height } = canvas;
  const data = canvas.getContext("2d").getImageData(0, 0, width, height).data;
  const colours = new Set();
  let painted = 0;
  for (let i = 0; i < data.length; i += 4)
    if (data[i + 3] > 0) { painted++; colours.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]); }
  return { painted: painted / (width * height), colours: colours.size };
}"""


def test_the_page_opens_without_a_complaint_and_asks_the_network_for_nothing(
    report: Path, visit: Open
) -> None:
    seen = visit(report)
    assert seen.complaints == []
    assert seen.requests == [report.as_uri()]


def test_a_chart_is_begun_only_when_it_comes_near_the_window(report: Path, visit: Open) -> None:
    page = visit(report).page
    page.evaluate("() => document.querySelectorAll('details.part').forEach((part) => (part.open = true))")
    last = page.locator(".chart").last
    assert last.locator("canvas").count() == 0
    last.scroll_into_view_if_needed()
    last.locator("canvas").first.wait_for()
    assert page.locator(".chart:not(:has(canvas))").count() > 0


def test_every_chart_is_really_drawn(report: Path, visit: Open) -> None:
    page = unfolded(visit(report).page)
    charts = page.locator(".chart")
    assert charts.count() == 5 + 4 + 4 + 4
    for place in range(charts.count()):
        ink = charts.nth(place).locator("canvas").first.evaluate(INK)
        assert ink["painted"] > 0.005
        assert ink["colours"] > 10


def test_each_series_is_drawn_in_its_own_colour(report: Path, visit: Open) -> None:
    page = unfolded(visit(report).page)
    drawn = page.evaluate(
        "() => echarts.getInstanceByDom(document.querySelector('[data-chart^=percentiles]'))"
        ".getOption().series.map((s) => s.color)"
    )
    assert len(set(drawn)) == len(synthetic.TARGETS)
    assert all(colour.startswith("rgb(") for colour in drawn)


def test_a_long_name_beside_bars_takes_several_lines_none_of_which_begins_with_a_comma(
    report: Path, visit: Open
) -> None:
    page = unfolded(visit(report).page)
    lines = page.evaluate(
        """() => {
          const charts = [...document.querySelectorAll(".chart")].map((e) => echarts.getInstanceByDom(e).getOption());
          const { formatter } = charts.find((chart) => chart.yAxis[0].type === "category").yAxis[0].axisLabel;
          return formatter("4 KiB write, uniform, 100 % filled").split("\\n");
        }"""
    )
    assert len(lines) > 1
    assert " ".join(lines) == "4 KiB write, uniform, 100 % filled"


def test_dark_mode_follows_the_system_and_the_button(report: Path, visit: Open) -> None:
    light, dark = unfolded(visit(report).page), unfolded(visit(report, dark=True).page)
    background = "() => getComputedStyle(document.body).backgroundColor"
    series = "() => echarts.getInstanceByDom(document.querySelector('.chart')).getOption().series[0].color"
    assert light.evaluate(background) == "rgb(255, 255, 255)"
    assert dark.evaluate(background) != light.evaluate(background)
    assert dark.evaluate(series) != light.evaluate(series)
    dark.locator("#theme").click()
    assert dark.evaluate(background) == light.evaluate(background)
    assert dark.evaluate(series) == light.evaluate(series)


def test_on_paper_charts_are_vectors_in_light_colours_and_the_method_is_unfolded(
    report: Path, visit: Open
) -> None:
    seen = visit(report, dark=True)
    page = unfolded(seen.page)
    page.emulate_media(media="print")
    page.wait_for_selector(".chart-paper svg path", state="attached")
    assert page.locator(".chart-paper svg").count() == page.locator(".chart").count()
    assert not page.locator(".chart").first.is_visible()
    assert page.locator("details.verbatim pre").first.is_visible()
    assert not page.locator("details.data").first.is_visible()
    assert page.evaluate("() => getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.emulate_media(media="screen")
    page.wait_for_selector(".chart-paper", state="detached")
    assert page.locator(".chart").first.is_visible()
    assert seen.complaints == []


def test_on_paper_a_wide_chart_is_drawn_as_wide_as_the_sheet_and_no_higher(report: Path, visit: Open) -> None:
    page = unfolded(visit(report).page)
    page.evaluate(
        """() => {
          const panel = document.querySelector(".columns-2 .panel");
          panel.classList.add("wide-panel");
          panel.querySelector(".chart").style.height = "3000px";
        }"""
    )
    page.emulate_media(media="print")
    drawn = page.wait_for_selector(".wide-panel .chart-paper svg")
    assert drawn is not None
    assert (drawn.get_attribute("viewBox") or "").startswith("0 0 720 3000")
    box = drawn.bounding_box()
    assert box is not None
    assert box["height"] <= 235 / 25.4 * 96 + 1


def test_figures_below_zero_have_a_minus_sign_and_no_hyphen(report: Path, visit: Open) -> None:
    page = unfolded(visit(report).page)
    label = "() => report.optionFor(document.querySelector('.chart'), 'light', 900).yAxis.axisLabel.formatter(-1500)"
    assert page.evaluate(label).startswith("−1")


def test_a_printed_report_holds_its_tables_and_the_shortening_on_every_page(
    report: Path, visit: Open
) -> None:
    pdf = visit(report).page.pdf(prefer_css_page_size=True)
    pages = len(re.findall(rb"/Type\s*/Page\b", pdf))
    assert 4 <= pages <= 14
    assert '@bottom-left { content: "Shortened run: measured times are divided by 12' in report.read_text()


def test_on_a_telephone_nothing_is_wider_than_the_screen(report: Path, visit: Open) -> None:
    page = visit(report, width=390).page
    assert_fits(page, 390)


@pytest.mark.parametrize("width", [390, 1280])
def test_long_names_are_told_in_whole(visit: Open, tmp_path: Path, width: int) -> None:
    label = "An uncommonly long name of a scratch file on an array of many drives"
    run = synthetic.make_run(tmp_path / "run", [replace(synthetic.FILE, label=label), *synthetic.TWINS[:1]])
    page = visit(write_html([run], tmp_path / "report.html", lookup), width=width).page
    page.evaluate("() => document.querySelectorAll('details').forEach((details) => (details.open = true))")
    for place in (".group th span", ".panel h3 > *", ".bars .name"):
        texts, cut = page.evaluate(NAMES, [place, width])
        assert any(label in text for text in texts), place
        assert not cut


def test_the_time_axis_switches_between_logarithmic_and_linear(report: Path, visit: Open) -> None:
    page = unfolded(visit(report).page)
    kind = "() => echarts.getInstanceByDom(document.querySelector('[data-chart=timeline-0]')).getOption().yAxis[0].type"
    assert page.evaluate(kind) == "log"
    page.locator("#timeline [data-scale=value]").press("Enter")
    assert page.evaluate(kind) == "value"


def test_a_target_is_hidden_and_shown_by_its_legend_from_the_keyboard(report: Path, visit: Open) -> None:
    page = unfolded(visit(report).page)
    button = page.locator("#latency .legend button").first
    selected = f"() => {CURVES}.getOption().legend[0].selected"
    button.press("Space")
    assert page.evaluate(selected)["Scratch file, /tmp"] is False
    button.press("Space")
    assert page.evaluate(selected) == {}


def test_pointing_at_a_curve_tells_its_value_and_unit(report: Path, visit: Open) -> None:
    seen = visit(report)
    unfolded(seen.page)
    chart = seen.page.locator("[data-chart^=percentiles]").first
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    assert box is not None
    seen.page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + box["height"] / 2)
    seen.page.wait_for_function(
        "() => /percentile [0-9.]+ %\\s[^]*WD Ultrastar DC SN861\\s+[0-9.,]+ µs/.test("
        "document.querySelector('[data-chart^=percentiles]').innerText)"
    )
    assert seen.complaints == []


@pytest.mark.parametrize(
    "name",
    [
        "<script>alert(1)</script>",
        "</script><img src=x onerror=alert(1)>",
        '"><svg onload=alert(1)>',
        "$ink",
        "@us",
        "{{ 7*7 }}",
    ],
)
def test_a_hostile_target_name_stays_text(name: str, tmp_path: Path, visit: Open) -> None:
    target = replace(
        synthetic.TWINS[0], name=f"twin:{name}", label=name, limits=(name,) * 4, identity={name: name}
    )
    note = {
        "rule": "x",
        "level": "error",
        "target": f"twin:{name}",
        "step": name,
        "text": name,
        "next_step": name,
    }
    run = synthetic.make_run(
        tmp_path / "run", [target], notes=[note], measure_s=2, precondition_s=2, fill_s=2
    )
    seen = visit(write_html([run], tmp_path / "report.html", lookup))
    unfolded(seen.page)
    assert seen.complaints == []
    assert seen.page.locator("main script, main img, main svg:not(.diagram svg)").count() == 0
    assert name in seen.page.locator("#provenance thead").first.inner_text()
    series = f"() => {CURVES}.getOption().series[0].name"
    assert seen.page.evaluate(series) == name
    chart = seen.page.locator("[data-chart^=percentiles]").first
    chart.scroll_into_view_if_needed()
    chart.hover()
    seen.page.wait_for_timeout(100)
    assert seen.complaints == []
    assert seen.page.locator("main img, main script").count() == 0


def test_what_limits_stands_within_the_window_of_a_desktop(report: Path, visit: Open) -> None:
    page = unfolded(visit(report, width=1280).page)
    table = page.locator("#results table")
    assert table.evaluate("(table) => table.parentElement.scrollWidth <= table.parentElement.clientWidth")
    right = "(head) => head.getBoundingClientRect().right"
    assert page.locator("#results thead th", has_text="Limited by").evaluate(right) < 1280


def test_a_report_of_two_runs_tells_them_apart(run: Path, tmp_path: Path, visit: Open) -> None:
    other = synthetic.make_run(
        tmp_path / "other", synthetic.TWINS[:1], quick=False, seed=2, created="2026-11-21T08:15:00Z"
    )
    page = unfolded(visit(write_html([run, other], tmp_path / "report.html", lookup)).page)
    heads = page.locator("#provenance table").first.locator("thead th").all_inner_texts()
    assert sum("WD Ultrastar DC SN861" in head for head in heads) == 2
    assert any("· A" in head for head in heads)
    assert any("· B" in head for head in heads)
    assert "Run A: measured times are divided by 12" in page.locator(".ribbon").inner_text()
    assert page.locator(".run-letter").all_inner_texts() == ["Run A", "Run B"]


def test_an_interrupted_run_says_so_and_how_to_go_on(tmp_path: Path) -> None:
    run = synthetic.make_run(tmp_path / "run", synthetic.TWINS[:1], status="interrupted")
    text = write_html([run], tmp_path / "report.html", lookup).read_text()
    assert "This run was interrupted." in text
    assert "fathom resume 20261120-231500-four-corners-7f3a" in text


def test_a_run_without_a_finished_step_still_makes_a_page(tmp_path: Path, visit: Open) -> None:
    run = synthetic.make_run(tmp_path / "run", synthetic.TWINS[:1], status="failed")
    for table in run.glob("*.parquet"):
        table.unlink()
    seen = visit(write_html([run], tmp_path / "report.html", lookup))
    assert "no result to show" in seen.page.locator("h1").inner_text()
    assert seen.complaints == []


def test_every_section_module_is_found_and_has_its_own_place() -> None:
    orders = [module.ORDER for module in modules()]
    files = Path(sections.__file__).parent.glob("[!_]*.py")
    assert len(orders) == len(list(files)) >= 7
    assert orders == sorted(set(orders))
