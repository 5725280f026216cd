"""Judges a trace on drives side by side, and ranks them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fathom.catalog import device_names, load_device
from fathom.errors import FathomError, UsageError
from fathom.load.workers import Workers, as_they_end
from fathom.output.text import duration
from fathom.prediction.interval import Coverage, Spread, blocks_of, known_device, refuted, spread_of
from fathom.recommend.judge import Judged, judge
from fathom.recommend.objective import Objective
from fathom.recommend.portion import Portion
from fathom.sizing.drive import DAYS, LIFE, rated_drive
from fathom.sizing.files import Prices
from fathom.targets.twin_names import twin_name
from fathom.traces.prepare import Prepared

DRIVES = ("ssd", "disk")
"""Kinds of twins that are compared where none are named; systems only where they are."""
MOST_IOS = 200_000
"""I/Os of the trace that are replayed, the first ones."""
_SECONDS_PER_YEAR = DAYS * 86_400
HOST = "host CPU"
"""What the one thread of a replay keeps busy, by its name among resources."""
Watch = Callable[[str, int, int], None]
"""Called for every drive that is judged, with its name, the number of judged ones and the total."""


@dataclass(frozen=True)
class Candidate:
    """A drive with what its twin made of the trace. `cost` is in the currency of the prices."""

    device: str
    label: str
    judged: Judged | None
    refused: str
    """Why the twin could not replay it; empty where it did."""
    cost: float | None
    years: float | None
    """Until the host's writes have used the rated endurance; None without a rating or writes."""
    spread: Spread | None
    """How far measured rates lie from those of such twins; None where too few are published."""

    @property
    def meets(self) -> bool:
        """Returns whether it keeps up, within every objective."""
        return self.judged is not None and self.judged.meets

    @property
    def headroom(self) -> float | None:
        """Returns the factor by which the load may grow; None where it was not replayed, or is too small."""
        return self.judged.headroom if self.judged else None

    @property
    def is_bound_by_host(self) -> bool:
        """Returns whether the one thread of the replay ends the headroom, so that the drive may bear more."""
        if self.judged is None or self.judged.beyond:
            return False
        limit = self.judged.limit
        return limit is not None and limit.resource is not None and limit.resource.name == HOST

    @property
    def is_at_least(self) -> bool:
        """Returns whether the headroom is only known to be at least what is given."""
        return self.judged is not None and (self.judged.beyond or self.is_bound_by_host)

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Returns the headroom of a drive that is slower, or faster, than its twin by as much as the spread.

        None where the spread is not known, or the headroom is only a bound.
        """
        if self.spread is None or self.judged is None or self.judged.below or self.is_at_least:
            return None
        return None if self.headroom is None else self.spread.around(self.headroom)

    @property
    def refuted(self) -> Coverage | None:
        """Returns how many of the drive's published rates its range held, where those refute it; else None."""
        device = known_device(self.device)
        return refuted(device) if device else None

    @property
    def chance(self) -> float | None:
        """Returns the chance that a real drive meets the objectives too, 0..1; None where nothing is known of it.

        Nothing is known of a drive that the one thread of the replay could not ask for the load.
        """
        if self.spread is None or self.judged is None or self.headroom is None:
            return None
        if self.is_bound_by_host and not self.judged.meets:
            return None
        return self.spread.chance_above(self.headroom)


@dataclass(frozen=True)
class Recommendation:
    """Every candidate, the best first. Without an objective a drive only has to keep up."""

    name: str
    portion: Portion
    objectives: Sequence[Objective]
    prices: Prices
    candidates: Sequence[Candidate]

    @property
    def limiting(self) -> list[Objective]:
        """Returns the objectives of operations that the load has; others limit nothing."""
        return [one for one in self.objectives if self.portion.ios_of.get(one.op)]

    @property
    def best(self) -> Candidate | None:
        """Returns the recommended drive; None where none meets the objective."""
        first = self.candidates[0] if self.candidates else None
        return first if first and first.meets else None

    @property
    def scope(self) -> str:
        """Returns how much of the trace was replayed."""
        share = "all" if self.portion.whole else "the first"
        return f"{share} {self.portion.ios:,} I/Os of {self.name}, {duration(self.portion.length_s)}"


def devices_of(targets: Sequence[str]) -> list[str]:
    """Returns the devices of named twins, or every drive of the catalogue that has one.

    Raises UsageError for a target that is no single twin, or one without a model.
    """
    if not targets:
        found = [load_device(name) for name in device_names()]
        return [device.name for device in found if device.twin and device.twin.kind in DRIVES]
    names = []
    for text in targets:
        name = twin_name(text)
        if name is None or text != f"twin:{name}":
            raise UsageError(f"{text}: a recommendation replays on single twins", "name them twin:NAME")
        if load_device(name).twin is None:
            raise UsageError(f"{name} has no twin", "`fathom catalog` lists those that do")
        names.append(name)
    if repeated := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"{repeated[0]}: is named twice", "name each twin once")
    return names


def recommend(
    prepared: Prepared,
    part: Portion,
    devices: Sequence[str],
    objectives: Sequence[Objective],
    prices: Prices,
    workers: Workers,
    *,
    seed: int = 1,
    watch: Watch | None = None,
) -> Recommendation:
    """Replays on every device's twin, on all workers, and ranks: those that meet the objectives first, by cost.

    Drives without a price stand behind those with one; equals by headroom. Those that are too small follow, by what
    they lack, and then those that were not replayed.
    """
    block_bytes = _block_bytes(prepared)
    futures = {
        workers.submit(judge, device, part, prepared, tuple(objectives), seed): device for device in devices
    }
    found: list[Candidate] = []
    for done, (device, result) in enumerate(as_they_end(futures), 1):
        refused = isinstance(result, FathomError)
        judged = None if isinstance(result, FathomError) else result
        reason = str(result) if refused else ""
        found.append(_candidate(device, judged, reason, part, prices, block_bytes))
        if watch is not None:
            watch(device, done, len(futures))
    return Recommendation(prepared.name, part, objectives, prices, sorted(found, key=_rank))


def _block_bytes(prepared: Prepared) -> int | None:
    """Returns a block size of the class that all I/Os with data are in; None where they are in several."""
    sizes = [size for by_size in prepared.sizes.values() for size in by_size if size]
    return sizes[0] if len({blocks_of(size) for size in sizes}) == 1 else None


def _rank(one: Candidate) -> tuple[bool, bool, float, bool, float, int, str]:
    cost = one.cost if one.meets else None
    lacks_bytes = one.judged.lacks_bytes if one.judged else 0
    by_headroom = -(one.headroom or 0.0), lacks_bytes, one.device
    return not one.meets, cost is None, cost or 0.0, one.judged is None, *by_headroom


def _candidate(
    device: str,
    judged: Judged | None,
    refused: str,
    part: Portion,
    prices: Prices,
    block_bytes: int | None,
) -> Candidate:
    loaded = load_device(device)
    price = prices.items[device].price if device in prices.items else None
    spread = spread_of(loaded, block_bytes)
    return Candidate(device, loaded.identity.label, judged, refused, price, _years(device, part), spread)


def _years(device: str, part: Portion) -> float | None:
    try:
        life = rated_drive(device).figures.get(LIFE)
    except UsageError:
        return None
    if life is None or not part.written_bytes:
        return None
    return life.value / (part.written_bytes / part.length_s * _SECONDS_PER_YEAR)
