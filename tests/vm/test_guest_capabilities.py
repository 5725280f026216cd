"""Capabilities as the kernel's NVMe driver hands them through, of QEMU's controllers."""

from pathlib import Path

from fathom.targets.capability_words import capabilities_of
from fathom.targets.parse import device_target


def test_qemus_controllers_say_what_they_can_do() -> None:
    placed, plain = (capabilities_of(device_target(Path(f"/dev/nvme{n}n1"))) for n in (0, 2))
    assert placed
    assert plain
    assert placed["placement (FDP)"] == "1 reclaim group with 8 handles, reclaim units of 32 MiB"
    assert plain["placement (FDP)"] == "none"
    for words in (placed, plain):
        assert words["namespaces"].startswith("1 of at most ")
        assert "4 KiB" in words["block formats"]
        assert "(in use)" in words["block formats"]
        assert words["power state 0"].startswith("at most ")
        assert "format" in words["erasure"]
