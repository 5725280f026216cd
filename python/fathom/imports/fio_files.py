"""Which files a job of fio works on, and the target that stands for them."""

import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from fathom.errors import UsageError
from fathom.imports.fio_file import FioJob, Option
from fathom.imports.fio_names import ON_NAMES


@dataclass(frozen=True)
class Files:
    """Paths of devices or files. `own` says that fio names them itself, one per job. The path of a set of files
    (`nrfiles`) is its directory.
    """

    paths: tuple[str, ...]
    own: bool = field(default=False, compare=False)
    is_set: bool = False

    @property
    def called(self) -> str:
        """What a person calls them."""
        return PurePosixPath(self.paths[0]).name or "target"

    @property
    def target(self) -> str:
        """The text of the target."""
        if self.is_set:
            return f"dir:{self.paths[0]}"
        texts = [_target(path) for path in self.paths]
        return texts[0] if len(texts) == 1 else f"array:{','.join(texts)}"


#: Engines that do nothing with a request: in C, and in C++.
DO_NOTHING = ("null", "cpp_null")
#: Devices that are no disks. A system call to one does as much as an entry of the ring without a target.
NO_DISKS = ("/dev/null", "/dev/zero")
#: What they work on.
NOTHING = Files(("null:",))
NO_DISK = Files(("nop:",))


def files_of(job: FioJob) -> Files:
    """Returns the files of a job. Raises UsageError where they have no counterpart."""
    if job.options.get("ioengine", Option("", "")).value in DO_NOTHING:
        return NOTHING
    if job.options.get("ioengine", Option("", "")).value == "libblkio":
        return _of_libblkio(job)
    directory = _text(job, "directory")
    if ":" in directory.replace("\\:", ""):
        raise UsageError(f"{_place(job, 'directory')}: several directories have no counterpart", "give one")
    if _text(job, "ioengine") in ON_NAMES or _text(job, "nrfiles") not in ("", "0", "1"):
        if "filename" in job.options:
            raise UsageError(f"{_place(job, 'filename')}: names one of several files", "leave nrfiles out")
        return Files((directory or ".",), is_set=True)
    if "filename" not in job.options:
        return _own_files(job, directory)
    paths = [path.replace("\0", ":") for path in _text(job, "filename").replace("\\:", "\0").split(":")]
    if len(paths) > 1:
        raise UsageError(
            f"{_place(job, 'filename')}: {len(paths)} files of one job share its iodepth and size, which has no "
            "counterpart",
            "give each a job of its own",
        )
    if paths[0] in ("", "-"):
        raise UsageError(f"{_place(job, 'filename')}: {paths[0] or 'nothing'} is no file", "give a path")
    path = _within(directory, paths[0])
    return NO_DISK if path in NO_DISKS else Files((path,))


def _of_libblkio(job: FioJob) -> Files:
    """Returns the device or file of a library that takes its path by an option of its own, whatever `filename` says."""
    path = _text(job, "libblkio_path")
    if "libblkio_driver" not in job.options or not path:
        raise UsageError(
            f"{_place(job, 'ioengine')}: libblkio needs a driver and a path",
            "give libblkio_driver and libblkio_path",
        )
    for key in ("filename", "directory", "nrfiles"):
        if key in job.options:
            raise UsageError(f"{_place(job, key)}: libblkio works on libblkio_path alone", "leave it out")
    if not path.startswith("/dev/"):
        raise UsageError(
            f"{_place(job, 'libblkio_path')}: {path}: fio lays no file out for libblkio, and Fathom does",
            "give a device",
        )
    return Files((path,))


def _within(directory: str, name: str) -> str:
    """Returns a path in its normal form. fio puts the directory before every name, even one with a leading slash."""
    return str(PurePosixPath(f"{directory}/{name}" if directory else name))


def _own_files(job: FioJob, directory: str) -> Files:
    """Returns the files that fio names: one for each of `numjobs`, or one for all where the format has no number."""
    form = _text(job, "filename_format") or "$jobname.$jobnum.$filenum"
    named = (_name(form, job.name, number) for number in range(_jobs(job)))
    names = dict.fromkeys(_within(directory, name) for name in named)
    if "$" in _name(form, "", 0):
        raise UsageError(
            f"{_place(job, 'filename_format')}: {form}: only $jobname, $jobnum and $filenum have a counterpart",
            "write what the others stand for",
        )
    return Files(tuple(names), own=len(names) == _jobs(job))


def _name(form: str, job: str, number: int) -> str:
    """Returns the name of the first file of a job's process of that number (`make_filename` of fio's `init.c`)."""
    words = {"$jobname": job, "$jobnum": str(number), "$filenum": "0"}
    any_word = "|".join(map(re.escape, words))
    return re.sub(any_word, lambda found: words[found[0].lower()], form, flags=re.IGNORECASE)


def _jobs(job: FioJob) -> int:
    text = _text(job, "numjobs") or "1"
    return int(text) if text.isascii() and text.isdigit() and len(text) < 5 else 1


def _target(path: str) -> str:
    return path if path.startswith("/dev/") or path in ("null:", "nop:") else f"file:{path}"


def _text(job: FioJob, key: str) -> str:
    return job.options[key].value if key in job.options else ""


def _place(job: FioJob, key: str) -> str:
    return f"{job.options[key].place}: {key}"
