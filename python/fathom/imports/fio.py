"""Methods from jobs of fio 3. Meanings and defaults are those of its HOWTO; where a method's differ, a note says so.

Jobs up to the next `stonewall` run at once: one step, of streams where they differ. Jobs that differ in nothing but
their files are one job on an array of targets. If sections have different files, steps name their targets.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fathom.errors import UsageError
from fathom.imports.draft import Draft, DraftStep, name_of, shown_target
from fathom.imports.fio_blocks import Blocks
from fathom.imports.fio_file import FioJob, Option, check_values, is_job_file, jobs_of_file
from fathom.imports.fio_files import NO_DISK, NOTHING, Files, files_of
from fathom.imports.fio_foreign import check_engines
from fathom.imports.fio_job import Conversion
from fathom.imports.fio_names import ON_NAMES, NamesConversion
from fathom.imports.fio_script import jobs_of_script
from fathom.imports.fio_sets import FileSet, layout_block
from fathom.imports.fio_together import check_flows, exit_keys, flow_keys, group_notes, idle_notes
from fathom.imports.variables import Variables
from fathom.method.toml_text import Value, duration_text, size_text
from fathom.output.text import distinct

_LAY_OUT_BYTES = 64 << 10
#: Most jobs at once that are all in the name of their step.
_NAMED = 4


def from_fio(text: str, file: str, variables: Variables) -> Draft:
    """Returns the method that does what a job file, or the commands of a script, do. Raises UsageError."""
    draft = Draft(source="fio")
    read = jobs_of_file if is_job_file(text) else jobs_of_script
    jobs = read(text, file, draft, variables)
    if not jobs:
        raise UsageError(f"{file}: no job", "expected a [section] with its options")
    check_engines(jobs)
    check_values(jobs)
    groups = [_Group(draft, jobs) for jobs in _groups(jobs)]
    _name_targets(draft, groups)
    _keep_together(draft, groups)
    _check_delays(groups)
    _check_sets(groups)
    states: dict[Files, _State] = {}
    for group in groups:
        _add_group(draft, group, states.setdefault(group.files, _State()))
    return draft


def _groups(jobs: Sequence[FioJob]) -> list[list[FioJob]]:
    """Returns the jobs in groups that run at once."""
    groups: list[list[FioJob]] = []
    for number, job in enumerate(jobs):
        _check_awaited(job, jobs[:number])
        if job.waits or not groups or _awaits_the_last(job, groups):
            groups.append([])
        groups[-1].append(job)
    return groups


def _awaits_the_last(job: FioJob, groups: Sequence[Sequence[FioJob]]) -> bool:
    """Returns whether `wait_for` makes the job begin when the last group has ended; False where it joins that group.

    Raises UsageError where it begins at another time, as fio's `waitee_running` has it.
    """
    name, last = _awaited(job), groups[-1]
    if name and [one.name for one in last] == [name]:
        return True
    if name == _awaited(last[0]) and not (name and last[0].waits):
        return False
    what = f"begins when [{name}] has ended" if name else f"begins before [{last[0].name}]"
    where = job.options["wait_for"].place if name else job.place
    raise UsageError(
        f"{where}: [{job.name}] {what}, while others run",
        "let it wait for the job before it, or give it stonewall",
    )


def _check_awaited(job: FioJob, before: Sequence[FioJob]) -> None:
    """Raises UsageError unless `wait_for` names one job before it; fio refuses unknown and common names too."""
    name = _awaited(job)
    if name and [one.name for one in before].count(name) != 1:
        raise UsageError(
            f"{job.options['wait_for'].place}: wait_for: {name} is not one job before it", "name one"
        )


def _awaited(job: FioJob) -> str:
    return job.options.get("wait_for", Option("", "")).value


#: A job in a method's words.
Made = Conversion | NamesConversion


def _converted(draft: Draft, job: FioJob, files: Files) -> Made:
    """Returns the job in a method's words. Raises UsageError."""
    if job.options.get("ioengine", Option("", "")).value in ON_NAMES:
        return NamesConversion(draft, job)
    return Conversion(draft, job, own_files=files.own)


