"""Capabilities as the kernel's NVMe driver hands them through, of QEMU's controllers."""

from pathlib import Path

import pytest

from fathom.errors import RefusedError
from fathom.targets.capability_words import capabilities_of
from fathom.targets.nvme_admin import Features
from fathom.targets.parse import device_target
from fathom.targets.power_states import check_power_state, held_in


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


def test_features_of_a_controller_are_read_and_set() -> None:
    features, temperature_threshold = Features(Path("/dev/nvme2n1")), 0x04
    before = features.get(temperature_threshold)
    try:
        features.set(temperature_threshold, before + 3)
        assert features.get(temperature_threshold) == before + 3
    finally:
        features.set(temperature_threshold, before)


def test_a_power_state_that_the_drive_does_not_take_is_refused_before_the_run() -> None:
    # QEMU's controllers have one state and do not let it be set.
    target = device_target(Path("/dev/nvme2n1"))
    with pytest.raises(RefusedError, match="does not take power state 0: "), held_in([target], 0, {}):
        pytest.fail("it ran")
    with pytest.raises(RefusedError, match="has no power state 1"):
        check_power_state(target, 1)
