"""Reads needs: a rate, a capacity, writes a day over years, a latency, or a power budget."""

import re
from dataclasses import dataclass
from typing import Literal, cast

from fathom.errors import UsageError

Kind = Literal["bandwidth", "iops", "capacity", "endurance", "latency", "power"]
Op = Literal["read", "write", "70/30", "50/50", "30/70"]
"""A mix is reads/writes in percent; its figure is their sum."""

SMALL_BYTES = 4096
"""At this block size it counts as IOPS."""
#: What a share of reads, in percent, is called.
OPS: dict[float, Op] = {100.0: "read", 70.0: "70/30", 50.0: "50/50", 30.0: "30/70", 0.0: "write"}
OP = r"(?P<op>read|write|70/30|50/50|30/70)"
_NUMBER = r"(?P<number>\d+(?:\.\d+)?)"
_FORMS: dict[Kind, str] = {
    "bandwidth": rf"{_NUMBER} ?(?P<unit>[MGT]i?B)/s (?P<op>read|write)",
    "iops": rf"{_NUMBER} ?(?P<unit>[kKM]?) ?IOPS {OP}",
    "endurance": rf"{_NUMBER} ?(?P<unit>[GTP]i?B)/day for (?P<years>\d+(?:\.\d+)?) years?",
    "capacity": rf"{_NUMBER} ?(?P<unit>[GTP]i?B)",
    "latency": rf"(?P<op>read|write) in {_NUMBER} ?(?P<unit>us|ms)",
    "power": rf"{_NUMBER} ?(?P<unit>k?W)",
}
_SCALES = {
    "MB": 1e6,
    "GB": 1e9,
    "TB": 1e12,
    "PB": 1e15,
    "MiB": 2.0**20,
    "GiB": 2.0**30,
    "TiB": 2.0**40,
    "PiB": 2.0**50,
    "": 1.0,
    "k": 1e3,
    "K": 1e3,
    "M": 1e6,
    "us": 1.0,
    "ms": 1e3,
    "W": 1.0,
    "kW": 1e3,
}
FORMS = (
    '"64 GB/s read", "5M IOPS write", "2M IOPS 70/30", "500 TB", "20 TB/day for 5 years", "read in 100 us" '
    'or "400 W"'
)


_MOST = 1e30
"""Every quotient of a larger amount and a drive's figure might be infinite."""


@dataclass(frozen=True)
class Need:
    """One need. `amount` is in B/s, IOPS, B, B written in all, us or W, by `kind`."""

    text: str
    kind: Kind
    amount: float
    op: Op | None = None


def parse_need(text: str, where: str = "--need") -> Need:
    """Reads one need. Raises UsageError with the forms there are, and where the need stood."""
    for kind, form in _FORMS.items():
        match = re.fullmatch(form, text.strip())
        if match is None:
            continue
        found = match.groupdict()
        amount = float(found["number"]) * _SCALES[found["unit"]]
        if kind == "endurance":
            amount *= float(found["years"]) * 365
        if amount <= 0:
            raise UsageError(f"{where} {text!r}: asks for nothing", "give a number above 0")
        if not amount <= _MOST:
            raise UsageError(f"{where}: asks for more than can be counted", f"give less than {_MOST:.0e}")
        return Need(text, kind, amount, cast("Op | None", found.get("op")))
    raise UsageError(f"{where} {text!r}: not understood", f"write {FORMS}")
