"""Rules on differences between a twin and a drive."""

from collections.abc import Iterable, Iterator

from fathom.analysis.run_view import RunView
from fathom.analysis.validity.note import Note
from fathom.catalog.models import Device
from fathom.catalog.sheet import missed_fact
from fathom.output.text import percent
from fathom.prediction.interval import known_device, refuted
from fathom.prediction.words import checked_words, refuted_words
from fathom.runs.document import TargetRecord

WINDOW_SLACK = 0.01


def simulated_slice(view: RunView) -> Iterable[Note]:
    """Yields a note where a twin is a slice of its drive."""
    for target in view.document.targets:
        if target.kind == "twin" and target.scale is not None and target.scale < 1:
            yield Note(
                "simulated-slice",
                "info",
                target.name,
                None,
                f"simulated slice 1/{1 / target.scale:.0f}: flash and mapping of a smaller drive with the same "
                "proportions, at full speed. Rates and WAF do not depend on it; times to fill or settle are "
                "scaled",
                "",
            )


def _twins(view: RunView) -> Iterable[tuple[TargetRecord, Device]]:
    """Yields each twin that the catalogue knows, and each unlike one of an array, with its device."""
    arrays = {target.name for target in view.document.targets if target.has_members}
    for target in view.document.targets:
        own = target.kind == "twin" and (target.part_of is None or target.part_of in arrays)
        if device := known_device(target.catalog) if own else None:
            yield target, device


def data_sheet_alone(view: RunView) -> Iterable[Note]:
    """Yields a note where nothing but a data sheet is known of a twin's drive."""
    for target, device in _twins(view):
        if device.is_of_data_sheet:
            yield Note(
                "data-sheet-alone",
                "warning",
                target.name,
                None,
                f"{target.label} is calibrated on its data sheet alone. {checked_words(device)}",
                "measure one, and add your results as validation rows",
            )


def missed_ratings(view: RunView) -> Iterable[Note]:
    """Yields a note where a twin, or a drive of a system, missed ratings of its own data sheet when it was fitted."""
    for target, device in _twins(view):
        for label, fitted in _fitted(target.label, device):
            if missed := missed_fact(fitted):
                yield Note(
                    "missed-ratings",
                    "warning",
                    target.name,
                    None,
                    f"{label} was fitted to its data sheet and misses it: {missed}",
                    "check the rating; if it is right, do not trust the twin with such I/O",
                )


def _fitted(label: str, device: Device) -> Iterator[tuple[str, Device]]:
    """Yields a twin's device and, of a system, each kind of drive in it, with what a note calls it."""
    yield label, device
    for name in device.twin.members if device.twin else ():
        if drive := known_device(name):
            yield f"a drive of {label}, {name},", drive


def refuted_range(view: RunView) -> Iterable[Note]:
    """Yields a note where published rates of a twin's device show that its range does not hold."""
    for target in view.document.targets:
        own = target.kind == "twin" and target.part_of is None
        device = known_device(target.catalog) if own else None
        if device and (record := refuted(device)):
            yield Note(
                "refuted-range",
                "warning",
                target.name,
                None,
                f"no range is given: {refuted_words(record)}; measurements may lie further off",
                f"`fathom validate {device.name}` lists the differences",
            )


def early(view: RunView) -> Iterable[Note]:
    """Yields a note where twins ended windows early."""
    twins = {target.name for target in view.document.targets if target.kind == "twin"}
    rows = view.points.select(["target", "step", "window_s"]).to_pylist()
    # The drives of an array have their total's window.
    own = twins - view.totals.keys()
    windows = {(row["target"], row["step"]): row["window_s"] for row in rows if row["target"] in own}
    early = [step for (_, step), window_s in windows.items() if _ended_early(view, step, window_s)]
    if early:
        precision = max(view.precisions[step] for step in early)
        yield Note(
            "early-window",
            "info",
            None,
            None,
            f"twins ended {len(early)} of {len(windows)} windows early, once mean rate and latency were known to "
            f"{percent(precision)}. Each figure has its window length",
            "remove `precision` from the method to simulate every window in full",
        )


def _ended_early(view: RunView, step: str, window_s: float | None) -> bool:
    full_s = view.jobs[step].time_s if step in view.precisions else None
    return window_s is not None and full_s is not None and window_s < (1 - WINDOW_SLACK) * full_s
