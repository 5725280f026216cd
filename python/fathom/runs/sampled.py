"""Samples from outside the backend, summed for a step of one target or several parts."""

from collections.abc import Sequence
from dataclasses import dataclass

from fathom.columns.schema import Reading


@dataclass(frozen=True)
class Sampled:
    """The readings of a step on `target`, whose parts have readings of their own."""

    readings: Sequence[Reading]
    target: str
    parts: Sequence[str]

    def total(self, name: str) -> float:
        """Returns the sum of a value over the target or all its parts; 0 where one of them has none."""
        return sum(value for value, _ in self._each(name))

    def per_s(self, name: str) -> float | None:
        """Returns a value per second of the target or all its parts, each by its own time; None where one has none."""
        rates = [value / seconds for value, seconds in self._each(name)]
        return sum(rates) if rates else None

    def _each(self, name: str) -> Sequence[tuple[float, float]]:
        """Returns the sum and the sampled time of the target, or of each of its parts; none where one has none."""
        by_target = [
            [row for row in self.readings if row.target == one and row.name == name]
            for one in (self.target, *self.parts)
        ]
        chosen = by_target[:1] if by_target[0] else by_target[1:]
        sums = [(sum(row.value for row in rows), sum(row.length_s for row in rows)) for rows in chosen]
        return sums if all(seconds for _, seconds in sums) else ()

    def written_together(self) -> tuple[list[float], list[float]]:
        """Returns the bytes that the host wrote, and the media, in each sample that has both."""
        host, media = (
            {
                row.start_s: row.value
                for row in self.readings
                if row.target == self.target and row.name == name
            }
            for name in ("host_write_bytes", "media_write_bytes")
        )
        both = [start_s for start_s in host if start_s in media]
        return [host[start_s] for start_s in both], [media[start_s] for start_s in both]

    def client_busy_pct(self) -> float | None:
        """Returns the mean busy share of the client's processors; None where it was not sampled.

        In a fleet each host samples its own part; a single machine samples for all targets.
        """
        own = [row for row in self.readings if row.name == "cpu_busy" and row.target in (None, self.target)]
        seconds = sum(row.length_s for row in own)
        return sum(row.value * row.length_s for row in own) / seconds if seconds else None
