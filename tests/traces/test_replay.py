"""A replay issues what the trace recorded, at its times or as fast as possible, and never beyond its target."""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from test_convert import fathom

import fathom as package
from fathom.errors import UsageError
from fathom.method.method import Method
from fathom.plan.devices import stream_names
from fathom.plan.replay import Replay, replay_method
from fathom.report import write_html
from fathom.report.blocks import Figure
from fathom.report.comparison import compare
from fathom.report.data import load
from fathom.report.sections import replayed
from fathom.report.style import grouped
from fathom.runs.reader import Run
from fathom.session import Options, resume_run

TWIN = "twin:samsung-pm9a3-7.68tb"
DISK = "twin:wd-ultrastar-dc-hc560-20tb"
SLOW = (240, 20_000_000)
"""I/Os of a trace and the gap between them in ns, with which a disk keeps up."""
ROWS = [
    (500 * number, "RWRW"[number % 4] if number % 50 else "F", 8192 * (number * 7919 % 4096), 8192)
    for number in range(1, 2001)
]
"""Two thousand I/Os at even gaps of 500 us, up to 32 MiB."""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "app.csv"
    lines = "".join(f"{time * 1000},{op},{offset},{size},d\n" for time, op, offset, size in ROWS)
    path.write_text(f"issue_ns,op,offset,size,device\n{lines}")
    return path


def run(method: Method, target: str, folder: Path, size_bytes: int | None = None) -> Run:
    file = folder / "replay.json"
    file.write_text(method.text)
    return package.run(str(file), targets=[target], seed=1, out=folder / "runs", size_bytes=size_bytes)


def counts(found: Run, step: str = "replay") -> dict[str, int]:
    rows = found.table("points").to_pylist()
    return {row["op"]: row["n"] for row in rows if row["step"] == step}


EXPECTED = {
    {"R": "read", "W": "write", "F": "flush"}[letter]: count
    for letter, count in Counter(row[1] for row in ROWS).items()
}


@pytest.mark.parametrize("timing", ["as-recorded", "as-fast-as-possible"])
def test_a_twin_replays_every_io_of_the_trace(timing: str, trace: Path, tmp_path: Path):
    method, _ = replay_method(Replay(trace, timing=timing))  # pyright: ignore[reportArgumentType]
    found = run(method, TWIN, tmp_path)
    assert counts(found) == EXPECTED


def test_recorded_times_are_kept_and_a_speed_divides_them(trace: Path, tmp_path: Path):
    lengths = []
    for speed in (1.0, 4.0):
        method, _ = replay_method(Replay(trace, speed=speed))
        how = "as recorded" if speed == 1 else "at 4 times the recorded speed"
        assert method.steps[-1].label == f"app.csv, {how}"
        assert method.summary.endswith(f", {how}?")
        found = run(method, TWIN, tmp_path)
        lengths.append(
            next(r["window_s"] for r in found.table("points").to_pylist() if r["step"] == "replay")
        )
    assert lengths[0] == pytest.approx(1.0, rel=0.01)
    assert lengths[1] == pytest.approx(0.25, rel=0.02)


def test_a_file_is_written_where_the_trace_reads_and_then_replayed(trace: Path, tmp_path: Path):
    method, _ = replay_method(Replay(trace))
    assert counts(run(method, f"file:{tmp_path / 'target'}", tmp_path, 32 << 20)) == EXPECTED
    assert [step.name for step in method.steps] == ["write-what-is-read", "replay"]
    content = (tmp_path / "target").read_bytes()
    read = {row[2] for row in ROWS if row[1] == "R"}
    assert read
    assert all(content[offset : offset + 8192].count(0) < 256 for offset in read)


def test_a_trace_beyond_what_a_twin_simulates_is_refused_before_the_run_by_its_name(tmp_path: Path):
    wide = tmp_path / "wide.csv"
    wide.write_text("time_us,op,offset,size\n0,read,0,4096\n100,read,99999997952,4096\n")
    done = fathom("run", "replay", "--trace", str(wide), "twin:samsung-pm9a3-7.68tb", cwd=tmp_path)
    assert done.returncode == 2
    [line] = done.stderr.decode().splitlines()
    assert "the trace reaches 93.13 GiB, and its twin simulates 6.986 GiB of 6.986 TiB" in line
    assert "--offsets" in line
    assert not (tmp_path / "runs").exists()


