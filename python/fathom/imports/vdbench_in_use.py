"""Which storage each workload of a Vdbench run uses. A run may have thousands of both, so each is looked up once."""

from collections.abc import Mapping, Sequence
from functools import cached_property

from fathom.imports.vdbench_file import Definition
from fathom.imports.vdbench_place import Storage


class InUse:
    """The storage of a run, all of it and by workload."""

    def __init__(self, of_workload: Mapping[str, Sequence[Storage]]) -> None:
        """Holds the storage of each workload, by the workload's name."""
        self._given = of_workload
        self._own: dict[str, list[Storage]] = {}

    def with_parts(self, of_part: Mapping[str, Sequence[Storage]]) -> "InUse":
        """Returns the same with the storage of parts of its workloads."""
        return InUse({**self._given, **of_part})

    @cached_property
    def storage(self) -> list[Storage]:
        """All storage, each once."""
        return list({one.name: one for own in self._given.values() for one in own}.values())

    @cached_property
    def luns(self) -> tuple[str, ...]:
        """The devices and files of all storage, each once."""
        return tuple(dict.fromkeys(one.lun for one in self.storage))

    def of(self, workload: Definition) -> list[Storage]:
        """Returns what a workload uses, in the order of all storage."""
        own = self._own.get(workload.name)
        if own is None:
            places = sorted({self._places[one.name] for one in self._given[workload.name]})
            own = self._own[workload.name] = [self.storage[place] for place in places]
        return own

    def numbers_of(self, workload: Definition) -> list[int]:
        """Returns the numbers, from 1, of the devices and files that a workload uses; empty for all."""
        numbers = sorted({self._numbers[one.lun] for one in self.of(workload)})
        return [] if len(numbers) == len(self.luns) else numbers

    def shared_in_part(self) -> bool:
        """Returns whether any two workloads have some of their storage in common, but not all."""
        known: dict[frozenset[str], frozenset[str]] = {}
        user: dict[str, frozenset[str]] = {}
        for own in self._given.values():
            given = frozenset(one.name for one in own)
            # Equal sets are one object here: comparing large ones for each of their names would take minutes.
            names = known.setdefault(given, given)
            if any(user.setdefault(name, names) is not names for name in names):
                return True
        return False

    @cached_property
    def _places(self) -> dict[str, int]:
        return {one.name: place for place, one in enumerate(self.storage)}

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {lun: number for number, lun in enumerate(self.luns, 1)}
