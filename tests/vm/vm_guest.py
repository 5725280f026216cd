"""Commands of the guest."""

import subprocess


def sh(*command: str) -> str:
    """Runs a command of the guest; fails the test with its own words."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stdout}{done.stderr}"
    return done.stdout
