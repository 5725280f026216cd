"""A file system in memory that fails as it is told, over the kernel's FUSE protocol (`linux/fuse.h`, version 7.31).

The kernel and everything above it are real. Needs root, to mount. Runs as a process of its own:
`python faulty.py DIRECTORY FAULT`; a line on stdout says that it is mounted.

A fault is `OPERATION:KIND:SHARE` or `OPERATION:KIND:SHARE:FROM_S:FOR_S`. It befalls that share of a large file's reads
or writes (`read`, `write`), in the seconds named since the first of them, or always.
"""

import ctypes
import errno
import os
import stat
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

LARGE_BYTES = 1 << 20
"""Files of this size and more are targets of a load, and have faults."""
OPCODES = {
    1: "lookup",
    3: "getattr",
    4: "setattr",
    10: "unlink",
    14: "open",
    15: "read",
    16: "write",
    17: "statfs",
    21: "setxattr",
    22: "getxattr",
    26: "init",
    27: "open",
    28: "readdir",
    35: "create",
    43: "fallocate",
}
WITHOUT_ANSWER = (2, 36, 42)
WITHOUT_CONTENT = (18, 20, 25, 29, 34)
SET_SIZE = 1 << 3
MAX_WRITE_BYTES = 128 << 10
ROOT = 1
FOREVER_S = 1e9


@dataclass
class Fault:
    """What befalls which share of the I/O, and when."""

    op: str
    kind: str
    share: float
    from_s: float = 0.0
    for_s: float = FOREVER_S
    count: int = 0
    began_s: float | None = None

    @classmethod
    def parse(cls, text: str) -> "Fault":
        """From `OPERATION:KIND:SHARE[:FROM_S:FOR_S]`."""
        op, kind, share, *times = text.split(":")
        from_s, for_s = map(float, times or ("0", FOREVER_S))
        return cls(op, kind, float(share), from_s, for_s)

    def befalls(self, op: str) -> bool:
        """Whether it befalls this I/O, the next in order."""
        now_s = time.monotonic()
        if self.began_s is None:
            self.began_s = now_s
        if op != self.op or not self.from_s <= now_s - self.began_s < self.from_s + self.for_s:
            return False
        self.count += 1
        return int(self.count * self.share) != int((self.count - 1) * self.share)

    @property
    def ends_s(self) -> float:
        """When it is over, on the monotonic clock."""
        return (self.began_s or 0.0) + self.from_s + self.for_s


@dataclass
class File:
    """A file's content and extended attributes."""

    number: int
    mode: int = stat.S_IFREG | 0o600
    data: bytearray = field(default_factory=bytearray)
    attributes: dict[bytes, bytes] = field(default_factory=dict)

    def resize(self, size_bytes: int) -> None:
        """Cuts or extends it with zeroes."""
        del self.data[size_bytes:]
        self.data.extend(bytes(size_bytes - len(self.data)))


class Refused(Exception):
    """An answer that is an errno."""


