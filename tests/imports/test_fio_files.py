"""Which files jobs of fio work on: one target or several, laid out and read back."""

import tomllib
from pathlib import Path

import pytest
from fio_jobs import imported, written

from fathom import _core
from fathom.errors import UsageError
from fathom.imports import import_method
from fathom.method.method import parse_method


def test_jobs_that_differ_in_their_files_alone_are_one_job_on_several_targets(tmp_path: Path) -> None:
    file = tmp_path / "job.fio"
    file.write_text(
        "[global]\ntime_based\nruntime=9\n[a]\nfilename=/dev/nvme0n1\n[b]\nfilename=/dev/nvme1n1\n",
    )
    method, _ = import_method(file)
    assert "# Run it on array:/dev/nvme0n1,/dev/nvme1n1" in method
    assert "streams" not in method


def test_what_a_verified_write_has_written_whole_is_read_back(tmp_path: Path) -> None:
    steps, _ = imported(tmp_path, "[x]\nrw=randwrite\nbs=8k\nsize=64m\nverify=crc32c\n")
    write, read = (step["job"] for step in steps)
    assert write["content"] == read["content"] == {"verify": 1}
    assert read["mix"] == "read"
    assert read["until"] == {"count": 8192}


def test_a_file_is_laid_out_where_any_job_at_once_reads_more_than_was_written(tmp_path: Path) -> None:
    text = (
        "[global]\nfilename=f\ndirect=1\n[w]\nrw=write\nsize=1m\n[r1]\nstonewall\nrw=randread\nsize=1m\n"
        "[r2]\nrw=randread\nsize="
    )
    assert [step["name"] for step in imported(tmp_path, f"{text}1m\n")[0]] == ["w", "r1-r2"]
    assert [step["name"] for step in imported(tmp_path, f"{text}4m\n")[0]] == ["w", "lay-out-r1-r2", "r1-r2"]


def test_sections_with_files_of_their_own_keep_to_them(tmp_path: Path) -> None:
    file = tmp_path / "job.fio"
    file.write_text(
        "[global]\nsize=1m\n[a]\nfilename=/dev/sdy\nrw=randread\n[b]\nstonewall\nfilename=/dev/sdz\nrw=randwrite\n"
        "[c]\nstonewall\nfilename=/dev/sdy\nrw=read\ndirect=1\n"
    )
    text, notes = import_method(file)
    steps = tomllib.loads(text)["steps"]
    assert [(step["name"], step["target"], step["job"]["mix"]) for step in steps] == [
        ("lay-out-sdy", "sdy", "write"),
        ("a", "sdy", "read"),
        ("b", "sdz", "write"),
        ("c", "sdy", "read"),
    ]
    assert steps[0]["only_files"] is True
    assert "# Run it on sdy=/dev/sdy sdz=/dev/sdz" in text
    assert any("all steps on one target run before those on the next" in note for note in notes)


def test_what_an_earlier_job_wrote_whole_is_not_laid_out_again(tmp_path: Path) -> None:
    text = "[w]\nfilename=f\nrw=write\nsize=1m\n[r]\nstonewall\nfilename=f\nrw=read\nsize={size}\ndirect=1\n"
    steps, _ = imported(tmp_path, text.format(size="1m"))
    assert [step["name"] for step in steps] == ["w", "r"]
    steps, _ = imported(tmp_path, text.format(size="2m"))
    assert [step["name"] for step in steps] == ["w", "lay-out-r", "r"]


def test_file_names_follow_the_format_and_a_directory_goes_before(tmp_path: Path) -> None:
    text = "[j]\ndirectory=/m\nrw=write\nsize=1m\nnumjobs=2\nfilename_format=f-$jobname-$jobnum.$filenum\n"
    assert "array:file:/m/f-j-0.0,file:/m/f-j-1.0" in written(tmp_path, text)
    shared = text.replace("-$jobnum", "")
    assert "# Run it on file:/m/f-j.0\n" in written(tmp_path, shared)


TWO_FILES = """[global]
direct=1
ioengine=libaio
size=8m
[a]
filename=/dev/sdy
rw=randread
iodepth=4
[b]
filename=/dev/sdz
rw=write
iodepth=32
[c]
filename=/dev/sdy
rw=read
"""


def test_jobs_at_once_on_different_files_are_streams_on_targets_of_their_own(tmp_path: Path) -> None:
    method = parse_method(written(tmp_path, TWO_FILES), "made.toml")
    assert "# Run it on array:/dev/sdy,/dev/sdz\n" in written(tmp_path, TWO_FILES)
    job = method.steps[-1].job
    assert job.stream_targets == {"a": [1], "b": [2], "c": [1]}
    first, second = job.of_parts(2)
    assert list(first.streams) == ["a", "c"]
    assert [one.iodepth for one in second.streams.values()] == [32]
    assert (first.destructive, second.destructive) == (False, True)


