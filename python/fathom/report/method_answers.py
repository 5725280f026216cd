"""Runs of several methods side by side: one short answer for each method, where no single answer is that of all."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fathom.report import sections
from fathom.report.comparison import Comparison, once, run_letter
from fathom.report.data import RunData
from fathom.report.opening import missing_figure, opened
from fathom.report.style import plain

NO_ANSWER = "There is no result to show."


@dataclass(frozen=True)
class MethodAnswer:
    """What one method's runs answer. `runs` are their letters; `caveat` is empty, or what the answer lacks."""

    method: str
    runs: Sequence[str]
    sentence: str
    caveat: str = ""

    @property
    def where(self) -> str:
        """The runs, in words: `run A`, `runs A, C`."""
        return f"run{'s' if len(self.runs) > 1 else ''} {', '.join(self.runs)}"


@once
def method_answers(comparison: Comparison) -> Sequence[MethodAnswer]:
    """Returns one answer for each method, in the order of the runs.

    Returns none where one answer is that of all: for a single method, and for methods that measured the same workloads.
    Those are compared with each other.
    """
    runs: dict[str, list[RunData]] = {}
    for run in comparison.runs:
        runs.setdefault(run.document.method.name, []).append(run)
    parts = [_part(comparison, own) for own in runs.values()]
    workloads = {frozenset(corner.key for corner in part.corners) for part in parts}
    if len(parts) < 2 or (len(workloads) == 1 and all(workloads)):
        return []
    names = short_titles(comparison.runs)
    letters = {id(run): run_letter(place) for place, run in enumerate(comparison.runs)}
    return [
        _answer(names[name], [letters[id(run)] for run in own], part)
        for (name, own), part in zip(runs.items(), parts, strict=True)
    ]


def short_titles(runs: Sequence[RunData]) -> dict[str, str]:
    """Returns the title of each method up to its colon, by the method's name; the names where two titles are equal."""
    methods = {run.document.method.name: run.document.method.title for run in runs}
    short = {name: plain(title).partition(":")[0] for name, title in methods.items()}
    return short if len(set(short.values())) == len(short) else {name: plain(name) for name in methods}


def _part(comparison: Comparison, runs: Sequence[RunData]) -> Comparison:
    """Returns what is shown of some of the runs, under the labels and in the colours of the whole."""
    columns = [column for column in comparison.columns if any(map(column.is_of, runs))]
    corners = [
        replace(corner, cells=cells)
        for corner in comparison.corners
        if (cells := [cell for cell in corner.cells if cell.column in columns])
    ]
    return Comparison(runs, columns, corners, comparison.lookup, comparison.prices)


def _answer(method: str, letters: Sequence[str], part: Comparison) -> MethodAnswer:
    built = sections.build_all(part)
    opening, _ = opened(built, wanted=part.key_figure)
    if opening is None:
        return MethodAnswer(method, letters, next(iter(sections.answers(built)), NO_ANSWER))
    return MethodAnswer(method, letters, opening.sentence, missing_figure(built, part.key_figure))
