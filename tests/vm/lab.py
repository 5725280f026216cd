"""Runs a program of this folder in a guest of `vmlab`, with this tree's package and its interpreter."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def run_in_guest(options: list[str], program: Path, *arguments: object) -> int:
    """Returns the exit status of a program. `options` are those of `vmlab run`."""
    paths = os.environ.get("PYTHONPATH") or f"{ROOT / 'python'}:{sysconfig.get_path('purelib')}"
    home = os.environ.get("VMLAB_DIR") or str(Path.home() / ".cache" / "fathom-vmlab")
    inside = [Path(sys.executable).resolve(), program, *map(str, arguments)]
    return subprocess.run(
        [
            *(HERE / "vmlab", "run", *options, "--"),
            *("env", "PYTHONDONTWRITEBYTECODE=1", f"PYTHONPATH={paths}", *inside),
        ],
        env=os.environ | {"VMLAB_DIR": home},
        cwd=ROOT,
    ).returncode