class _Group:
    """Jobs that run at once, and the files that they do it on."""

    def __init__(self, draft: Draft, jobs: Sequence[FioJob]) -> None:
        """Converts them. Raises UsageError."""
        own = [files_of(job) for job in jobs]
        self.files = own[0]
        if any(files.is_set for files in own) and len(set(own)) > 1:
            raise UsageError(
                f"{jobs[1].place}: [{jobs[0].name}] and others run at once on sets of files in several directories",
                "give one of them stonewall",
            )
        if self.files.is_set and len(jobs) > 1 and _are_alike(jobs):
            jobs = [_as_one(draft, jobs)]
        self.target: str | None = None
        self.targets: list[list[int]] = []
        """Numbers of each job's files among all files, from 1. Empty unless both the jobs and their files differ."""
        if len(set(own)) > 1:
            self.files = _all_files(jobs, own)
            if _are_alike(jobs) and len(set(own)) == len(own):
                jobs = jobs[:1]
            else:
                places = {path: number for number, path in enumerate(self.files.paths, 1)}
                self.targets = [[places[path] for path in files.paths] for files in own]
        self.made = [_converted(draft, job, files) for job, files in zip(jobs, own, strict=False)]
        self.together: list[dict[str, Value]] = []
        """Keys of each job's streams that depend on the others."""

    @property
    def first(self) -> Made:
        return self.made[0]

    @property
    def name(self) -> str:
        names = [name_of(one.job.name) for one in self.made]
        return "-".join(names if len(names) <= _NAMED else [names[0], "to", names[-1]])


def _all_files(jobs: Sequence[FioJob], own: Sequence[Files]) -> Files:
    """Returns the files of jobs at once. Raises UsageError where some have none."""
    if NOTHING in own:
        raise UsageError(
            f"{jobs[1].place}: [{jobs[0].name}] and [{jobs[1].name}] run at once, but one names no file",
            "import them one by one",
        )
    return Files(tuple(dict.fromkeys(path for files in own for path in files.paths)), own=own[0].own)


def _are_alike(jobs: Sequence[FioJob]) -> bool:
    """Returns whether jobs differ in nothing but their files."""
    return len({tuple(_but_files(job)) for job in jobs}) == 1


def _as_one(draft: Draft, jobs: Sequence[FioJob]) -> FioJob:
    """Returns jobs that are alike, each with a set of files of its own, as one by `numjobs`. Raises UsageError."""
    first = jobs[0]
    if "filename_format" in first.options:
        raise UsageError(
            f"{first.options['filename_format'].place}: filename_format: jobs at once may have the same files",
            "leave it out",
        )
    each = first.options.get("numjobs", Option("1", first.place))
    if not each.value.isdecimal():
        raise UsageError(f"{each.place}: numjobs: {each.value} is not a number", "write one")
    draft.note(f"{first.place}: {len(jobs)} sections that are alike are threads of one job")
    together = Option(str(int(each.value) * len(jobs)), each.place)
    return FioJob(first.name, first.place, {**first.options, "numjobs": together}, first.waits)


def _but_files(job: FioJob) -> list[tuple[str, str]]:
    of_files = ("filename", "filename_format", "directory", "name", "description")
    return sorted((key, one.value) for key, one in job.options.items() if key not in of_files)


def _check_sets(groups: Sequence[_Group]) -> None:
    """Raises UsageError where one directory would hold different sets of files, or several jobs at once have some."""
    held: dict[Files, FileSet] = {}
    for group in groups:
        if group.first.files is None:
            continue
        if len(group.made) > 1:
            raise UsageError(
                f"{group.made[1].place('nrfiles')}: [{group.first.job.name}] and [{group.made[1].job.name}] run at "
                "once, each on files of its own",
                "give one of them stonewall, or numjobs=2 if they are alike",
            )
        before = held.setdefault(group.files, group.first.files)
        if before.layout != group.first.files.layout:
            raise UsageError(
                f"{group.first.place('nrfiles')}: other files in the directory of an earlier job",
                "give another directory",
            )


def _keep_together(draft: Draft, groups: Sequence[_Group]) -> None:
    """Gives jobs the keys of streams that depend on each other. Raises UsageError.

    `exitall` counts for all jobs of a file.
    """
    check_flows([group.made for group in groups])
    asked = any(one.exits_all for group in groups for one in group.made)
    for group in groups:
        files = len(group.files.paths)
        keys = flow_keys(group.made, files)
        for note in idle_notes(group.made, exits=asked):
            draft.note(note)
        if asked:
            exits = exit_keys(group.made, files, is_last=group is groups[-1])
            keys = [own | ends for own, ends in zip(keys, exits, strict=True)]
            for note in group_notes(group.made):
                draft.note(note)
        group.together = keys


def _check_delays(groups: Sequence[_Group]) -> None:
    """Raises UsageError where a later group has a `startdelay`: fio counts it from its own start.

    The same where jobs that read one file through the page cache begin at different times: each drops its pages.
    """
    for group in groups:
        late = max(group.made, key=lambda one: one.delay_s)
        begin = {one.delay_s for one in group.made}
        if len(begin) > 1 and not group.targets and any(one.buffered and one.reads for one in group.made):
            raise UsageError(
                f"{late.place('startdelay')}: drops pages of the cache that other jobs on the same file use",
                "give direct=1, or all the same startdelay",
            )
    for group in groups[1:]:
        for one in group.made:
            if one.delay_s:
                raise UsageError(
                    f"{one.place('startdelay')}: counts from the start of fio, and [{one.job.name}] waits for others",
                    "leave it out",
                )


