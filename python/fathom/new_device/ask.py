"""Asks for a data sheet at a terminal, key by key. An empty answer leaves a key out; a wrong one is asked for again."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

from fathom.catalog.check import parse_as, value_problem
from fathom.new_device.files import sheet_toml
from fathom.new_device.sheet import DataSheet, Interface, Kind, Nand

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
    ("seq_read_latency_us", "latency of sequential reads in us"),
    ("mixed_iops", "random reads and writes a second of a 70/30 mix"),
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
NEEDED = ("vendor", "model", "kind", "capacity_gb", "interface", "pcie_generation", "nand", "source")
CHOICES = {"kind": get_args(Kind), "interface": get_args(Interface), "nand": get_args(Nand)}
"""What a key may be; upper and lower case are the same in an answer."""
TEXTS = ("vendor", "model", "form_factor", "source")


def ask_for_sheet(ask: Ask) -> tuple[DataSheet, str]:
    """Returns the data sheet that was answered, and its text to keep.

    Raises CatalogError for answers that make none together: one line each.
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
        while problem := _problem(key, answer):
            answer = ask(f"{problem}\n{question}").strip()
        if answer:
            answers[key] = _value(key, answer)


def _problem(key: str, answer: str) -> str | None:
    """Returns what is wrong with an answer; None where it will do."""
    if not answer:
        return "a sheet needs this" if key in NEEDED else None
    return value_problem(DataSheet, key, _value(key, answer))


def _value(key: str, answer: str) -> object:
    """Returns an answer as its key's value. What it cannot be stays as it is: the sheet's rules say so."""
    if key in CHOICES:
        return next((one for one in CHOICES[key] if one.lower() == answer.lower()), answer)
    return answer if key in TEXTS else _number(answer)


def _number(answer: str) -> int | float | str:
    """Returns the answer as a number, or as it is where it is none."""
    plain = answer.replace(",", "").replace("_", "")
    for kind in (int, float):
        try:
            return kind(plain)
        except ValueError:
            continue
    return answer
