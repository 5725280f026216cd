"""Where files lie, by the line of mountinfo that their directory is on."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from trees import write_tree

from fathom.targets import file_identity, sysfs
from fathom.targets.file_identity import identity_of, notes_on, where_text
from fathom.targets.mounts import Mount
from fathom.targets.sysfs import BlockDevice
from fathom.targets.target import Identity

FILE = Path("/mnt/x.bin")


@pytest.mark.parametrize(
    ("file_system", "source"),
    [
        ("nfs4", "nas:/export"),
        ("cifs", "//nas/share"),
        ("fuse.sshfs", "me@nas:/home/me"),
        ("virtiofs", "work"),
    ],
)
def test_a_file_that_another_machine_keeps_names_it_and_whose_figures_it_has(
    file_system: str, source: str
) -> None:
    identity = identity_of(Mount("0:99", "/mnt", file_system, source, "rw,relatime"))
    assert (identity.source, identity.device) == (source, None)
    assert where_text(identity) == f"on {source} ({file_system})"
    (note,) = notes_on(FILE, FILE, identity)
    assert note == (
        f"{FILE} is on {source} ({file_system}): figures include the network and the server, whose memory may "
        "answer reads"
    )


@pytest.fixture
def stacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Identity]:
    """Builds stacks of devices in a sysfs of its own; gives the identity of a file on some of them."""

    def build(
        stack: Sequence[tuple[str, str, Sequence[str]]], *below: str, wwid: str | None = None
    ) -> Identity:
        places: dict[str, Path] = {}
        for name in ("sda", "sdb"):
            places[name] = tmp_path / f"devices/ata1/{name}/block/{name}"
            files = {
                "dev": "8:0",
                "size": "8192",
                "queue/logical_block_size": "4096" if name == "sdb" else "512",
            }
            write_tree(places[name], files)
            write_tree(places[name].parents[1], {"model": f"DISK {name}", "rev": "7"})
            (places[name] / "device").symlink_to(places[name].parents[1])
            if wwid:
                write_tree(places[name].parents[1], {"wwid": wwid})
        for number, (name, kind, members) in enumerate(stack):
            places[name] = tmp_path / f"devices/virtual/block/{name}"
            attribute, _, word = kind.partition("=")
            write_tree(places[name], {"dev": f"253:{number}", "size": "2048", attribute: word})
            (places[name] / "slaves").mkdir()
            for member in members:
                (places[name] / "slaves" / member).symlink_to(places[member])
        devices = {name: BlockDevice(places[name], tmp_path) for name in below or (stack[-1][0],)}
        monkeypatch.setattr(file_identity, "devices_of", lambda mount: set(devices))
        monkeypatch.setattr(sysfs, "readable_by_dev", devices.get)
        return identity_of(Mount("253:9", "/mnt", "xfs", "/dev/dm-9", "rw"))

    return build


def test_a_file_on_an_encrypted_volume_of_one_drive_names_the_drive_and_the_layers(
    stacked: Callable[..., Identity],
) -> None:
    crypt = ("dm-0", "dm/uuid=CRYPT-LUKS2-1234-luks", ["sda"])
    identity = stacked([crypt, ("dm-1", "dm/uuid=LVM-abcd", ["dm-0"])])
    assert (identity.device, identity.model, identity.firmware, identity.transport) == (
        "dm-1",
        "DISK sda",
        "7",
        "sata",
    )
    assert (identity.layers, identity.drives, identity.size_bytes) == (("LVM", "dm-crypt"), None, 2048 * 512)
    assert where_text(identity) == "on DISK sda through LVM, dm-crypt (xfs)"
    (note,) = notes_on(FILE, FILE, identity)
    assert note == f"{FILE} is encrypted by dm-crypt: figures include its work on the processor"
    assert Identity.from_json(json.loads(json.dumps(identity.to_json()))) == identity


def test_a_file_on_several_drives_names_how_many_and_no_model(stacked: Callable[..., Identity]) -> None:
    identity = stacked([("md127", "md/level=raid1", ["sda", "sdb"]), ("dm-0", "dm/uuid=LVM-abcd", ["md127"])])
    assert (identity.model, identity.layers, identity.drives) == (None, ("LVM", "raid1"), 2)
    assert where_text(identity) == "on 2 drives through LVM, raid1 (xfs)"
    assert notes_on(FILE, FILE, identity) == ()


@pytest.mark.parametrize(
    ("name", "kind", "layer"),
    [
        ("dm-0", "dm/uuid=CRYPT-VERITY-12-usr", "dm-verity"),
        ("dm-0", "dm/uuid=CRYPT-INTEGRITY-12-data", "dm-integrity"),
        ("dm-0", "dm/uuid=thing", "device-mapper"),
        ("bcache0", "x=", "bcache"),
    ],
)
def test_a_layer_that_does_not_encrypt_is_called_what_it_is_without_a_note(
    stacked: Callable[..., Identity], name: str, kind: str, layer: str
) -> None:
    identity = stacked([(name, kind, ["sda"])])
    assert where_text(identity) == f"on DISK sda through {layer} (xfs)"
    assert notes_on(FILE, FILE, identity) == ()


def test_a_file_system_on_two_devices_claims_the_model_of_neither(stacked: Callable[..., Identity]) -> None:
    identity = stacked([], "sda", "sdb")
    assert (identity.model, identity.device, identity.drives) == (None, None, 2)
    assert (identity.size_bytes, identity.logical_block_bytes) == (2 * 8192 * 512, 4096)
    assert where_text(identity) == "on 2 drives (xfs)"


def test_a_file_system_on_two_volumes_of_one_drive_names_it(stacked: Callable[..., Identity]) -> None:
    volumes = [("dm-0", "dm/uuid=LVM-a", ["sda"]), ("dm-1", "dm/uuid=LVM-b", ["sda"])]
    assert where_text(stacked(volumes, "dm-0", "dm-1")) == "on DISK sda through LVM (xfs)"


def test_several_paths_to_one_drive_are_one_drive(stacked: Callable[..., Identity]) -> None:
    paths = [("dm-0", "dm/uuid=mpath-naa.5", ["sda", "sdb"]), ("dm-1", "dm/uuid=LVM-a", ["dm-0"])]
    identity = stacked(paths, wwid="naa.5")
    assert (identity.drives, identity.layers) == (None, ("LVM", "multipath"))
    assert where_text(identity) == "on DISK sda through LVM, multipath (xfs)"


def test_a_file_on_zfs_names_the_dataset_and_the_cache() -> None:
    identity = identity_of(Mount("0:96", "/mnt", "zfs", "tank/data", "rw"))
    assert where_text(identity) == "on tank/data (zfs)"
    (note,) = notes_on(FILE, FILE, identity)
    assert note == f"{FILE} is on ZFS: before OpenZFS 2.3 its cache answers reads, also with O_DIRECT"


def test_a_file_in_memory_is_on_no_server() -> None:
    identity = identity_of(Mount("0:98", "/mnt", "tmpfs", "nas:/export", "rw"))
    assert identity.source is None
    assert where_text(identity) == "in memory (tmpfs)"


def test_a_file_on_a_file_system_that_names_no_device_says_so() -> None:
    identity = identity_of(Mount("0:97", "/mnt", "overlay", "overlay", "rw"))
    assert where_text(identity) == "on an unnamed device (overlay)"
    assert notes_on(FILE, FILE, identity) == ()
