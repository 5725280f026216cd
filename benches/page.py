"""How heavy the page of a long run is: 24 targets, each with 24 hours of seconds.

One twin is run for the day; the others have its rows under their own names. Processor time is that of the second of two
calls, whose modules are compiled already. Chromium opens the page three times; the best counts.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from harness import GATE_FAILED, MIB, load_note, progress, table
from playwright.sync_api import sync_playwright

from fathom.runs.checksums import signed
from fathom.runs.manifest import Manifest

TARGETS = 24
HOURS = 24
TWIN = "twin:samsung-pm9a3-7.68tb?idle_w=3."
OPENINGS = 3
METHOD = """
schema = "fathom-method/1"
name = "day"
slice = "8GB"
[[steps]]
name = "day"
[steps.job]
mix = {{ read = 70, write = 30 }}
block = "4KiB"
pattern = "uniform"
region = {{ size = "up to 1GiB" }}
load = {{ iodepth = 4, rate = "20/s" }}
until = {{ time = "{hours}h" }}
"""
DRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
"""Resolves when the charts near the window are on the screen."""


@dataclass(frozen=True)
class Figure:
    """One figure of the page against its bar."""

    name: str
    value: float
    most: float
    unit: str

    def row(self) -> list[str]:
        verdict = "met" if self.value < self.most else "missed"
        return [self.name, f"{self.value:.2f} {self.unit}", f"< {self.most:g} {self.unit}", verdict]


def day(folder: Path, hours: int) -> Path:
    """The run directory of all targets."""
    method, out, runs = folder / "day.toml", folder / "day", folder / "runs"
    method.write_text(METHOD.format(hours=hours))
    called = [sys.executable, "-m", "fathom", "run", str(method), f"{TWIN}1", "--out", str(runs)]
    subprocess.run(called, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    [run] = runs.iterdir()
    out.mkdir()
    document = json.loads((run / "run.json").read_text())
    [first] = document["targets"]
    names = [f"{TWIN}{number}" for number in range(1, TARGETS + 1)]
    document["targets"] = [
        first | {"name": name, "label": f"{first['label']} no. {number}"}
        for number, name in enumerate(names, 1)
    ]
    for path in run.glob("*.parquet"):
        rows = pq.read_table(path)
        at = rows.schema.get_field_index("target")
        with pq.ParquetWriter(out / path.name, rows.schema, compression="zstd") as writer:
            for name in names:
                column = pa.array([name] * rows.num_rows, rows.schema.field(at).type)
                writer.write_table(rows.set_column(at, rows.schema.field(at), column))
    shutil.copy(run / "journal.jsonl", out)
    text = json.dumps(signed({key: value for key, value in document.items() if key != "sha256"}))
    (out / "run.json").write_text(text)
    Manifest.of_run(out, document["id"], text).save(out)
    return out


def built(run: Path, page: Path, compiled: Path) -> tuple[float, float]:
    """Processor time in s and greatest memory in MiB of building the page."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(compiled)
    process = subprocess.Popen(
        [sys.executable, "-m", "fathom", "report", str(run), "--out", str(page)],
        env=environment,
        stdout=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"fathom report: exit status {os.waitstatus_to_exitcode(status)}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def opened(page: Path) -> float:
    """Seconds until Chromium shows the page and its first charts."""
    seconds = []
    with sync_playwright() as playwright:
        found = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        for _ in range(OPENINGS):
            window = browser.new_page(viewport={"width": 1280, "height": 900})
            began = time.monotonic()
            window.goto(page.as_uri(), wait_until="load")
            window.evaluate(DRAWN)
            seconds.append(time.monotonic() - began)
            window.close()
        browser.close()
    return min(seconds)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one hour instead of a day")
    hours = 1 if parser.parse_args().quick else HOURS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        progress("running one twin")
        run, page = day(folder, hours), folder / "report.html"
        progress("building the page")
        built(run, page, folder / "compiled")
        cpu_s, memory_mib = built(run, page, folder / "compiled")
        progress("opening it")
        figures = [
            Figure("file", page.stat().st_size / MIB, 8, "MiB"),
            Figure("processor time to build", cpu_s, 10, "s"),
            Figure("greatest memory", memory_mib, 1024, "MiB"),
            Figure("opens in Chromium", opened(page), 2, "s"),
        ]
    rows = [figure.row() for figure in figures]
    table(f"Page of {TARGETS} targets x {hours} h of seconds", ["figure", "value", "bar", ""], rows)
    if note := load_note():
        print(note)
    return 0 if all(figure.value < figure.most for figure in figures) else GATE_FAILED


if __name__ == "__main__":
    raise SystemExit(main())
