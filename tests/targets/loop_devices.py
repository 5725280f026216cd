"""Loop devices over sparse images, mounted and detached again whatever a test does; no other device is touched."""

import os
import subprocess
from pathlib import Path


def sh(*command: str | Path) -> str:
    return subprocess.run(
        [str(word) for word in command], check=True, capture_output=True, text=True
    ).stdout.strip()


def why_no_loops() -> str | None:
    if os.geteuid() != 0:
        return "loop devices need root"
    if not Path("/dev/loop-control").exists():
        return "this kernel has no loop devices"
    probe = subprocess.run(["losetup", "-f"], capture_output=True, text=True, check=False)
    return None if probe.returncode == 0 else f"no free loop device: {probe.stderr.strip()}"


class Loops:
    """Attaches loop devices and mounts them; undoes everything in reverse order."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._undo: list[tuple[str, ...]] = []
        self._images = 0

    def image(self, size_bytes: int) -> Path:
        self._images += 1
        path = self._directory / f"disk{self._images}.img"
        with path.open("wb") as file:
            file.truncate(size_bytes)
        return path

    def attach(self, backing: Path | int = 64 << 20, *options: str) -> Path:
        image = self.image(backing) if isinstance(backing, int) else backing
        node = sh("losetup", "--find", "--show", *options, image)
        self._undo.append(("losetup", "-d", node))
        return Path(node)

    def reattach(self, node: Path, size_bytes: int) -> None:
        sh("losetup", "-d", node)
        sh("losetup", node, self.image(size_bytes))

    def mount(self, node: Path, *options: str) -> Path:
        point = self._directory / f"mount-{node.name}"
        point.mkdir()
        sh("mount", *options, node, point)
        self._undo.append(("umount", str(point)))
        return point

    def later(self, *command: str) -> None:
        self._undo.append(command)

    def undo(self) -> None:
        while self._undo:
            subprocess.run(self._undo.pop(), check=False, capture_output=True)
