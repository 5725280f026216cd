"""A method as one job file of fio 3.33: a section for each step, in order; streams are sections that run at once.

The steps are those that `fathom plan` shows. Some decisions depend on figures of the run: when rounds end, and the
rates of a curve's points. Comments describe these to the reader.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from fathom._core import Job
from fathom.errors import UsageError
from fathom.exports.fio_job import options_of
from fathom.exports.fio_workload import MOST_JOBS, RateFromSection
from fathom.exports.units import NoCounterpartError, Place, time_text
from fathom.method.curve import open_job
from fathom.method.job import document_of
from fathom.method.method import Method, Step
from fathom.method.offered import offered_job
from fathom.output.text import percent

#: Steps that a note names before it counts the others.
_NAMED = 3


@dataclass
class _Section:
    """A job section. With `waits` it starts after those before it. With `blank` the reader must fill in its rate, so it
    is written as a comment.
    """

    name: str
    options: Sequence[str]
    comments: list[str] = field(default_factory=list)
    numjobs: int = 1
    waits: bool = True
    blank: bool = False

    def lines(self) -> Iterator[str]:
        yield ""
        yield from (f"# {one}" for one in self.comments)
        mark = "#" if self.blank else ""
        begins = "stonewall" if self.waits else "new_group"
        yield from (mark + line for line in (f"[{self.name}]", begins, *self.options))


class FioFile:
    """The job file of a method, and what differs or is left out, by step."""

    def __init__(self, method: Method, place: Place) -> None:
        """Converts all steps. Raises UsageError where none has a counterpart."""
        self._place = place
        self._steps = {step.name: step for step in method.steps}
        self._differences: dict[str, list[str]] = {}
        self._sections: list[_Section] = []
        self._jobs = 0
        self._writes = False
        self._left_out: set[str] = set()
        self._before: list[str] = []
        for step in method.steps:
            self._add(step)
        if not self._sections:
            raise UsageError(
                f"{method.name}: none of its steps has a counterpart in fio", "; ".join(self.notes) or None
            )
        if self._jobs > MOST_JOBS:
            raise UsageError(
                f"{method.name}: {self._jobs} jobs; fio runs at most {MOST_JOBS} from a file",
                "divide its steps over several method files",
            )

    @property
    def writes(self) -> bool:
        """Whether any of it changes data."""
        return self._writes

    @property
    def blanks(self) -> bool:
        """Whether rates are to be filled in."""
        return any(section.blank for section in self._sections)

    @property
    def notes(self) -> list[str]:
        """What is different, each with its steps."""
        return [f"{_names(steps)}: {what}" for what, steps in self._differences.items()]

    def lines(self) -> list[str]:
        """Returns all sections."""
        return [line for section in self._sections for line in section.lines()]

    def _note(self, step: str, what: str) -> None:
        steps = self._differences.setdefault(what, [])
        if step not in steps:
            steps.append(step)

    def _leave_out(self, step: Step, why: str) -> None:
        self._left_out.add(step.name)
        self._note(step.name, f"left out: {why}")

    def _add(self, step: Step) -> None:
        if (place := step.round) and place.judged and place.number > 1:
            return
        self._before += self._comments(step)
        if step.place and step.place.share is None:
            self._leave_out(step, "a search depends on the figures of earlier points")
            return
        if step.only_files:
            self._leave_out(step, "fio lays out files before it reads them, and a device keeps its data")
            return
        if step.kind == "purge" and self._place.is_file:
            self._leave_out(step, "a file cannot be purged")
            return
        differences: list[str] = []
        try:
            made = [_idle(step)] if step.kind == "idle" else list(self._of(step, differences))
        except NoCounterpartError as error:
            self._leave_out(step, str(error))
            return
        for what in differences:
            self._note(step.name, what)
        if step.steady:
            self._note(
                step.name,
                "no early end: fio cannot run rounds until both range and slope are small; its steadystate "
                "judges one of the two, over single seconds",
            )
        if step.precision and step.kind in ("measure", "point", "precondition"):
            self._note(step.name, "no early end, as on every real target: only twins end windows early")
        if step.continues:
            self._note(
                step.name,
                "ordered I/O begins at the start of its region, not where the step before ended",
            )
        made[0].comments[:0] = self._before
        self._before = []
        self._jobs += sum(section.numjobs for section in made if not section.blank)
        self._sections += made
        self._writes |= step.job.destructive

    def _of(self, step: Step, differences: list[str]) -> Iterator[_Section]:
        """Yields the sections of a step; what differs goes to `differences`. Raises NoCounterpartError."""
        job, offered_to, other = self._job(step)
        if job.stream_targets:
            raise NoCounterpartError("streams that run on some of the targets only")
        if job.has_exitall:
            # fio's exitall counts for all jobs of a file, so each stream would end the others.
            raise NoCounterpartError("streams that all end with one of them")
        if document_of(job).get("exitall"):
            # In fio's file it would end the steps behind it too.
            differences.append("each thread does its part to the end (no exitall)")
        flow_id = len(self._sections) + 1
        for number, (name, own) in enumerate((job.streams or {"": job}).items()):
            made = options_of(
                own, job, self._place, differences.append, other if name == offered_to else None
            )
            label = f"{step.label}: {name}" if name else step.label
            yield _Section(
                _section(step.name, name),
                [
                    *(f"description={_line(label)}", *made.options, *_steady_state(step)),
                    *_flow(job.stream_flows.get(name), flow_id),
                ],
                [made.remark] if made.remark else [],
                numjobs=made.numjobs,
                waits=number == 0,
                blank=other is not None,
            )

    def _job(self, step: Step) -> tuple[Job, str, RateFromSection | None]:
        """Returns the job, the stream whose rate depends on another section, and how. Raises NoCounterpartError."""
        job, stream, other = step.job, "", None
        if step.place and (first := self._steps[step.place.curve]).curve:
            job = open_job(job, first.curve, 1.0)
            other = RateFromSection(_section(first.name), step.place.share or 0.0)
        elif step.offered:
            job = offered_job(job, step.offered, 1.0)
            stream = step.offered.stream or ""
            other = RateFromSection(_section(step.offered.of), step.offered.share)
        if other and other.section in map(_section, self._left_out):
            raise NoCounterpartError(
                f"its rate is a share of what {other.section} reaches, which is left out"
            )
        return job, stream, other

    def _comments(self, step: Step) -> list[str]:
        """Returns comments on what the reader must do, before the first step of rounds."""
        place = step.round
        if not place or not place.judged or next(iter(self._of_round(place.of))) != step.name:
            return []
        metric = {"iops": "IOPS", "mbps": "MB/s", "latency": "mean latency"}[place.metric]
        what = (
            f"round 1 of at most {place.most}. Repeat these sections until the {metric} of "
            f"{', '.join(place.track)} settles: over {place.window} rounds it differs by at most "
            f"{percent(place.range_fraction)} of its mean, and its slope is at most "
            f"{percent(place.slope_fraction)}"
        )
        self._note(place.of, what)
        return [f"{place.of}: {what}"]

    def _of_round(self, of: str) -> Iterator[str]:
        for step in self._steps.values():
            if step.round and step.round.of == of:
                yield step.name


def _steady_state(step: Step) -> list[str]:
    """Returns the options that end a section once it holds still, all its jobs together. Raises NoCounterpartError."""
    if not (rule := step.until_steady):
        return []
    if rule.metric == "latency" or rule.every_s > 1:
        raise NoCounterpartError("an early end by latency, or by other than single seconds, in fio 3.33")
    if len(step.job.streams) > 1:
        raise NoCounterpartError("streams that end together when they hold still")
    metric = "iops" if rule.metric == "iops" else "bw"
    kind = f"{metric}_slope" if rule.by == "slope" else metric
    return [
        "group_reporting",
        f"steadystate={kind}:{100 * rule.limit_fraction:.6g}%",
        f"steadystate_duration={rule.over_s}s",
        *([f"steadystate_ramp_time={time_text(round(rule.after_s * 1e9))}"] if rule.after_s else []),
    ]


def _flow(flow: tuple[int, int] | None, flow_id: int) -> list[str]:
    """Returns the options that keep a section in step with the others of that number, which no other step has."""
    if flow is None:
        return []
    weight, pause_ns = flow
    pause = [f"flow_sleep={pause_ns // 1000}"] if pause_ns else []
    return [f"flow={weight}", f"flow_id={flow_id}", *pause]


def _section(step: str, stream: str = "") -> str:
    """Returns the name of a section; [global] is fio's own."""
    name = f"{step}.{stream}" if stream else step
    return "global-step" if name == "global" else name


def _idle(step: Step) -> _Section:
    """Returns a section without I/O for that time: fio has no pause, but an engine that does nothing."""
    time_ns = round((step.job.time_s or 0.0) * 1e9)
    pause = [
        "ioengine=null",
        "rw=read",
        "size=4k",
        "thinktime=100ms",
        f"runtime={time_text(time_ns)}",
        "time_based",
    ]
    return _Section(_section(step.name), [f"description={_line(step.label)}", *pause])


def _line(text: str) -> str:
    return " ".join(text.split())


def _names(steps: Sequence[str]) -> str:
    named = ", ".join(steps[:_NAMED])
    return named if len(steps) <= _NAMED else f"{named} and {len(steps) - _NAMED} more"
