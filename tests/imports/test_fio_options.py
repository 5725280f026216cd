"""The rule of an import: every option of fio is applied, noted with its line, or refused; never passed over."""

import shutil
import subprocess
from pathlib import Path

import pytest
from fio_jobs import imported
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fathom.errors import FathomError, UsageError
from fathom.imports import import_method
from fathom.imports.fio_job import Conversion
from fathom.imports.fio_options import ALIASES, OPTIONS, Use, table

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "import.md"
BASE = (
    "filename=/dev/sdz",
    "ioengine=libaio",
    "rw=randrw",
    "size=1g",
    "direct=1",
    "runtime=60",
    "time_based",
)
WRITES = (*BASE, "rw=write")
ONCE = ("filename=f", "ioengine=libaio", "rw=write", "size=1m", "direct=1")
NAMES = ("ioengine=filestat", "nrfiles=3", "filesize=4k")
NAMELESS = ("ioengine=libaio", "rw=write", "size=1m", "direct=1")
THREADS = (*BASE, "rw=read", "numjobs=2")
BLKIO = (
    *("ioengine=libblkio", "libblkio_driver=io_uring", "libblkio_path=/dev/sdz"),
    *("rw=read", "direct=1", "runtime=60", "time_based"),
)

IN_STEP = (*BASE, "flow=1", "[other]", *BASE, "flow=1")
STRIPS = (*BASE[:2], "rw=read", "direct=1", "zonemode=strided", "zonesize=1m", "zoneskip=1m", "size=8m")

RESETS = (*BASE, "rw=randwrite", "zonemode=zbd", "max_open_zones=4", "zone_reset_threshold=0.5")

