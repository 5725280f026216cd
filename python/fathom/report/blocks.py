"""What sections are made of: charts, tables, lists and text, as plain values. templates/blocks.html.jinja draws them.

All text in blocks is untrusted and escaped by the template; no block holds markup.
"""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar, Literal

JsonValue = str | int | float | bool | None | Sequence["JsonValue"] | Mapping[str, "JsonValue"]
Option = dict[str, JsonValue]
"""An ECharts option. Colours starting with `$` are CSS variables, formatters starting with `@` functions of
assets/charts.js."""


@dataclass(frozen=True)
class Item:
    """A text with a second, quieter line, and `open` as a third: what a twin's parameters leave open of the figure.

    `slot`: colour of a target; `heat`: how dark a cell of a map is, 0..1.
    """

    text: str
    sub: str = ""
    tone: Literal["", "strong", "quiet", "good", "bad"] = ""
    slot: int | None = None
    title: str = ""
    heat: float | None = None
    open: str = ""


@dataclass(frozen=True)
class Row:
    """A table row."""

    label: Item
    cells: Sequence[Item]


@dataclass(frozen=True)
class Group:
    """Rows under a common heading; an empty title prints none."""

    title: str
    rows: Sequence[Row]


@dataclass(frozen=True)
class Table:
    """A table whose first column is the row's label; groups behind the first `shown` are folded away."""

    template: ClassVar[str] = "table"
    corner: str
    head: Sequence[Item]
    groups: Sequence[Group]
    footnotes: Sequence[str] = ()
    numeric: bool = True
    shown: int | None = None
    folded: Sequence[int] = ()
    """Places of columns, from 0 without the label's, that are hidden until the reader asks for them."""
    folded_name: str = ""
    """What those columns are, for the button that shows them."""


@dataclass(frozen=True)
class Chart:
    """One canvas. `summary` is what a screen reader says instead of it; `views` are further options by the key of the
    figure's view that shows them.
    """

    key: str
    title: str
    _: KW_ONLY
    sub: str
    option: Option
    summary: str
    height_px: int
    slot: int | None = None
    wide: bool = False
    """Whether it takes a row of the figure by itself."""
    views: Mapping[str, Option] = field(default_factory=dict)


@dataclass(frozen=True)
class Figure:
    """Charts that share a legend, a caption and a table of their data.

    `group`: charts whose pointers move together. `scale`: how the y axes start where the reader can switch them.
    `views`: (key, label) of what the reader can switch between, the first one shown first; its charts' own options are
    that first view.
    """

    template: ClassVar[str] = "figure"
    charts: Sequence[Chart]
    caption: str
    data: Table
    legend: Sequence[Item] = ()
    columns: Literal[1, 2, 3] = 2
    scale: Literal["", "log", "value"] = ""
    group: str = ""
    views: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Prose:
    """Paragraphs of text."""

    template: ClassVar[str] = "prose"
    paragraphs: Sequence[str]


@dataclass(frozen=True)
class Points:
    """Sentences as a list; those behind the first `shown` are folded away."""

    template: ClassVar[str] = "points"
    texts: Sequence[str]
    shown: int = 12


@dataclass(frozen=True)
class Answer:
    """The answer of a run to its method's question, in sentences; those behind the first `shown` are folded away."""

    template: ClassVar[str] = "answer"
    texts: Sequence[str]
    shown: int = 6


@dataclass(frozen=True)
class Bar:
    """A line of a card: a target's figure as a bar. Its 95 % interval and the published figure are fractions 0..1 of
    the card's scale. `error` is how far the figure is from the published one.
    """

    label: str
    tag: str
    value: str
    slot: int
    share: float
    low: float | None
    high: float | None
    published: float | None = None
    error: Item | None = None
    expected: tuple[float, float] | None = None
    """Where measurements of a twin's drive are expected, as fractions of the scale."""


@dataclass(frozen=True)
class NoBar:
    """A target that a card does not rank, and why."""

    label: str
    why: str


@dataclass(frozen=True)
class Card:
    """The outcome of one corner."""

    title: str
    value: str
    unit: str
    verdict: str
    detail: str
    bars: Sequence[Bar]
    unranked: Sequence[NoBar] = ()


@dataclass(frozen=True)
class Cards:
    """Cards in a grid; those behind the first `shown` are folded away."""

    template: ClassVar[str] = "cards"
    cards: Sequence[Card]
    shown: int = 12

    @property
    def predicted(self) -> bool:
        """Whether any bar has a range that measurements are expected in."""
        return any(bar.expected for card in self.cards for bar in card.bars)

    @property
    def ticked(self) -> bool:
        """Whether any bar has a published figure."""
        return any(bar.published is not None for card in self.cards for bar in card.bars)


@dataclass(frozen=True)
class NoteItem:
    """A validity note: what to know, where it applies, what to do about it. `more` is what other steps say."""

    level: str
    where: str
    texts: Sequence[str]
    next_step: str
    more: Sequence[str] = ()


@dataclass(frozen=True)
class Notes:
    """Validity notes, the gravest first."""

    template: ClassVar[str] = "notes"
    notes: Sequence[NoteItem]


@dataclass(frozen=True)
class Node:
    """A box of a diagram: its title, and quieter lines below it. `role` picks its look."""

    key: str
    role: str
    title: str
    lines: Sequence[str] = ()


@dataclass(frozen=True)
class Join:
    """A line of a diagram between the boxes of two keys; `label` says what it is."""

    start: str
    end: str
    label: str = ""


@dataclass(frozen=True)
class Diagram:
    """Boxes and lines, laid out in the page. `summary` is what a screen reader says instead of it."""

    template: ClassVar[str] = "diagram"
    key: str
    summary: str
    nodes: Sequence[Node]
    joins: Sequence[Join]


@dataclass(frozen=True)
class Verbatim:
    """A file as it is, folded away on the screen and printed in full."""

    template: ClassVar[str] = "verbatim"
    title: str
    text: str


@dataclass(frozen=True)
class Inside:
    """Pages inside the page, each begun when the reader opens it.

    `pages` are the title and the HTML of each. `shared` are files that take the place of their marks in all of them.
    The mark `ECHARTS` stands for the page's own. `hashes` are those of the scripts that the pages run.
    """

    template: ClassVar[str] = "inside"
    ECHARTS: ClassVar[str] = "@echarts@"
    pages: Sequence[tuple[str, str]]
    shared: Mapping[str, str]
    hashes: Sequence[str]


Block = Table | Figure | Prose | Points | Answer | Cards | Notes | Diagram | Verbatim | Inside


@dataclass(frozen=True)
class KeyFigure:
    """What a page may open with: the answer in one sentence, the figure that shows it, and the reasons, gravest first.

    A sentence has at most two numbers beside those in names of targets and workloads. One that says why nothing is
    claimed may have no figure.
    """

    sentence: str
    block: Figure | Cards | Table | None
    reasons: Sequence[str] = ()


@dataclass(frozen=True)
class Section:
    """A part of the page with an entry in its contents. Its `blocks` are folded away until the reader opens them."""

    key: str
    title: str
    blocks: Sequence[Block]
    short: str = field(default="")
    """Title in the contents; the title itself when empty."""
    answer: Sequence[str] = ()
    """Its answer to the method's question, in sentences: below the terminal's table, and among the findings."""
    key_figure: KeyFigure | None = None
    """What the page opens with where this section answers its method's question; else the first of its blocks."""
