"""Methods from jobs of fio 3. Meanings and defaults are those of its HOWTO; where a method's differ, a note says so.

Jobs up to the next `stonewall` run at once: one step, of streams where they differ. Jobs that differ in nothing but
their files are one job on several targets.
"""

import re
from collections.abc import Sequence

from fathom.errors import UsageError
from fathom.imports.draft import Draft, DraftStep, Value, name_of
from fathom.imports.fio_file import FioJob, jobs_of_file, jobs_of_script
from fathom.imports.fio_job import Conversion
from fathom.imports.units import duration_text


def from_fio(text: str, file: str) -> Draft:
    """The method that does what a job file, or the commands of a script, do. Raises UsageError."""
    sectioned = re.search(r"^\s*\[[^\]]+\]\s*$", text, re.MULTILINE)
    jobs = jobs_of_file(text, file) if sectioned else jobs_of_script(text, file)
    if not jobs:
        raise UsageError(f"{file}: no job", "expected a [section] with its options")
    draft = Draft(source="fio")
    for group in _groups(jobs):
        _add_group(draft, group)
    return draft


def _groups(jobs: Sequence[FioJob]) -> list[list[FioJob]]:
    """Jobs that run at once."""
    groups: list[list[FioJob]] = []
    for job in jobs:
        if job.waits or not groups:
            groups.append([])
        groups[-1].append(job)
    return groups


def _add_group(draft: Draft, group: Sequence[FioJob]) -> None:
    for job in group:
        _aim(draft, job)
    alike = {tuple(_but_files(job)) for job in group}
    if len(alike) == 1 and len({_files(job) for job in group}) == len(group):
        group = group[:1]
    elif len({_files(job) for job in group}) > 1:
        raise UsageError(
            f"{group[1].place}: [{group[0].name}] and [{group[1].name}] run at once, on different files and not alike",
            "every target of a run gets the same I/O: import them one by one",
        )
    made = [Conversion(draft, job) for job in group]
    first = made[0]
    step = DraftStep(name_of(first.job.name), job=first.whole())
    if text := first.job.options.get("description"):
        step.keys["label"] = text.value
    if len(made) > 1:
        step.job = _together(made)
        step.name = "-".join(name_of(one.job.name) for one in made)
    if first.ramp_s:
        ramp = DraftStep(f"{step.name}-ramp", {"label": f"ramp-up of {step.name}"})
        ramp.job = step.job | {"until": {"time": duration_text(first.ramp_s)}}
        draft.add(ramp)
    draft.add(step)
    if first.read_back and len(made) == 1:
        draft.add(DraftStep(f"{step.name}-verify", job=step.job | first.read_back))


def _files(job: FioJob) -> str:
    return "|".join(job.options[key].value for key in ("filename", "directory") if key in job.options)


def _but_files(job: FioJob) -> list[tuple[str, str]]:
    return sorted(
        (key, one.value) for key, one in job.options.items() if key not in ("filename", "directory")
    )


def _aim(draft: Draft, job: FioJob) -> None:
    if one := job.options.get("filename"):
        for path in one.value.replace("\\:", "\0").split(":"):
            path = path.replace("\0", ":")
            draft.aim(path if path.startswith("/dev/") else f"file:{path}")
    elif one := job.options.get("directory"):
        draft.aim(f"dir:{one.value}")


def _together(made: Sequence[Conversion]) -> dict[str, Value]:
    """The job of streams: what is the job's own must be equal, and all end by time."""
    first = made[0]
    for other in made[1:]:
        if other.of_job() != first.of_job():
            raise UsageError(
                f"{other.job.place}: [{first.job.name}] and [{other.job.name}] run at once, and differ in direct, "
                "runtime or engine",
                "give them the same",
            )
    if "time" not in first.until:
        raise UsageError(
            f"{first.job.place}: [{first.job.name}] runs beside others until it has done its bytes",
            "give all jobs time_based and a runtime",
        )
    streams = [{"name": name_of(one.job.name), **one.of_stream()} for one in made]
    return {**first.of_job(), "streams": streams}
