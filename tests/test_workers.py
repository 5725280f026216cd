"""Processes that simulate: what their users see when one is killed."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from multiprocessing.context import SpawnProcess
from pathlib import Path

import pytest

from fathom.errors import FathomError
from fathom.load.workers import as_they_end, local_workers

WAITING = """
import os, time
from fathom.load.workers import local_workers
with local_workers(1) as workers:
    print(workers.submit(os.getpid).result(), flush=True)
    time.sleep(600)
"""


def test_a_killed_process_is_an_error_that_says_why_and_what_to_do() -> None:
    with pytest.raises(FathomError, match="was killed") as raised, local_workers(1) as workers:
        list(as_they_end({workers.submit(os._exit, 9): "a case"}))
    assert "memory" in str(raised.value.hint)


def test_processes_end_with_the_one_that_started_them_however_that_ends() -> None:
    first = subprocess.Popen([sys.executable, "-c", WAITING], stdout=subprocess.PIPE, text=True)
    assert first.stdout is not None
    worker = Path("/proc") / first.stdout.readline().strip()
    assert worker.exists()
    first.send_signal(signal.SIGKILL)
    first.wait()
    until_s = time.monotonic() + 60
    while worker.exists() and time.monotonic() < until_s:
        time.sleep(0.1)
    assert not worker.exists()


def test_an_error_in_one_pool_ends_no_other_process_of_the_program() -> None:
    ready, good = threading.Event(), list[str]()

    def other_pool() -> None:
        with local_workers(1) as workers:
            workers.submit(os.getpid).result()
            long = workers.submit(time.sleep, 3)
            ready.set()
            long.result()
            good.append("ended")

    def failing_pool() -> None:
        with local_workers(1) as workers:
            workers.submit(os.getpid).result()
            raise FathomError("some other error")

    own = process_of_the_program()
    thread = threading.Thread(target=other_pool)
    thread.start()
    ready.wait()
    with pytest.raises(FathomError, match="some other"):
        failing_pool()
    thread.join()
    assert good == ["ended"]
    assert own.is_alive()
    own.kill()
    own.join()


def process_of_the_program() -> SpawnProcess:
    """A process that the program started itself."""
    process = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(600,))
    process.start()
    return process
