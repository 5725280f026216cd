"""Every option of fio, and what becomes of it in a method: applied, noted or refused.

Names and meanings are those of fio 3.33 (`fio --cmdhelp=all`, `fio --enghelp=ENGINE`). Those of later
versions, up to 3.42, are marked.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from fathom.imports.fio_engine_options import OF_ENGINES


class Use(StrEnum):
    """What becomes of an option."""

    APPLIED = "applied"
    NOTED = "noted"
    REFUSED = "refused"


@dataclass(frozen=True)
class FioOption:
    """An option, what becomes of it, and what the method does instead.

    `neutral` are values with which it asks for nothing that a method would not do anyway.
    """

    name: str
    use: Use
    says: str
    aliases: tuple[str, ...] = ()
    neutral: tuple[str, ...] = ()


def _applied(says: str, *names: str) -> Iterable[FioOption]:
    return (_option(name, Use.APPLIED, says) for name in names)


def _noted(says: str, *names: str) -> Iterable[FioOption]:
    return (_option(name, Use.NOTED, says) for name in names)


def _refused(says: str, *names: str) -> Iterable[FioOption]:
    return (_option(name, Use.REFUSED, says) for name in names)


def _option(text: str, use: Use, says: str) -> FioOption:
    """From `name/alias/alias=value,value`: the values are neutral."""
    names, _, values = text.partition("=")
    name, *aliases = names.split("/")
    return FioOption(name, use, says, tuple(aliases), tuple(values.split(",")) if values else ())


REPORTS = "says how fio reports and logs; a run directory has all of it"
_DRAWS = "Fathom draws by its own generator, from `--seed`"
_LAYOUT = "says how fio makes its files; Fathom makes its own, with their room reserved"
_PLACE = (
    "sets the processors, memory or account of fio itself; start Fathom with taskset, numactl or nice instead"
)
_FEEDBACK = "searches for the depth that meets a latency; a curve with `slo` searches for the rate"
_REPLAY = "replays a recorded trace"
_AFTER = "adds I/O after or between that of the job"
_SET = "makes sets of files"
_KERNEL = "asks the kernel for I/O of another kind"
_LATER_DATA = "later fio: protection information or data of another kind"

_ALL: tuple[FioOption, ...] = (
    *_applied("the step's label", "description"),
    *_applied("the step's name", "name"),
    *_applied("the target: a device, or a file of that name", "filename"),
    *_applied("where the job's files lie", "directory"),
    *_applied("`mix` and `pattern`", "rw/readwrite"),
    *_applied("who submits: libaio, io_uring, posixaio and their like, or one I/O at a time", "ioengine"),
    *_applied("`load.iodepth`", "iodepth"),
    *_applied("`load.reap`", "iodepth_batch_complete_min/iodepth_batch_complete"),
    *_applied("`region` and `until`", "size", "io_size/io_limit", "offset/fileoffset", "number_ios"),
    *_applied("a region for each job: streams, or parts of one region", "offset_increment"),
    *_applied("`until`, as often as this", "loops"),
    *_applied("`load.threads`, or a file for each job", "numjobs"),
    *_applied("`until.time`", "runtime/timeout"),
    *_applied("the job ends by its runtime alone", "time_based"),
    *_applied("a step before, which is recorded and not counted", "ramp_time"),
    *_applied("`block`", "bs/blocksize", "bssplit/bs_split", "bsrange/blocksize_range"),
    *_applied("`align`", "ba/blockalign"),
    *_applied("`mix`; the later of the two counts", "rwmixread", "rwmixwrite"),
    *_applied("`pattern`", "norandommap", "random_distribution", "percentage_random"),
    *_applied("`direct`; the later of the two counts", "direct", "buffered"),
    *_applied("`sync`", "sync"),
    *_applied("`flush_every`", "fsync", "fdatasync"),
    *_applied("`load.think`, of jobs with one I/O in flight", "thinktime"),
    *_applied("`load.rate`", "rate", "rate_iops", "rate_process"),
    *_applied(
        "`content.verify`, with data of Fathom's own, and a step that reads them back", "verify", "do_verify"
    ),
    *_applied("`content`", "zero_buffers", "buffer_compress_percentage", "dedupe_percentage"),
    *_applied("`content.pattern`; a file, an offset and a number above 255 are refused", "buffer_pattern"),
    *_applied("`priority`", "prio", "prioclass"),
    *_applied("the pattern `zones` or `strips`", "zonemode"),
    *_applied(
        "zones that all jobs, or each, keep open; without it as many as the device allows",
        "max_open_zones",
        "job_max_open_zones",
    ),
    *_applied("`zones`, or the pattern `strips`", "zonesize", "zoneskip", "zonerange"),
    *_applied("`reset` of `zones`", "zone_reset_threshold", "zone_reset_frequency"),
    *_applied("later fio: the pattern `blocks`", "random_sequence_stride"),
    *_applied("later fio: the pattern `one-pass`", "sprandom", "spr_op", "spr_num_regions"),
    *_applied(
        "`until_steady` of the step",
        *("steadystate/ss", "steadystate_duration/ss_dur", "steadystate_ramp_time/ss_ramp"),
    ),
    *_applied("later fio: `until_steady` of the step", "steadystate_check_interval/ss_interval"),
    *_applied("`until`: the whole device, or file", "fill_device/fill_fs"),
    *_applied("`huge_pages`, where it asks for them", "mem/iomem"),
    *_applied("what a size's unit stands for", "kb_base"),
    *_applied("a further step", "stonewall/wait_for_previous"),
    *_applied("`files`, where it is more than one", "nrfiles/nr_files"),
    *_applied("`files.select` and `files.visit`", "file_service_type"),
    *_applied("`files.open`", "openfiles"),
    *_applied("the file's size, where it is the job's", "filesize"),
    *_applied("files are filled before", "overwrite"),
    *_applied("nothing: each step begins with none of its target's pages in the cache", "invalidate"),
    *_applied("a further step, where the job before it is the one that it waits for", "wait_for"),
    *_applied("an idle step before the first jobs, or a rate that begins later", "startdelay"),
    *_applied("`exitall` of streams, where they do not end together anyway", "exitall", "exit_what"),
    *_applied("`flow` of streams", "flow", "flow_id", "flow_sleep"),
    *_applied("names of a job's own files", "filename_format"),
    *_applied("later fio: `placement`", "fdp_pli/plids"),
    *_noted(
        REPORTS,
        *("group_reporting", "new_group", "per_job_logs", "write_bw_log", "write_lat_log", "write_iops_log"),
        *(
            "write_hist_log",
            "log_entries",
            "log_avg_msec",
            "log_hist_msec",
            "log_hist_coarseness",
            "log_max_value",
        ),
        *("log_offset", "log_prio", "log_compression", "log_compression_cpus", "log_store_compressed"),
        *("log_unix_epoch", "log_alternate_epoch", "log_alternate_epoch_clock_id", "block_error_percentiles"),
        *("bwavgtime", "iopsavgtime", "stats", "clat_percentiles", "lat_percentiles", "slat_percentiles"),
        *(
            "percentile_list",
            "significant_figures",
            "disk_util",
            "gtod_reduce",
            "disable_lat",
            "disable_clat",
        ),
        *(
            "disable_slat",
            "disable_bw_measurement/disable_bw",
            "unified_rw_reporting",
            "unit_base",
            "clocksource",
        ),
        *("write_iolog", "log_window_value", "log_issue_time", "log_entries", "eta", "job_start_clock_id"),
    ),
    *_noted(_DRAWS, "randrepeat", "randseed", "allrandrepeat", "random_generator", "softrandommap"),
    *_noted(
        _LAYOUT,
        "create_serialize",
        "create_fsync",
        "create_on_open",
        "fallocate",
        "unlink",
        "unique_filename",
    ),
    *_noted(_LAYOUT, "allow_file_create=1", "truncate"),
    *_noted(
        _PLACE, "cpus_allowed", "cpumask", "cpus_allowed_policy", "numa_cpu_nodes", "numa_mem_policy", "nice"
    ),
    *_noted(_PLACE, "uid", "gid", "gtod_cpu"),
    *_noted("Fathom's load is threads of one process, in any case", "thread/threads"),
    *_noted(
        "Fathom chooses how its buffers are aligned, and the size of their pages",
        "iomem_align/mem_align",
        "hugepage-size",
    ),
    *_noted("Fathom writes to nothing that is mounted", "allow_mounted_write=0"),
    *_noted(
        "a failed I/O is counted and the step goes on", "continue_on_error", "ignore_error", "error_dump"
    ),
    *_noted("a failed or late I/O ends no other step", "exitall_on_error", "max_latency=0"),
    *_noted("a rate that is not reached is a note of the report", "rate_min/ratemin", "rate_iops_min"),
    *_noted("rates are kept at every moment, not on average over a cycle", "rate_cycle/ratecycle"),
    *_noted(
        "I/O is put in flight as soon as there is room, so the queue is deeper on average",
        "iodepth_batch/iodepth_batch_submit=1",
    ),
    *_noted("a thread takes all completions that there are", "iodepth_batch_complete_max"),
    *_noted("the thread that draws an I/O submits it", "io_submit_mode=inline"),
    *_noted("no advice is given to the kernel", "fadvise_hint"),
    *_noted("no two blocks written are equal, as with refill_buffers", "refill_buffers", "scramble_buffers"),
    *_noted("data compress alike in every 4 KiB", "buffer_compress_chunk"),
    *_noted(
        "as many blocks are copies, but of 256 units for all jobs",
        "dedupe_mode=repeat",
        "dedupe_global=0",
        "dedupe_working_set_percentage",
    ),
    *_noted("is not executed: do it before the run", "exec_prerun", "exec_postrun"),
    *_noted(
        "blocks carry Fathom's own checksums",
        "verify_interval",
        "verify_offset",
        "verify_pattern",
        "verify_fatal",
    ),
    *_noted("blocks carry Fathom's own checksums", "verify_dump", "verify_async", "verify_async_cpus"),
    *_noted("blocks carry Fathom's own checksums", "verify_state_save", "verifysort", "verifysort_nr"),
    *_noted(
        "later fio: blocks carry Fathom's own checksums",
        "verify_pattern_interval",
        "verify_write_sequence",
        "verify_header_seed",
    ),
    *_noted("zones are those of the device", "zonecapacity=0"),
    *_noted("has no effect, and none in fio either", "rwmixcycle", "percentage_sequential", "flow_watermark"),
    *_noted("has no effect without cgroup", "cgroup_nodelete"),
    *_noted("nothing is trimmed here", "trim_verify_zero"),
    *_noted("later fio: says what each file is; Fathom looks itself", "filetype"),
    *_noted("later fio: names fio's processes", "comm"),
    *_noted("later fio: data placement is asked for by placement handles alone", "fdp", "dataplacement"),
    *_refused(_SET, "opendir", "file_append=0", "unlink_each_loop=0"),
    *_refused("makes files and does no I/O", "create_only=0"),
    *_refused("locks files against other jobs", "lockfile=none"),
    *_refused("reads whole files before", "pre_read=0"),
    *_refused("leaves less memory for the page cache", "lockmem=0"),
    *_refused("is another order of offsets", "rw_sequencer=sequential", "bs_is_seq_rand=0", "offset_align=0"),
    *_refused("makes blocks of odd sizes", "bs_unaligned/blocksize_unaligned=0"),
    *_refused("keeps fewer I/Os in flight than iodepth", "iodepth_low", "serialize_overlap=0"),
    *_refused(_FEEDBACK, "latency_target=0", "latency_window=0", "latency_percentile", "latency_run=0"),
    *_refused("chooses a workload of fio's own", "profile"),
    *_refused("pauses in another way than after each I/O", "thinktime_spin=0", "thinktime_blocks=1"),
    *_refused("pauses in another way than after each I/O", "thinktime_blocks_type", "thinktime_iotime=0"),
    *_refused("pauses in another way than after each I/O", "rate_ignore_thinktime=0"),
    *_refused(
        _REPLAY,
        "read_iolog",
        "read_iolog_chunked=0",
        "replay_no_stall=0",
        "replay_redirect",
        "replay_scale=1",
    ),
    *_refused(_REPLAY, "replay_align", "replay_time_scale=100", "replay_skip", "merge_blktrace_file"),
    *_refused(_REPLAY, "merge_blktrace_scalars", "merge_blktrace_iters"),
    *_refused(_KERNEL, "sync_file_range", "write_barrier=0", "atomic=0", "write_hint=none", "ioscheduler"),
    *_refused("the flush at the end counts in the time of the job", "end_fsync=0", "fsync_on_close=0"),
    *_refused("later fio: the flush at the end counts in the time of the job", "end_syncfs=0"),
    *_refused("gives drives a limit of latency (command duration limits)", "priohint"),
    *_refused("makes a control group for the job; run Fathom in one", "cgroup", "cgroup_weight"),
    *_refused("later fio: ends the uncounted time by bytes; ramp_time has a counterpart", "ramp_size"),
    *_refused("later fio: pauses by spinning for processor cycles", "thinkcycles=0"),
    *_refused(
        "reads blocks back between writes, or alone, which makes another load than after them",
        "verify_only=0",
        "verify_backlog=0",
    ),
    *_refused(
        "reads blocks back between writes, or alone, which makes another load than after them",
        "verify_backlog_batch",
        "verify_state_load=0",
    ),
    *_refused(
        "reads blocks back between writes, or alone, which makes another load than after them",
        "experimental_verify=0",
    ),
    *_refused("later fio: reads blocks back after a crash", "verify_policy=completed"),
    *_refused(_AFTER, "trim_percentage=0", "trim_backlog=0", "trim_backlog_batch"),
    *_refused("goes through zones in another way", "read_beyond_wp=0"),
    *_refused("goes through zones in another way", "write_zone_remainder=0"),
    *_refused("goes through zones in another way", "ignore_zone_limits=0"),
    *_refused("goes through zones in another way", "recover_zbd_write_error=0"),
    *_refused(
        "later fio: chooses placement handles in another way", "fdp_pli_select/plid_select", "dp_scheme"
    ),
    *_refused(
        _LATER_DATA, "pi_act", "pi_chk", "apptag", "apptag_mask", "md_per_io_size=0", "write_mode=write"
    ),
    *_refused(_LATER_DATA, "verify_mode=read", "read_mode=read", "verify_bytchk=0", "deac=0", "pi_type"),
    *_refused("later fio: chooses the SCSI command's length", "cdb_len=0"),
    *_refused("later fio: writes again later than sprandom does by itself", "spr_cs=0"),
    *_refused("later fio: trims several ranges at once", "num_range=1"),
    *_refused("later fio: another random order", "rw_sequencer_seed", "lfsr_seed", "fdp_randomness"),
    *(
        _option(text, use, says)
        for use, says, text in ((Use(use), says, text) for use, says, text in OF_ENGINES)
    ),
)

#: Every option by its name.
OPTIONS: Mapping[str, FioOption] = {one.name: one for one in _ALL}

#: The name of an option by each of its aliases.
ALIASES: Mapping[str, str] = {alias: one.name for one in _ALL for alias in one.aliases}


def table() -> str:
    """Returns the options as a table of the docs."""
    rows = [
        f"| `{one.name}`{_also(one)} | {one.use} | {one.says}{_except(one)} |"
        for one in sorted(OPTIONS.values(), key=lambda one: (list(Use).index(one.use), one.name))
    ]
    return "\n".join(["| option | becomes | which is, or why |", "|---|---|---|", *rows])


def _also(one: FioOption) -> str:
    return "".join(f", `{alias}`" for alias in one.aliases)


def _except(one: FioOption) -> str:
    return f"; {' or '.join(f'`{value}`' for value in one.neutral)} asks for nothing" if one.neutral else ""
