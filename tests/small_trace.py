"""A trace of four I/O streams, for tests of methods that take their workload from one."""

from pathlib import Path
from random import Random

from fathom.catalog import method_text
from fathom.fitting.of_trace import method_of
from fathom.method.method import Method
from fathom.method.template import is_template
from fathom.plan.replay import Replay

IOS = 4000
SHARES = {"8 KiB random read": 0.6, "4 KiB random write": 0.2, "64 KiB sequential write": 0.15}
"""The streams but the smallest: 16 KiB random reads."""


def write_trace(path: Path) -> Path:
    """Writes 4,000 I/Os at even gaps of 250 us, up to half a gigabyte, and a flush."""
    lines, log, drawn = ["time_us,op,offset,size\n"], 0, Random(1)
    for number in range(IOS):
        kind, place = number % 20, drawn.randrange(1 << 15)
        if kind < 12:
            row = f"R,{8192 * place},8192"
        elif kind < 13:
            row = f"R,{16384 * place},16384"
        elif kind < 17:
            row = f"W,{4096 * place},4096"
        else:
            row, log = f"W,{65536 * (log % 200)},65536", log + 1
        lines.append(f"{250 * number},{row}\n")
    lines.append(f"{250 * IOS},F,0,0\n")
    path.write_text("".join(lines))
    return path


def is_of_trace(name: str) -> bool:
    """Whether a method of the catalogue takes its workload from a trace."""
    return is_template(method_text(name))


def method_named(name: str, folder: Path, *, quick: bool = False) -> Method:
    """The method of the catalogue, with the workload of the small trace where it takes one."""
    replay = Replay(write_trace(folder / "small.csv")) if is_of_trace(name) else None
    return method_of(name, replay, quick=quick)[0]
