"""The sliders of an SSD: its parts and how full it is, with what sets them on a command line."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fathom.method.job import job_of
from fathom.what_if.choice import (
    Choice,
    Number,
    Parameters,
    Slider,
    block_slider,
    can_be,
    depth_slider,
    mix_slider,
)

if TYPE_CHECKING:
    from pydantic import JsonValue

START_DEPTH = 32
FILLS_PCT = (10, 20, 30, 40, 50, 60, 70, 75, 80, 85, 90, 95, 100)
DRIVE, LINK = "Drive", "Link and power"
"""Groups of sliders after the load, in order."""


@dataclass(frozen=True)
class _Part:
    """A parameter of the twin that has a slider: the values offered beside its own, and how they are written."""

    parameter: str
    name: str
    group: str
    hint: str
    values: Sequence[Number]
    label: Callable[[Number, Parameters], str]


def _per_cent(value: Number, _: Parameters) -> str:
    return f"{100 * value:.4g} %"


def _us(value: Number, _: Parameters) -> str:
    return f"{value:,.4g} µs" if value < 1000 else f"{value / 1000:.4g} ms"


def _dies(value: Number, parameters: Parameters) -> str:
    return f"{int(value) * _integer(parameters, 'channels')} dies"


def _at_once(value: Number, _: Parameters) -> str:
    return f"{value:.0f} dies"


def _watts(value: Number, _: Parameters) -> str:
    return f"{value:.3g} W" if value else "none"


def _lanes(value: Number, _: Parameters) -> str:
    return "1 lane" if value == 1 else f"{value} lanes"


def _generation(value: Number, _: Parameters) -> str:
    return f"PCIe {value}.0"


_PARTS = (
    _Part(
        "over_provisioning",
        "Over-provisioning",
        DRIVE,
        "Spare space beyond the capacity. More of it means less cleaning per write.",
        (0.03, 0.05, 0.07, 0.09, 0.11, 0.13, 0.15, 0.18, 0.21, 0.24, 0.28, 0.32, 0.4, 0.5, 0.75, 1.0),
        _per_cent,
    ),
    _Part(
        "dies_per_channel",
        "Flash dies",
        DRIVE,
        "Dies work side by side, on as many channels as before.",
        (1, 2, 4, 8, 16, 32, 64),
        _dies,
    ),
    _Part(
        "program_us",
        "Program time",
        DRIVE,
        "What writing one unit of a die takes.",
        (200, 300, 400, 500, 600, 700, 800, 1000, 1200, 1400, 1700, 2000, 2400, 2800, 3300, 4000),
        _us,
    ),
    _Part(
        "read_sense_us",
        "Read time",
        DRIVE,
        "What sensing a page of a die takes, tR.",
        (5, 10, 20, 30, 40, 50, 60, 70, 80, 100, 120, 150),
        _us,
    ),
    _Part(
        "programming_dies_max",
        "Dies that program at once",
        LINK,
        "The budget of power for programs and erases.",
        (4, 8, 12, 16, 24, 32, 40, 48, 56, 64, 80, 96, 128, 192, 256, 512),
        _at_once,
    ),
    _Part(
        "power_cap_w",
        "Power cap",
        LINK,
        "The drive holds commands back to stay below it.",
        (0, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 18, 20, 25),
        _watts,
    ),
    _Part("pcie_lanes", "PCIe lanes", LINK, "Lanes of the link to the host.", (1, 2, 4, 8, 16), _lanes),
    _Part(
        "pcie_generation", "PCIe generation", LINK, "Doubles the rate of a lane.", (3, 4, 5, 6), _generation
    ),
)


def sliders(parameters: Parameters, steps: "Sequence[dict[str, JsonValue]]") -> list[Slider]:
    """Returns the sliders for a twin with these parameters, settled or not, and the steps that the page runs."""
    parts = [_of_part(part, parameters) for part in _PARTS]
    job = job_of(steps[-1])
    load = [
        mix_slider(job),
        block_slider(),
        depth_slider(steps, START_DEPTH, "Which point of the curve the figures are of."),
    ]
    drive = [slider for slider in parts if slider is not None]
    place = next(at for at, slider in enumerate(drive) if slider.group != DRIVE)
    return [*load, *drive[:place], _fill(), *drive[place:]]


def _of_part(part: _Part, parameters: Parameters) -> Slider | None:
    """Returns a slider over the values that the model takes; None where the drive does not have the part."""
    own = _number(parameters, part.parameter)
    if own == 0 and part.parameter.startswith("pcie"):
        return None
    values = sorted({own, *(value for value in part.values if _can_be(part.parameter, value, parameters))})
    if values[0] == 0:
        # No cap is the highest one.
        values = [*values[1:], values[0]]
    choices = [
        Choice(part.label(value, parameters), (f"{part.parameter}={value!r}",), {part.parameter: value})
        for value in values
    ]
    return Slider(part.parameter, part.name, part.group, part.hint, choices, values.index(own))


def _can_be(parameter: str, value: Number, parameters: Parameters) -> bool:
    """Returns whether the model takes the value; the drive is not settled, which takes time."""
    return can_be(parameters | {parameter: value, "settled_share": 0.0})


def _fill() -> Slider:
    choices = [
        Choice(
            f"{pct} %",
            (f"settled_share={pct / 100!r}", f"job.region={pct}%"),
            {"settled_share": pct / 100},
            region=pct / 100,
        )
        for pct in FILLS_PCT
    ]
    hint = "Capacity that holds data, and that the load goes to. What is free helps cleaning."
    return Slider("fill", "Filled", DRIVE, hint, choices, len(choices) - 1, is_load=True, is_stated=True)


def _number(parameters: Parameters, name: str) -> Number:
    value = parameters[name]
    assert isinstance(value, int | float)
    return value


def _integer(parameters: Parameters, name: str) -> int:
    return int(_number(parameters, name))
