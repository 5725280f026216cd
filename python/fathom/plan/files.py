"""Sets of files in a method: which target holds which, so that all steps on it work on the same files."""

from collections.abc import Sequence
from pathlib import Path

from fathom._core import FileSet
from fathom.errors import UsageError
from fathom.load.binding import split_name
from fathom.method.method import Method
from fathom.targets.array import PREFIX, array_of, array_text, member_texts
from fathom.targets.file_sets import set_target
from fathom.targets.target import Target

_EMPTY = ("null", "nop")
_FILE = "file:"
_WITHOUT_IO = ("purge", "idle")


def with_files(method: Method, targets: Sequence[Target], size_bytes: int | None = None) -> list[Target]:
    """Returns the targets; directories whose steps have `files` are those sets of files.

    Raises UsageError where steps on a target have different files, a target cannot hold any, or all are such sets and
    a size is given.
    """
    found = [_with_files(method, target) for target in targets]
    if size_bytes is not None and found and all(map(_is_set, found)):
        raise UsageError("--size: the method's `files` have sizes of their own", "leave --size out")
    return found


def _is_set(target: Target) -> bool:
    return all(one.kind == "files" for one in target.members or (target,))


def check_no_single_file(method: Method, words: Sequence[str]) -> None:
    """Raises UsageError for `file:PATH` where the steps have `files`, before anything asks for the size of that file.

    `words` are the targets as a user writes them.
    """
    for name, word in map(split_name, words):
        steps = [step for step in method.steps if not step.targets or name in step.targets]
        if not any(step.job.files for step in steps if step.kind not in _WITHOUT_IO):
            continue
        members = member_texts(word) if word.startswith(PREFIX) else [word]
        if any(one.startswith(_FILE) for one in members):
            raise _needs_set(word, method, _directories([_directory(one) for one in members]))


def _directory(word: str) -> str:
    """Returns the directory beside or of a target that is a file."""
    if not word.startswith(_FILE):
        return word
    path = Path(word.removeprefix(_FILE)).absolute()
    return f"dir:{path if path.is_dir() else path.parent}"


def _directories(texts: Sequence[str]) -> str:
    if len(set(texts)) < 2:
        return f"name the directory: {texts[0]}"
    return f"name directories: {array_text(texts)}"


def _needs_set(name: str, method: Method, advice: str) -> UsageError:
    return UsageError(f"{name}: {method.name} works on a set of files", advice)


def _with_files(method: Method, target: Target) -> Target:
    files = _files_on(method, target)
    if files is None or target.kind in _EMPTY:
        return target
    if target.kind == "array" and all(one.kind == "dir" for one in target.members):
        return array_of([set_target(one, files) for one in target.members])
    if target.kind != "dir":
        raise _needs_set(target.name, method, _advice(target))
    return set_target(target, files)


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
            return _directories([_directory(target.name)])
        case "array":
            return "name directories: array:dir:PATH,dir:PATH"
        case _:
            return "name a directory on a file system, dir:PATH"
