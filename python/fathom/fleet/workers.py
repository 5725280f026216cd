"""The hosts of a fleet as workers: simulations as Ray tasks, on as many cores as the hosts have.

Unlike the load on a target, a simulation changes nothing, so Ray may start one again whose host is gone.
"""

from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from fathom import __version__
from fathom.errors import FathomError

T = TypeVar("T")


class RayWorkers:
    """Calls functions on the hosts of the cluster that this process is connected to."""

    def submit(self, function: Callable[..., T], /, *arguments: object) -> "Future[T]":
        """Calls the function on a host with a free core."""
        import ray

        task = ray.remote(_call).options(num_cpus=1)
        return task.remote(__version__, function, arguments).future()  # pyright: ignore[reportFunctionMemberAccess]


def _call(version: str, function: Callable[..., T], arguments: tuple[object, ...]) -> T:
    if version != __version__:
        raise FathomError(
            f"a host has Fathom {__version__}, the coordinator {version}",
            "install the same version on every host",
        )
    return function(*arguments)
