"""Real targets loaded at once: files and loop devices as one target, with totals and figures of each."""

import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from loop_devices import Loops

import fathom
from fathom.errors import RefusedError, UsageError
from fathom.load.resolve import has_parts, resolve_targets, together
from fathom.method.method import load_method
from fathom.plan.file_system import with_file_system
from fathom.plan.plan import plan_of
from fathom.report import write_html
from fathom.runs.reader import Run
from fathom.session import Options, resume_run
from fathom.targets.array import array_of
from fathom.targets.claim import claim
from fathom.targets.files import file_target
from fathom.targets.safety import destroy_token
from fathom.targets.target import Identity, Target

MIB = 1 << 20
METHOD = """
schema = "fathom-method/1"
name = "at-once"
[[steps]]
name = "fill"
kind = "fill"
job = { mix = "write", block = "64KiB", pattern = "sequential", load = { iodepth = 4 }, until = { written = "1x" } }
[[steps]]
name = "read"
workload = "4k-rand-read"
[steps.job]
mix = "read"
block = "4KiB"
pattern = "uniform"
load = { threads = 2, iodepth = 4 }
until = { time = "1s" }
[[steps]]
name = "split"
[steps.job]
mix = "read"
block = "4KiB"
pattern = "uniform"
sqpoll = true
load = { iodepth = 16, split = [3, 1] }
until = { time = "300ms" }
"""
BUFFERED = """
schema = "fathom-method/1"
name = "buffered"
[[steps]]
name = "read"
job = { mix = "read", block = "64KiB", pattern = "sequential", direct = false, load = {}, until = { count = 16 } }
"""


def method(tmp_path: Path) -> str:
    file = tmp_path / "at-once.toml"
    file.write_text(METHOD)
    return str(file)


def rows(run: Run, step: str) -> dict[str, dict[str, float]]:
    return {row["target"]: row for row in run.points.to_pylist() if row["step"] == step}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("together")
    target = f"array:file:{folder}/a,file:{folder}/b,c"
    return fathom.run(method(folder), targets=target, size_bytes=8 * MIB, out=folder / "runs")


def test_the_total_is_the_sum_of_what_each_member_did_in_the_same_seconds(finished: Run) -> None:
    total, first, second = (record.name for record in finished.document.targets)
    assert [record.part_of for record in finished.document.targets] == [None, total, total]
    read = rows(finished, "read")
    assert read[total]["n"] == read[first]["n"] + read[second]["n"]
    assert min(read[first]["n"], read[second]["n"]) > 0
    assert (read[total]["threads"], read[first]["threads"]) == (4, 2)
    assert read[total]["outstanding"] == pytest.approx(16, rel=0.1)


def test_every_member_is_written_whole(finished: Run) -> None:
    seconds = finished.intervals.to_pylist()
    for record in finished.document.targets:
        moved = sum(row["bytes"] for row in seconds if (row["target"], row["step"]) == (record.name, "fill"))
        assert moved == record.capacity_bytes == (16 if record.kind == "array" else 8) * MIB


def test_a_split_load_is_divided_in_its_shares(finished: Run) -> None:
    total, first, second = (record.name for record in finished.document.targets)
    split = rows(finished, "split")
    assert [split[name]["iodepth"] for name in (first, second)] == [12, 4]
    assert split[total]["outstanding"] == pytest.approx(16, rel=0.1)


def test_the_report_and_the_notes_name_each_member(finished: Run, tmp_path: Path) -> None:
    page = write_html([finished.path], tmp_path / "report.html").read_text()
    assert "How the load was shared" in page
    for record in finished.document.targets[1:]:
        assert record.name in page


def test_the_report_calls_no_load_uneven_that_is_split_on_purpose(finished: Run, tmp_path: Path) -> None:
    page = write_html([finished.path], tmp_path / "report.html").read_text()
    assert "split: the load gives 2 drives unequal parts (Jain" in page
    assert "split: uneven over" not in page


