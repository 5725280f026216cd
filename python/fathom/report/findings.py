"""The findings of `fathom.analysis` over all columns of a report at once, in order.

The analysis sees all runs as one, each target under its label. So it compares targets of different runs like targets of
one run.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import JsonValue

from fathom.analysis.finding import Finding, joined
from fathom.analysis.findings import findings
from fathom.analysis.interval_sums import IntervalSums
from fathom.analysis.physics import physics_of
from fathom.analysis.reading_sums import ReadingSums
from fathom.analysis.run_view import NOT_ITS_OWN, Key, Origin, Remark, RunView, absent_hosts, remarks_of
from fathom.analysis.settled import Unsettled, unsettled
from fathom.analysis.surprises import Rated
from fathom.catalog.twin_params import parameters_sha256
from fathom.columns.schema import TABLES
from fathom.errors import FathomError
from fathom.prediction.interval import COVERAGE, known_device
from fathom.report.comparison import Column, Comparison, Corner, once
from fathom.report.note_groups import note_groups
from fathom.report.published import counted
from fathom.report.style import about
from fathom.sizing.drive import rated_drive

SIMULATED = "twins: virtual drives simulated in virtual time, not hardware measured here."
"""What targets are that are no hardware."""

NAMED_MOST = 4
"""Names that a sentence lists before it counts the rest."""


@dataclass(frozen=True)
class FindingTexts:
    """Findings in words: the outcome overall and by workload, agreement with published figures, surprises, caveats.

    What limits each target is in a section of its own.
    """

    overall: str
    outcomes: Sequence[str]
    agreement: str
    surprises: Sequence[str]
    remarks: Sequence[str]


def finding_texts(comparison: Comparison) -> FindingTexts:
    """Returns the findings on all columns."""
    found = findings(_view_of_rivals(comparison), counted(comparison.lookup), physics_of, _rated)
    found = [finding for finding in found if not _said_of_replay(finding, comparison)]

    def texts(*kinds: str) -> list[str]:
        return [finding.text for finding in found if finding.kind in kinds]

    first = [
        finding.text + _of_measurements(finding, comparison)
        for finding in found
        if finding.kind in ("leader", "single")
    ]
    remarks = [
        " ".join(texts("bound")),
        " ".join(texts("consistency")),
        " ".join(caveats(comparison)),
    ]
    return FindingTexts(
        " ".join(texts("overall")),
        [*first, *texts("level", "no-winner", "kept-up"), *texts("unsettled")],
        " ".join(texts("agreement", "order")),
        [*texts("stall"), *texts("surprise")],
        [text for text in remarks if text],
    )


def _of_measurements(finding: Finding, comparison: Comparison) -> str:
    """Returns the range that measurements of a twin's device are expected in, behind its rate; empty without one.

    The interval in the finding is of sampling alone.
    """
    cells = [
        cell
        for corner in comparison.corners
        for cell in corner.cells
        if cell.step.name == finding.step and (cell.column.short,) == finding.targets
    ]
    if len(cells) != 1 or cells[0].spread is None or cells[0].value is None:
        return ""
    low, high = (about(bound) for bound in cells[0].spread.around(cells[0].value))
    unit = "MB/s" if cells[0].metric == "mbps" else "IOPS"
    return f" {100 * COVERAGE:.0f} % of measurements of {cells[0].column.short} are expected at {low} to {high} {unit}."


def _said_of_replay(finding: Finding, comparison: Comparison) -> bool:
    """Returns whether the answer of a replay says it: why nothing is claimed, or that it kept up with its rate."""
    cells = [cell for corner in comparison.corners for cell in corner.cells if cell.step.name == finding.step]
    if not cells or not all(cell.is_replay for cell in cells):
        return False
    offered = all(cell.is_offered_rate for cell in cells)
    return finding.kind == "unsettled" or (finding.kind in ("single", "kept-up") and offered)


def _rated(device: str) -> Mapping[tuple[str, str | None], Rated]:
    """Returns what the catalogue's data sheet of a device states; nothing where it has none of that size."""
    try:
        return {(kind, op): figure for (kind, op), figure in rated_drive(device).figures.items()}
    except FathomError:
        return {}


Gate = Mapping[tuple[str, str], Unsettled]
"""The steps that support no claim, by the column's short label and the step's name."""


@once
def gate(comparison: Comparison) -> Gate:
    """Returns the steps of all columns that support no claim."""
    return unsettled(view_of_all(comparison))


def claims_waf(out: Gate, column: Column, step: str) -> bool:
    """Returns whether the write amplification of a step may be claimed."""
    why = out.get((column.short, step))
    return why is None or why.of_rate_alone


def unclaimed_words(comparison: Comparison) -> list[str]:
    """Returns the workloads whose figures are not claimed: a sentence for each reason, which is a word or two."""
    out, alone = gate(comparison), len(comparison.columns) == 1
    unclaimed: dict[str, list[str]] = {}
    for corner in comparison.corners:
        for cell in corner.cells:
            if why := out.get((cell.column.short, cell.step.name)):
                name = corner.label if alone else f"{corner.label} of {cell.column.short}"
                unclaimed.setdefault(why.tag, []).append(name)
    return [f"Not claimed ({tag}): {_first_of(names)}." for tag, names in unclaimed.items()]


def _first_of(names: Sequence[str]) -> str:
    """Returns the first names, and how many more there are."""
    more = [f"{len(names) - NAMED_MOST} more"] if len(names) > NAMED_MOST else []
    return joined([*names[:NAMED_MOST], *more])


