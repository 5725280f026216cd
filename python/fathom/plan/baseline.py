"""The drive of a system as a second target, which methods about added latency need."""

from collections.abc import Sequence

from fathom.load.resolve import resolve_targets
from fathom.method.method import AGAINST_ITS_DRIVE, Method
from fathom.targets.target import Target


def with_baselines(method: Method, targets: Sequence[Target]) -> list[Target]:
    """Returns the targets, followed by the drives of simulated systems if the method compares with them."""
    named = {target.name for target in targets}
    found = [f"twin:{name}" for target in targets if (name := _baseline(target))]
    missing = [name for name in dict.fromkeys(found) if name not in named]
    return [*targets, *(resolve_targets(missing) if method.name in AGAINST_ITS_DRIVE and missing else [])]


def _baseline(target: Target) -> str | None:
    if target.kind != "twin" or target.catalog is None:
        return None
    from fathom.catalog import load_device

    twin = load_device(target.catalog).twin
    return twin.baseline if twin else None
