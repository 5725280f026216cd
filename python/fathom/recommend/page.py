"""A recommendation as an offline HTML page: the sentence and the headrooms first, then every drive and the basis."""

from collections.abc import Sequence
from dataclasses import replace

from fathom.output.text import digits
from fathom.recommend.judge import MOST_FACTOR
from fathom.recommend.ranking import Recommendation
from fathom.recommend.terminal import cells, columns
from fathom.recommend.words import basis, chance_text, grounds, headline, headroom_text, reasons
from fathom.report.axes import Axis
from fathom.report.blocks import Chart, Figure, Group, Item, KeyFigure, Points, Row, Section, Table
from fathom.report.charts import Bars, bar_chart
from fathom.report.html_page import Page
from fathom.report.opening import opened
from fathom.report.style import plain


def render(found: Recommendation) -> str:
    """Returns the page."""
    # Where every drive is too small, or none was replayed, the page opens with the list of drives.
    known = any(one.headroom is not None for one in found.candidates)
    drives = _drives(found)
    sections = [
        _key(found, _headrooms(found) if known else drives),
        *([_section(drives)] if known else []),
        _basis(found),
    ]
    opening, folded = opened(sections)
    if opening:
        folded = _without(folded, opening.reasons)
    title = f"Which drive for {plain(found.name)}"
    return Page(title, folded, opening=opening, made_from="a trace and the catalogue").html()


def _without(sections: Sequence[Section], said: Sequence[str]) -> list[Section]:
    """Returns the sections without points that the opening has, and without those that are empty then."""
    left: list[Section] = []
    for section in sections:
        points = [
            replace(block, texts=[text for text in block.texts if text not in said])
            if isinstance(block, Points)
            else block
            for block in section.blocks
        ]
        blocks = [block for block in points if not isinstance(block, Points) or block.texts]
        left += [replace(section, blocks=blocks)] if blocks else []
    return left


def _sentence(text: str) -> str:
    return plain(text.rstrip(".") + ".")


def _key(found: Recommendation, shown: Figure | Table) -> Section:
    said = [_sentence(text) for text in (*grounds(found), *reasons(found))]
    return Section(
        "recommendation",
        "Recommendation",
        [Points(said)] if said else [],
        key_figure=KeyFigure(_sentence(headline(found)), shown, said[:2]),
    )


def _headrooms(found: Recommendation) -> Figure:
    """Returns the factor by which the load may grow on each drive that could be replayed and is large enough."""
    shown = [one for one in found.candidates if one.headroom is not None]
    labels = [plain(one.label) for one in shown]
    values: list[float | None] = [one.headroom for one in shown]
    bars = Bars("headroom", 0, values, texts=[headroom_text(one) for one in shown])
    option = bar_chart(Axis("factor of the load", "count", log=True), labels, [bars], width_px=14)
    chart = Chart(
        "headroom",
        "Headroom",
        sub="factor by which the load may grow; below 1 the "
        + ("objective is missed" if found.limiting else "drive falls behind"),
        option=option,
        summary="Headroom of each drive; the table has the figures.",
        height_px=70 + 30 * max(1, len(shown)),
    )
    rows = [
        Row(Item(label), [Item(plain(headroom_text(one))), _interval(one.bounds)])
        for label, one in zip(labels, shown, strict=True)
    ]
    data = Table("Drive", [Item("Headroom"), Item("80 % of real drives")], [Group("", rows)])
    caption = (
        ("The recommended drive is on top. " if found.best else "")
        + (
            "Bars begin at 1: the further left one ends, the less the drive takes. "
            if _has_misses(values)
            else ""
        )
        + f"The search ends at {MOST_FACTOR:.0f} and at 1/{MOST_FACTOR:.0f}."
    )
    return Figure([chart], caption, data, columns=1)


def _has_misses(headrooms: Sequence[float | None]) -> bool:
    return any(one is not None and one < 1 for one in headrooms)


def _interval(bounds: tuple[float, float] | None) -> Item:
    if bounds is None:
        return Item("–", tone="quiet", title="only a bound, or too few figures of such drives are published")
    return Item(f"{digits(bounds[0], 2)} to {digits(bounds[1], 2)}")


def _drives(found: Recommendation) -> Table:
    rows = []
    for one in found.candidates:
        own = [Item(plain(cell)) for cell in cells(one, found)]
        tone = "strong" if one is found.best else ""
        rows.append(Row(Item(plain(one.label), plain(one.device), tone=tone), [*own, Item(chance_text(one))]))
    head = [Item(plain(name)) for name in (*columns(found), "real drives keep up")]
    return Table("Drive", head, [Group("", rows)])


def _section(drives: Table) -> Section:
    return Section("drives", "Every drive", [drives], short="Drives")


def _basis(found: Recommendation) -> Section:
    texts = [_sentence(text) for text in basis(found)]
    return Section("basis", "What the figures rest on", [Points(texts)], short="Basis")
