"""Whether the namespaces of a drive are in use, and the hold on those that are to go."""

import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

from fathom.errors import RefusedError
from fathom.namespaces.drive import Drive
from fathom.targets import locks
from fathom.targets.parse import device_target
from fathom.targets.safety import ExclusiveHold, check_device, lift_unknown, refuse

_POLL_S = 0.1
_PATIENCE_S = 10


def alone_with(drive: Drive) -> AbstractContextManager[None]:
    """Keeps other Fathom processes from changing the drive's namespaces. Raises RefusedError where one does."""
    busy = RefusedError(f"{drive.node}: another Fathom process changes its namespaces", "wait for it")
    return locks.alone_with(drive.node, busy)


@contextmanager
def held(drive: Drive, namespaces: Iterable[int], *, unknown_data: bool) -> Iterator[None]:
    """Holds these namespaces exclusively, as a run holds what it writes. All others must be free of any use too.

    Raises RefusedError with every reason against a namespace.
    """
    ours = set(namespaces)
    disks = drive.disks()
    for number, nodes in disks.items():
        for disk in nodes if number not in ours else []:
            # Nothing there is written, so what its data are does not matter.
            refuse(str(disk.node), lift_unknown(check_device(disk.node, sample=False)))
    with ExitStack() as stack:
        for number in sorted(ours):
            for disk in disks.get(number, []):
                stack.enter_context(ExclusiveHold(device_target(disk.node), unknown_data=unknown_data))
        yield


def wait_for_nodes(drive: Drive, namespaces: Iterable[int]) -> None:
    """Waits until the kernel has made the block device of each namespace, ten seconds at most."""
    wanted = set(namespaces)
    until = time.monotonic() + _PATIENCE_S
    while not wanted <= drive.disks().keys() and time.monotonic() < until:
        time.sleep(_POLL_S)
