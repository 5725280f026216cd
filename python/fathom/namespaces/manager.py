"""One controller that manages namespaces: lists, descriptions, create, delete, attach, detach."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from fathom.namespaces.layout import (
    HANDLE_STATUS_HEADER,
    Definition,
    block_bytes,
    controller_list,
    creation_data,
    granularity_bytes,
    handle_status_bytes,
    handles_of,
    parse_controller_list,
    parse_definition,
    unused_handles,
)
from fathom.targets.capabilities import IDENTIFY_BYTES, Controller, parse_controller, parse_namespace_list
from fathom.targets.capability_reader import (
    ALL,
    ALLOCATED_NAMESPACES,
    OF_CONTROLLER,
    makes_namespaces,
)
from fathom.targets.nvme_admin import (
    GET_LOG_PAGE,
    IDENTIFY,
    NAMESPACE_ATTACHMENT,
    NAMESPACE_MANAGEMENT,
    Admin,
    Change,
    asked_namespace,
)

ALLOCATED_NAMESPACE, CONTROLLERS_OF_NAMESPACE, GRANULARITIES = 0x11, 0x12, 0x16
NVM_NAMESPACE = 0x05
"""What the NVM command set adds to Identify Namespace; its first 8 bytes are the storage tag mask."""
CREATE, DELETE = 0, 1
ATTACH, DETACH = 0, 1
HANDLE_USAGE = 0x21
IO_MANAGEMENT_RECEIVE, HANDLE_STATUS = 0x12, 1
SETS_ANA_GROUP = 1 << 7
STATES_GRANULARITY = 1 << 7


@dataclass(frozen=True, slots=True)
class Facts:
    """What Identify Controller says about namespaces."""

    able: Controller
    sets_ana_group: bool
    states_granularity: bool


@dataclass(frozen=True, slots=True)
class Manager:
    """Commands to one controller. Every method raises OSError where a command is refused or does not arrive."""

    admin: Admin
    change: Change
    ask: Callable[[Path, int, int, int, int, int], bytes] = asked_namespace

    def facts(self) -> Facts:
        """Returns what the controller can do."""
        data = self.admin(IDENTIFY, 0, OF_CONTROLLER, 0, IDENTIFY_BYTES)
        if (able := parse_controller(data)) is None:
            raise OSError("the controller does not identify itself")
        return Facts(
            able,
            sets_ana_group=bool(data[343] & SETS_ANA_GROUP),
            states_granularity=bool(data[96] & STATES_GRANULARITY),
        )

    def takes_changes(self, facts: Facts) -> bool:
        """Returns whether namespaces can be made and deleted."""
        return makes_namespaces(self.admin, facts.able)

    def allocated(self) -> tuple[int, ...]:
        """Returns all namespaces of the drive, attached or not."""
        return parse_namespace_list(self.admin(IDENTIFY, 0, ALLOCATED_NAMESPACES, 0, IDENTIFY_BYTES))

    def controllers_of(self, namespace: int) -> tuple[int, ...]:
        """Returns the controllers that a namespace is attached to."""
        return parse_controller_list(
            self.admin(IDENTIFY, namespace, CONTROLLERS_OF_NAMESPACE, 0, IDENTIFY_BYTES)
        )

    def described(self, namespace: int) -> tuple[Definition, int]:
        """Returns what an allocated namespace is, without its handles, and the bytes of its blocks."""
        data = self.admin(IDENTIFY, namespace, ALLOCATED_NAMESPACE, 0, IDENTIFY_BYTES)
        if (found := parse_definition(data)) is None:
            raise OSError(f"namespace {namespace} does not identify itself")
        return found, block_bytes(data)

    def definition(self, namespace: int, node: Path, facts: Facts) -> tuple[Definition, int]:
        """Returns all that an attached namespace is to be made anew from, and the bytes of its blocks."""
        found, size = self.described(namespace)
        return (
            replace(
                found,
                ana_group=found.ana_group if facts.sets_ana_group else 0,
                storage_tag_mask=self._storage_tag_mask(namespace),
                handles=self.handles(namespace, node, facts, found.endurance_group),
            ),
            size,
        )

    def handles(self, namespace: int, node: Path, facts: Facts, group: int) -> tuple[int, ...]:
        """Returns the reclaim unit handles of a namespace; none where FDP is off."""
        if not facts.able.has_fdp or self._usage(group) is None:
            return ()
        # Asked for the exact size: a drive may refuse a buffer that its answer does not fill.
        header = self._handle_status(node, namespace, HANDLE_STATUS_HEADER)
        return handles_of(self._handle_status(node, namespace, handle_status_bytes(header)))

    def free_handles(self, facts: Facts, group: int) -> tuple[int, ...]:
        """Returns the reclaim unit handles of an endurance group that no namespace has; none where FDP is off."""
        usage = self._usage(group) if facts.able.has_fdp else None
        return unused_handles(usage) if usage else ()

    def granularity(self, facts: Facts, one: Definition) -> int:
        """Returns the bytes that sizes shall be a multiple of; 0 where the drive does not say."""
        if not facts.states_granularity:
            return 0
        return granularity_bytes(self.admin(IDENTIFY, 0, GRANULARITIES, 0, IDENTIFY_BYTES), one.format_number)

    def create(self, one: Definition) -> int:
        """Creates a namespace, attached to nothing, and returns its number."""
        return self.change(NAMESPACE_MANAGEMENT, 0, CREATE, creation_data(one))

    def delete(self, namespace: int) -> None:
        """Deletes a namespace with all data on it."""
        self.change(NAMESPACE_MANAGEMENT, namespace, DELETE, b"")

    def attach(self, namespace: int, controllers: tuple[int, ...]) -> None:
        """Attaches a namespace to the controllers that it is not attached to."""
        now = self.controllers_of(namespace)
        if missing := tuple(one for one in controllers if one not in now):
            self.change(NAMESPACE_ATTACHMENT, namespace, ATTACH, controller_list(missing))

    def detach(self, namespace: int) -> None:
        """Detaches a namespace from all controllers."""
        if now := self.controllers_of(namespace):
            self.change(NAMESPACE_ATTACHMENT, namespace, DETACH, controller_list(now))

    def _handle_status(self, node: Path, namespace: int, size: int) -> bytes:
        return self.ask(node, IO_MANAGEMENT_RECEIVE, namespace, HANDLE_STATUS, size // 4 - 1, size)

    def _usage(self, group: int) -> bytes | None:
        """Returns which handles of an endurance group are in use; None where FDP is off."""
        try:
            return self.admin(GET_LOG_PAGE, ALL, HANDLE_USAGE | (4096 // 4 - 1) << 16, group << 16, 4096)
        except OSError:
            return None

    def _storage_tag_mask(self, namespace: int) -> int:
        """Returns the mask of a format with storage tags; 0 where the drive does not know that command."""
        try:
            data = self.admin(IDENTIFY, namespace, NVM_NAMESPACE, 0, IDENTIFY_BYTES)
        except OSError:
            return 0
        return int.from_bytes(data[:8], "little")
