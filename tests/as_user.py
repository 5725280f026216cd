"""The command line as a process of its own, as a user starts it."""

import subprocess
from pathlib import Path

from warm import called

SHORT = Path(__file__).parent / "data" / "short.toml"
TWIN = "twin:samsung-pm9a3-7.68tb"


def fathom(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    ended = called([str(one) for one in arguments], environment)
    out, err = (text.decode().replace("\r\n", "\n") for text in (ended.stdout, ended.stderr))
    return subprocess.CompletedProcess(ended.args, ended.returncode, out, err)


def refused(*arguments: str | Path) -> tuple[int, str]:
    """Exit code and the one line on stderr; nothing may be on stdout."""
    result = fathom(*arguments)
    lines = result.stderr.strip().splitlines()
    assert result.stdout == ""
    assert len(lines) == 1, result.stderr
    assert "Traceback" not in result.stderr
    return result.returncode, lines[0]
