"""Who uses a device, or bytes that it shares with others: mounts, swap, stacks, open files, exports, `/` itself.

It looks at everything that has bytes in common with the device: what it lies on, what lies on it, and what shares its
bytes.
"""

from collections.abc import Iterator

from fathom.targets import sysfs
from fathom.targets.mounts import Opener, Usage
from fathom.targets.refusal import Refusal
from fathom.targets.stack import Stacks, backing_of
from fathom.targets.sysfs import BlockDevice
from fathom.targets.target import FileId


def uses(device: BlockDevice, usage: Usage, stacks: Stacks) -> list[Refusal]:
    """Returns every present use of the device's bytes by others, as a reason not to write there."""
    below = stacks.below(device)
    relatives = stacks.relatives(device)
    # A mount explains the files that are on it; where none is seen, the files speak for themselves.
    if not any(one.dev in usage.mounts for one in [device, *relatives]):
        relatives = stacks.relatives(device, through_files=True)
    found = [*_root_disk(device, usage, stacks), *_of_device(device, "", usage)]
    found += _openers(usage.openers.get(device.dev, []), "")
    for other in relatives:
        found += _of_device(other, f"{other.name} is ", usage)
        # A service may watch the members of a stack; what has its disk or a loop's backing open may write there.
        if not below.get(other.dev, False):
            found += _openers(usage.openers.get(other.dev, []), f"{other.name} is ")
    found += _of_files(device, usage, stacks)
    found += _held(device, [other for other in relatives if other.dev not in below], stacks)
    if device.partitions:
        found.append(Refusal("partitioned", f"has {len(device.partitions)} partition(s)"))
    return found


def _root_disk(device: BlockDevice, usage: Usage, stacks: Stacks) -> Iterator[Refusal]:
    """Yields a reason where `/` lies on the same physical disk, through partitions, stacks and loop devices on either
    side.
    """
    roots = [root for dev in usage.roots if (root := sysfs.by_dev(dev, device.sys))]
    under_root = {container for root in roots for container in stacks.below(root, through_files=True)}
    if under_root & stacks.below(device).keys():
        yield Refusal("root-disk", "root disk" if device.dev in under_root else "on the root disk")


def _of_device(device: BlockDevice, subject: str, usage: Usage) -> Iterator[Refusal]:
    for mount in usage.mounts.get(device.dev, []):
        yield Refusal("mounted", f"{subject}mounted on {mount.point} ({mount.file_system})")
    if device.dev in usage.swaps:
        yield Refusal("swap", f"{subject}in use as swap")
    if device.dev in usage.exports:
        yield Refusal("exported", f"{subject}exported over NVMe-oF")


def _openers(openers: list[Opener], subject: str) -> Iterator[Refusal]:
    for opener in openers:
        yield Refusal("open", f"{subject}open in process {opener.pid} ({opener.command})")


def _of_files(device: BlockDevice, usage: Usage, stacks: Stacks) -> Iterator[Refusal]:
    """Uses of the files that the device lies on."""
    for file in [container for container in stacks.below(device) if isinstance(container, FileId)]:
        if file in usage.swap_files:
            yield Refusal("swap", "its backing file is in use as swap")
        yield from _openers(usage.file_openers.get(file, []), "its backing file is ")


def _held(device: BlockDevice, others: list[BlockDevice], stacks: Stacks) -> Iterator[Refusal]:
    """Stacks on the device, and other devices on its bytes; of several on each other only the lowest is named."""
    holders = device.holders
    if holders:
        yield Refusal("held", f"part of {', '.join(_stack_name(holder) for holder in holders)}")
    if (device.directory / "bcache").exists():
        yield Refusal("held", "registered with bcache")
    known = {other.dev for other in [*holders, *device.partitions]}
    among = {other.dev for other in others}
    for other in others:
        lies_on = stacks.below(other, through_files=True).keys() - {other.dev}
        if other.dev in known or lies_on & among:
            continue
        backing = backing_of(other)
        if backing and backing.container == device.dev:
            yield Refusal("held", f"the backing of {other.name}")
        else:
            yield Refusal("held", f"shares its bytes with {_stack_name(other)}")


def _stack_name(holder: BlockDevice) -> str:
    mapped = sysfs.text(holder.directory / "dm/name")
    return f"{holder.name} ({mapped})" if mapped else holder.name
