"""Prints a digest of the code of the twin inside pages, tests and comments apart: what `tools/build-wasm` builds."""

import hashlib
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
CRATES = ("workload", "recording", "twin", "web")


def sources() -> list[Path]:
    """Returns the files that the built twin depends on, in order."""
    found = [ROOT / "Cargo.lock"]
    for crate in CRATES:
        folder = ROOT / "crates" / crate
        found.append(folder / "Cargo.toml")
        found += [path for path in sorted((folder / "src").rglob("*.rs")) if not _is_test(path)]
    return found


def _is_test(path: Path) -> bool:
    return "tests" in (path.stem, *(part.name for part in path.parents))


def digest() -> str:
    """Returns the SHA-256 of names and lines of code."""
    sha = hashlib.sha256()
    for path in sources():
        lines = (line.strip() for line in path.read_text(encoding="utf-8").splitlines())
        code = "\n".join(line for line in lines if line and not line.startswith("//"))
        sha.update(f"{path.relative_to(ROOT)}\n{code}\n".encode())
    return sha.hexdigest()


if __name__ == "__main__":
    sys.stdout.write(digest() + "\n")
