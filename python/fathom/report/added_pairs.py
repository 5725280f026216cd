"""What a system adds to the latency of its own drive, operation by operation, and of what nothing is claimed."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from fathom.analysis.finding import joined
from fathom.analysis.settled import Unsettled, verbs
from fathom.report.added_interval import AddedMean, added_mean
from fathom.report.added_loads import MIXES, Measured, times_sign
from fathom.report.blocks import Group, Item, Row, Table
from fathom.report.findings import Gate
from fathom.report.style import plain


@dataclass(frozen=True)
class Added:
    """An operation through the system, and on the drive alone with the same number in flight per drive."""

    label: str
    loads: tuple[str, str]
    behind_us: float
    direct_us: float
    added: AddedMean
    limited_by: str
    limit: str

    @property
    def added_us(self) -> float:
        """What the system adds to the drive's own latency."""
        return self.added.us


def pairs_of(system: Measured, drive: Measured) -> list[Added]:
    """Returns every operation that both had at a load that puts as much on each drive."""
    loads = system.alike()
    if loads is None:
        return []
    whole, alone = loads
    found = []
    for mix, (label, ops) in MIXES.items():
        for op in ops:
            behind, direct = system.point(mix, whole, op), drive.point(mix, alone, op)
            added = added_mean(behind, direct)
            if added and behind and direct and behind.mean_us and direct.mean_us:
                half = f", {op}" if len(ops) > 1 else ""
                limit = plain(behind.limited_by or "")
                name = plain(behind.limit.name) if behind.limit else ""
                means_us = behind.mean_us, direct.mean_us
                found.append(Added(label + half, loads, *means_us, added, limit, name))
    return found


def added_table(pairs: Sequence[Added], claimed: Sequence[Added]) -> Table:
    """Returns both latencies and what the system adds, an operation a row; those not `claimed` are marked."""
    rows = [
        Row(
            Item(one.label, "" if one in claimed else "not claimed"),
            [
                Item(f"{one.behind_us:.1f}"),
                Item(f"{one.direct_us:.1f}"),
                Item(
                    f"{one.added_us:+.1f}",
                    f"{one.added.plus_minus}; {100 * one.added_us / one.behind_us:+.0f} % of the total",
                    tone="strong" if one in claimed else "quiet",
                ),
                Item(one.limited_by or "–", tone="quiet"),
            ],
        )
        for one in pairs
    ]
    head = [
        Item("System, mean", "us"),
        Item("Drive, mean", "us"),
        Item("Added", "us"),
        Item("The system is limited by", ""),
    ]
    whole, alone = (times_sign(load) for load in pairs[0].loads)
    title = f"Added at equal load per drive ({whole} per host against {alone})"
    return Table(title, head, [Group("", rows)], interval_notes([one.added for one in pairs]))


def interval_notes(added: Sequence[AddedMean]) -> list[str]:
    """Returns what the intervals of added latencies are, and why some have none."""
    known = any(one.half_us is not None for one in added)
    notes = (
        ["±: the 95 % interval of the difference, from those of both means in quadrature."] if known else []
    )
    return [*notes, *(f"No interval: {why}." for why in dict.fromkeys(one.why for one in added if one.why))]


def no_pair(pairs: Sequence[Added], columns: Sequence[Measured], out: Gate) -> str:
    """Returns why nothing is claimed of what a system adds to its drive, where no pair is claimed."""
    at = {load for one in pairs for load in one.loads}
    return _unclaimed(columns, {step: why for step, why in out.items() if _load_of(step[1]) in at})


def no_load(system: Measured, loads: Collection[str], out: Gate) -> str:
    """Returns why nothing is claimed of where an I/O spends its time, where no load is claimed."""
    return _unclaimed([system], {step: why for step, why in out.items() if _load_of(step[1]) in loads})


def _load_of(step: str) -> str:
    return step.rpartition("-")[2]


def _unclaimed(columns: Sequence[Measured], out: Gate) -> str:
    parts: list[str] = []
    for one in columns:
        why: list[Unsettled] = [reason for (short, _), reason in out.items() if short == one.column.short]
        if why:
            parts.append(f"{one.name} {verbs(why)}")
    return f"{' and '.join(parts)} at the loads shown, so no added latency is claimed."


def left_out_of(columns: Sequence[Measured], out: Gate) -> list[str]:
    """Returns the targets with steps that support no claim: at how many loads, and why."""
    texts = []
    for one in columns:
        why = {step: reason for (short, step), reason in out.items() if short == one.column.short}
        if why:
            values = joined(list(dict.fromkeys(reason.value for reason in why.values())))
            loads = "load" if len(why) == 1 else "loads"
            texts.append(
                f"{one.name} {verbs(why.values())} at {len(why)} {loads} ({values}): no figure of those is claimed."
            )
    return texts
