"""Jobs of fio's engines that work on names: files and directories that are made, asked for and removed.

Meanings are those of fio's `engines/fileoperations.c`: each file is opened once, and opening it is the operation.
"""

from fathom.imports.draft import Draft
from fathom.imports.fio_blocks import Blocks
from fathom.imports.fio_file import FioJob
from fathom.imports.fio_given import GivenOptions
from fathom.imports.fio_sets import MOST_FILES, FileSet, file_bytes_of, files_each
from fathom.method.toml_text import Value, duration_text, size_text

#: The operation of each engine.
ON_NAMES = {
    "filecreate": "create",
    "filestat": "stat",
    "filedelete": "delete",
    "dircreate": "mkdir",
    "dirdelete": "rmdir",
    "dirstat": "stat-directory",
}
_SELECTS: dict[str, dict[str, Value]] = {"roundrobin": {}, "random": {"select": "random"}, "sequential": {}}


class NamesConversion:
    """One job on names in the keys of a method's job. It has the facts that a `Conversion` has."""

    reads = writes = buffered = exits_all = checks = seals = False
    flow = flow_id = 0
    flow_pause_s = 0.0
    exit_what = "group"
    fills = None
    ramp_s = 0.0
    region: Value = "100%"

    def __init__(self, draft: Draft, job: FioJob) -> None:
        """Converts it; notes go to the draft. Raises UsageError for an option that these engines do not have here."""
        self.job = job
        self._given = given = GivenOptions(job, draft)
        for key in (
            "name",
            "description",
            "filename",
            "filename_format",
            "directory",
            "stonewall",
            "wait_for",
        ):
            given.has(key)
        self._engine = given.text("ioengine", "")
        self._operation = ON_NAMES[self._engine]
        self.jobs = given.whole("numjobs", 1, 1)
        self.delay_s = given.seconds("startdelay")
        self.blocks = Blocks(given)
        self.files = self._set()
        self.until = self._until()
        self.read_back: dict[str, Value] = {}
        self.still: dict[str, Value] = {}
        for key in ("rw", "bs", "bsrange", "bssplit", "iodepth", "direct", "buffered", "invalidate"):
            given.idle(key, f"has no effect in jobs of the engine {self._engine}")
        for key in given.forgotten:
            raise given.error(key, f"has no counterpart in jobs of the engine {self._engine}", "leave it out")
        given.note(
            "ioengine",
            "files are made in a directory of Fathom's own, and have names of its own; they are there again after it",
        )

    def place(self, key: str) -> str:
        """Returns where the option stands from which a key of the job comes."""
        sources = {"mix": "ioengine", "files": "nrfiles", "load": "numjobs", "until": "loops"}
        return self._given.place(sources.get(key, key))

    def streams(self, after_s: float = 0.0) -> list[dict[str, Value]]:
        """Returns the keys of its only stream. Raises UsageError for one that begins later."""
        if after_s:
            raise self._given.error(
                "startdelay", "begins with the others here", "give all the same startdelay"
            )
        return [{"mix": self._operation, "files": dict(self.files.keys), "load": {"threads": self.jobs}}]

    def of_job(self) -> dict[str, Value]:
        """Returns the keys of a single job, without its end."""
        return {}

    def _set(self) -> FileSet:
        given, each = self._given, files_each(self._given)
        if each * self.jobs > MOST_FILES:
            raise given.error("nrfiles", f"{each * self.jobs} files in all", f"give {MOST_FILES} at most")
        kind = given.text("file_service_type", "roundrobin").partition(":")[0]
        if kind not in _SELECTS:
            raise given.error(
                "file_service_type", f"{kind} comes to files again", f"use {' or '.join(_SELECTS)}"
            )
        size = file_bytes_of(given, self.blocks, each)
        if self._operation == "create" and given.whole("openfiles", each, 1) > 1:
            given.note(
                "openfiles" if given.has("openfiles") else "ioengine",
                "each file is closed at once, in line with the load; fio keeps it open",
            )
        given.has("openfiles")
        keys: dict[str, Value] = {"count": each * self.jobs, "size": size_text(size), **_SELECTS[kind]}
        return FileSet(each * self.jobs, size, each, each * size, keys)

    def _until(self) -> dict[str, Value]:
        """Returns the end: each file once, as often as `loops`; a create counts twice, since its close counts too."""
        given, again = self._given, self._operation.startswith("stat")
        loops, runtime_s = given.whole("loops", 1, 1), given.seconds("runtime")
        if not again and (loops > 1 or given.is_timed):
            raise given.error(
                "time_based" if given.is_timed else "loops",
                f"the second time there is nothing to {self._operation}",
                "leave it out",
            )
        until: dict[str, Value] = {"time": duration_text(runtime_s)} if runtime_s else {}
        if not given.is_timed:
            until["count"] = self.files.count * loops * (2 if self._operation == "create" else 1)
        return until
