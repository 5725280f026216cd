"""Numbers as people read them, with their unit: the one place that formats figures for terminals."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, count

LEAST_SHOWN = 0.0001
"""Below it Python writes an exponent."""
_ROUNDS_UP = 0.9995
"""From this share of a unit on, three digits of the unit below it would be a thousand."""


def duration(seconds: float) -> str:
    """Returns `40 us`, `850 ms`, `12.3 s`, `4 min 05 s`, `6 h 30 min`."""
    if 0 < seconds < _ROUNDS_UP * 1e-3:
        return f"{seconds * 1e6:.3g} us"
    if seconds < _ROUNDS_UP:
        return f"{seconds * 1e3:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.0f} s" if seconds == int(seconds) else f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60:,} h {minutes % 60:02d} min"


def distinct(names: Iterable[str]) -> list[str]:
    """Returns different names: one that was there before gets a number. Names that follow do not change it."""
    found: dict[str, None] = {}
    for name in names:
        numbered = (f"{name}-{number}" for number in count(2))
        found[next(one for one in chain([name], numbered) if one not in found)] = None
    return list(found)


def some_of(names: Sequence[str]) -> str:
    """Returns the first five names in quotes, and how many more there are: `'sda', 'sdb' and 3 more`."""
    shown = ", ".join(map(repr, names[:5]))
    return f"{shown} and {len(names) - 5:,} more" if len(names) > 5 else shown


def size(number_of_bytes: float) -> str:
    """Returns a size in binary units: `4 KiB`, `1.5 GiB`."""
    value = float(number_of_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.4g} {unit}"
        value /= 1024
    return f"{value:,.0f} TiB" if value >= 1000 else f"{value:.4g} TiB"


def capacity(number_of_bytes: float) -> str:
    """Returns a size in decimal units, as drives are sold: `7.68 TB`."""
    unit, unit_bytes = capacity_unit(number_of_bytes)
    if unit_bytes == 1:
        return f"{number_of_bytes:.0f} B"
    return f"{four_digits(float(f'{number_of_bytes / unit_bytes:.3g}'))} {unit}"


def capacity_unit(number_of_bytes: float) -> tuple[str, float]:
    """Returns the decimal unit in which a size has few digits, and its bytes."""
    for unit, unit_bytes in (("PB", 1e15), ("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number_of_bytes >= _ROUNDS_UP * unit_bytes:
            return unit, unit_bytes
    return "B", 1.0


def iops_text(iops: float) -> str:
    """Returns `0.67 IOPS`, `812 IOPS`, `45.2k IOPS`, `2.11M IOPS`."""
    if iops < 10:
        return f"{digits(iops, 2)} IOPS"
    if iops < 1e4:
        return f"{iops:,.0f} IOPS"
    return f"{iops / 1e3:,.1f}k IOPS" if iops < 999_950 else f"{iops / 1e6:.2f}M IOPS"


def mbps_text(mbps: float) -> str:
    """Returns MB/s of 10^6 bytes."""
    return f"{mbps:,.0f} MB/s" if mbps >= 100 else f"{mbps:.1f} MB/s"


def latency_text(latency_us: float | None) -> str:
    """Returns a latency in three digits: `62.3 us`, `1.76 ms`, `2.1 s`; a dash where there is none."""
    if latency_us is None:
        return "-"
    for unit, unit_us in (("s", 1e6), ("ms", 1e3)):
        if latency_us >= _ROUNDS_UP * unit_us:
            return f"{four_digits(float(f'{latency_us / unit_us:.3g}'))} {unit}"
    return f"{latency_us:.3g} us"


def span(low: float, high: float) -> str:
    """Returns `0.98 to 1.02`: both bounds of a ratio, with two to four decimals, enough to tell apart from each other
    and from 1.
    """
    spans = [(f"{low:.{decimals}f}", f"{high:.{decimals}f}") for decimals in (2, 3, 4)]
    distinct = (bounds for bounds in spans if bounds[0] != bounds[1] and 1 not in map(float, bounds))
    return " to ".join(next(distinct, spans[-1]))


def four_digits(value: float, sign: str = "") -> str:
    """Returns a number in four significant digits, grouped: `92.16`, `1,282,000,000`; `sign` as of a format."""
    shown = float(f"{value:.4g}")
    return f"{shown:{sign},.0f}" if abs(shown) >= 1000 else f"{shown:{sign}.4g}"


def percent(share: float, form: str = ".0f") -> str:
    """Returns a share of 1 as `12 %`, with a space as SI has it; `form` is that of the number, such as `+.1f`."""
    return f"{100 * share:{form}} %"


def percent_digits(share: float, count: int = 3) -> str:
    """Returns a share of 1 in `count` significant digits: `0.662 %`, `100 %`, `< 0.0001 %`."""
    return f"{digits(100 * share, count)} %"


def digits(value: float, count: int = 3) -> str:
    """Returns a number in `count` significant digits, without an exponent: `1,550`, `98.2`, `0.31`, `< 0.0001`."""
    rounded = float(f"{value:.{count}g}")
    if 0 < rounded < LEAST_SHOWN:
        return f"< {LEAST_SHOWN}"
    return f"{rounded:,.0f}" if abs(rounded) >= 10**count else f"{value:.{count}g}"


def told_apart(labels: Sequence[str], names: Sequence[str | None]) -> list[str]:
    """Returns the labels; what shares its label with others has its name behind it, if it has one."""
    counts = Counter(labels)
    return [
        f"{label}, {name}" if name and counts[label] > 1 else label
        for label, name in zip(labels, names, strict=True)
    ]


def in_others(what: str, count: int, noun: str) -> str:
    """Returns where else, behind the worst place: `; less in another step`, `; less in 3 other steps`; empty
    for none.
    """
    if not count:
        return ""
    places = f"another {noun}" if count == 1 else f"{count} other {noun}s"
    return f"; {what} in {places}"


def signed_pct(value: float, digits: int = 1) -> str:
    """Returns `+3.1 %`, with a real minus sign; what rounds to nothing has none."""
    text = f"{value:+.{digits}f} %".replace("-", "−")
    return text[1:] if float(text[1:-2]) == 0 else text


def agreeing(shown: str, one: str, many: str) -> str:
    """Returns a number as it is shown, with the words that agree with it: `1 I/O is`, `1.2 I/Os are`."""
    return f"{shown} {one if shown == '1' else many}"


def years_text(years: float) -> str:
    """Returns `1 year`, `5 years`."""
    return agreeing(f"{years:g}", "year", "years")


def writes_a_day_text(dwpd: float) -> str:
    """Returns a rated endurance: `1 drive write a day`, `0.6 drive writes a day`."""
    return f"{agreeing(f'{dwpd:g}', 'drive write', 'drive writes')} a day"


def ios_in_flight(count: int) -> str:
    """Returns `1 I/O in flight`, `8 I/Os in flight`."""
    return f"{count:,} I/O{'' if count == 1 else 's'} in flight"


def many_of(op: str) -> str:
    """Returns an operation's name for many of them: `reads`, `flushes`, `write-zeroes`."""
    return op if op.endswith("es") else f"{op}es" if op.endswith("sh") else f"{op}s"


def without_document(source: str) -> str:
    """Returns a source without the number of its document among the project's references, which readers do not have."""
    return re.sub(r" \(\d{3}_[0-9a-f]{16}\)", "", source)