#: For each applied option lines of a job without it, and a line of it that asks for something else.
CHANGES: dict[str, tuple[tuple[str, ...], str]] = {
    "description": (BASE, "description=what it is for"),
    "name": (BASE, "name=other"),
    "filename": (ONCE, "filename=g"),
    "directory": (ONCE, "directory=d"),
    "rw": (BASE, "rw=randread"),
    "ioengine": ((*BASE, "iodepth=4"), "ioengine=psync"),
    "iodepth": (BASE, "iodepth=7"),
    "iodepth_batch_complete_min": ((*BASE, "iodepth=8"), "iodepth_batch_complete=4"),
    "size": (BASE, "size=2g"),
    "io_size": (ONCE, "io_size=2m"),
    "offset": (BASE, "offset=1m"),
    "number_ios": (ONCE, "number_ios=7"),
    "offset_increment": (THREADS, "offset_increment=2g"),
    "loops": (ONCE, "loops=3"),
    "numjobs": (BASE, "numjobs=3"),
    "runtime": (BASE, "runtime=61"),
    "time_based": ((*ONCE, "runtime=5"), "time_based"),
    "ramp_time": (BASE, "ramp_time=5"),
    "buffer_pattern": (WRITES, "buffer_pattern=0xdeadbeef"),
    "prio": (BASE, "prio=3"),
    "prioclass": (BASE, "prioclass=3"),
    "bs": (BASE, "bs=8k"),
    "bssplit": (BASE, "bssplit=4k/50:8k/50"),
    "bsrange": (BASE, "bsrange=4k-8k"),
    "ba": (BASE, "blockalign=16k"),
    "rwmixread": (BASE, "rwmixread=70"),
    "rwmixwrite": (BASE, "rwmixwrite=70"),
    "norandommap": (BASE, "norandommap"),
    "random_distribution": (BASE, "random_distribution=zipf:1.2"),
    "percentage_random": (BASE, "percentage_random=50"),
    "direct": (BASE, "direct=0"),
    "buffered": (BASE, "buffered=1"),
    "fsync": (WRITES, "fsync=8"),
    "sync": (WRITES, "sync=dsync"),
    "fdatasync": (WRITES, "fdatasync=8"),
    "thinktime": (BASE, "thinktime=100"),
    "rate": (BASE, "rate=1m"),
    "rate_iops": (BASE, "rate_iops=100"),
    "rate_process": ((*BASE, "rate_iops=100"), "rate_process=poisson"),
    "verify": (ONCE, "verify=md5"),
    "do_verify": ((*ONCE, "verify=md5"), "do_verify=0"),
    "zero_buffers": (BASE, "zero_buffers"),
    "buffer_compress_percentage": (BASE, "buffer_compress_percentage=40"),
    "dedupe_percentage": (BASE, "dedupe_percentage=40"),
    "zonemode": ((*BASE, "rw=randwrite"), "zonemode=zbd\nmax_open_zones=1"),
    "max_open_zones": ((*BASE, "rw=randwrite", "zonemode=zbd", "max_open_zones=4"), "max_open_zones=3"),
    "job_max_open_zones": (
        (*BASE, "rw=randwrite", "zonemode=zbd", "job_max_open_zones=4"),
        "job_max_open_zones=3",
    ),
    "zone_reset_threshold": ((*RESETS, "zone_reset_frequency=0.1"), "zone_reset_threshold=0.9"),
    "zone_reset_frequency": (RESETS, "zone_reset_frequency=0.1"),
    "sprandom": ((*ONCE, "rw=randwrite", "norandommap"), "sprandom=1"),
    "spr_op": ((*ONCE, "rw=randwrite", "sprandom=1"), "spr_op=0.07"),
    "spr_num_regions": ((*ONCE, "rw=randwrite", "sprandom=1"), "spr_num_regions=10"),
    "zonesize": (STRIPS, "zonesize=512k"),
    "zoneskip": (STRIPS, "zoneskip=2m"),
    "zonerange": (STRIPS, "zonerange=4m"),
    "random_sequence_stride": (
        (*ONCE, "rw=randread", "bs=4k", "random_distribution=sequence:2,0,1"),
        "random_sequence_stride=1",
    ),
    "steadystate": ((*BASE, "ss_dur=9"), "ss=bw:5%"),
    "steadystate_duration": (BASE, "ss_dur=9"),
    "steadystate_ramp_time": ((*BASE, "ss_dur=9"), "ss_ramp=4"),
    "steadystate_check_interval": ((*BASE, "ss_dur=9"), "ss_interval=3"),
    "fill_device": (("filename=f", "rw=write", "direct=1"), "fill_device=1"),
    "mem": (BASE, "iomem=mmaphuge"),
    "kb_base": (BASE, "kb_base=1000"),
    "stonewall": ((*BASE, "[other]", *BASE), "stonewall"),
    "nrfiles": (BASE, "nrfiles=3"),
    "file_service_type": ((*NAMELESS, "nrfiles=4"), "file_service_type=random"),
    "openfiles": ((*NAMELESS, "nrfiles=4", "file_service_type=sequential"), "openfiles=2"),
    "filesize": (("filename=f", "rw=write"), "filesize=1m"),
    "invalidate": (BASE, "invalidate=0"),
    "wait_for": ((*BASE, "[other]", *BASE), "wait_for=x"),
    "startdelay": (BASE, "startdelay=5"),
    "overwrite": (ONCE, "overwrite=1"),
    "exitall": (THREADS, "time_based=0\nexitall"),
    "exit_what": ((*ONCE, "exitall", "new_group", "[other]", *ONCE, "new_group"), "exit_what=stonewall"),
    "flow": (IN_STEP, "flow=3"),
    "flow_id": (IN_STEP, "flow_id=2"),
    "flow_sleep": (IN_STEP, "flow_sleep=1000"),
    "filename_format": (NAMELESS, "filename_format=$jobname-of-mine"),
    "fdp_pli": (WRITES, "plids=1,2"),
    "sqthread_poll": (BASE, "sqthread_poll=1"),
    "cmd_type": ((*BASE, "ioengine=io_uring_cmd"), "cmd_type=other"),
    "cmdprio_percentage": (BASE, "cmdprio_percentage=20"),
    "cmdprio_bssplit": (BASE, "cmdprio_bssplit=4k/20"),
    "cmdprio_class": ((*BASE, "cmdprio_percentage=20"), "cmdprio_class=2"),
    "cmdprio": ((*BASE, "cmdprio_percentage=20"), "cmdprio=3"),
    "cmdprio_hint": ((*BASE, "cmdprio_percentage=20"), "cmdprio_hint=2"),
    "sg_write_mode": ((*BASE, "ioengine=sg"), "sg_write_mode=verify_bytchk_01"),
    "libblkio_driver": (BLKIO, "libblkio_driver=virtio-blk-vfio-pci"),
    "libblkio_path": (BLKIO, "libblkio_path=/dev/sdy"),
    "cuda_io": ((*BASE, "ioengine=libcufile"), "cuda_io=posix"),
}


def outcome(tmp_path: Path, lines: tuple[str, ...]) -> str:
    """The method without its comments, and the notes; or why there is none."""
    file = tmp_path / "job.fio"
    file.write_text("\n".join(["[x]", *lines, ""]))
    try:
        method, notes = import_method(file)
    except UsageError as refusal:
        return str(refusal)
    aims = [line for line in method.splitlines() if line.startswith("# Run it on")]
    return "\n".join([*(line for line in method.splitlines() if not line.startswith("#")), *notes, *aims])


@pytest.mark.parametrize("name", [one.name for one in OPTIONS.values() if one.use is Use.APPLIED])
def test_an_applied_option_changes_what_the_method_does_or_says(tmp_path: Path, name: str) -> None:
    lines, change = CHANGES[name]
    before = outcome(tmp_path, lines)
    assert before.startswith("\nschema"), f"the job without it is refused: {before}"
    assert outcome(tmp_path, (*lines, change)) != before


