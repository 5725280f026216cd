"""Directory trees that stand in for sysfs."""

from pathlib import Path


def write_tree(root: Path, files: dict[str, str]) -> None:
    """Writes each text to its path below the root."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
