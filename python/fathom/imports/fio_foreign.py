"""Engines of fio that do not read and write files or block devices, and what each does instead."""

from collections.abc import Iterable, Mapping

from fathom.errors import UsageError
from fathom.imports.fio_file import FioJob

_ENGINES = {
    "net netsplice": "sends data to another host",
    "rdma": "moves data between the memories of two hosts",
    "librpma_apm_client librpma_apm_server librpma_gpspm_client librpma_gpspm_server": (
        "moves data to the persistent memory of another host"
    ),
    "cpuio": "keeps processors busy and does no I/O",
    "page_fault": "touches memory and does no I/O",
    "exec": "runs another program",
    "e4defrag": "makes ext4 exchange blocks between files",
    "ftruncate": "changes the size of a file and moves no data",
    "dev-dax": "maps memory that can be neither read nor written by system calls",
    "mtd": "works on raw flash, which has no block device",
    "gfapi gfapi_async": "speaks to Gluster servers by a library of theirs",
    "rados rbd": "speaks to a Ceph cluster by a library of its own",
    "dfs": "speaks to DAOS servers by a library of theirs",
    "ime_psync ime_psyncv ime_aio": "speaks to IME servers by a library of theirs",
    "libhdfs": "speaks to an HDFS cluster by a library of its own",
    "http": "speaks to an object store or a WebDAV server",
    "nfs": "speaks to an NFS server by a library, past the kernel's mounts",
    "nbd": "speaks to an NBD server by a library, past the kernel's devices",
    "libiscsi": "speaks to an iSCSI target by a library, past the kernel's devices",
    "libhipfile": "brings data to AMD GPUs",
    "skeleton": "is an example for those who write engines",
}
#: What an engine does instead of block I/O, by its name.
FOREIGN: Mapping[str, str] = {name: does for names, does in _ENGINES.items() for name in names.split()}
#: Options that say which commands an engine sends: the values with a counterpart, and what to do about others.
_COMMANDS = (
    ("cmd_type", ("nvme",), "commands of NVMe have: write nvme"),
    ("sg_write_mode", ("write", "0"), "writes have; verifying and WRITE SAME are other commands"),
    ("libblkio_driver", ("io_uring", "nvme-io_uring"), "the drivers io_uring and nvme-io_uring have"),
)


def check_engines(jobs: Iterable[FioJob]) -> None:
    """Raises UsageError where a job has no counterpart whatever its options are."""
    for job in jobs:
        engine = job.options.get("ioengine")
        if engine and (does := FOREIGN.get(engine.value)):
            raise UsageError(
                f"{engine.place}: ioengine: {engine.value} {does}; it has no counterpart",
                "Fathom reads and writes files and block devices of this host",
            )
        for key, known, hint in _COMMANDS:
            asked = job.options.get(key)
            if asked and asked.value not in known:
                raise UsageError(f"{asked.place}: {key}: {asked.value} has no counterpart", hint)
