"""What the page of a running run shows: words for people, and lines of the last minutes, made from live.json."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from fathom.output.text import duration, iops_text, latency_text, mbps_text, percent
from fathom.report import style
from fathom.runs.document import RunDocument
from fathom.runs.live import Basis, Life, LiveRun, LiveSeries, LiveStep, LiveTarget
from fathom.serve.live_line import NO_LINE, Line, line_of, span_s

BASIS_WORDS: dict[Basis, str] = {
    "time": "by the time of the step",
    "volume": "by what is still to write, at this rate",
    "target": "by what the drive says",
    "pace": "by the pace of the simulation so far",
}


@dataclass(frozen=True)
class TargetView:
    """A target in words. Empty texts are not shown."""

    label: str
    state: str
    step: str = ""
    phase: str = ""
    steady: str = ""
    rate: str = ""
    latency: str = ""
    left: str = ""
    basis: str = ""
    share: float = 0.0
    virtual: str = ""
    rate_line: Line = NO_LINE
    latency_line: Line = NO_LINE


@dataclass(frozen=True)
class LiveView:
    """A run in words. `notice` is what a reader must know first: that nothing comes, say."""

    headline: str
    elapsed: str
    span: str
    notice: str
    targets: tuple[TargetView, ...]

    def fields(self) -> dict[str, str]:
        """Returns every text by the name under which the page has it."""
        names = ("headline", "elapsed", "span", "notice")
        found: dict[str, str] = {name: getattr(self, name) for name in names}
        for number, target in enumerate(self.targets):
            for name in ("state", "step", "phase", "steady", "rate", "latency", "left", "basis", "virtual"):
                found[f"{number}.{name}"] = getattr(target, name)
            found[f"{number}.share"] = f"{target.share:.4f}"
            for name, line in (("rate", target.rate_line), ("latency", target.latency_line)):
                found[f"{number}.{name}-path"] = line.path
                found[f"{number}.{name}-highest"] = line.highest
        return found


def view_of(live: LiveRun, life: Life, now: datetime) -> LiveView:
    """Returns what the page shows of a run at a time."""
    now_s = max(0.0, (live.updated - live.started).total_seconds())
    silent_s = (now - live.updated).total_seconds()
    notice = (
        f"Nothing new for {duration(round(silent_s))}: the run hangs, or is held." if life == "silent" else ""
    )
    return LiveView(
        _headline(live.targets),
        duration(round(now_s)),
        duration(round(span_s(now_s))),
        notice,
        tuple(_target(target, now_s) for target in live.targets),
    )


def view_before(document: RunDocument) -> LiveView:
    """Returns what the page shows before the run's first second is over."""
    labels = [style.plain(target.label) for target in document.targets if target.part_of is None]
    title = style.plain(document.method.title)
    return LiveView(
        f"{title} begins",
        "less than a second",
        "",
        "",
        tuple(TargetView(label, "waiting") for label in labels),
    )


def progress_of(live: LiveRun) -> str:
    """Returns how far a run is, for a line of a list: `step 3 of 12, 40 %`, or how many targets are done."""
    if len(live.targets) > 1:
        done = sum(target.state in ("done", "failed") for target in live.targets)
        return f"{done} of {len(live.targets)} targets done"
    step = next((target.step for target in live.targets if target.step), None)
    return f"step {step.number} of {step.total}, {percent(step.share)}" if step else ""


def _headline(targets: Sequence[LiveTarget]) -> str:
    """Returns the page's sentence: what is done now, and how fast."""
    steps = [target.step for target in targets if target.step]
    if not steps:
        ended = all(target.state in ("done", "failed") for target in targets)
        return "All is measured: the report is being written" if ended else "Nothing runs just now"
    if len(targets) == 1:
        rate = _rate(steps[0])
        label = style.plain(steps[0].label)
        return f"{label[:1].upper()}{label[1:]}" + (f": {rate}" if rate else "")
    done = sum(target.state in ("done", "failed") for target in targets)
    return f"{len(steps)} of {len(targets)} targets at work" + (f", {done} done" if done else "")


def _target(target: LiveTarget, now_s: float) -> TargetView:
    label, step = style.plain(target.label), target.step
    if step is None:
        failed = f"failed: {style.plain(target.error or '')}"
        state = failed if target.state == "failed" else target.state
        return TargetView(label, state)
    large = step.large_blocks
    return TargetView(
        label=label,
        state="",
        step=f"Step {step.number} of {step.total}: {style.plain(step.label)}",
        phase=step.phase,
        steady=_steadiness(step),
        rate=_rate(step),
        latency="" if step.mean_latency_us is None else _latency(step.mean_latency_us),
        left=_left(step),
        basis=BASIS_WORDS[step.basis] if step.basis and step.left_s is not None else "",
        share=step.share,
        virtual=f"{duration(round(step.elapsed_s))} of virtual time" if target.kind == "twin" else "",
        rate_line=_rate_line(target.recent, now_s, large=large),
        latency_line=line_of(target.recent, target.recent.mean_latency_us, now_s, _latency),
    )


def _steadiness(step: LiveStep) -> str:
    words = style.with_micro(style.plain(step.state))
    verdict = "" if step.steady is None else "steady" if step.steady else "not steady"
    return ", ".join(part for part in (verdict, words) if part)


def _rate(step: LiveStep) -> str:
    if step.iops is None or step.bytes_per_s is None:
        return ""
    return mbps_text(step.bytes_per_s / 1e6) if step.large_blocks else iops_text(step.iops)


def _latency(mean_us: float) -> str:
    return style.with_micro(latency_text(mean_us))


def _left(step: LiveStep) -> str:
    if step.left_s is None:
        return ""
    return f"{'at most ' if step.left_at_most else ''}{duration(round(step.left_s))}"


def _rate_line(recent: LiveSeries, now_s: float, *, large: bool) -> Line:
    if large:
        return line_of(recent, recent.bytes_per_s, now_s, lambda value: mbps_text(value / 1e6))
    return line_of(recent, recent.iops, now_s, iops_text)
