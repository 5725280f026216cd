"""A sizing as an offline HTML page: how many drives and what binds, then each need, room to grow and sources."""

from fathom.analysis.finding import cited
from fathom.report.axes import Axis
from fathom.report.blocks import (
    Block,
    Chart,
    Figure,
    Group,
    Item,
    KeyFigure,
    Points,
    Prose,
    Row,
    Section,
    Table,
)
from fathom.report.charts import Bars, bar_chart
from fathom.report.html_page import Page
from fathom.report.opening import fitting, opened
from fathom.report.style import plain
from fathom.sizing.size import Sizing
from fathom.sizing.terminal import basis_text, drives_text, each_text, growth, headline, sentences

NEEDED, ALLOWED = 0, 1
"""Colours of the bars: drives that a need takes, and drives that a power budget allows."""


def render(sizing: Sizing) -> str:
    """Returns the page."""
    opening, folded = opened([_count(sizing), _needs(sizing), _sources(sizing)])
    made_from = "the needs and the catalogue"
    return Page("How many drives", folded, opening=opening, made_from=made_from).html()


def _count(sizing: Sizing) -> Section:
    """Returns the count and what binds; behind a figure that opens the page with them, only what it has no room for."""
    sentence = plain(headline(sizing)) + "."
    reasons = [plain(text) for text in (*sentences(sizing), *growth(sizing))]
    drawn = _figure(sizing)
    further = reasons[len(fitting(sentence, reasons)) :] if drawn else reasons
    blocks: list[Block] = [] if drawn else [Prose([sentence])]
    if further:
        blocks.append(Points(further))
    key = KeyFigure(sentence, drawn, reasons) if drawn else None
    return Section("count", "How many drives", blocks, short="Count", key_figure=key)


def _figure(sizing: Sizing) -> Figure | None:
    """Returns a bar for each need that takes a number of drives; None without any."""
    counted = [
        answer for answer in sizing.answers if answer.drives is not None and answer.need.kind != "latency"
    ]
    counted.sort(key=lambda answer: -(answer.drives or 0))
    if not counted:
        return None
    labels = [plain(answer.need.text) for answer in counted]
    parts = [
        ("takes", NEEDED, [None if answer.is_ceiling else answer.drives for answer in counted]),
        ("allows at most", ALLOWED, [answer.drives if answer.is_ceiling else None for answer in counted]),
    ]
    bars = [
        Bars(name, place, [None if value is None else float(value) for value in values])
        for name, place, values in parts
        if any(value is not None for value in values)
    ]
    option = bar_chart(Axis(f"{sizing.drive.noun}s", "count", low=0), labels, bars, stacked=True, width_px=26)
    chart = Chart(
        "needs",
        f"{sizing.drive.noun.capitalize()}s by need",
        sub=f"{sizing.drive.noun}s, each need by itself",
        option=option,
        summary=f"{sizing.drive.noun.capitalize()}s that each need takes by itself; the table below has the figures.",
        height_px=70 + 46 * len(counted),
    )
    rows = [
        Row(
            Item(label),
            [Item("–") if (value := one.values[place]) is None else Item(f"{value:,.0f}") for one in bars],
        )
        for place, label in enumerate(labels)
    ]
    data = Table("Need", [Item(one.name) for one in bars], [Group("", rows)])
    legend = [Item(one.name, slot=one.slot) for one in bars] if len(bars) > 1 else []
    return Figure([chart], "The largest number decides.", data, legend, columns=1)


def _needs(sizing: Sizing) -> Section:
    """Returns every need beside what one drive gives."""
    rows = [
        Row(
            Item(plain(answer.need.text)),
            [
                Item(plain(text))
                for text in (each_text(answer, sizing), drives_text(answer), basis_text(answer))
            ],
        )
        for answer in sizing.answers
    ]
    head = [Item(f"One {sizing.drive.noun} gives"), Item(f"{sizing.drive.noun.capitalize()}s"), Item("Basis")]
    return Section("needs", "What each need takes", [Table("Need", head, [Group("", rows)])], short="Needs")


def _sources(sizing: Sizing) -> Section:
    sources = dict.fromkeys(answer.figure.source for answer in sizing.answers if answer.figure)
    said = [f"{plain(sizing.drive.label)}: {plain(cited(source))}." for source in sources]
    return Section(
        "sources", "Sources", [Points(said or [f"No figure of this {sizing.drive.noun} is known."])]
    )
