"""Validation and calibration in a terminal and as JSON. Computes nothing.

Prints to the Console it is given; texts from files are never read as markup.
"""

from collections.abc import Sequence
from statistics import median
from time import monotonic

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from fathom.catalog import entries, load_published
from fathom.catalog.models import UNEXPLAINED_PCT, Device
from fathom.output.table import Name, flush_table
from fathom.output.text import signed_pct
from fathom.prediction.interval import COVERAGE, FAR, Coverage, Spread, coverage, refuted, tried_spread
from fathom.prediction.misses import RATES, DeviceMisses
from fathom.prediction.words import refuted_words, spread_words
from fathom.report.style import grouped, plain
from fathom.validation.calibrate import Calibration, toml_values
from fathom.validation.cases import Case
from fathom.validation.comparison import GATE_PCT, Compared, Median, medians
from fathom.validation.misses import block_of, misses_of

DOCUMENT_SCHEMA = "fathom-validate/1"
UNITS = {
    "iops": "IOPS",
    "mbps": "MB/s",
    "mibps": "MiB/s",
    "latency_us": "us",
    "floor_iops": "IOPS (floor)",
    "max_us": "us (longest)",
    "above_pct": "% of I/O",
    "iops_ratio": "x the other's IOPS",
    "iops_per_w_ratio": "x the other's IOPS/W",
    "depth": "I/O in flight",
    "added_us": "us in the controller",
    "share_pct": "% in the controller",
    "per_tb": "per raw TB",
    "latency_ratio": "x the others' latency",
}
SHOWN_POINTS = 0.05
"""Percentage points below which a change is printed as 0, and a row without a larger one left out."""
LINES_APART_S = 10.0
"""Least time between two lines of progress where there is no terminal: a log stays short, and shows life."""
_ROLE_STYLE = {"calibration": "cyan", "validation": "green", "context": "dim"}


class TrialProgress:
    """Shows trials as they end, on stderr: a bar on a terminal, a line now and then elsewhere. A `validate.Watch`."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._said_s = monotonic()
        self._bar = Progress(
            TextColumn("simulating"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}", markup=False, style="dim"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("", total=None)

    def __enter__(self) -> "TrialProgress":
        """Starts drawing, on a terminal only."""
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Removes the bar."""
        self._bar.stop()

    def __call__(self, label: str, done: int, total: int) -> None:
        """A trial has ended."""
        self._bar.update(self._task, description=label, completed=done, total=total)
        if not self._console.is_terminal and monotonic() - self._said_s >= LINES_APART_S:
            self._said_s = monotonic()
            self._console.print(f"{done}/{total} {label}", highlight=False, markup=False, soft_wrap=True)


def validation_json(rows: Sequence[Compared]) -> dict[str, object]:
    """Returns the document `fathom-validate/1`: rows, and the medians over those that count."""
    return {
        "schema": DOCUMENT_SCHEMA,
        "rows": [_row_json(row) for row in rows],
        "medians": [
            {"device": one.device, "role": one.role, "median_abs_error_pct": one.median_pct, "n": one.n}
            for one in medians(rows)
        ],
        "coverage": _coverage_json(coverage(misses_of(rows))),
    }


def _coverage_json(found: Coverage | None) -> dict[str, object] | None:
    if found is None:
        return None
    return {
        "stated": COVERAGE,
        "held": found.held,
        "rows": found.rows,
        "median_factor": found.median_factor,
        "falls_short": found.falls_short,
    }


def _row_json(row: Compared) -> dict[str, object]:
    case, measured = row.case, row.measured
    spread = None if case.row.role == "calibration" else _spread(row)
    low, high = spread.around(row.simulated or 0.0) if spread else (None, None)
    return {
        "device": case.device.name,
        "workload": case.row.workload,
        "metric": row.metric,
        "role": case.row.role,
        "published": row.published,
        "simulated": row.simulated,
        "error_pct": row.error_pct,
        "predicted_low": low,
        "predicted_high": high,
        "reason": row.reason,
        "op": case.row.op,
        "load": case.load,
        "bench": case.row.bench,
        "counted": row.counted,
        "unexplained": row.unexplained,
        "window_s": measured.window_s if measured else None,
        "interval_pct": measured.interval_pct if measured else None,
        "limited_by": measured.limited_by if measured else None,
        "source": case.row.source,
    }


