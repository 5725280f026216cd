"""What limits a step as values, and its words, which are made here alone.

The crate `recording` decides what limits. It knows no think time, no limit of a control group and none of the client's
processors: these are added here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from fathom import _core

CLIENT_BUSY_PCT = 85.0
"""Busy share of a machine's processors beyond which it is taken for the limit of what it measures."""
STANDS_OUT = 0.10
"""How much busier than the mean of its group a server is named apart."""


class LimitKind(StrEnum):
    """The kinds of limits."""

    SATURATED = "saturated"
    """A resource without time left."""
    QUEUE = "queue"
    """The resource that I/O waited for, for longer than it was served."""
    OFFERED_RATE = "offered-rate"
    OUTSTANDING_IO = "outstanding-io"
    TARGET_OR_OUTSTANDING_IO = "target-or-outstanding-io"
    """A real target does not say how busy it is."""
    THINK_TIME = "think-time"
    TARGET_OR_THINK_TIME = "target-or-think-time"
    TARGET_OR_IO_LIMIT = "target-or-io-limit"
    """The rate came near what a control group may do, which a real target may be able to do too."""
    STATED = "stated"
    """Words of a run directory that has no more."""


NAMES_OF_LOADS = {
    LimitKind.OFFERED_RATE: "offered rate",
    LimitKind.OUTSTANDING_IO: "outstanding I/O",
    LimitKind.TARGET_OR_OUTSTANDING_IO: "target or outstanding I/O",
    LimitKind.THINK_TIME: "think time",
    LimitKind.TARGET_OR_THINK_TIME: "target or think time",
    LimitKind.TARGET_OR_IO_LIMIT: "target or I/O limit of the control group",
}
"""The name of each limit that is the load's own; that of a resource is the resource's."""
_MEANINGS = {
    "program power budget": "“program power budget” is the most dies of a twin that program or erase at once. It "
    "follows from published rates, or is assumed: it is no measured power, and no rating of the drive."
}
"""What names of resources say that their readers may take for more."""
_PAUSED = {
    LimitKind.OUTSTANDING_IO: LimitKind.THINK_TIME,
    LimitKind.TARGET_OR_OUTSTANDING_IO: LimitKind.TARGET_OR_THINK_TIME,
}
_UNKNOWN = (LimitKind.TARGET_OR_OUTSTANDING_IO, LimitKind.TARGET_OR_THINK_TIME)


@dataclass(frozen=True)
class Busy:
    """A group of equal servers: how busy they are on average, and the busiest of them; 0 to 1."""

    name: str
    servers: int
    mean: float
    busiest: float

    @property
    def stands_out(self) -> bool:
        """Whether one server is much busier than its group."""
        return self.servers > 1 and self.busiest - self.mean > STANDS_OUT

    @property
    def called(self) -> str:
        """The group, or its one server that stands out."""
        many = f"{self.name}s" if self.name.endswith("CPU") else self.name
        return f"busiest of {self.servers} {many}" if self.stands_out else self.name

    @property
    def words(self) -> str:
        """`dies 97 %`, or `busiest of 64 dies 99 % (mean 20 %)`."""
        mean = f" (mean {_percent(self.mean)})" if self.stands_out else ""
        return f"{self.called} {_percent(self.busiest)}{mean}"


