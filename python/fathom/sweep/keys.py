"""Keys of jobs that a sweep sets: the method with them, which says of each step only what is still so.

The label names the values that are set. What is published, and a steady state that other I/O reached, hold for the job
as it was. A step whose job changes has neither.
"""

import json
import tomllib
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from fathom._core import Job
from fathom.method.job import job_of
from fathom.method.method import Method, parse_method
from fathom.output.text import size

MEASURED = ("measure", "curve")
"""Kinds of steps whose jobs are set: measured steps, not those that prepare the target."""
Settings = Sequence[tuple[str, str]]


def with_keys(method: Method, settings: Settings) -> str:
    """Returns the method file with the keys in every measured step, checked as any other."""
    if not settings:
        return method.text
    written = method.text
    document = json.loads(written) if written.lstrip().startswith("{") else tomllib.loads(written)
    measured = list(_measured(document["steps"]))
    before = [deepcopy(step["job"]) for step in measured]
    for step in measured:
        for key, value in settings:
            _put(step["job"], key, _value(value))
    file = f"{method.name}, {', '.join(f'{key}={value}' for key, value in settings)}.json"
    parse_method(json.dumps(document, indent=1), file)
    changed = [step for step, job in zip(measured, before, strict=True) if _correct(step, job, settings)]
    workloads = {step.get("workload", step["name"]) for step in changed}
    for step in document["steps"]:
        if step.get("kind") == "precondition" and step.get("workload") in workloads:
            del step["workload"]
    return json.dumps(document, indent=1)


def without(label: str, job: Job, keys: Sequence[str]) -> str:
    """Returns a step's label without what it says of keys that are set: `random read, 8T/32Q`; it names other keys."""
    words = _words(job)
    found = {key: words[key] for key in keys if words.get(key, label + "?") in label}
    for said in found.values():
        label = label.replace(f", {said}", "").replace(said, "")
    others = [f"{key} as set" for key in keys if key not in found]
    return ", ".join([" ".join(label.split()).replace(" ,", ",").strip(", "), *others]).strip(", ")


def _correct(step: dict[str, Any], before: Mapping[str, object], settings: Settings) -> bool:
    """Makes a step's label and its published result fit its job; returns whether the job is another one."""
    whole = "sweep" not in step  # its own sweep gives the rest of a job
    old, new = (job_of({"job": job}) if whole else None for job in (before, step["job"]))
    if old == new and (whole or before == step["job"]):
        return False
    step.pop("published", None)
    if label := step.get("label"):
        was, now = _words(old), _words(new)
        for key, value in settings:
            if was.get(key) and now.get(key) and was[key] in label:
                label = label.replace(was[key], now[key])
                was = was | {other: now[key] for other in was if was[other] == was[key]}
            else:
                label += f", {key} {value}"
        step["label"] = label
    return True


def _words(job: Job | None) -> dict[str, str]:
    """Returns what labels say of a job, by key: `4 KiB`, `read`, `8T/32Q`; a key whose value is no single one lacks."""
    if job is None:
        return {}
    sizes = {size_bytes for op in job.ops for size_bytes, _ in op.sizes}
    words = {"block": size(next(iter(sizes)))} if len(sizes) == 1 else {}
    if len(job.ops) == 1:
        words["mix"] = job.ops[0].op
    load = f"{job.threads}T/{job.iodepth}Q"
    return words | {"load.threads": load, "load.iodepth": load}


def _measured(steps: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    """Returns the measured steps with a job, those of rounds too."""
    own = [step for step in steps if step.get("kind", "measure") in MEASURED and "job" in step]
    return [
        *own,
        *(one for step in steps if step.get("kind") == "rounds" for one in _measured(step["steps"])),
    ]


def _put(table: dict[str, Any], key: str, value: object) -> None:
    *above, last = key.split(".")
    for name in above:
        inner = table.get(name)
        table[name] = table = dict(inner) if isinstance(inner, dict) else {}
    table[last] = value


def _value(text: str) -> object:
    """Returns a number, a boolean, or else the text, as in a method file."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, int | float) else text