def test_an_applied_option_that_no_conversion_asks_for_is_not_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Conversion, "_placement", lambda self: {})
    assert ":9: fdp_pli: was not applied; this is an internal fault" in outcome(tmp_path, (*BASE, "plids=1"))


KEYS = [*OPTIONS, *ALIASES]
VALUES = st.sampled_from(
    [
        "0",
        "1",
        "2",
        "4k",
        "1m",
        "50",
        "50%",
        "none",
        "read",
        "write",
        "x",
        "nan",
        "1e999",
        "-1",
        "4k/50:8k",
        "a:b",
    ]
)
LINES = st.tuples(st.sampled_from(KEYS), VALUES)


BASES = st.sampled_from([BASE, WRITES, ONCE, THREADS, NAMELESS, NAMES])
SECTIONS = st.lists(st.tuples(BASES, st.lists(LINES, max_size=3)), min_size=1, max_size=3)


@settings(max_examples=1500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(shared=st.lists(LINES, max_size=2), sections=SECTIONS)
def test_no_job_is_accepted_with_an_option_that_is_neither_applied_nor_noted(
    tmp_path: Path,
    shared: list[tuple[str, str]],
    sections: list[tuple[tuple[str, ...], list[tuple[str, str]]]],
) -> None:
    """Random files of one to three sections from all options, some of them global."""
    lines = ["[global]", *(f"{key}={value}" for key, value in shared)]
    for number, (base, own) in enumerate(sections):
        lines += [f"[x{number}]", *base, *(f"{key}={value}" for key, value in own)]
    file = tmp_path / "job.fio"
    file.write_text("\n".join([*lines, ""]))
    notes: list[str] = []
    try:
        _, notes = import_method(file)
    except FathomError as error:
        refusal = str(error)
    else:
        refusal = ""
    if refusal:
        assert refusal.startswith(f"{file}:")
        return
    for base, own in sections:
        given_lines = [(key, value) for key, _, value in (line.partition("=") for line in base)]
        last = {ALIASES.get(key, key): value for key, value in [*shared, *given_lines, *own]}
        for key, value in last.items():
            option = OPTIONS[key]
            assert option.use is not Use.REFUSED or value in option.neutral, key
            if option.use is Use.NOTED and value not in option.neutral:
                assert any(key in note for note in notes), key


def test_what_is_told_or_refused_names_the_line(tmp_path: Path) -> None:
    told = outcome(tmp_path, (*BASE, "nice=5"))
    assert f"{tmp_path}/job.fio:9: nice=5: sets the processors" in told
    assert f"{tmp_path}/job.fio:9: pre_read: 1: reads whole files before" in outcome(
        tmp_path, (*BASE, "pre_read=1")
    )


def listed(*arguments: str) -> list[str]:
    output = subprocess.run(["fio", *arguments], capture_output=True, text=True, check=False).stdout
    return [line.partition(":")[0].strip() for line in output.splitlines() if ":" in line]


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
def test_every_option_of_the_installed_fio_is_in_the_table() -> None:
    engines = subprocess.run(["fio", "--enghelp"], capture_output=True, text=True, check=True).stdout
    names = listed("--cmdhelp=all")
    for engine in engines.splitlines()[1:]:
        names += listed(f"--enghelp={engine.strip()}")
    assert len(names) > 200
    known = {one.replace("-", "_") for one in KEYS}
    assert [name for name in names if name.replace("-", "_") not in known] == []


def test_the_docs_have_the_table() -> None:
    assert table() in DOCS.read_text(), "write fathom.imports.fio_options.table() into it"


def test_names_and_aliases_are_each_of_one_option() -> None:
    assert not set(ALIASES) & set(OPTIONS)


@pytest.mark.parametrize(
    ("options", "depth"),
    [
        ("ioengine=libaio\ndirect=0", 1),
        ("ioengine=libaio\ndirect=1", 32),
        ("ioengine=posixaio\ndirect=1", 1),
        ("ioengine=posixaio\ndirect=0", 1),
        ("ioengine=io_uring\ndirect=0", 32),
        ("ioengine=libaio\ndirect=1\nrw=randtrim", 1),
        ("ioengine=io_uring\ndirect=1\nrw=trim", 1),
        ("ioengine=io_uring_cmd\nrw=randtrim", 32),
    ],
)
def test_the_depth_is_one_where_fio_has_no_more_in_flight(tmp_path: Path, options: str, depth: int) -> None:
    steps, notes = imported(
        tmp_path, f"[x]\nfilename=/dev/sdz\nrw=randread\nsize=1m\niodepth=32\n{options}\n"
    )
    assert steps[-1]["job"]["load"]["iodepth"] == depth
    assert any(note.endswith("the depth is 1, whatever iodepth says") for note in notes) == (depth == 1)
