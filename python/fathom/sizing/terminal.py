"""A sizing at a terminal, and as JSON."""

from math import floor

from rich.console import Console
from rich.text import Text

from fathom.analysis.finding import cited
from fathom.output.table import flush_table
from fathom.output.text import capacity, four_digits, iops_text, latency_text, mbps_text, percent
from fathom.prediction.interval import COVERAGE
from fathom.prediction.words import range_words
from fathom.sizing.needs import Kind
from fathom.sizing.size import Answer, Sizing

SCHEMA = "fathom-size/1"
LEAST_ROOM = 0.01
"""The least share by which a need may grow that is worth a sentence of its own."""
ROUNDING = 1e-9
"""What binary fractions may take from a whole number of percent."""


def print_sizing(console: Console, sizing: Sizing) -> None:
    """Prints the count and the need that decides it, then every need, then the link."""
    console.print(Text(headline(sizing)), style="bold", highlight=False)
    table = flush_table()
    noun = sizing.drive.noun
    for name in ("need", f"one {noun} gives", f"{noun}s", "basis"):
        table.add_column(name, justify="right" if name == f"{noun}s" else "left")
    for answer in sizing.answers:
        table.add_row(
            Text(answer.need.text),
            Text(each_text(answer, sizing)),
            Text(drives_text(answer)),
            Text(basis_text(answer)),
        )
    console.print(table)
    for source in dict.fromkeys(answer.figure.source for answer in sizing.answers if answer.figure):
        console.print(Text(f"Figures from {cited(source)}."), style="dim", highlight=False)
    for sentence in (*sentences(sizing), *growth(sizing)):
        console.print(Text(sentence), highlight=False)


def headline(sizing: Sizing) -> str:
    """Returns `5 x WD SN861: 64 GB/s read binds`."""
    if sizing.drives is None:
        reasons = "; ".join(f"{answer.need.text}: {unmet_text(answer, sizing)}" for answer in sizing.unmet)
        if all(answer.figure is None for answer in sizing.unmet):
            return f"How many {sizing.drive.label} this takes is not known: {reasons}"
        return f"No number of {sizing.drive.label} meets this: {reasons}"
    binding = f": {sizing.floors[0].need.text} binds" if sizing.floors else ""
    return f"{sizing.drives:,} x {sizing.drive.label}{binding}"


def sentences(sizing: Sizing) -> list[str]:
    """Returns sentences on the reserve, the next limit and the link."""
    out = list(sizing.drive.notes)
    if (most := sizing.drives_at_low_end) is not None and most != sizing.drives:
        low = f"{most:,} {sizing.drive.noun}s"
        out.append(f"At the low end of the {100 * COVERAGE:.0f} % ranges {low} are needed.")
    if sizing.derate < 1:
        noun = sizing.drive.noun
        out.append(f"Bandwidth and IOPS of one {noun} count at {sizing.derate:g} of what it does (derate).")
    if sizing.drives is not None and (following := sizing.following):
        out.append(f"Next limit: {following.need.text}; {following.drives:,} would do.")
    for link in sizing.links:
        verdict = (
            "carries it before headers"
            if link.carries
            else f"cannot carry it: spread it over {link.count:,} links"
        )
        out.append(
            f"{link.need} over one {link.label}: {link.raw_bytes_per_s / 1000000000.0:.1f} GB/s raw; one link "
            f"{verdict}."
        )
    return out


def growth(sizing: Sizing) -> list[str]:
    """Returns by how much the binding need may grow before another drive is needed."""
    if not sizing.drives or not sizing.floors or not (each := sizing.floors[0].each):
        return []
    need = sizing.floors[0].need
    room = sizing.drives * each / need.amount - 1
    if need.kind == "latency" or room < LEAST_ROOM:
        return []
    more = f"{sizing.drives + 1:,} {sizing.drive.noun}s are needed"
    return [f"{need.text} may grow by {room_text(room)} before {more}."]


def room_text(room: float) -> str:
    """Returns by which share a need may grow, whole percent that still fit: `13 %`, `less than 1 %`."""
    return (
        f"less than {percent(LEAST_ROOM)}"
        if room < LEAST_ROOM
        else percent(floor(100 * room + ROUNDING) / 100)
    )


def sizing_json(sizing: Sizing) -> dict[str, object]:
    """Returns `{"schema": "fathom-size/1", "device", "drives", "binds", "next", "needs", "links"}`; rates in B/s and
    IOPS.
    """
    floors = sizing.floors
    return {
        "schema": SCHEMA,
        "device": sizing.drive.name,
        "label": sizing.drive.label,
        "derate": sizing.derate,
        "drives": sizing.drives,
        "binds": floors[0].need.text if floors else None,
        "next": sizing.following.need.text if sizing.following else None,
        "needs": [
            {
                "need": answer.need.text,
                "kind": answer.need.kind,
                "amount": answer.need.amount,
                "each": answer.each,
                "drives": answer.drives,
                "basis": answer.figure.basis if answer.figure else None,
                "range": list(answer.figure.spread.around(answer.figure.value))
                if answer.figure and answer.figure.spread
                else None,
                "source": answer.figure.source if answer.figure else None,
                "unmet": unmet_text(answer, sizing) if answer in sizing.unmet else None,
            }
            for answer in sizing.answers
        ],
        "links": [
            {
                "link": link.label,
                "raw_bytes_per_s": link.raw_bytes_per_s,
                "asked_bytes_per_s": link.asked_bytes_per_s,
                "carries": link.carries,
            }
            for link in sizing.links
        ],
    }


def unmet_text(answer: Answer, sizing: Sizing) -> str:
    """Returns why no number of drives meets that need."""
    if answer.is_ceiling and answer.drives is not None:
        needed = sizing.floors[0].drives if sizing.floors else 1
        noun = sizing.drive.noun if answer.drives == 1 else f"{sizing.drive.noun}s"
        return f"enough for {answer.drives:,} {noun}; {needed:,} {'is' if needed == 1 else 'are'} needed"
    return answer.why


def each_text(answer: Answer, sizing: Sizing) -> str:
    """Returns what one drive gives of what a need asks for."""
    if answer.each is None:
        return "not stated"
    kind, figure = answer.need.kind, answer.figure
    derated = kind in ("bandwidth", "iops") and sizing.derate < 1
    of = f" ({sizing.derate:g} of {amount(kind, figure.value)})" if derated and figure else ""
    return amount(kind, answer.each) + of


def drives_text(answer: Answer) -> str:
    """Returns how many drives a need takes, or allows."""
    if answer.drives is None:
        return "–"
    if answer.need.kind == "latency":
        return "any"
    return f"{'<= ' if answer.is_ceiling else ''}{answer.drives:,}"


def basis_text(answer: Answer) -> str:
    """Returns where the drive's figure is from, with its range; the reason where there is none."""
    if not answer.figure:
        return answer.why
    spread = answer.figure.spread
    return answer.figure.basis + (f", {range_words(spread)}" if spread else "")


def amount(kind: Kind, value: float) -> str:
    """Returns a figure of that kind with its unit."""
    if kind == "bandwidth":
        return f"{value / 1e9:,.2f} GB/s" if value >= 1e9 else mbps_text(value / 1e6)
    if kind == "iops":
        return iops_text(value)
    if kind in ("capacity", "endurance"):
        return capacity(value)
    return latency_text(value) if kind == "latency" else f"{four_digits(value)} W"