@once
def view_of_all(comparison: Comparison) -> RunView:
    """Returns all columns as the targets of one run."""
    return one_view(comparison, comparison.columns)


def ranked_of(corner: Corner, comparison: Comparison, out: Gate) -> Corner:
    """Keeps the cells of a corner that may be ranked: settled ones of rivals. A system's own drive is no rival."""
    rivals = comparison.rivals
    cells = [
        cell
        for cell in corner.cells
        if cell.column in rivals and (cell.column.short, cell.step.name) not in out
    ]
    return replace(corner, cells=cells)


def _view_of_rivals(comparison: Comparison) -> RunView:
    rivals = comparison.rivals
    if len(rivals) == len(comparison.columns):
        return view_of_all(comparison)
    return one_view(comparison, rivals)


def one_view(comparison: Comparison, columns: Sequence[Column]) -> RunView:
    """Returns columns as the targets of one run, under their short labels. It has the steps of all methods."""
    document = comparison.runs[0].document.model_copy(deep=True)
    document.targets = [c.target.model_copy(update={"name": c.short, "label": c.short}) for c in columns]
    steps: dict[str, JsonValue] = {}
    for run in comparison.runs:
        steps |= run.raw_steps
    document.method.parsed["steps"] = list(steps.values())
    points = [_renamed(_table(c), c) for c in columns]
    intervals, *further = map(IntervalSums.together, _seconds(columns))
    return RunView(
        document,
        points=pa.concat_tables(points),
        intervals=intervals,
        further=further,
        telemetry=ReadingSums({}, {}),
        remarks=[remark for column in columns for remark in _remarks(column)],
        origins={c.short: _origin(c) for c in columns},
        not_its_own={key: rule for column in columns for key, rule in _not_its_own(column)},
        absent={key: hosts for column in columns for key, hosts in _absent(column)},
    )


def _origin(column: Column) -> Origin:
    run, target = column.run, column.target
    steps = {name: step for name, step in run.raw_steps.items() if isinstance(step, dict)}
    document = run.document
    return Origin(
        steps,
        run.jobs,
        document.drives_of(target),
        document.copies_of(target),
        is_quick=document.quick is not None,
    )


def _remarks(column: Column) -> Iterator[Remark]:
    """Yields what backends remarked in any of a column's repeats."""
    for repeat in column.run.repeats:
        for remark in remarks_of(repeat.run.events):
            if remark.target == column.target.name:
                yield replace(remark, target=column.short)


def _not_its_own(column: Column) -> Iterator[tuple[Key, str]]:
    """Yields the steps whose figures are not the target's own, in any repeat or on any part, with the note's rule."""
    document = column.run.document
    names = {column.target.name, *(part.name for part in document.parts_of(column.target))}
    for repeat in column.run.repeats:
        for note in repeat.run.document.notes:
            if note.rule in NOT_ITS_OWN and note.target in names and note.step:
                yield (column.short, note.step), note.rule


def _absent(column: Column) -> Iterator[tuple[Key, Sequence[str]]]:
    """Yields the steps that not all hosts loaded, in any repeat, with these hosts' rows."""
    for repeat in column.run.repeats:
        for (target, step), hosts in absent_hosts(repeat.document, repeat.interval_sums).items():
            if target == column.target.name:
                yield (column.short, step), hosts


def _table(column: Column) -> pa.Table:
    """Returns points as the column has them: pooled, where there are repeats."""
    schema, own = (
        TABLES["points"],
        [point for point in column.run.points if point.target == column.target.name],
    )
    return pa.Table.from_pylist([point.as_row() for point in own], schema=schema)


def _seconds(columns: Sequence[Column]) -> list[list[IntervalSums]]:
    """Returns intervals of every column's first repeat, then of all that have a second, and so on."""
    most = max(column.repeats for column in columns)
    return [
        [
            c.run.repeats[place].interval_sums.of_target(c.target.name, c.short)
            for c in columns
            if place < c.repeats
        ]
        for place in range(most)
    ]


def _renamed(table: pa.Table, column: Column) -> pa.Table:
    """Returns a column's rows under its short label."""
    rows = table.filter(pc.field("target") == column.target.name)
    return rows.set_column(0, "target", pa.array([column.short] * rows.num_rows, pa.string()))


def _has_other_parameters(column: Column) -> bool:
    """Returns whether the catalogue has other parameters for a twin, or one of its parts, than the run recorded."""
    document, target = column.run.document, column.target
    return any(
        (device := known_device(one.catalog)) is not None
        and one.identity.get("parameters_sha256") not in (None, parameters_sha256(device))
        for one in (target, *document.parts_of(target))
    )


def caveats(comparison: Comparison) -> list[str]:
    """Returns caveats for readers who quote figures: which targets are simulated, and how many notes limit them."""
    parts = []
    if comparison.twins:
        real = len(comparison.columns) - len(comparison.twins)
        twins = (
            f"{len(comparison.twins)} of {len(comparison.columns)} targets are" if real else "All targets are"
        )
        parts.append(f"{twins} {SIMULATED}")
    if changed := [column.short for column in comparison.twins if _has_other_parameters(column)]:
        parts.append(
            f"The run simulated {joined(changed)} with other parameters than this catalogue has, "
            "so ranges and limits from the catalogue may not fit it."
        )
    serious = [group for group in note_groups(comparison) if group.level != "info"]
    if serious:
        one = len(serious) == 1
        many = "One validity note limits" if one else f"{len(serious)} validity notes limit"
        parts.append(f"{many} what these figures show; read {'it' if one else 'them'} before quoting any.")
    return parts
