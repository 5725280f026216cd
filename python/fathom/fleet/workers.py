"""The hosts of a fleet as workers: simulations, on as many cores as the hosts have.

Unlike the load on a target, a simulation changes nothing, so one whose host is gone is made again on another.
"""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import TypeVar

from fathom import __version__
from fathom.errors import FathomError
from fathom.fleet.agent import HostAgent
from fathom.fleet.process import HostProcess

T = TypeVar("T")


@dataclass(frozen=True)
class _Call:
    """A call that no host has answered yet."""

    function: Callable[..., object]
    arguments: tuple[object, ...]
    future: "Future[object]"


class HostWorkers:
    """Calls functions on hosts, each as many at once as it has cores. `say` gets one line for each host that is lost
    while others are left.
    """

    def __init__(self, hosts: Sequence[HostProcess], say: Callable[[str], None]) -> None:
        self._say = say
        self._lock = Lock()
        self._calls: deque[_Call] = deque()
        self._free: deque[HostProcess] = deque()
        answers = [(host, host.submit(HostAgent.facts)) for host in hosts]
        for host, answer in answers:
            facts = answer.result()
            facts.require_same_fathom(host.name)
            self._free.extend([host] * (host.cores or facts.cores))
        self._left = set(hosts)
        self._none_left: FathomError | None = None

    def submit(self, function: Callable[..., T], /, *arguments: object) -> "Future[T]":
        """Calls the function on a host with a free core. The call fails at once where no host is left."""
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()
        with self._lock:
            error = self._none_left
            if error is None:
                self._calls.append(_Call(function, arguments, future))  # pyright: ignore[reportArgumentType]
        if error is not None:
            future.set_exception(error)
        self._go_on()
        return future

    def _go_on(self) -> None:
        """Starts waiting calls on free cores."""
        while True:
            with self._lock:
                if not (self._free and self._calls):
                    return
                host, call = self._free.popleft(), self._calls.popleft()
            answer = host.submit(call.function, *call.arguments)
            answer.add_done_callback(partial(self._ended, host, call))

    def _ended(self, host: HostProcess, call: _Call, answer: "Future[object]") -> None:
        error = answer.exception()
        if error is not None and host.lost is not None:
            self._lose(host, call, host.lost)
        else:
            with self._lock:
                self._free.append(host)
            if error is not None:
                call.future.set_exception(error)
            else:
                call.future.set_result(answer.result())
        self._go_on()

    def _lose(self, host: HostProcess, call: _Call, why: FathomError) -> None:
        """Queues the call of a lost host again. If no host is left, all waiting calls fail."""
        with self._lock:
            is_news = host in self._left
            self._left.discard(host)
            self._free = deque(each for each in self._free if each is not host)
            self._calls.appendleft(call)
            stranded = [*self._calls] if not self._left else []
            error = FathomError(f"host {host.name}: {why.message}", "no host is left")
            if stranded:
                self._calls.clear()
                self._none_left = error
        if is_news and not stranded:
            self._say(f"host {host.name} was lost: {why.message}; the hosts that are left do its work")
        for each in stranded:
            each.future.set_exception(error)


class RayWorkers:
    """Calls functions on the hosts of the Ray cluster that this process is connected to."""

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
