"""Rules on what was read and written: regions, blocks never written, data that shrinks."""

from collections.abc import Iterable

from fathom.analysis.mechanics import VIRTUAL
from fathom.analysis.run_view import RunView
from fathom.analysis.validity.note import Note
from fathom.method.job import fixed_bytes
from fathom.output.text import in_others, percent

SMALL_REGION = 0.10
UNMAPPED_LEAST = 0.005
"""Fewer reads of blocks never written do not change a figure noticeably. A fill whose block does not divide the region
leaves some at its end.
"""

CROWDED_SHARE = 0.3
"""A file beyond this share of a slice makes cleaning cost more than a nearly empty drive does, noticeably."""


def unmapped(view: RunView) -> Iterable[Note]:
    """Yields a note where blocks were read that were never written: one per target, on the step with the greatest
    share.
    """
    unmapped = view.total("unmapped_reads")
    found: dict[str, list[tuple[float, str]]] = {}
    for key, figures in view.steps.items():
        reads = sum(row.n or 0 for row in figures.rows if row.op == "read")
        count = unmapped.get(key, 0)
        if reads and count > UNMAPPED_LEAST * reads:
            found.setdefault(key[0], []).append((min(count / reads, 1.0), key[1]))
    for target, steps in found.items():
        share, step = max(steps, key=lambda one: one[0])
        yield Note(
            "unmapped-reads",
            "warning",
            target,
            step,
            f"{percent(share, '.1f')} of the reads went to blocks never written, which a device answers without "
            f"reading its medium{in_others('less', len(steps) - 1, 'step')}",
            "run without --quick: the shortened fill writes too little of the region"
            if view.document.quick
            else "fill the region first",
        )


def compressible(view: RunView) -> Iterable[Note]:
    """Yields a note where written data can shrink on its way."""
    kinds = {
        "compressible": ("compressible-data", "compresses away: a device that compresses writes less"),
        "dedup": ("duplicate-data", "are copies: a device that removes duplicates writes less"),
    }
    for step, whole in view.jobs.items():
        for stream, job in (whole.streams or {"": whole}).items():
            if not job.writes:
                continue
            of = f" of stream {stream}" if stream else ""
            if job.write_pattern:
                text = (
                    f"all blocks written{of} repeat {job.write_pattern}: a device that compresses writes next to "
                    "nothing"
                )
                yield Note(
                    "compressible-data", "info", None, step, text, "compare only with runs of the same data"
                )
            shares = {"compressible": job.compressible, "dedup": job.dedup}
            for key, (rule, effect) in kinds.items():
                if share := shares[key]:
                    text = f"{percent(share)} of the written data{of} {effect}"
                    yield Note(
                        rule, "info", None, step, text, "compare only with runs that have the same share"
                    )


def small_region(view: RunView) -> Iterable[Note]:
    """Yields a note where a small part of the device was touched."""
    for target in view.real_targets:
        whole = target.identity.get("size_bytes")
        jobs = [view.jobs[step] for step in view.measured_on(target.name) if step in view.jobs]
        if not isinstance(whole, int) or whole <= 0 or not jobs:
            continue
        widest = max(job.region_on(target.known_bytes)[1] for job in jobs)
        if widest < SMALL_REGION * whole:
            rotates, transport = (target.identity.get(name) for name in ("rotational", "transport"))
            disk = rotates is True and transport not in VIRTUAL
            effect = (
                "seeks are shorter than over the whole disk"
                if disk
                else "caches and mapping tables cover more of it"
            )
            yield Note(
                "small-region",
                "warning" if disk else "info",
                target.name,
                None,
                f"the test touched {_size(widest)}, {percent(widest / whole, '.2f')} of the device: {effect}",
                "test a larger part before concluding about the whole device",
            )


def cut_region(view: RunView) -> Iterable[Note]:
    """Yields a note where the target is smaller than the method means."""
    meant = max((job.region_size.up_to or 0 for job in view.jobs.values()), default=0)
    for target in view.document.targets:
        drives = len(view.document.drives_of(target))
        capacity = target.known_bytes * (target.scale or 1) / max(1, drives)
        if target.part_of is None and capacity < meant:
            yield Note(
                "cut-region",
                "warning",
                target.name,
                None,
                f"the method asks for a region of {_size(meant)}, the target has {_size(capacity)}: caches hold "
                "more of it and seeks are shorter",
                "use a larger target or --size before comparing with others",
            )


def crowded_slice(view: RunView) -> Iterable[Note]:
    """Yields a note where a twin's file takes a large part of the slice that is simulated, and less of the drive."""
    jobs = [job for job in view.jobs.values() if job.writes and job.pattern.kind != "sequential"]
    for target in view.document.targets:
        scale, drives = target.scale or 1, len(view.document.drives_of(target)) or 1
        if scale >= 1 or target.part_of is not None or not target.identity.get("file_system"):
            continue
        drive_bytes = target.known_bytes // drives
        most = max((fixed_bytes(job, drive_bytes) for job in jobs), default=0)
        if most > CROWDED_SHARE * scale * drive_bytes:
            slice_bytes = scale * drive_bytes
            yield Note(
                "crowded-slice",
                "warning",
                target.name,
                None,
                f"the file of {_size(most)} takes {percent(most / slice_bytes)} of the {_size(slice_bytes)} that "
                f"the twin simulates, and {percent(most / drive_bytes, '.2g')} of the drive: its random writes clean "
                "as on a fuller drive",
                "simulate more of the drive with a smaller slice_denominator",
            )


def _size(size_bytes: float) -> str:
    for unit, factor in (("TiB", 2**40), ("GiB", 2**30)):
        if size_bytes >= factor:
            return f"{size_bytes / factor:.3g} {unit}"
    return f"{size_bytes / 2**20:.3g} MiB"