class Server:
    """Answers the kernel's requests on `connection`."""

    def __init__(self, connection: int, fault: Fault) -> None:
        self.connection = connection
        self.fault = fault
        self.files = {ROOT: File(ROOT, stat.S_IFDIR | 0o700)}
        self.names: dict[bytes, int] = {}

    def run(self) -> None:
        """Serves until the file system is unmounted."""
        while True:
            try:
                message = os.read(self.connection, MAX_WRITE_BYTES + (64 << 10))
            except OSError as error:
                if error.errno == errno.ENODEV:
                    return
                continue
            opcode, unique, node = struct.unpack_from("<4xIQQ", message)
            if opcode in WITHOUT_ANSWER:
                continue
            try:
                body = b"" if opcode in WITHOUT_CONTENT else self._serve(opcode, node, message[40:])
            except Refused as refused:
                self._answer(unique, b"", int(str(refused)))
            else:
                delay_s = self.fault.ends_s - time.monotonic() if body is None else 0.0
                if body is not None:
                    self._answer(unique, body)
                elif delay_s < FOREVER_S / 2:
                    reply = struct.pack("<I4x", struct.unpack_from("<16xI", message[40:])[0])
                    threading.Timer(delay_s, self._answer, (unique, reply)).start()

    def _answer(self, unique: int, body: bytes, failure: int = 0) -> None:
        reply = struct.pack("<IiQ", 16 + len(body), -failure, unique) + body
        try:
            os.write(self.connection, reply)
        except OSError as error:
            # A request that was interrupted meanwhile takes no answer.
            if error.errno != errno.ENOENT:
                raise

    def _serve(self, opcode: int, node: int, body: bytes) -> bytes | None:
        """The answer's content; None: no answer yet."""
        name = OPCODES.get(opcode)
        if name is None:
            raise Refused(errno.ENOSYS)
        return getattr(self, f"_{name}")(self.files.get(node), body)

    def _init(self, _: File, body: bytes) -> bytes:
        return struct.pack("<8I", 7, 31, 0, 0, 0x00100010, MAX_WRITE_BYTES, 1, 0).ljust(64, b"\0")

    def _lookup(self, _: File, body: bytes) -> bytes:
        number = self.names.get(body.rstrip(b"\0"))
        if number is None:
            raise Refused(errno.ENOENT)
        return self._entry(self.files[number])

    def _entry(self, file: File) -> bytes:
        return struct.pack("<QQ24x", file.number, 0) + self._attributes(file)

    def _attributes(self, file: File) -> bytes:
        size = len(file.data)
        words = (file.mode, 1, os.getuid(), os.getgid(), 0, 4096, 0)
        return struct.pack("<3Q24x12x7I", file.number, size, size // 512, *words)

    def _getattr(self, file: File, body: bytes) -> bytes:
        return bytes(16) + self._attributes(file)

    def _setattr(self, file: File, body: bytes) -> bytes:
        valid, size = struct.unpack_from("<I12xQ", body)
        if valid & SET_SIZE:
            file.resize(size)
        return self._getattr(file, b"")

    def _unlink(self, _: File, body: bytes) -> bytes:
        if self.names.pop(body.rstrip(b"\0"), None) is None:
            raise Refused(errno.ENOENT)
        return b""

    def _open(self, _: File, body: bytes) -> bytes:
        return bytes(16)

    def _create(self, _: File, body: bytes) -> bytes:
        number = len(self.files) + 1
        self.files[number] = File(number)
        self.names[body[16:].rstrip(b"\0")] = number
        return self._entry(self.files[number]) + bytes(16)

    def _readdir(self, _: File, body: bytes) -> bytes:
        return b""

    def _statfs(self, _: File, body: bytes) -> bytes:
        blocks = (1 << 40) // 4096
        return struct.pack("<5Q3I28x", blocks, blocks, blocks, 0, 0, 4096, 255, 4096)

    def _setxattr(self, file: File, body: bytes) -> bytes:
        name, _, value = body[8:].partition(b"\0")
        file.attributes[name] = value[: struct.unpack_from("<I", body)[0]]
        return b""

    def _getxattr(self, file: File, body: bytes) -> bytes:
        value = file.attributes.get(body[8:].rstrip(b"\0"))
        if value is None:
            raise Refused(errno.ENODATA)
        return value if struct.unpack_from("<I", body)[0] else struct.pack("<I4x", len(value))

    def _fallocate(self, file: File, body: bytes) -> bytes:
        offset, length, mode = struct.unpack_from("<8xQQI", body)
        if mode == 0:
            file.resize(max(len(file.data), offset + length))
        return b""

    def _read(self, file: File, body: bytes) -> bytes | None:
        offset, size = struct.unpack_from("<8xQI", body)
        data = bytes(file.data[offset : offset + size])
        if len(file.data) < LARGE_BYTES or not self.fault.befalls("read"):
            return data
        return self._faulty(data)

    def _write(self, file: File, body: bytes) -> bytes | None:
        offset, size = struct.unpack_from("<8xQI", body)
        data = body[40 : 40 + size]
        done = size
        if len(file.data) >= LARGE_BYTES and self.fault.befalls("write"):
            if self.fault.kind in ("lost", "torn"):
                data = data[: size // 2] if self.fault.kind == "torn" else b""
            else:
                kept = self._faulty(data)
                if kept is None:
                    return None
                data, done = kept, len(kept)
        if offset + len(data) > len(file.data):
            file.resize(offset + len(data))
        file.data[offset : offset + len(data)] = data
        return struct.pack("<I4x", done)

    def _faulty(self, data: bytes) -> bytes | None:
        match self.fault.kind:
            case "short":
                return data[: len(data) // 2]
            case "hang":
                return None
            case "garbled":
                return data[:-1] + bytes([data[-1] ^ 1])
            case name:
                raise Refused(getattr(errno, name.upper()))


def mount(directory: Path) -> int:
    """Mounts a file system there; the connection to the kernel."""
    connection = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={connection},rootmode=40700,user_id=0,group_id=0".encode()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"faulty", bytes(directory), b"fuse", 0, options):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return connection


@contextmanager
def faulty(directory: Path, fault: str) -> Iterator[Path]:
    """A mounted file system in a process of its own; what hangs is let go at the end."""
    directory.mkdir(exist_ok=True)
    command = [sys.executable, __file__, str(directory), fault]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == b"mounted\n"
        try:
            yield directory
        finally:
            # Aborts the connection, so that nothing in flight holds the mount.
            server.kill()
            server.wait()
            subprocess.run(["umount", "--lazy", str(directory)], check=True)


if __name__ == "__main__":
    served = Server(mount(Path(sys.argv[1])), Fault.parse(sys.argv[2]))
    print("mounted", flush=True)
    served.run()
