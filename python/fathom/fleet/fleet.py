"""A fleet as the session sees it: targets that every host loads at once, checked and held on every host.

It knows nothing of Ray; `hosts` gives it its hosts.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from concurrent.futures import TimeoutError as NotInTime
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, TypeVar

from fathom._core import Job, Precision
from fathom.columns.schema import Reading
from fathom.errors import FathomError, RefusedError, UsageError
from fathom.fleet import clocks
from fathom.fleet.agent import HostAgent, Sampled, machine
from fathom.fleet.host_targets import as_began, as_held, divides, is_shared, least, require_plausible
from fathom.fleet.load import POLL_S, FleetLoad, Host, Remote, reason
from fathom.load.seeds import step_seed
from fathom.method.job import of_parts
from fathom.runs.document import LOST_HOST, NoteRecord
from fathom.targets.not_measured import NotMeasured
from fathom.targets.parse import is_file_set
from fathom.targets.target import Identity, Target

if TYPE_CHECKING:
    from pydantic import JsonValue

#: From the order to start to the start, so that every host has its buffers ready.
HEAD_START_NS = 2_000_000_000
CALL_S = 60.0
RENEW_S = 1.0
MOST_SKEW_NS = 5_000_000
MOST_SLEW_NS_PER_S = 500_000
"""By so much the kernel speeds a clock up, or slows it down, that NTP sets (adjtimex(2))."""

T = TypeVar("T")


class Fleet:
    """Hosts that load the same targets together. Raises UsageError for hosts that cannot work together."""

    def __init__(self, remotes: Sequence[tuple[str, Remote]]) -> None:
        self.hosts = [_meet(name, remote) for name, remote in remotes]
        self.facts = {host.name: _wait_for(host, host.remote.submit(HostAgent.facts)) for host in self.hosts}
        self.skews_ns: list[int] = []
        self._first_offsets = {host.name: host.offset for host in self.hosts}
        self._compared_s = time.monotonic()
        self._jumps_ns: dict[str, int] = {}
        self._missing_in_step: list[str] = []
        self._targets: dict[str, dict[str, Target]] = {}
        self.cramped = self._of_shared_machines()
        for host in self.hosts:
            host.crowded = host.name in self.cramped or self.facts[host.name].machine == machine()
        for name, facts in self.facts.items():
            facts.require_same_fathom(name)

    def resolve(self, texts: Sequence[str], size_bytes: int | None = None) -> list[Target]:
        """Returns the targets as the hosts see them, each host with a file of its own in a shared directory."""
        return [self._resolve(text, size_bytes) for text in texts]

    def check(
        self, target: Target, *, writes: bool, destroy_tokens: Sequence[str] = (), unknown_data: bool = False
    ) -> None:
        """Passes when every host may use the target. Raises RefusedError."""
        self._on_all(
            target,
            lambda host, own: host.remote.submit(HostAgent.check, own, writes, destroy_tokens, unknown_data),
        )

    @contextmanager
    def claim(
        self, target: Target, *, writes: bool, destroy_tokens: Sequence[str] = (), unknown_data: bool = False
    ) -> Iterator[Target]:
        """Holds the target on every host for the length of the `with`."""
        try:
            with self._naming_folder(target):
                held = self._on_all(
                    target,
                    lambda host, own: host.remote.submit(
                        HostAgent.hold, own, writes, destroy_tokens, unknown_data
                    ),
                )
            own = self._targets[target.name]
            own |= {host: as_held(own[host], ready) for host, ready in held.items()}
            notes = [f"{host}: {note}" for host, own in held.items() for note in own.notes]
            with self._leases_renewed():
                yield replace(target, notes=(*target.notes, *notes))
        finally:
            for host in self._left():
                _quietly(host.remote.submit(HostAgent.release, self._targets[target.name][host.name].name))

    @contextmanager
    def _naming_folder(self, target: Target) -> Iterator[None]:
        """Adds to the refusal of a file how hosts share a file system: each needs a file of its own."""
        try:
            yield
        except RefusedError as error:
            if target.kind != "file" or len(self.hosts) == 1:
                raise
            folder = Path(target.name.removeprefix("file:")).parent
            raise RefusedError(
                error.message,
                f"{error.hint}; hosts that share a file system need a file each, which dir:{folder} gives them",
                error.rules,
            ) from error

    @contextmanager
    def _leases_renewed(self) -> Iterator[None]:
        """Shows the hosts that the coordinator is there, also while the session waits for a disk."""
        ended = Event()

        def renew() -> None:
            while not ended.wait(RENEW_S):
                for host in self._left():
                    host.remote.submit(HostAgent.renew)

        thread = Thread(target=renew, daemon=True, name="leases")
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def recheck(self, target: Target, *, writes: bool) -> None:
        """Passes when the hosts' targets are still what was claimed. A host that cannot say so in time is lost.

        Raises RefusedError where a target is another one by now.
        """
        own = self._targets[target.name]
        left = self._left()
        answers = [host.remote.submit(HostAgent.recheck, own[host.name].name, writes) for host in left]
        for host, answer in zip(left, answers, strict=True):
            try:
                _answered(answer, host.silence_s + POLL_S)
            except RefusedError:
                raise
            except FathomError as error:
                host.lost = error.message

    def start(self, target: Target) -> "tuple[FleetBackend, AbstractContextManager[FleetBackend]]":
        """Runs jobs on the target from all hosts; every host samples for itself."""
        backend = FleetBackend(self, target)
        return backend, nullcontext(backend)

    def parts(self, target: Target) -> dict[str, Identity]:
        """Returns the hosts' own rows, by name, and what each host loads."""
        own = self._targets[target.name]
        return {f"{host.name}:{target.name}": own[host.name].identity for host in self.hosts}

    def members(self, target: Target) -> dict[str, Sequence[Target]]:
        """Returns the members of each host's array by the host's row. None has a path: it would lead to another file
        or device here.
        """
        own = self._targets[target.name]
        return {
            f"{host.name}:{target.name}": [
                replace(one, name=f"{host.name}:{one.name}", path=None, passthrough=None)
                for one in own[host.name].members
            ]
            for host in self.hosts
        }

    def go_on(self, target: Target, began: Mapping[str, Identity]) -> None:
        """Has each host go on with the file or device that it held when the run began.

        Raises UsageError for a host without one, RefusedError where a host's device is another.
        """
        own = self._targets[target.name]
        for host, one in own.items():
            members = tuple(as_began(host, member, member.name, began) for member in one.members)
            own[host] = replace(as_began(host, one, target.name, began), members=members)

    def not_measured(self, target: Target) -> list[NotMeasured]:
        """Returns what the hosts cannot sample, each once with the hosts."""
        own = self._targets[target.name]
        said = self._on_all(target, lambda host, own: host.remote.submit(HostAgent.not_measured, own.name))
        return _once(
            {
                host: [
                    replace(one, of=target.name) if one.of in (own[host].name, *own[host].parts) else one
                    for one in found
                ]
                for host, found in said.items()
            }
        )

    def targets_of(self, target: Target) -> dict[str, Target]:
        """Returns the target as each host sees it, by host."""
        return self._targets[target.name]

    def step_ended(self, skew_ns: int | None, missing: Sequence[Host]) -> None:
        """Keeps whose load the step lacks and how far apart the hosts began; compares the clocks after the step too."""
        if skew_ns is not None:
            self.skews_ns.append(skew_ns)
        self._missing_in_step = [host.name for host in missing]
        self.compare_clocks()

    def shortfall(self) -> str | None:
        """Returns the hosts that the last step lost, or ran without."""
        if not self._missing_in_step:
            return None
        return f"lost {', '.join(self._missing_in_step)}"

    def compare_clocks(self) -> None:
        """Measures every host's clock again; a host that does not answer, or not with a clock, is lost."""
        now_s = time.monotonic()
        slewed_ns = (now_s - self._compared_s) * MOST_SLEW_NS_PER_S
        self._compared_s = now_s
        for host in self._left():
            try:
                before, host.offset = host.offset, _offset(host)
            except FathomError as error:
                host.lost = error.message
                continue
            moved_ns = abs(host.offset.offset_ns - before.offset_ns)
            if moved_ns > slewed_ns + before.error_ns + host.offset.error_ns + clocks.MOST_SPREAD_NS:
                self._jumps_ns[host.name] = max(moved_ns, self._jumps_ns.get(host.name, 0))

    def to_json(self) -> "dict[str, JsonValue]":
        """Returns the fleet for run.json."""
        return {"fleet": [self._host_json(host) for host in self.hosts]}

    def notes(self) -> list[NoteRecord]:
        """Returns what a reader must know of the hosts before reading totals."""
        return [*self._losses(), *self._starts(), *self._jumps(), *self._shared_cores()]

    def _host_json(self, host: Host) -> "dict[str, JsonValue]":
        facts, first = self.facts[host.name], self._first_offsets[host.name]
        return {
            "name": host.name,
            "hostname": facts.name,
            "kernel": facts.kernel,
            "cores": facts.cores,
            "clock_offset_us": first.offset_ns / 1e3,
            "clock_error_us": first.error_ns / 1e3,
            "clock_drift_us": (host.offset.offset_ns - first.offset_ns) / 1e3,
            "lost": host.lost,
        }

    def _losses(self) -> list[NoteRecord]:
        return [
            NoteRecord(
                rule=LOST_HOST,
                level="error",
                text=f"host {host.name} was lost: {host.lost}. Its figures up to then are kept. The total of that "
                "step covers the seconds in which every host was active; later totals cover the remaining "
                "hosts",
                next_step="mend the host; then `fathom resume` measures these steps again from all hosts",
            )
            for host in self.hosts
            if host.lost
        ]

    def _starts(self) -> list[NoteRecord]:
        if not self.skews_ns:
            return []
        most, error = max(self.skews_ns), max(host.offset.error_ns for host in self.hosts)
        text = (
            f"{len(self.hosts)} hosts began each of {len(self.skews_ns)} steps within {most / 1e6:.2f} ms of each "
            f"other; their clocks are known to {error / 1e6:.2f} ms"
        )
        if most <= MOST_SKEW_NS:
            return [NoteRecord(rule="start-skew", level="info", text=text)]
        return [
            NoteRecord(
                rule="start-skew",
                level="warning",
                text=text,
                next_step="the first and last second of each step lack some hosts; run longer steps",
            )
        ]

    def _jumps(self) -> list[NoteRecord]:
        """Clocks that moved by more than setting them evenly explains."""
        return [
            NoteRecord(
                rule="clock-jump",
                level="warning",
                text=(
                    f"the clock of host {name} moved by {moved_ns / 1000000.0:.1f} ms against this machine's "
                    "between two steps"
                ),
                next_step="set the hosts' clocks by NTP or PTP, and run again",
            )
            for name, moved_ns in self._jumps_ns.items()
        ]

    def _shared_cores(self) -> list[NoteRecord]:
        if not self.cramped:
            return []
        return [
            NoteRecord(
                rule="shared-cores",
                level="info",
                text=f"hosts {', '.join(self.cramped)} share the cores of one machine: their load threads are not "
                "pinned and compete for these cores",
            )
        ]

    def _of_shared_machines(self) -> list[str]:
        uses = Counter(facts.machine for facts in self.facts.values())
        return [name for name, facts in self.facts.items() if uses[facts.machine] > 1]

    def _resolve(self, text: str, size_bytes: int | None) -> Target:
        if text.startswith("twin:"):
            raise UsageError(
                f"{text}: hosts load only real targets", "run twins without --hosts, --ray or --local-hosts"
            )
        if is_file_set(text):
            raise UsageError(
                f"{text}: hosts hold no numbers of files", "name directories: array:dir:PATH,dir:PATH"
            )
        answers = [(host, host.remote.submit(HostAgent.resolve, text, size_bytes)) for host in self.hosts]
        seen = {host.name: _wait_for(host, answer) for host, answer in answers}
        for host, own in seen.items():
            require_plausible(host, text, own)
        self._targets[text] = seen
        first = next(iter(seen.values()))
        return replace(
            first,
            name=text,
            path=None,
            capacity_bytes=min(own.capacity_bytes for own in seen.values()),
            members=least([own.members for own in seen.values()]),
            label=f"{first.label} from {len(seen)} hosts",
            notes=tuple(f"{host}: {note}" for host, own in seen.items() for note in own.notes),
        )

    def _left(self) -> list[Host]:
        return [host for host in self.hosts if host.lost is None]

    def _on_all(self, target: Target, call: "Callable[[Host, Target], Future[T]]") -> dict[str, T]:
        """Calls every host that is left at once and gives their answers. Raises the first refusal.

        To make a large file on a disk takes a host minutes.
        """
        own = self._targets[target.name]
        answers = [(host, call(host, own[host.name])) for host in self._left()]
        return {host.name: _wait_through(host, answer) for host, answer in answers}


