"""A run as rules and findings read it: its document and tables, and the figures of each measured step.

It reads no files: `RunView.of(run)` takes what `fathom.runs.Run` has read. `fathom.columns.schema` has the columns.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import Protocol, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fathom._core import LARGE_BLOCK_BYTES, Job
from fathom.analysis.interval_sums import COLUMNS, IntervalSums, Key, StepFailures
from fathom.analysis.reading_sums import MaybeKey, ReadingSums
from fathom.columns.schema import Point
from fathom.method.curve import SUSTAINED_LEAST, is_point
from fathom.method.job import job_of
from fathom.method.offered import Offered, OfferedJson, parse_offered
from fathom.method.step_names import called
from fathom.runs.document import RunDocument, TargetRecord
from fathom.runs.remarks import Fact, fact_of
from fathom.statistics.failed import failed_share, is_withheld
from fathom.statistics.means import mean_by_count
from fathom.targets.not_measured import NotMeasured
from fathom.targets.target import REAL_KINDS

BRIEF_S = 0.99
"""Shorter windows support no claim: a second is the shortest that is recorded by itself, with a little slack."""
FEW_IOS = 1000
"""Fewer I/Os than that leave a rate open by 6 % or more where they come by chance."""
LITTLE_GAP = 0.05
"""Share by which IOPS x mean latency may differ from the I/Os in flight, whatever the window."""


class HasTables(Protocol):
    """The tables a view is made from; `fathom.runs.Run` has them."""

    @property
    def document(self) -> RunDocument: ...  # noqa: D102
    @property
    def points(self) -> pa.Table: ...  # noqa: D102
    def parts(self, name: str, columns: Sequence[str] | None = None) -> Iterator[pa.Table]: ...  # noqa: D102


@dataclass(frozen=True)
class Remark:
    """A backend's remark on a step."""

    target: str
    step: str
    fact: Fact


def remarks_of(events: Iterable[Mapping[str, object]]) -> list[Remark]:
    """Returns the remarks in a run's events, each once: those of a step's last attempt."""
    found: list[Remark] = []
    for event in events:
        target, step = str(event.get("target")), str(event.get("step"))
        if event["event"] == "step-start":
            found = [one for one in found if (one.target, one.step) != (target, step)]
        elif event["event"] == "remark" and (remark := Remark(target, step, fact_of(event))) not in found:
            found.append(remark)
    return found


