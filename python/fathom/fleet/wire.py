"""The protocol between coordinator and host: numbered frames, each value checked against its declared type.

A frame is a length and two lines of JSON: what it is about, and its values. Nothing in it is code, and nothing is
longer than `MOST_BYTES`: whoever sends anything else has failed. Types are those of the called function's signature.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, BinaryIO, Literal, TypeVar, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError

from fathom.errors import FathomError, RefusedError, UsageError

MOST_BYTES = 64 << 20
"""The longest frame. A second of a load takes a few KiB, the recording of an hour some hundred."""
MOST_NOISE_BYTES = 64 << 10
"""What a login shell may print before the agent's first word."""
MOST_WORDS = 500
"""Characters of an error that are taken from a host."""
HELLO = "fathom-agent"
RETURN = "return"
T = TypeVar("T")
_LENGTH = struct.Struct(">I")
_JSON = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64", ser_json_inf_nan="constants")


class WireError(FathomError):
    """The other side sent what it may not send."""


@dataclass(frozen=True)
class Call:
    """A call. `id` counts up from 1; a call with number 0 only shows that the coordinator is alive."""

    id: int
    function: str = ""
    arguments: int = 0


@dataclass(frozen=True)
class Failure:
    """The error that a call raised."""

    kind: Literal["FathomError", "UsageError", "RefusedError"]
    message: str
    hint: str | None


@dataclass(frozen=True)
class Answer:
    """The answer to the call of that number."""

    id: int
    failure: Failure | None = None


_CALL = TypeAdapter(Call)
_ANSWER = TypeAdapter(Answer)
_KINDS: dict[str, type[FathomError]] = {
    kind.__name__: kind for kind in (FathomError, UsageError, RefusedError)
}


def call_frame(
    number: int, name: str, function: Callable[..., object], arguments: tuple[object, ...]
) -> bytes:
    """Returns a call of the function, which the host knows by the name."""
    about = Call(number, name, len(arguments))
    values = _arguments(function, len(arguments)).dump_json(arguments)
    return _frame(_CALL.dump_json(about), values)


def parse_call(frame: bytes) -> tuple[Call, bytes]:
    """Returns the call, and the arguments for `arguments_of`. Raises WireError."""
    about, values = _split(frame)
    return _checked(_CALL, about), values


def arguments_of(function: Callable[..., object], call: Call, values: bytes) -> tuple[object, ...]:
    """Returns the arguments of a call. Raises WireError."""
    return _checked(_arguments(function, call.arguments), values)


def result_frame(number: int, function: Callable[..., object], result: object) -> bytes:
    """Returns the answer of a call that returned."""
    return _frame(_ANSWER.dump_json(Answer(number)), _result(function).dump_json((result,)))


def failure_frame(number: int, error: BaseException) -> bytes:
    """Returns the answer of a call that raised."""
    if isinstance(error, FathomError):
        kind = next(name for name, each in reversed(_KINDS.items()) if isinstance(error, each))
        message, hint = error.message, error.hint
    else:
        lines = str(error).strip().splitlines()
        kind, message = "FathomError", ": ".join([type(error).__name__, *lines[:1]])
        hint = None
    failure = Failure(kind, message, hint)  # pyright: ignore[reportArgumentType] (the keys of _KINDS)
    return _frame(_ANSWER.dump_json(Answer(number, failure)), b"null")


def parse_answer(frame: bytes) -> tuple[Answer, bytes]:
    """Returns which call is answered, and the result for `result_of`. Raises WireError."""
    about, values = _split(frame)
    return _checked(_ANSWER, about), values


def result_of(function: Callable[..., object], values: bytes) -> object:
    """Returns what a call returned. Raises WireError where it is not of the function's type."""
    return _checked(_result(function), values)[0]


def error_of(failure: Failure) -> FathomError:
    """Returns the error that a call raised, with its message cut to a fair length."""
    hint = failure.hint[:MOST_WORDS] if failure.hint else None
    return _KINDS[failure.kind](failure.message[:MOST_WORDS], hint)


def as_sent(function: Callable[..., object], result: object) -> object:
    """Returns the result as `result_of` would give it, for a result that did not come in a frame. Raises WireError."""
    try:
        values = _result(function).dump_json((result,), warnings="error")
    except ValueError as error:
        raise WireError(f"sent a type that {function.__name__} does not return") from error
    return result_of(function, values)


def read_frame(stream: BinaryIO) -> bytes | None:
    """Returns the next frame; None at the end. Raises WireError."""
    header = stream.read(_LENGTH.size)
    if len(header) < _LENGTH.size:
        return None
    [length] = _LENGTH.unpack(header)
    if length > MOST_BYTES:
        raise WireError(f"sent a message of {length} bytes; {MOST_BYTES} are allowed")
    frame = stream.read(length)
    return frame if len(frame) == length else None


def _frame(about: bytes, values: bytes) -> bytes:
    return _LENGTH.pack(len(about) + 1 + len(values)) + about + b"\n" + values


ALIVE = _frame(_CALL.dump_json(Call(0)), b"[]")
"""Shows the host that the coordinator is there."""


def _split(frame: bytes) -> tuple[bytes, bytes]:
    about, _, values = frame.partition(b"\n")
    return about, values


@cache
def _arguments(function: Callable[..., object], count: int) -> TypeAdapter[tuple[object, ...]]:
    hints = get_type_hints(function, include_extras=True)
    types = [kind for name, kind in hints.items() if name != RETURN][:count]
    kind: Any = tuple.__class_getitem__(tuple(types))
    return TypeAdapter(kind, config=_JSON)


@cache
def _result(function: Callable[..., object]) -> TypeAdapter[tuple[object]]:
    kind: Any = tuple.__class_getitem__((get_type_hints(function, include_extras=True)[RETURN],))
    return TypeAdapter(kind, config=_JSON)


def _checked(adapter: "TypeAdapter[T]", data: bytes) -> T:
    try:
        return adapter.validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])[:MOST_WORDS]
        raise WireError(f"sent a value of a wrong type: {place}: {first['msg'][:MOST_WORDS]}") from error