class FleetBackend:
    """Runs jobs on one target from every host that is left."""

    real_time = True
    settled = False
    of_hosts = True
    copied = None
    capacity_bytes = None

    def __init__(self, fleet: Fleet, target: Target) -> None:
        self._fleet, self._target = fleet, target
        self._load: FleetLoad | None = None
        self._step = ""

    @property
    def parts(self) -> Sequence[str]:
        """The hosts' own rows."""
        return list(self._fleet.parts(self._target))

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


def _once(said: Mapping[str, Sequence[NotMeasured]]) -> list[NotMeasured]:
    """Returns what the hosts lack, each once with the hosts that lack it."""
    by_what: dict[NotMeasured, list[str]] = {}
    for host, found in said.items():
        for one in found:
            by_what.setdefault(one, []).append(host)
    return [
        replace(one, where="every host" if len(hosts) == len(said) else f"host {', '.join(hosts)}")
        for one, hosts in by_what.items()
    ]


def _meet(name: str, remote: Remote) -> Host:
    host = Host(name, remote, clocks.Offset(0, 0))
    with _named(host):
        host.offset = _offset(host)
    if not host.offset.usable:
        raise UsageError(
            f"host {name}: a round trip takes {2 * host.offset.error_ns / 1000000.0:.1f} ms, so its clock is "
            f"known only to {host.offset.error_ns / 1000000.0:.1f} ms",
            "use a host within 10 ms",
        )
    return host


