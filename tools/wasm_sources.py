"""Prints a digest of the sources of the twin inside pages: what `tools/build-wasm` builds from, tests apart."""

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
    """Returns the SHA-256 of names and contents."""
    sha = hashlib.sha256()
    for path in sources():
        sha.update(f"{path.relative_to(ROOT)}\n{path.stat().st_size}\n".encode())
        sha.update(path.read_bytes())
    return sha.hexdigest()


if __name__ == "__main__":
    sys.stdout.write(digest() + "\n")
