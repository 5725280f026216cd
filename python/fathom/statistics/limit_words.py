"""The words for what limits a step, which a recording gives as values."""

from fathom import _core

STANDS_OUT = 0.10
"""How much busier than the mean of its group a server is named apart."""
_LOADS = {
    "outstanding-io": "outstanding I/O",
    "target-or-outstanding-io": "target or outstanding I/O",
}


def limited_by(recording: _core.Recording) -> str | None:
    """Returns what limits a step in words, `flash dies 97 %, next controller 71 %`; None where nobody can know."""
    limit = recording.limit()
    if limit is None:
        return None
    if limit.resource is None:
        other = f"busiest {_words(limit.next).removeprefix('busiest ')}" if limit.next else ""
        itself = _load(limit.kind, limit.amount or 0.0)
    else:
        other = f"next {_words(limit.next)}" if limit.next else ""
        itself = _queue(limit.resource) if limit.kind == "queue" else _words(limit.resource)
    return f"{itself}, {other}" if other else itself


def _words(use: _core.Utilisation) -> str:
    """A group is as limiting as its busiest server, which is named apart when it stands out."""
    if use.servers > 1 and use.max - use.mean > STANDS_OUT:
        return f"busiest of {use.servers} {use.resource} {_percent(use.max)} (mean {_percent(use.mean)})"
    return f"{use.resource} {_percent(use.max)}"


def _queue(use: _core.Utilisation) -> str:
    """I/O waits for the group on the whole, so its mean is named."""
    return f"{use.resource} ({_short(use.waiting)} waiting) {_percent(use.mean)}"


def _load(kind: str, amount: float) -> str:
    return (
        f"offered rate ({amount:.0f} IOPS)"
        if kind == "offered-rate"
        else f"{_LOADS[kind]} ({_short(amount)})"
    )


def _percent(share: float) -> str:
    return f"{share * 100:.0f} %"


def _short(amount: float) -> str:
    """Whole when it is all but whole, else one decimal."""
    return f"{amount:.0f}" if abs(amount - round(amount)) < 0.05 or amount > 9.95 else f"{amount:.1f}"
