"""Which disk suits which use: the cost of a TB, and the uses for which the other disk is as fast as the first. Every
sentence follows from the run's ratios and the price list. The method's source names the uses.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from fathom.analysis.finding import joined
from fathom.analysis.settled import Unsettled, tags, verbs
from fathom.output.text import span, without_document
from fathom.report.blocks import Block, Group, Item, KeyFigure, Points, Row, Section, Table
from fathom.report.comparison import Comparison
from fathom.report.disk_bars import by_block
from fathom.report.drive_array import BLOCKS, KINDS, Disk, called, called_together, disks, ratio, reference_of
from fathom.report.findings import Gate, gate
from fathom.report.power import NOTE, power_item
from fathom.report.reference import rows_naming, rows_of
from fathom.report.style import grouped, slot
from fathom.sizing.files import Item as Price
from fathom.sizing.files import Prices
from fathom.statistics.uncertainty import Comparison as Ratio

ORDER = 22
AS_FAST = 0.05
"""A smaller difference decides no purchase, however certain it is."""
OF_CACHES = (Unsettled.PAGE_CACHE, Unsettled.OFF_DEVICE)
"""What keeps other figures from being claimed, and these not: they are what reached the medium."""
LEVEL_WITHIN = 0.10
"""How far from 1 the interval of a level ratio may reach. One that reaches further says nothing."""
MOST_WORDS = 25
"""Words of a sentence of the opening."""
USES = {
    "Written once, read many times: backup, archive, media": (
        *("64k-seq-write", "1m-seq-write", "32m-seq-write"),
        *("64k-seq-read", "1m-seq-read", "32m-seq-read"),
    ),
    "Written and read in order in small records: logs": ("4k-seq-write", "4k-seq-read"),
    "Read at random: objects, content delivery": tuple(f"{block}-rand-read" for block in BLOCKS),
    "Changed at random, with no wait for each write": tuple(f"{block}-rand-write" for block in BLOCKS),
    "Changed at random, then read in order": ("64k-seq-read-scattered", "1m-seq-read-scattered"),
}
STEPS = [f"{block}-{kind}" for kind in KINDS for block in BLOCKS]
NONE = Item("–", tone="quiet", title="not known")


class Speed(Enum):
    """How fast a disk is beside another, in one workload or several; the values are the words on the page."""

    SLOWER = "slower"
    MIXED = "faster in part, slower in part"
    AS_FAST = "as fast"
    AS_FAST_OR_FASTER = "as fast or faster"
    FASTER = "faster"

    @property
    def keeps_up(self) -> bool:
        """Whether it is slower in no workload."""
        return self not in (Speed.SLOWER, Speed.MIXED)


@dataclass(frozen=True)
class WorkloadVerdict:
    """A workload on one disk against the reference."""

    step: str
    ratio: Ratio

    @property
    def speed(self) -> Speed:
        """The verdict; `AS_FAST` includes ratios whose interval includes 1."""
        if self.ratio.verdict == "level" or abs(self.ratio.ratio - 1) < AS_FAST:
            return Speed.AS_FAST
        return Speed.FASTER if self.ratio.ratio > 1 else Speed.SLOWER


def is_certain(ratio: Ratio) -> bool:
    """Returns whether a ratio decides anything: its interval excludes 1, or stays near it."""
    return ratio.verdict != "level" or max(ratio.high - 1, 1 - ratio.low) <= LEVEL_WITHIN


@dataclass(frozen=True)
class DiskVerdict:
    """One disk against the reference: the workloads judged, those that memory absorbed, and those known too little.

    `unclaimed` has the reason for which a workload of either is not claimed.
    """

    disk: Disk
    reference: Disk
    judged: dict[str, WorkloadVerdict]
    in_memory: Sequence[str]
    uncertain: Sequence[str]
    unclaimed: Mapping[str, Unsettled] = field(default_factory=dict)

    def of(self, speed: Speed, steps: Sequence[str]) -> list[WorkloadVerdict]:
        """Returns the steps with that outcome."""
        return [one for step in steps if (one := self.judged.get(step)) and one.speed is speed]

    def answer(self, steps: Sequence[str]) -> Speed | None:
        """Returns the speed for a use; None where none of its workloads was judged."""
        speeds = {one.speed for step in steps if (one := self.judged.get(step))}
        if not speeds:
            return None
        if Speed.SLOWER not in speeds:
            return Speed.AS_FAST_OR_FASTER if Speed.FASTER in speeds else Speed.AS_FAST
        return Speed.MIXED if Speed.FASTER in speeds else Speed.SLOWER


def build(comparison: Comparison) -> Section | None:
    """Returns the section; None without two targets of the method to compare, or without its workloads."""
    found = [disk for disk in disks(comparison) if any(step in disk.cells for step in STEPS)]
    reference = reference_of(found)
    if reference is None:
        return None
    prices, out = comparison.prices, gate(comparison)
    blocks: list[Block] = [_costs(found, prices)]
    told: list[str] = []
    for disk in found:
        if disk is not reference:
            judgement = _judge(disk, reference, out)
            blocks += [Points(_sentences(judgement, prices)), _uses(judgement)]
            told += _answers(judgement, prices)
    key = _key_figure(found, reference, out)
    return Section(
        "verdict", "Which disk for which use", blocks, short="Verdict", answer=told, key_figure=key
    )


def _key_figure(found: Sequence[Disk], reference: Disk, out: Gate) -> KeyFigure:
    """Returns bars by block size and pattern, and the number of workloads in which the other disk keeps up."""
    others = [disk for disk in found if disk is not reference]
    judgement = _judge(others[0], reference, out)
    judged = [one for step in STEPS if (one := judgement.judged.get(step))]
    fast = [one for one in judged if one.speed.keeps_up]
    own, other = others[0].name, reference.name
    fewer, slow = _uses_by_answer(judgement)
    reasons = [
        *_where("It keeps up where", "It keeps up, too, where", fewer),
        *_where("It is slower where", "It is slower, too, where", slow),
    ]
    sentence = (
        f"{own} keeps up with {other} in {len(fast)} of {len(judged)} workloads that can be judged."
        if judged
        else f"No workload of {own} and {other} can be judged."
    )
    return KeyFigure(sentence, by_block(found, out), reasons)


def _where(first: str, further: str, uses: Sequence[str]) -> list[str]:
    """Returns the uses in sentences of at most `MOST_WORDS` words, which begin as `first`, then as `further`."""
    sentences: list[str] = []
    for use in map(_lower, uses):
        if sentences and len(f"{sentences[-1]}; {use}".split()) <= MOST_WORDS:
            sentences[-1] += f"; {use}"
        else:
            sentences.append(f"{further if sentences else first} data are {use}")
    return [f"{sentence}." for sentence in sentences]


def _answers(judgement: DiskVerdict, prices: Prices) -> list[str]:
    """Returns the uses for which the disk keeps up, those for which it does not, and its cost."""
    fast, slow = _uses_by_answer(judgement)
    name, reference = judgement.disk.name, judgement.reference.name
    told = []
    for uses, what in ((fast, "keeps up with"), (slow, "is slower, in part or in all, than")):
        if uses:
            told.append(f"{name} {what} {reference} where data are {'; '.join(_lower(use) for use in uses)}.")
    return [*told, *_price_sentences(judgement, prices)[:1]]


def _judge(disk: Disk, reference: Disk, out: Gate) -> DiskVerdict:
    steps = dict.fromkeys([*STEPS, *(step for steps in USES.values() for step in steps)])
    judged, in_memory, uncertain, unclaimed = {}, [], [], {}
    for step in steps:
        reasons = [why for one in (disk, reference) if (why := out.get((one.column.short, step)))]
        if doubts := [why for why in reasons if why not in OF_CACHES]:
            unclaimed[step] = doubts[0]
        elif disk.in_memory(step) or reference.in_memory(step):
            in_memory.append(step)
        elif found := ratio(disk, reference, step):
            if is_certain(found):
                judged[step] = WorkloadVerdict(step, found)
            else:
                uncertain.append(step)
    return DiskVerdict(disk, reference, judged, in_memory, uncertain, unclaimed)


def _sentences(judgement: DiskVerdict, prices: Prices) -> list[str]:
    own, other = judgement.disk.name, judgement.reference.name
    judged = [one for step in STEPS if (one := judgement.judged.get(step))]
    said = [
        f"{own} against {other}, by what reached the medium after the first seconds, which caches take: {len(judged)} "
        f"of {len(STEPS)} workloads can be judged;"
    ]
    if level := judgement.of(Speed.AS_FAST, STEPS):
        said[0] += f" {Speed.AS_FAST.value} in {len(level)} (level, or within {100 * AS_FAST:.0f} %);"
    for speed in (Speed.FASTER, Speed.SLOWER):
        if ones := judgement.of(speed, STEPS):
            names = [f"{called(one.step)} {one.ratio.ratio:.2f} times" for one in ones]
            said[0] += f" {speed.value} in {len(ones)}: {joined(names)};"
    said[0] = said[0].rstrip(";:") + "."
    if judgement.in_memory:
        names = called_together(judgement.in_memory)
        said.append(f"Not judged, because caches took most of one or both: {names}.")
    if judgement.uncertain:
        names = called_together(judgement.uncertain)
        said.append(
            f"Not judged, because the ratio's interval includes 1 and reaches beyond {100 * LEVEL_WITHIN:.0f} %: "
            f"{names}."
        )
    if judgement.unclaimed:
        why, names = verbs(judgement.unclaimed.values()), called_together([*judgement.unclaimed])
        said.append(f"Not judged, because one or both {why}: {names}.")
    said += _price_sentences(judgement, prices)
    return said


def _price_sentences(judgement: DiskVerdict, prices: Prices) -> list[str]:
    own, other = (_per_tb(disk, prices) for disk in (judgement.disk, judgement.reference))
    if own is None or other is None:
        missing = [d.name for d in (judgement.disk, judgement.reference) if _per_tb(d, prices) is None]
        return [
            f"The price list has no {joined(missing)}, so the cost of a TB is not known. Give --prices FILE."
        ]
    fast, slow = _uses_by_answer(judgement)
    change = 100 * (own / other - 1)
    less = f"{abs(change):.0f} % {'less' if change < 0 else 'more'}" if round(change) else "as much"
    name, reference = judgement.disk.name, judgement.reference.name
    said = [f"A TB of {name} costs {less}{' than one' if round(change) else ' as one'} of {reference}."]
    if own < other and fast:
        said.append(f"{name} is the cheaper choice for data {'; '.join(_lower(use) for use in fast)}.")
    elif own >= other:
        said.append(f"At these prices, nothing but speed favours {name}.")
    if slow:
        said.append(
            f"{reference} is faster, in part or in all, for data {'; '.join(_lower(use) for use in slow)}."
        )
    limits = judgement.disk.mechanics
    if own < other and limits and limits.host_managed:
        said.append(_adoption(judgement, other - own, prices))
    return said


def _uses_by_answer(judgement: DiskVerdict) -> tuple[list[str], list[str]]:
    """Returns the uses for which the disk is at least as fast in all workloads, and those with a slower one."""
    answers = {use: judgement.answer(steps) for use, steps in USES.items()}
    whole = [use for use, steps in USES.items() if judgement.judged.keys() >= set(steps)]
    fast = [use for use in whole if (answer := answers[use]) and answer.keeps_up]
    return fast, [use for use, answer in answers.items() if answer and not answer.keeps_up]


def _lower(use: str) -> str:
    return use[0].lower() + use[1:]


def _adoption(judgement: DiskVerdict, saved_per_tb: float, prices: Prices) -> str:
    """Returns the software that host-managed disks need, and the published number of drives from which they pay."""
    each = saved_per_tb * judgement.disk.tb
    text = (
        f"It needs software that writes zones in order, as a file system with zone support does. Each drive saves "
        f"{each:.3g} ({prices.currency})"
    )
    device = judgement.disk.catalog or ""
    rows = (*rows_naming(device), *rows_of(device))
    row = next((row for row in rows if row.workload == "adoption-threshold" and row.value), None)
    if row is None or row.value is None:
        return f"{text}; the work of adopting it has to cost less than that times the number of drives."
    return (
        f"{text}: {each * row.value:,.0f} over {row.value:,.0f} drives, the number from which a published opinion "
        f"says that the work pays ({without_document(row.source)})."
    )


def _costs(found: Sequence[Disk], prices: Prices) -> Table:
    head = [
        Item("Price", prices.currency),
        Item("Per TB", prices.currency),
        Item("Sequential reads", "MB/s per TB"),
        Item("Random reads", "IOPS per TB, 4 KiB"),
        Item("Power", "W, 4 KiB random reads"),
    ]
    rows = [Row(Item(disk.name, slot=slot(disk.column.index)), _cost_cells(disk, prices)) for disk in found]
    notes = ["Figures are per drive.", NOTE, *([prices.note] if prices.note else [])]
    notes += dict.fromkeys(
        f"{disk.name}: {without_document(price.source)}" for disk in found if (price := _price(disk, prices))
    )
    return Table("Cost", head, [Group("", rows)], notes)


def _cost_cells(disk: Disk, prices: Prices) -> list[Item]:
    price, per_tb = _price(disk, prices), _per_tb(disk, prices)
    point = disk.point("4k-rand-read")
    power = power_item(disk.column, point, disk.drives) if point else None
    figures = [
        price.price if price else None,
        per_tb,
        *(
            (value / disk.tb if (value := disk.value(step)) else None)
            for step in ("1m-seq-read", "4k-rand-read")
        ),
    ]
    return [*(NONE if figure is None else Item(_short(figure)) for figure in figures), power or NONE]


def _short(value: float) -> str:
    return grouped(value) if value >= 100 else f"{value:.3g}"


def _price(disk: Disk, prices: Prices) -> Price | None:
    return prices.items.get((disk.catalog or "").partition("?")[0])


def _per_tb(disk: Disk, prices: Prices) -> float | None:
    price = _price(disk, prices)
    return price.price / disk.tb if price else None


def _why_not(judgement: DiskVerdict, steps: Sequence[str]) -> str:
    """Returns why none of these workloads was judged."""
    if set(steps) & set(judgement.in_memory):
        return "taken in memory"
    if set(steps) & set(judgement.uncertain):
        return "too uncertain"
    doubts = [why for step, why in judgement.unclaimed.items() if step in steps]
    return tags(doubts) or "too few seconds, or not measured"


def _uses(judgement: DiskVerdict) -> Table:
    rows = []
    for use, steps in USES.items():
        ratios = [one.ratio for step in steps if (one := judgement.judged.get(step))]
        if not ratios:
            why = _why_not(judgement, steps)
            rows.append(Row(Item(use), [NONE, NONE, Item(f"not judged: {why}", tone="quiet")]))
            continue
        least, most = (pick(ratios, key=lambda one: one.ratio) for pick in (min, max))
        answer = judgement.answer(steps)
        tone = "good" if answer and answer.keeps_up else "bad" if answer is Speed.SLOWER else ""
        part = "" if len(ratios) == len(steps) else f"{len(ratios)} of {len(steps)} workloads judged"
        rows.append(
            Row(
                Item(use),
                [_bound(least), _bound(most), Item(answer.value if answer else "", part, tone=tone)],
            )
        )
    head = [Item("Least ratio"), Item("Greatest ratio"), Item(f"{judgement.disk.name} is")]
    names = f"{judgement.disk.name} to {judgement.reference.name}"
    notes = [
        f"Ratio of {names} over the workloads of a use, with its 95 % interval.",
        "Rates are those that reached the medium after the first seconds, in which caches take what the disk cannot "
        "(MSER-5). The summary compares whole windows, page cache included, so its ratios of writes differ.",
        "Data bases and virtual machines are not judged: they wait for each write and read in between. What is changed "
        "at random here goes through the page cache to a file of at most 50 GiB a disk.",
    ]
    if any(
        limits and limits.host_managed for limits in (judgement.disk.mechanics, judgement.reference.mechanics)
    ):
        notes.append(
            "On a host-managed disk, the file system writes such changes in order to empty zones. What it costs to "
            "free zones on a full disk is not measured."
        )
    return Table("Use", head, [Group("", rows)], notes)


def _bound(found: Ratio) -> Item:
    return Item(f"{found.ratio:.2f}", span(found.low, found.high))
