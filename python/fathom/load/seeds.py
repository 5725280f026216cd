"""Seeds of what runs one after another, or side by side: none repeats the addresses of another."""

import hashlib


def step_seed(seed: int, number: int) -> int:
    """Returns the seed of a step: differs from step to step, so that no step repeats the addresses of the one
    before.
    """
    digest = hashlib.sha256(f"fathom step {seed} {number}".encode()).digest()
    return int.from_bytes(digest[:8], "little")


def part_seed(seed: int, number: int) -> int:
    """Returns the seed of part `number` (from 1): equal drives with equal requests would be one drive counted
    N times.
    """
    digest = hashlib.sha256(f"fathom part {seed} {number}".encode()).digest()
    return int.from_bytes(digest[:8], "little")
