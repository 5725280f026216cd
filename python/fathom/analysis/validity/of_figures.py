"""Rules on the figures themselves: failed I/O, steadiness, level, depth, Little's law, and what n supports."""

from collections import Counter
from collections.abc import Iterable
from math import isclose

import numpy as np

from fathom.analysis.run_view import Key, RunView, StepFigures
from fathom.analysis.validity.note import Note
from fathom.method.curve import SUSTAINED_LEAST
from fathom.output.text import agreeing, duration, in_others, many_of, percent, percent_digits
from fathom.runs.remarks import WRONG_DATA_ERRNO, FailedIo, LostIo, ShortWindow, Stopped, in_words
from fathom.statistics.failed import WITHHELD_SHARE, is_marked, is_withheld
from fathom.statistics.latency_columns import QUANTILES, percentile_name
from fathom.statistics.levels import change_points
from fathom.statistics.uncertainty import LEAST_SAMPLES, count_for, percentile_allowed

DEPTH_LEAST = 0.95
USUAL = QUANTILES["p9999_us"]
"""The highest percentile that every table has."""
WRONG_DATA = "wrong-data"
"""Rule of blocks that do not hold what was written."""
MAKES_OR_REMOVES = {"create", "delete", "mkdir", "rmdir"}
MIX_GAP = 0.02
"""A share of a mix may be this far from the one asked for: thousands of draws are nearer."""
LEVEL_LEAST = 0.10
"""Levels of a rate that differ by less count as one."""


def errors(view: RunView) -> Iterable[Note]:
    """Yields a note where I/O failed, and how; reads that brought other data than were written have a note of
    their own.
    """
    wrong: Counter[Key] = Counter()
    said: dict[Key, list[FailedIo]] = {}
    for remark in view.remarks:
        if isinstance(fact := remark.fact, FailedIo):
            key = remark.target, remark.step
            said.setdefault(key, []).append(fact)
            wrong[key] += fact.n if fact.errno == WRONG_DATA_ERRNO else 0
    for (target, step), count in wrong.items():
        if not count:
            continue
        many = "1 block read did not hold what" if count == 1 else f"{count:,} blocks read did not hold what"
        text = f"{many} was written; rates and latencies leave such reads out"
        next_step = 'store no data on it; notes that begin with "verify" name the blocks and the fault'
        yield Note(WRONG_DATA, "error", target, step, text, next_step)
    for (target, step), failed in view.failed().items():
        count = failed.ios - wrong[target, step]
        if count <= 0:
            continue
        many = "1 I/O failed" if count == 1 else f"{count:,} I/Os failed"
        among = ", among them" if failed.of_several else ","
        many += " besides, in all" if wrong[target, step] else among
        mixed = len(view.intervals.ops_of((target, step))) > 1
        ways = [in_words(fact) for fact in said.get((target, step), ()) if fact.errno != WRONG_DATA_ERRNO]
        part = _failed_text(failed.share, many_of(failed.op) if mixed else "I/O")
        text = ". ".join([f"{many} {part}; rates and latencies leave failed I/O out", *ways])
        yield Note(
            "errors", "error", target, step, text, "look at the kernel log and the drive's SMART data first"
        )


def _failed_text(share: float, what: str) -> str:
    """Returns in words the share of a step's I/O, or of one operation's, that failed, and the consequence for its
    figures.
    """
    part = f"{percent_digits(share, 2)} of the step's {what}"
    if is_withheld(share):
        return f"{part}: above {percent(WITHHELD_SHARE)}, no figures are shown"
    return f"{part}: it affects the figures" if is_marked(share) else part


def hung(view: RunView) -> Iterable[Note]:
    """Yields a note where I/O never returned, or had not when the window ended; and windows that ended early."""
    for remark in view.remarks:
        if isinstance(remark.fact, LostIo):
            next_step = "look at the kernel log: the target, or the path to it, has stopped answering"
            yield Note("lost-io", "error", remark.target, remark.step, in_words(remark.fact), next_step)
        elif isinstance(remark.fact, ShortWindow):
            next_step = "find what held the load back, then repeat the step with `fathom resume`"
            yield Note("short-window", "error", remark.target, remark.step, in_words(remark.fact), next_step)
    for (target, step), figures in view.steps.items():
        late = [row for row in figures.rows if row.censored]
        if late:
            count = sum(row.censored or 0 for row in late)
            age_s = max(row.max_us or 0.0 for row in late) / 1e6
            yield Note(
                "in-flight",
                "warning",
                target,
                step,
                f"{count:,} {'I/O was' if count == 1 else 'I/Os were'} still in flight at the end of the window, "
                f"longer than any that returned. The oldest had waited {duration(age_s)}. They count with their "
                "age; figures marked ≥ are lower bounds",
                "measure longer, and look in the kernel log for what did not answer",
            )


