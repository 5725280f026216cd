"""Jobs on one target from every host that is left."""

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from fathom._core import Job, Precision
from fathom.columns.schema import Reading
from fathom.errors import FathomError
from fathom.fleet.agent import HostAgent, Sampled
from fathom.fleet.host_targets import divides, is_shared
from fathom.fleet.load import FleetLoad, Host
from fathom.load.seeds import step_seed
from fathom.method.job import of_parts
from fathom.targets.not_measured import NotMeasured
from fathom.targets.target import Target

if TYPE_CHECKING:
    from fathom.fleet.fleet import Fleet

HEAD_START_NS = 2_000_000_000
"""From the order to start to the start, so that every host has its buffers ready."""


class FleetBackend:
    """Runs jobs on one target from every host that is left."""

    real_time = True
    settled = False
    of_hosts = True
    copied = None
    capacity_bytes = None

    def __init__(self, fleet: "Fleet", target: Target) -> None:
        self._fleet, self._target = fleet, target
        self._load: FleetLoad | None = None
        self._step = ""

    @property
    def parts(self) -> Sequence[str]:
        """The hosts' own rows."""
        return list(self._fleet.parts(self._target))

    @property
    def divides_fill(self) -> bool:
        """Whether each host has a part of the fill that runs."""
        return self._load is not None and self._load.divided

    @property
    def not_measured(self) -> Sequence[NotMeasured]:
        """What the hosts that hold the target cannot sample."""
        return self._fleet.not_measured(self._target)

    def step(self, name: str) -> None:
        """Names the step that comes next, for the hosts' telemetry."""
        self._step = name

    def paused(self) -> AbstractContextManager[None]:
        """Does nothing: hosts sample only beside a load."""
        return nullcontext()

    def drain(self) -> list[Reading]:
        """Returns what the hosts sampled during the last step."""
        if self._load is None:
            return []
        return [
            Reading(
                self._row_of(host, row), row.step, row.start_s, row.length_s, row.name, row.value, row.unit
            )
            for host, row in self._load.telemetry
        ]

    def _row_of(self, host: Host, sampled: Sampled) -> str:
        """Returns the name of the row that a host's sample is of: a member of its array, or the host."""
        own = self._fleet.targets_of(self._target)[host.name]
        return f"{host.name}:{sampled.target if sampled.target in own.parts else self._target.name}"

    def start(
        self,
        job: Job,
        seed: int,
        hold_every_s: float | None = None,
        precision: Precision | None = None,
        *,
        fills: bool = False,
    ) -> FleetLoad:
        """Starts the job on every host at one moment, each with requests of its own.

        A drive that all hosts share is filled once: each host has a part of its own.
        """
        fleet = self._fleet
        fleet.compare_clocks()
        hosts = [host for host in fleet.hosts if host.lost is None]
        if not hosts:
            raise FathomError("every host is lost", "see the notes of the run, then start it again")
        at_ns = time.time_ns() + HEAD_START_NS
        seen = fleet.targets_of(self._target)
        jobs = of_parts(job, len(fleet.hosts), hosts=True)
        divided = (
            fills
            and is_shared([seen[host.name] for host in hosts])
            and divides(job, self._target, len(hosts))
        )
        if divided:
            among = {host.name: number for number, host in enumerate(hosts)}
            placed = zip(fleet.hosts, jobs, strict=True)
            jobs = [own.in_part(among.get(host.name, 0), len(hosts)) for host, own in placed]
        starts = {
            host.name: host.remote.submit(
                HostAgent.start,
                seen[host.name].name,
                jobs[place],
                step_seed(seed, place),
                self._step,
                at_ns + host.offset.offset_ns,
                host.name not in fleet.cramped,
            )
            for place, host in enumerate(fleet.hosts)
            if host in hosts
        }
        self._load = FleetLoad(fleet.hosts, starts, fleet.step_ended, divided=divided)
        return self._load
