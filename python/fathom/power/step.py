"""A step's energy by the power meter: rows of telemetry, a line of the journal, and notes on the whole run."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from fathom.columns.schema import Reading
from fathom.method.step_names import Steps, called
from fathom.output.text import duration
from fathom.power.energy import Energy, Sample
from fathom.power.meter import PowerMeter
from fathom.runs.document import NoteRecord
from fathom.runs.event_log import read_events
from fathom.targets.telemetry_names import JOULES, SENSOR_JOULES

RULE = "power-meter"
MOST_LISTED = 3


@dataclass(frozen=True)
class MeteredStep:
    """One step on one target: `found` is its energy or why there is none, `accuracy` the meter's, as stated."""

    target: str
    step: str
    start_s: float
    samples: Sequence[Sample]
    found: Energy | str
    accuracy: float | None

    @classmethod
    def of(cls, meter: PowerMeter, target: str, step: str, start_s: float, end_s: float) -> "MeteredStep":
        """Asks the meter for the time between two moments, in seconds since 1970."""
        found = meter.measure(start_s, end_s)
        return cls(target, step, start_s, meter.samples(start_s, end_s), found, meter.accuracy)

    @property
    def rows(self) -> list[Reading]:
        """Returns the rows of telemetry; none without a figure."""
        if isinstance(self.found, str):
            return []
        return [
            Reading(self.target, self.step, start_s, length_s, JOULES, joules, "J")
            for start_s, length_s, joules in self.found.cells
        ]

    @property
    def event(self) -> dict[str, object]:
        """Returns the fields of its event: the samples as (seconds of the step, W), and the energy."""
        samples = [[round(seconds - self.start_s, 6), watts] for seconds, watts in self.samples]
        if isinstance(self.found, str):
            return {"reason": self.found, "samples": samples}
        return {
            "joules": self.found.joules,
            "half_width_j": self.found.half_width_j,
            "accuracy": self.accuracy,
            "interval_s": self.found.interval_s,
            "samples": samples,
        }


def instead_of_sensor(rows: Sequence[Reading]) -> list[Reading]:
    """Returns rows of telemetry in which the drive's own sensor has another name: the meter gives the energy."""
    return [replace(row, name=SENSOR_JOULES) if row.name == JOULES else row for row in rows]


def power_notes(run: Path, steps: Steps, meter: PowerMeter) -> list[NoteRecord]:
    """Returns notes on the energies by target, from the journal, so that a resumed run has them all.

    `steps` are the method's in normal form by key.
    """
    by_target: dict[str, dict[str, Mapping[str, object]]] = {}
    for event in read_events(run):
        if event["event"] == "power":
            by_target.setdefault(str(event["target"]), {})[str(event["step"])] = event
    return [note for target, own in by_target.items() for note in _notes(target, own, steps, meter)]


def _notes(
    target: str, events: Mapping[str, Mapping[str, object]], steps: Steps, meter: PowerMeter
) -> Iterable[NoteRecord]:
    missing = {step: str(event["reason"]) for step, event in events.items() if "reason" in event}
    known = [event for event in events.values() if "joules" in event]
    if known:
        widths = sorted(
            _number(event, "half_width_j") / max(_number(event, "joules"), 1e-9) for event in known
        )
        intervals_s = sorted(_number(event, "interval_s") for event in known)
        own = (
            f" and its accuracy of {100 * meter.accuracy:.2g} %"
            if meter.accuracy
            else "; its own accuracy is not known (accuracy=1% would add it)"
        )
        yield NoteRecord(
            rule=RULE,
            level="info",
            target=target,
            text=f"joules are of everything that the power meter {meter.text} measures, by the trapezoidal rule. "
            f"A sample came every {_span([duration(value) for value in intervals_s])}. 95 % intervals are "
            f"{_span([f'± {100 * value:.2g} %' for value in widths])} from the spread of the samples{own}",
        )
    if missing:
        listed = "; ".join(
            f"{called(step, steps)}: {reason}" for step, reason in list(missing.items())[:MOST_LISTED]
        )
        more = f"; and {len(missing) - MOST_LISTED} more" if len(missing) > MOST_LISTED else ""
        yield NoteRecord(
            rule=RULE,
            level="warning",
            target=target,
            text=f"no energy for {len(missing)} of {len(events)} steps: {listed}{more}",
            next_step="use longer steps or a meter that samples more often, and check that it ran all the time",
        )


def _number(event: Mapping[str, object], name: str) -> float:
    return cast("float", event[name])


def _span(texts: Sequence[str]) -> str:
    """Returns `first to last` of ascending texts, or the only one."""
    return texts[0] if len(set(texts)) == 1 else f"{texts[0]} to {texts[-1]}"
