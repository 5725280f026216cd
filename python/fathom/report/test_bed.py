"""What a report's figures were measured on: machines, what stands between, and drives, in the order of the path.

A real target's bed is what its run recorded. A twin's is the bench and the system that it stands for.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

Role = Literal["host", "switch", "enclosure", "controller", "server", "software", "drive"]
Facts = tuple[tuple[str, str], ...]
"""Name and text of each fact, in the order of the table."""


@dataclass(frozen=True)
class Component:
    """A machine or a drive, or several that are alike. `link` leads on from it, `uplink` to it."""

    role: Role
    title: str
    count: int = 1
    facts: Facts = ()
    link: str = ""
    uplink: str = ""

    @property
    def stated(self) -> dict[str, str]:
        """Returns all known facts by name, for the table."""
        ways = {"link to it": self.uplink, "link towards the drives": self.link}
        return dict(self.facts) | {name: way for name, way in ways.items() if way}


@dataclass(frozen=True)
class TestBed:
    """One test bed. Each piece of a stage is joined to each piece of the next; the last stage holds the drives."""

    title: str
    source: str
    stages: tuple[tuple[Component, ...], ...]
    simulated: bool


def shared(beds: Sequence[TestBed]) -> list[TestBed]:
    """Returns the test beds. Those that differ only in their drives become one with all these drives."""
    found: list[TestBed] = []
    for bed in beds:
        same = next(
            (place for place, other in enumerate(found) if _but_drives(other) == _but_drives(bed)), None
        )
        if same is None:
            found.append(bed)
        else:
            stages = found[same].stages
            drives = tuple(dict.fromkeys((*stages[-1], *bed.stages[-1])))
            found[same] = replace(bed, stages=(*stages[:-1], drives))
    return found


def _but_drives(bed: TestBed) -> TestBed:
    return replace(bed, stages=bed.stages[:-1])
