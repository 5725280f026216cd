"""Where files lie, by the line of mountinfo that their directory is on."""

from pathlib import Path

import pytest

from fathom.targets.file_identity import identity_of, notes_on, where_text
from fathom.targets.mounts import Mount

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
    assert (identity.server, identity.device) == (source, None)
    assert where_text(identity) == f"on {source} ({file_system})"
    (note,) = notes_on(FILE, FILE, identity)
    assert note == (
        f"{FILE} is on {source} ({file_system}): figures include the network and the server, whose memory may "
        "answer reads"
    )


def test_a_file_in_memory_is_on_no_server() -> None:
    identity = identity_of(Mount("0:98", "/mnt", "tmpfs", "nas:/export", "rw"))
    assert identity.server is None
    assert where_text(identity) == "in memory (tmpfs)"


def test_a_file_on_a_file_system_that_names_no_device_says_so() -> None:
    identity = identity_of(Mount("0:97", "/mnt", "overlay", "overlay", "rw"))
    assert where_text(identity) == "on an unnamed device (overlay)"
    assert notes_on(FILE, FILE, identity) == ()
