"""When a running step holds still: its seconds, judged by the step's rule."""

from fathom import _core
from fathom.method.until_steady import UntilSteady
from fathom.statistics.means import mean_by_count


class StillSeconds:
    """Judges the seconds of one measured step on one target."""

    def __init__(self, rule: UntilSteady) -> None:
        self._rule = rule
        self._values: list[float] = []
        self._open: list[_core.Interval] = []
        self._ended_s: float | None = None

    @property
    def every_s(self) -> float:
        """How often it is judged."""
        return float(self._rule.every_s)

    def add(self, interval: _core.Interval) -> bool:
        """Adds a second; returns whether the step may end."""
        if interval.start_s < self._rule.after_s:
            return False
        self._open.append(interval)
        seconds = sum(one.length_s for one in self._open)
        if seconds < self._rule.every_s * (1 - 1e-6):
            return False
        self._values.append(self._value(seconds))
        self._open = []
        if self._ended_s is None and self._rule.holds(self._values):
            self._ended_s = interval.start_s + interval.length_s
        return self.steady

    @property
    def steady(self) -> bool:
        """Whether the rule has held."""
        return self._ended_s is not None

    def conclude(self) -> str:
        """Returns what came of the rule."""
        if self._ended_s is None:
            return f"not steady before its end: {self._rule.words}"
        return f"ended steady after {self._ended_s:.0f} s: {self._rule.words}"

    def _value(self, seconds: float) -> float:
        ops = [op for one in self._open for op in one.ops]
        match self._rule.metric:
            case "iops":
                return sum(op.n for op in ops) / seconds
            case "mbps":
                return sum(op.bytes for op in ops) / 1e6 / seconds
            case "latency":
                return mean_by_count((op.n, op.mean_us) for op in ops) or 0.0
