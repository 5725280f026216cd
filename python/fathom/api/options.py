"""The options of the Python interface, and what the rest of the package takes in their place."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from threading import Event
from typing import TypedDict

from fathom.catalog.store import nearest
from fathom.errors import UsageError
from fathom.fleet.initiators import WantedHosts, initiator_of
from fathom.fleet.shell import SSH
from fathom.load.initiator import Initiator
from fathom.plan.replay import Replay
from fathom.session import Observer, Options, SilentObserver
from fathom.session.stepper import Progress
from fathom.targets.purge import Purge
from fathom.targets.target import Target

Watch = Callable[[str, Progress], None]
"""Called with a target's name and the progress of its running step, about once a second, from several threads."""


class HostOptions(TypedDict, total=False):
    """Where the load comes from; this machine alone where no key is given."""

    hosts: str | Path | None
    """A file of host names, one a line."""
    shell: str
    """How to reach them: `COMMAND HOST sh`. Default: ssh."""
    ray: str | None
    """Address of a Ray cluster: every node loads."""
    local_hosts: int | None
    """Number of processes on this machine, to try out a fleet."""
    wait: str | None
    """How long to try hosts of the file that do not start yet, such as `10min`; by default once."""


class SessionOptions(HostOptions, total=False):
    """Options of a resumed run."""

    destroy: str | Sequence[str]
    """Serials of devices whose data may be lost; or the one."""
    unknown_data: bool
    """Data on them that no known format explains may be lost too."""
    progress: Watch | None
    observer: Observer | None
    """Is called when steps and targets begin and end, too; instead of `progress`."""
    interrupt: Event | None
    """Ends the run when it is set; what was measured is kept."""


class ReviewOptions(SessionOptions, total=False):
    """How a review runs."""

    seed: int
    """Seed of every random choice. Default: 1."""
    size_bytes: int | None
    """Size of files that Fathom makes."""
    out: str | Path | None
    """Folder for the run's own folder. Default: the home of all runs."""
    power: str | None
    """A power meter: `csv:PATH[?column=NAME]` or `prometheus:URL?query=QUERY`."""


class RunOptions(ReviewOptions, total=False):
    """How a method runs."""

    quick: bool
    """Shortens the method by the factors that it states."""
    together: bool
    """Loads the real targets at once, as one array."""
    purge: Purge
    """How purge steps erase NVMe drives. Default: trim."""
    power_state: int | None
    """NVMe power state of the drives during the run. Default: as they are."""
    replay: Replay | None
    """The trace of the method `replay`, and how it is replayed; or the one that a method takes its workload from."""


def check_options(options: Mapping[str, object], known: type) -> None:
    """Raises UsageError for an option that `known`, a `TypedDict` of options, does not have."""
    names = sorted(known.__annotations__)
    for name in options:
        if name not in names:
            raise UsageError(f"no option {name!r}", f"{nearest(name, names)}it takes {', '.join(names)}")


def check_repeats(times: int) -> None:
    """Raises UsageError for fewer runs than one."""
    if times < 1:
        raise UsageError(f"{times} repeats", "ask for 1 or more")


def initiator_for(options: HostOptions) -> AbstractContextManager[Initiator]:
    """Returns what the load comes from, to be closed after the run."""
    return initiator_of(wanted_hosts(options))


def wanted_hosts(options: HostOptions) -> WantedHosts:
    """Returns which hosts the options name."""
    return WantedHosts(
        hosts=path_of(options.get("hosts")),
        shell=options.get("shell", SSH),
        ray=options.get("ray"),
        local_hosts=options.get("local_hosts"),
        wait=options.get("wait"),
    )


def session_options(
    options: ReviewOptions, initiator: Initiator, purge: Purge = "trim", power_state: int | None = None
) -> Options:
    """Returns the options of a session."""
    watch = options.get("progress")
    observer = options.get("observer") or (_Watched(watch) if watch else SilentObserver())
    return Options(
        seed=options.get("seed", 1),
        destroy=words_of(options.get("destroy", ())),
        unknown_data=options.get("unknown_data", False),
        out=path_of(options.get("out")),
        observer=observer,
        interrupt=options.get("interrupt") or Event(),
        power=options.get("power"),
        initiator=initiator,
        purge=purge,
        power_state=power_state,
    )


class _Watched(SilentObserver):
    """Passes progress on to a function."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def progressed(self, target: Target, progress: Progress) -> None:
        """Calls the function."""
        self._watch(target.name, progress)


def checked_size_bytes(size: int | None) -> int | None:
    """Returns the size. Raises UsageError for what is no number of bytes above 0."""
    if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size <= 0):
        raise UsageError(f"size_bytes={size!r}", "give a whole number of bytes above 0, such as 4 * 2**30")
    return size


def words_of(words: str | Sequence[str]) -> tuple[str, ...]:
    """Returns the words. A text is one word, not its letters."""
    return (words,) if isinstance(words, str) else tuple(words)


def path_of(path: str | Path | None) -> Path | None:
    """Returns the path, `None` for none."""
    return None if path is None else Path(path)