@dataclass(frozen=True, eq=False)
class Limit:
    """What limits a step.

    `resource` is what is saturated or waited for, by `waiting` I/Os on average. `amount` is the offered rate in 1/s or
    the mean outstanding I/O. `next` is the busiest other resource. Two limits are equal when their words are.
    """

    kind: LimitKind
    resource: Busy | None = None
    waiting: float | None = None
    amount: float | None = None
    next: Busy | None = None
    stated: str = field(default="", metadata={"is_stored": False})

    def __eq__(self, other: object) -> bool:
        """Whether a reader sees the same."""
        return isinstance(other, Limit) and self.words == other.words

    def __hash__(self) -> int:
        """As `__eq__` has it."""
        return hash(self.words)

    @property
    def is_offered_rate(self) -> bool:
        """Whether the rate is what was asked, not what a target can do."""
        return self.kind is LimitKind.OFFERED_RATE

    @property
    def name(self) -> str:
        """What limits, without figures, as a sentence names it."""
        if self.resource is None:
            return self.stated or NAMES_OF_LOADS[self.kind]
        stands_out = self.resource.stands_out and self.kind is not LimitKind.QUEUE
        return f"the {self.resource.called}" if stands_out else self.resource.name

    @property
    def share(self) -> str:
        """How busy it is, or how much of it there is; empty where neither is known."""
        if self.resource is None:
            unit = " IOPS" if self.is_offered_rate else ""
            return "" if self.amount is None else f"{self._amount}{unit}"
        if self.kind is LimitKind.QUEUE:
            return _percent(self.resource.mean)
        mean = f", mean {_percent(self.resource.mean)}" if self.resource.stands_out else ""
        return f"{_percent(self.resource.busiest)}{mean}"

    @property
    def other(self) -> str:
        """The next or the busiest resource; empty where there is none."""
        if self.next is None:
            return ""
        if self.resource is not None:
            return f"next {self.next.words}"
        return self.next.words if self.next.stands_out else f"busiest {self.next.words}"

    @property
    def words(self) -> str:
        """One line for a table: `flash dies 97 %, next controller 71 %`."""
        return f"{self._itself}, {self.other}" if self.other else self._itself

    @property
    def _itself(self) -> str:
        if self.resource is None:
            return f"{self.name} ({self.share})" if self.share else self.name
        if self.kind is LimitKind.QUEUE:
            return f"{self.name} ({_short(self.waiting or 0.0)} waiting) {self.share}"
        return self.resource.words

    @property
    def _amount(self) -> str:
        amount = self.amount or 0.0
        return f"{amount:,.0f}" if self.is_offered_rate else _short(amount)

    def as_row(self) -> dict[str, object] | None:
        """Returns the value of the column `limit`; None where words are all that there is."""
        if self.kind is LimitKind.STATED:
            return None
        values: dict[str, object] = asdict(self)
        del values["stated"]
        values["kind"] = self.kind.value
        return values


def limit_of(recording: "_core.Recording") -> Limit | None:
    """Returns what limits a step by its recording; None where the backend cannot know."""
    found = recording.limit()
    if found is None:
        return None
    resource, waiting = (_busy(found.resource), found.resource.waiting) if found.resource else (None, None)
    kind = LimitKind(found.kind)
    return Limit(
        kind,
        resource,
        waiting if kind is LimitKind.QUEUE else None,
        found.amount,
        _busy(found.next) if found.next else None,
    )


def _busy(use: "_core.Utilisation") -> Busy:
    return Busy(use.resource, use.servers, use.mean, use.max)


def meanings(limits: Iterable[Limit | None]) -> list[str]:
    """Returns what the resources are that limits name, or name as the next, where the name alone may mislead."""
    named = {busy.name for one in limits if one for busy in (one.resource, one.next) if busy}
    return [meaning for name, meaning in _MEANINGS.items() if name in named]


def limit_in(row: Mapping[str, object]) -> Limit | None:
    """Returns what limits a step by its row of points; in a run of an earlier version, the words are all it has."""
    value = cast("Mapping[str, object] | None", row.get("limit"))
    if value is None:
        words = row.get("limited_by")
        return Limit(LimitKind.STATED, stated=str(words)) if words else None
    return Limit(
        LimitKind(str(value["kind"])),
        _busy_in(value["resource"]),
        cast("float | None", value["waiting"]),
        cast("float | None", value["amount"]),
        _busy_in(value["next"]),
    )


def _busy_in(value: object) -> Busy | None:
    if value is None:
        return None
    of = cast("Mapping[str, object]", value)
    name, servers = cast("str", of["name"]), cast("int", of["servers"])
    return Busy(name, servers, cast("float", of["mean"]), cast("float", of["busiest"]))


def with_think_time(limit: Limit | None) -> Limit | None:
    """Returns the limit of a load that pauses for longer than its I/O takes: the pauses, not what is in flight."""
    paused = _PAUSED.get(limit.kind) if limit else None
    return replace(limit, kind=paused, amount=None) if limit and paused else limit


def with_io_limit(limit: Limit | None, *, reached: bool) -> Limit | None:
    """Returns the limit of a real target, whose rate came near what a control group may do where that is `reached`."""
    if limit is None or limit.kind not in _UNKNOWN or not reached:
        return limit
    return replace(limit, kind=LimitKind.TARGET_OR_IO_LIMIT, amount=None)


def with_client(limit: Limit | None, busy_pct: float) -> Limit | None:
    """Returns the limit of a real target; beyond a busy share, it is the client's processors.

    What is known to limit stays: a saturated resource, an offered rate.
    """
    if limit is None or limit.kind not in _UNKNOWN or busy_pct <= CLIENT_BUSY_PCT:
        return limit
    share = busy_pct / 100
    return Limit(LimitKind.SATURATED, Busy("client CPU", 1, share, share))


def _percent(share: float) -> str:
    return f"{share * 100:.0f} %"


def _short(amount: float) -> str:
    """Whole when it is all but whole, else one decimal."""
    return f"{amount:.0f}" if abs(amount - round(amount)) < 0.05 or amount > 9.95 else f"{amount:.1f}"
