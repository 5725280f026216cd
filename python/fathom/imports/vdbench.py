"""Methods from parameter files of Vdbench: storage, workload and run definitions (`sd`, `wd`, `rd`), or files (`fsd`,
`fwd`).

Meanings and defaults are those of the sources of Vdbench 5.04.06. A key is applied, noted or refused, as
`vdbench_keys` says.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fathom.errors import UsageError
from fathom.imports.draft import Draft, DraftStep, name_of
from fathom.imports.fio_options import Use
from fathom.imports.variables import Variables
from fathom.imports.vdbench_file import Definition, GivenKey, definitions
from fathom.imports.vdbench_files import OF_FILES, FileRun
from fathom.imports.vdbench_filework import Anchor
from fathom.imports.vdbench_hosts import Hosts, each_alike, note_alike, note_divided
from fathom.imports.vdbench_keys import REPORTS, Section
from fathom.imports.vdbench_place import Storage
from fathom.imports.vdbench_run import File, Run
from fathom.method.toml_text import Value, size_text
from fathom.targets.array import PREFIX

_MOST_TARGETS = 256
#: Threads of a format (`FwdEntry.format_fwd`).
_FORMAT_THREADS = 8


@dataclass(frozen=True)
class _Definitions:
    """The definitions of a file, by their kind."""

    of: Mapping[Section, list[Definition]]
    general: Definition
    #: What a raw run without workloads does.
    workload: Definition

    @property
    def hosts(self) -> Hosts:
        """The machines that it names."""
        return Hosts.defined(self.of[Section.HOST])


def from_vdbench(text: str, file: str, variables: Variables) -> Draft:
    """Returns a parameter file's runs as a method, one after the other. Raises UsageError."""
    draft = Draft(source="Vdbench")
    found = _read(text, file, variables, draft)
    runs = found.of[Section.RUN]
    on_files = [one for one in runs if one.get("fwd")]
    if not runs:
        raise UsageError(f"{file}: no run", "expected an rd= line")
    if on_files and len(on_files) < len(runs):
        raise UsageError(
            f"{on_files[0].place}: runs on files and raw runs exclude each other in Vdbench too",
            "give each a file",
        )
    if on_files:
        _add_file_runs(found, draft)
    else:
        _add_raw_runs(found, draft)
    return draft


def _read(text: str, file: str, variables: Variables, draft: Draft) -> _Definitions:
    """Returns a file's definitions, each key of them judged. Raises UsageError."""
    found: dict[Section, dict[str, Definition]] = {section: {} for section in Section}
    general = Definition(Section.GENERAL, "", file)
    workload = Definition(Section.WORKLOAD, "default", file)

    def fill(line: str, place: str) -> str:
        return variables.fill(line, place, draft)

    for definition, given in definitions(text, file, fill, draft.note):
        if given:
            _judge(given, draft)
            if definition is None:
                general.set(given)
        elif definition and definition.name != "default":
            if found[definition.section].setdefault(definition.name, definition) is not definition:
                raise UsageError(
                    f"{definition.place}: {definition.section}={definition.name} is there twice", "rename one"
                )
        elif definition and definition.section is Section.WORKLOAD:
            workload = definition
    return _Definitions(
        {section: list(named.values()) for section, named in found.items()}, general, workload
    )


def _add_raw_runs(found: _Definitions, draft: Draft) -> None:
    """Adds the steps of runs on storage. Raises UsageError."""
    storage = [one for definition in found.of[Section.STORAGE] for one in _storage(definition)]
    known = File(storage, found.of[Section.WORKLOAD], found.workload, found.general, found.hosts)
    runs = [_raw_run(one, known, draft) for one in found.of[Section.RUN]]
    _divide(runs, draft)
    names = _name_places(_places_of_storage(runs), _STORAGE, draft)
    largest_bytes = max(run.largest_bytes() for run in runs)
    laid_out: set[tuple[str, ...]] = set()
    for run in runs:
        target = names[run.luns]
        files = [one for one in run.storage if not one.is_device]
        if run.luns not in laid_out and files:
            draft.add(_lay_out(files, run, target))
            laid_out.add(run.luns)
        run.add(largest_bytes, target)


def _divide(runs: Sequence[Run], draft: Draft) -> None:
    """Makes of what several machines do what one does. Raises UsageError."""
    work = [run.work() for run in runs]
    alike = each_alike(work)
    for run, own in zip(runs, work, strict=True):
        if alike:
            run.keep_to(next(iter(own.values())), len(own))
            note_alike(len(own), run.run.place, draft)
        else:
            note_divided(len(own), run.run.place, draft)
        run.settle()


def _raw_run(run: Definition, known: File, draft: Draft) -> Run:
    if given := run.get(*OF_FILES):
        raise given.error("is of runs on files", "leave it out, or name an fwd")
    return Run(run, known, draft)


def _add_file_runs(found: _Definitions, draft: Draft) -> None:
    """Adds the steps of runs on files. Raises UsageError."""
    anchors = [Anchor(one) for one in found.of[Section.FILES]]
    workloads = found.of[Section.FILE_WORKLOAD]
    made = [FileRun(one, workloads, anchors, found.general, draft) for one in found.of[Section.RUN]]
    for run in made:
        machines = {machine for one in run.workloads for machine in found.hosts.named_by(one)}
        note_divided(len(machines), run.run.place, draft)
    format_threads = next(
        (int(one.number("threads", _FORMAT_THREADS)) for one in workloads if one.name == "format"),
        _FORMAT_THREADS,
    )
    names = _name_places(_places_of_files(made), _FILES, draft)
    laid_out: set[tuple[str, ...]] = set()
    for one in made:
        key = one.directories
        one.add(names[key], laid_out=key in laid_out, format_threads=format_threads)
        laid_out = laid_out - {key} if one.changes_files else laid_out | {key}


