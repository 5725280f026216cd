"""`fathom what-if`: one HTML file with a twin of an SSD inside, which answers while sliders move. It loads nothing."""

import json
import shlex
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, cast

from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from fathom import _core
from fathom.catalog import load_device
from fathom.catalog.settings import MARK
from fathom.errors import UsageError
from fathom.output.output_file import check_output, write_output
from fathom.report import style
from fathom.report.page import asset, sha256, templates_of
from fathom.what_if import twin
from fathom.what_if.sliders import Parameters, Slider, sliders
from fathom.what_if.steps import METHOD, SEED, method, steps

if TYPE_CHECKING:
    from pydantic import JsonValue

PREFIX = "twin:"
PAGE = "what-if.html"
"""What the page is called where no other name is given."""


def write_page(target: str, out: Path) -> Path:
    """Writes the page of a target such as `twin:NAME?op=0.28` to `out` and returns it.

    Raises UsageError for what is no twin of an SSD, or one that cannot begin settled, and what `write_output` raises.
    """
    check_output(out)
    write_output(out, render(target).encode())
    return out


def render(target: str) -> str:
    """Returns the page as text. Raises UsageError as `write_page`."""
    return filled(target, asset("vendor", "echarts.common.min.js"), twin.in_page())


def script_hashes() -> list[str]:
    """Returns the digests of the scripts that the page runs."""
    return [sha256(text) for text in (asset("vendor", "echarts.common.min.js"), _asset("what-if.js"))]


def title_of(target: str) -> str:
    """Returns what the page calls its drive."""
    return style.plain(_label(target.removeprefix(PREFIX)))


def filled(target: str, echarts: str, packed: str) -> str:
    """Returns the page with the text of the library that draws, and of the packed twin. Raises as `render`."""
    name = target.removeprefix(PREFIX)
    if name == target or any(mark in name.partition(MARK)[0] for mark in "*#/"):
        raise UsageError(
            f"{target}: not a single virtual drive", "name one, such as twin:samsung-pm9a3-7.68tb"
        )
    parameters = _parameters(target, name)
    run = steps()
    offered = sliders(parameters, run)
    return (
        templates_of("fathom.what_if")
        .get_template("what-if.html.jinja")
        .render(
            title=title_of(target),
            groups=[(group, list(of)) for group, of in groupby(offered, lambda one: one.group)],
            css=Markup(asset("assets", "report.css") + _asset("what-if.css")),
            echarts=Markup(echarts),
            script=Markup(_asset("what-if.js")),
            worker=Markup(_asset("worker.js")),
            script_hashes=" ".join(f"'sha256-{digest}'" for digest in script_hashes()),
            palette=list(zip(style.LIGHT, style.DARK, strict=True)),
            twin=Markup(packed),
            data=htmlsafe_json_dumps(
                {
                    "command": f"fathom sweep {METHOD} {shlex.quote(target)}",
                    "parameters": parameters,
                    "seed": str(SEED),
                    "steps": run,
                    "sliders": [_in_page(slider) for slider in offered],
                },
                allow_nan=False,
                separators=(",", ":"),
            ),
        )
    )


def _parameters(target: str, name: str) -> Parameters:
    """Returns all parameters of the twin, in the slice that the method simulates."""
    device = load_device(name)
    if device.twin is None or device.twin.kind != "ssd":
        raise UsageError(
            f"{target}: only twins of single SSDs can be played with", "see `fathom catalog --kind devices`"
        )
    given = device.twin_params_json(slice_bytes=method().slice_bytes)
    parameters = cast("Parameters", json.loads(_core.ssd_parameters(given)))
    try:
        _core.TwinDevice(json.dumps(parameters | {"settled_share": 1.0}), SEED)
    except (_core.ParseError, _core.BackendError) as error:
        raise UsageError(f"{target}: {error}", "choose another drive") from error
    return parameters


def _label(name: str) -> str:
    plain, _, settings = name.partition(MARK)
    label = load_device(plain).identity.label
    return f"{label}, {settings.replace(',', ', ').replace('=', ' ')}" if settings else label


def _in_page(slider: Slider) -> "dict[str, JsonValue]":
    """Returns the slider as the script reads it."""
    choices = [
        {key: value for key, value in asdict(choice).items() if value is not None}
        for choice in slider.choices
    ]
    return {"key": slider.key, "start": slider.start, "choices": cast("JsonValue", choices)}


@cache
def _asset(name: str) -> str:
    return (files("fathom.what_if") / "assets" / name).read_text(encoding="utf-8")