def test_an_array_is_resumed_as_it_began(
    finished: Run, interrupted: Callable[[Path, Iterable[str]], Path]
) -> None:
    resumed = resume_run(interrupted(finished.path, ["00-003-split"]), Options())
    assert rows(resumed, "read") == rows(finished, "read")
    assert len(rows(resumed, "split")) == 3


def test_files_of_unlike_sizes_keep_them_when_their_array_is_resumed(
    tmp_path: Path, interrupted: Callable[[Path, Iterable[str]], Path]
) -> None:
    sizes = {tmp_path / "a": MIB, tmp_path / "b": 2 * MIB}
    for file, size_bytes in sizes.items():
        with claim(file_target(file, size_bytes), writes=True):
            pass
    target = f"array:file:{tmp_path}/a,file:{tmp_path}/b"
    run = fathom.run(method(tmp_path), targets=target, out=tmp_path / "runs")
    resume_run(interrupted(run.path, ["00-003-split"]), Options())
    assert {file: file_target(file, None).capacity_bytes for file in sizes} == sizes


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        (["array:file:HERE/a"], "two members or more"),
        (["array:file:HERE/a,null:"], "null: cannot be a member"),
        (["array:file:HERE/a,twin:samsung-pm9a3-7.68tb"], "twins run in virtual time"),
        (["array:twin:samsung-pm9a3-7.68tb*2,twin:kioxia-cm7-r-7.68tb"], "is an array itself"),
        (["array:twin:samsung-pm9a3-7.68tb,twin:samsung-pm9a3-7.68tb"], "are the same target"),
        (["array:file:HERE/a,file:HERE/a"], "are the same target"),
        (["array:file:HERE/a,file:HERE/b", "file:HERE/b"], "are the same target"),
    ],
)
def test_what_cannot_be_loaded_together_is_refused(texts: list[str], says: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=says):
        resolve_targets([text.replace("HERE", str(tmp_path)) for text in texts], MIB)


def test_together_makes_an_array_of_the_real_targets_and_leaves_twins_alone() -> None:
    assert together(["file:/a", "twin:x", "/dev/b", "array:/dev/c,/dev/d"]) == [
        "array:file:/a,/dev/b,/dev/c,/dev/d",
        "twin:x",
    ]
    assert together(["file:/a", "array:twin:x,twin:y", "/dev/b"]) == [
        "array:file:/a,/dev/b",
        "array:twin:x,twin:y",
    ]
    with pytest.raises(UsageError, match="fewer than two real targets"):
        together(["file:/a", "twin:x"])
    with pytest.raises(UsageError, match="cannot be named in an array"):
        together(["file:/a,file:/b", "file:/c"])


