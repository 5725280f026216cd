"""Asks libblkid (util-linux) what is on a device: a second opinion beside Fathom's own table of signatures.

The library is loaded at run time, so that Fathom works where there is none; `available` says whether it is there.
"""

import ctypes
import errno
import os
from dataclasses import dataclass
from functools import cache

_LIBRARY = "libblkid.so.1"
# blkid.h
_SUBLKS_TYPE, _SUBLKS_BADCSUM, _SUBLKS_MAGIC = 1 << 5, 1 << 10, 1 << 9
_PARTS_MAGIC = 1 << 3
_FOUND, _NOTHING, _AMBIVALENT = 0, 1, -2
_MOST_RESULTS = 16
"""Most formats to ask for, so that a library that never ends its list cannot hang the check."""


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """What libblkid found: formats by its own names, and the partition table, if any."""

    formats: tuple[str, ...]
    table: str | None


def available() -> bool:
    """Returns whether the library is here."""
    return _library() is not None


def probe(fd: int, size_bytes: int) -> ProbeResult:
    """Returns what the library finds on the open device; nothing where the library is missing.

    Raises OSError when the library cannot read the device.
    """
    library = _library()
    if library is None:
        return ProbeResult((), None)
    probing = library.blkid_new_probe()
    if not probing:
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))
    try:
        return _probed(library, probing, fd, size_bytes)
    finally:
        library.blkid_free_probe(probing)


def _probed(library: ctypes.CDLL, probing: int, fd: int, size_bytes: int) -> ProbeResult:
    if library.blkid_probe_set_device(probing, fd, 0, size_bytes) != 0:
        raise OSError(errno.EIO, f"{_LIBRARY} cannot open it")
    library.blkid_probe_enable_superblocks(probing, 1)
    library.blkid_probe_set_superblocks_flags(probing, _SUBLKS_TYPE | _SUBLKS_MAGIC | _SUBLKS_BADCSUM)
    library.blkid_probe_enable_partitions(probing, 1)
    library.blkid_probe_set_partitions_flags(probing, _PARTS_MAGIC)
    formats: list[str] = []
    tables: list[str] = []
    for _ in range(_MOST_RESULTS):
        answer = library.blkid_do_probe(probing)
        if answer not in (_FOUND, _AMBIVALENT):
            break
        formats += _value(library, probing, b"TYPE")
        tables += _value(library, probing, b"PTTYPE")
        if answer == _AMBIVALENT:
            formats += [] if formats else ["several formats at once"]
            break
    else:
        answer = _NOTHING
    if answer not in (_NOTHING, _AMBIVALENT):
        raise OSError(errno.EIO, f"{_LIBRARY} cannot read it")
    return ProbeResult(tuple(dict.fromkeys(formats)), tables[0] if tables else None)


def _value(library: ctypes.CDLL, probing: int, name: bytes) -> list[str]:
    """Returns the value of that name among the present results, as a list of at most one."""
    found, length = ctypes.c_char_p(), ctypes.c_size_t()
    if library.blkid_probe_lookup_value(probing, name, ctypes.byref(found), ctypes.byref(length)) != 0:
        return []
    return [(found.value or b"").decode("ascii", "replace")]


@cache
def _library() -> ctypes.CDLL | None:
    try:
        library = ctypes.CDLL(_LIBRARY, use_errno=True)
    except OSError:
        return None
    probing, number, offset = ctypes.c_void_p, ctypes.c_int, ctypes.c_int64
    signatures = {
        "blkid_new_probe": (probing, ()),
        "blkid_free_probe": (None, (probing,)),
        "blkid_probe_set_device": (number, (probing, number, offset, offset)),
        "blkid_probe_enable_superblocks": (number, (probing, number)),
        "blkid_probe_set_superblocks_flags": (number, (probing, number)),
        "blkid_probe_enable_partitions": (number, (probing, number)),
        "blkid_probe_set_partitions_flags": (number, (probing, number)),
        "blkid_do_probe": (number, (probing,)),
        "blkid_probe_lookup_value": (
            number,
            (probing, ctypes.c_char_p, ctypes.POINTER(ctypes.c_char_p), ctypes.POINTER(ctypes.c_size_t)),
        ),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name, None)
        if function is None:
            return None
        function.restype, function.argtypes = result, arguments
    return library
