"""The coordinator's side of a host: its agent behind a shell, asked over standard input and output.

Nothing listens anywhere, and nothing that a host sends is run here. A host that sends what it may not, too much of it,
or nothing at all is lost. Every call that waits for it fails with that reason, and so does every later one.
"""

import os
import secrets
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotInTime
from contextlib import suppress
from queue import Empty, Full, Queue
from typing import IO, BinaryIO, TypeVar

from fathom.errors import FathomError, UsageError
from fathom.fleet import serve, wire

START_S = 60.0
END_S = 15.0
ALIVE_S = 1.0
MOST_UNSENT = 4096
"""Most calls to queue for a host that does not read, so that memory stays bounded."""
MOST_ERROR_BYTES = 16 << 20
LAST_WORDS_BYTES = wire.MOST_WORDS
LAST_WORDS_S = 1.0
SAME = "check that it can be reached, and that the same Fathom is installed there"

T = TypeVar("T")


class HostProcess:
    """A host that was started through a shell, to be closed by `close`. `cores`: for how many simulations at once."""

    def __init__(self, name: str, shell: Sequence[str], cores: int | None = None) -> None:
        self.name = name
        self.cores = cores
        self._word = secrets.token_hex(8)
        self._lock = threading.Lock()
        self._waiting: dict[int, tuple[Callable[..., object], Future[object]]] = {}
        self._number = 0
        self._unsent: Queue[bytes | None] = Queue(MOST_UNSENT)
        self._words = b""
        self._lost: FathomError | None = None
        self._began: Future[None] = Future()
        self._process = _start(name, shell)
        agent = ["exec", sys.executable, "-P", "-m", serve.__name__, name, self._word]
        self._script = shlex.join(agent if cores is None else [*agent, str(cores)]) + "\n"
        self._listen()

    @property
    def lost(self) -> FathomError | None:
        """Why the host is lost; None while it answers."""
        return self._lost

    def wait_for_start(self) -> None:
        """Returns once the agent answers. Raises FathomError with the host's last words when it does not."""
        try:
            self._began.result(START_S)
        except NotInTime as error:
            waited = f"host {self.name}: did not start within {START_S:.0f} s"
            raise FathomError(waited, "see that it can be reached") from error

    def submit(self, method: Callable[..., T], *arguments: object) -> "Future[T]":
        """Calls a method of the agent, or another function of Fathom's, there."""
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()
        with self._lock:
            if self._lost is not None:
                future.set_exception(self._lost)
                return future
            self._number += 1
            number = self._number
            self._waiting[number] = (method, future)  # pyright: ignore[reportArgumentType]
        self._queue(wire.call_frame(number, serve.name_of(method), method, arguments))
        return future

    def close(self) -> None:
        """Ends the agent, which lets go what it holds, and the shell; by force where they do not end."""
        self._lose(FathomError("the run is over"))
        try:
            self._unsent.put_nowait(None)
            self._process.wait(END_S)
        except (Full, subprocess.TimeoutExpired):
            self._kill()
            self._process.wait()

    def _listen(self) -> None:
        """Starts what writes and reads the shell's three streams."""
        process = self._process
        self._hears_errors = self._thread(self._read_errors, process.stderr)
        self._thread(self._read, process.stdout)
        self._thread(self._write, process.stdin)

    def _thread(self, target: Callable[[BinaryIO], None], stream: "IO[bytes] | None") -> threading.Thread:
        thread = threading.Thread(target=target, args=(stream,), daemon=True, name=f"host {self.name}")
        thread.start()
        return thread

    def _queue(self, frame: bytes) -> None:
        try:
            self._unsent.put_nowait(frame)
        except Full:
            self._fail(f"does not read: {MOST_UNSENT} calls wait")

    def _write(self, calls: BinaryIO) -> None:
        """Sends what is queued, and shows every second that the coordinator is there."""
        # The end of a broken pipe is what the reader of the answers sees too, and says.
        with suppress(OSError), calls:
            calls.write(self._script.encode())
            calls.flush()
            # A shell may read ahead: what is for the agent comes when the shell has become it.
            if self._began.exception() is not None:
                return
            while (frame := self._next_frame()) is not None:
                calls.write(frame)
                calls.flush()

    def _next_frame(self) -> bytes | None:
        try:
            return self._unsent.get(timeout=ALIVE_S)
        except Empty:
            return None if self._lost else wire.ALIVE

    def _read(self, answers: BinaryIO) -> None:
        try:
            if self._skip_noise(answers):
                while (frame := wire.read_frame(answers)) is not None:
                    self._take(frame)
        except wire.WireError as error:
            self._fail(str(error))
        except OSError as error:
            self._fail(error.strerror or str(error))
        else:
            self._fail(self._why_ended(), SAME if not self._began.done() else None)

    def _skip_noise(self, answers: BinaryIO) -> bool:
        """Reads what a login shell prints, to the agent's first word: whether there is one.

        Raises WireError for too much of it.
        """
        hello = f"{wire.HELLO} {self._word}\n".encode()
        left = wire.MOST_NOISE_BYTES
        while line := answers.readline(left):
            if line.endswith(hello):
                self._words = b""
                with self._lock:
                    if self._lost is None:
                        self._began.set_result(None)
                return True
            self._words = (self._words + line)[-LAST_WORDS_BYTES:]
            left -= len(line)
            if not left:
                raise wire.WireError(
                    f"its shell printed {wire.MOST_NOISE_BYTES} bytes before the agent began"
                )
        return False

    def _take(self, frame: bytes) -> None:
        """Raises WireError for an answer that nobody waits for, or one of a wrong type."""
        answer, values = wire.parse_answer(frame)
        with self._lock:
            function, future = self._waiting.pop(answer.id, (None, None))
        if function is None or future is None:
            raise wire.WireError("answered a call that was never made")
        if answer.failure is not None:
            future.set_exception(wire.error_of(answer.failure))
            return
        try:
            result = wire.result_of(function, values)
        except wire.WireError as error:
            # Lost before its caller looks whether it is.
            self._fail(error.message)
            future.set_exception(error)
            raise
        future.set_result(result)

    def _read_errors(self, errors: BinaryIO) -> None:
        left = MOST_ERROR_BYTES
        with suppress(OSError):
            # By what is there, not by lines: a flood of short ones would take its time.
            while chunk := os.read(errors.fileno(), wire.MOST_NOISE_BYTES):
                self._words = (self._words + chunk)[-LAST_WORDS_BYTES:]
                left -= len(chunk)
                if left < 0:
                    self._fail(f"printed more than {MOST_ERROR_BYTES} bytes of errors")
                    return

    def _why_ended(self) -> str:
        """Returns the error of a host that has ended, with its last line on standard error, which may come a moment
        late.
        """
        self._hears_errors.join(LAST_WORDS_S)
        lines = self._words.decode(errors="replace").strip().splitlines()
        last = lines[-1] if lines else ""
        if not self._began.done():
            return f"did not start: {last or 'no reason given'}"
        return f"the host or its agent has died{last and f': {last}'}"

    def _fail(self, why: str, hint: str | None = None) -> None:
        """Gives the host up and kills its shell here, which could go on sending."""
        if self._lose(FathomError(why, hint)):
            self._kill()

    def _kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _lose(self, error: FathomError) -> bool:
        """Ends every call with the error. Returns False where the host was lost before."""
        with self._lock:
            if self._lost is not None:
                return False
            self._lost = error
            waiting, self._waiting = self._waiting, {}
            if not self._began.done():
                self._began.set_exception(FathomError(f"host {self.name}: {error.message}", error.hint))
        for _, future in waiting.values():
            future.set_exception(error)
        return True


def _start(name: str, shell: Sequence[str]) -> "subprocess.Popen[bytes]":
    try:
        return subprocess.Popen(
            shell,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise UsageError(
            f"host {name}: {shell[0]}: {error.strerror}", "give --shell a command that exists"
        ) from error
