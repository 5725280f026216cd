"""The capabilities of a drive in words, by what a person looks for."""

from collections.abc import Iterator

from fathom.output.text import capacity, size
from fathom.targets.capabilities import Namespace, PowerState
from fathom.targets.capability_reader import Capabilities, read_capabilities
from fathom.targets.nvme_admin import admin_of
from fathom.targets.target import Target


def capabilities_of(target: Target) -> dict[str, str] | None:
    """Returns what an NVMe drive says that it can do, in words; None where it cannot be asked."""
    identity = target.identity
    if target.path is None or identity.namespace is None:
        return None
    try:
        found = read_capabilities(admin_of(target.path), identity.namespace)
    except OSError:
        return None
    return in_words(found) if found else None


def in_words(found: Capabilities) -> dict[str, str]:
    """Returns name and text of everything that is known, in the order in which it is shown."""
    controller = found.controller
    texts = {
        "NVMe": controller.nvme_version,
        "erasure": "; ".join(controller.erasures) or "none",
        "self-encryption": _encryption(found),
        "write cache": "volatile: a flush or FUA makes writes durable"
        if controller.volatile_cache
        else "not volatile: writes are durable when acknowledged",
        "protection information": _protection(found.namespace) if found.namespace else "",
        "block formats": "; ".join(_formats(found.namespace)) if found.namespace else "",
        "namespaces": _namespaces(found),
        "placement (FDP)": _fdp(found),
    }
    states = {f"power state {one.number}": _power(one) for one in controller.power_states}
    return {name: text for name, text in (texts | states).items() if text}


def _encryption(found: Capabilities) -> str:
    if found.encryption is None:
        return "not known" if found.controller.takes_security_commands else "none: no security commands"
    one = found.encryption
    state = "locked" if one.locked else "locking enabled" if one.locking_enabled else "not locked"
    media = "encrypts its media" if one.encrypts else "does not encrypt its media"
    return ", ".join([f"TCG {' and '.join(one.classes)}" if one.classes else "TCG", media, state])


def _protection(namespace: Namespace) -> str:
    if not namespace.protection_types:
        return "none"
    types = ", ".join(map(str, namespace.protection_types))
    now = f"type {namespace.protection_type} in use" if namespace.protection_type else "off"
    return f"types {types}; {now}"


def _formats(namespace: Namespace) -> Iterator[str]:
    for one in namespace.formats:
        metadata = f" + {one.metadata_bytes} B of metadata" if one.metadata_bytes else ""
        yield f"{size(one.block_bytes)}{metadata}{' (in use)' if one.in_use else ''}"


def _namespaces(found: Capabilities) -> str:
    controller = found.controller
    active = ", ".join(map(str, found.namespaces)) or "not known"
    detached = ", ".join(map(str, found.detached))
    apart = f"; {detached} not attached here" if detached else ""
    attached = "can be attached and detached" if controller.manages_namespaces else "fixed"
    managed = "can be made and deleted" if found.makes_namespaces else attached
    whole = f", over {capacity(controller.capacity_bytes)}" if controller.capacity_bytes else ""
    free = f", {capacity(controller.unallocated_bytes)} in none" if controller.unallocated_bytes else ""
    if controller.manages_namespaces and controller.capacity_bytes and not free:
        free = ", all of it allocated"
    return f"{active} of at most {controller.namespaces_most}, {managed}{whole}{free}{apart}"


def _fdp(found: Capabilities) -> str:
    if not found.controller.has_fdp:
        return "none"
    texts = [
        f"{one.reclaim_groups} reclaim group{'s' if one.reclaim_groups > 1 else ''} with {one.handles} handles, "
        f"reclaim units of {size(one.unit_bytes)}{'' if one.valid else ' (not valid)'}"
        for one in found.fdp
    ]
    return "; ".join(texts) or "supported; its configurations are not known"


def _power(state: PowerState) -> str:
    limits = [
        f"{name} {watts:g} W"
        for name, watts in (("at most", state.most_w), ("active", state.active_w), ("idle", state.idle_w))
        if watts is not None
    ]
    kind = [] if state.operational else ["takes no I/O"]
    return ", ".join([*limits, *kind, f"{state.enter_us:,} us to enter, {state.leave_us:,} us to leave"])
