"""Draws docs/images/intervals.svg: every predicted rate that was also published, in its interval or out of it."""

from math import log
from pathlib import Path

from fathom.catalog import load_device
from fathom.prediction.interval import blocks_of, spread_without
from fathom.prediction.misses import shipped_misses

PICTURE = Path(__file__).parent.parent / "docs" / "images" / "intervals.svg"
WIDTH, ROW, LEFT, RIGHT, TOP, BOTTOM = 760, 30, 250, 20, 24, 46
LEAST, MOST = 0.4, 2.5
TICKS = (0.5, 0.7, 1.0, 1.4, 2.0)
INSIDE, OUTSIDE, BAND = "#2a7f62", "#c8442f", "#8aa5b5"


def picture() -> str:
    """Returns the SVG: a row for each device and class of blocks, a dot for each figure, a bar for its interval."""
    groups = {}
    for one in shipped_misses():
        for row in one.rows:
            spread = spread_without(one.name, one.family, blocks_of(row.block_bytes), shipped_misses())
            if row.role == "validation" and row.is_rate and spread:
                key = (load_device(one.name).identity.label, blocks_of(row.block_bytes))
                groups.setdefault(key, (spread, []))[1].append(row.ratio)
    height = TOP + ROW * len(groups) + BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        'font-family="sans-serif" font-size="11" fill="#888">',
        "<title>Simulated over published rates, with the 80 % intervals learnt from other devices</title>",
    ]
    for tick in TICKS:
        parts.append(
            f'<line x1="{_x(tick):.1f}" x2="{_x(tick):.1f}" y1="{TOP}" y2="{height - BOTTOM}" '
            f'stroke="#888" stroke-opacity="{0.8 if tick == 1 else 0.25}"/>'
            f'<text x="{_x(tick):.1f}" y="{height - BOTTOM + 16}" text-anchor="middle">{tick:g}</text>'
        )
    for place, ((label, blocks), (spread, ratios)) in enumerate(groups.items()):
        y = TOP + ROW * place + ROW / 2
        low, high = _x(1 / spread.factor), _x(spread.factor)
        parts.append(
            f'<text x="0" y="{y - 2:.1f}">{label}</text><text x="0" y="{y + 10:.1f}" opacity="0.8">{blocks}</text>'
            f'<rect x="{low:.1f}" y="{y - 9:.1f}" width="{high - low:.1f}" height="18" rx="3" '
            f'fill="{BAND}" fill-opacity="0.4"/>'
        )
        parts += [
            f'<circle cx="{_x(ratio):.1f}" cy="{y:.1f}" r="3.2" '
            f'fill="{INSIDE if spread.holds(ratio) else OUTSIDE}" fill-opacity="0.75"/>'
            for ratio in ratios
        ]
    parts.append(
        f'<text x="{WIDTH / 2:.0f}" y="{height - 10}" text-anchor="middle">simulated over published rate '
        "(logarithmic); bar: 80 % interval, learnt without the device; red: outside</text></svg>"
    )
    return "\n".join(parts) + "\n"


def _x(ratio: float) -> float:
    share = (log(ratio) - log(LEAST)) / (log(MOST) - log(LEAST))
    return LEFT + (WIDTH - LEFT - RIGHT) * min(max(share, 0.0), 1.0)


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
    print(PICTURE)
