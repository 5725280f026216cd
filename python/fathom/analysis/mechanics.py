"""The limits that arm and platters set to a disk, in closed form: a figure above them came from a cache. It does not
model caches or firmware. `limits_of` takes the figures from the catalogue; for a real disk it takes those of its class.
It measures nothing.
"""

from dataclasses import dataclass

from fathom.runs.document import TargetRecord
from fathom.targets.twin_names import twin_name

US_PER_MIN = 60e6
VIRTUAL = ("virtio", "loop")
"""Transports that report `rotational` for any drive."""


@dataclass(frozen=True)
class Mechanics:
    """Times of a disk in us, rates in MB/s of 10^6 bytes; None where nobody states a rate."""

    rpm: float
    seek_us: float
    """Average over the whole surface, reading."""
    overhead_us: float
    outer_mbps: float | None
    inner_mbps: float | None
    basis: str
    """Where the figures are from, for the reader."""
    host_managed: bool = False
    """Whether writes go to the write pointers of zones only."""

    @property
    def half_turn_us(self) -> float:
        """Mean wait for a sector at a random angle, us."""
        return US_PER_MIN / self.rpm / 2

    @property
    def full_stroke_iops(self) -> float:
        """Random reads over the whole surface, one at a time: 1 / (average seek + half a turn + overhead)."""
        return 1e6 / (self.seek_us + self.half_turn_us + self.overhead_us)

    def most_iops(self, outstanding: float, block_bytes: int) -> float:
        """Returns the most small random IOPS that platters allow, in any order and over the shortest strokes. In any
        order, an I/O waits half a turn on average for a sector at a random angle. By Little's law the rate is at most N
        / (T / 2). A block cannot pass faster than the outermost track either.
        """
        by_turn = outstanding * 1e6 / self.half_turn_us
        return by_turn if self.outer_mbps is None else min(by_turn, self.outer_mbps * 1e6 / block_bytes)


def limits_of(target: TargetRecord) -> Mechanics | None:
    """Returns the limits of a target's drive (of one, if it is an array); None for what has no platters."""
    if target.kind != "twin":
        return _of_class(target)
    from fathom.catalog import CatalogError, load_device

    try:
        twin = load_device(twin_name(target.name) or "").twin
    except CatalogError:
        return None
    if twin is None or twin.kind != "disk":
        return None
    value = {name: parameter.value for name, parameter in twin.parameters.items()}
    outer_mbps = float(value["outer_mbps"])
    return Mechanics(
        rpm=float(value["rpm"]),
        seek_us=float(value["seek_average_read_us"]),
        overhead_us=float(value["setup_us"]) + float(value["command_us"]),
        outer_mbps=outer_mbps,
        inner_mbps=outer_mbps * float(value["inner_outer_ratio"]),
        basis="the twin's parameters; the catalogue gives the source of each",
        host_managed=value["tracks"] == "host-managed",
    )


def _of_class(target: TargetRecord) -> Mechanics | None:
    """Returns typical figures of 3.5 inch server drives, without rates: a real disk does not report its speed."""
    identity = target.identity
    if identity.get("rotational") is not True or identity.get("transport") in VIRTUAL:
        return None
    return Mechanics(
        rpm=7200,
        seek_us=8000,
        overhead_us=200,
        outer_mbps=None,
        inner_mbps=None,
        basis="assumed: 7200 rpm, 8 ms average seek and 0.2 ms overhead, typical of 3.5 inch server drives",
        host_managed=identity.get("zoned") == "host-managed",
    )
