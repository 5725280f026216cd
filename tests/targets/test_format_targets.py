"""Every format of `formats` on a real block device: refused, by its name."""

import random
from pathlib import Path

import pytest
from formats import IMAGES, Image
from loop_devices import Loops

from fathom.targets import safety
from fathom.targets.safety import check_device

MIB = 1 << 20


def on_device(loops: Loops, image: Image) -> Path:
    path = loops.image(image.size)
    try:
        image.make(path)
    except FileNotFoundError as error:
        pytest.skip(f"{error.filename} is not installed")
    return loops.attach(path)


@pytest.mark.parametrize("name", IMAGES)
def test_a_device_that_holds_a_known_format_is_refused_by_its_name(loops: Loops, name: str):
    image = IMAGES[name]
    found = check_device(on_device(loops, image))
    assert [refusal.rule for refusal in found if image.says in refusal.reason] == [image.rule], found
    assert "unknown-data" not in [refusal.rule for refusal in found]


@pytest.mark.parametrize("known", ["vxfs", "mpool", "drbdproxy"])
def test_what_only_libblkid_knows_is_refused_too(loops: Loops, known: str, monkeypatch: pytest.MonkeyPatch):
    """Formats that are taken out of Fathom's own table, or never were in it."""
    marks = {
        "vxfs": (1024, b"\xf5\xfc\x01\xa5"),
        "mpool": (0, b"mpoolDev"),
        "drbdproxy": (0, b"DRBDdlh*"),
    }
    path = loops.image(16 * MIB)
    offset, mark = marks[known]
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(mark)
    node = loops.attach(path)
    monkeypatch.setattr("fathom.targets.signatures.FORMATS", ())
    assert [refusal.rule for refusal in check_device(node)] == ["signed"]


def test_without_libblkid_the_own_table_still_refuses(loops: Loops, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("fathom.targets.libblkid._library", lambda: None)
    node = on_device(loops, IMAGES["nilfs2"])
    assert [refusal.reason for refusal in check_device(node)] == ["holds nilfs2"]
    assert safety.check_device(loops.attach()) == []


def test_random_data_are_unknown_and_no_format(loops: Loops):
    for seed in range(4):
        path = loops.image(MIB)
        path.write_bytes(random.Random(seed).randbytes(MIB))
        assert [refusal.rule for refusal in check_device(loops.attach(path))] == ["unknown-data"]
