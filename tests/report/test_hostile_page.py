"""Names in a page that are scripts, markup, 300 characters long or no text at all: shown as they stand, harmless."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

import synthetic
from fathom.report import write_html
from synthetic import Visit, assert_fits, unfolded

NAMES: Mapping[str, str] = {
    "a script": "<script>alert(1)</script>",
    "the end of the page's own script": "</script><script>alert(2)</script>",
    "an attribute": "\"'><img src=x onerror=alert(3)>",
    "a template": "{{ 7*7 }} ${alert(4)} {a|b} %s",
    "a chart's formatter": "{a}<br/><svg onload=alert(5)>",
    "300 characters": "S" * 300,
    "controls and turned letters": "a\x00\x1b]0;owned\x07b\u202ec",
    "no character": "\ufffd\ufffe\u2028\u2029",
}


@pytest.fixture(scope="module", params=sorted(NAMES))
def hostile(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    text = NAMES[request.param]
    folder = tmp_path_factory.mktemp("hostile")
    identity = {"model": text, "serial": text, "firmware": text, "mount_point": f"/{text}"}
    first, *others = synthetic.TARGETS
    targets = [
        replace(
            first, name=f"file:/{text}", label=text, identity=identity, limits=[text] * len(first.limits)
        ),
        *others,
    ]
    note = {"rule": "target", "level": "warning", "target": targets[0].name, "text": text, "next_step": text}
    run = synthetic.make_run(folder / "run", targets, notes=[note])
    return text, write_html([run], folder / "report.html", synthetic.lookup)


@pytest.mark.parametrize("width", [390, 1280])
def test_a_hostile_name_runs_nothing_asks_for_nothing_and_leaves_the_page_its_width(
    hostile: tuple[str, Path], visit: Callable[..., Visit], width: int
) -> None:
    text, report = hostile
    seen = visit(report, width=width)
    page = unfolded(seen.page)
    for chart in page.locator(".chart").all()[:3]:
        chart.hover()
    assert seen.complaints == []
    assert seen.requests == [report.as_uri()]
    assert page.locator("img, svg[onload], script[src]").count() == 0
    assert_fits(page, width)
    shown = page.inner_text("body")
    if text.isprintable():
        assert text[:40] in shown.replace("\n", " ").replace("\u00a0", " ")
