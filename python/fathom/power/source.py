"""What a power meter's samples are read from, whatever it is."""

from typing import Protocol

from fathom.power.energy import Sample


class MeterError(Exception):
    """The meter cannot be read now: one clause that says what is wrong, for a note or an error."""


class Source(Protocol):
    """Something that gives watts with their times."""

    def read(self) -> list[Sample]:
        """Returns samples that are new since the last call, often none. Raises MeterError; may be asked again
        afterwards.
        """
        ...
