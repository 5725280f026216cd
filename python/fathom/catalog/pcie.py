"""PCIe links by their generation and width."""

from fathom.errors import UsageError

GTPS = {3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0}
"""Transfers per second and lane, in 10^9, by generation."""
ENCODING = 128 / 130


def link_of(text: str) -> tuple[str, float]:
    """Returns `5x16` as its label and raw rate in one direction, B/s: 63.0 GB/s."""
    generation, _, lanes = text.partition("x")
    if not (generation.isdecimal() and lanes.isdecimal()) or int(generation) not in GTPS or not int(lanes):
        raise UsageError(f"--link {text}: not a PCIe link", "write GENERATIONxLANES, for example 5x16")
    raw = GTPS[int(generation)] * 1e9 * ENCODING / 8 * int(lanes)
    return f"PCIe {generation}.0 x{lanes}", raw
