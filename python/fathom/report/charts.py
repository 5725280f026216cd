"""ECharts options in the one figure style. Lines, bars and step shading live here; sections only bring data."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from textwrap import wrap
from typing import Literal, NamedTuple

from fathom.report.axes import Axis, Format, from_zero
from fathom.report.blocks import JsonValue, Option
from fathom.report.style import DASHES, SYMBOLS, with_micro

Whisker = tuple[float, float, float]
"""A place on one axis, and the ends of a range on the other."""
Side = Literal["bottom", "middle", "top"]
CROSS = "path://M2 0L5 3L8 0L10 2L7 5L10 8L8 10L5 7L2 10L0 8L3 5L0 2Z"
LABEL_PX = 130
"""Width of the names beside bars; longer ones take several lines."""
LETTER_PX = 6.5
"""Mean width of a letter of such a name."""
NAME_LINE_PX = 13
LABEL_LINE_PX = 14
"""Height of a line of the labels of shaded stretches."""
END_LABEL_PX = 118
"""Width of a name at the end of a line."""
ASIDE_PX = 6
"""How far such a name stands above or below the line's end where it does not stand beside it."""


@dataclass(frozen=True)
class Line:
    """One series. `points` are (x, y); y None is a gap.

    `style`: `line` has the series' own dash; `solid` stands alone in its panel; `outline` is a histogram's;
    `envelope` is the faint line behind another. `hollow`: which points have an empty mark, none if not given.
    `labelled`: its name stands at its end where there is room. `pins`: (x, y, words) of points worth a label.
    """

    name: str
    slot: int
    points: Sequence[Sequence[float | None]]
    style: Literal["line", "solid", "outline", "envelope"] = "line"
    marks: bool = False
    hollow: Sequence[bool] = ()
    labelled: bool = False
    pins: Sequence[tuple[float, float, str]] = ()
    whiskers: Sequence[Whisker] = ()
    across: Sequence[Whisker] = ()
    """Whiskers along the x axis, each at its place on the y axis."""
    side: Side = "middle"
    """Which of its edges the label at the end has at the line's height."""

    @property
    def furthest(self) -> float:
        """The greatest x of its points and whiskers; 0 without any."""
        points = [x for x, _ in self.points if x is not None]
        return max([*points, *(high for _, _, high in self.across)], default=0.0)

    @property
    def highest(self) -> float:
        """The greatest y of its points and whiskers; 0 without any."""
        points = [y for _, y in self.points if y is not None]
        return max([*points, *(high for _, _, high in self.whiskers)], default=0.0)

    def option(self) -> Option:
        """Returns the ECharts series."""
        colour = f"$c{self.slot}"
        faint = self.style == "envelope"
        series: Option = {
            "type": "line",
            "name": self.name,
            "data": self._data(colour),
            "color": colour,
            "symbol": SYMBOLS[self.slot],
            "symbolSize": 6,
            "showSymbol": self.marks,
            "animation": False,
            "silent": faint,
            "lineStyle": {
                "color": colour,
                "width": {"line": 1.75, "solid": 1.75, "outline": 1.25, "envelope": 1}[self.style],
                "opacity": 0.35 if faint else 1,
                "type": DASHES[self.slot] if self.style == "line" else "solid",
                "join": "round",
            },
            "emphasis": {"disabled": True},
        }
        if self.labelled:
            series |= {"endLabel": _end_label(colour, self.side), "labelLayout": {"moveOverlap": "shiftY"}}
        if self.pins:
            series["markPoint"] = _pins(self.pins, colour)
        if self.whiskers or self.across:
            series["markLine"] = _whiskers(self.whiskers, self.across, colour)
        if self.style == "outline":
            series |= {"step": "end", "areaStyle": {"color": colour, "opacity": 0.1, "origin": "start"}}
        return series

    def _data(self, colour: str) -> list[JsonValue]:
        """Returns points for the chart: objects where they have a look of their own, plain pairs otherwise."""
        empty: Option = {"color": "$panel", "borderColor": colour, "borderWidth": 1.5}
        hollow = self.hollow or [False] * len(self.points)
        return [
            {"value": list(point), "itemStyle": empty} if is_hollow else list(point)
            for point, is_hollow in zip(self.points, hollow, strict=True)
        ]


