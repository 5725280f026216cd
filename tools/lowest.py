"""Checks the lowest versions that Fathom promises: of Rust, of Python, and of the packages that running needs.

Run by `make lowest`. What cannot be fetched here is named and is no failure; what does not run is one. Clippy looks for
newer parts of the standard library in `make lint`, Ruff and Pyright for newer Python.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
UV = ROOT / "tools" / "uv"
HERE = ROOT / "target" / "lowest"
METHOD = ROOT / "tests" / "data" / "short.toml"
TWIN = "twin:samsung-pm9a3-7.68tb"


def main() -> int:
    """Returns 1 where something does not run."""
    found = [*rust(), *python()]
    for text in found:
        print(f"lowest: {text}", file=sys.stderr)
    return 1 if found else 0


def rust() -> list[str]:
    """Crates that need a newer Rust, and what the lowest one says of ours where it is installed."""
    lowest = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["rust-version"]
    listed = run("cargo", "metadata", "--format-version", "1", "--locked")
    crates = json.loads(listed.stdout)["packages"]
    newer = [
        f"{crate['name']} {crate['version']} needs Rust {crate['rust_version']}, Cargo.toml promises {lowest}"
        for crate in crates
        if version(crate["rust_version"] or "0") > version(lowest)
    ]
    print(
        f"lowest: {len(crates)} crates need no Rust above {lowest}"
        if not newer
        else "lowest: crates looked at"
    )
    toolchains = run("rustup", "toolchain", "list").stdout if shutil.which("rustup") else ""
    installed = re.search(rf"^{re.escape(lowest)}\S*", toolchains, re.MULTILINE)
    if installed is None:
        print(
            f"lowest: NOT compiled with Rust {lowest}: it is not installed (rustup toolchain install {lowest})"
        )
        return newer
    checked = run(
        "cargo", f"+{installed[0]}", "check", "--workspace", "--locked", "--target-dir", HERE / "rust"
    )
    return newer + ([] if checked.returncode == 0 else [f"Rust {lowest}: {error_of(checked)}"])


def python() -> list[str]:
    """Returns what the lowest Python with the lowest packages says of a run of a twin, its report and its CSV."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lowest = project["requires-python"].removeprefix(">=")
    lock, venv = HERE / "requirements.txt", HERE / "venv"
    HERE.mkdir(parents=True, exist_ok=True)
    resolve = (
        UV, "pip", "compile", "--quiet", "--resolution", "lowest-direct", "--python-version", lowest,
        "pyproject.toml", "-o", lock,
    )  # fmt: skip
    steps = (
        resolve,
        (UV, "venv", "--quiet", "--allow-existing", "--no-python-downloads", "--python", lowest, venv),
        (UV, "pip", "sync", "--quiet", "--python", venv / "bin" / "python", lock),
    )
    for step in steps:
        done = run(*step)
        if done.returncode:
            print(f"lowest: NOT run with the lowest packages: {error_of(done)}")
            return []
    with tempfile.TemporaryDirectory() as folder:
        return smoke(venv / "bin" / "python", lowest, Path(folder))


def smoke(interpreter: Path, lowest: str, folder: Path) -> list[str]:
    """Runs, reads and reports; the newest packages read the same from that run."""
    fathom = (interpreter, "-m", "fathom")
    newest = (ROOT / ".venv" / "bin" / "python", "-m", "fathom")
    done = run(*fathom, "run", METHOD, TWIN, "--out", folder / "runs")
    if done.returncode:
        return [f"Python {lowest}, run: {error_of(done)}"]
    [made] = (folder / "runs").iterdir()
    commands = (
        ("report", made, "--csv"),
        ("report", made, "--json"),
        ("plan", METHOD, TWIN),
        ("runs", "--json"),
    )
    found = []
    for command in commands:
        ours, theirs = run(*fathom, *command), run(*newest, *command)
        if ours.returncode or ours.stdout != theirs.stdout:
            found.append(
                f"Python {lowest}, {command[0]}: {error_of(ours) or 'other output than with the newest'}"
            )
    page = run(*fathom, "report", made, "--out", folder / "page.html")
    if page.returncode:
        found.append(f"Python {lowest}, report: {error_of(page)}")
    print(f"lowest: Python {lowest} and the lowest packages ran a twin and read it")
    return found


def run(*command: str | Path) -> "subprocess.CompletedProcess[str]":
    """Runs a command in the repository, with the package of the working tree."""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "python")}
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)


def version(text: str) -> tuple[int, ...]:
    """Returns `1.88` as numbers, as many as three."""
    return (*(int(part) for part in text.split(".")), 0, 0)[:3]


def error_of(done: "subprocess.CompletedProcess[str]") -> str:
    """Returns the first error that a command printed, else its last line."""
    lines = done.stderr.strip().splitlines() or [""]
    return next((line for line in lines if line.startswith("error")), lines[-1])


if __name__ == "__main__":
    sys.exit(main())
