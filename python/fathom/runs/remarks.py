"""Remarks on a step: a code with values, as the load generator gives it, and a sentence. Rules read codes and values.
The sentences are for people, and only made here.
"""

import errno
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from fathom import _core
from fathom.output.text import duration, latency_text, percent
from fathom.traces.clock import Doubt

WRONG_DATA_ERRNO = errno.EILSEQ
"""A read brought other data than were written."""


class _Fact(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Fault(_Fact):
    """Failed I/O of one kind in one range."""

    op: str
    start_bytes: int
    end_bytes: int
    n: int


class FailedIo(_Fact):
    """I/O failed in one way. `errno` is 0 for I/O that moved fewer bytes than asked."""

    code: Literal["failed-io"] = "failed-io"
    errno: int
    n: int
    ranges: tuple[Fault, ...] = ()
    more_ranges: int = 0


class LostIo(_Fact):
    """I/O had not returned when the load generator gave it up, `waited_ns` after the end of the step."""

    code: Literal["lost-io"] = "lost-io"
    n: int
    waited_ns: int
    age_ns: int


class Refused(_Fact):
    """The target refused a write because of where it goes."""

    code: Literal["refused"] = "refused"
    op: str
    offset_bytes: int
    size_bytes: int
    about: str


class LateArrivals(_Fact):
    """The load generator issued arrivals late."""

    code: Literal["late-arrivals"] = "late-arrivals"
    mean_ns: float


class UncountedArrivals(_Fact):
    """Arrivals came faster than they were counted."""

    code: Literal["uncounted-arrivals"] = "uncounted-arrivals"
    thread_ns: int


class CpuWait(_Fact):
    """Load threads waited for a core that something else had: another program, or another load thread."""

    code: Literal["cpu-wait"] = "cpu-wait"
    share: float


class StoodStill(_Fact):
    """The load generator as a whole did nothing for a while."""

    code: Literal["stood-still"] = "stood-still"
    still_ns: int


class Fallback(_Fact):
    """One thread per outstanding I/O replaced io_uring."""

    code: Literal["fallback"] = "fallback"
    reason: str


class LeftOut(_Fact):
    """The step does not apply to the target."""

    code: Literal["left-out"] = "left-out"
    reason: str


class ShortWindow(_Fact):
    """The window ended before its time."""

    code: Literal["short-window"] = "short-window"
    window_s: float
    asked_s: float


class Stopped(_Fact):
    """A user stopped the step before its end."""

    code: Literal["stopped"] = "stopped"
    window_s: float


class DoubtfulTimes(_Fact):
    """The step replayed a trace at times that mislead."""

    code: Literal["doubtful-times"] = "doubtful-times"
    doubt: Doubt


class Words(_Fact):
    """Words for people that no rule reads."""

    code: Literal["note"] = "note"
    text: str


Fact = (
    FailedIo
    | LostIo
    | Refused
    | LateArrivals
    | UncountedArrivals
    | CpuWait
    | StoodStill
    | Fallback
    | LeftOut
    | ShortWindow
    | Stopped
    | DoubtfulTimes
    | Words
)
_FACT: TypeAdapter[Fact] = TypeAdapter(Annotated[Fact, Field(discriminator="code")])


def facts_of(recording: _core.Recording) -> list[Fact]:
    """Returns the load generator's remarks on a step."""
    return [*map(_FACT.validate_json, recording.remarks), *(Words(text=text) for text in recording.notes)]


def fact_of(event: Mapping[str, object]) -> Fact:
    """Returns the fact of a remark in a journal. An earlier version wrote words only, and a later one may have other
    codes: then its words.
    """
    try:
        return _FACT.validate_python(event)
    except ValidationError:
        return Words(text=str(event.get("text", "")))


def in_words(fact: Fact) -> str:
    """Returns one sentence without a full stop."""
    match fact:
        case FailedIo():
            places = [
                f"{one.n:,} x {one.op} between byte {one.start_bytes} and byte {one.end_bytes}"
                for one in fact.ranges
            ]
            more = [f"and in {fact.more_ranges} more ranges"] if fact.more_ranges else []
            return "; ".join([f"{fact.n:,} I/O failed: {_core.describe_errno(fact.errno)}", *places, *more])
        case LostIo():
            return (
                f"{fact.n:,} I/O did not return within {fact.waited_ns / 1000000000.0:.0f} s after the end; the "
                f"oldest was in flight for {fact.age_ns / 1000000000.0:.1f} s"
            )
        case Refused():
            return f"{fact.op} of {fact.size_bytes} bytes at {fact.offset_bytes} was refused: {fact.about}"
        case LateArrivals():
            return (
                f"the load generator itself issued arrivals {latency_text(fact.mean_ns / 1000.0)} late on average; "
                "response latency includes that"
            )
        case UncountedArrivals():
            return (
                f"arrivals came faster than load threads count them. {fact.thread_ns / 1000000000.0:.2f} "
                "thread-seconds of arrivals were not counted, so the offered rate and the backlog are lower "
                "bounds. Ask for a lower rate, or for more threads"
            )
        case CpuWait():
            return (
                f"load threads waited {percent(fact.share)} of the time for a core that something else used; "
                "rates and latencies suffer from that"
            )
        case StoodStill():
            return (
                f"the load generator stood still for {duration(fact.still_ns / 1000000000.0)}: it or its machine "
                "was stopped; rates and latencies include that"
            )
        case Fallback():
            return (
                f"measured with one thread per outstanding I/O instead of io_uring ({fact.reason}): more CPU per "
                "I/O, lower peak IOPS"
            )
        case LeftOut():
            return f"left out: {fact.reason}"
        case ShortWindow():
            return f"the window is {fact.window_s:.1f} s long instead of {fact.asked_s:.1f} s"
        case Stopped():
            return f"the step was stopped after {duration(fact.window_s)}, before its end"
        case DoubtfulTimes():
            return f"the replay kept the times of its trace: {fact.doubt.text}"
        case Words():
            return fact.text
