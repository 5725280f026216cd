"""The address of a page for a phone, and its QR code."""

import ipaddress
import socket
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import quote

import segno
from markupsafe import Markup

from fathom.serve.access import PARAMETER
from fathom.serve.settings import Settings

NOWHERE = ("192.0.2.1", 9)
"""An address that nobody has (RFC 5737). A datagram socket sends nothing when it is only connected."""


@dataclass(frozen=True)
class Link:
    """An address, and its QR code as markup."""

    address: str
    code: Markup


def phone_link(settings: Settings, path: str) -> Link | None:
    """Returns the link to a page for a phone in the same network; None where only this machine can reach the server."""
    host = _reachable_host(settings)
    if host is None:
        return None
    shown = f"[{host}]" if ":" in host else host
    token = f"?{PARAMETER}={quote(settings.token)}" if settings.token else ""
    address = f"http://{shown}:{settings.port}{path}{token}"
    code = segno.make(address, error="m").svg_inline(
        scale=6, border=4, dark="#000", light="#fff", omitsize=True
    )
    return Link(address, Markup(code))


def _reachable_host(settings: Settings) -> str | None:
    if settings.is_loopback:
        return None
    with suppress(ValueError):
        if not ipaddress.ip_address(settings.host).is_unspecified:
            return settings.host
        family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        return _own_address(family)
    return settings.host


def _own_address(family: socket.AddressFamily) -> str:
    """Returns this machine's address in its network; its host name where it has none."""
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect(NOWHERE if family == socket.AF_INET else ("2001:db8::1", 9))
        return str(probe.getsockname()[0])
    return socket.gethostname()
