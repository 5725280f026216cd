"""Which latencies of a row are lower bounds: I/O that was in flight at the end of the window counts with its age."""


def edge_of(column: str) -> str:
    """Returns the column that says from where on a latency column holds lower bounds."""
    return "response_censored_us" if column.startswith("response_") else "censored_us"


def is_lower_bound(column: str, value_us: float | None, edge_us: float | None) -> bool:
    """Returns whether a latency is only known to be at least that long.

    `edge_us` is the least age of the I/O in flight that counts. The mean of all is a lower bound wherever there is one.
    """
    if value_us is None or edge_us is None:
        return False
    return column.endswith("mean_us") or value_us >= edge_us
