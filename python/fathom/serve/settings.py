"""Where the server listens, which runs it shows, and who may see them."""

import ipaddress
import re
import secrets
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fathom.errors import UsageError

if TYPE_CHECKING:
    from fathom.store.address import Address

LISTEN = "127.0.0.1:8765"
NEW_TOKEN = "new"
"""The word that asks for a token of Fathom's own making."""
LEAST_TOKEN_CHARS = 16
_ADDRESS = re.compile(r"(?:\[(?P<six>[0-9a-fA-F:.]+)\]|(?P<four>[\w.-]+)):(?P<port>\d{1,5})")
_TOKEN = re.compile(r"[A-Za-z0-9._~-]+")


@dataclass(frozen=True)
class Settings:
    """How a server runs. `names` are the host names, beside addresses, under which it answers."""

    runs: "Path | Address"
    """A folder of runs, or a team's store."""
    host: str
    port: int
    token: str | None = None
    names: frozenset[str] = frozenset({"localhost"})

    @property
    def place(self) -> str:
        """Where the runs are, in words."""
        return str(self.runs) if isinstance(self.runs, Path) else f"the store {self.runs.text}"

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return is_loopback(self.host)

    @property
    def address(self) -> str:
        """The host and port as in a URL."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def settings_of(
    runs: "Path | Address", listen: str, token: str | None, names: Iterable[str] = ()
) -> Settings:
    """Returns checked settings.

    Raises UsageError for what is no address, for one beyond this machine without a token, and for a weak token.
    """
    found = _ADDRESS.fullmatch(listen)
    if found is None or int(found["port"]) > 65535:
        raise UsageError(f"--listen {listen}: not HOST:PORT", f"give an address and a port, such as {LISTEN}")
    host = found["six"] or found["four"]
    if token is None and not is_loopback(host):
        raise UsageError(
            f"--listen {listen}: others could read every run",
            f"add --token {NEW_TOKEN}, or listen on {LISTEN}",
        )
    known = {"localhost", socket.gethostname().lower(), host.lower(), *(name.lower() for name in names)}
    return Settings(runs, host, int(found["port"]), checked_token(token), frozenset(known))


def checked_token(token: str | None) -> str | None:
    """Returns the token, or a new one where the user asks for it. Raises UsageError for one that can be guessed."""
    if token is None:
        return None
    if token == NEW_TOKEN:
        return secrets.token_urlsafe(24)
    if len(token) < LEAST_TOKEN_CHARS or not _TOKEN.fullmatch(token):
        raise UsageError(
            f"--token: expected {LEAST_TOKEN_CHARS} or more letters, digits and . _ ~ -",
            f"--token {NEW_TOKEN} makes one",
        )
    return token


def is_loopback(host: str) -> bool:
    """Returns whether an address or name is this machine's loopback."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
