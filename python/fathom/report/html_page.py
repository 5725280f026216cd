"""A page as one HTML file: styles, scripts and chart data inlined, nothing fetched, scripts pinned by their hash."""

import base64
import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, asdict, dataclass
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup, escape

from fathom.report import style
from fathom.report.blocks import Block, Diagram, Figure, Inside, Section
from fathom.report.opening import Opening

SCRIPTS = ("charts.js", "controls.js", "save.js", "paper.js")
"""The page's own scripts, in the order in which they run."""
CODE = re.compile(r"`([^`]+)`")
"""Code in text."""
OF_A_NUMBER = re.compile(r" (?=%)|(?<=±) |(?<=\d) (?=(?:µs|ns|ms|s)\b)")


@dataclass(frozen=True)
class Page:
    """What a page shows. Each of `headers` holds what the template shows of one run.

    `targets` are the label and the short label of each, in the order of their colours, for the filter. `source` is
    what a saved figure says of its origin. `made_from` says what a page of no run is made from. `site` are the
    names and addresses of other pages, where a server shows this one.
    """

    title: str
    sections: Sequence[Section]
    _: KW_ONLY
    opening: Opening | None = None
    headers: Sequence[dict[str, object]] = ()
    shortened: Sequence[str] = ()
    targets: Sequence[tuple[str, str]] = ()
    source: str = ""
    made_from: str | None = None
    site: Sequence[tuple[str, str]] = ()

    def html(self) -> str:
        """Returns the page as text."""
        diagrams = _diagrams(self.sections)
        drawing = [_dagre(), asset("assets", "diagram.js")] if diagrams else []
        charts = htmlsafe_json_dumps(_chart_options(self._blocks), allow_nan=False, separators=(",", ":"))
        return (
            _templates()
            .get_template("page.html.jinja")
            .render(
                title=self.title,
                runs=self.headers,
                sections=self.sections,
                opening=self.opening,
                targets=self.targets,
                source=self.source,
                shortened=self.shortened,
                made_from=self.made_from,
                site=self.site,
                palette=list(zip(style.LIGHT, style.DARK, strict=True)),
                diagrams=htmlsafe_json_dumps(diagrams, allow_nan=False, separators=(",", ":")),
                data=charts,
                **_scripts(drawing, self._inside),
            )
        )

    @property
    def _blocks(self) -> list[Block]:
        first: list[Block] = [self.opening.block] if self.opening and self.opening.block else []
        return [*first, *(block for section in self.sections for block in section.blocks)]

    @property
    def _inside(self) -> Inside | None:
        """The pages inside it, if there are any."""
        blocks = (block for section in self.sections for block in section.blocks)
        return next((one for one in blocks if isinstance(one, Inside)), None)


def _scripts(drawing: Sequence[str], inside: Inside | None) -> dict[str, object]:
    """Returns style and scripts for the template, with the hashes that its security policy allows.

    Inside style and script elements browsers know no escapes. These files are ours and hold no untrusted text.
    """
    echarts = asset("vendor", "echarts.common.min.js")
    script = "\n".join(asset("assets", name) for name in SCRIPTS)
    begins = asset("assets", "inside.js") if inside else ""
    digests = [*map(sha256, (echarts, script, begins, *drawing)), *(inside.hashes if inside else ())]
    return {
        "css": Markup(asset("assets", "report.css")),
        "echarts": Markup(echarts),
        "script": Markup(script),
        "drawing": [Markup(text) for text in drawing],
        "inside": _pages(inside) if inside else "",
        "inside_script": Markup(begins),
        "script_hashes": " ".join(f"'sha256-{digest}'" for digest in digests),
    }


def _chart_options(blocks: Sequence[Block]) -> dict[str, object]:
    """Returns each chart's option by its key; a further view of it by `key|view`."""
    charts = [chart for block in blocks if isinstance(block, Figure) for chart in block.charts]
    options: dict[str, object] = {chart.key: chart.option for chart in charts}
    return options | {
        f"{chart.key}|{view}": option for chart in charts for view, option in chart.views.items()
    }


def _diagrams(built: Sequence[Section]) -> dict[str, object]:
    """Returns what assets/diagram.js draws, by key."""
    found = [block for section in built for block in section.blocks if isinstance(block, Diagram)]
    return {
        one.key: {"nodes": list(map(asdict, one.nodes)), "joins": list(map(asdict, one.joins))}
        for one in found
    }


def _pages(block: Inside) -> Markup:
    """Returns what assets/inside.js reads."""
    pages = [text for _, text in block.pages]
    return htmlsafe_json_dumps({"pages": pages, "shared": dict(block.shared), "echarts": Inside.ECHARTS})


def _dagre() -> str:
    """Returns the library that lays diagrams out, with its licence, which every copy must carry."""
    return f"/*!\n{asset('vendor', 'LICENSE-dagre')}*/\n{asset('vendor', 'dagre.min.js')}"


def unbroken(value: object) -> object:
    """Returns text whose numbers stay on the line of their unit and of their `±`; what is escaped already is left as it
    is.
    """
    if type(value) is not str:
        return value
    return OF_A_NUMBER.sub("\N{NO-BREAK SPACE}", style.with_micro(value))


def coded(text: str) -> Markup:
    """Returns text, escaped and `unbroken`, with its parts in backticks as code."""
    return Markup(CODE.sub(r"<code>\1</code>", str(escape(unbroken(text)))))


def templates_of(package: str, finalize: Callable[[object], object] | None = None) -> Environment:
    """Returns the templates of a package's pages; `finalize` changes what is put into them."""
    environment = Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["coded"] = coded
    return environment


@cache
def _templates() -> Environment:
    return templates_of("fathom.report", unbroken)


@cache
def asset(folder: str, name: str) -> str:
    """Returns a file that pages have, such as `vendor/echarts.common.min.js`."""
    return (files("fathom.report") / folder / name).read_text(encoding="utf-8")


def sha256(text: str) -> str:
    """Returns the digest of a script as a page's security policy has it."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
