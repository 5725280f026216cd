"""Sets of files in a method: which target holds which, so that all steps on it work on the same files."""

from collections.abc import Sequence

from fathom._core import FileSet
from fathom.errors import UsageError
from fathom.method.method import Method
from fathom.targets.array import array_of
from fathom.targets.file_sets import set_target
from fathom.targets.target import Target

_EMPTY = ("null", "nop")
_WITHOUT_IO = ("purge", "idle")


def with_files(method: Method, targets: Sequence[Target], size_bytes: int | None = None) -> list[Target]:
    """Returns the targets; directories whose steps have `files` are those sets of files.

    Raises UsageError where steps on a target have different files, or a target cannot hold any.
    """
    return [_with_files(method, target, size_bytes) for target in targets]


def _with_files(method: Method, target: Target, size_bytes: int | None) -> Target:
    files = _files_on(method, target)
    if files is None or target.kind in _EMPTY:
        return target
    if target.kind == "array" and all(one.kind == "dir" for one in target.members):
        if size_bytes is not None:
            raise _sized()
        return array_of([set_target(one, files) for one in target.members])
    if target.kind != "dir":
        raise UsageError(f"{target.name}: {method.name} works on a set of files", _advice(target))
    if size_bytes is not None:
        raise _sized()
    return set_target(target, files)


def _sized() -> UsageError:
    return UsageError("--size: the method's `files` have sizes of their own", "leave --size out")


def _files_on(method: Method, target: Target) -> FileSet | None:
    """Returns the files of all steps on a target. Raises UsageError where they differ."""
    found: tuple[str, FileSet | None] | None = None
    for _, step in method.steps_on(target):
        if step.kind in _WITHOUT_IO:
            continue
        files = step.job.files
        if found is None:
            found = step.name, files
        elif (files is None) != (found[1] is None) or not (
            files is None or found[1] is None or files.has_layout_of(found[1])
        ):
            raise UsageError(
                f"{target.name}: steps {found[0]} and {step.name} have different files, and a target holds one set",
                "give both the same count, size, width and depth, or targets of their own",
            )
    return found[1] if found else None


def _advice(target: Target) -> str:
    match target.kind:
        case "twin":
            return "twins hold none: name a directory, dir:PATH"
        case "file":
            return f"name the directory: dir:{target.path.parent if target.path else 'PATH'}"
        case "array":
            return "name directories: array:dir:PATH,dir:PATH"
        case _:
            return "name a directory on a file system, dir:PATH"
