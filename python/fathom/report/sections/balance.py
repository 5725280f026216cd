"""How evenly hosts, ports or servers, and drives of a system, or namespaces of a drive, share a load, and who lags."""

from collections.abc import Mapping, Sequence
from statistics import median

from fathom.analysis.balance import FAIR_FROM, chi_square, jain
from fathom.report.blocks import Block, Group, Item, Points, Row, Section, Table
from fathom.report.comparison import Column, Comparison
from fathom.report.data import RunData
from fathom.report.rows import Share
from fathom.report.style import grouped, plain
from fathom.report.waf import NOTE, waf_interval, waf_text

ORDER = 26
SLOW = 1.25
"""A member is named when its mean latency is more than this many times the median of its kind."""
MOST_NAMED = 4
MOST_WAFS = 8
"""Members whose WAFs are listed one by one; of more, the median stands above the least and the greatest."""
NONE = Item("–", tone="quiet")
NAMESPACE = "namespace"
"""Streams load namespaces each in its own way, so their shares are not judged."""

Shares = Mapping[str, Sequence[Share]]
"""The members of each kind in one step."""


def build(comparison: Comparison) -> Section | None:
    """Returns a table for every system that recorded its members apart."""
    blocks = [block for column in comparison.columns for block in _blocks(column)]
    return Section("balance", "How the load was spread", blocks, short="Balance") if blocks else None


def _blocks(column: Column) -> list[Block]:
    run, target = column.run, column.target.name
    measured = dict.fromkeys(point.step for point in run.points if point.target == target)
    steps = {step: shares for step in measured if (shares := run.shares(target, step))}
    if not steps:
        return []
    kinds: dict[str, int] = {}
    for shares in steps.values():
        for kind, members in shares.items():
            kinds[kind] = max(len(members), kinds.get(kind, 0))
    judged = {
        step: {
            kind: members
            for kind, members in shares.items()
            if not (kind == NAMESPACE and (job := run.jobs.get(step)) and job.streams)
        }
        for step, shares in steps.items()
    }
    said = [*_uneven(run, judged), *(text for kind in kinds for text in _slow(run, kind, judged))]
    points: list[Block] = [Points(said)] if said else []
    return [*points, _table(column, kinds, steps, judged)]


def _table(
    column: Column, kinds: Mapping[str, int], steps: Mapping[str, Shares], judged: Mapping[str, Shares]
) -> Table:
    """Returns a row per step. `kinds` maps each kind of member to how many there are."""
    writing = {
        kind
        for shares in steps.values()
        for kind, members in shares.items()
        if any(share.waf for share in members)
    }
    rows = [
        Row(
            Item(plain(column.run.called(step))),
            [
                cell
                for kind, count in kinds.items()
                for cell in _cells(
                    shares.get(kind, []), count, writing=kind in writing, judged=kind in judged[step]
                )
            ],
        )
        for step, shares in steps.items()
    ]
    head = [
        item
        for kind, count in kinds.items()
        for item in (
            Item(f"{kind}s ({count})", "Jain's index"),
            Item("", "mean, us"),
            *([Item("", "WAF of each" if count <= MOST_WAFS else "WAF")] if kind in writing else []),
        )
    ]
    notes = [
        "Jain's index is 1 where all have the same rate. Below it: the shares of the members with least and "
        "most, and chi-square of the counts with its degrees of freedom. Random placement gives about as much "
        "chi-square as degrees of freedom. Latencies: the median member's, and the slowest below it.",
    ]
    if writing:
        counts = [kinds[kind] for kind in writing]
        notes.append(
            "WAF per member: bytes programmed for it per byte that it wrote. Programmed bytes are its writes and "
            "what cleaning moved of its data. Data that stay are moved for members that overwrite theirs."
        )
        if max(counts) > MOST_WAFS:
            notes.append(
                f"WAF of more than {MOST_WAFS} members: the median, and the least and greatest below it."
            )
        if min(counts) <= MOST_WAFS:
            notes.append(NOTE)
    return Table(column.label, head, [Group("", rows)], notes)


def _uneven(run: RunData, steps: Mapping[str, Shares]) -> list[str]:
    return [
        f"{plain(run.called(step))}: uneven over {kind}s (Jain's index {index:.3f})"
        for step, shares in steps.items()
        for kind, members in shares.items()
        if (index := jain([share.iops for share in members])) is not None and index < FAIR_FROM
    ]


def _cells(members: Sequence[Share], count: int, *, writing: bool, judged: bool) -> list[Item]:
    spread = _spread(members, count, judged=judged)
    if not writing:
        return spread
    return [*spread, _wafs(members, listed=count <= MOST_WAFS)]


def _wafs(members: Sequence[Share], *, listed: bool) -> Item:
    """Returns the WAF of each member, or of all their median and bounds."""
    known = [share.waf for share in members if share.waf is not None]
    if not known:
        return NONE
    if not listed:
        return Item(grouped(median(known)), f"{grouped(min(known))} to {grouped(max(known))}")
    return Item(
        " / ".join(
            "–" if share.waf is None else waf_text(share.waf, waf_interval(share.written))
            for share in members
        )
    )


def _spread(members: Sequence[Share], count: int, *, judged: bool) -> list[Item]:
    counts = [share.n for share in members]
    index, total = jain(counts), sum(counts)
    if index is None:
        return [NONE, NONE]
    statistic, freedom = chi_square(counts)
    spread = (
        f"{100 * min(counts) / total:.1f}–{100 * max(counts) / total:.1f} %, χ² {statistic:.1f} ({freedom})"
    )
    if len(members) < count:
        spread = f"{len(members)} of {count}: {spread}"
    even = Item(f"{index:.3f}", spread, tone="bad" if judged and index < FAIR_FROM else "")
    means = {share.member: share.mean_us for share in members if share.mean_us is not None}
    if not means:
        return [even, NONE]
    worst = max(means, key=lambda member: means[member])
    return [even, Item(grouped(median(means.values())), f"#{worst}: {grouped(means[worst])}")]


def _slow(run: RunData, kind: str, steps: Mapping[str, Shares]) -> list[str]:
    """Returns members of a kind that lag in some step, each with the step where it does so most."""
    lags: dict[int, tuple[float, str]] = {}
    for step, shares in steps.items():
        members = shares.get(kind, [])
        means = {share.member: share.mean_us for share in members if share.mean_us is not None}
        usual = median(means.values()) if means else 0.0
        for member, mean_us in means.items():
            if usual and mean_us > SLOW * usual and mean_us / usual > lags.get(member, (0.0, ""))[0]:
                lags[member] = mean_us / usual, step
    if not lags:
        return []
    most, where = max(lags.values())
    named = ", ".join(str(member) for member in sorted(lags)[:MOST_NAMED])
    more = f" and {len(lags) - MOST_NAMED} more" if len(lags) > MOST_NAMED else ""
    return [
        f"{kind}s that lag: {named}{more}. Their mean latency is up to {most:.2f} times the median {kind}'s "
        f"({plain(run.called(where))})"
    ]