@dataclass
class _State:
    """What the steps before have done to a target."""

    filled: list[Value] = field(default_factory=list)
    sealed: list[Value] = field(default_factory=list)
    """Regions whose data can be checked."""
    laid_out: bool = False


def _name_targets(draft: Draft, groups: Sequence[_Group]) -> None:
    """Names the targets of steps if there are several, and records how to pass them."""
    several = list(dict.fromkeys(group.files for group in groups))
    names: dict[Files, str] = {}
    _check_apart(groups, several)
    for files in several:
        group = next(group for group in groups if group.files == files)
        usual = name_of(group.name if files.own else files.called)
        name, count = usual, 2
        while name in names.values():
            name, count = f"{usual}-{count}", count + 1
        names[files] = name
    for group in groups:
        if len(several) > 1:
            group.target = names[group.files]
    for files in several:
        text = files.target
        draft.aim(f"{names[files]}={text}" if len(several) > 1 else text)
        if len(files.paths) > 1:
            draft.note(
                f"{groups[0].first.job.place}: {len(files.paths)} files at once are an array: {shown_target(text)}"
            )
    if len(several) > 1 and len(groups) > 2:
        draft.note(f"{groups[0].first.job.place}: all steps on one target run before those on the next")


def _check_apart(groups: Sequence[_Group], several: Sequence[Files]) -> None:
    """Raises UsageError if steps share only some of their files: a device has one name in a method."""
    for number, files in enumerate(several):
        for other in several[:number]:
            if common := set(files.paths) & set(other.paths):
                group = next(group for group in groups if group.files == files)
                raise UsageError(
                    f"{group.first.job.place}: [{group.first.job.name}] runs on {min(common)} and others, and "
                    "another step on some of them only",
                    "import each of the two from a file of its own",
                )


def _add_group(draft: Draft, group: _Group, state: _State) -> None:
    """Adds the step of jobs at once, with those before and behind it. Raises UsageError."""
    step = DraftStep(
        group.name,
        job=_job(group.made, group.targets, group.together),
        place=group.first.job.place,
        places=group.first.place,
    )
    if group.target:
        step.keys["target"] = group.target
    if text := group.first.job.options.get("description"):
        step.keys["label"] = text.value
    if rule := _still(group.made):
        step.keys["until_steady"] = rule
    _check_sealed(group, state)
    for before in _before(group, step, state):
        draft.add(before)
    draft.add(step)
    if back := _read_back(group, step):
        draft.add(back)
    if not group.targets:
        state.filled += [one.fills for one in group.made if one.fills is not None]
        if any(one.writes for one in group.made):
            state.sealed = [
                one.fills for one in group.made if one.seals and one.fills and len(group.made) == 1
            ]


def _before(group: _Group, step: DraftStep, state: _State) -> Iterator[DraftStep]:
    """Yields what goes before a step: a layout of files that it reads, the delay of its start, and its ramp-up."""
    first = group.first
    lacks = any(_needs_data(one) and one.region not in state.filled for one in group.made)
    if lacks and not state.laid_out and group.files not in (NOTHING, NO_DISK):
        yield _layout(group)
        state.laid_out = True
        state.sealed = []
    if begins_s := min(one.delay_s for one in group.made):
        keys = {key: value for key, value in step.keys.items() if key == "target"}
        label = f"startdelay of {step.name}"
        pause: dict[str, Value] = {"kind": "idle", "time": duration_text(begins_s), "label": label, **keys}
        yield DraftStep(f"{step.name}-delay", pause, place=first.place("startdelay"))
    if first.ramp_s:
        ramp = _endless(step.job) | {"until": {"time": duration_text(first.ramp_s)}}
        keys = step.keys | {"label": f"ramp-up of {step.name}"}
        yield DraftStep(f"{step.name}-ramp", keys, ramp, place=step.place)


def _read_back(group: _Group, step: DraftStep) -> DraftStep | None:
    """Returns the step that reads what a step wrote; None where fio reads nothing back. Raises UsageError."""
    asked = [one for one in group.made if one.read_back]
    if asked and len(group.made) > 1:
        raise UsageError(
            f"{asked[0].place('verify')}: what concurrent jobs wrote is not read back here",
            "give do_verify=0",
        )
    if not asked:
        return None
    job = {key: value for key, value in step.job.items() if key not in ("position", "flush_every", "align")}
    return DraftStep(f"{step.name}-verify", dict(step.keys), job | asked[0].read_back, place=step.place)


