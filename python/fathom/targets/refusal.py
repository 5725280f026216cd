"""One reason why a target is not written: its rule, by which programs know it, and its words."""

from dataclasses import dataclass
from typing import Literal

Rule = Literal[
    "root-disk",
    "mounted",
    "swap",
    "held",
    "open",
    "exported",
    "partitioned",
    "signed",
    "unknown-data",
    "read-only",
    "empty",
    "unreadable",
    "not-own",
]

_READ_BLOCKING: frozenset[Rule] = frozenset({"empty", "unreadable"})


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason why a target is not written; `reason` completes the sentence "refused: ...".

    `hint` is what to do about it, where that is not what helps about others.
    """

    rule: Rule
    reason: str
    hint: str | None = None

    @property
    def blocks_reads(self) -> bool:
        """Whether it rules out reading too."""
        return self.rule in _READ_BLOCKING