def test_a_target_smaller_than_the_trace_needs_offsets_that_fit(trace: Path, tmp_path: Path):
    target = f"file:{tmp_path / 'small'}"
    done = fathom("run", "replay", "--trace", str(trace), target, "--size", "8MiB", cwd=tmp_path)
    assert done.returncode == 2
    [line] = done.stderr.decode().splitlines()
    assert "reaches 30.91 MiB" in line
    assert "--offsets" in line
    for offsets in ("wrap", "scale"):
        chosen = ["--offsets", offsets, "--timing", "as-fast-as-possible", "--out", f"runs-{offsets}"]
        done = fathom("run", "replay", "--trace", str(trace), target, "--size", "8MiB", *chosen, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        # The file's own mark stands behind what is given to jobs.
        assert (tmp_path / "small").stat().st_size == (8 << 20) + 4096


def two_devices(path: Path, ios: int = 2400, gap_ns: int = 50_000) -> dict[str, Counter[str]]:
    """Writes a trace of two devices, and returns the I/Os of each by operation."""
    rows = [(n * gap_ns, "RWWF"[n % 4], 4096 * (n % 512), ("sdb", "SDA")[n % 3 > 0]) for n in range(ios)]
    text = "".join(f"{time},{op},{offset},4096,{device}\n" for time, op, offset, device in rows)
    path.write_text("issue_ns,op,offset,size,device\n" + text)
    ops = {"R": "read", "W": "write", "F": "flush"}
    return {name: Counter(ops[row[1]] for row in rows if row[3] == name) for name in ("sdb", "SDA")}


def counts_of_parts(run_: Run) -> dict[str, dict[str, int]]:
    rows = [row for row in run_.table("points").to_pylist() if row["step"] == "replay"]
    return {
        name: {row["op"]: row["n"] for row in rows if row["target"] == name}
        for name in {row["target"] for row in rows}
    }


@pytest.mark.parametrize("timing", ["as-recorded", "as-fast-as-possible"])
def test_each_device_of_a_trace_goes_to_its_own_target(timing: str, tmp_path: Path):
    expected = two_devices(tmp_path / "two.csv")
    replay = Replay(tmp_path / "two.csv", timing=timing)  # pyright: ignore[reportArgumentType]
    by_name = [f"sda=file:{tmp_path / 'a'}", f"sdb=file:{tmp_path / 'b'}"]
    in_order = [f"file:{tmp_path / 'b'}", f"file:{tmp_path / 'a'}"]
    for targets in (by_name, in_order):
        found = package.run("replay", targets, out=tmp_path / "runs", size_bytes=4 << 20, replay=replay)
        parts = counts_of_parts(found)
        assert parts[f"file:{tmp_path / 'a'}"] == expected["SDA"]
        assert parts[f"file:{tmp_path / 'b'}"] == expected["sdb"]


def test_devices_whose_names_meet_in_lower_case_or_by_a_number_are_streams_of_their_own():
    assert stream_names(["a", "a-3", "A"]) == ["a", "a-3", "a-2"]
    assert stream_names(["259:0", "259-0", "259-0-2"]) == ["259-0", "259-0-2", "259-0-2-2"]


def test_devices_of_a_trace_go_to_equal_twins(tmp_path: Path):
    expected = two_devices(tmp_path / "two.csv")
    replay = Replay(tmp_path / "two.csv")
    found = package.run("replay", [TWIN, TWIN], out=tmp_path / "runs", replay=replay)
    parts = counts_of_parts(found)
    assert parts[f"{TWIN}*2#1"] == expected["sdb"]
    assert parts[f"{TWIN}*2#2"] == expected["SDA"]
    [length_s] = {
        row["window_s"] for row in found.table("points").to_pylist() if row["target"].endswith("*2")
    } - {None}
    assert length_s == pytest.approx(0.12, rel=0.02)


def test_a_device_that_reads_nothing_is_replayed_beside_one_that_reads(tmp_path: Path):
    path = tmp_path / "writes.csv"
    path.write_text("time_s,op,offset,size,device\n0,R,0,4096,a\n0.01,W,8388608,4096,b\n")
    method, notes = replay_method(Replay(path))
    assert [step.name for step in method.steps] == ["write-what-is-read", "replay"]
    assert any("2 devices: a (1 I/Os), b (1 I/Os)" in note for note in notes)
    found = package.run("replay", [TWIN, TWIN], out=tmp_path / "runs", replay=Replay(path))
    parts = counts_of_parts(found)
    assert [parts[f"{TWIN}*2#{number}"] for number in (1, 2)] == [{"read": 1}, {"write": 1}]


@pytest.mark.parametrize(
    "targets", [[TWIN], ["a=null:", "c=null:"], ["null:", "null:", "null:"], ["a=null:", "null:"]]
)
def test_targets_that_do_not_meet_the_devices_are_one_line(targets: list[str], tmp_path: Path):
    path = tmp_path / "two.csv"
    path.write_text("time_s,op,offset,size,device\n0,R,0,4096,a\n0.01,W,0,4096,b\n")
    with pytest.raises(UsageError, match=r"several devices: 'a', 'b'.*a=TARGET.*--trace-device"):
        package.plan_run("replay", targets, replay=Replay(path))


def mean_us(found: Run, target: str) -> dict[str, float]:
    rows = [row for row in found.table("points").to_pylist() if row["step"] == "replay"]
    return {row["op"]: row["mean_us"] for row in rows if row["target"] == target}


def test_devices_of_a_trace_go_to_unlike_twins_each_as_if_alone(tmp_path: Path):
    expected = two_devices(tmp_path / "two.csv", *SLOW)
    replay = Replay(tmp_path / "two.csv")
    found = package.run("replay", [f"sdb={TWIN}", f"sda={DISK}"], out=tmp_path / "runs", replay=replay)
    parts = counts_of_parts(found)
    assert parts[TWIN] == expected["sdb"]
    assert parts[DISK] == expected["SDA"]
    total = Counter(expected["sdb"]) + Counter(expected["SDA"])
    assert parts[f"array:{TWIN},{DISK}"] == total
    for target, device in ((TWIN, "sdb"), (DISK, "SDA")):
        alone = package.run(
            "replay", [target], out=tmp_path / "runs", replay=Replay(tmp_path / "two.csv", device=device)
        )
        own = mean_us(found, target)
        assert own == pytest.approx(mean_us(alone, target), rel=0.05)
    assert mean_us(found, DISK)["read"] > 10 * mean_us(found, TWIN)["read"]


def test_records_and_pages_of_unlike_twins_name_each(tmp_path: Path):
    two_devices(tmp_path / "two.csv", *SLOW)
    found = package.run("replay", [TWIN, DISK], out=tmp_path / "runs", replay=Replay(tmp_path / "two.csv"))
    total, *members = found.document.targets
    assert (total.kind, total.catalog) == ("twin", None)
    assert [one.catalog for one in members] == [name.removeprefix("twin:") for name in (TWIN, DISK)]
    assert members[0].scale != members[1].scale
    page = write_html([found.path], tmp_path / "report.html").read_text()
    assert "Samsung PM9A3" in page
    assert "HC560" in page


def test_a_replay_on_unlike_twins_goes_on_where_it_was_interrupted(
    interrupted: Callable[[Path, Iterable[str]], Path], tmp_path: Path
):
    two_devices(tmp_path / "two.csv", *SLOW)
    found = package.run("replay", [TWIN, DISK], out=tmp_path / "runs", replay=Replay(tmp_path / "two.csv"))
    last = max(folder.name for folder in (found.path / "steps").iterdir())
    resumed = resume_run(interrupted(found.path, [last]), Options())
    assert counts_of_parts(resumed) == counts_of_parts(found)
    assert mean_us(resumed, DISK) == mean_us(found, DISK)


def test_equal_twins_beside_another_are_told_apart(tmp_path: Path):
    path = tmp_path / "three.csv"
    path.write_text("time_s,op,offset,size,device\n0,R,0,4096,a\n0,R,0,4096,b\n0.01,W,0,4096,c\n")
    found = package.run("replay", [TWIN, DISK, TWIN], out=tmp_path / "runs", replay=Replay(path))
    parts = counts_of_parts(found)
    assert [parts[name] for name in (f"{TWIN}#1", DISK, f"{TWIN}#2")] == [
        {"read": 1},
        {"read": 1},
        {"write": 1},
    ]


def test_a_twin_beside_a_real_target_is_refused_with_the_reason(tmp_path: Path):
    path = tmp_path / "two.csv"
    path.write_text("time_s,op,offset,size,device\n0,R,0,4096,a\n0.01,W,0,4096,b\n")
    with pytest.raises(UsageError, match="twins run in virtual time, the other members in real time"):
        package.plan_run("replay", [TWIN, "file:b"], replay=Replay(path), size_bytes=1 << 20)


def test_one_device_of_several_is_replayed_by_its_name(trace: Path):
    trace.write_text(trace.read_text() + "1500000000,R,0,4096,other\n")
    method, _ = replay_method(Replay(trace, device="other"))
    assert method.steps[-1].job.weights == {"read": 1.0}


def test_a_trace_of_more_than_a_million_ios_a_second_is_a_method_too(tmp_path: Path):
    path = tmp_path / "fast.csv"
    path.write_text(
        "time_ns,op,offset,size\n" + "".join(f"{100 * n},R,{4096 * n},4096\n" for n in range(100))
    )
    assert replay_method(Replay(path))[0].steps[-1].job.rate_iops == pytest.approx(1e7)


def test_the_same_trace_is_the_same_method(trace: Path):
    assert replay_method(Replay(trace))[0].parsed == replay_method(Replay(trace))[0].parsed


@pytest.mark.parametrize("devices", [65, 3000])
def test_more_devices_than_a_job_has_streams_are_refused_by_the_trace(devices: int, tmp_path: Path):
    path = tmp_path / "many.csv"
    path.write_text(
        "time_us,op,offset,size,device\n" + "".join(f"{n},R,0,4096,d{n}\n" for n in range(devices))
    )
    with pytest.raises(UsageError, match=r"^many\.csv has more than 64 devices.*such as --trace-device 'd0'"):
        replay_method(Replay(path))
    method, _ = replay_method(Replay(path, device="d64"))
    assert json.loads(method.text)["steps"][-1]["job"]["until"]["count"] == 1


def test_the_devices_that_a_line_leaves_out_are_counted(tmp_path: Path):
    path = tmp_path / "many.csv"
    path.write_text("time_us,op,offset,size,device\n" + "".join(f"{n},R,0,4096,d{n}\n" for n in range(9)))
    done = fathom("run", "replay", "--trace", str(path), TWIN, cwd=tmp_path)
    assert "several devices: 'd0', 'd1', 'd2', 'd3', 'd4' and 4 more" in done.stderr.decode()


@pytest.mark.parametrize("line", ["D,0,4096", "F,0,0", f"R,0,{1 << 28}"])
def test_a_trace_of_what_no_replay_issues_is_refused_with_the_reason(line: str, tmp_path: Path):
    path = tmp_path / "app.csv"
    path.write_text("time_us,op,offset,size\n" + "".join(f"{n},{line}\n" for n in range(3)))
    with pytest.raises(
        UsageError, match=r"^app\.csv: its 3 I/Os are flushes, discards or larger than 64 MiB"
    ):
        replay_method(Replay(path))


def test_discards_are_left_out_and_said(trace: Path, tmp_path: Path):
    trace.write_text(trace.read_text() + "1500000000,D,0,4096,d\n")
    done = fathom("plan", "replay", "--trace", str(trace), TWIN, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "1 discards" in done.stderr.decode()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["replay"], "needs a trace"),
        (["four-corners", "--trace", "app.csv"], "belongs to the method replay"),
        (["replay", "--trace", "app.csv", "--timing", "soon"], "--timing is 'soon'"),
        (["replay", "--trace", "app.csv", "--offsets", "up"], "--offsets is 'up'"),
        (["replay", "--trace", "app.csv", "--speed", "0"], "--speed is 0"),
        (
            ["replay", "--trace", "app.csv", "--speed", "nan"],
            "--speed is nan; give a factor from 1/1,000,000",
        ),
        (["replay", "--trace", "none.csv"], "no such file"),
    ],
)
def test_a_wrong_choice_is_one_line(arguments: list[str], message: str, trace: Path, tmp_path: Path):
    done = fathom("plan", *arguments, TWIN, cwd=tmp_path)
    assert done.returncode == 2
    [line] = done.stderr.decode().splitlines()
    assert message in line


