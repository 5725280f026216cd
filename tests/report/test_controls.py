"""What a reader switches on a page, what its address keeps, and the files that its figures are saved as."""

import csv
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

from playwright.sync_api import Page

from fathom.report import Edition, write_html
from synthetic import Visit, lookup, unfolded

Open = Callable[..., Visit]
SHOWN = "() => [...document.querySelectorAll('#answer .bars li')].filter((bar) => !bar.hidden).length"


def at(page: Page, report: Path, query: str) -> Page:
    """The page opened again at an address."""
    page.goto(report.as_uri() + query)
    page.wait_for_load_state("networkidle")
    return page


def test_a_hidden_target_is_hidden_everywhere_and_in_the_address(report: Path, visit: Open) -> None:
    page = visit(report).page
    before = page.evaluate(SHOWN)
    page.locator(".filter button").first.click()
    assert page.evaluate(SHOWN) < before
    assert "hide=0" in page.url
    assert (
        page.locator("#results tbody tr:has-text('Scratch file')").first.get_attribute("hidden") is not None
    )
    again = at(page, report, "?hide=0")
    assert again.evaluate(SHOWN) < before
    assert again.locator(".filter button").first.get_attribute("aria-pressed") == "false"


def test_the_scale_is_kept_in_the_address(report: Path, visit: Open) -> None:
    page = unfolded(visit(report).page)
    page.locator("#timeline [data-scale=value]").click()
    assert "scale=value" in page.url
    kind = "() => echarts.getInstanceByDom(document.querySelector('[data-chart=timeline-0]')).getOption().yAxis[0].type"
    assert unfolded(at(page, report, "?scale=value")).evaluate(kind) == "value"


def test_a_link_to_a_part_opens_it(report: Path, visit: Open) -> None:
    page = visit(report).page
    assert not page.locator("#notes .notes").is_visible()
    assert at(page, report, "#notes").locator("#notes .notes").is_visible()
    page.locator(".bar a[href='#results']").click()
    assert page.locator("#results table").is_visible()


def test_rows_are_sorted_by_the_figures_of_a_column(report: Path, visit: Open) -> None:
    page = unfolded(visit(report).page)
    head = page.locator("#results thead th").nth(1)
    cells = "#results tbody:first-of-type tr:not(.group) td:nth-of-type(1) .text"
    numbers = [
        [float(text.replace(",", "")) for text in page.locator(cells).all_inner_texts()]
        for _ in range(2)
        if head.press("Enter") is None
    ]
    assert numbers == [sorted(numbers[0], reverse=True), sorted(numbers[0])]


def test_percentiles_beyond_p99_wait_behind_a_button(report: Path, visit: Open) -> None:
    page = unfolded(visit(report).page)
    head = page.locator("#results th:has-text('p99.9')").first
    assert not head.is_visible()
    page.locator("#results [data-unfold]").first.click()
    assert head.is_visible()


def test_a_figure_is_saved_with_its_title_run_and_date(report: Path, visit: Open, tmp_path: Path) -> None:
    seen = visit(report)
    figure = unfolded(seen.page).locator("#latency figure").first
    saved = {}
    for kind in ("svg", "csv", "png"):
        with seen.page.expect_download() as download:
            figure.locator(f"[data-export={kind}]").click()
        saved[kind] = tmp_path / download.value.suggested_filename
        download.value.save_as(saved[kind])
    for kind in ("svg", "csv"):
        text = saved[kind].read_text(encoding="utf-8-sig")
        assert "Four corners" in text
        assert "20 November 2026" in text
        assert "20261120-231500-four-corners-7f3a" in text
    rows = list(csv.reader(saved["csv"].read_text(encoding="utf-8-sig").splitlines()))
    assert max(map(len, rows)) > 3
    assert saved["png"].read_bytes().startswith(b"\x89PNG")
    assert saved["png"].stat().st_size > 20_000
    assert seen.complaints == []


def test_a_tall_figure_is_saved_as_tall_as_it_is_drawn(report: Path, visit: Open, tmp_path: Path) -> None:
    page = unfolded(visit(report).page)
    figure = page.locator("#latency figure").first
    figure.locator(".panel:not([hidden]) .chart").first.evaluate("chart => (chart.style.height = '900px')")
    with page.expect_download() as download:
        figure.locator("[data-export=svg]").click()
    download.value.save_as(tmp_path / "figure.svg")
    drawing = ElementTree.parse(tmp_path / "figure.svg").getroot()
    heights = [int(float(one.get("height", "0"))) for one in drawing.iter("{http://www.w3.org/2000/svg}svg")]
    assert heights[0] > 900
    assert heights[1] == 900


def test_a_hostile_name_in_a_saved_table_is_no_formula(visit: Open, tmp_path: Path) -> None:
    from dataclasses import replace

    import synthetic

    name = '=HYPERLINK("http://x")'
    run = synthetic.make_run(tmp_path / "run", [replace(synthetic.FILE, label=name), *synthetic.TWINS[:1]])
    seen = visit(write_html([run], tmp_path / "report.html", lookup))
    figure = unfolded(seen.page).locator("#latency figure").first
    with seen.page.expect_download() as download:
        figure.locator("[data-export=csv]").click()
    download.value.save_as(tmp_path / "table.csv")
    cells = [cell for row in csv.reader((tmp_path / "table.csv").open(encoding="utf-8-sig")) for cell in row]
    assert any("HYPERLINK" in cell for cell in cells)
    assert not any(cell.startswith("=") for cell in cells)
    with seen.page.expect_download() as download:
        figure.locator("[data-export=svg]").click()
    download.value.save_as(tmp_path / "figure.svg")
    assert name in "".join(ElementTree.parse(tmp_path / "figure.svg").getroot().itertext())


def test_the_short_edition_holds_the_answer_and_the_notes_on_few_sheets(
    run: Path, visit: Open, tmp_path: Path
) -> None:
    short = write_html([run], tmp_path / "short.html", lookup, edition=Edition.SHORT)
    page = visit(short).page
    assert page.locator("#answer .cards").is_visible()
    assert page.locator("section").count() == 2
    assert page.locator("#notes").count() == 1
    full = write_html([run], tmp_path / "full.html", lookup)
    assert len(page.pdf()) < len(visit(full).page.pdf())