@dataclass(frozen=True)
class Dots:
    """One series of single points, too many to be joined."""

    name: str
    slot: int
    points: Sequence[tuple[float, float]]

    def option(self) -> Option:
        """Returns the ECharts series."""
        return {
            "type": "scatter",
            "name": self.name,
            "data": [list(point) for point in self.points],
            "color": f"$c{self.slot}",
            "symbol": "circle",
            "symbolSize": 3,
            "itemStyle": {"opacity": 0.55},
            "animation": False,
            "large": True,
            "emphasis": {"disabled": True},
        }


@dataclass(frozen=True)
class Cross:
    """A published figure among measured ones. It shares its name with the series that it is compared with."""

    name: str
    slot: int
    x: float
    y: float

    def option(self) -> Option:
        """Returns the ECharts series."""
        return {
            "type": "line",
            "name": self.name,
            "data": [[self.x, self.y]],
            "color": f"$c{self.slot}",
            "symbol": CROSS,
            "symbolSize": 11,
            "showSymbol": True,
            "animation": False,
            "silent": True,
            "emphasis": {"disabled": True},
        }


@dataclass(frozen=True)
class Limit:
    """A horizontal line that figures are to stay below, with its label."""

    y: float
    label: str

    def option(self) -> Option:
        """Returns the ECharts mark of a series."""
        return {
            "silent": True,
            "animation": False,
            "symbol": "none",
            "lineStyle": {"color": "$ink", "type": "dashed", "width": 1},
            "label": {
                "show": True,
                "formatter": with_micro(self.label),
                "position": "insideStartTop",
                "color": "$ink",
            },
            "data": [{"yAxis": self.y}],
        }

    def beside(self, whiskers: JsonValue) -> Option:
        """Returns the mark together with the whiskers of its series, if it has any."""
        alone = self.option()
        drawn = whiskers.get("data") if isinstance(whiskers, dict) else None
        if not isinstance(whiskers, dict) or not isinstance(drawn, list):
            return alone
        own: Option = {key: alone[key] for key in ("symbol", "lineStyle", "label")} | {"yAxis": self.y}
        return whiskers | {"data": [*drawn, own]}


@dataclass(frozen=True)
class Span:
    """A shaded stretch of the x axis with a label of one or more lines above it."""

    start: float
    end: float
    label: str
    strong: bool


def _whiskers(upright: Sequence[Whisker], across: Sequence[Whisker], colour: str) -> Option:
    """Returns lines along the axes with a bar at both ends, as an ECharts mark of a series."""
    return {
        "silent": True,
        "animation": False,
        "symbol": ["rect", "rect"],
        "symbolSize": [7, 1],
        "lineStyle": {"color": colour, "type": "solid", "width": 1, "opacity": 0.6},
        "label": {"show": False},
        "emphasis": {"disabled": True},
        "data": [
            *([{"coord": [x, low]}, {"coord": [x, high]}] for x, low, high in upright),
            *([{"coord": [low, y]}, {"coord": [high, y]}] for y, low, high in across),
        ],
    }


def row_px(names: Sequence[str], least_px: int) -> int:
    """Returns the height of a row, so that names of several lines beside the rows do not touch; at least `least_px`."""
    lines = max((len(wrap(name, int(LABEL_PX / LETTER_PX))) for name in names), default=1)
    return max(least_px, 4 + NAME_LINE_PX * lines)


def line_chart(
    x: Axis, y: Axis, lines: Sequence[Line], spans: Sequence[Span] = (), *, zoom: bool = False
) -> Option:
    """Returns lines over two numeric axes."""
    series = [line.option() for line in lines]
    if spans and series:
        series[0] |= {"markArea": _shading(spans)}
    lines_above = max((span.label.count("\n") + 1 for span in spans), default=0)
    right = END_LABEL_PX + 24 if any(line.labelled for line in lines) else 44 if spans else 16
    option = _frame(6 + LABEL_LINE_PX * lines_above if spans else 10, x, right) | {
        "xAxis": x.option(vertical=False),
        "yAxis": y.option(vertical=True),
        "series": series,
        "tooltip": _tooltip(x.format, y.format),
    }
    if zoom:
        option["dataZoom"] = [{"type": "inside", "zoomOnMouseWheel": "shift", "moveOnMouseWheel": False}]
    return option


