"""What is said of a limit beyond what a recording knows."""

import pytest

from fathom.statistics.limits import limit_of, with_client

UNTOLD = "target or outstanding I/O (32), busiest load generator CPU 40 %"


def test_a_queue_is_told_with_the_busy_share_of_what_is_waited_for() -> None:
    limit = limit_of("flash dies (19 waiting) 34 %, next program power budget 70 %")
    assert (limit.name, limit.share, limit.other) == ("flash dies", "34 %", "next program power budget 70 %")


def test_a_client_without_processor_time_left_is_the_limit_of_a_target_that_tells_nothing() -> None:
    assert with_client(UNTOLD, 96.2) == "client CPU 96 %"
    assert with_client(UNTOLD, 84.0) == UNTOLD


@pytest.mark.parametrize(
    "known", ["load generator CPU 97 %", "offered rate (1005 IOPS)", "outstanding I/O (32)", None]
)
def test_what_is_known_to_limit_stays_the_limit_however_busy_the_client(known: str | None) -> None:
    assert with_client(known, 99.0) == known
