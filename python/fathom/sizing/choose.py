"""Chooses between systems: each in the number that the needs take, within the budget, the preferred one first."""

from collections.abc import Sequence
from dataclasses import dataclass

from fathom.errors import UsageError
from fathom.runs.home import find_run
from fathom.sizing.drive import Drive
from fathom.sizing.files import Needs, Prices
from fathom.sizing.measured import measured_drive
from fathom.sizing.size import Sizing, size
from fathom.sizing.system import StorageSystem, rated_system


@dataclass(frozen=True)
class Offer:
    """A system in the number that the needs take."""

    system: StorageSystem
    sizing: Sizing

    @property
    def count(self) -> int:
        """Number of systems; 0 where no number of them meets the needs."""
        return self.sizing.drives or 0

    @property
    def cost(self) -> float | None:
        """Cost of all of them; None where no number of them meets the needs, or the system has no price."""
        return self.count * self.system.bill.total if self.count and self.system.bill else None


@dataclass(frozen=True)
class Choice:
    """The outcome: every system, and the offers that answer all needs within the budget, the best first."""

    needs: Needs
    prices: Prices
    offers: Sequence[Offer]
    ranked: Sequence[Offer]

    @property
    def best(self) -> Offer | None:
        """The recommendation; None where no offer answers."""
        return self.ranked[0] if self.ranked else None


def systems_to_compare(
    names: Sequence[str], runs: Sequence[str], needs: Needs, prices: Prices
) -> list[StorageSystem]:
    """Returns systems of the catalogue by name, those in `runs` (`SYSTEM=RUN`) with what was measured there.

    Raises UsageError where there is no such system or run, or for a run of a system that is not compared.
    """
    measured: dict[str, Drive] = {}
    for text in runs:
        name, _, run = text.partition("=")
        if name not in names or not run:
            raise UsageError(
                f"--run {text}: names no system of this comparison",
                f"write {names[0] if names else 'SYSTEM'}=RUN",
            )
        measured[name] = measured_drive(find_run(run), needs.needs, name)
    return [rated_system(name, prices, measured.get(name)) for name in names]


def choose(needs: Needs, systems: Sequence[StorageSystem], prices: Prices) -> Choice:
    """Compares the systems. Raises UsageError where there is none, or one twice."""
    names = [system.name for system in systems]
    if not names:
        raise UsageError("no system to choose from", "`fathom catalog --kind published` lists them")
    if repeated := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"{repeated[0]}: is named twice")
    offers = [Offer(system, size(system.drive, needs.needs, needs.derate)) for system in systems]
    able = [offer for offer in offers if offer.count and is_affordable(offer, needs.budget)]
    ranked = sorted(
        (offer for offer in able if merit(offer, needs) is not None),
        key=lambda offer: merit(offer, needs) or 0,
    )
    return Choice(needs, prices, offers, ranked)


def merit(offer: Offer, needs: Needs) -> float | None:
    """Returns the value that the preference compares, lower is better; None where the offer has none."""
    wanted = needs.prefer
    if wanted.kind == "cost":
        return offer.cost
    each = offer.system.figure(wanted.kind, wanted.op)
    if each is None:
        return None
    return offer.count * each * (1 if wanted.kind == "power" else -1)


def is_affordable(offer: Offer, budget: float | None) -> bool:
    """Returns whether the offer is known to cost no more than the budget; any offer is where there is none."""
    return budget is None or (offer.cost is not None and offer.cost <= budget)
