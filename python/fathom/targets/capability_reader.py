"""Reads what an NVMe drive can do, by commands that change nothing: Identify, Get Log Page, Security Receive."""

from dataclasses import dataclass

from fathom.targets.capabilities import (
    Controller,
    FdpConfiguration,
    Namespace,
    SelfEncryption,
    parse_controller,
    parse_discovery,
    parse_fdp_configurations,
    parse_namespace,
    parse_namespace_list,
    takes_command,
)
from fathom.targets.nvme_admin import (
    GET_LOG_PAGE,
    IDENTIFY,
    NAMESPACE_ATTACHMENT,
    NAMESPACE_MANAGEMENT,
    Admin,
)

SECURITY_RECEIVE = 0x82
ALL = 0xFFFFFFFF
OF_NAMESPACE, OF_CONTROLLER, ACTIVE_NAMESPACES, ALLOCATED_NAMESPACES = 0, 1, 2, 0x10
EFFECTS, FDP_CONFIGURATIONS = 0x05, 0x20
LEVEL_0 = 0x01 << 24 | 0x0001 << 8
"""Security protocol 1 (TCG), ComID 1."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a drive said; None or empty where it refused to say, or has nothing of the kind."""

    controller: Controller
    namespace: Namespace | None
    namespaces: tuple[int, ...]
    """Those attached to the controller that answers."""
    detached: tuple[int, ...]
    """Namespaces that the drive has and the controller cannot reach."""
    makes_namespaces: bool
    fdp: tuple[FdpConfiguration, ...]
    encryption: SelfEncryption | None


def read_capabilities(admin: Admin, namespace: int) -> Capabilities | None:
    """Returns what the drive of a namespace can do; None where it does not identify itself.

    Raises OSError where it takes no NVMe commands from us.
    """
    controller = parse_controller(admin(IDENTIFY, 0, OF_CONTROLLER, 0, 4096))
    if controller is None:
        return None
    own = parse_namespace(_said(admin, IDENTIFY, namespace, OF_NAMESPACE, 0, 4096))
    group = own.endurance_group if own else 0
    fdp = (FDP_CONFIGURATIONS | (4096 // 4 - 1) << 16, group << 16)
    active = parse_namespace_list(_said(admin, IDENTIFY, 0, ACTIVE_NAMESPACES, 0, 4096))
    # Only a controller that manages namespaces has a list of all; others refuse it.
    listed = (
        _said(admin, IDENTIFY, 0, ALLOCATED_NAMESPACES, 0, 4096) if controller.manages_namespaces else b""
    )
    return Capabilities(
        controller,
        own,
        active,
        tuple(one for one in parse_namespace_list(listed) if one not in active),
        _may_make_namespaces(admin, controller),
        parse_fdp_configurations(_said(admin, GET_LOG_PAGE, ALL, *fdp, 4096)) if controller.has_fdp else (),
        parse_discovery(_said(admin, SECURITY_RECEIVE, 0, LEVEL_0, 512, 512))
        if controller.takes_security_commands
        else None,
    )


def makes_namespaces(admin: Admin, controller: Controller) -> bool:
    """Returns whether namespaces can be made and deleted: by OACS bit 3, and by the list of commands if any.

    Raises OSError where the drive refuses the list.
    """
    if not controller.manages_namespaces:
        return False
    if not controller.lists_effects:
        return True
    effects = admin(GET_LOG_PAGE, ALL, EFFECTS | (4096 // 4 - 1) << 16, 0, 4096)
    return all(takes_command(effects, one) for one in (NAMESPACE_MANAGEMENT, NAMESPACE_ATTACHMENT))


def _may_make_namespaces(admin: Admin, controller: Controller) -> bool:
    try:
        return makes_namespaces(admin, controller)
    except OSError:
        return controller.manages_namespaces


def _said(admin: Admin, opcode: int, namespace: int, cdw10: int, cdw11: int, size: int) -> bytes:
    """Returns the answer; empty where the drive refuses the command."""
    try:
        return admin(opcode, namespace, cdw10, cdw11, size)
    except OSError:
        return b""
