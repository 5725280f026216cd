"""The main job: the right method for each target, one run, one report."""

from pathlib import Path

from fathom.load.initiator import Initiator
from fathom.method.compose import compose
from fathom.method.method import Method, load_method
from fathom.plan.prepare import Words, completed, prepare
from fathom.targets.scratch import scratch_file
from fathom.targets.target import Target

#: The drives of the SN861 review, which the default compares with this machine's own disk.
DEFAULT_TWINS = (
    "twin:wd-ultrastar-dc-sn861-7.68tb",
    "twin:kioxia-cm7-r-7.68tb",
    "twin:samsung-pm1743-7.68tb",
    "twin:samsung-pm9a3-7.68tb",
)
SCRATCH_BYTES = 4 << 30


FULL = ("four-corners", "rate-curves", "application-mixes", "data-placement")
"""What a full review runs."""


def review_method(*, full: bool) -> Method:
    """Returns the method that a review runs: the four corners, quick; or in full, all that a drive is reviewed by."""
    if not full:
        return load_method("four-corners", quick=True)
    return compose(
        "review",
        "Review: four corners, rate curves, application mixes, data placement",
        "How fast is one drive at its peaks, what does latency cost as load rises, how does it serve data bases and "
        "virtual desktops, and what does it write when workloads share it?",
        [load_method(name) for name in FULL],
    )


def review_targets(
    method: Method,
    texts: Words,
    scratch_directory: Path | None,
    size_bytes: int | None,
    initiator: Initiator,
) -> list[Target]:
    """Returns the targets of a review: those given, or a scratch file on this machine's disk beside four twins.

    The directory is made where it is missing.
    """
    if texts:
        return prepare(method, texts, initiator, size_bytes)
    if scratch_directory is not None:
        scratch_directory.mkdir(parents=True, exist_ok=True)
    mine = scratch_file(scratch_directory, size_bytes or SCRATCH_BYTES)
    return completed(method, [mine, *initiator.resolve(DEFAULT_TWINS)], size_bytes)