def _still(made: Sequence[Made]) -> dict[str, Value]:
    """Returns the rule that ends jobs when they hold still, together. Raises UsageError where it is not for all."""
    first, asked = made[0], [one for one in made if one.still]
    if not asked:
        return {}
    grouped = all(one.job.options.get("group_reporting", Option("0", "")).value != "0" for one in made)
    apart = any("new_group" in one.job.options for one in made[1:])
    if len(made) > 1 and (not grouped or apart or any(one.still != first.still for one in made)):
        raise UsageError(
            f"{asked[0].place('steadystate_duration')}: each job is judged and ends by itself",
            "give all jobs group_reporting and the same steadystate",
        )
    return first.still


def _check_sealed(group: _Group, state: _State) -> None:
    """Raises UsageError for a job that checks data which no job before has written whole and such."""
    for one in group.made:
        if one.checks and (len(group.made) > 1 or group.first.region not in state.sealed):
            raise UsageError(
                f"{one.place('verify')}: checks data that no job of the file has written before, whole and with verify",
                "let such a job go before it, or leave verify out",
            )


def _needs_data(one: Made) -> bool:
    """Returns whether fio lays its file out before the job: it does for reads and for overwrites."""
    overwrites = one.job.options.get("overwrite", Option("0", "")).value != "0"
    return one.reads or overwrites


def _layout(group: _Group) -> DraftStep:
    """Returns a step that fills a file, as fio does before it reads one. A device keeps its contents."""
    called = f"lay-out-{group.target or group.name}"
    keys: dict[str, Value] = {"kind": "fill", "only_files": True}
    if group.target:
        keys["target"] = group.target
    files, block = group.first.files, _layout_block(group.first.blocks)
    label = "lay the file out" if files is None else "lay the files out"
    job: dict[str, Value] = {
        "mix": "write",
        "block": size_text(block if files is None else layout_block(files, block)),
        "pattern": "sequential",
        **({} if files is None else {"files": {**files.layout, "select": "sequential"}}),
        "load": {"iodepth": 8},
        "until": {"written": "1x"},
    }
    return DraftStep(called, {**keys, "label": label}, job, place=group.first.job.place)


def _layout_block(blocks: Blocks) -> int:
    """Returns a large block size that the job's block divides; the job's own if it is odd."""
    block = blocks.one_size or _LAY_OUT_BYTES
    return max(block, _LAY_OUT_BYTES) if _LAY_OUT_BYTES % block == 0 else block


def _job(
    made: Sequence[Made], targets: Sequence[Sequence[int]], together: Sequence[dict[str, Value]]
) -> dict[str, Value]:
    """Returns one job for the group: one workload, or streams, which may have their own ends. `targets` lists those of
    each stream, if they differ; `together` has its keys that depend on others. Raises UsageError.
    """
    first = made[0]
    begins_s = min(one.delay_s for one in made)
    streams = [
        (name, keys | _own_end(one) | ({"targets": targets[number]} if targets else {}) | together[number])
        for number, one in enumerate(made)
        for name, keys in _named(one, one.delay_s - begins_s)
    ]
    if len(streams) == 1:
        return {**_named(first)[0][1], **first.of_job(), "until": first.until}
    for other in made[1:]:
        alike = other.of_job() == first.of_job() and other.until.get("time") == first.until.get("time")
        if not alike or other.ramp_s != first.ramp_s:
            raise UsageError(
                f"{other.job.place}: [{first.job.name}] and [{other.job.name}] run at once, and differ in direct, "
                "runtime, ramp_time or engine",
                "give them the same",
            )
    names = distinct(name for name, _ in streams)
    return {
        **first.of_job(),
        **({"until": {"time": first.until["time"]}} if "time" in first.until else {}),
        "streams": [{"name": name, **keys} for name, (_, keys) in zip(names, streams, strict=True)],
    }


def _own_end(one: Made) -> dict[str, Value]:
    """Returns a job's own end condition beside others, without the common time."""
    volume = {key: value for key, value in one.until.items() if key != "time"}
    return {"until": volume} if volume else {}


def _endless(job: Mapping[str, Value]) -> dict[str, Value]:
    """Returns a job without the ends of its streams: fio counts nothing of a ramp."""
    streams = job.get("streams")
    if not isinstance(streams, Sequence):
        return dict(job)
    without = [
        {key: value for key, value in stream.items() if key not in ("until", "exitall")}
        for stream in streams
        if isinstance(stream, Mapping)
    ]
    return {**job, "streams": without}


def _named(one: Made, after_s: float = 0.0) -> list[tuple[str, dict[str, Value]]]:
    name, parts = name_of(one.job.name), one.streams(after_s)
    if len(parts) == 1:
        return [(name, parts[0])]
    return [(f"{name}-{number}", keys) for number, keys in enumerate(parts, 1)]