def print_validation(console: Console, rows: Sequence[Compared]) -> None:
    """Prints a table per device with its medians, what could not be simulated, and the medians of all."""
    for device in dict.fromkeys(row.case.device.name for row in rows):
        _print_device(console, [row for row in rows if row.case.device.name == device])
    console.print(_medians_table(medians(rows)))
    _print_coverage(console, misses_of(rows))
    console.print(
        Text(
            "Medians of absolute errors over counted figures. Calibration rows may be fitted: their errors show "
            "the fit. Validation rows never are: theirs show the prediction. "
            f"{100 * COVERAGE:.0f} %: whether the published rate lies in the interval around the simulated one; "
            f"far: outside the {100 * FAR:.0f} % interval, so the twin may lack a mechanism; "
            "fit: a calibration row, which tests no interval.",
            style="dim",
        )
    )


def _print_coverage(console: Console, known: Sequence[DeviceMisses]) -> None:
    """Prints how often intervals hold, each learnt from the other devices among these."""
    found, by_row = coverage(known), coverage(known, left_out="row")
    if found and by_row:
        _print_dim(
            console,
            f"{100 * COVERAGE:.0f} % intervals hold {found.held} of {found.rows} predicted rates "
            f"({100 * found.share:.0f} %), each learnt from other devices; "
            f"half of them are within a factor of {found.median_factor:.2f}; learnt from all other rows they hold "
            f"{by_row.held} of {by_row.rows}",
        )


def print_without_twin(console: Console, devices: Sequence[Device]) -> None:
    """Prints one line on the measured results that belong to no twin yet."""
    known = {device.published for device in devices}
    others = [load_published(entry.name) for entry in entries("published") if entry.name not in known]
    counts = {one.name: sum(row.role != "context" for row in one.rows) for one in others}
    if waiting := [f"{name} ({count})" for name, count in counts.items() if count]:
        _print_dim(console, f"no twin yet, with measured rows in brackets: {', '.join(waiting)}")


def print_calibration(console: Console, calibration: Calibration) -> None:
    """Prints errors and parameters before and after, sensitivities, and the values to paste."""
    console.print(Text(calibration.device.identity.label, style="bold"))
    console.print(_errors_table(calibration))
    console.print(_parameters_table(calibration))
    for case, why in calibration.left_out:
        _print_dim(console, f"{case.name} is left out: {why}")
    for one in calibration.parameters:
        if one.remark:
            _print_dim(console, f"{one.name} is {one.remark}")
    console.print(_sensitivities_table(calibration))
    _print_dim(
        console, "percentage points by which a row's error changes when the parameter is 10 % up | down"
    )
    if values := toml_values(calibration):
        console.print(f"\n{values}", markup=False, highlight=False)
    else:
        console.print(Text("The file already has the best values: nothing to change."))


def _errors_table(calibration: Calibration) -> Table:
    table = _table("row", "workload", "load", "before", "after", "determines", right=("before", "after"))
    sides = (calibration.before_pct, calibration.after_pct)
    for number, (case, *errors) in enumerate(zip(calibration.cases, *sides, strict=True)):
        table.add_row(
            str(number + 1),
            Name(plain(case.name)),
            Text(case.load),
            *("kept" if _is_kept(case, error) else signed_pct(error) for error in errors),
            ", ".join(calibration.determined_by(number)),
        )
    counted = [
        [abs(error) for case, error in zip(calibration.cases, side, strict=True) if not _is_kept(case, error)]
        for side in sides
    ]
    table.add_section()
    for name, of in (("median of absolute errors", median), ("largest", max)):
        table.add_row("", name, "", *(f"{of(errors):.2f} %" if errors else "–" for errors in counted))
    return table


def _is_kept(case: Case, error_pct: float) -> bool:
    """Returns whether a row is a bound that the twin keeps, which is no error and counts in no median."""
    return case.row.bound is not None and not error_pct


def _parameters_table(calibration: Calibration) -> Table:
    table = _table("parameter", "before", "after", right=("before", "after"))
    for one in calibration.parameters:
        table.add_row(
            one.name, f"{one.before:g}", Text(f"{one.after:g}", style="bold" if one.changed else "dim")
        )
    return table


def _sensitivities_table(calibration: Calibration) -> Table:
    """Returns what moves each row: a line of its own names each parameter, so that any number fits any width."""
    table = _table("row", "sensitivity", "up | down", right=("up | down",))
    for index in range(len(calibration.cases)):
        for one in calibration.parameters:
            sides = (one.sensitivity.up, one.sensitivity.down)
            pair = [None if side is None else 100 * float(side[index]) for side in sides]
            if any(move and abs(move) >= SHOWN_POINTS for move in pair):
                table.add_row(str(index + 1), one.name, " | ".join(map(_points, pair)))
    return table