def _offset(host: Host) -> clocks.Offset:
    """Returns how far its clock is ahead. Raises FathomError for a clock that jumps whenever it is looked at."""
    offset = _measured(host)
    if not offset.even:
        # A clock that is set just then jumps once.
        offset = _measured(host)
    if not offset.even:
        raise FathomError(
            f"its clock jumps: two readings are {offset.spread_ns / 1000000.0:.1f} ms further "
            "apart than the time between them",
            "set it by NTP or PTP, or leave the host out",
        )
    return offset


def _measured(host: Host) -> clocks.Offset:
    return clocks.measure(lambda: _answered(host.remote.submit(HostAgent.clock_ns)))


@contextmanager
def _named(host: Host) -> Iterator[None]:
    """Puts the host's name in front of errors inside the `with`."""
    try:
        yield
    except FathomError as error:
        raise type(error)(f"host {host.name}: {error.message}", error.hint) from error


def _wait_for(host: Host, answer: "Future[T]") -> T:
    """Returns a host's answer. Raises as `_answered` does, with the host's name in front."""
    with _named(host):
        return _answered(answer)


def _answered(answer: "Future[T]", patience_s: float | None = None) -> T:
    """Returns the answer. Raises what the host raised when that is Fathom's own error, else FathomError."""
    patience_s = CALL_S if patience_s is None else patience_s
    try:
        return answer.result(patience_s)
    except NotInTime as error:
        raise FathomError(
            f"did not answer within {patience_s:.0f} s", "look at that host and start again"
        ) from error
    except Exception as error:
        cause = getattr(error, "cause", None) or error
        if isinstance(cause, FathomError):
            raise type(cause)(cause.message, cause.hint) from error
        raise FathomError(reason(error)) from error


def _wait_through(host: Host, answer: "Future[T]") -> T:
    """As `_wait_for`, however long the answer takes while the host still answers other calls."""
    while not wait([answer], CALL_S).done:
        _wait_for(host, host.remote.submit(HostAgent.clock_ns))
    return _wait_for(host, answer)


def _quietly(answer: "Future[None]") -> None:
    """Waits for an answer that changes nothing any more."""
    with suppress(Exception):
        answer.result(CALL_S)
