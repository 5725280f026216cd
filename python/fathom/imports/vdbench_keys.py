"""Every key of a Vdbench parameter file, and what becomes of it in a method: applied, noted or refused.

Names, their order and their abbreviations are those of Vdbench 5.04.06 (`MiscParms`, `HostParms`, `SD_entry`,
`FsdEntry`, `WD_entry`, `FwdEntry`, `RD_entry` and `For_loop` of its sources).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from fathom.imports.fio_options import Use


class Section(StrEnum):
    """Which definition a key belongs to; a file has them in this order."""

    GENERAL = "general"
    HOST = "hd"
    STORAGE = "sd"
    FILES = "fsd"
    WORKLOAD = "wd"
    FILE_WORKLOAD = "fwd"
    RUN = "rd"


@dataclass(frozen=True)
class VdbenchKey:
    """A key of one kind of definition, what becomes of it, and what the method does instead.

    With a value among `neutral` a refused key asks for nothing that a method would not do anyway.
    """

    section: Section
    name: str
    use: Use
    says: str
    aliases: tuple[str, ...] = ()
    neutral: tuple[str, ...] = ()
    exact: bool = False

    def answers(self, word: str) -> bool:
        """Returns whether Vdbench reads a word of at least two letters as this key."""
        names = (self.name, *self.aliases)
        return word in names if self.exact else any(name.startswith(word) for name in names)


REPORTS = "says how Vdbench reports; a run directory has all of it"
_HOSTS = "says how Vdbench reaches its hosts; fathom run has a file for that: --hosts FILE"
_OF_HOSTS = "the hosts that have it: a method is what one host does"
_PROCESS = "says how Vdbench itself runs"
_COMMANDS = "runs commands of its own around the load"
_CACHE = "aims a share of the I/O at a cache"
_REPLAY = "replays a recorded trace"
_VALIDATES = "reads data back and compares them"
_FILE_LAYOUT = "says how files are made before a run"
_COPIES = "says which units are alike; here copies are of 4 KiB, and of 256 that are the same everywhere"
_DEDUP = "makes copies by rules of its own; a method has content = { dedup = ... }"


def _keys(section: Section, use: Use, says: str, *texts: str) -> Iterator[VdbenchKey]:
    """From `name/alias/alias=value,value`: the values are neutral. A name that ends in `!` is not abbreviated."""
    for text in texts:
        names, _, values = text.partition("=")
        name, *aliases = names.rstrip("!").split("/")
        neutral = tuple(values.split(",")) if values else ()
        yield VdbenchKey(section, name, use, says, tuple(aliases), neutral, exact=names.endswith("!"))


def _general() -> Iterable[VdbenchKey]:
    section = Section.GENERAL
    yield from _keys(section, Use.APPLIED, "`content.compressible`", "compression!", "compratio")
    yield from _keys(
        section, Use.NOTED, "Fathom draws by its own generator, from `--seed`", "compressionseed"
    )
    yield from _keys(section, Use.REFUSED, _DEDUP, "dedup!")
    yield from _keys(section, Use.APPLIED, "`content.dedup`, by 4 KiB", "dedupratio!")
    yield from _keys(
        section, Use.NOTED, _COPIES, "dedupunit!", "dedupsets!", "dedupseed!", "dedupacross!=yes"
    )
    yield from _keys(section, Use.REFUSED, _DEDUP, "deduphotsets!", "dedupflipflop!=off", "deduphotdata!")
    yield from _keys(section, Use.NOTED, _PROCESS, "port")
    yield from _keys(
        section,
        Use.NOTED,
        "says what blocks hold; Fathom writes random data, compressible as asked",
        "pattern",
    )
    yield from _keys(
        section,
        Use.NOTED,
        "ends a run at a number of failed I/Os; see `errors` of a job",
        "data_errors/dataerrors",
    )
    yield from _keys(section, Use.NOTED, REPORTS, "swat")
    yield from _keys(section, Use.REFUSED, _VALIDATES, "validate=no", "journal!=no")
    yield from _keys(section, Use.REFUSED, _COMMANDS, "startcmd/start_cmd!", "endcmd/end_cmd!")
    yield from _keys(section, Use.NOTED, _PROCESS, "heartbeat_error!")
    yield from _keys(section, Use.REFUSED, "switches on Vdbench's own test code", "debug!")
    yield from _keys(section, Use.NOTED, _PROCESS, "unix2windows")
    yield from _keys(section, Use.NOTED, _FILE_LAYOUT, "formatxfersize", "create_anchors")
    yield from _keys(
        section, Use.REFUSED, "writes all storage before the runs, or leaves it unwritten", "formatsds=no"
    )
    yield from _keys(section, Use.NOTED, REPORTS, "report", "report_run_totals", "histogram")
    yield from _keys(section, Use.NOTED, _PROCESS, "psrset")
    yield from _keys(section, Use.NOTED, REPORTS, "auxreport", "monitor")
    yield from _keys(section, Use.REFUSED, "makes one target of several", "concatenatesds=no")
    yield from _keys(section, Use.NOTED, REPORTS, "messagescan")
    yield from _keys(section, Use.NOTED, "fails a run whose shares are missed", "abort_failed_skew")
    yield from _keys(section, Use.REFUSED, "switches on Vdbench's own test code", "misc")
    yield from _keys(section, Use.NOTED, _PROCESS, "pattern_buffer!")
    yield from _keys(section, Use.NOTED, REPORTS, "showlba!")
    yield from _keys(section, Use.NOTED, "repeats all runs; see fathom run --repeats", "loop!")


_DEDUP_WORDS = (
    "dedup!",
    "dedupratio!=1",
    "dedupunit!",
    "dedupsets!",
    "deduphotsets!",
    "dedupflipflop!",
    "dedupacross!",
    "deduphotdata!",
    "dedupseed!",
)


def _hosts() -> Iterable[VdbenchKey]:
    section = Section.HOST
    yield from _keys(section, Use.NOTED, _HOSTS, "system", "vdbench", "shell", "user")
    yield from _keys(section, Use.NOTED, "says in how many processes Vdbench runs", "jvms")
    yield from _keys(section, Use.NOTED, _HOSTS, "clients", "mount")


def _storage() -> Iterable[VdbenchKey]:
    section = Section.STORAGE
    yield from _keys(section, Use.APPLIED, _OF_HOSTS, "host/hd")
    yield from _keys(section, Use.APPLIED, "the target", "lun")
    yield from _keys(section, Use.APPLIED, "a target for each number", "count")
    yield from _keys(section, Use.APPLIED, "`region`: the bytes that are used", "size")
    yield from _keys(section, Use.APPLIED, "`load.threads`, 8 by itself", "threads")
    yield from _keys(section, Use.NOTED, "counts only with rhpct and whpct, which are refused", "hitarea")
    yield from _keys(section, Use.APPLIED, "`region.start`, moved by so much", "offset")
    yield from _keys(section, Use.APPLIED, "`align` of random I/O", "align")
    yield from _keys(section, Use.NOTED, REPORTS, "kstat", "instance")
    yield from _keys(section, Use.REFUSED, _REPLAY, "replay")
    yield from _keys(section, Use.REFUSED, _VALIDATES, "journal")
    yield from _keys(section, Use.REFUSED, "resets devices under load", "resetlun=0", "resetbus=0")
    yield from _keys(section, Use.APPLIED, "`direct` and `sync`", "openflags")
    yield from _keys(section, Use.APPLIED, "`region`, in percent or bytes", "range")
    yield from _keys(section, Use.REFUSED, _DEDUP, *_DEDUP_WORDS)


def _workloads() -> Iterable[VdbenchKey]:
    section = Section.WORKLOAD
    yield from _keys(section, Use.APPLIED, "the storage of the workload", "sd!")
    yield from _keys(section, Use.APPLIED, "weights of one mix, or of streams", "skew")
    yield from _keys(section, Use.APPLIED, "`block`", "xfersize")
    yield from _keys(section, Use.APPLIED, "`mix`", "readpct/rdpct", "writepct/wrpct")
    yield from _keys(section, Use.APPLIED, "`region`, or bands of `hot-spots`", "range")
    yield from _keys(section, Use.REFUSED, "sends I/O to a band by a distribution of its own", "hotband")
    yield from _keys(section, Use.APPLIED, "`pattern`, and `until` for eof", "seekpct")
    yield from _keys(section, Use.REFUSED, "skips a distance at random", "stride")
    yield from _keys(section, Use.REFUSED, "serves one workload before another", "priority")
    yield from _keys(section, Use.APPLIED, "`load.rate` of a stream", "iorate")
    yield from _keys(section, Use.REFUSED, _CACHE, "rhpct=0", "whpct=0")
    yield from _keys(section, Use.APPLIED, _OF_HOSTS, "host/hd")
    yield from _keys(section, Use.APPLIED, "`direct` and `sync`", "openflags")
    yield from _keys(section, Use.REFUSED, "runs a program of the user's", "user!")
    yield from _keys(section, Use.REFUSED, "is of concatenated storage alone", "threads")
    yield from _keys(section, Use.REFUSED, "has sequential streams of its own rules", "streams")


def _files() -> Iterable[VdbenchKey]:
    section = Section.FILES
    yield from _keys(section, Use.APPLIED, "the target, a directory", "anchor")
    yield from _keys(section, Use.REFUSED, _VALIDATES, "journal")
    yield from _keys(section, Use.REFUSED, "is refused by Vdbench too", "host/hd")
    yield from _keys(section, Use.APPLIED, "`files.width`", "width")
    yield from _keys(section, Use.APPLIED, "`files.depth`", "depth")
    yield from _keys(section, Use.APPLIED, "`files.size`", "sizes")
    yield from _keys(section, Use.NOTED, "lets several hosts work on the files", "shared")
    yield from _keys(section, Use.REFUSED, "works on a part of the files", "wss/workingsetsize")
    yield from _keys(section, Use.REFUSED, "makes files up to a sum of sizes", "total_size/totalsize")
    yield from _keys(section, Use.APPLIED, "`files.count`, times the lowest directories", "files")
    yield from _keys(
        section, Use.REFUSED, "puts files into the higher directories too", "distribution=bottom"
    )
    yield from _keys(section, Use.REFUSED, "is refused by Vdbench too", "cleanup")
    yield from _keys(section, Use.APPLIED, "`direct` and `sync`", "openflags")
    yield from _keys(section, Use.NOTED, REPORTS, "log!")
    yield from _keys(section, Use.REFUSED, "makes several anchors", "count")
    yield from _keys(section, Use.REFUSED, _DEDUP, "dedup")


def _file_workloads() -> Iterable[VdbenchKey]:
    section = Section.FILE_WORKLOAD
    yield from _keys(section, Use.APPLIED, "the files of the workload", "fsd!")
    yield from _keys(section, Use.APPLIED, "`mix`", "readpct/rdpct")
    yield from _keys(section, Use.APPLIED, "`files.visit`", "stopafter")
    yield from _keys(section, Use.APPLIED, "`mix`", "operation")
    yield from _keys(section, Use.APPLIED, "`files.select`", "fileselect")
    yield from _keys(section, Use.APPLIED, "`pattern`", "fileio!")
    yield from _keys(section, Use.APPLIED, "`block`", "xfersizes")
    yield from _keys(section, Use.APPLIED, "shares of a rate", "skew")
    yield from _keys(section, Use.APPLIED, "`load.threads`", "threads")
    yield from _keys(section, Use.REFUSED, "copies or moves to other files", "target")
    yield from _keys(section, Use.APPLIED, _OF_HOSTS, "host/hd")
    yield from _keys(section, Use.APPLIED, "`direct` and `sync`", "openflags")


def _runs() -> Iterable[VdbenchKey]:
    section = Section.RUN
    yield from _keys(section, Use.APPLIED, "the workloads of the run", "wd!")
    yield from _keys(section, Use.APPLIED, "the storage of the run", "sd!")
    yield from _keys(section, Use.REFUSED, "names files for all workloads of a run", "fsd!")
    yield from _keys(section, Use.APPLIED, "`load.rate`, a step for each, or a curve", "iorate")
    yield from _keys(section, Use.APPLIED, "`until.bytes`, or `until.written`", "maxdata!")
    yield from _keys(
        section, Use.REFUSED, "ends a run by the bytes of one operation", "maxdataread!", "maxdatawritten!"
    )
    yield from _keys(section, Use.APPLIED, "points of a curve", "curve")
    yield from _keys(section, Use.REFUSED, "ends a curve by its latency", "stopcurve")
    yield from _keys(section, Use.APPLIED, "`until.time`, 30 s by itself", "elapsed")
    yield from _keys(section, Use.NOTED, REPORTS, "interval")
    yield from _keys(section, Use.APPLIED, "a step of its own before", "warmup")
    yield from _keys(section, Use.REFUSED, _REPLAY, "replay!")
    yield from _keys(section, Use.APPLIED, "an idle step after each", "pause")
    yield from _loops()
    yield from _keys(section, Use.APPLIED, "`load.arrival`", "distribution")
    yield from _keys(section, Use.REFUSED, _COMMANDS, "startcmd/start_cmd", "endcmd/end_cmd")
    yield from _keys(section, Use.APPLIED, "the file workloads of the run", "fwd!")
    yield from _keys(section, Use.APPLIED, "`load.rate`, a step for each, or a curve", "fwdrate")
    yield from _keys(section, Use.APPLIED, "`mix`; several are streams", "operations")
    yield from _keys(section, Use.APPLIED, "a fill before", "format")
    yield from _keys(section, Use.APPLIED, "`direct` and `sync`", "openflags")
    yield from _keys(section, Use.REFUSED, "mounts file systems", "mount")


def _loops() -> Iterable[VdbenchKey]:
    """Yields keys that take a list, a run for each; those of workloads are the same with one value."""
    section, each = Section.RUN, ", a step for each value"
    yield from _keys(section, Use.APPLIED, f"`block`{each}", "forxfersize/xfersize")
    yield from _keys(section, Use.APPLIED, f"`load.threads`{each}", "forthreads/threads")
    yield from _keys(section, Use.APPLIED, f"`mix`{each}", "forrdpct/rdpct")
    yield from _keys(section, Use.REFUSED, _CACHE, "forrhpct/rhpct=0", "forwhpct/whpct=0")
    yield from _keys(section, Use.APPLIED, f"`pattern`{each}", "forseekpct/seekpct")
    yield from _keys(section, Use.REFUSED, _CACHE, "forhitarea/hitarea")
    yield from _keys(section, Use.APPLIED, f"`content.compressible`{each}", "forcompratio/compratio")
    yield from _keys(section, Use.APPLIED, f"`content.compressible`{each}", "forcompression/compression")
    yield from _keys(
        section,
        Use.REFUSED,
        "makes another set of files for each value",
        *("fordepth/depth", "forwidth/width", "forfiles/files", "forsizes/sizes"),
        *("fortotalsize/totalsize", "forwss/forworkingsetsize/wss/workingsetsize"),
    )
    yield from _keys(section, Use.REFUSED, "runs each operation behind a format of its own", "foroperations")


KEYS: tuple[VdbenchKey, ...] = (
    *_general(),
    *_hosts(),
    *_storage(),
    *_files(),
    *_workloads(),
    *_file_workloads(),
    *_runs(),
)


def find_key(section: Section, word: str) -> VdbenchKey | None:
    """Returns the key that Vdbench reads a word as: the first that it abbreviates."""
    return next((key for key in KEYS if key.section == section and key.answers(word)), None)


def reference() -> str:
    """Returns the tables of `docs/reference/import-vdbench.md`."""
    titles = {
        Section.GENERAL: "Before the definitions",
        Section.HOST: "`hd`, hosts",
        Section.STORAGE: "`sd`, storage",
        Section.FILES: "`fsd`, files",
        Section.WORKLOAD: "`wd`, workloads",
        Section.FILE_WORKLOAD: "`fwd`, workloads on files",
        Section.RUN: "`rd`, runs",
    }
    lines: list[str] = []
    for section, title in titles.items():
        lines += [f"### {title}", "", "| key | | what becomes of it |", "|---|---|---|"]
        for key in KEYS:
            if key.section == section:
                names = ", ".join(f"`{name}`" for name in (key.name, *key.aliases))
                but = f" (`{'`, `'.join(key.neutral)}` is accepted)" if key.neutral else ""
                lines.append(f"| {names} | {key.use} | {key.says}{but} |")
        lines.append("")
    return "\n".join(lines)