def _points(change: float | None) -> str:
    if change is None:
        return "–"
    return "0" if abs(change) < SHOWN_POINTS else f"{change:+.1f}".replace("-", "−")


def _print_device(console: Console, rows: Sequence[Compared]) -> None:
    """One section per role, then notes, then what was not simulated."""
    device = rows[0].case.device
    console.print(Text(device.identity.label, style="bold"))
    for text in dict.fromkeys(spread_words(found) for row in rows if (found := _spread(row))):
        _print_dim(console, text)
    if short := refuted(device):
        console.print(Text(f"{refuted_words(short)}: reports give it no range", style="yellow"))
    notes: dict[str, int] = {}
    table = _table(
        "workload",
        "load",
        "published",
        "simulated",
        "error",
        f"{100 * COVERAGE:.0f} %",
        "",
        right=("published", "simulated", "error"),
    )
    for role, style in _ROLE_STYLE.items():
        shown = [row for row in rows if row.simulated is not None and row.case.row.role == role]
        if shown:
            table.add_row(Text(role, style=style))
            for row in shown:
                table.add_row(*_cells(row, notes))
            table.add_section()
    console.print(table)
    for text, number in notes.items():
        _print_dim(console, f"[{number}] {text}")
    missing: dict[str, list[str]] = {}
    for row in rows:
        if row.simulated is None:
            missing.setdefault(row.reason or "", []).append(row.case.name)
    for reason, names in missing.items():
        _print_dim(console, f"{reason}: {', '.join(names)}")
    console.print()


def _cells(row: Compared, notes: dict[str, int]) -> tuple[RenderableType, ...]:
    """Returns the cells of a figure. Figures that do not count are dim; only the first of a row has its name."""
    first = row.metric == next(iter(row.case.figures))
    faint = "" if row.counted else "dim"
    number = notes.setdefault(row.reason, len(notes) + 1) if row.reason else None
    return (
        Name(plain(row.case.name) if first else "", faint, indent=2),
        Text(row.case.load if first else "", style=faint),
        Text.assemble((grouped(row.published), faint), (f" {UNITS.get(row.metric, row.metric)}", "dim")),
        Text(grouped(row.simulated or 0.0), style=faint),
        _error(row),
        _place(row),
        Text(f"[{number}]" if number else "", style="dim"),
    )


def _spread(row: Compared) -> Spread | None:
    """Returns the spread of a figure that counts and is a rate; None of others, or where it is not known."""
    if row.metric not in RATES or not row.counted or not row.simulated:
        return None
    return tried_spread(row.case.device, block_of(row), row.case.trial.job if row.case.trial else None)


def _place(row: Compared) -> Text:
    """Returns where the published rate lies: in the interval around the simulated one, out of it, or far out.

    A row that the twin was fitted to tests no interval.
    """
    spread = _spread(row)
    if spread is None or not row.simulated:
        return Text("")
    if row.case.row.role == "calibration":
        return Text("fit", style="dim")
    ratio = row.simulated / row.published
    if spread.holds(ratio):
        return Text("in", style="green")
    return Text("far", style="red") if spread.is_far(ratio) else Text("out", style="yellow")


def _error(row: Compared) -> Text:
    if row.error_pct is None:
        return Text("kept", style="green")
    far = abs(row.error_pct) > UNEXPLAINED_PCT
    style = "bold red" if row.unexplained else "dim" if not row.counted else "yellow" if far else ""
    return Text(signed_pct(row.error_pct), style=style)


def _print_dim(console: Console, text: str) -> None:
    console.print(Padding(Text(plain(text), style="dim"), (0, 0, 0, 2), expand=False))


def _medians_table(found: Sequence[Median]) -> Table:
    names = list(dict.fromkeys(one.device for one in found))
    table = _table("median error", *GATE_PCT, right=tuple(GATE_PCT))
    for name in names:
        by_role = {one.role: one for one in found if one.device == name}
        cells = [
            _median(by_role.get(role), limit, gated=name is not None) for role, limit in GATE_PCT.items()
        ]
        table.add_row(Text(name or "all devices", style="bold"), *cells)
    return table


def _median(one: Median | None, limit_pct: float, *, gated: bool) -> Text:
    if one is None:
        return Text("–", style="dim")
    style = "yellow" if gated and one.median_pct > limit_pct else ""
    return Text.assemble((f"{one.median_pct:.1f} %", style), (f" of {one.n}", "dim"))


def _table(*columns: str, right: Sequence[str] = ()) -> Table:
    table = flush_table()
    for column in columns:
        justify = "right" if column in right else "left"
        table.add_column(column, justify=justify, overflow="fold", no_wrap=column == "error")
    return table