@pytest.mark.parametrize(
    "lines", ["issue_ns,op,offset,size\n1,R,0,none\n", "issue_ns,op,offset,size,device\n1,R,0,none,d\n"]
)
def test_a_trace_of_wrong_lines_alone_is_refused_with_the_first_of_them(lines: str, tmp_path: Path):
    (tmp_path / "app.csv").write_text(lines)
    for words in (["plan", "replay", "--trace", "app.csv", TWIN], ["characterise", "app.csv"]):
        done = fathom(*words, cwd=tmp_path)
        assert done.returncode == 2
        [line] = done.stderr.decode().splitlines()
        assert "app.csv: no I/O in it, line 2: size: not a number" in line


def test_a_long_time_without_an_io_is_said_with_how_to_shorten_it(tmp_path: Path):
    path = tmp_path / "app.csv"
    path.write_text("time_s,op,offset,size\n0,read,0,4096\n5184000,read,4096,4096\n")
    [note] = replay_method(Replay(path))[1]
    assert note == (
        "app.csv: at one place no I/O comes for 1,440 h 00 min, which is replayed second by second, on a twin too; "
        "--speed N shortens it, --timing as-fast-as-possible leaves it out"
    )
    assert replay_method(Replay(path, speed=5000))[1] == []
    assert replay_method(Replay(path, timing="as-fast-as-possible"))[1] == []
    path.write_text("time_s,op,offset,size\n" + "".join(f"{3000 * n},read,0,4096\n" for n in range(9)))
    assert replay_method(Replay(path))[1] == []