def test_together_on_the_command_line_plans_one_target(tmp_path: Path) -> None:
    files = [f"file:{tmp_path}/{name}" for name in "ab"]
    command = [
        sys.executable,
        "-m",
        "fathom",
        "plan",
        method(tmp_path),
        *files,
        "--together",
        "--size",
        "4MiB",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("(array:file:") == 1


def test_loop_devices_need_each_its_token_and_are_told_apart_in_traffic(loops: Loops, tmp_path: Path) -> None:
    nodes = [loops.attach(16 * MIB), loops.attach(8 * MIB)]
    name = f"array:{nodes[0]},{nodes[1]}"
    [target] = resolve_targets([name])
    assert (target.capacity_bytes, target.unit_capacity_bytes) == (24 * MIB, 8 * MIB)
    tokens = [destroy_token(member.identity) for member in target.members]
    with pytest.raises(RefusedError, match=str(nodes[1])):
        fathom.run(method(tmp_path), targets=name, destroy=tokens[:1], out=tmp_path / "runs")
    run = fathom.run(method(tmp_path), targets=name, destroy=tokens, out=tmp_path / "runs")
    telemetry = run.table("telemetry").to_pylist()
    written = {
        str(node): sum(
            row["value"]
            for row in telemetry
            if (row["target"], row["step"], row["name"]) == (str(node), "fill", "device_written")
        )
        for node in nodes
    }
    assert written == {str(nodes[0]): 16 * MIB, str(nodes[1]): 8 * MIB}


def test_members_get_a_methods_file_system_each(loops: Loops) -> None:
    nodes = [loops.attach(64 * MIB), loops.attach(64 * MIB)]
    chosen = load_method("drive-array-filesystem", quick=True)
    [target] = with_file_system(chosen, resolve_targets([f"array:{nodes[0]},{nodes[1]}"]))
    assert target.name == f"array:{nodes[0]}/btrfs,{nodes[1]}/btrfs"
    assert [member.makes for member in target.members] == ["btrfs", "btrfs"]


def test_a_plan_counts_what_every_member_is_written(tmp_path: Path) -> None:
    [target] = resolve_targets([f"array:file:{tmp_path}/a,file:{tmp_path}/b"], 8 * MIB)
    plan = plan_of(load_method(method(tmp_path)), target)
    assert plan.steps[0].written_bytes == 16 * MIB


def test_a_buffered_job_begins_with_nothing_of_the_device_in_memory(loops: Loops, tmp_path: Path) -> None:
    node = loops.attach(16 * MIB)
    buffered = tmp_path / "buffered.toml"
    buffered.write_text(BUFFERED)
    # The device forgets by itself only when nobody has it open.
    with node.open("rb") as held:
        assert len(held.read()) == 16 * MIB
        run = fathom.run(str(buffered), targets=str(node), out=tmp_path / "runs")
    assert not [note for note in run.document.notes if "page cache before the first I/O" in note.text]


def test_a_set_of_files_shares_one_jobs_outstanding_io(tmp_path: Path) -> None:
    file = tmp_path / "set.toml"
    file.write_text(METHOD.replace("split = [3, 1]", 'split = "even"').replace("sqpoll = true\n", ""))
    (tmp_path / "files").mkdir()
    run = fathom.run(str(file), targets=f"dir:{tmp_path}/files*4", size_bytes=2 * MIB, out=tmp_path / "runs")
    assert run.document.status == "complete"
    assert sorted(path.name for path in (tmp_path / "files").iterdir() if path.suffix == ".bin") == [
        f"fathom-set-000{number}.bin" for number in (1, 2, 3, 4)
    ]
    read = rows(run, "split")
    parts = [row for name, row in read.items() if not name.startswith("array:")]
    total = next(row for name, row in read.items() if name.startswith("array:"))
    assert len(parts) == 4
    assert total["outstanding"] == pytest.approx(16, rel=0.1)
    assert [part["iodepth"] for part in parts] == [4, 4, 4, 4]


def limited(name: str, dev: str, read_iops: int | None) -> Target:
    identity = Identity(dev=dev, read_iops_max=read_iops)
    return Target(
        name=name,
        kind="device",
        path=Path(name),
        capacity_bytes=10**12,
        logical_block_bytes=512,
        direct_align_bytes=0,
        identity=identity,
        label=name,
    )


def test_an_array_may_do_what_the_limits_of_all_its_devices_come_to() -> None:
    one, other, free = (
        limited("/dev/a", "8:0", 500),
        limited("/dev/b", "8:16", 700),
        limited("/dev/c", "8:32", None),
    )
    beside = limited("/dev/a1", "8:0", 500)
    found = [
        array_of(members).identity.read_iops_max for members in ([one, other], [one, free], [one, beside])
    ]
    assert found == [1200, None, 500]


@pytest.mark.parametrize(
    ("text", "several"),
    [
        ("twin:disk*2", True),
        ("a=twin:disk*2/btrfs", True),
        ("dir:/tmp/fathom-none*2", True),
        ("array:/dev/sda,/dev/sdb", True),
        ("file:/tmp/s*2/x.bin", False),
        ("a=file:/tmp/s*2.bin", False),
        ("twin:disk#2", False),
    ],
)
def test_a_star_in_a_path_makes_no_target_of_several_parts(text: str, several: bool) -> None:
    assert has_parts(text) is several
