"""From words to the targets of a run: one way for commands and Python, so that they cannot disagree."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from fathom.errors import UsageError
from fathom.load.binding import bindings, bound_targets
from fathom.load.initiator import Initiator, ThisMachine
from fathom.load.resolve import together as as_array
from fathom.method.method import Method
from fathom.plan.baseline import with_baselines
from fathom.plan.devices import placed
from fathom.plan.file_size import size_of_new_files
from fathom.plan.file_system import is_bare, with_file_system
from fathom.plan.files import check_no_single_file, with_files
from fathom.plan.power_states import named_in_state
from fathom.plan.replay import NAME as REPLAY
from fathom.targets.target import Target

Word = str | Path
"""A target as a user writes it. A path is that of a device: a file or directory is `file:PATH` or `dir:PATH`."""
Words = Word | Sequence[Word] | Mapping[str, Word]
"""One target, several, or targets by the names that a method's steps give them."""


def prepare(
    method: Method,
    words: Words,
    initiator: Initiator,
    size_bytes: int | None = None,
    *,
    together: bool = False,
    power_state: int | None = None,
) -> list[Target]:
    """Returns the targets that the method runs on: those named, with what the method adds to them.

    Args:
        method: names targets for its steps, a file system for bare drives, and asks for baselines.
        words: the targets as a user writes them.
        initiator: finds them, here or on hosts.
        size_bytes: of files that Fathom makes; without it, a new file is as large as the method's regions.
        together: loads the real targets at once, as one array.
        power_state: the state of twins among them; a session holds real drives in theirs.

    Raises:
        UsageError: no target, a wrong name, or what is no target.
    """
    texts = [named_in_state(text, power_state) for text in texts_of(words)]
    if not texts:
        raise UsageError("no target to run on", "name one, such as twin:samsung-pm9a3-7.68tb")
    if together:
        texts = as_array(texts)
    elif method.name == REPLAY:
        texts = placed(method, texts)
    check_no_single_file(method, texts)
    by_hosts = not isinstance(initiator, ThisMachine)
    file_bytes = size_bytes if size_bytes is not None or by_hosts else size_of_new_files(method, texts)
    found = bound_targets(method, texts, initiator.resolve, file_bytes)
    if (
        by_hosts
        and method.file_system
        and any(is_bare(one) for target in found for one in target.members or (target,))
    ):
        raise UsageError(
            f"{method.name}: hosts put no {method.file_system} on bare devices",
            "run it on one host, without --hosts",
        )
    targets = completed(method, found, size_bytes)
    if by_hosts and any(target.files for target in targets):
        raise UsageError(f"{method.name}: hosts hold no sets of files", "run it on one host, without --hosts")
    return targets


def completed(method: Method, targets: Sequence[Target], size_bytes: int | None = None) -> list[Target]:
    """Returns the targets with what the method adds: file systems on bare drives, a system's own drive beside it."""
    return with_baselines(
        method, with_files(method, with_file_system(method, targets, size_bytes), size_bytes)
    )


def texts_of(words: Words) -> list[str]:
    """Returns targets as texts, with the names that they are bound to. Raises UsageError for what is no target."""
    if isinstance(words, Mapping):
        return bindings({name: _text(word) for name, word in words.items()})
    if isinstance(words, Iterable) and not isinstance(words, str):
        return [_text(word) for word in words]
    return [_text(words)]


def _text(word: Word) -> str:
    """Returns a target's text. Python users may pass anything: raises UsageError for what is neither text nor path."""
    if not isinstance(word, str | Path):
        raise UsageError(
            f"targets: {word!r} is no target", 'write a text, such as "file:/mnt/data/scratch.bin"'
        )
    return str(word)