def test_the_plan_of_a_few_writes_states_their_wear_without_an_exponent(tmp_path: Path):
    (tmp_path / "few.csv").write_text("time_s,op,offset,size\n0,write,0,4096\n1,write,4096,4096\n")
    done = fathom("plan", "replay", "--trace", "few.csv", TWIN, cwd=tmp_path)
    assert "wear < 0.0001 % of the rated life" in " ".join(done.stdout.decode().split())


def test_a_replay_of_one_io_neither_keeps_up_nor_falls_behind(tmp_path: Path):
    (tmp_path / "one.csv").write_text("time_s,op,offset,size\n5,read,0,4096\n")
    method, _ = replay_method(Replay(tmp_path / "one.csv"))
    found = run(method, TWIN, tmp_path)
    section = replayed.build(compare([load(found.path)]))
    assert section is not None
    assert section.key_figure is not None
    said = " ".join([*section.answer, section.key_figure.sentence, *section.key_figure.reasons])
    assert "reads in" in said
    assert "behind" not in said
    assert "kept up" not in said


@pytest.mark.parametrize(
    ("target", "speed", "verb", "kept"),
    [
        (TWIN, 1, "answered", "kept up with"),
        ("twin:wd-ultrastar-dc-hc560-20tb", 100, "answers", "fell behind"),
    ],
)
def test_the_page_opens_with_latency_since_the_recorded_times_and_who_kept_up(
    target: str, speed: float, verb: str, kept: str, trace: Path, tmp_path: Path
):
    method, _ = replay_method(Replay(trace, speed=speed))
    found = run(method, target, tmp_path)
    section = replayed.build(compare([load(found.path)]))
    assert section is not None
    assert section.key_figure is not None
    assert f"{verb} the recorded reads in" in section.key_figure.sentence
    assert f"{kept} the recorded times" in section.key_figure.reasons[0]
    figure = section.key_figure.block
    assert isinstance(figure, Figure)
    assert figure.charts[0].title == "Response latency of the replay"
    [mean] = [row["response_mean_us"] for row in found.table("points").to_pylist() if row["op"] == "read"]
    assert figure.data.groups[0].rows[0].cells[0].text == grouped(mean)
