"""Processes that simulate: what their users see when one is killed."""

import os

import pytest

from fathom.errors import FathomError
from fathom.load.workers import as_they_end, local_workers


def test_a_killed_process_is_an_error_that_says_why_and_what_to_do() -> None:
    with pytest.raises(FathomError, match="was killed") as raised, local_workers(1) as workers:
        list(as_they_end({workers.submit(os._exit, 9): "a case"}))
    assert "memory" in str(raised.value.hint)
