"""What a slider is, and those of the load: the same for drives and systems."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fathom import _core
from fathom._core import Job
from fathom.method.job import document_of, read_job

if TYPE_CHECKING:
    from pydantic import JsonValue

Number = int | float
Parameters = dict[str, "JsonValue"]

KIB = 1024
READ_SHARES = (0, 5, 10, 20, 30, 40, 50, 60, 65, 70, 75, 80, 90, 95, 100)
BLOCKS_KIB = (4, 8, 16, 32, 64, 128, 256)
LOAD = "Load"
"""The first group of sliders."""


@dataclass(frozen=True)
class Choice:
    """One value of a slider.

    `label` is what a reader sees. `settings` are the KEY=VALUE of `fathom sweep --set`. `parameters` are those of the
    twin; dots lead into what is within others. `mix`, `block_bytes` and `region` go into the job of every step;
    `region` is a share of the capacity. `hosts` is how many have the job's threads.
    """

    label: str
    settings: tuple[str, ...]
    parameters: "dict[str, JsonValue]"
    mix: "JsonValue" = None
    block_bytes: int | None = None
    region: float | None = None
    depth: int | None = None
    hosts: int | None = None


@dataclass(frozen=True)
class Slider:
    """One slider.

    `start` is the place of the choice that the page begins with, `hint` what the value does. `is_load` says that it is
    asked of the drive as it is too. `is_stated` says that the command names its value even at the start.
    """

    key: str
    name: str
    group: str
    hint: str
    choices: Sequence[Choice]
    start: int
    is_load: bool = False
    is_stated: bool = False


def can_be(parameters: Parameters) -> bool:
    """Returns whether the model takes the parameters."""
    try:
        _core.TwinDevice(json.dumps(parameters), 0)
    except (_core.BackendError, _core.ParseError):
        return False
    return True


def mix_slider(job: Job) -> Slider:
    """Returns the slider of reads among all operations; each choice has the mix as the job language reads it."""
    choices = []
    for share in READ_SHARES:
        if share in (0, 100):
            settings = (f"job.mix={'read' if share else 'write'}",)
            written: JsonValue = "read" if share else "write"
        else:
            settings = (f"job.mix.read={share}", f"job.mix.write={100 - share}")
            written = {"read": share, "write": 100 - share}
        text = json.dumps(
            {
                "mix": written,
                "block": "4KiB",
                "pattern": "uniform",
                "load": {"iodepth": 1},
                "until": {"count": 1},
            }
        )
        normal = document_of(read_job(text))
        choices.append(Choice(f"{share} % reads", settings, {}, mix=normal["mix"]))
    start = READ_SHARES.index(round(job.read_pct or 0))
    return Slider(
        "mix", "Reads", LOAD, "The others are writes, all at random places.", choices, start, is_load=True
    )


def block_slider() -> Slider:
    """Returns the slider of the size of each I/O."""
    choices = [
        Choice(f"{kib} KiB", (f"job.block={kib}KiB",), {}, block_bytes=kib * KIB) for kib in BLOCKS_KIB
    ]
    return Slider("block", "Block size", LOAD, "Bytes of each I/O.", choices, 0, is_load=True)


def depth_slider(steps: "Sequence[dict[str, JsonValue]]", start: int, hint: str) -> Slider:
    """Returns the slider of the point on the curve that the figures are of."""
    depths = sorted({int(str(step["depth"])) for step in steps if step["measured"]})
    choices = [Choice(f"{depth} in flight", (), {}, depth=depth) for depth in depths]
    return Slider("depth", "I/Os in flight", LOAD, hint, choices, depths.index(start))
