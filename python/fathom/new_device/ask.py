"""Asks for a data sheet at a terminal, key by key. Empty answers leave a key out."""

from __future__ import annotations

from collections.abc import Callable

from fathom.catalog.check import parse_as
from fathom.new_device.files import sheet_toml
from fathom.new_device.sheet import DataSheet

Ask = Callable[[str], str]
"""Shows a question and returns the answer, empty for none."""

FIRST = (
    ("vendor", "vendor"),
    ("model", "model"),
    ("kind", "kind, ssd or disk"),
    ("capacity_gb", "capacity in GB"),
    ("interface", "interface: PCIe, SATA or SAS"),
)
PCIE = (("pcie_generation", "PCIe generation"), ("pcie_lanes", "PCIe lanes"))
SSD = (
    ("nand", "NAND: TLC or QLC"),
    ("rand_write_block_kib", "block of rated random writes in KiB, empty for 4"),
    ("write_latency_us", "write latency in us"),
    ("endurance_dwpd", "drive writes a day"),
    ("tbw_tb", "total writes in TB"),
)
DISK = (("rpm", "turns a minute"), ("platters", "platters"), ("cache_mb", "cache in MB"))
RATED = (
    ("form_factor", "form factor"),
    ("seq_read_mbps", "sequential reads in MB/s"),
    ("seq_write_mbps", "sequential writes in MB/s"),
    ("rand_read_iops", "random reads a second"),
    ("rand_write_iops", "random writes a second"),
    ("read_latency_us", "read latency in us"),
    ("power_active_w", "active power in W"),
    ("power_idle_w", "idle power in W"),
)
LAST = (("source", "source: document and revision"),)
TEXTS = ("vendor", "model", "kind", "interface", "nand", "form_factor", "source")


def ask_for_sheet(ask: Ask) -> tuple[DataSheet, str]:
    """Returns the data sheet that was answered, and its text to keep.

    Raises CatalogError for answers that make none: one line each.
    """
    answers: dict[str, object] = {}
    _ask(FIRST, ask, answers)
    if answers.get("interface") == "PCIe":
        _ask(PCIE, ask, answers)
    _ask(DISK if answers.get("kind") == "disk" else SSD, ask, answers)
    _ask((*RATED, *LAST), ask, answers)
    text = sheet_toml(answers)
    return parse_as(DataSheet, text, "answers"), text


def _ask(questions: tuple[tuple[str, str], ...], ask: Ask, answers: dict[str, object]) -> None:
    for key, question in questions:
        answer = ask(question).strip()
        if answer:
            answers[key] = answer if key in TEXTS else _number(answer)


def _number(answer: str) -> int | float | str:
    """Returns the answer as a number, or as it is where it is none: the sheet's rules say so."""
    plain = answer.replace(",", "").replace("_", "")
    for kind in (int, float):
        try:
            return kind(plain)
        except ValueError:
            continue
    return answer
