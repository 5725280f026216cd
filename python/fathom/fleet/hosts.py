"""Brings the hosts of a fleet up: on this machine, or over ssh; one process each, which ends with the coordinator."""

import ipaddress
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic, sleep

from fathom.errors import FathomError, UsageError
from fathom.fleet.process import HostProcess
from fathom.fleet.shell import MOST_LOCAL_HOSTS, SSH
from fathom.output.text import duration
from fathom.text_file import read_text

MOST_HOSTS = 1024
RETRY_S = 2.0
"""From one try of a host that does not start to the next."""
SSH_OPTIONS = ("-T", "-a", "-x", "-o", "ClearAllForwardings=yes", "-o", "ServerAliveInterval=15")
"""Nothing of this machine is opened to the host: no agent, no display, no port; a connection that hangs ends."""
_ADDRESS = r"(?:(?P<user>[^@]+)@)?(?:\[(?P<six>[^\]]+)\]|(?P<host>[^@\[\]]+?))(?::(?P<port>\d{1,5}))?"
_NAME = re.compile(r"[^\W_]([\w.-]*\w)?")
_USER = re.compile(r"\w[\w.-]*")


@dataclass(frozen=True)
class Patience:
    """How long hosts that do not start are tried again, in s; `show` takes a line on each of them."""

    wait_s: float
    show: Callable[[str], None]


@dataclass(frozen=True)
class HostName:
    """A host as a file of hosts names it: `host`, `user@host`, `host:port`, `[address]:port` or an IPv6 address."""

    text: str
    host: str
    user: str | None = None
    port: int | None = None

    @classmethod
    def parse(cls, text: str) -> "HostName":
        """Raises UsageError for what is no name of a host: ssh, or another shell, could take it for an option."""
        if _is_ipv6(text.rpartition("@")[2]):
            user, _, host = text.rpartition("@")
            found = cls(text, host, user or None)
        elif match := re.fullmatch(_ADDRESS, text):
            port = match["port"]
            found = cls(text, match["six"] or match["host"], match["user"], int(port) if port else None)
        else:
            raise _no_host(text)
        six = "[" in text
        if (
            not (_is_ipv6(found.host) if six else _is_ipv6(found.host) or _NAME.fullmatch(found.host))
            or (found.user is not None and not _USER.fullmatch(found.user))
            or (found.port is not None and not 0 < found.port < 1 << 16)
        ):
            raise _no_host(text)
        try:
            found.host.encode("idna" if not _is_ipv6(found.host) else "ascii")
        except UnicodeError as error:
            raise UsageError(f"host {text}: {error}", "give names that resolve") from error
        return found

    def reached_by(self, shell: Sequence[str]) -> list[str]:
        """Returns the command that gives a shell there. Raises UsageError for a port where the shell is not ssh."""
        destination = f"{self.user}@{self.host}" if self.user else self.host
        if Path(shell[0]).name != SSH:
            if self.port is not None:
                raise UsageError(
                    f"host {self.text}: only ssh accepts a port", f"put it into --shell for {shell[0]}"
                )
            return [*shell, destination, "sh"]
        port = ["-p", str(self.port)] if self.port is not None else []
        return [*shell, *SSH_OPTIONS, *port, "--", destination, "sh"]


def _late(host: HostProcess) -> FathomError | None:
    """Returns why a host did not start; None where it did."""
    try:
        host.wait_for_start()
    except FathomError as error:
        return error
    return None


@contextmanager
def local_hosts(count: int) -> Iterator[list[HostProcess]]:
    """Returns that many hosts on this machine, for trying a fleet out: a process each."""
    if not 1 <= count <= MOST_LOCAL_HOSTS:
        raise UsageError(f"--local-hosts {count}: out of range", f"expected 1 to {MOST_LOCAL_HOSTS}")
    with _started({f"host{k}": ["sh"] for k in range(1, count + 1)}, cores=1) as hosts:
        yield hosts


def hosts_of_file(
    path: Path, shell: str = SSH, patience: Patience | None = None
) -> AbstractContextManager[list[HostProcess]]:
    """Returns the hosts that a file names, one a line (`#` begins a comment), reached by `shell HOST sh`."""
    names = _read_hosts(path)
    try:
        words = shlex.split(shell)
    except ValueError as error:
        raise UsageError(f"--shell {shell}: {error}", "quote it as a shell would take it") from error
    if not words:
        raise UsageError("--shell: empty", "give a command such as ssh")
    return _started({name.text: name.reached_by(words) for name in names}, patience=patience)


def _read_hosts(path: Path) -> list[HostName]:
    lines = read_text(path, "give a file with one host a line").splitlines()
    texts = [line.partition("#")[0].strip() for line in lines]
    texts = [text for text in texts if text]
    if not texts:
        raise UsageError(f"{path}: no host in it", "write one host a line")
    if len(texts) > MOST_HOSTS:
        raise UsageError(f"{path}: {len(texts)} hosts", f"give at most {MOST_HOSTS}")
    twice = {text for text in texts if texts.count(text) > 1}
    if twice:
        raise UsageError(f"{path}: {', '.join(sorted(twice))}: twice", "name each host once")
    return [HostName.parse(text) for text in texts]


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return re.fullmatch(r"[^%]*(%[A-Za-z0-9][A-Za-z0-9._-]*)?", text) is not None


def _no_host(text: str) -> UsageError:
    return UsageError(
        f"host {text}: not a name of a host",
        "write NAME, USER@NAME, NAME:PORT or [IPV6]:PORT; no name begins with -",
    )


def _wait_for_start(
    hosts: list[HostProcess],
    place: int,
    again: Callable[[], HostProcess],
    patience: Patience | None,
    until_s: float,
) -> None:
    """Waits for a host to start, and puts another try in its place until then. Raises FathomError at the end."""
    shown = False
    while error := _late(hosts[place]):
        if patience is None or monotonic() + RETRY_S > until_s:
            waited = f"; tried for {duration(patience.wait_s)}" if patience else ""
            raise FathomError(f"{error.message}{waited}", error.hint)
        if not shown:
            patience.show(f"{error.message}; tries again for up to {duration(patience.wait_s)}")
            shown = True
        hosts[place].close()
        sleep(RETRY_S)
        hosts[place] = again()


@contextmanager
def _started(
    shells: "dict[str, list[str]]", cores: int | None = None, patience: Patience | None = None
) -> Iterator[list[HostProcess]]:
    """The hosts that those shells lead to, all at once; they end with the `with`."""
    hosts: list[HostProcess] = []
    until_s = monotonic() + (patience.wait_s if patience else 0.0)
    try:
        for name, shell in shells.items():
            hosts.append(HostProcess(name, shell, cores))
        for place, (name, shell) in enumerate(shells.items()):
            _wait_for_start(hosts, place, partial(HostProcess, name, shell, cores), patience, until_s)
        yield hosts
    finally:
        if hosts:
            with ThreadPoolExecutor(len(hosts)) as pool:
                list(pool.map(HostProcess.close, hosts))