def dots_chart(x: Axis, y: Axis, dots: Sequence[Dots], spans: Sequence[Span] = ()) -> Option:
    """Returns points over two numeric axes."""
    option = line_chart(x, y, [], spans)
    series = [one.option() for one in dots]
    if spans and series:
        series[0] |= {"markArea": _shading(spans)}
    option["series"] = series
    return option


def scatter_chart(
    x: Axis, y: Axis, lines: Sequence[Line], crosses: Sequence[Cross] = (), limit: Limit | None = None
) -> Option:
    """Returns lines whose points have places of their own on the x axis, so that each is pointed at by itself."""
    option = line_chart(x, y, lines)
    series = [*(line.option() for line in lines), *(cross.option() for cross in crosses)]
    if limit and series:
        series[0] |= {"markLine": limit.beside(series[0].get("markLine"))}
    option["series"] = series
    option["tooltip"] = _tooltip(x.format, y.format) | {"trigger": "item"}
    return option


SHORTEST_SEEN = 1 / 40
"""A bar shorter than this part of the longest is a line or nothing."""


class Bars(NamedTuple):
    """A series of bars, one value per category, with the range around each where it is known.

    `texts` stand beside the bars, each at its own.
    """

    name: str
    slot: int
    values: Sequence[float | None]
    ranges: Sequence[tuple[float, float] | None] = ()
    texts: Sequence[str] = ()

    @property
    def whiskers(self) -> list[Whisker]:
        """The known ranges along the bars, at their categories."""
        return [(place, *ends) for place, ends in enumerate(self.ranges) if ends]

    @property
    def longest(self) -> float:
        """The greatest of its values and the ends of its whiskers; 0 without any."""
        known = [value for value in self.values if value is not None]
        return max([*known, *(high for _, _, high in self.whiskers)], default=0.0)


def bar_chart(
    x: Axis,
    categories: Sequence[str],
    bars: Sequence[Bars],
    published: Sequence[Bars] = (),
    *,
    stacked: bool = False,
    width_px: int = 9,
) -> Option:
    """Returns horizontal bars, grouped by category, in order or `stacked`. `published` are figures of the same names:
    a hollow bar under each solid one. A bar that is too short to see has its figure beside it.
    """
    beneath = {one.name: one.values for one in published}
    longest = max((one.longest for one in [*bars, *published]), default=0.0)
    seen = 0.0 if stacked else SHORTEST_SEEN * longest
    series: list[JsonValue] = []
    for one in bars:
        name, slot = one.name, one.slot
        look: Option = {"color": f"$c{slot}", "borderRadius": 0 if stacked else [0, 2, 2, 0]}
        marks: Option = {"markLine": _whiskers([], one.whiskers, "$ink")} if one.whiskers else {}
        solid = _bar(name, one.values, look, width_px) | _figures_beside(one, seen, x.format)
        series.append(solid | ({"stack": "all"} if stacked else {}) | marks)
        if any(value is not None for value in beneath.get(name, ())):
            hollow: Option = {"color": "transparent", "borderColor": f"$c{slot}", "borderWidth": 1.25}
            series.append(_bar(f"{name}, published", beneath[name], hollow, width_px - 2))
    if any(one.whiskers for one in bars):
        x = replace(from_zero(longest, x.format), name=x.name)
    return _frame(8, x, right=28) | {
        "xAxis": x.option(vertical=False) | {"splitLine": {"show": True, "lineStyle": {"color": "$rule"}}},
        "yAxis": _names(categories),
        "series": series,
        "tooltip": _tooltip("count", x.format) | {"axisPointer": {"type": "shadow"}},
    }


