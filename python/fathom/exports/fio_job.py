"""One job in fio's options. Meanings and defaults are those of the HOWTO of fio 3.33.

NoCounterpartError is raised for what fio cannot do: the figures would be those of another test. A note describes what
fio does differently.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fathom._core import Job, JobOp
from fathom.exports.fio_addresses import align_options, pattern_options, region_options, step_text
from fathom.exports.fio_end import end_options, exceeds_pass
from fathom.exports.fio_workload import RateFromSection, Workload, workload_of
from fathom.exports.units import NoCounterpartError, Place, size_text, time_text, whole, whole_percent

#: Classes of I/O priorities by their number, from 1.
_CLASSES = ("realtime", "best-effort", "idle")
_IN_ORDER = frozenset(("sequential", "sequential-streams", "backwards", "strided", "strips"))


@dataclass(frozen=True)
class FioOptions:
    """The options of one section."""

    options: list[str]
    numjobs: int
    remark: str
    """What belongs beside the section for a reader; empty where nothing does."""


def options_of(
    job: Job,
    whole: Job,
    place: Place,
    note: Callable[[str], None],
    of_another: RateFromSection | None = None,
) -> FioOptions:
    """Returns the options of a workload of `whole`, or of `whole` itself. Raises NoCounterpartError.

    `note` is called with what differs, `of_another` stands for the rate of an open load.
    """
    workload = workload_of(job, whole, place, note, of_another)
    options = [
        *_mix(workload),
        *_blocks(workload),
        *pattern_options(workload),
        *region_options(workload),
        *_load(workload),
        *_content(workload),
        *_means(workload),
        *end_options(workload),
    ]
    _note_left_out(workload)
    return FioOptions(options, workload.numjobs, _remark(workload))


def _mix(workload: Workload) -> list[str]:
    random = workload.kind not in _IN_ORDER and not workload.job.pattern.in_order
    mixed = len(workload.ops) > 1
    if mixed and (workload.kind == "strips" or workload.job.pattern.in_order):
        raise NoCounterpartError("reads and writes together that go through zones in their order")
    rw = ("rand" if random else "") + ("rw" if mixed else workload.ops[0].op)
    options = [f"rw={rw}{step_text(workload)}"]
    if mixed:
        reads = next(op.weight for op in workload.ops if op.op == "read")
        options.append(f"rwmixread={whole_percent(reads / workload.weight, 'a share of reads')}")
        if not random and workload.job.operation_positions != "apart":
            workload.note("reads and writes each have a position, where Fathom's share one")
        if not random and exceeds_pass(workload):
            raise NoCounterpartError(
                "more than one pass of reads and writes in order: fio begins each at the start"
            )
    if workload.flushes:
        writes = next((op.weight for op in workload.ops if op.op == "write"), 0.0)
        every = whole(writes / workload.flushes)
        if not every:
            raise NoCounterpartError("flushes that are not one for a whole number of writes")
        options.append(f"fsync={every}")
        workload.note(
            "a flush comes after a fixed number of writes and is waited for, where Fathom's are at random"
        )
    if workload.job.flush_every:
        if mixed:
            raise NoCounterpartError("flushes after writes that go beside other I/O")
        options.append(f"fsync={workload.job.flush_every}")
    if workload.has("trim") and workload.iodepth > 1:
        workload.note("fio waits for each trim, whatever the iodepth")
    return options


def _blocks(workload: Workload) -> list[str]:
    several = any(len(op.sizes) > 1 for op in workload.ops)
    made = _bssplit if several else _bs
    texts = [made(op.sizes) for op in workload.ops]
    options = [f"{'bssplit' if several else 'bs'}={','.join(dict.fromkeys(texts))}"]
    return [*options, *align_options(workload)]


def _load(workload: Workload) -> list[str]:
    options = [f"numjobs={workload.numjobs}", f"iodepth={workload.iodepth}"]
    if workload.job.arrival is not None:
        options += _rate(workload)
    if think_ns := workload.job.think_ns:
        options.append(f"thinktime={time_text(think_ns)}")
    if (reap := workload.job.reap) > 1:
        options.append(f"iodepth_batch_complete_min={reap}")
    return options


def _rate(workload: Workload) -> list[str]:
    arrival, rate_iops = workload.job.arrival or "", workload.job.rate_iops or 0.0
    processes = {"exponential": "poisson", "deterministic": "linear"}
    process = processes.get(arrival)
    if process is None:
        raise NoCounterpartError(f"{arrival} arrivals")
    workload.note("a rate slows the closed loop down, and latency counts from submission: fio has no backlog")
    key, shares = "rate_iops", _shares(workload)
    if workload.of_another:
        rates = list(_terms(workload, workload.of_another))
    elif any(len(op.sizes) > 1 for op in workload.ops):
        # fio would count each block as the smallest.
        key, means = "rate", map(_mean_bytes, workload.ops)
        rates = [
            str(max(1, round(rate_iops * share * mean))) for share, mean in zip(shares, means, strict=True)
        ]
    else:
        rates = [str(_each(workload, rate_iops * share)) for share in shares]
    return [
        f"{key}={','.join(rates)}",
        *([f"rate_process={process}"] if process == "poisson" else []),
    ]


def _each(workload: Workload, rate_iops: float) -> int:
    rounded = round(rate_iops)
    if not rounded:
        raise NoCounterpartError("less than one I/O per second and job")
    if whole(rate_iops) is None:
        workload.note(f"rates are whole numbers: {rounded} of {rate_iops:.6g} I/O per second of each job")
    return rounded


def _terms(workload: Workload, other: RateFromSection) -> dict[str, float]:
    """Returns a letter for the rate of each operation, with its factor of the other section's IOPS.

    fio counts a rate of I/Os in blocks of the smallest size.
    """
    letters = ("R", "W") if len(workload.ops) > 1 else ("R",)
    factors = (
        other.share * share * _mean_bytes(op) / min(size for size, _ in op.sizes)
        for op, share in zip(workload.ops, _shares(workload), strict=True)
    )
    return dict(zip(letters, factors, strict=True))


def _mean_bytes(op: JobOp) -> float:
    """Returns the mean size of an operation's blocks."""
    return sum(size * weight for size, weight in op.sizes) / sum(weight for _, weight in op.sizes)


