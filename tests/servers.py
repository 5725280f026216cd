"""Servers that tests of stores start: a real PostgreSQL, and moto's S3. Each says why it cannot be started."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

BUCKET = "team"
SECRET = "a secret'with\"quotes"


class NotHereError(Exception):
    """Why a server cannot be started on this machine."""


def _program(name: str) -> str:
    found = shutil.which(name)
    debian = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    if found is None and not debian:
        raise NotHereError(f"no {name} on this machine (apt-get install postgresql)")
    return found or str(debian[-1])


@contextmanager
def postgres() -> Iterator[Mapping[str, str]]:
    """Starts a PostgreSQL of its own; gives the variables that lead to it. It refuses root, so root becomes nobody."""
    initdb, server_program = _program("initdb"), _program("postgres")
    user = group = None
    with TemporaryDirectory(prefix="fathom-pg-") as folder:
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            user, group = nobody.pw_uid, nobody.pw_gid
            os.chown(folder, user, group)
        data = Path(folder, "d")
        command = [initdb, "-D", data, "-A", "trust", "-U", "fathom", "--no-sync", "-E", "UTF8", "--locale=C"]
        subprocess.run(command, check=True, capture_output=True, cwd=folder, user=user, group=group)
        options = ["-c", "listen_addresses=", "-c", "fsync=off", "-k", folder, "-p", "5432"]
        with Path(folder, "log").open("wb") as log:
            command = [server_program, "-D", data, *options]
            server = subprocess.Popen(command, stderr=log, cwd=folder, user=user, group=group)
        variables = {"PGHOST": folder, "PGPORT": "5432", "PGUSER": "fathom"}
        try:
            _wait(variables, server)
            yield variables
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(30)


def create_database(name: str) -> None:
    """Makes a data base on the server that the environment names."""
    subprocess.run([_program("createdb"), name], check=True, capture_output=True)


def _wait(variables: Mapping[str, str], server: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + 60
    ready = [_program("pg_isready"), "-q"]
    while subprocess.run(ready, env=os.environ | variables, check=False).returncode:
        if server.poll() is not None or time.monotonic() > until:
            raise RuntimeError("PostgreSQL did not start")
        time.sleep(0.05)


@contextmanager
def s3() -> Iterator[Mapping[str, str]]:
    """Starts moto's S3 with a bucket; gives the variables that lead to it."""
    if find_spec("moto") is None or find_spec("flask_cors") is None:
        raise NotHereError("no moto on this machine (pip install 'moto[s3]' flask flask-cors)")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        until = time.monotonic() + 60
        while not _made(f"{url}/{BUCKET}"):
            if server.poll() is not None or time.monotonic() > until:
                raise RuntimeError("moto's S3 did not start")
            time.sleep(0.1)
        yield {"AWS_ENDPOINT_URL": url, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": SECRET}
    finally:
        server.terminate()
        server.wait(30)


def _made(url: str) -> bool:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, method="PUT"), timeout=5):
            return True
    except (urllib.error.URLError, OSError):
        return False
