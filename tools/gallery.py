"""Makes a gallery: one report of every method, measured on twins, and a page with all of them.

`python tools/gallery.py FOLDER [METHOD...]`. Runs are shortened. The page says of each report what its first screen
teaches: the sentence of the key figure. With Chromium on the machine each report has a
picture of its first screen.
"""

import random
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

import fathom
from fathom.catalog import method_names, method_text
from fathom.errors import FathomError
from fathom.fitting.of_trace import method_of
from fathom.method.method import Method
from fathom.method.template import is_template
from fathom.report import write_html

SN861, PM1743 = "twin:wd-ultrastar-dc-sn861-7.68tb", "twin:samsung-pm1743-7.68tb"
OTHERS: Mapping[str, Sequence[str]] = {
    "added-latency": ["twin:atto-xstreamcore-9400"],
    "cluster-scaling": [
        "twin:weka-6x-micron-9400-pro",
        "twin:weka-6x-micron-7450-pro",
        "twin:weka-6x-micron-6500-ion",
    ],
    "data-placement": ["twin:wd-ultrastar-dc-sn861-e1s-7.68tb"],
    "drive-array-filesystem": ["twin:wd-ultrastar-dc-hc560-20tb*8", "twin:wd-ultrastar-dc-hc650-20tb*8"],
    "enterprise-steady-state": ["twin:micron-m510dc-480gb", "twin:samsung-845dc-evo-480gb"],
    "four-corners": [SN861, PM1743, "twin:kioxia-cm7-r-7.68tb", "twin:samsung-pm9a3-7.68tb"],
    "gpu-feed": [SN861, PM1743],
    "rate-curves": [SN861, PM1743],
    "what-if": [f"{SN861}?settled_share=1"],
    "what-if-system": ["twin:atto-xstreamcore-9400"],
}
"""The twins that a method's source measured, or that show most; other methods run on one drive."""
SCREEN = (1280, 900)
TRACE = "app.csv"
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem; }
ul { display: grid; grid-template-columns: repeat(auto-fill, minmax(20rem, 1fr)); gap: 1.5rem; }
ul { padding: 0; list-style: none; }
h2 { font-size: 1.125rem; margin: 0.6rem 0; }
li p { margin: 0.4rem 0; }
img { width: 100%; border: 1px solid color-mix(in srgb, currentColor 25%, transparent); border-radius: 6px; }
code { font-size: 0.8125rem; overflow-wrap: anywhere; }
:root { color-scheme: light dark; }
"""


def targets_of(method: str) -> Sequence[str]:
    """Returns the twins that the gallery runs a method on."""
    return OTHERS.get(method, [SN861])


def make(folder: Path, methods: Sequence[str]) -> Path:
    """Writes a report of each method into the folder, and the page of all. Returns the page.

    Raises FathomError where a method cannot be run.
    """
    folder.mkdir(parents=True, exist_ok=True)
    items = []
    for name in methods:
        needs_trace = is_template(method_text(name))
        print(f"{name} on {', '.join(targets_of(name))}", file=sys.stderr)
        with TemporaryDirectory() as runs:
            trace = fathom.Replay(_trace(Path(runs))) if needs_trace else None
            method, _ = method_of(name, trace, quick=True)
            run = fathom.run(name, targets=targets_of(name), out=Path(runs), quick=True, replay=trace)
            report = write_html([run.path], folder / f"{name}.html")
        items.append(_item(method, report, _picture(report)))
    page = folder / "index.html"
    page.write_text(
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Fathom: every method</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style>'
        f"<h1>{len(items)} methods, one report each</h1>"
        "<p>All targets are twins: virtual drives, disks and systems in virtual time. All runs are shortened.</p>"
        f"<ul>{''.join(items)}</ul></html>\n",
        encoding="utf-8",
    )
    return page


def _trace(folder: Path) -> Path:
    """Writes a trace for the methods that need one: reads and writes of a database, and its log, for five seconds.

    It reaches less far than the smallest slice of a twin.
    """
    path = folder / TRACE
    drawn = random.Random(1)
    lines = ["time_us,op,offset,size\n"]
    for number in range(50_000):
        op, size = drawn.choices([("R", 8192), ("W", 8192), ("R", 65536), ("W", 4096)], [12, 5, 2, 3])[0]
        place = (4 << 30) + 4096 * number if size == 4096 else 8192 * drawn.randrange(1 << 19)
        lines.append(f"{100 * number},{op},{place},{size}\n")
    path.write_text("".join(lines))
    return path


def _item(method: Method, report: Path, picture: Path | None) -> str:
    of_trace = f" --trace {TRACE}" if is_template(method_text(method.name)) else ""
    command = f"fathom run {method.name} {' '.join(targets_of(method.name))} --quick{of_trace}"
    shown = f'<img src="{picture.name}" alt="" loading="lazy">' if picture else ""
    return (
        f'<li><a href="{report.name}">{shown}<h2>{escape(method.title)}</h2></a>'
        f"<p><strong>{_sentence(report)}</strong></p><p>{escape(method.summary)}</p><code>{escape(command)}</code></li>"
    )


def _sentence(report: Path) -> str:
    """Returns the sentence that a report opens with, as HTML: what a reader learns from its first screen."""
    found = re.search(r"<h1[^>]*>(.*?)</h1>", report.read_text(), re.DOTALL)
    return found[1].strip() if found else ""


def _picture(report: Path) -> Path | None:
    """Returns a picture of the report's first screen; None without Chromium."""
    browser = shutil.which("chromium")
    if browser is None:
        return None
    picture = report.with_suffix(".png")
    size = f"--window-size={SCREEN[0]},{SCREEN[1]}"
    options = ["--headless", "--no-sandbox", "--hide-scrollbars", f"--screenshot={picture}", size]
    subprocess.run([browser, *options, report.resolve().as_uri()], capture_output=True, check=False)
    return picture if picture.exists() else None


def main(words: Sequence[str]) -> int:
    """Returns the exit code."""
    if not words:
        print("gallery.py: expected FOLDER [METHOD...]", file=sys.stderr)
        return 2
    try:
        print(make(Path(words[0]), words[1:] or method_names()))
    except FathomError as error:
        print(f"gallery.py: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
