from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from loop_devices import Loops

from fathom.errors import FathomError, UsageError
from fathom.targets.parse import TwinFacts, parse_target, parse_targets
from fathom.targets.target import Target


def twins(name: str) -> TwinFacts:
    if name != "acme-fast-1tb":
        raise UsageError(f"twin:{name}: no such twin", "did you mean acme-fast-1tb")
    return TwinFacts(label="Acme Fast 1TB", capacity_bytes=10**12, logical_block_bytes=4096)


def one(text: str, size_bytes: int | None = None) -> Target:
    return parse_target(text, size_bytes=size_bytes, twins=twins)


def test_a_twin_takes_its_facts_from_the_catalogue():
    target = one("twin:acme-fast-1tb")
    assert (target.kind, target.name, target.catalog) == ("twin", "twin:acme-fast-1tb", "acme-fast-1tb")
    assert (target.capacity_bytes, target.logical_block_bytes, target.path) == (10**12, 4096, None)


def test_a_twin_times_eight_is_one_target_of_eight_drives():
    target = one("twin:acme-fast-1tb*8")
    assert target.name == "twin:acme-fast-1tb*8"
    assert target.parts == tuple(f"twin:acme-fast-1tb*8#{n}" for n in range(1, 9))
    assert (target.capacity_bytes, target.unit_capacity_bytes) == (8 * 10**12, 10**12)
    assert one("twin:acme-fast-1tb").parts == ()


def test_a_numbered_twin_is_one_drive_of_its_own():
    first, third = parse_targets(["twin:acme-fast-1tb#1", "twin:acme-fast-1tb#3"], twins=twins)
    assert (first.number, third.number, third.parts, third.capacity_bytes) == (1, 3, (), 10**12)


def test_a_twin_may_have_a_file_system_on_it():
    [one_drive, eight] = parse_targets(["twin:acme-fast-1tb/xfs", "twin:acme-fast-1tb*8/btrfs"], twins=twins)
    assert one_drive.identity.file_system == "xfs"
    assert (len(eight.parts), eight.parts[7]) == (8, "twin:acme-fast-1tb*8/btrfs#8")
    assert eight.label == "8 x Acme Fast 1TB, btrfs"


@pytest.mark.parametrize("name", ["", "zfs", "btrfs*8", "xfs/ext4"])
def test_another_file_system_is_refused_with_those_there_are(name: str):
    with pytest.raises(UsageError, match=r"twins have no file system .*; write one of /btrfs"):
        one(f"twin:acme-fast-1tb/{name}")


@pytest.mark.parametrize("text", ["twin:Acme Fast", "twin:"])
def test_a_twin_out_of_form_is_a_usage_error(text: str):
    with pytest.raises(UsageError, match="twin:"):
        one(text)


@pytest.mark.parametrize("count", ["0", "9999", "x", "", "-1", "1.5", "²"])
def test_a_number_of_twins_out_of_range_is_refused_in_one_line_that_says_the_range(count: str):
    with pytest.raises(UsageError, match=r"not a number of twins; write a number from 1 to 1024") as refused:
        one(f"twin:acme-fast-1tb*{count}")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", ["file:/tmp/none.bin*8", "null:*8", "nop:*8", "/dev/nvme0n1*8"])
def test_only_twins_and_files_in_a_directory_can_be_multiplied(text: str):
    with pytest.raises(UsageError, match="only twins, and files in a directory, can be multiplied"):
        one(text, 1 << 20)


def test_a_directory_times_a_number_is_an_array_of_so_many_files_of_the_size(tmp_path: Path):
    files = one(f"dir:{tmp_path}*3", 1 << 20)
    assert files.kind == "array"
    assert [member.path for member in files.members] == [
        tmp_path / f"fathom-set-000{number}.bin" for number in (1, 2, 3)
    ]
    assert {member.capacity_bytes for member in files.members} == {1 << 20}
    assert one(files.name, 1 << 20) == files


def test_without_a_size_the_files_of_a_set_are_as_large_together_as_one_scratch_file(tmp_path: Path):
    files = one(f"dir:{tmp_path}*256")
    assert files.capacity_bytes <= 4 << 30
    assert len({member.capacity_bytes for member in files.members}) == 1


@pytest.mark.parametrize("count", ["0", "1", "257", "x", ""])
def test_a_number_of_files_out_of_range_is_refused_with_the_range(tmp_path: Path, count: str):
    with pytest.raises(UsageError, match="write a number from 2 to 256"):
        one(f"dir:{tmp_path}*{count}")


