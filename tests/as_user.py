"""The command line as a process of its own, as a user starts it."""

import os
import subprocess
import sys
from pathlib import Path

SHORT = Path(__file__).parent / "data" / "short.toml"
TWIN = "twin:samsung-pm9a3-7.68tb"


def fathom(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "fathom", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | environment,
        check=False,
    )


def refused(*arguments: str | Path) -> tuple[int, str]:
    """Exit code and the one line on stderr; nothing may be on stdout."""
    result = fathom(*arguments)
    lines = result.stderr.strip().splitlines()
    assert result.stdout == ""
    assert len(lines) == 1, result.stderr
    assert "Traceback" not in result.stderr
    return result.returncode, lines[0]
