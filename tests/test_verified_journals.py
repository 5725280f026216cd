"""A journal of acknowledged writes beside a file that is too small to be its target."""

from pathlib import Path

import pytest
from rich.console import Console

import fathom
from fathom.errors import FathomError, UsageError
from fathom.targets.acknowledged import print_report, verify_journal
from test_journals_before_run import method

MIB = 1 << 20


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """The target of a journal in `acks`."""
    path = tmp_path / "target.bin"
    fathom.run(method(tmp_path / "acks"), f"file:{path}", size_bytes=2 * MIB)
    return path


def test_a_smaller_file_of_another_name_is_not_blamed_for_lost_writes(target: Path) -> None:
    other = target.with_name("other")
    other.write_bytes(target.read_bytes()[:MIB])
    with pytest.raises(
        UsageError, match=f"it is of {target}, and this target ends 1048576 bytes before its last"
    ):
        verify_journal(target.with_name("acks"), other)


def test_a_target_that_was_cut_is_not_put_down_to_a_cache(target: Path) -> None:
    with target.open("r+b") as file:
        file.truncate(MIB)
    report = verify_journal(target.with_name("acks"))
    with pytest.raises(FathomError, match="256 unwritten") as lost:
        print_report(Console(), report)
    assert lost.value.hint is not None
    assert lost.value.hint.startswith("it ends 1,048,576 bytes before the last write: the file was cut")
