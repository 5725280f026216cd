"""What would change a recommendation: needs that grow, prices that move, another preference."""

from collections.abc import Iterator
from math import ceil

from fathom.output.text import percent
from fathom.sizing.choose import Choice, choose
from fathom.sizing.files import parse_preference
from fathom.sizing.reasons import LEVEL
from fathom.sizing.terminal import room_text

PREFERENCES = ("least cost", "least power", "most capacity", "most GB/s read", "most IOPS 70/30")


def changes(choice: Choice) -> list[str]:
    """Returns a sentence for each thing that would change it; none where nothing is recommended."""
    return [*_growth(choice), *_price(choice), *_preferences(choice)] if choice.best else []


def _growth(choice: Choice) -> Iterator[str]:
    """Yields by how much the binding need may grow before one more system is needed."""
    best = choice.best
    floors = best.sizing.floors if best else []
    if best and floors and floors[0].each and floors[0].need.kind != "latency":
        binding = floors[0]
        room = best.count * (binding.each or 0.0) / binding.need.amount - 1
        yield f"{binding.need.text} may grow by {room_text(room)} before {best.count + 1:,} systems are needed"


def _price(choice: Choice) -> Iterator[str]:
    """Yields by how much the second's price would have to fall to come first."""
    if choice.needs.prefer.kind != "cost" or len(choice.ranked) < 2:
        return
    best, second = choice.ranked[:2]
    if best.cost and second.cost and second.cost > best.cost:
        fall = 1 - best.cost / second.cost
        near = ", which is less than prices are known to" if fall < LEVEL else ""
        enough = percent(ceil(100 * fall) / 100)
        yield f"the second, {second.system.label}, comes first if it costs {enough} less{near}"


def _preferences(choice: Choice) -> Iterator[str]:
    """Yields who comes first by each other preference, where that is another."""
    best = choice.best
    for text in PREFERENCES:
        if text == choice.needs.prefer.text or best is None:
            continue
        needs = choice.needs.model_copy(update={"prefer": parse_preference(text)})
        other = choose(needs, [offer.system for offer in choice.offers], choice.prices).best
        if other and other.system.name != best.system.name:
            yield f"with {text} preferred, {other.count} x {other.system.label} comes first"
