"""Jobs of fio's engine `falloc`, which reserves room in files and moves no data (`engines/falloc.c` of fio 3.33)."""

from collections.abc import Collection

from fathom.imports.fio_given import GivenOptions

ON_ROOM = {"write": "allocate", "trim": "trim"}
"""The operation for each of a job's operations that has a counterpart."""


def check_room(given: GivenOptions, ops: Collection[str]) -> None:
    """Raises UsageError for what the engine does not do alike here."""
    if not set(ops) <= set(ON_ROOM):
        raise given.error(
            "rw", "reserves room behind the end of the file too", "writes and trims have a counterpart"
        )
    if given.text("filename", "").startswith("/dev/"):
        raise given.error("filename", "a device has no room to reserve", "give a file")
    for key in ("verify", "fsync", "fdatasync"):
        if given.has(key):
            raise given.error(key, "has no counterpart in jobs of the engine falloc", "leave it out")
