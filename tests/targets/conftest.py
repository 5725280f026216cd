from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from loop_devices import Loops, sh, why_no_loops


@pytest.fixture
def loops(tmp_path: Path) -> Iterator[Loops]:
    reason = why_no_loops()
    if reason:
        pytest.skip(reason)
    made = Loops(tmp_path)
    yield made
    made.undo()


@pytest.fixture
def small_ext4(loops: Loops) -> Callable[..., Path]:
    """Mounts a fresh 16 MiB ext4 with the given mount options."""

    def make(*options: str) -> Path:
        node = loops.attach(16 << 20)
        sh("mkfs.ext4", "-q", node)
        return loops.mount(node, *options)

    return make
