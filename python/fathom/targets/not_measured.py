"""What cannot be sampled of a machine or a target, as values; the words for people."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum


class Quantity(StrEnum):
    """What a sampler looks for, by its name for people."""

    DRIVE = "traffic, temperature, media writes and WAF"
    TRAFFIC = "traffic of the device"
    ENERGY = "energy"
    """The energy of a drive; a power meter measures it too."""
    MEDIA_WRITES = "media writes and WAF"
    TEMPERATURE = "temperature"
    CPU_FREQUENCY = "CPU frequency"
    CPU_ENERGY = "CPU package energy"
    CPU_THROTTLING = "CPU thermal throttling"
    NETWORK = "network traffic"


@dataclass(frozen=True, slots=True)
class NotMeasured:
    """A quantity that cannot be sampled, and why.

    `of` is the target; None: the machine. `where` names the hosts of a fleet, `every host` or `host a, b`. Journals of
    earlier versions have no quantity, and all words in `why`.
    """

    quantity: Quantity | None
    why: str
    of: str | None = None
    where: str = ""

    @classmethod
    def from_event(cls, event: Mapping[str, object]) -> "NotMeasured":
        """Returns what a journal's event `not-measured` says."""
        try:
            quantity = Quantity(str(event.get("quantity")))
        except ValueError:
            return cls(None, str(event["text"]))
        of = event.get("of")
        return cls(
            quantity, str(event.get("why")), None if of is None else str(of), str(event.get("where", ""))
        )

    def to_event(self) -> dict[str, str | None]:
        """Returns the values for the journal, and `text`: the words."""
        return asdict(self) | {"text": f"{self.subject}: {self.reason}" if self.quantity else self.why}

    @property
    def subject(self) -> str:
        """What cannot be sampled: `energy of /dev/nvme0n1`."""
        return f"{self.quantity} of {self.of}" if self.of else f"{self.quantity or ''}"

    @property
    def reason(self) -> str:
        """Why, and on which hosts."""
        return f"{self.why}, on {self.where}" if self.where else self.why
