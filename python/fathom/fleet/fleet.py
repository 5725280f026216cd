"""A fleet as the session sees it: targets that every host loads at once, checked and held on every host.

It knows nothing of Ray; `hosts` gives it its hosts.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from fathom.errors import FathomError, RefusedError, UsageError
from fathom.fleet import clocks
from fathom.fleet.agent import HostAgent, machine
from fathom.fleet.asking import answered, meet, offset_of, quietly, wait_for, wait_through
from fathom.fleet.backend import FleetBackend
from fathom.fleet.host_targets import as_began, as_held, least, require_plausible
from fathom.fleet.load import POLL_S, Host, Remote
from fathom.runs.document import LOST_HOST, NoteRecord
from fathom.targets.not_measured import NotMeasured
from fathom.targets.parse import FileSizes, is_file_set
from fathom.targets.target import Identity, Target

if TYPE_CHECKING:
    from pydantic import JsonValue

RENEW_S = 1.0
MOST_SKEW_NS = 5_000_000
MOST_SLEW_NS_PER_S = 500_000
"""By so much the kernel speeds a clock up, or slows it down, that NTP sets (adjtimex(2))."""

T = TypeVar("T")


class Fleet:
    """Hosts that load the same targets together. Raises UsageError for hosts that cannot work together."""

    def __init__(self, remotes: Sequence[tuple[str, Remote]]) -> None:
        self.hosts = [meet(name, remote) for name, remote in remotes]
        self.facts = {host.name: wait_for(host, host.remote.submit(HostAgent.facts)) for host in self.hosts}
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

    def resolve(
        self,
        texts: Sequence[str],
        size_bytes: int | None = None,
        on_hosts: Mapping[str, FileSizes] = MappingProxyType({}),
    ) -> list[Target]:
        """Returns the targets as the hosts see them, each host with a file of its own in a shared directory."""
        return [self._resolve(text, size_bytes, on_hosts) for text in texts]

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
                quietly(host.remote.submit(HostAgent.release, self._targets[target.name][host.name].name))

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
                answered(answer, host.silence_s + POLL_S)
            except RefusedError:
                raise
            except FathomError as error:
                host.lost = error.message

    def start(
        self, target: Target, is_stopped: Callable[[], bool]
    ) -> "tuple[FleetBackend, AbstractContextManager[FleetBackend]]":
        """Runs jobs on the target from all hosts; every host samples for itself. `is_stopped` has no effect: hosts that
        set up a job are waited for.
        """
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
                before, host.offset = host.offset, offset_of(host)
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

    def _resolve(self, text: str, size_bytes: int | None, on_hosts: Mapping[str, FileSizes]) -> Target:
        if text.startswith("twin:"):
            raise UsageError(
                f"{text}: hosts load only real targets", "run twins without --hosts, --ray or --local-hosts"
            )
        if is_file_set(text):
            raise UsageError(
                f"{text}: hosts hold no numbers of files", "name directories: array:dir:PATH,dir:PATH"
            )
        answers = [
            (host, host.remote.submit(HostAgent.resolve, text, on_hosts.get(host.name, size_bytes)))
            for host in self.hosts
        ]
        seen = {host.name: wait_for(host, answer) for host, answer in answers}
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
        return {host.name: wait_through(host, answer) for host, answer in answers}


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
