"""After a crash: whether every write that a journal lists as acknowledged is on the target. Writes nothing."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field
from rich.console import Console

from fathom import _core
from fathom.errors import FathomError, UsageError


class JournalReport(BaseModel):
    """What became of the acknowledged writes; keys as in `docs/reference/cli.md`."""

    schema_: Literal["fathom-verify/1"] = Field("fathom-verify/1", alias="schema")
    target: str
    journals: int
    writes: int
    torn_bytes: int
    last_acked_ns: int
    behind_ns: int
    blocks: int
    wrong: dict[str, int]
    wrong_though_flushed: int
    reported: list[str]
    beyond_bytes: int


def verify_journal(directory: Path, target: Path | None = None) -> JournalReport:
    """Looks for every acknowledged write on `target`, or on the target that the journals name.

    Raises UsageError where nothing can be looked for: no journal, or a target that cannot be read.
    """
    try:
        text = _core.verify_journal(str(directory), _path_of(target) if target else None)
    except _core.BackendError as error:
        raise UsageError(str(error)) from error
    return JournalReport.model_validate_json(text)


def _path_of(target: Path) -> str:
    """Returns the path of a target that is named by its path or as `run` names it. Raises UsageError for another."""
    kind, colon, rest = str(target).partition(":")
    if not colon or target.exists():
        return str(target)
    if kind == "file" and rest:
        return rest
    if kind in ("array", "dir", "file", "nop", "null", "twin"):
        raise UsageError(f"{target}: neither a device nor a file", "name its path, such as /dev/nvme3n1")
    return str(target)


def print_report(console: Console, report: JournalReport) -> None:
    """Prints one line of sums, then the first of what is wrong.

    Raises FathomError when an acknowledged write is missing.
    """
    journals = f"{report.journals} journal{'s' * (report.journals != 1)}"
    what = f"{report.writes:,} acknowledged writes in {journals}; {report.blocks:,} blocks checked"
    console.print(f"{report.target}: {what}", soft_wrap=True, highlight=False)
    last = f"the last was acknowledged {report.last_acked_ns / 1000000000.0:.6f} s after the start"
    behind = f"; writes waited up to {report.behind_ns / 1000000.0:.1f} ms for the journal"
    lines = [f"{last}{behind if report.behind_ns else ''}"] if report.writes else []
    if report.torn_bytes:
        lines.append(f"{report.torn_bytes} bytes of the journals are incomplete records and are left out")
    for line in [*lines, *report.reported]:
        console.print(line, soft_wrap=True, highlight=False)
    if not report.wrong:
        console.print("all of them are on the target", highlight=False)
        return
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in report.wrong.items())
    raise FathomError(f"{report.target}: acknowledged writes are missing: {kinds}", _cause(report))


def _cause(report: JournalReport) -> str:
    """Returns what may have lost the writes, or what cannot."""
    if report.beyond_bytes:
        return (
            f"it ends {report.beyond_bytes:,} bytes before the last write: the file was cut or made anew, or is not "
            "the one that the journal is of"
        )
    if report.wrong_though_flushed:
        return f"{report.wrong_though_flushed:,} of them were flushed, which no volatile write cache excuses"
    return "none was flushed: a volatile write cache without power loss protection may lose them"
