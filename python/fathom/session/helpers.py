"""Threads of a session's pool that have nothing to do help one that has much to do.

A thread asks for help where its work falls into pieces that need nothing of each other. The pool has one thread for
each simulation that may run at once, so help never makes them more.
"""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, wait
from typing import TypeVar

from fathom.session.in_turn import Voice
from fathom.session.options import Observer

T = TypeVar("T")


class Helpers:
    """The pool as one chain sees it, whose voice is `voice`. `at_once` is the number of threads of the pool."""

    def __init__(self, pool: Executor, at_once: int, voice: Voice) -> None:
        self._pool = pool
        self._at_once = at_once
        self._voice = voice

    def share(self, pieces: Sequence[T], work: Callable[[T, Observer], None]) -> None:
        """Does the work on each piece, in this thread and in those that are free meanwhile, and returns when all of it
        is done. Raises the first error, after which no piece is begun.
        """
        left = deque(pieces)
        helping = [
            self._pool.submit(self._help, left, work) for _ in range(min(len(pieces), self._at_once) - 1)
        ]
        try:
            _do(left, work, self._voice)
        finally:
            # Whoever has not begun is not needed. This thread must not wait for a thread that waits for it.
            begun: list[Future[None]] = [one for one in helping if not one.cancel()]
            wait(begun)
        for one in begun:
            one.result()

    def _help(self, left: "deque[T]", work: Callable[[T, Observer], None]) -> None:
        voice = self._voice.beside()
        try:
            _do(left, work, voice)
        finally:
            voice.end()


def _do(left: "deque[T]", work: Callable[[T, Observer], None], observer: Observer) -> None:
    """Takes pieces until none is left."""
    while True:
        try:
            piece = left.popleft()
        except IndexError:
            return
        try:
            work(piece, observer)
        except BaseException:
            left.clear()
            raise
