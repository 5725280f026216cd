"""The nodes of a Ray cluster that somebody else runs, as hosts of a fleet.

The cluster's ports, folders and tokens are its owner's. Ray passes results by pickle, so a node of the cluster can run
code here before any check. docs/explanation/security.md says how to fence it.
"""

import importlib.util
import logging
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from fathom.errors import FathomError, MissingPackagesError, UsageError
from fathom.fleet import wire
from fathom.fleet.agent import HostAgent

if TYPE_CHECKING:
    from ray.actor import ActorProxy

CONNECT_S = 5.0

T = TypeVar("T")


class RayHost:
    """A host's agent as a Ray actor. No call is ever retried: a repeated write would destroy data."""

    def __init__(self, name: str, node_id: str) -> None:
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        options = {
            "max_restarts": 0,
            "max_task_retries": 0,
            "num_cpus": 0,
            "max_concurrency": 8,
            "scheduling_strategy": NodeAffinitySchedulingStrategy(node_id, soft=False),
        }
        self.name = name
        self._actor: ActorProxy[HostAgent] = ray.remote(HostAgent).options(**options).remote(name)

    def submit(self, method: Callable[..., T], *arguments: object) -> "Future[T]":
        """Calls a method of the agent."""
        answer: Future[T] = Future()
        answer.set_running_or_notify_cancel()

        def take(future: "Future[T]") -> None:
            try:
                answer.set_result(wire.as_sent(method, future.result()))  # pyright: ignore[reportArgumentType]
            except Exception as error:  # noqa: BLE001 (whatever it is, the caller is to have it)
                answer.set_exception(error)

        getattr(self._actor, method.__name__).remote(*arguments).future().add_done_callback(take)
        return answer


@contextmanager
def ray_connected(address: str) -> Iterator[list[tuple[str, str]]]:
    """Connects to an existing Ray cluster. Yields the name and Ray id of every node, all with Fathom installed."""
    if importlib.util.find_spec("ray") is None:
        raise MissingPackagesError("--ray needs Ray, which is not installed", "fleet")
    _require_answer(address)
    import ray

    with _connected(address):
        nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
        if not nodes:
            raise UsageError(
                f"--ray {address}: the cluster has no node with a CPU", "start `ray start` on the hosts"
            )
        yield [(f"{node['NodeName']}", node["NodeID"]) for node in nodes]


def _require_answer(address: str) -> None:
    """Raises FathomError where nobody listens: Ray itself would try for two minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not port.isdecimal():
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