@dataclass(frozen=True)
class StepFigures:
    """One measured step on one target, all operations together."""

    target: str
    step: str
    label: str
    published: str | None
    rows: Sequence[Point]

    @property
    def iops(self) -> float:
        """I/O per second."""
        return sum(row.iops or 0.0 for row in self.rows)

    @property
    def mbps(self) -> float:
        """10^6 bytes per second."""
        return sum(row.mbps or 0.0 for row in self.rows)

    @property
    def mean_us(self) -> float | None:
        """Mean service latency over all operations."""
        return mean_by_count((row.n, row.mean_us) for row in self.rows)

    @property
    def asked_depth(self) -> int | None:
        """threads x iodepth of a closed loop; `None` under open load."""
        row = self.rows[0]
        if row.offered_iops is not None or not row.threads or not row.iodepth:
            return None
        return row.threads * row.iodepth

    @property
    def kept_up(self) -> bool:
        """Whether an open load was served at the rate offered."""
        offered_iops = self.rows[0].offered_iops
        return offered_iops is not None and self.iops >= SUSTAINED_LEAST * offered_iops

    @property
    def at_offered_rate(self) -> bool:
        """Whether the rate is the one that was offered, by what limits the step; that of a replay too."""
        limit = self.rows[0].limit
        return limit is not None and limit.is_offered_rate

    @property
    def outstanding(self) -> float | None:
        """Mean I/O in flight as counted by the backend."""
        return self.rows[0].outstanding

    @property
    def in_flight(self) -> "InFlight | None":
        """What IOPS x mean latency gives beside the I/Os in flight; None where one of them is not known.

        Where they were not counted, as in a run of another program, those asked for are the most there were.
        """
        kept, window_s = self.outstanding or self.asked_depth, self.rows[0].window_s
        return InFlight.of(self.iops, self.mean_us, kept, window_s, is_most=not self.outstanding)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the headline as its points know it; operations of one mix vary together."""
        lows, highs = ([getattr(row, name) for row in self.rows] for name in ("iops_low", "iops_high"))
        known = [low for low in lows if low is not None], [high for high in highs if high is not None]
        if not self.iops or any(len(bounds) < len(self.rows) for bounds in known):
            return None
        scale = self.headline / self.iops
        return scale * sum(known[0]), scale * sum(known[1])

    @property
    def in_bandwidth(self) -> bool:
        """Whether the headline is MB/s."""
        return all((row.block_bytes or 0) >= LARGE_BLOCK_BYTES for row in self.rows)

    @property
    def unit(self) -> str:
        """Unit of the headline."""
        return "MB/s" if self.in_bandwidth else "IOPS"

    @property
    def headline(self) -> float:
        """MB/s or IOPS."""
        return self.mbps if self.in_bandwidth else self.iops


@dataclass(frozen=True)
class InFlight:
    """I/Os in flight by Little's law and as they were kept (Little, 1961).

    `allowed`: the share by which they may differ. I/Os under way at the ends of a window are in flight, but count with
    no latency, or with more than they spent in it. That may come to one mean latency of the window.
    """

    implied: float
    kept: float
    allowed: float
    is_most: bool = False
    """Whether there were at most as many as `kept`."""

    @classmethod
    def of(
        cls,
        iops: float,
        mean_us: float | None,
        kept: float | None,
        window_s: float | None,
        *,
        is_most: bool = False,
    ) -> "InFlight | None":
        """Returns both counts of a window; None where one of them is not known."""
        if not kept or mean_us is None or iops <= 0:
            return None
        mean_s = mean_us / 1e6
        return cls(iops * mean_s, kept, LITTLE_GAP + mean_s / (window_s or inf), is_most)

    @property
    def gap(self) -> float:
        """How far the first is from the second, as a share."""
        return self.implied / self.kept - 1

    @property
    def contradicts(self) -> bool:
        """Whether rate and latency cannot be of the same I/O."""
        return (self.gap if self.is_most else abs(self.gap)) > self.allowed

    @property
    def kept_words(self) -> str:
        """What stands behind the I/Os that were kept in a sentence: that they were, or were the most."""
        return "were asked for" if self.is_most else "were"


PAGE_CACHE = "page-cache"
"""Rule of the note on buffered I/O whose bytes did not all reach the device."""
OFF_DEVICE = "not-on-device"
"""Rule of the note on direct I/O whose bytes did not all reach the device."""
IO_LIMIT = "io-limit"
"""Rule of the note on a rate that a control group may have limited."""
NOT_ITS_OWN = (PAGE_CACHE, OFF_DEVICE, IO_LIMIT)
"""Rules of notes on steps whose figures are not those of the target alone."""


def absent_hosts(document: RunDocument, intervals: IntervalSums) -> dict[Key, list[str]]:
    """Returns the rows of hosts without a second of a step: they were lost before it.

    Hosts of an imported run need not have had a part in every step.
    """
    loaded = {(target, step) for target, step, _ in intervals.counts}
    hosts = {one.name: [host.name for host in document.hosts_of(one)] for one in document.targets}
    found = {
        (total, step): [host for host in hosts.get(total, []) if (host, step) not in loaded]
        for total, step in loaded
    }
    return {} if document.origin else {key: absent for key, absent in found.items() if absent}


@dataclass(frozen=True)
class Origin:
    """What a target's own run says of it: its steps, the drives behind it, and how often its hosts have these.

    `is_quick`: whether that run was shortened.
    """

    steps: Mapping[str, Mapping[str, object]]
    jobs: Mapping[str, Job]
    drives: Sequence[TargetRecord] = ()
    copies: float = 1.0
    is_quick: bool = False

    def taken_share(self, target: TargetRecord) -> float:
        """Returns the share of the target, or of the drive behind it with the least, that can hold data."""
        return min(one.taken_share for one in (target, *self.drives))


@dataclass(frozen=True)
class RunView:
    """One run, ready to be judged."""

    document: RunDocument
    points: pa.Table
    intervals: IntervalSums
    telemetry: ReadingSums
    remarks: Sequence[Remark] = ()
    verdicts: Mapping[Key, str] = field(default_factory=dict)
    """Maps (target, workload) to the last verdict on its precondition, in words."""
    further: Sequence[IntervalSums] = ()
    """Intervals of the other repeats, where `points` are pooled over several."""
    not_measured: Mapping[str, Sequence[NotMeasured]] = field(default_factory=dict)
    """Maps each target to what could not be sampled."""
    origins: Mapping[str, Origin] = field(default_factory=dict)
    """By target, where `document` is not that of its run."""
    not_its_own: Mapping[Key, str] = field(default_factory=dict)
    """The rule of the note on each (target, step) whose figures are not those of the target alone."""
    absent: Mapping[Key, Sequence[str]] = field(default_factory=dict)
    """The rows of hosts that were lost before a step, by (target, step) of their total."""

    @classmethod
    def of(
        cls,
        run: HasTables,
        remarks: Sequence[Remark] = (),
        verdicts: Mapping[Key, str] | None = None,
        not_measured: Mapping[str, Sequence[NotMeasured]] | None = None,
    ) -> "RunView":
        """Returns the view of a run, with remarks of backends, verdicts on preconditions, and gaps in sampling."""
        intervals = IntervalSums.of(run.parts("intervals", COLUMNS))
        return cls(
            run.document,
            run.points,
            intervals,
            ReadingSums.of(run.parts("telemetry")),
            remarks=remarks,
            verdicts=verdicts or {},
            not_measured=not_measured or {},
            not_its_own={
                (one.target, one.step): one.rule
                for one in run.document.notes
                if one.rule in NOT_ITS_OWN and one.target is not None and one.step is not None
            },
            absent=absent_hosts(run.document, intervals),
        )

    @property
    def real_targets(self) -> list[TargetRecord]:
        """Targets with hardware behind them, of an array its members."""
        return [
            one
            for one in self.document.targets
            if one.kind in REAL_KINDS and (one.part_of is None or one.name in self.members)
        ]

    @cached_property
    def members(self) -> set[str]:
        """Names of the targets that are loaded at once as members of an array."""
        arrays = {one.name: one for one in self.document.targets if one.has_members}
        parts = [(one, arrays.get(one.part_of or "")) for one in self.document.targets]
        return {part.name for part, array in parts if array and part.is_drive_of(array)}

    @cached_property
    def totals(self) -> dict[str, str]:
        """Maps each part to its total."""
        return {one.name: one.part_of for one in self.document.targets if one.part_of is not None}

    def origin_of(self, target: TargetRecord) -> Origin:
        """Returns what the run of a target says of it."""
        document = self.document
        return self.origins.get(target.name) or Origin(
            self.named,
            self.jobs,
            document.drives_of(target),
            document.copies_of(target),
            document.quick is not None,
        )

    def step_of(self, target: str, step: str) -> Mapping[str, object]:
        """Returns a target's step in normal form; empty where its run does not keep it.

        Methods of several runs may have steps of one name that differ.
        """
        origin = self.origins.get(target)
        return (origin.steps if origin else self.named).get(step, {})

    def job_of(self, target: str, step: str) -> Job | None:
        """Returns the job of a target's step; None where its run does not keep it."""
        origin = self.origins.get(target)
        return (origin.jobs if origin else self.jobs).get(step)

    def is_quick(self, target: str) -> bool:
        """Returns whether the target's run was shortened."""
        origin = self.origins.get(target)
        return origin.is_quick if origin else self.document.quick is not None

    def is_twin(self, target: str) -> bool:
        """Returns whether the target is a twin."""
        return any(one.name == target and one.kind == "twin" for one in self.document.targets)

    def label(self, target: str) -> str:
        """Returns a target's name for people."""
        return next((one.label or one.name for one in self.document.targets if one.name == target), target)

    @cached_property
    def jobs(self) -> dict[str, Job]:
        """The job of each step by name."""
        return {cast("str", step["name"]): job_of(step, "run.json") for step in self._steps if "job" in step}

    @cached_property
    def offers(self) -> dict[str, Offered]:
        """Maps each offered-load step to its `Offered`."""
        return {
            cast("str", step["name"]): parse_offered(cast("OfferedJson", offered))
            for step in self._steps
            if (offered := step.get("offered"))
        }

    def called(self, step: str, *, any_round: bool = False) -> str:
        """Returns a step's name in tables (`fathom.method.step_names`)."""
        return called(step, self.named, any_round=any_round)

    @cached_property
    def named(self) -> dict[str, dict[str, object]]:
        """The method's steps in normal form by key."""
        return {cast("str", step["name"]): step for step in self._steps}

    def workloads(self, step: str) -> list[Job]:
        """Returns the workloads that a step issues at once: the streams of its job, or the job alone."""
        job = self.jobs.get(step)
        return [*job.streams.values()] or [job] if job else []

    @cached_property
    def precisions(self) -> dict[str, float]:
        """Maps steps whose window a twin ends early to the precision for it, as a fraction."""
        return {
            cast("str", step["name"]): precision
            for step in self._steps
            if isinstance(precision := step.get("precision"), float)
        }

    @cached_property
    def percentiles(self) -> dict[str, float]:
        """Maps steps that ask for a percentile to the highest, 0..1."""
        return {
            cast("str", step["name"]): percentile
            for step in self._steps
            if isinstance(percentile := step.get("percentile"), float)
        }

    @cached_property
    def steps(self) -> dict[Key, StepFigures]:
        """Measured steps in the order of points: for curves only the maxima, and without rounds and parts."""
        return {key: figures for key, figures in self._all_steps.items() if key[0] not in self.totals}

    @cached_property
    def brief(self) -> dict[Key, float]:
        """Maps measured steps to their window in s where it is too short to say something of the target.

        A twin has no start-up, so only few I/Os make its window too short. Where the method does not ask for a time
        below `BRIEF_S`, its volume or its precision decides.
        """
        found: dict[Key, float] = {}
        jobs = {one.name: self.origin_of(one).jobs for one in self.document.targets}
        for key, figures in self.steps.items():
            window_s = figures.rows[0].window_s
            if window_s is None or window_s >= BRIEF_S:
                continue
            if self.is_twin(key[0]):
                job = jobs.get(key[0], self.jobs).get(key[1])
                ios = sum(row.n or 0 for row in figures.rows)
                if ios >= FEW_IOS or job is None or job.time_s is None or job.time_s >= BRIEF_S:
                    continue
            found[key] = window_s
        return found

    @cached_property
    def part_steps(self) -> dict[Key, StepFigures]:
        """The figures by target, step and operation, for parts."""
        return {key: figures for key, figures in self._all_steps.items() if key[0] in self.totals}

    def measured_on(self, target: str) -> list[str]:
        """Returns the measured steps of a target, those of its array for a member."""
        both = (target, self.totals.get(target))
        return [step for name, step in self.steps if name in both]

    @cached_property
    def loaded(self) -> set[Key]:
        """(target, step) pairs with I/O in flight at some time, even if none completed."""
        found = self.telemetry.sums.get("outstanding", {})
        return {(target, step) for target, step in found if target is not None}

    @cached_property
    def _all_steps(self) -> dict[Key, StepFigures]:
        """All measured steps, except those without figures because too much I/O failed."""
        rows: dict[Key, list[Point]] = {}
        for row in map(Point.of, self.points.to_pylist()):
            if not is_point(row.step) and not self.step_of(row.target, row.step).get("round"):
                rows.setdefault((row.target, row.step), []).append(row)
        return {
            key: StepFigures(
                target=key[0],
                step=key[1],
                label=cast("str", self.step_of(*key).get("label")) or members[0].workload,
                published=cast("str | None", self.step_of(*key).get("published")),
                rows=members,
            )
            for key, members in rows.items()
            if not any(is_withheld(failed_share(row.n, row.errors)) for row in members)
        }

    def rates(self, figures: StepFigures) -> NDArray[np.float64]:
        """Returns the headline per whole second of a measured step, all operations together.

        Seconds shorter than the first (the last of a step) are left out: a mean of seconds needs equal seconds.
        """
        return self.repeats(figures)[0]

    def repeats(self, figures: StepFigures) -> list[NDArray[np.float64]]:
        """Returns the view of each repeat."""
        key = (figures.target, figures.step)
        repeats = [one.rates[key] for one in (self.intervals, *self.further) if key in one.rates]
        found = [rates.mbps if figures.in_bandwidth else rates.iops for rates in repeats]
        return found or [np.zeros(0)]

    def moved_bytes(self) -> dict[Key, int]:
        """Returns bytes that each step moved, every kind of step; what is trimmed or zeroed moves none."""
        return self.intervals.moved_bytes()

    def written_bytes(self) -> dict[Key, int]:
        """Returns bytes that each step wrote, every kind of step."""
        return self.intervals.written_bytes()

    def failed(self) -> dict[Key, StepFailures]:
        """Returns the failed I/O of each step of any kind that has any."""
        return self.intervals.failed()

    def total(self, name: str) -> dict[MaybeKey, float]:
        """Returns the sum of a telemetry value per (target, step); the target is `None` for the whole machine."""
        return self.telemetry.total(name)

    def seconds(self, name: str) -> dict[MaybeKey, float]:
        """Returns seconds over which a telemetry value was recorded, per (target, step)."""
        return self.telemetry.seconds(name)

    def means(self, name: str) -> dict[MaybeKey, float]:
        """Returns the mean of a telemetry value per (target, step), weighted by time."""
        return self.telemetry.means(name)

    def mean(self, name: str) -> float | None:
        """Returns the mean of a telemetry value over the run, weighted by time; `None` when it was not recorded."""
        return self.telemetry.mean(name)

    def means_of(self, key: MaybeKey) -> dict[str, float]:
        """Returns the means of what is sampled as a share of time or speed (unit %), weighted by time, by name."""
        return self.telemetry.means_of(key)

    @property
    def _steps(self) -> list[dict[str, object]]:
        steps = self.document.method.parsed.get("steps")
        return cast("list[dict[str, object]]", steps) if isinstance(steps, list) else []
