"""Which machines of a Vdbench file (`hd`) have what to do: a method is what one machine does.

Meanings are those of `HostParms`, `SD_entry`, `WD_entry` and `RD_entry` of Vdbench 5.04.06. Storage and workloads that
name no host are for all. The hosts of one machine are processes there. Threads and rates are divided over hosts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from fathom.imports.draft import Draft
from fathom.imports.vdbench_file import Definition
from fathom.imports.vdbench_place import Storage

#: What a machine does in a run: the storage of each workload.
Work: TypeAlias = Mapping[str, list[Storage]]


@dataclass(frozen=True)
class Hosts:
    """The machines of a file by the names of its hosts."""

    machines: Mapping[str, str]

    @staticmethod
    def defined(definitions: Sequence[Definition]) -> "Hosts":
        """Returns the hosts of a file; without any there is `localhost`."""
        named = {one.name: system.text if (system := one.get("system")) else one.name for one in definitions}
        return Hosts(named or {"localhost": "localhost"})

    @property
    def all(self) -> tuple[str, ...]:
        """All machines, in the order of the file."""
        return tuple(dict.fromkeys(self.machines.values()))

    def named_by(self, definition: Definition) -> tuple[str, ...]:
        """Returns the machines that a definition is for, in their order. Raises UsageError for an unknown host."""
        given = definition.get("host")
        if given is None:
            return self.all
        found: dict[str, None] = {}
        for text in given.values:
            matching = {machine: None for host, machine in self.machines.items() if _is(text, host, machine)}
            if not matching:
                raise given.error(f"there is no host {text}", f"define it above, with hd={text}")
            found |= matching
        return tuple(found)


def _is(text: str, host: str, machine: str) -> bool:
    if text.endswith("*"):
        return host.startswith(text[:-1]) or machine.startswith(text[:-1])
    return text in (host, machine)


def each_alike(runs: Sequence[Mapping[str, Work]]) -> bool:
    """Returns whether several machines do the same in all runs, each on storage of its own by the same names."""
    machines = list(runs[0])
    if len(machines) < 2 or any(list(run) != machines for run in runs):
        return False
    for run in runs:
        first, *others = (_described(work) for work in run.values())
        names = [one.name for work in run.values() for one in _storage_of(work)]
        if any(other != first for other in others) or len(set(names)) < len(names):
            return False
    return True


def _storage_of(work: Work) -> list[Storage]:
    return list({one.name: one for own in work.values() for one in own}.values())


def _described(work: Work) -> dict[str, list[tuple[object, ...]]]:
    """Returns all that makes one machine's part of a run differ from another's."""
    return {
        name: [(one.lun, one.threads, one.like, _flags(one)) for one in own] for name, own in work.items()
    }


def _flags(storage: Storage) -> tuple[str, ...]:
    given = storage.definition.get("openflags")
    return given.values if given else ()


def note_divided(machines: int, place: str, draft: Draft) -> None:
    """Adds a note that one machine does here what several do in Vdbench."""
    if machines > 1:
        draft.note(
            f"{place}: {machines} hosts divide this load in Vdbench: here one host has all of it; do not run it with "
            "--hosts, which gives all to each"
        )


def note_alike(machines: int, place: str, draft: Draft) -> None:
    """Adds a note that each of several machines does what the method says."""
    draft.note(
        f"{place}: each of {machines} hosts has devices of its own by these names, and its part of the rate: run this "
        f"on all {machines}, fathom run --hosts FILE"
    )
