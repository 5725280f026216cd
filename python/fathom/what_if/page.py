"""`fathom what-if`: one HTML file with a twin inside, of an SSD or a system, which answers while sliders move. It loads
nothing.
"""

import shlex
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from itertools import groupby
from pathlib import Path

from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from fathom.catalog import load_device
from fathom.catalog.setting_words import labelled
from fathom.catalog.settings import split
from fathom.output.output_file import check_output, write_output
from fathom.report import style
from fathom.report.html_page import asset, sha256, templates_of
from fathom.what_if import twin
from fathom.what_if.played import PREFIX, played

PAGE = "what-if.html"
"""What the page is called where no other name is given."""


def write_page(target: str, out: Path) -> Path:
    """Writes the page of a target such as `twin:NAME?op=0.28` to `out` and returns it.

    Raises UsageError for what `played` refuses, and what `write_output` raises.
    """
    check_output(out)
    write_output(out, render(target).encode())
    return out


def render(target: str, site: Sequence[tuple[str, str]] = ()) -> str:
    """Returns the page as text; `site` are the names and addresses of other pages, where a server shows this one.

    Raises UsageError as `write_page`.
    """
    return filled(target, asset("vendor", "echarts.common.min.js"), twin.in_page(), site)


def script_hashes() -> list[str]:
    """Returns the digests of the scripts that the page runs."""
    return [sha256(text) for text in (asset("vendor", "echarts.common.min.js"), _asset("what-if.js"))]


def title_of(target: str) -> str:
    """Returns what the page calls its drive or system."""
    return style.plain(_label(target.removeprefix(PREFIX)))


def filled(target: str, echarts: str, packed: str, site: Sequence[tuple[str, str]] = ()) -> str:
    """Returns the page with the text of the library that draws, and of the packed twin. `site` and errors are those of
    `render`.
    """
    one = played(target)
    command = {"command": f"fathom sweep {one.method.name} {shlex.quote(target)}"}
    return (
        templates_of("fathom.what_if")
        .get_template("what-if.html.jinja")
        .render(
            title=title_of(target),
            site=site,
            noun=one.noun,
            of_data_sheet=load_device(target.removeprefix(PREFIX)).is_of_data_sheet,
            in_flight=one.in_flight,
            method=one.method.name,
            level_pct=f"{100 * one.level:.0f}",
            groups=[(group, list(of)) for group, of in groupby(one.sliders, lambda slider: slider.group)],
            css=Markup(asset("assets", "report.css") + _asset("what-if.css")),
            echarts=Markup(echarts),
            script=Markup(_asset("what-if.js")),
            worker=Markup(_asset("worker.js")),
            script_hashes=" ".join(f"'sha256-{digest}'" for digest in script_hashes()),
            palette=list(zip(style.LIGHT, style.DARK, strict=True)),
            twin=Markup(packed),
            data=htmlsafe_json_dumps(command | one.in_page(), allow_nan=False, separators=(",", ":")),
        )
    )


def _label(name: str) -> str:
    return labelled(load_device(split(name)[0]).identity.label, name)


@cache
def _asset(name: str) -> str:
    return (files("fathom.what_if") / "assets" / name).read_text(encoding="utf-8")