def test_jobs_at_once_end_each_by_their_own_volume(tmp_path: Path) -> None:
    text = TWO_FILES.replace("rw=read\n", "rw=read\nio_size=2m\n")
    [*_, step] = imported(tmp_path, text)[0]
    assert [one["until"] for one in step["job"]["streams"]] == [
        {"bytes": "8MiB"},
        {"bytes": "8MiB"},
        {"bytes": "2MiB"},
    ]
    assert "until" not in step["job"]
    [*_, step] = imported(tmp_path, text.replace("direct=1", "direct=1\nruntime=60\ntime_based"))[0]
    assert step["job"]["until"] == {"time": "60s"}
    assert not any("until" in one for one in step["job"]["streams"])


def test_a_job_without_a_size_moves_as_much_as_its_target_holds(tmp_path: Path) -> None:
    [*_, step] = imported(tmp_path, "[x]\nfilename=/dev/sdz\ndirect=1\nrw=randrw\nnumjobs=3\nruntime=60\n")[0]
    assert step["job"]["until"] == {"time": "60s", "volume": "3x"}


def test_what_was_written_to_a_whole_device_is_read_back_once(tmp_path: Path) -> None:
    steps = imported(tmp_path, "[x]\nfilename=/dev/sdz\ndirect=1\nrw=randwrite\nverify=crc32c\n")[0]
    assert [step["job"]["until"] for step in steps[-2:]] == [{"written": "1x"}, {"volume": "1x"}]
    assert steps[-1]["job"]["mix"] == "read"


def test_a_ramp_of_jobs_at_once_ends_by_its_time_alone(tmp_path: Path) -> None:
    steps = imported(tmp_path, TWO_FILES.replace("size=8m", "size=8m\nramp_time=5"))[0]
    [ramp] = [step for step in steps if step["name"].endswith("-ramp")]
    assert ramp["job"]["until"] == {"time": "5s"}
    assert not any("until" in one for one in ramp["job"]["streams"])


def test_what_a_ramp_moves_on_top_is_said_of_jobs_that_end_by_their_size(tmp_path: Path) -> None:
    text = "[x]\nfilename=/dev/sdz\ndirect=1\nrw=write\nsize=400k\nramp_time=1\n"
    for more, is_said in (("", True), ("time_based\nruntime=9\n", False)):
        [note] = [one for one in imported(tmp_path, text + more)[1] if "ramp_time" in one]
        assert note.endswith("towards the end of the job; here it comes on top") == is_said


def test_a_file_is_the_same_by_every_text_of_its_path(tmp_path: Path) -> None:
    text = "[a]\nrw=write\nsize=1m\ndirect=1\n[b]\nstonewall\nfilename=./a.0.0\nrw=read\nsize=1m\ndirect=1\n"
    method = parse_method(written(tmp_path, text), "made.toml")
    assert [step.name for step in method.steps] == ["a", "b"]
    assert not any(step.targets for step in method.steps)


def test_gaps_of_a_job_that_ends_by_its_size_stay_within_it_on_a_device(tmp_path: Path) -> None:
    text = "[x]\nfilename=/dev/sdz\ndirect=1\nrw=write:12k\nbs=4k\nsize=64k\n"
    for more, laps in (("", 1), ("loops=3\n", 3), ("io_size=32k\n", 2)):
        job = parse_method(written(tmp_path, text + more), "made.toml").steps[-1].job
        asked = [offset for _, _, offset, _ in _core.requests(job, 1 << 20, 512, 1, 100)]
        assert asked == [0, 16384, 32768, 49152] * laps


@pytest.mark.parametrize(
    ("old", "new"),
    [("/dev/sdz", "f"), ("size=64k", "size=50%"), ("=write", "=rw"), ("size=64k", "size=66k\nbs=4k")],
)
def test_gaps_that_end_where_fio_does_not_say_are_refused(tmp_path: Path, old: str, new: str) -> None:
    text = "[x]\nfilename=/dev/sdz\ndirect=1\nrw=write:12k\nbs=4k\nsize=64k\n"
    with pytest.raises(UsageError, match=":4: rw: "):
        written(tmp_path, text.replace(old, new))


def test_what_was_written_with_gaps_is_not_read_back_whole(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=":5: verify: fio reads back what it wrote"):
        written(tmp_path, "[x]\nrw=write:12k\nbs=4k\nsize=64k\nverify=md5\n")