def _shares(workload: Workload) -> list[float]:
    """Returns the part of the rate that each operation of one job has."""
    return [op.weight / workload.weight / workload.numjobs for op in workload.ops]


def _remark(workload: Workload) -> str:
    """Returns what the letters stand for."""
    other = workload.of_another
    if other is None or workload.job.arrival is None:
        return ""
    terms = [f"{letter} = {factor:.6g}" for letter, factor in _terms(workload, other).items()]
    return (
        f"{100 * other.share:g} % of the IOPS of [{other.section}]: {' and '.join(terms)} times its IOPS, all "
        "operations together"
    )


def _content(workload: Workload) -> list[str]:
    job = workload.job
    options: list[str] = []
    if job.verifies:
        workload.note(
            "blocks do not describe themselves, and reads are not checked: fio's verify has its own format"
        )
    if not workload.has("write"):
        return options
    if job.compressible:
        percent = whole_percent(job.compressible, "compressible data")
        options += [f"buffer_compress_percentage={percent}", "buffer_compress_chunk=4k"]
    if job.write_pattern:
        options.append(f"buffer_pattern={job.write_pattern}")
    if dedup := job.dedup:
        options.append(f"dedupe_percentage={whole_percent(dedup, 'copies')}")
    return options


def _means(workload: Workload) -> list[str]:
    options = [] if workload.whole.direct else ["direct=0"]
    if sync := workload.whole.sync:
        options.append(f"sync={'dsync' if sync == 'data' else 'sync'}")
    if workload.job.priority:
        kind, level = workload.job.priority
        options.append(f"prioclass={_CLASSES.index(kind) + 1}")
        options += [f"prio={level}"] if level else []
    options += _priority_shares(workload)
    if workload.whole.sqpoll:
        options.append("sqthread_poll=1")
    if workload.whole.huge_pages:
        options.append("iomem=mmaphuge")
    return options


def _priority_shares(workload: Workload) -> list[str]:
    if not (shares := workload.job.priority_shares):
        return []
    texts: list[str] = []
    for op in ("read", "write"):
        entries: list[str] = []
        sizes = sorted({size_bytes for one in workload.ops if one.op == op for size_bytes, _ in one.sizes})
        for share, (of_op, of_block), (kind, level), limit in shares:
            entry = f"{whole_percent(share, 'a share of the I/O')}/{_CLASSES.index(kind) + 1}/{level}"
            entries += [
                f"{size_text(size_bytes)}/{entry}{f'/{limit}' if limit else ''}"
                for size_bytes in sizes
                if of_op in (None, op) and of_block in (None, size_bytes)
            ]
        texts.append(":".join(entries))
    return [f"cmdprio_bssplit={','.join(texts)}"]


def _note_left_out(workload: Workload) -> None:
    if workload.whole.gpu:
        workload.note("reads end in host memory: fio's io_uring does not bring them to a GPU")
    if workload.job.journal:
        workload.note("the journal of acknowledged writes has no counterpart and is left out")
    if workload.job.is_split(hosts=True):
        workload.note("the load is meant for all targets together; here one target gets it all")
    if workload.whole.errors_most:
        workload.note("the first error ends a job, where Fathom accepts some")


def _bs(sizes: Sequence[tuple[int, float]]) -> str:
    return size_text(sizes[0][0])


def _bssplit(sizes: Sequence[tuple[int, float]]) -> str:
    total = sum(weight for _, weight in sizes)
    return ":".join(
        f"{size_text(size_bytes)}/{whole_percent(weight / total, 'block sizes with shares')}"
        for size_bytes, weight in sizes
    )