def stopped(view: RunView) -> Iterable[Note]:
    """Yields a note where a measured step was stopped before its end."""
    for remark in view.remarks:
        if isinstance(remark.fact, Stopped):
            text = f"{in_words(remark.fact)}: nothing is claimed of it"
            do = f"`fathom resume {view.document.id}` measures it again"
            yield Note("stopped", "warning", remark.target, remark.step, text, do)


def brief(view: RunView) -> Iterable[Note]:
    """Yields a note where windows are shorter than a second: one per target, for the shortest."""
    by_target: dict[str, dict[str, float]] = {}
    for (target, step), window_s in view.brief.items():
        by_target.setdefault(target, {})[step] = window_s
    for target, windows in by_target.items():
        least = min(windows, key=lambda step: windows[step])
        others = len(windows) - 1
        more = f"; so is that of {agreeing(f'{others} more', 'step', 'steps')}" if others else ""
        yield Note(
            "brief-window",
            "warning",
            target,
            least,
            f"the window of {duration(windows[least])} is shorter than a second{more}: such a rate is that of "
            "a moment, and nothing shows whether it lasts",
            f"measure for {LEAST_SAMPLES} s or more, from where a rate has an interval",
        )


def not_steady(view: RunView) -> Iterable[Note]:
    """Yields a note where a workload was measured before it was steady."""
    for (target, step), figures in view.steps.items():
        if any(row.steady is False for row in figures.rows):
            verdict = view.verdicts.get((target, figures.rows[0].workload))
            yield Note(
                "not-steady",
                "warning",
                target,
                step,
                (verdict or "steady state was not reached before this was measured")
                + ": measured longer, it may come out lower",
                "give the precondition more time",
            )


def level_change(view: RunView) -> Iterable[Note]:
    """Yields a note where a closed load runs at several rates, so that its mean is none of them: one per target."""
    by_target: dict[str, list[tuple[float, str, str]]] = {}
    for (target, step), figures in view.steps.items():
        rates = view.rates(figures)
        changes = [] if figures.rows[0].offered_iops else change_points(rates)
        if not changes:
            continue
        levels = [float(part.mean()) for part in np.split(rates, changes)]
        least, most = min(levels), max(levels)
        if most < (1 + LEVEL_LEAST) * least:
            continue
        if len(changes) == 1:
            when = f"after {percent(changes[0] / len(rates))} of the window, from {levels[0]:,.0f} to {levels[1]:,.0f}"
        else:
            when = f"{len(changes)} times in the window, between {least:,.0f} and {most:,.0f}"
        by_target.setdefault(target, []).append((most / max(least, 1.0), step, f"{when} {figures.unit}"))
    for target, found in by_target.items():
        _, step, when = max(found)
        others = in_others("the same", len(found) - 1, "step")
        yield Note(
            "level-change",
            "info",
            target,
            step,
            f"the rate changes level {when}: the mean describes neither level{others}",
            "see the section Over time; full caches, heat and parts of the load that end early do this",
        )


def depth(view: RunView) -> Iterable[Note]:
    """Yields a note where less was in flight than asked. A job that thinks between its requests asks for no depth."""
    for (target, step), figures in view.steps.items():
        asked, kept = _asked_depth(view, figures), figures.outstanding
        thinks = any(job.thinks for job in view.workloads(step))
        if asked and not thinks and kept is not None and kept < DEPTH_LEAST * asked:
            yield Note(
                "achieved-depth",
                "warning",
                target,
                step,
                f"{kept:.1f} of the {asked} I/Os asked for were in flight on average ({percent(kept / asked)}): "
                "the load was lighter than asked",
                "find what delays submission, such as threads without a core, or ask for a larger iodepth",
            )


def _asked_depth(view: RunView, figures: StepFigures) -> int | None:
    """Returns the depth that was asked of the hosts that loaded the step."""
    if figures.asked_depth is None or (figures.target, figures.step) not in view.absent:
        return figures.asked_depth
    own = (part for (_, step), part in view.part_steps.items() if step == figures.step)
    return sum(part.asked_depth or 0 for part in own if view.totals[part.target] == figures.target)


