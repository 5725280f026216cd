"""Who may ask for what: checks of Host, Origin and token before any page, and the headers of every answer.

Host: a page of another site whose name was made to lead here (DNS rebinding) is turned away. Origin: a form of another
site cannot post here. Token: compared in constant time, and kept by the browser as a cookie after its first use.
"""

import hashlib
import hmac
import ipaddress
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from fathom.serve.pages import problem_page
from fathom.serve.settings import Settings, is_loopback

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

MOST_BODY_BYTES = 1 << 16
PARAMETER = "token"
STRICT = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""The policy of the server's own pages. Reports state a stricter one themselves, with the hashes of their scripts."""
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Access:
    """Lets a request through to the application, or answers it."""

    def __init__(self, app: "ASGIApp", settings: Settings) -> None:
        self._app = app
        self._settings = settings
        self._cookie = f"fathom-{settings.port}"

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Handles one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("Content-Security-Policy", STRICT)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        # A HEAD request is answered as a GET: the server below sends no body for it.
        asked = {**scope, "method": "GET"} if scope["method"] == "HEAD" else scope
        request = Request(asked)
        answer = self._refusal(request) or self._sign_in(request)
        await (answer or self._app)(asked, receive, guarded)

    def _refusal(self, request: Request) -> Response | None:
        """Returns the answer to a request that nobody may make, or None."""
        if not self._is_own_host(request.headers.get("host", "")):
            return problem_page(
                self._settings,
                421,
                "This server does not answer under that name.",
                "Use its address, or restart it with --name NAME.",
            )
        if request.method not in ("GET", "POST"):
            return problem_page(self._settings, 405, "Pages can be read, and forms sent. Nothing else.")
        if request.method != "POST":
            return None
        if not _is_same_origin(request):
            return problem_page(self._settings, 403, "A form of another site cannot change anything here.")
        length = request.headers.get("content-length", "")
        if "transfer-encoding" in request.headers:
            # The length that a request states does not hold for what comes in chunks.
            return problem_page(self._settings, 411, "The form comes without its length.")
        if not length.isdecimal() or int(length) > MOST_BODY_BYTES:
            return problem_page(self._settings, 413, "The form is too long.")
        return None

    def _is_own_host(self, host: str) -> bool:
        """Returns whether a Host header names this server; an address cannot be made to lead elsewhere."""
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if self._settings.is_loopback:
            return is_loopback(name)
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name in self._settings.names
        return True

    def _sign_in(self, request: Request) -> Response | None:
        """Returns the answer to who has not shown the token, or shows it for the first time; None for the others."""
        token = self._settings.token
        if token is None:
            return None
        kept = hmac.new(token.encode(), b"fathom serve", hashlib.sha256).hexdigest()
        if _same(request.query_params.get(PARAMETER, ""), token) and request.method == "GET":
            answer = RedirectResponse(_without_token(request), 303)
            answer.set_cookie(self._cookie, kept, httponly=True, samesite="lax")
            return answer
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if _same(request.cookies.get(self._cookie, ""), kept) or (
            scheme.lower() == "bearer" and _same(given.strip(), token)
        ):
            return None
        return problem_page(
            self._settings,
            401,
            "This server asks for its token.",
            "Open the address that `fathom serve` printed.",
            sign_in=True,
        )


def _same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode(), expected.encode())


def _without_token(request: Request) -> str:
    rest = [(key, value) for key, value in parse_qsl(request.url.query, True) if key != PARAMETER]
    # Two slashes or backslashes in front would lead to another machine.
    path = "/" + request.scope["raw_path"].decode("ascii").lstrip("/\\")
    return path + (f"?{urlencode(rest)}" if rest else "")


def _is_same_origin(request: Request) -> bool:
    """Returns whether a form was sent by a page of this server: browsers say so on every form."""
    origin = urlsplit(request.headers.get("origin", ""))
    return origin.scheme in ("http", "https") and origin.netloc == request.headers.get("host")
