"""An NVMe drive in memory that manages namespaces, and can be killed before or after any command that changes it.

Its structures are those of libnvme's `types.h`, so that layouts are compared with others than Fathom's own.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from ctypes import LittleEndianStructure, c_uint8, c_uint16, c_uint32, c_uint64
from dataclasses import dataclass, field
from pathlib import Path

from fathom.namespaces.manager import Manager
from fathom.targets.nvme_admin import TIMEOUT_MS

BLOCK = 4096


class HostSpecified(LittleEndianStructure):
    """struct nvme_ns_mgmt_host_sw_specified."""

    _pack_ = 1
    _fields_ = (
        ("nsze", c_uint64),
        ("ncap", c_uint64),
        ("rsvd16", c_uint8 * 10),
        ("flbas", c_uint8),
        ("rsvd27", c_uint8 * 2),
        ("dps", c_uint8),
        ("nmic", c_uint8),
        ("rsvd31", c_uint8 * 61),
        ("anagrpid", c_uint32),
        ("rsvd96", c_uint8 * 4),
        ("nvmsetid", c_uint16),
        ("endgid", c_uint16),
        ("rsvd104", c_uint8 * 280),
        ("lbstm", c_uint64),
        ("nphndls", c_uint16),
        ("rsvd394", c_uint8 * 105),
        ("rsvd499", c_uint8 * 13),
        ("phndl", c_uint16 * 128),
        ("rsvd768", c_uint8 * 3328),
    )


class IdentifyNamespace(LittleEndianStructure):
    """struct nvme_id_ns; what lies between the fields that are used is left in pieces."""

    _pack_ = 1
    _fields_ = (
        ("nsze", c_uint64),
        ("ncap", c_uint64),
        ("nuse", c_uint64),
        ("nsfeat", c_uint8),
        ("nlbaf", c_uint8),
        ("flbas", c_uint8),
        ("mc", c_uint8),
        ("dpc", c_uint8),
        ("dps", c_uint8),
        ("nmic", c_uint8),
        ("between31", c_uint8 * 61),
        ("anagrpid", c_uint32),
        ("rsvd96", c_uint8 * 3),
        ("nsattr", c_uint8),
        ("nvmsetid", c_uint16),
        ("endgid", c_uint16),
        ("nguid", c_uint8 * 16),
        ("eui64", c_uint8 * 8),
        ("lbaf", c_uint32 * 64),
        ("vs", c_uint8 * 3712),
    )


class Killed(BaseException):
    """The process was killed: nothing that it would do later happens."""


@dataclass
class Stored:
    """A namespace of the drive."""

    made_from: HostSpecified
    controllers: set[int] = field(default_factory=set)

    def facts(self) -> tuple[object, ...]:
        one = self.made_from
        return (
            *(one.nsze, one.ncap, one.flbas, one.dps, one.nmic, one.nvmsetid, one.endgid, one.lbstm),
            *(tuple(one.phndl[: one.nphndls]), tuple(sorted(self.controllers))),
        )


class FakeDrive:
    """`kill_at` is the step, a change or a write of the record, at which the process is killed."""

    def __init__(
        self, *, handles: int = 8, most: int = 16, manages: bool = True, effects: bool = True
    ) -> None:
        self.namespaces: dict[int, Stored] = {}
        self.handles, self.most, self.manages, self.effects = handles, most, manages, effects
        self.sent: list[str] = []
        self.steps = 0
        self.kill_at: float = float("inf")
        self.kills_after = False
        self.dead = False
        self.refuses: str | None = None
        self.interrupts: str | None = None

    def manager(self) -> Manager:
        return Manager(self.admin, self.change, self.ask)

    def revive(self) -> None:
        self.dead, self.steps, self.kill_at = False, 0, float("inf")

    def facts(self) -> dict[int, tuple[object, ...]]:
        return {number: one.facts() for number, one in self.namespaces.items()}

    def add(self, nsze: int, controllers: set[int], *handles: int, flbas: int = 1, dps: int = 0) -> int:
        made = HostSpecified(
            nsze=nsze, ncap=nsze, flbas=flbas, dps=dps, nmic=1, nvmsetid=1, endgid=1, lbstm=5
        )
        made.nphndls = len(handles)
        for place, handle in enumerate(handles):
            made.phndl[place] = handle
        number = self._free_number()
        self.namespaces[number] = Stored(made, set(controllers))
        return number

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """One thing that a kill can come before or after."""
        self._alive()
        if self.steps == self.kill_at and not self.kills_after:
            self.dead = True
        self._alive()
        if what == self.refuses:
            raise OSError(f"NVMe status 0x115 of {what}")
        yield
        self.sent.append(what)
        if self.steps == self.kill_at:
            self.dead = True
        self.steps += 1
        self._alive()
        if what == self.interrupts:
            self.interrupts = None
            raise KeyboardInterrupt

    def admin(
        self, opcode: int, namespace: int, cdw10: int, cdw11: int, size: int, timeout_ms: int = TIMEOUT_MS
    ) -> bytes:
        self._alive()
        answer = {0x06: self._identify, 0x02: self._log}[opcode](namespace, cdw10, cdw11)
        return answer.ljust(size, b"\0")[:size]

    def ask(self, node: Path, opcode: int, namespace: int, cdw10: int, cdw11: int, size: int) -> bytes:
        self._alive()
        assert (opcode, cdw10, cdw11) == (0x12, 1, size // 4 - 1)
        made = self.namespaces[namespace].made_from
        status = bytearray(16)
        status[14:16] = made.nphndls.to_bytes(2, "little")
        for place in range(made.nphndls):
            status += place.to_bytes(2, "little") + made.phndl[place].to_bytes(2, "little") + bytes(28)
        assert size <= len(status), "a drive may refuse a buffer that its answer does not fill"
        return bytes(status[:size])

    def change(self, opcode: int, namespace: int, cdw10: int, given: bytes) -> int:
        what = {(0x0D, 0): "create", (0x0D, 1): "delete", (0x15, 0): "attach", (0x15, 1): "detach"}[
            opcode, cdw10
        ]
        with self.step(what):
            return self._changed(what, namespace, given)

    def _changed(self, what: str, namespace: int, given: bytes) -> int:
        if what == "create":
            assert len(given) == 4096
            number = self._free_number()
            self.namespaces[number] = Stored(HostSpecified.from_buffer_copy(given))
            return number
        if what == "delete":
            assert not self.namespaces[namespace].controllers, "a namespace is detached before it is deleted"
            del self.namespaces[namespace]
            return 0
        count = int.from_bytes(given[:2], "little")
        listed = {int.from_bytes(given[2 * n + 2 : 2 * n + 4], "little") for n in range(count)}
        now = self.namespaces[namespace].controllers
        assert listed.isdisjoint(now) if what == "attach" else listed <= now
        self.namespaces[namespace].controllers = now | listed if what == "attach" else now - listed
        return 0

    def _identify(self, namespace: int, cdw10: int, cdw11: int) -> bytes:
        if cdw10 == 0x01:
            return self._controller()
        if cdw10 == 0x10:
            return b"".join(one.to_bytes(4, "little") for one in sorted(self.namespaces))
        if cdw10 == 0x11:
            return self._described(self.namespaces[namespace].made_from)
        if cdw10 == 0x12:
            numbers = sorted(self.namespaces[namespace].controllers)
            return b"".join(one.to_bytes(2, "little") for one in (len(numbers), *numbers))
        if cdw10 == 0x05:
            return self.namespaces[namespace].made_from.lbstm.to_bytes(8, "little")
        raise OSError("NVMe status 0x4002")

    def _controller(self) -> bytes:
        data = bytearray(4096)
        data[96:100] = (bool(self.handles) << 19).to_bytes(4, "little")
        data[256:258] = (self.manages << 3).to_bytes(2, "little")
        data[261] = self.effects << 1
        data[516:520] = self.most.to_bytes(4, "little")
        return bytes(data)

    def _log(self, namespace: int, cdw10: int, cdw11: int) -> bytes:
        if cdw10 & 0xFF == 0x05:
            data = bytearray(4096)
            data[4 * 0x0D], data[4 * 0x15] = self.manages, 1
            return bytes(data)
        assert (cdw10 & 0xFF, cdw11) == (0x21, 1 << 16)
        if not self.handles:
            raise OSError("NVMe status 0x4029")
        used = {
            one for each in self.namespaces.values() for one in each.made_from.phndl[: each.made_from.nphndls]
        }
        entries = (bytes([number in used]) + bytes(7) for number in range(self.handles))
        return self.handles.to_bytes(2, "little") + bytes(6) + b"".join(entries)

    def _described(self, made: HostSpecified) -> bytes:
        found = IdentifyNamespace(
            nsze=made.nsze, ncap=made.ncap, flbas=made.flbas, dps=made.dps, nmic=made.nmic, nlbaf=1
        )
        found.nvmsetid, found.endgid = made.nvmsetid, made.endgid
        found.lbaf[0], found.lbaf[1] = 9 << 16, 12 << 16
        return bytes(found)

    def _free_number(self) -> int:
        return next(number for number in range(1, 100) if number not in self.namespaces)

    def _alive(self) -> None:
        if self.dead:
            raise Killed


@contextmanager
def free(namespaces: Iterable[int]) -> Iterator[None]:
    """The hold of namespaces that nobody uses."""
    yield
