"""Where the load comes from: this machine alone, or a fleet of hosts. The session asks it and knows no difference."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from fathom.columns.schema import Reading
from fathom.errors import naming
from fathom.load.array import EngineArray
from fathom.load.backend import Backend, EngineBackend
from fathom.load.resolve import resolve_targets
from fathom.targets.claim import Claimed, check_target, claim, claimed, recheck
from fathom.targets.not_measured import NotMeasured
from fathom.targets.parse import FileSizes
from fathom.targets.target import Identity, Target
from fathom.targets.telemetry import Telemetry

if TYPE_CHECKING:
    from pydantic import JsonValue

    from fathom.runs.document import NoteRecord


class Sampler(Protocol):
    """Samples the machines and devices while a target runs."""

    @property
    def not_measured(self) -> Sequence[NotMeasured]:
        """What cannot be sampled here."""
        ...

    def step(self, name: str) -> None:
        """Begins a step."""
        ...

    def paused(self) -> AbstractContextManager[None]:
        """Pauses sampling inside the `with`."""
        ...

    def drain(self) -> list[Reading]:
        """Returns the rows since the last call."""
        ...


class Initiator(Protocol):
    """What finds, checks and holds real targets and loads them."""

    def resolve(
        self,
        texts: Sequence[str],
        size_bytes: int | None = None,
        on_hosts: Mapping[str, FileSizes] = MappingProxyType({}),
    ) -> list[Target]:
        """Returns the targets of a command line; `size_bytes` is the size of files that Fathom makes.

        `on_hosts` has the sizes of hosts whose files have been made with others.
        """
        ...

    def check(
        self, target: Target, *, writes: bool, destroy_tokens: Sequence[str] = (), unknown_data: bool = False
    ) -> object:
        """Passes when the target may be used. Raises RefusedError; writes nothing."""
        ...

    def claim(
        self, target: Target, *, writes: bool, destroy_tokens: Sequence[str] = (), unknown_data: bool = False
    ) -> AbstractContextManager[Target]:
        """Prepares the target and holds it until the end of the `with`."""
        ...

    def recheck(self, target: Target, *, writes: bool) -> None:
        """Passes when the target is still what was claimed."""
        ...

    def start(
        self, target: Target, is_stopped: Callable[[], bool]
    ) -> tuple[Backend, AbstractContextManager[Sampler]]:
        """Returns what runs jobs on a target that `claim` gave, and what samples meanwhile. A job that is set up when
        the run `is_stopped` does no I/O.
        """
        ...

    def parts(self, target: Target) -> Mapping[str, Identity]:
        """Returns the hosts, or the drives of a twin, whose sum the target is, by the name of their rows."""
        ...

    def members(self, target: Target) -> Mapping[str, Sequence[Target]]:
        """Returns the real targets of an array, by the name of the row that they are part of."""
        ...

    def go_on(self, target: Target, began: Mapping[str, Identity]) -> None:
        """Sets the parts to those that the run began with. Raises UsageError or RefusedError where they differ."""
        ...

    def to_json(self) -> "dict[str, JsonValue]":
        """Returns what run.json records about it, in addition to the environment."""
        ...

    def shortfall(self) -> str | None:
        """Returns why the last step's figures cover less than asked; None if they cover all."""
        ...

    def notes(self) -> "list[NoteRecord]":
        """Returns notes on it for the reader of the run."""
        ...


class ThisMachine:
    """Loads targets from here."""

    def resolve(
        self,
        texts: Sequence[str],
        size_bytes: int | None = None,
        on_hosts: Mapping[str, FileSizes] = MappingProxyType({}),
    ) -> list[Target]:
        """Returns what `fathom.load.resolve.resolve_targets` does; there are no other hosts."""
        return resolve_targets(texts, size_bytes)

    def check(
        self, target: Target, *, writes: bool, destroy_tokens: Sequence[str] = (), unknown_data: bool = False
    ) -> object:
        """Checks as `fathom.targets.claim.check_target` does."""
        return check_target(target, writes=writes, destroy_tokens=destroy_tokens, unknown_data=unknown_data)

    def claim(
        self, target: Target, *, writes: bool, destroy_tokens: Sequence[str] = (), unknown_data: bool = False
    ) -> AbstractContextManager[Claimed]:
        """Claims as `fathom.targets.claim.claim` does."""
        return claim(target, writes=writes, destroy_tokens=destroy_tokens, unknown_data=unknown_data)

    def recheck(self, target: Target, *, writes: bool) -> None:
        """Checks as `fathom.targets.claim.recheck` does."""
        with naming(target.name):
            recheck(target, writes=writes)

    def start(
        self, target: Target, is_stopped: Callable[[], bool]
    ) -> tuple[Backend, AbstractContextManager[Sampler]]:
        """Returns the io_uring engine, and the samples of this machine and the device, or the devices of an array.

        Raises TypeError for a target that `claim` did not give.
        """
        own = claimed(target)
        if own.members:
            return EngineArray(own.members, is_stopped), Telemetry(own.members)
        return EngineBackend([own], is_stopped), Telemetry([own])

    def parts(self, target: Target) -> Mapping[str, Identity]:
        """Returns the drives of an array of twins."""
        return {} if target.members else dict.fromkeys(target.parts, target.identity)

    def members(self, target: Target) -> Mapping[str, Sequence[Target]]:
        """Returns the members of an array."""
        return {target.name: target.members}

    def go_on(self, target: Target, began: Mapping[str, Identity]) -> None:
        """Does nothing: `targets_of_run` has compared them."""

    def to_json(self) -> "dict[str, JsonValue]":
        """Returns nothing: the environment describes this machine."""
        return {}

    def shortfall(self) -> str | None:
        """Returns None: the engine itself reports a shortfall."""
        return None

    def notes(self) -> "list[NoteRecord]":
        """Returns no notes of its own."""
        return []