def little(view: RunView) -> Iterable[Note]:
    """Yields a note where rate and latency contradict Little's law."""
    for (target, step), figures in view.steps.items():
        found = figures.in_flight
        if found and found.contradicts:
            yield Note(
                "littles-law",
                "warning",
                target,
                step,
                f"IOPS x mean latency gives {found.implied:.1f} I/Os in flight, but {found.kept:.1f} "
                f"{found.kept_words} ({percent(found.gap, '+.0f')}): rate and latency do not describe the same I/O",
                "look for stalls or a ramp inside the window, and for errors",
            )


def mix_by_files(view: RunView) -> Iterable[Note]:
    """Yields a note where files ran out for an operation that makes or removes names, so that the mix is another."""
    for (target, step), figures in view.steps.items():
        weights = view.jobs[step].weights
        if view.jobs[step].streams or len(weights) < 2 or not weights.keys() & MAKES_OR_REMOVES:
            continue
        done = {row.op: row.n or 0 for row in figures.rows if row.op in weights}
        total, asked = sum(done.values()), sum(weights.values())
        shares = {op: (weights[op] / asked, done.get(op, 0) / total) for op in weights} if total else {}
        if any(abs(kept - wanted) > MIX_GAP for wanted, kept in shares.values()):
            said = ", ".join(
                f"{op} {percent(kept)} ({percent(wanted)} asked)" for op, (wanted, kept) in shares.items()
            )
            yield Note(
                "mix",
                "warning",
                target,
                step,
                f"the operations were {said}: files ran out for some",
                "give operations that make and that remove files equal shares, or more files",
            )


def unsustained(view: RunView) -> Iterable[Note]:
    """Yields a note where more was offered than was done."""
    for (target, step), figures in view.steps.items():
        offered, backlog = figures.rows[0].offered_iops, figures.rows[0].backlog or 0
        if offered and figures.iops < SUSTAINED_LEAST * offered:
            yield Note(
                "unsustained",
                "info",
                target,
                step,
                f"{offered:,.0f} IOPS were offered, {figures.iops:,.0f} done and {backlog:,} I/Os waited at the "
                "end: response latency grows with the length of the run",
                "read service latency here, or choose a point at a lower rate",
            )


def behind_its_share(view: RunView) -> Iterable[Note]:
    """Yields a note where one of several streams did less than it was offered. A stream whose operations others issue
    too is not judged.
    """
    for (target, step), figures in view.steps.items():
        offered = view.offers.get(step)
        maximum = view.steps.get((target, offered.of)) if offered else None
        if offered is None or maximum is None:
            continue
        ops: dict[bool, set[str]] = {True: set(), False: set()}
        for name, job in view.jobs[step].streams.items():
            ops[name == offered.stream] |= job.weights.keys()
        done = sum(row.iops or 0.0 for row in figures.rows if row.op in ops[True])
        asked = offered.share * maximum.iops
        if ops[True] and not ops[True] & ops[False] and done < SUSTAINED_LEAST * asked:
            yield Note(
                "unsustained",
                "info",
                target,
                step,
                f"stream {offered.stream} was offered {asked:,.0f} IOPS, {percent(offered.share)} of what "
                f"{view.called(offered.of)} achieved, and did {done:,.0f}: the target cannot do more beside the "
                "other streams",
                "the other streams' latency is that beside a saturated target; offer a smaller share for another",
            )


def small_n(view: RunView) -> Iterable[Note]:
    """Yields a note where percentiles are left out: one per target, whichever they are.

    Percentiles beyond p99.99, which most tables lack, count only in steps that ask for them.
    """
    short: dict[str, dict[str, dict[str, int]]] = {}
    for (target, step), figures in view.steps.items():
        highest = max(USUAL, view.percentiles.get(step, 0.0))
        for column, q in reversed(QUANTILES.items()):
            if q > highest and not isclose(q, highest):
                continue
            counts = [row.n for row in figures.rows if row.n and not percentile_allowed(row.n, q)]
            if counts:
                short.setdefault(target, {}).setdefault(column, {})[step] = min(counts)
    for target, found in short.items():
        steps = {step: n for of_step in found.values() for step, n in of_step.items()}
        least = min(steps, key=lambda step: steps[step])
        said = [
            f"{percentile_name(column)} in {len(of_step)} {'step' if len(of_step) == 1 else 'steps'} (needs "
            f"{count_for(QUANTILES[column]):,} I/Os)"
            for column, of_step in found.items()
        ]
        yield Note(
            "n-too-small",
            "info",
            target,
            least,
            f"too few I/Os for some percentiles: {', '.join(said)}; this step has the fewest I/Os"
            f"{' of one operation' * (len(view.steps[target, least].rows) > 1)}, {steps[least]:,}",
            "measure longer where you need them",
        )