def test_a_set_of_files_in_no_directory_is_refused():
    with pytest.raises(UsageError, match="is not a directory"):
        one("dir:/nowhere*8")


def test_a_directory_whose_name_ends_in_a_star_and_a_number_is_itself(tmp_path: Path):
    (tmp_path / "a*8").mkdir()
    assert one(f"dir:{tmp_path}/a*8", 1 << 20).kind == "dir"


def test_an_unknown_twin_has_the_catalogues_own_error():
    with pytest.raises(UsageError, match="did you mean acme-fast-1tb"):
        one("twin:acme-fsat-1tb")


def test_targets_with_nothing_behind_them_are_told_apart():
    assert (one("null:").kind, one("null:").path) == ("null", None)
    assert (one("nop:").kind, one("nop:").path) == ("nop", None)


def test_a_device_is_known_by_its_kernel_name_through_any_link(loops: Loops, tmp_path: Path):
    node = loops.attach(32 << 20)
    target = one(str(node))
    assert (target.kind, target.name, target.path) == ("device", str(node), node)
    assert (target.capacity_bytes, target.direct_align_bytes) == (32 << 20, 512)
    assert target.identity.backing_file == str(tmp_path / "disk1.img")


def test_a_device_with_4_kib_blocks_needs_4_kib_alignment(loops: Loops):
    target = one(str(loops.attach(32 << 20, "--sector-size", "4096")))
    assert (target.logical_block_bytes, target.direct_align_bytes) == (4096, 4096)


def test_a_directory_holds_one_scratch_file_of_the_size_asked_for(tmp_path: Path):
    target = one(f"dir:{tmp_path}", 1 << 20)
    assert (target.kind, target.name, target.capacity_bytes) == ("dir", f"dir:{tmp_path}", 1 << 20)
    assert target.path is not None
    assert target.path.parent == tmp_path


def test_a_directory_without_a_size_gets_the_default_scratch_size(tmp_path: Path):
    assert 0 < one(f"dir:{tmp_path}").capacity_bytes <= 4 << 30


def test_a_missing_directory_is_a_usage_error(tmp_path: Path):
    with pytest.raises(UsageError, match="is not a directory"):
        one(f"dir:{tmp_path}/no")


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        (
            "",
            "/dev/NAME, /dev/NAME/btrfs, /dev/ngXnY, file:PATH, dir:PATH, dir:PATH*8, null:, nop:, twin:NAME",
        ),
        ("x.bin", "write file:x.bin"),
        ("/", "write dir:/"),
        ("flie:x.bin", "did you mean file:x.bin"),
        ("twn:a*8", "did you mean twin:a*8"),
        ("acme-fast-1tb*8", "write twin:acme-fast-1tb*8"),
        (
            "nonsense",
            "/dev/NAME, /dev/NAME/btrfs, /dev/ngXnY, file:PATH, dir:PATH, dir:PATH*8, null:, nop:, twin:NAME",
        ),
        ("file:", "write file:PATH"),
    ],
)
def test_what_is_no_target_is_answered_with_the_nearest_right_form(text: str, advice: str):
    with pytest.raises(UsageError) as caught:
        one(text)
    assert advice in str(caught.value)


def test_what_is_behind_nothing_is_not_advised():
    with pytest.raises(UsageError, match=r"did you mean null:$"):
        one("null:,dir:/tmp")


def test_a_target_named_twice_is_a_usage_error(tmp_path: Path):
    (tmp_path / "sub").mkdir()
    texts = [f"file:{tmp_path}/x.bin", f"file:{tmp_path}/sub/../x.bin"]
    with pytest.raises(UsageError, match="same target"):
        parse_targets(texts, size_bytes=1 << 20)


@given(st.sampled_from(["", "file:", "dir:", "twin:", "/dev/", "file:~", "file:/"]), st.text(max_size=20))
@example("file:", "~no-such-user/x")
@example("file:", "a\0b")
@example("dir:", "a\0b")
@example("/dev/", "a\0b")
@example("file:", "x" * 300)
def test_any_text_is_targets_or_one_clear_line(prefix: str, rest: str):
    error = None
    try:
        assert parse_target(prefix + rest, size_bytes=1 << 20, twins=twins)
    except FathomError as caught:
        error = caught
    if error is not None:
        assert "\n" not in str(error)
        assert error.hint
