"""Exports methods as files of other load generators, so that readers can check figures with a tool they trust."""

import re
import shlex

from fathom.errors import UsageError
from fathom.exports.fio import FioFile
from fathom.exports.units import Place
from fathom.load.resolve import resolve_targets
from fathom.method.method import Method
from fathom.output.text import size
from fathom.targets.target import REAL_KINDS, Target

_NOT_IN_A_NAME = re.compile(r"[;#]|\$\{|\$(?:pagesize|mb_memory|ncpus)|\\:")
"""fio begins a comment, or puts a value in: it would open another file."""


def export_method(
    method: Method, target: str | None = None, size_bytes: int | None = None
) -> tuple[str, list[str]]:
    """Returns a job file of fio 3.33 that runs the method, and notes on what differs or is left out.

    Without a target the file reads the environment's `TARGET`; `size_bytes` is then its size, if known. Raises
    UsageError for a target that fio cannot use, and if no step has a counterpart.
    """
    if method.target_names:
        raise UsageError(
            f"{method.name}: its steps name their targets, but a job file has one target",
            "divide its steps over a method file for each target",
        )
    if target is None:
        found, file = None, FioFile(method, Place(size_bytes))
        where = ["filename=${TARGET}", "ioengine=io_uring"]
        how = [f"Run it as: TARGET=PATH fio {method.name}.fio"]
    else:
        [found] = resolve_targets([target], size_bytes)
        _check(method, found)
        file = FioFile(method, Place(found.capacity_bytes, is_file=found.kind != "device"))
        where, how = _aim(found)
    notes = file.notes
    if method.file_system and (found is None or found.identity.file_system != method.file_system):
        notes.append(f"{method.name}: measures a file of {method.file_system}: name one as the target")
    comments = [
        f"{method.title}, for fio 3.33 and later: `fathom export {method.name}`",
        *(
            ["WRITES TO THE TARGET: its data are lost."]
            if file.writes
            else ["Reads the target and writes nothing."]
        ),
        *how,
        *(
            ["Sections behind # need rates that other sections report: fill in R and W."]
            if file.blanks
            else []
        ),
        *notes,
    ]
    shared = ["[global]", *where, "registerfiles", "fixedbufs", "direct=1", "thread", "group_reporting"]
    lines = [f"# {' '.join(comment.split())}" for comment in comments]
    return "\n".join([*lines, "", *shared, *file.lines()]) + "\n", notes


def _check(method: Method, target: Target) -> None:
    """Raises UsageError for a target that fio cannot open."""
    if target.kind not in REAL_KINDS or target.makes:
        raise UsageError(f"{target.name}: fio cannot load it", "name a device, file:PATH or dir:PATH")
    if method.file_system and target.kind == "device":
        raise UsageError(
            f"{method.name} measures a file of {method.file_system}, and {target.name} is a device",
            "make the file system yourself, and name file:PATH on it with its --size",
        )


def _aim(target: Target) -> tuple[list[str], list[str]]:
    """Returns the lines that name the target, and a comment on it."""
    path = str(target.passthrough or target.path)
    if not path.isprintable() or path != path.strip() or _NOT_IN_A_NAME.search(path):
        raise UsageError(f"{path!r}: a job file cannot name it", "rename it")
    name = "filename=" + path.replace(":", "\\:")
    if target.passthrough:
        return [name, "ioengine=io_uring_cmd", "cmd_type=nvme"], []
    if target.kind == "device":
        return [name, "ioengine=io_uring"], []
    make = f"fallocate -l {target.capacity_bytes} {shlex.quote(path)}"
    return [name, "ioengine=io_uring"], [f"The file of {size(target.capacity_bytes)} has to exist: {make}"]
