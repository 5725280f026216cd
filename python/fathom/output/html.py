"""Tables as HTML for notebooks, which show an object by its `_repr_html_`. All text is escaped."""

from collections.abc import Iterable, Sequence
from html import escape

MOST_ROWS = 60
"""Rows that a notebook shows; the object has all."""


def table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Returns a table; numbers to the right, and a line where rows are left out."""
    shown = list(rows)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in shown[:MOST_ROWS])
    more = len(shown) - MOST_ROWS
    rest = f'<tr><td colspan="{len(heads)}">and {more} more rows</td></tr>' if more > 0 else ""
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    return (
        f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}{rest}</tbody></table>"
    )


def _cell(value: object) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
        return f'<td style="text-align:right">{text}</td>'
    return f"<td>{'–' if value is None else escape(str(value))}</td>"
