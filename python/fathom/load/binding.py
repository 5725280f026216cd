"""Targets under the names by which a method's steps know them: `data=/dev/nvme0n1` on the command line."""

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from fathom.errors import UsageError
from fathom.method.method import Method
from fathom.targets.target import Target

_BOUND = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)=(?P<target>.*)", re.DOTALL)

Resolve = Callable[[Sequence[str], int | None], list[Target]]


def bound_targets(
    method: Method, texts: Sequence[str], resolve: Resolve, size_bytes: int | None = None
) -> list[Target]:
    """Returns the targets of a run, each with the name that it is given for the method's steps.

    Raises UsageError where a name is missing, misspelt or not asked for, and for what is no target.
    """
    pairs = [split_name(text) for text in texts]
    _check_names(method, texts, [name for name, _ in pairs])
    targets = resolve([target for _, target in pairs], size_bytes)
    return [replace(target, bound=name) for (name, _), target in zip(pairs, targets, strict=True)]


def check_bound(method: Method, targets: Sequence[Target]) -> None:
    """Raises UsageError where the method's steps name targets and these have no such names."""
    bound = [target.bound for target in targets]
    for target in targets:
        if method.target_names and target.bound not in method.target_names:
            raise UsageError(*_nameless(method, target.name))
    if missing := [name for name in method.target_names if name not in bound]:
        raise UsageError(*_missing(method, missing[0]))


def bindings(targets: Mapping[str, str]) -> list[str]:
    """Returns `NAME=TARGET` texts from a mapping of names to targets."""
    return [f"{name}={target}" for name, target in targets.items()]


def without_name(text: str) -> str:
    """Returns the target's text without `NAME=`."""
    return split_name(text)[1]


def split_name(text: str) -> tuple[str | None, str]:
    """Returns the name before a target, None without one, and the target's text."""
    found = _BOUND.fullmatch(text)
    return (found["name"], found["target"]) if found else (None, text)


def _check_names(method: Method, texts: Sequence[str], names: Sequence[str | None]) -> None:
    known = method.target_names
    for text, name in zip(texts, names, strict=True):
        if name is not None and not known:
            raise UsageError(
                f"{text}: the steps of {method.name} name no targets", f"write {without_name(text)} alone"
            )
        if name is None and known:
            raise UsageError(*_nameless(method, text))
        if name is not None and name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            raise UsageError(
                f"{text}: no step of {method.name} runs on {name!r}",
                f"did you mean {near[0]}=...?" if near else f"its steps run on {', '.join(known)}",
            )
    if missing := [name for name in known if name not in names]:
        raise UsageError(*_missing(method, missing[0]))


def _nameless(method: Method, text: str) -> tuple[str, str]:
    names = method.target_names
    return (
        f"{text}: the steps of {method.name} name their targets, but this one has no name",
        f"write {' or '.join(f'{name}={text}' for name in names[:3])}",
    )


def _missing(method: Method, name: str) -> tuple[str, str]:
    return f"no target named {name!r}, on which steps of {method.name} run", f"add {name}=TARGET"
