"""Brings hosts up as Ray nodes: on this machine, over ssh, or on a cluster that exists; puts an agent on each.

Each node is started through a shell whose standard input stays open: when the coordinator ends, however it ends, the
input closes and the node goes down with it. Nodes talk by a token that is made for the run.
"""

import importlib.util
import json
import logging
import os
import secrets
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from fathom.errors import FathomError, UsageError
from fathom.fleet.agent import HostAgent
from fathom.fleet.fleet import Fleet
from fathom.text_file import read_text

if TYPE_CHECKING:
    from ray.actor import ActorProxy

START_S = 60.0
ATTEMPTS = 3
"""Ray gives a node's helpers 15 s to come up; on a busy machine a node may have to be started again."""
END_S = 15.0
CONNECT_S = 5.0
LOCAL_HEAD = "127.0.0.2"
MOST_LOCAL_HOSTS = 64

T = TypeVar("T")

Nodes = Sequence[tuple[str, str]]
"""Hosts of the cluster that this process is connected to: name and Ray's id of the node."""

#: A host that hangs is seen in seconds instead of Ray's own minute; one on this machine may only be starved.
SETTINGS = {
    "RAY_AUTH_MODE": "token",
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "1000",
    "RAY_health_check_failure_threshold": "3",
    "RAY_USAGE_STATS_ENABLED": "0",
}


def fleet_of(nodes: Nodes) -> Fleet:
    """The hosts as one load generator, an agent on each."""
    return Fleet([_agent(name, node_id) for name, node_id in nodes])


def local_nodes(count: int) -> AbstractContextManager[Nodes]:
    """So many nodes on this machine, each on a loopback address of its own: for trying a fleet out."""
    if not 1 <= count <= MOST_LOCAL_HOSTS:
        raise UsageError(f"--local-hosts {count}: out of range", f"expected 1 to {MOST_LOCAL_HOSTS}")
    nodes = {f"host{k}": (["sh"], f"127.0.0.{k + 2}") for k in range(1, count + 1)}
    return _cluster(LOCAL_HEAD, nodes, SETTINGS | {"RAY_health_check_failure_threshold": "30"})


def hosts_of_file(path: Path, shell: str = "ssh") -> AbstractContextManager[Nodes]:
    """The hosts that a file names, one a line (`#` begins a comment), reached by `shell HOST sh`."""
    names = _read_hosts(path)
    try:
        words = shlex.split(shell)
    except ValueError as error:
        raise UsageError(f"--shell {shell}: {error}", "quote it as a shell would take it") from error
    nodes = {name: ([*words, name, "sh"], None) for name in names}
    return _cluster(_own_address(names[0]), nodes)


@contextmanager
def ray_cluster(address: str) -> Iterator[Nodes]:
    """Every node of a Ray cluster that exists, with Fathom installed on each."""
    _require_ray()
    _require_answer(address)
    import ray

    with _connected(address):
        nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
        if not nodes:
            raise UsageError(
                f"--ray {address}: the cluster has no node with a CPU", "start `ray start` on the hosts"
            )
        yield [(f"{node['NodeName']}", node["NodeID"]) for node in nodes]


def _read_hosts(path: Path) -> list[str]:
    lines = read_text(path, "give a file with one host a line").splitlines()
    names = [line.partition("#")[0].strip() for line in lines]
    names = [name for name in names if name]
    if not names:
        raise UsageError(f"{path}: no host in it", "write one host a line")
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise UsageError(f"{path}: {', '.join(sorted(twice))}: twice", "name each host once")
    return names


def _own_address(towards: str) -> str:
    """This machine's address as that host sees it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # A name that no resolver could be asked for is a TypeError of `connect`, so it is encoded here.
            probe.connect((towards.rpartition("@")[2].encode("idna"), 9))
        except (OSError, UnicodeError) as error:
            why = getattr(error, "strerror", None) or error
            raise UsageError(f"host {towards}: {why}", "give names that resolve") from error
        return str(probe.getsockname()[0])


@contextmanager
def _cluster(
    head: str, nodes: Mapping[str, tuple[Sequence[str], str | None]], settings: Mapping[str, str] = SETTINGS
) -> Iterator[Nodes]:
    """A head on this machine and a node for each host, given how to get a shell there and the address it shall have."""
    _require_ray()
    settings = {**settings, "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    address = f"{head}:{_free_port(head)}"
    with _environment(settings), ExitStack() as ends, ExitStack() as stack:
        port = address.rpartition(":")[2]
        head_options = [
            "--head",
            f"--node-ip-address={head}",
            f"--port={port}",
            "--num-cpus=0",
            "--include-dashboard=false",
        ]
        root = stack.enter_context(_node("head", ["sh"], settings, head_options, ends))
        _wait_for_port(head, int(port), root)
        stack.enter_context(_connected(address))
        found = []
        for name, (shell, own) in nodes.items():
            # One after another: nodes that start together on one machine trip over each other's session files.
            options = _node_options(address, name, own)
            start = partial(_node, name, shell, settings, options, ends)
            found.append((name, _join(stack, start, name)))
        yield found


def _join(stack: ExitStack, start: "Callable[[], AbstractContextManager[_Shell]]", name: str) -> str:
    """Ray's id of a node that was started and has joined; it goes down with the stack."""
    for _ in range(ATTEMPTS):
        with ExitStack() as own:
            node_id = _node_id(name, own.enter_context(start()))
            if node_id is not None:
                stack.push(own.pop_all())
                return node_id
    waited_s = ATTEMPTS * START_S
    raise FathomError(
        f"host {name}: did not join within {waited_s:.0f} s", "see that it reaches this machine"
    )