def change_chart(
    spans: Sequence[Span], changes: Sequence[float], tones: Sequence[str], hollow: Sequence[bool] = ()
) -> Option:
    """Changes in percent as dots on their intervals, a line each with its name, zero marked.

    `spans` are the intervals with their names, in percent; `tones` are `good`, `bad` or empty, each of one span.
    `hollow`: which dots are empty, none if not given.
    """
    flat = not any(end for span in spans for end in (span.start, span.end))
    x = Axis("change, %", "count", low=-1, high=1) if flat else Axis("change, %", "count")
    dots = _change_dots(changes, tones, hollow or [False] * len(changes))
    return _frame(8, x) | {
        "xAxis": x.option(vertical=False) | {"splitLine": {"show": True, "lineStyle": {"color": "$rule"}}},
        "yAxis": _names([span.label for span in spans]),
        "series": [*map(_change_interval, range(len(spans)), spans, tones), dots],
    }


TONES = {"good": "$good", "bad": "$bad"}
"""Colours of changes; others are neutral."""


def _change_interval(place: int, span: Span, tone: str) -> Option:
    """Returns the line of an interval, at its place."""
    colour = TONES.get(tone, "$muted")
    return {
        "type": "line",
        "name": span.label,
        "data": [[span.start, place], [span.end, place]],
        "showSymbol": False,
        "silent": True,
        "animation": False,
        "color": colour,
        "lineStyle": {"color": colour, "width": 2, "type": "solid"},
    }


def _change_dots(changes: Sequence[float], tones: Sequence[str], hollow: Sequence[bool]) -> Option:
    """Returns the changes themselves, and the line at zero."""
    empty: Option = {"color": "$panel", "borderColor": "$ink", "borderWidth": 1.5}
    dots: list[JsonValue] = [
        {"value": [change, place], "itemStyle": empty if is_hollow else {"color": TONES.get(tone, "$ink")}}
        for place, (change, tone, is_hollow) in enumerate(zip(changes, tones, hollow, strict=True))
    ]
    zero: Option = {
        "silent": True,
        "animation": False,
        "symbol": "none",
        "label": {"show": False},
        "lineStyle": {"color": "$rule-strong", "type": "solid", "width": 1},
        "data": [{"xAxis": 0}],
    }
    return {
        "type": "scatter",
        "name": "change",
        "data": dots,
        "symbol": "circle",
        "symbolSize": 8,
        "animation": False,
        "silent": True,
        "markLine": zero,
    }


def _bar(name: str, values: Sequence[float | None], look: Option, width_px: int) -> Option:
    """Returns the bars of a series, one per category."""
    return {
        "type": "bar",
        "name": name,
        "data": list(values),
        "animation": False,
        "barMaxWidth": width_px,
        "barGap": "20%",
        "barCategoryGap": "32%",
        "itemStyle": look,
        "emphasis": {"disabled": True},
    }


def _figures_beside(bars: Bars, seen: float, format: Format) -> Option:
    """Returns the parts of a series that write each bar's text beside it.

    Without texts that is the figure of each bar shorter than `seen`; none where all are longer.
    """
    values = bars.values
    beside: Option = {"show": False, "position": "right", "color": "$muted"}
    if bars.texts:
        written: list[JsonValue] = [
            {"value": value, "label": {"show": True, "formatter": text}}
            for value, text in zip(values, bars.texts, strict=True)
        ]
        return {"data": written, "label": beside}
    if not any(value is not None and value < seen for value in values):
        return {}
    shown: Option = {"show": True}
    data: list[JsonValue] = [
        {"value": value, "label": shown} if value is not None and value < seen else value for value in values
    ]
    return {"data": data, "label": beside | {"formatter": f"@pointer-{format}"}}


