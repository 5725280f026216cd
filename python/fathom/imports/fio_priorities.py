"""Shares of a job's I/O with a priority of their own: fio's `cmdprio_percentage` and `cmdprio_bssplit`.

Meanings are those of fio's `engines/cmdprio.c`: each read and write draws its priority, by its block size where sizes
are listed. What no share takes has the priority of the job.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from fathom.imports.fio_blocks import Blocks
from fathom.imports.fio_given import GivenOptions
from fathom.method.toml_text import Value, size_text

_KINDS = ("cmdprio_bssplit", "cmdprio_percentage")
_USUAL = (("cmdprio_class", "1"), ("cmdprio", "0"), ("cmdprio_hint", "0"))
_CLASSES = {1: "realtime", 2: "best-effort", 3: "idle"}


@dataclass(frozen=True)
class _Share:
    """A share in percent of blocks of one size, or of all; its class, level and hint."""

    percent: int
    block_bytes: int | None
    values: tuple[int, int, int]


def priority_shares(given: GivenOptions, blocks: Blocks, engine: str) -> dict[str, Value]:
    """Returns the key of a job with its shares; nothing where none is asked for. Raises UsageError."""
    asked = [key for key in _KINDS if given.text(key, "0") not in ("", "0")]
    if not asked:
        for key, _ in _USUAL:
            given.idle(key, "has no effect without cmdprio_percentage or cmdprio_bssplit")
        return {}
    if len(asked) > 1:
        raise given.error(asked[0], "goes with no cmdprio_percentage in fio", "give one of them")
    key = asked[0]
    if engine not in ("libaio", "io_uring"):
        raise given.error(key, f"is of the engines libaio and io_uring, not {engine}", "give one of them")
    ops = [op for op in blocks.ops if op != "trim"]
    by_op = {
        op: [one for one in _shares(given, key, op) if _is_issued(given, key, blocks, op, one)] for op in ops
    }
    alike = len({tuple(shares) for shares in by_op.values()}) == 1 and len(ops) == len(blocks.ops)
    of_op: list[tuple[str | None, _Share]] = (
        [(None, one) for one in by_op[ops[0]]]
        if alike
        else [(op, one) for op, shares in by_op.items() for one in shares]
    )
    if not of_op:
        return {}
    given.note(key, "latencies are those of all priorities together, where fio reports each")
    return {"priority_shares": [_as_value(given, key, op, one) for op, one in of_op]}


def _shares(given: GivenOptions, key: str, op: str) -> Iterator[_Share]:
    """Yields the shares of an operation, without those of nothing."""
    text = given.per_op(key, "", (op,))[op]
    usual = _values(given, op)
    if key == "cmdprio_percentage":
        percent = given.size_of(text or "0", key)
        if percent > 100:
            raise given.error(key, f"{percent} is more than 100 %", "write at most 100")
        yield from [_Share(percent, None, usual)] if percent else []
        return
    for entry in filter(None, text.split(":")):
        size, *numbers = entry.split("/")
        found = [given.size_of(one, key) for one in numbers if one]
        if len(found) not in (0, 1, 3, 4):
            raise given.error(
                key, f"{entry} is no share", "write SIZE/PERCENT, or SIZE/PERCENT/CLASS/LEVEL/HINT"
            )
        if found and found[0]:
            class_number, level, hint = (*found[1:], 0)[:3] if len(found) > 1 else usual
            yield _Share(found[0], given.size_of(size, key), (class_number, level, hint))


def _values(given: GivenOptions, op: str) -> tuple[int, int, int]:
    """Returns class, level and hint of what has none of its own. A class of 0 is the highest, as if none was given."""
    number, level, hint = (given.size_of(given.per_op(key, usual, (op,))[op], key) for key, usual in _USUAL)
    return number or 1, level, hint


def _is_issued(given: GivenOptions, key: str, blocks: Blocks, op: str, one: _Share) -> bool:
    """Returns whether the job has such blocks, and notes where it has none."""
    issued = one.block_bytes is None or one.block_bytes in {size for size, _ in blocks.sizes[op]}
    if not issued:
        given.note(
            key, f"blocks of {one.block_bytes} bytes: no {op} has this size, so the share has no effect"
        )
    return issued


def _as_value(given: GivenOptions, key: str, op: str | None, one: _Share) -> Value:
    number, level, hint = one.values
    if number not in _CLASSES:
        raise given.error(key, f"class {number} is none of its own", "write a class from 1 to 3")
    share: dict[str, Value] = {"share": f"{one.percent}%", "class": _CLASSES[number]}
    if level and number != 3:
        share["level"] = level
    elif level:
        given.note(key, "the class idle has no levels, in the kernel either")
    if hint:
        share["duration_limit"] = hint
    if op:
        share["op"] = op
    if one.block_bytes is not None:
        share["block"] = size_text(one.block_bytes)
    return share
