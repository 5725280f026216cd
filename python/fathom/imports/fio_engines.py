"""Which of fio's engines keep several I/Os in flight, and which wait for each."""

from fathom.imports.fio_files import DO_NOTHING

ASYNCHRONOUS = frozenset(
    ("libaio", "io_uring", "io_uring_cmd", "posixaio", "windowsaio", "solarisaio", "libblkio", *DO_NOTHING)
)
"""Engines that may keep `iodepth` I/Os in flight; what they do and through which cache decides."""
SYNCHRONOUS = frozenset(
    ("psync", "sync", "vsync", "pvsync", "pvsync2", "libcufile", "mmap", "libpmem", "libzbc", "sg", "falloc")
)
"""Engines that wait for each I/O, whatever `iodepth` says."""
TRIMS_ASYNCHRONOUSLY = frozenset(("io_uring_cmd", *DO_NOTHING))
"""Engines that do not wait for a trim."""
USUAL = "psync"
"""The engine of a job that names none, on Linux."""