def _judge(given: GivenKey, draft: Draft) -> None:
    """Refuses a key that would make it another test, and notes one that is left out."""
    key = given.key
    if key.use is Use.APPLIED or given.written.lower() in key.neutral:
        return
    if key.use is Use.REFUSED:
        raise given.error(key.says, "leave it out")
    if key.says == REPORTS:
        draft.set_aside(given.word, given.place)
    else:
        draft.note(f"{given.place}: {given.word}={given.written} {key.says}")


def _storage(definition: Definition) -> list[Storage]:
    """Returns the storage of a definition: one, or as many as `count=(start,count)` says. Raises UsageError."""
    lun = definition.get("lun")
    if lun is None:
        raise UsageError(f"{definition.place}: sd={definition.name} has no lun", "give it lun=")
    count = definition.get("count")
    if count is None:
        return [Storage(definition.name, lun.text, definition)]
    values = count.numbers()
    if len(values) != 2 or not 1 <= values[1] <= _MOST_TARGETS:
        raise count.error("expected a start and a count", f"such as count=(1,4), of {_MOST_TARGETS} at most")
    numbers = range(int(values[0]), int(values[0]) + int(values[1]))
    for name in (definition.name, lun.text):
        if "%" in name:
            raise count.error(f"{name} is a format", "put * where the number goes")
    return [
        Storage(_numbered(definition.name, number), _numbered(lun.text, number), definition)
        for number in numbers
    ]


def _numbered(name: str, number: int) -> str:
    return name.replace("*", str(number)) if "*" in name else f"{name}{number}"


@dataclass(frozen=True)
class _Place:
    """What one run works on: the paths, the names that the file has for them, and the targets that they become."""

    run: Definition
    paths: tuple[str, ...]
    called: Sequence[str]
    targets: Sequence[str]


@dataclass(frozen=True)
class _Words:
    """What errors call places: using a part of them, all of them, and one path."""

    part: str
    all: str
    one: str


_FILES = _Words("works on a part of the files", "fsd", "directory")
_STORAGE = _Words("runs on a part of the storage", "storage", "device")


def _places_of_files(runs: Sequence[FileRun]) -> list[_Place]:
    return [
        _Place(
            run.run,
            run.directories,
            [one.definition.name for one in run.anchors],
            [f"dir:{one}" for one in run.directories],
        )
        for run in runs
    ]


def _places_of_storage(runs: Sequence[Run]) -> list[_Place]:
    return [
        _Place(
            run.run,
            run.luns,
            [one.name for one in run.storage],
            [lun if lun.startswith("/dev/") else f"file:{lun}" for lun in run.luns],
        )
        for run in runs
    ]


def _name_places(places: Sequence[_Place], words: _Words, draft: Draft) -> dict[tuple[str, ...], str]:
    """Names the targets if runs have different ones, and records how to pass them. Raises UsageError."""
    first: dict[tuple[str, ...], _Place] = {}
    for place in places:
        for paths, other in first.items():
            if paths != place.paths and set(paths) & set(place.paths):
                raise UsageError(
                    f"{place.run.place}: rd={place.run.name} {words.part} of rd={other.run.name}, and a {words.one} "
                    "has one name in a method",
                    "import each of the two from a file of its own",
                )
        first.setdefault(place.paths, place)
    names: dict[tuple[str, ...], str] = {}
    for paths, place in first.items():
        ends = dict.fromkeys((place.called[0], place.called[-1]))
        names[paths] = name_of("-".join(ends)) if len(first) > 1 else ""
        text = place.targets[0] if len(place.targets) == 1 else f"{PREFIX}{','.join(place.targets)}"
        draft.aim(f"{names[paths]}={text}" if names[paths] else text)
    where = places[0].run.place
    if len(set(names.values())) < len(names):
        raise UsageError(
            f"{where}: names of {words.all} that are alike as {names[places[0].paths]}", "rename them"
        )
    if len(first) > 1:
        draft.note(f"{where}: all steps on one target run before those on the next")
    return names


def _lay_out(files: Sequence[Storage], run: Run, target: str) -> DraftStep:
    """Returns a fill of files, which Vdbench writes whole where they do not have their size yet. Raises UsageError."""
    keys: dict[str, Value] = {"kind": "fill", "only_files": True}
    if target:
        keys["target"] = target
    job: dict[str, Value] = {"mix": "write", "block": "128KiB", "pattern": "sequential"}
    if len({one.size_bytes for one in files}) > 1:
        raise UsageError(f"{run.run.place}: files of different sizes at once", "give each a run of its own")
    if (size_bytes := files[0].size_bytes) is not None:
        job["region"] = size_text(size_bytes)
    job |= {**run.content({}), "load": {"iodepth": 8}, "until": {"written": "1x"}}
    return DraftStep(
        f"lay-out-{target or name_of(files[0].name)}", keys, job, place=files[0].definition.place
    )
