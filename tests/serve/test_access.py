"""Who may ask the server for what: names, origins, tokens, methods, sizes, and the headers of its answers."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from fathom.errors import FathomError, UsageError
from fathom.serve.server import listening, serve
from fathom.serve.settings import settings_of
from serve_client import Served, serving

TOKEN = "correct-horse-battery"
RUN = "20261120-231500-four-corners-aaaa"


@pytest.fixture(scope="module")
def guarded(home: Path) -> Iterator[Served]:
    with serving(settings_of(home, "127.0.0.1:0", TOKEN)) as server:
        yield server


@pytest.mark.parametrize("listen", ["0.0.0.0:8765", "192.0.2.7:80", "[::]:8765", "box.example:1"])
def test_others_are_let_in_only_with_a_token(listen: str) -> None:
    with pytest.raises(UsageError, match="others could read every run"):
        settings_of(Path("/runs"), listen, None)
    assert len(settings_of(Path("/runs"), listen, "new").token or "") >= 32


@pytest.mark.parametrize("listen", ["127.0.0.1:8765", "localhost:0", "[::1]:1"])
def test_this_machine_is_let_in_without_one(listen: str) -> None:
    assert settings_of(Path("/runs"), listen, None).is_loopback


@pytest.mark.parametrize(
    "listen", ["", "8765", "127.0.0.1", "127.0.0.1:99999", "http://127.0.0.1:1", "a b:1"]
)
def test_what_is_no_address_is_refused(listen: str) -> None:
    with pytest.raises(UsageError, match="not HOST:PORT"):
        settings_of(Path("/runs"), listen, None)


@pytest.mark.parametrize("token", ["", "short", "with a blank in it here", "ünïcode-and-more-than-sixteen"])
def test_a_token_that_can_be_guessed_or_breaks_an_address_is_refused(token: str) -> None:
    with pytest.raises(UsageError, match="--token"):
        settings_of(Path("/runs"), "127.0.0.1:1", token)


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "192.0.2.7", "", "[::"]
)
def test_a_name_that_was_made_to_lead_here_is_turned_away(served: Served, host: str) -> None:
    assert served.ask("/", Host=host).status == 421


def test_the_names_of_this_machine_are_answered(served: Served) -> None:
    for host in ("localhost", "LOCALHOST:9", "127.0.0.1", "[::1]:8765"):
        assert served.ask("/", Host=host).status == 200


@pytest.mark.parametrize(
    "origin", [None, "null", "http://evil.example", "http://127.0.0.1", "https://127.0.0.1:1"]
)
def test_a_form_of_another_site_changes_nothing(served: Served, home: Path, origin: str | None) -> None:
    headers = {} if origin is None else {"Origin": origin}
    assert served.ask(f"/runs/{RUN}/about", "POST", "tags=owned", **headers).status == 403
    assert not (home / ".labels").exists()


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT"])
def test_only_reading_and_forms_are_served(served: Served, method: str) -> None:
    assert served.ask("/", method).status in (400, 405)


@pytest.mark.parametrize("path", ["/", f"/runs/{RUN}", "/assets/style.css", "/nothing"])
def test_a_head_request_is_answered_as_a_get_without_its_body(served: Served, path: str) -> None:
    head, whole = served.ask(path, "HEAD"), served.ask(path)
    assert (head.status, head.headers["content-type"]) == (whole.status, whole.headers["content-type"])
    assert not head.text
    assert whole.text


def test_a_long_form_is_refused_unread(served: Served) -> None:
    assert served.send(f"/runs/{RUN}/about", f"note={'x' * (1 << 17)}").status == 413


def test_a_form_in_chunks_is_refused_unread_whatever_length_it_states(served: Served) -> None:
    origin = {"Origin": served.url, "Content-Type": "application/x-www-form-urlencoded"}
    with socket.create_connection((served.settings.host, served.settings.port), timeout=60) as connection:
        head = "".join(
            f"{name}: {value}\r\n" for name, value in {"Host": served.settings.address, **origin}.items()
        )
        connection.sendall(
            f"POST /runs/{RUN}/about HTTP/1.1\r\n{head}Content-Length: 10\r\nTransfer-Encoding: chunked\r\n\r\n"
            "20000\r\n".encode()
        )
        # The answer comes though the body never does.
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 411")


def test_every_answer_keeps_others_out(served: Served) -> None:
    for path in ("/", f"/runs/{RUN}", "/assets/serve.js", "/nothing"):
        headers = served.ask(path).headers
        policy = headers["content-security-policy"]
        assert "frame-ancestors 'none'" in policy
        assert "unsafe-eval" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert not any(name.startswith("access-control") for name in headers)
        assert "server" not in headers


def test_without_the_token_nothing_is_shown(guarded: Served) -> None:
    for path in (
        "/",
        f"/runs/{RUN}",
        "/assets/serve.js",
        "/?token=wrong",
        "/?token=",
        "/?token=%00%ff",
    ):
        answer = guarded.ask(path)
        assert answer.status == 401, path
        assert RUN not in answer.text
    assert guarded.ask("/", Cookie=f"fathom-{guarded.settings.port}=wrong").status == 401
    assert guarded.ask("/", Authorization="Bearer wrong").status == 401


def test_the_token_is_asked_for_once_and_is_in_no_later_address(guarded: Served) -> None:
    first = guarded.ask(f"/runs/{RUN}?token={TOKEN}&hide=0")
    assert (first.status, first.headers["location"]) == (303, f"/runs/{RUN}?hide=0")
    cookie = first.headers["set-cookie"]
    assert TOKEN not in cookie
    assert "httponly" in cookie.lower()
    assert "samesite=lax" in cookie.lower()
    assert guarded.ask("/", Cookie=cookie.partition(";")[0]).status == 200
    assert guarded.ask("/", Authorization=f"Bearer {TOKEN}").status == 200


@pytest.mark.parametrize("path", ["//evil.example/", "/\\evil.example/", "///evil.example"])
def test_the_way_back_after_signing_in_leads_to_no_other_machine(guarded: Served, path: str) -> None:
    location = guarded.ask(f"{path}?token={TOKEN}").headers.get("location", "/")
    assert location.startswith("/")
    assert location[1:2] not in ("/", "\\")


def test_a_port_that_is_taken_is_named_in_one_line(served: Served) -> None:
    with pytest.raises(UsageError, match=r":\d+: Address already in use;"), listening(served.settings):
        pass


def test_a_file_in_the_place_of_a_folder_of_runs_ends_the_command(tmp_path: Path) -> None:
    file = tmp_path / "runs"
    file.touch()
    with pytest.raises(FathomError, match=r"Not a directory") as refused:
        serve(settings_of(file, "127.0.0.1:0", None))
    assert refused.value.hint == "give a folder of runs"
