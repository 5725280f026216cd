"""Sets of files of a job of fio (`nrfiles`): how many, how large, and which one the next request goes to.

Meanings are those of `setup_files` (`filesetup.c`) and `__get_next_file` (`io_u.c`) of fio 3.33. Each of `numjobs` has
files of its own. A file that was gone through waits until the job's others were.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from fathom.imports.fio_blocks import Blocks
from fathom.imports.fio_given import GivenOptions
from fathom.method.toml_text import Value, size_text

#: Most files of a set.
MOST_FILES = 1_000_000
_INSIDE = ("sequential", "uniform", "random-once")


@dataclass(frozen=True)
class FileSet:
    """The files of all jobs together. `job_bytes` is what one job's I/O comes to, without loops."""

    count: int
    file_bytes: int
    job_files: int
    job_bytes: int
    keys: Mapping[str, Value]

    @property
    def layout(self) -> dict[str, Value]:
        """Returns the files alone."""
        return {"count": self.count, "size": size_text(self.file_bytes)}

    @property
    def is_whole(self) -> bool:
        """Whether a job's I/O is as much as its files hold."""
        return self.job_bytes == self.job_files * self.file_bytes


def files_each(given: GivenOptions) -> int:
    """Returns how many files each job has. Raises UsageError."""
    return given.whole("nrfiles", 1, 1)


def set_of(given: GivenOptions, blocks: Blocks, jobs: int, pattern: Value) -> FileSet:
    """Returns the files of a job that has several. Raises UsageError where they have no counterpart."""
    each = files_each(given)
    if each * jobs > MOST_FILES:
        raise given.error("nrfiles", f"{each * jobs} files in all", f"give {MOST_FILES} at most")
    if given.text("offset", "0") not in ("0", "0%") or given.text("offset_increment", "0") != "0":
        raise given.error("nrfiles", "an offset in each file has no counterpart", "leave the offset out")
    if pattern not in _INSIDE:
        raise given.error("nrfiles", "this order inside files has no counterpart", "random or sequential has")
    file_bytes = file_bytes_of(given, blocks, each)
    size = given.text("size", "")
    job_bytes = given.size_of(size, "size") if size and not size.endswith("%") else each * file_bytes
    if given.has("io_size"):
        job_bytes = given.size("io_size")
    given.note("nrfiles", "files are made in a directory of Fathom's own, and have names of its own")
    keys: dict[str, Value] = {
        "count": each * jobs,
        "size": size_text(file_bytes),
        **_select(given),
        **_open(given, each),
    }
    return FileSet(each * jobs, file_bytes, each, job_bytes, keys)


def file_bytes_of(given: GivenOptions, blocks: Blocks, each: int) -> int:
    """Returns the size of each file: `filesize`, else its part of `size`, in whole blocks."""
    if given.has("filesize"):
        if "-" in given.text("filesize", ""):
            raise given.error("filesize", "sizes at random between two have no counterpart", "give one size")
        file_bytes = given.size("filesize")
    else:
        text = given.text("size", "")
        if not text or text.endswith("%"):
            raise given.error("nrfiles", "how large are the files?", "give size or filesize in bytes")
        if given.size("size") % (each * blocks.largest):
            raise given.error(
                "size", f"{text} in {each} files leaves parts of blocks over", "make it a multiple"
            )
        file_bytes = given.size("size") // each
    if file_bytes % 512 or file_bytes < blocks.largest:
        raise given.error(
            "nrfiles", f"files of {file_bytes} bytes", "make them whole blocks, and a multiple of 512"
        )
    return file_bytes


def _select(given: GivenOptions) -> dict[str, Value]:
    kind, _, rest = given.text("file_service_type", "roundrobin").partition(":")
    match kind:
        case "roundrobin" | "random":
            select: dict[str, Value] = {} if kind == "roundrobin" else {"select": "random"}
            visit = given.size_of(rest, "file_service_type") if rest else 1
            return {**select, **({"visit": visit} if visit > 1 else {})}
        case "sequential":
            return {"select": "sequential"}
        case "zipf" | "pareto":
            usual = "1.1" if kind == "zipf" else "0.2"
            return {"select": {kind: given.number_of(rest or usual, "file_service_type")}}
        case _:
            raise given.error(
                "file_service_type",
                f"{kind} has no counterpart",
                "roundrobin, random, sequential, zipf and pareto have",
            )


def _open(given: GivenOptions, each: int) -> dict[str, Value]:
    most = given.whole("openfiles", each, 1)
    if most >= each:
        return {}
    if given.text("file_service_type", "") != "sequential":
        raise given.error(
            "openfiles",
            f"fio issues nothing to the other {each - most} files until one is closed",
            "give file_service_type=sequential, or leave it out",
        )
    return {"open": most}


def layout_block(files: FileSet, block_bytes: int) -> int:
    """Returns a block to lay files out with: up to that size, and such that a file is whole blocks."""
    return math.gcd(block_bytes, files.file_bytes)
