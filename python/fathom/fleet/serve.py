"""A host's side of a fleet: answers the coordinator's calls on standard input and output until the input ends.

`python -m fathom.fleet.serve NAME WORD [CORES]`. It opens no port. The process ends when the input ends, or when
nothing has come for a while. Then whatever runs is stopped and what is held is let go. So a host that was cut off does
not go on.
"""

import importlib
import os
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from typing import BinaryIO

from fathom.errors import FathomError
from fathom.fleet import wire
from fathom.fleet.agent import HostAgent
from fathom.load.workers import Workers, local_workers

CALLS_AT_ONCE = 8
SILENCE_S = 60.0
"""The coordinator sends something every second; a connection without it for this long is over."""
CLOSE_S = 10.0
PACKAGE = "fathom."


class Server:
    """Answers calls: those of the agent in threads, simulations in processes."""

    def __init__(self, agent: HostAgent, answers: BinaryIO, cores: int | None = None) -> None:
        self.agent = agent
        self.last_message_s = time.monotonic()
        self._answers = answers
        self._sending = threading.Lock()
        self._threads = ThreadPoolExecutor(CALLS_AT_ONCE)
        self._stack = ExitStack()
        self._cores = cores
        self._workers: Workers | None = None

    def serve(self, calls: BinaryIO) -> None:
        """Answers until the calls end."""
        while (frame := wire.read_frame(calls)) is not None:
            self.last_message_s = time.monotonic()
            call, values = wire.parse_call(frame)
            if call.id:
                self._take(call, values)

    def close(self) -> None:
        """Stops the load and releases all targets."""
        self.agent.close()
        # By an error, so that simulations that nobody waits for any more are ended too.
        with suppress(InterruptedError), self._stack:
            raise InterruptedError

    def _take(self, call: wire.Call, values: bytes) -> None:
        try:
            function = _function(call.function)
            arguments = wire.arguments_of(function, call, values)
            if _is_of_agent(call.function):
                done = self._threads.submit(function, self.agent, *arguments)
            else:
                done = self._pool().submit(function, *arguments)
        except Exception as error:  # noqa: BLE001 (the coordinator is told, whatever it is)
            self._send(wire.failure_frame(call.id, error))
            return
        done.add_done_callback(lambda future: self._answer(call.id, function, future))

    def _answer(self, number: int, function: Callable[..., object], future: "Future[object]") -> None:
        try:
            frame = wire.result_frame(number, function, future.result())
        except Exception as error:  # noqa: BLE001 (as above)
            frame = wire.failure_frame(number, error)
        self._send(frame)

    def _send(self, frame: bytes) -> None:
        # Nobody reads any more where the coordinator is gone; the end of the input says so too.
        with self._sending, suppress(OSError, ValueError):
            self._answers.write(frame)
            self._answers.flush()

    def _pool(self) -> Workers:
        if self._workers is None:
            self._workers = self._stack.enter_context(local_workers(self._cores))
        return self._workers


def name_of(function: Callable[..., object]) -> str:
    """Returns the name by which a host knows a function of Fathom's."""
    return f"{function.__module__}:{function.__qualname__}"


def _is_of_agent(name: str) -> bool:
    return name.startswith(f"{HostAgent.__module__}:")


def _function(name: str) -> Callable[..., object]:
    """Raises FathomError for a name outside Fathom."""
    module, _, path = name.partition(":")
    if not module.startswith(PACKAGE):
        raise FathomError(f"{module} is not part of Fathom")
    found: object = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    if not callable(found):
        raise FathomError(f"{name} is not a function")
    return found


def _end_when_silent(server: Server) -> None:
    while time.monotonic() - server.last_message_s < SILENCE_S:
        time.sleep(1)
    _end(server)


def _end(server: Server) -> None:
    """Ends the process, even if a device never completes its I/O."""
    closing = threading.Thread(target=server.close, daemon=True)
    closing.start()
    closing.join(CLOSE_S)
    os._exit(0)


def main() -> None:
    """Serves until standard input ends."""
    name, word, *cores = sys.argv[1:]
    # What a library prints must not end up between the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    server = Server(HostAgent(name), answers, int(cores[0]) if cores else None)
    threading.Thread(target=_end_when_silent, args=(server,), daemon=True).start()
    answers.write(f"{wire.HELLO} {word}\n".encode())
    answers.flush()
    try:
        server.serve(sys.stdin.buffer)
    finally:
        _end(server)


if __name__ == "__main__":
    main()
