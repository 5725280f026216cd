"""Method files that leave the workload to a trace: which they are, and how one becomes a method.

Three keys make a template of a method file. A job with `trace` takes its operations, sizes and places from there.
A step with `of = "streams"` has steps of its own, which are repeated for each I/O stream. A step with `needs` is left
out where the workload has no such operation.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fathom.errors import UsageError

if TYPE_CHECKING:
    from pydantic import JsonValue

    Table = Mapping[str, JsonValue]

TRACE = "trace"
STREAMS = "streams"
NAMES = ("name", "workload", "label")
"""Keys of a step that may hold `{stream}`."""
_MULTIPLE = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,12})?)x")


@dataclass(frozen=True)
class Workload:
    """What stands for a job's `trace`: the keys of the job, and the names that steps are given."""

    slug: str
    words: str
    job: "Table"
    written: float = 0.0
    """Share of its bytes that are written."""

    def has(self, operation: str) -> bool:
        """Returns whether it has I/Os of that operation."""
        mix = self.job["mix"]
        return operation == mix or (isinstance(mix, Mapping) and operation in mix)


@dataclass(frozen=True)
class Workloads:
    """What a trace puts into a template: all of its streams at once, each alone, and the trace itself."""

    cumulative: Workload
    streams: Sequence[Workload]
    replay: Workload


def is_template(text: str) -> bool:
    """Returns whether a method file takes its workload from a trace; False for a file that is no TOML."""
    return TRACE in text and any(_uses_of(text))


def uses_replay(text: str) -> bool:
    """Returns whether a template issues the trace itself."""
    return "replay" in _uses_of(text)


def _uses_of(text: str) -> Iterator[str]:
    try:
        steps = tomllib.loads(text).get("steps", [])
    except tomllib.TOMLDecodeError:
        return
    yield from _uses(steps)


def _uses(steps: object) -> Iterator[str]:
    """Yields what the jobs of steps take from a trace."""
    for step in steps if isinstance(steps, list) else []:
        if isinstance(step, Mapping):
            job = step.get("job")
            if isinstance(job, Mapping) and TRACE in job:
                yield str(job[TRACE])
            yield from _uses(step.get("steps"))


def filled_in(text: str, file: str, workloads: Workloads) -> "dict[str, JsonValue]":
    """Returns the method that a template becomes. Raises UsageError for a use of the trace that there is not."""
    document: dict[str, JsonValue] = tomllib.loads(text)
    document["steps"] = list(_steps(document.get("steps"), file, workloads, None))
    return document


def _steps(
    steps: "JsonValue", file: str, workloads: Workloads, stream: Workload | None
) -> "Iterator[dict[str, JsonValue]]":
    for step in steps if isinstance(steps, list) else []:
        if not isinstance(step, dict):
            continue
        if step.get("of") == STREAMS:
            for one in workloads.streams:
                yield from _steps(step.get("steps"), file, workloads, one)
            continue
        needs = step.get("needs")
        if isinstance(needs, str) and not (stream or workloads.cumulative).has(needs):
            continue
        done = {key: value for key, value in step.items() if key != "needs"}
        if stream:
            done |= _named(step, stream)
        if "steps" in step:
            done["steps"] = list(_steps(step["steps"], file, workloads, stream))
        if isinstance(job := step.get("job"), dict) and TRACE in job:
            workload = _workload(job[TRACE], file, workloads, stream)
            done["job"] = _job(job, workload)
            if isinstance(steady := step.get("steady"), dict) and not workload.written:
                done["steady"] = {key: value for key, value in steady.items() if key != "written"}
        yield done


def _named(step: "Table", stream: Workload) -> "dict[str, JsonValue]":
    """Returns the step's names with the stream's in them."""
    with_places = {key: text for key in NAMES if isinstance(text := step.get(key), str)}
    return {
        key: text.replace("{stream}", stream.words if key == "label" else stream.slug)
        for key, text in with_places.items()
    }


def _workload(use: "JsonValue", file: str, workloads: Workloads, stream: Workload | None) -> Workload:
    match use:
        case "cumulative":
            return workloads.cumulative
        case "replay":
            return workloads.replay
        case "stream" if stream:
            return stream
        case _:
            raise UsageError(
                f"{file}: a job has trace = {use!r}",
                'use "cumulative", "replay", or "stream" in the steps of a step with of = "streams"',
            )


def _job(job: "Table", workload: Workload) -> "dict[str, JsonValue]":
    """Returns the job with the workload in it.

    Jobs that also read end by the `volume` with which `written` is reached, and those that only read by their time.
    """
    done = {**workload.job, **{key: value for key, value in job.items() if key != TRACE}}
    until = done.get("until")
    if isinstance(until, dict) and "written" in until and workload.written < 1:
        others = {key: value for key, value in until.items() if key != "written"}
        done["until"] = {**_volume(until["written"], workload.written), **others}
    return done


def _volume(written: "JsonValue", share: float) -> "dict[str, JsonValue]":
    """Returns the end by volume; what is no multiple stays, and the parser of methods refuses it."""
    if not share:
        return {}
    times = _MULTIPLE.fullmatch(written) if isinstance(written, str) else None
    return {"volume": f"{float(times[1]) / share:.6f}x"} if times else {"written": written}
