"""Methods from parameter files of Vdbench for raw I/O: storage, workload and run definitions (`sd`, `wd`, `rd`).

Meanings and defaults are those of the sources of Vdbench 5.04.06. A key is applied, noted or refused, as
`vdbench_keys` says.
"""

from fathom.errors import UsageError
from fathom.imports.draft import Draft
from fathom.imports.vdbench_file import Definition, Given, definitions
from fathom.imports.vdbench_keys import Section, Use
from fathom.imports.vdbench_place import Storage
from fathom.imports.vdbench_run import File, Run

_MOST_TARGETS = 256


def from_vdbench(text: str, file: str) -> Draft:
    """The method that a parameter file's runs are, one after the other. Raises UsageError."""
    draft = Draft(source="Vdbench")
    found: dict[Section, list[Definition]] = {section: [] for section in Section}
    general = Definition(Section.GENERAL, "", file)
    default = Definition(Section.WORKLOAD, "default", file)
    for definition, given in definitions(text, file):
        if given:
            _judge(given, draft)
            if definition is None:
                general.set(given)
        elif definition and definition.name != "default":
            if any(one.name == definition.name for one in found[definition.section]):
                raise UsageError(
                    f"{definition.place}: {definition.section}={definition.name} is there twice", "rename one"
                )
            found[definition.section].append(definition)
        elif definition and definition.section is Section.WORKLOAD:
            default = definition
    storage = [one for definition in found[Section.STORAGE] for one in _storage(definition)]
    known = File(storage, found[Section.WORKLOAD], default, general)
    if found[Section.HOST]:
        draft.note(f"{found[Section.HOST][0].place}: hosts are given to a run: fathom run --hosts FILE")
    runs = [Run(one, known, draft) for one in found[Section.RUN]]
    if not runs:
        raise UsageError(f"{file}: no run", "expected an rd= line")
    _aim(runs, draft)
    largest_bytes = max(run.largest_bytes() for run in runs)
    for run in runs:
        run.add(largest_bytes)
    return draft


def _judge(given: Given, draft: Draft) -> None:
    """Refuses a key that would make it another test, and notes one that is left out."""
    key = given.key
    if key.use is Use.APPLIED or given.written.lower() in key.neutral:
        return
    if key.use is Use.REFUSED:
        raise given.error(key.says, "leave it out")
    draft.note(f"{given.place}: {given.word}={given.written} {key.says}")


def _storage(definition: Definition) -> list[Storage]:
    """The storage of a definition: one, or as many as `count=(start,count)` says. Raises UsageError."""
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


def _aim(runs: list[Run], draft: Draft) -> None:
    """Keeps the targets, which must be those of every run. Raises UsageError."""
    for run in runs:
        if [one.lun for one in run.storage] != [one.lun for one in runs[0].storage]:
            raise UsageError(
                f"{run.run.place}: rd={run.run.name} runs on other storage than rd={runs[0].run.name}, and a method's "
                "steps run on the same targets",
                "import the runs of each storage from a file of their own",
            )
    for one in runs[0].storage:
        draft.aim(one.lun if one.lun.startswith("/dev/") else f"file:{one.lun}")
