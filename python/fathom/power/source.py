"""The protocol for sources of a power meter's samples."""

from typing import Protocol

from fathom.power.energy import Sample


class MeterError(Exception):
    """The meter cannot be read now. Its text is one clause, for a note or an error."""


class Source(Protocol):
    """A source of watts with their times."""

    def read(self) -> list[Sample]:
        """Returns samples that are new since the last call, often none. Raises MeterError; may be asked again
        afterwards.
        """
        ...