def _node_options(address: str, name: str, own_address: str | None) -> list[str]:
    """A host of its own has the cores it has; those on this machine share its cores, one each."""
    options = [f"--address={address}", f"--resources={json.dumps({_mark(name): 1})}"]
    return options + ([f"--node-ip-address={own_address}", "--num-cpus=1"] if own_address else [])


class _Shell:
    """A node of Ray under a shell."""

    def __init__(self, name: str, process: "subprocess.Popen[bytes]") -> None:
        self.name = name
        self.process = process

    def require_alive(self) -> None:
        """Raises FathomError with the node's last words when it has ended."""
        if self.process.poll() is None:
            return
        words = (
            (self.process.stdout.read() if self.process.stdout else b"").decode(errors="replace").split("\n")
        )
        last = next((line for line in reversed(words) if line.strip()), "no reason given")
        raise FathomError(
            f"host {self.name}: did not start: {last}", "the same Fathom must be installed there"
        )


@contextmanager
def _node(
    name: str, shell: Sequence[str], settings: Mapping[str, str], options: Sequence[str], ends: ExitStack
) -> Iterator[_Shell]:
    """A node that lives until the end of the `with`, or until this process is gone. `ends` waits for its end."""
    start = "from ray.scripts.scripts import main; main()"
    command = shlex.join([sys.executable, "-c", start, "start", "--block", "--disable-usage-stats", *options])
    script = "\n".join(
        [
            "exec 3<&0",
            *(f"export {key}={shlex.quote(value)}" for key, value in settings.items()),
            f"{command} </dev/null >/dev/null & node=$!",
            "{ cat <&3 >/dev/null; kill $node 2>/dev/null; } &",
            "wait $node",
            "",
        ]
    )
    try:
        process = subprocess.Popen(
            shell,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        raise UsageError(
            f"host {name}: {shell[0]}: {error.strerror}", "give --shell a command that exists"
        ) from error
    ends.callback(_wait_for_end, process)
    with process.stdin or nullcontext() as script_in:
        if script_in is not None:
            script_in.write(script.encode())
            script_in.flush()
        yield _Shell(name, process)


def _wait_for_end(process: "subprocess.Popen[bytes]") -> None:
    try:
        process.wait(END_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _require_ray() -> None:
    if importlib.util.find_spec("ray") is None:
        raise UsageError("hosts need Ray, which is not installed", "pip install 'fathom[fleet]'")


def _require_answer(address: str) -> None:
    """Raises FathomError where nobody listens: Ray itself would look for two minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not port.isdigit():
        return
    try:
        socket.create_connection((host, int(port)), CONNECT_S).close()
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or error
        raise FathomError(
            f"--ray {address}: no Ray cluster there: {why}", "give the address that `ray start --head` prints"
        ) from error


@contextmanager
def _connected(address: str) -> Iterator[None]:
    import ray

    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise FathomError(f"{address}: no Ray cluster there: {str(error).splitlines()[0]}") from error
    try:
        yield
    finally:
        ray.shutdown()


class _RayRemote:
    """A host's agent as a Ray actor. Nothing is ever tried twice: a repeated write is destruction."""

    def __init__(self, actor: "ActorProxy[HostAgent]") -> None:
        self._actor = actor

    def submit(self, method: Callable[..., T], *arguments: object) -> "Future[T]":
        return getattr(self._actor, method.__name__).remote(*arguments).future()


def _agent(name: str, node_id: str) -> tuple[str, _RayRemote]:
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    options = {
        "max_restarts": 0,
        "max_task_retries": 0,
        "num_cpus": 0,
        "max_concurrency": 8,
        "scheduling_strategy": NodeAffinitySchedulingStrategy(node_id, soft=False),
    }
    return name, _RayRemote(ray.remote(HostAgent).options(**options).remote(name))


def _node_id(name: str, shell: _Shell) -> str | None:
    """Ray's id of the node once it has joined; None when it has not in time."""
    import ray

    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        for node in ray.nodes():
            if node["Alive"] and _mark(name) in node["Resources"]:
                return str(node["NodeID"])
        shell.require_alive()
        time.sleep(0.2)
    return None


def _mark(name: str) -> str:
    """The resource by which a host's node is known."""
    return f"fathom-host-{name}"


def _wait_for_port(host: str, port: int, shell: _Shell) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        shell.require_alive()
        with socket.socket() as probe:
            probe.settimeout(1)
            if probe.connect_ex((host, port)) == 0:
                return
        time.sleep(0.1)
    raise FathomError(f"the fleet's head did not start within {START_S:.0f} s", "look into /tmp/ray")


def _free_port(host: str) -> int:
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


@contextmanager
def _environment(settings: Mapping[str, str]) -> Iterator[None]:
    before = {key: os.environ.get(key) for key in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value