def apart(
    lines: Sequence[Line], height: float, crosses: Sequence[Cross] = (), width: float = 0.0
) -> list[Line]:
    """Returns labelled lines whose labels, `width` by `height` in units of the axes, do not cover each other.

    The label is above the highest end of a group of near ends, and below the lowest. It avoids the side of a cross or
    a whisker.
    """
    ends = {place: last for place, line in enumerate(lines) if (last := _end(line)) is not None}
    ranked = sorted(ends, key=lambda place: ends[place][1])
    sides: dict[int, Side] = dict.fromkeys(ends, "middle")
    for lower, upper in pairwise(ranked):
        if ends[upper][1] - ends[lower][1] < height:
            sides[upper] = "bottom"
            sides[lower] = "middle" if sides[lower] == "bottom" else "top"
    whiskers = [whisker for line in lines for whisker in line.across]
    for place, (x, y) in ends.items():
        near = [cross.y for cross in crosses if x <= cross.x <= x + width and abs(cross.y - y) < height]
        near += [at for at, low, high in whiskers if low <= x + width and x <= high and abs(at - y) < height]
        if sides[place] == "middle" and near:
            sides[place] = "top" if max(near) >= y else "bottom"
    return [replace(line, side=sides[place]) if place in sides else line for place, line in enumerate(lines)]


def _end(line: Line) -> tuple[float, float] | None:
    """Returns where a line ends."""
    drawn = [(x, y) for x, y in line.points if x is not None and y is not None]
    return drawn[-1] if drawn else None


def _end_label(colour: str, side: Side) -> Option:
    """Returns the label at the end of a line: its name, in its colour."""
    return {
        "show": True,
        "formatter": "{a}",
        "verticalAlign": side,
        "color": colour,
        "distance": 8,
        "offset": [0, {"bottom": -ASIDE_PX, "middle": 0, "top": ASIDE_PX}[side]],
        "width": END_LABEL_PX,
        "overflow": "break",
        "fontSize": 12,
        "lineHeight": 14,
    }


def _pins(pins: Sequence[tuple[float, float, str]], colour: str) -> Option:
    """Returns rings around points, each with its words above it."""
    return {
        "silent": True,
        "animation": False,
        "symbol": "circle",
        "symbolSize": 13,
        "itemStyle": {"color": "transparent", "borderColor": colour, "borderWidth": 1.5},
        "data": [
            {
                "coord": [x, y],
                "label": {
                    "show": True,
                    "formatter": words,
                    "position": "top",
                    "distance": 5,
                    "color": "$ink",
                    "fontSize": 12,
                },
            }
            for x, y, words in pins
        ],
    }


def _names(categories: Sequence[str]) -> Option:
    """Returns the vertical axis of names beside bars, the first on top."""
    return {
        "type": "category",
        "data": list(categories),
        "inverse": True,
        "axisLine": {"lineStyle": {"color": "$rule-strong"}},
        "axisTick": {"show": False},
        "axisLabel": {
            "color": "$ink",
            "formatter": f"@lines-{LABEL_PX}",
            "width": LABEL_PX + 1,
            "overflow": "break",
            "lineHeight": NAME_LINE_PX,
            "interval": 0,
        },
    }


def _frame(top: int, x: Axis, right: int = 16) -> Option:
    return {
        "animation": False,
        "textStyle": {"fontFamily": "@font", "fontSize": 12},
        "grid": {"left": 4, "right": right, "top": top, "bottom": 28 if x.name else 6, "containLabel": True},
        "legend": {"show": False},
    }


def _tooltip(x: Format, y: Format) -> Option:
    return {
        "trigger": "axis",
        "confine": True,
        "formatter": f"@tooltip-{x}-{y}",
        "backgroundColor": "$panel",
        "borderColor": "$rule-strong",
        "textStyle": {"color": "$ink", "fontSize": 12},
        "axisPointer": {"type": "line", "lineStyle": {"color": "$muted", "type": "solid"}},
    }


def _shading(spans: Sequence[Span]) -> Option:
    areas: list[JsonValue] = [
        [
            {
                "xAxis": span.start,
                "name": span.label,
                "itemStyle": {"color": "$shade-strong" if span.strong else "$shade", "opacity": 1},
                "label": {"color": "$ink" if span.strong else "$muted"},
            },
            {"xAxis": span.end},
        ]
        for span in spans
    ]
    return {
        "silent": True,
        "animation": False,
        "label": {
            "show": True,
            "position": "top",
            "distance": 8,
            "lineHeight": LABEL_LINE_PX,
            "fontSize": 11,
        },
        "data": areas,
    }
