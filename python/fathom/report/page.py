"""One HTML file from runs: styles, scripts and chart data inlined, nothing fetched, scripts pinned by their hash."""

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from fathom.report import sections, style
from fathom.report.blocks import Figure, Section
from fathom.report.comparison import Comparison, compare, run_letter
from fathom.report.data import RunData, load
from fathom.report.published import Lookup, catalogue
from fathom.sizing.files import Prices

STATUS = {
    "running": "This run is still going.",
    "interrupted": "This run was interrupted.",
    "failed": "This run failed.",
}


def write_html(
    runs: Sequence[Path],
    out: Path,
    lookup: Lookup = catalogue,
    prices: Prices | None = None,
    *,
    pool: bool = False,
) -> Path:
    """Writes the report of one or more run directories to `out` and returns it. `prices`, `pool`: as of `compare`.

    Raises FathomError when a run cannot be read.
    """
    page = render(compare([load(run) for run in runs], lookup, prices, pool=pool))
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(page, encoding="utf-8")
    return out


def render(comparison: Comparison) -> str:
    """The page of runs as text."""
    headers = [_header(comparison, place) for place in range(len(comparison.runs))]
    return page(_title(comparison), headers, sections.build_all(comparison), comparison.shortenings)


def page(
    title: str, headers: Sequence[dict[str, object]], built: Sequence[Section], shortened: Sequence[str] = ()
) -> str:
    """A page of sections; each of `headers` says of one run what the template's head shows."""
    echarts, script = _asset("vendor", "echarts.common.min.js"), _asset("assets", "report.js")
    return (
        _templates()
        .get_template("page.html.jinja")
        .render(
            title=title,
            runs=headers,
            sections=built,
            shortened=shortened,
            palette=list(zip(style.LIGHT, style.DARK, strict=True)),
            # Inside style and script elements browsers know no escapes. These three files are ours and hold no
            # untrusted text.
            css=Markup(_asset("assets", "report.css")),
            echarts=Markup(echarts),
            script=Markup(script),
            script_hashes=" ".join(f"'sha256-{_sha256(text)}'" for text in (echarts, script)),
            data=htmlsafe_json_dumps(_chart_options(built), allow_nan=False, separators=(",", ":")),
        )
    )


def _title(comparison: Comparison) -> str:
    titles = dict.fromkeys(style.plain(run.document.method.title) for run in comparison.runs)
    return " and ".join(titles)


def _header(comparison: Comparison, place: int) -> dict[str, object]:
    run = comparison.runs[place]
    document = run.document
    summary = document.method.parsed.get("summary")
    return {
        "letter": run_letter(place) if len(comparison.runs) > 1 else "",
        "id": style.plain(document.id),
        "created": style.when(document.created),
        "took": _took(run),
        "status": STATUS.get(document.status, ""),
        "error": style.plain(document.error or ""),
        "method": style.plain(document.method.name),
        "source": style.plain(document.method.source),
        "summary": style.plain(summary) if isinstance(summary, str) else "",
        "targets": [c.label for c in comparison.columns if c.is_of(run)],
        "version": document.versions.get("fathom", ""),
        "seed": document.seed,
    }


def _took(run: RunData) -> str:
    from datetime import datetime

    if run.document.finished is None:
        return ""
    length = datetime.fromisoformat(run.document.finished) - datetime.fromisoformat(run.document.created)
    return style.seconds(length.total_seconds())


def _chart_options(built: Sequence[Section]) -> dict[str, object]:
    figures = [block for section in built for block in section.blocks if isinstance(block, Figure)]
    return {chart.key: chart.option for figure in figures for chart in figure.charts}


def _unbroken(value: object) -> object:
    """Text whose numbers stay on the line of their percent sign; what is escaped already is left as it is."""
    return value.replace(" %", "\N{NO-BREAK SPACE}%") if type(value) is str else value


@cache
def _templates() -> Environment:
    return Environment(
        loader=PackageLoader("fathom.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_unbroken,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _asset(folder: str, name: str) -> str:
    return (files("fathom.report") / folder / name).read_text(encoding="utf-8")


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
