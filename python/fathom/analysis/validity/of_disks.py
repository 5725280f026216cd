"""Rules on disks: what their random writes do not show."""

from collections.abc import Iterable

from fathom.analysis.disk_caches import MEDIA_CACHE_BYTES, may_be_shingled, writes_at_random
from fathom.analysis.run_view import RunView
from fathom.analysis.validity.note import Note
from fathom.output.text import capacity


def maybe_shingled(view: RunView) -> Iterable[Note]:
    """Yields a note where random writes of a real disk may have gone to the media cache of drive-managed SMR.

    One per target, on the first step.
    """
    written = view.written_bytes()
    least, most = MEDIA_CACHE_BYTES
    for target in view.document.targets:
        origin = view.origin_of(target)
        drives = origin.drives or [target]
        if target.name in view.totals or not all(map(may_be_shingled, drives)):
            continue
        random = [step for step, job in origin.jobs.items() if writes_at_random(job)]
        random_bytes = sum(written.get((target.name, step), 0) for step in random) / len(drives)
        first = next((step for step in random if (target.name, step) in view.steps), None)
        if first is None or random_bytes >= most:
            continue
        yield Note(
            "maybe-shingled",
            "warning",
            target.name,
            first,
            f"{capacity(random_bytes)} were written at random. A drive-managed SMR disk also reports no zones, and "
            f"slows down many times once its media cache of {least / 1e9:.0f} to {most / 1e9:.0f} GB is full",
            "look up in its data sheet whether it is CMR",
        )
