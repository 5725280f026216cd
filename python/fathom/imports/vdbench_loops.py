"""What all runs (`rd`) of Vdbench have in common: the loops over lists of values, the rates, time, and compression."""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping

from fathom._core import STREAMS_MAX
from fathom.errors import UsageError
from fathom.imports.draft import Draft, DraftStep, name_of
from fathom.imports.vdbench_file import MOST_VALUES, Definition
from fathom.imports.vdbench_workload import Chosen, check_blocks
from fathom.method.toml_text import Value, duration_text, size_text

_ELAPSED_S = 30.0
_CURVE = (10.0, 50.0, 70.0, 80.0, 90.0, 100.0)
#: Loops, and what a step's name says of their value.
_LOOPS = {
    "forxfersize": "",
    "forthreads": "t",
    "forrdpct": "r",
    "forseekpct": "seek",
    "forcompratio": "c",
    "forcompression": "c",
}


class Loops:
    """One `rd` with its values; what it runs is its subclass's."""

    #: Names the rates of a run.
    rate_key = "iorate"
    #: Names a workload of a run, in the file and in words.
    workload_key, called = "wd", "streams"
    #: Names what a workload works on, in the file.
    storage_key = "sd"

    def __init__(self, run: Definition, general: Definition, draft: Draft) -> None:
        """Holds a run, with what stands before all definitions."""
        self.run = run
        self.draft = draft
        #: How many machines each do what the steps say, so that its rate is a part of the run's.
        self.machines = 1
        self._general = general

    def place_of(self, key: str) -> str:
        """Returns where the file says a key of a job."""
        return self.run.place

    def keep(self, step: DraftStep) -> None:
        """Adds a step to the draft. Raises UsageError where there are too many."""
        step.place, step.places = self.run.place, self.place_of
        if len(self.draft.steps) >= MOST_VALUES:
            raise UsageError(f"{self.run.place}: more than {MOST_VALUES} runs", "list fewer values")
        self.draft.add(step)

    def keep_at_rates(
        self, ending: str, job_at: Callable[[float | None], dict[str, Value]], aimed: dict[str, Value]
    ) -> None:
        """Adds the steps of one combination: at each rate a warm-up, the measurement and a pause. Raises UsageError."""
        warmup_s, pause_s = self.run.number("warmup", 0), self.run.number("pause", 0)
        for keys, rate, suffix in self.rates():
            name = name_of(self.run.name + ending + suffix)
            job = job_at(None if rate is None else rate / self.machines)
            if keys and "streams" in job:
                raise UsageError(
                    f"{self.run.place}: a curve of several {self.called}: each {self.workload_key} is one, on each "
                    f"{self.storage_key} that is unlike the others",
                    f"give each {self.workload_key}, and each such {self.storage_key}, a run of its own",
                )
            if warmup_s:
                warm = job | {"until": {"time": duration_text(warmup_s)}}
                self.keep(DraftStep(f"{name}-warmup", {"label": f"warm-up of {name}", **aimed}, warm))
            self.keep(DraftStep(name, {**keys, **aimed}, job))
            if pause_s:
                idle: dict[str, Value] = {"kind": "idle", "time": duration_text(pause_s)}
                self.keep(DraftStep(f"{name}-pause", idle | aimed))

    def check_streams(self, workloads: int) -> None:
        """Raises UsageError for more workloads at once than a job has streams."""
        if workloads > STREAMS_MAX:
            workload, storage = self.workload_key, self.storage_key
            raise UsageError(
                f"{self.run.place}: {workloads:,} workloads at once, and a job has {STREAMS_MAX} streams at most",
                f"where they differ in their {storage} alone, give one {workload} all of these: "
                f"{workload}=w,{storage}=*",
            )

    def combinations(self) -> Iterator[tuple[Chosen, str]]:
        """Yields the values of all loops, the first of the file outermost, and what a step's name ends in.

        Raises UsageError for sizes that are none of a block, and for too many combinations.
        """
        axes: list[list[tuple[str, float, str]]] = []
        for given in self.run.keys.values():
            letter = _LOOPS.get(given.key.name)
            if letter is not None:
                values = given.numbers()
                if given.key.name == "forxfersize":
                    check_blocks(given, [int(size) for size in values])
                several = len(values) > 1
                axes.append(
                    [
                        (given.key.name, one, f"-{letter}{value_text(one)}" if several else "")
                        for one in values
                    ]
                )
        if math.prod(map(len, axes)) > MOST_VALUES:
            raise UsageError(f"{self.run.place}: more than {MOST_VALUES} combinations", "list fewer values")
        for combination in itertools.product(*axes):
            yield {key: value for key, value, _ in combination}, "".join(ending for *_, ending in combination)

    def rates(self) -> Iterator[tuple[Mapping[str, Value], float | None, str]]:
        """Yields keys of a step, its rate (None: as fast as it can), and what its name ends in."""
        given = self.run.get(self.rate_key)
        if given is None:
            self.draft.note(
                f"{self.run.place}: rd={self.run.name} has no {self.rate_key}: it runs as fast as it can"
            )
            yield {}, None, ""
        elif given.values == ("curve",):
            yield self._curve(), None, ""
        elif [text.lower() for text in given.values] == ["max"]:
            yield {}, None, ""
        else:
            rates = given.numbers()
            for rate in rates:
                if rate <= 0:
                    raise given.error("a rate of 0", "write a rate above 0")
                yield {}, rate, f"-{rate:.12g}" if len(rates) > 1 else ""

    def _curve(self) -> dict[str, Value]:
        points = self.run.get("curve")
        values = points.numbers() if points else _CURVE
        curve: dict[str, Value] = {
            "points": [f"{point:g}%" for point in values],
            "time": duration_text(self.seconds),
            "response": "service",
        }
        return {"kind": "curve", "curve": curve}

    @property
    def seconds(self) -> float:
        """How long it is measured. Raises UsageError."""
        seconds = self.run.number("elapsed", _ELAPSED_S)
        if not seconds and (given := self.run.get("elapsed")):
            raise given.error("no time", "write seconds above 0")
        return seconds

    def content(self, chosen: Chosen) -> dict[str, Value]:
        """Returns what writes carry: the run's own compression, else the file's, and copies. Raises UsageError."""
        carried = {**self._compressible(chosen), **self._copies()}
        return {"content": carried} if carried else {}

    def _copies(self) -> dict[str, Value]:
        """Returns the share of copies that leaves `dedupratio` times less. Raises UsageError."""
        given = self._general.get("dedupratio")
        if given is None or (ratio := given.number()) == 1:
            return {}
        if ratio < 1:
            raise given.error("more than there is", "write 1 or more")
        self.draft.note(
            f"{given.place}: dedupratio={given.written}: as many units are copies, but by 4 KiB, and "
            "drawn at each write; what looks for copies in larger units finds none here"
        )
        return {"dedup": _saved(ratio)}

    def _compressible(self, chosen: Chosen) -> dict[str, Value]:
        ratio = None
        if "forcompratio" in chosen or "forcompression" in chosen:
            ratio = chosen.get("forcompratio") or 100.0 / max(chosen.get("forcompression", 100.0), 0.1)
        elif given := self._general.get("compratio", "compression"):
            number = given.number()
            ratio = number if given.key.name == "compratio" else 100.0 / max(number, 0.1)
        if ratio is None or ratio <= 1:
            return {}
        return {"compressible": _saved(ratio)}


def _saved(ratio: float) -> str:
    """Returns the share of what is written that a ratio saves."""
    return f"{100 * (1 - 1 / ratio):.4g}%"


def value_text(value: float) -> str:
    """Returns a value of a loop as a step's name has it."""
    return (
        size_text(int(value)).removesuffix("iB").lower()
        if value >= 1024 and value == int(value)
        else f"{value:g}"
    )
