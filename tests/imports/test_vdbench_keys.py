"""The rule of an import: every key of a Vdbench file is applied, noted with its line, or refused; never passed over."""

import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fathom.errors import FathomError, UsageError
from fathom.imports import import_method
from fathom.imports.fio_options import Use
from fathom.imports.vdbench_keys import KEYS, Section, VdbenchKey, find_key, reference
from fathom.method.method import parse_method

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "import-vdbench.md"
S, W, R = Section.STORAGE, Section.WORKLOAD, Section.RUN
F, FW = Section.FILES, Section.FILE_WORKLOAD

#: For each applied key two ways to write it that ask for different I/O.
CHANGES: dict[tuple[Section, str], tuple[str, str]] = {
    (Section.GENERAL, "compression"): ("compression=50", "compression=20"),
    (Section.GENERAL, "compratio"): ("compratio=2", "compratio=4"),
    (Section.GENERAL, "dedupratio"): ("dedupratio=2", "dedupratio=4"),
    (S, "lun"): ("lun=/dev/sdb", "lun=/dev/sdc"),
    (S, "count"): ("count=(1,1)", "count=(1,3)"),
    (S, "size"): ("size=1g", "size=2g"),
    (S, "threads"): ("threads=1", "threads=9"),
    (S, "offset"): ("offset=0", "offset=1m"),
    (S, "align"): ("align=4k", "align=8k"),
    (S, "openflags"): ("openflags=o_direct", "openflags=directio_off"),
    (S, "range"): ("range=(0,50)", "range=(0,60)"),
    (W, "sd"): ("sd=sd1", "sd=other"),
    (W, "skew"): ("skew=20", "skew=30"),
    (W, "xfersize"): ("xfersize=4k", "xfersize=8k"),
    (W, "readpct"): ("rdpct=30", "readpct=40"),
    (W, "writepct"): ("wrpct=30", "writepct=40"),
    (W, "range"): ("range=(0,50)", "range=(0,60)"),
    (W, "seekpct"): ("seekpct=0", "seekpct=50"),
    (W, "iorate"): ("iorate=100", "iorate=200"),
    (W, "openflags"): ("openflags=o_direct", "openflags=directio_off"),
    (R, "wd"): ("wd=wd1", "wd=wd2"),
    (R, "sd"): ("sd=sd1", "sd=other"),
    (R, "iorate"): ("iorate=100", "iorate=200"),
    (R, "maxdata"): ("maxdata=1g", "maxdata=2g"),
    (R, "curve"): ("iorate=curve,curve=(10,20)", "iorate=curve,curve=(10,30)"),
    (R, "elapsed"): ("elapsed=10", "elapsed=1m"),
    (R, "warmup"): ("warmup=0", "warmup=5"),
    (R, "pause"): ("pause=0", "pause=5"),
    (R, "forxfersize"): ("xfersize=4k", "forxfersize=(4k,8k)"),
    (R, "forthreads"): ("threads=4", "forthreads=(4,8)"),
    (R, "forrdpct"): ("rdpct=40", "forrdpct=(40,50)"),
    (R, "forseekpct"): ("forseekpct=0", "forseekpct=(0,50)"),
    (R, "forcompratio"): ("compratio=2", "forcompratio=(2,4)"),
    (R, "forcompression"): ("compression=50", "forcompression=20"),
    (R, "distribution"): ("iorate=100,distribution=e", "iorate=100,distribution=d"),
    (R, "openflags"): ("openflags=o_direct", "openflags=directio_off"),
    (F, "anchor"): ("anchor=/a", "anchor=/b"),
    (F, "width"): ("width=1", "width=2"),
    (F, "depth"): ("depth=1", "depth=2"),
    (F, "sizes"): ("size=64k", "sizes=128k"),
    (F, "files"): ("files=20", "files=30"),
    (F, "openflags"): ("openflags=o_direct", "openflags=directio_off"),
    (S, "host"): ("host=h1", "host=*"),
    (W, "host"): ("host=h1", "host=h*"),
    (FW, "host"): ("host=h1", "host=*"),
    (FW, "fsd"): ("fsd=fsd1", "fsd=other"),
    (FW, "readpct"): ("rdpct=30", "readpct=40"),
    (FW, "stopafter"): ("stopafter=5", "stopafter=6"),
    (FW, "operation"): ("operation=read,rdpct=100", "operation=getattr"),
    (FW, "fileselect"): ("fileselect=random", "fileselect=sequential"),
    (FW, "fileio"): ("fileio=random", "fileio=sequential,operation=write"),
    (FW, "xfersizes"): ("xfersize=4k", "xfersizes=8k"),
    (FW, "skew"): ("skew=20", "skew=30"),
    (FW, "threads"): ("threads=2", "threads=3"),
    (FW, "openflags"): ("openflags=o_direct", "openflags=directio_off"),
    (R, "fwd"): ("fwd=fwd1", "fwd=fwd2"),
    (R, "fwdrate"): ("fwdrate=100", "fwdrate=200"),
    (R, "operations"): ("operations=(read,write)", "operations=(getattr,open)"),
    (R, "format"): ("format=only", "format=yes"),
}
OF_FILES = ("fwd=", "fwdrate=", "operations=", "format=")


def parm(section: Section, line: str) -> str:
    """A whole file with a line of that section."""
    hosts = "hd=h1,system=a\nhd=h2,system=b\n" if line.startswith("host=") else ""
    return hosts + parm_of_a_host(section, line)


def parm_of_a_host(section: Section, line: str) -> str:
    """A file without hosts, but for a line of theirs."""
    if section in (F, FW) or line.startswith(OF_FILES):
        return parm_of_files(section, line)
    at = {one: f",{line}" if one is section else "" for one in Section}
    general = f"{line}\n" if section is Section.GENERAL else ""
    host = f"hd=default,{line}\n" if section is Section.HOST else ""
    # What comes last counts, so that a line may give what the file has already.
    lun = "" if line.startswith("lun=") else ",lun=/dev/sdb"
    rate = "" if "iorate=" in line else ",iorate=max"
    skewed = line.startswith("skew")
    workload = "" if line.startswith("wd=") else ",wd=wd*" if skewed else ",wd=wd1"
    return (
        f"{general}{host}sd=sd1{lun},align=4k{at[S]}\nsd=other,lun=/dev/sdz\n"
        f"wd=wd1,sd=sd1*,rdpct=50{at[W]}\nwd=wd2,sd=sd1*,rdpct=0\nrd=rd1{workload}{rate}{at[R]}\n"
    )


def parm_of_files(section: Section, line: str) -> str:
    """A whole file of runs on files with a line of that section."""
    at = {one: f",{line}" if one is section else "" for one in Section}
    run = "" if line.startswith("fwd=") else ",fwd=fwd*" if line.startswith("skew") else ",fwd=fwd1"
    rate = (
        "" if line.startswith("fwdrate=") else ",fwdrate=100" if line.startswith("skew") else ",fwdrate=max"
    )
    return (
        f"fsd=fsd1,anchor=/x,size=64k{at[F]}\nfsd=other,anchor=/y\n"
        f"fwd=default,fsd=fsd1,fileio=random\nfwd=fwd1,operation=read{at[FW]}\nfwd=fwd2,operation=write\n"
        f"rd=rd1{run}{rate}{at[R]}\n"
    )


def imported(tmp_path: Path, text: str) -> tuple[str, list[str]]:
    file = tmp_path / "x.parm"
    file.write_text(text)
    method, notes = import_method(file)
    return re.sub(r"#.*Imported.*\n", "", method), notes


def of(use: Use) -> list[VdbenchKey]:
    return [key for key in KEYS if key.use is use]


@pytest.mark.parametrize("key", of(Use.APPLIED), ids=lambda key: f"{key.section}-{key.name}")
def test_an_applied_key_changes_the_method(key: VdbenchKey, tmp_path: Path) -> None:
    first, second = (
        imported(tmp_path, parm(key.section, line))[0] for line in CHANGES[key.section, key.name]
    )
    assert first != second


@pytest.mark.parametrize("key", of(Use.NOTED), ids=lambda key: f"{key.section}-{key.name}")
def test_a_key_that_is_told_is_named_with_its_line(key: VdbenchKey, tmp_path: Path) -> None:
    text = parm(key.section, f"{key.name}=5")
    number = next(at for at, line in enumerate(text.splitlines(), 1) if f"{key.name}=5" in line)
    _, notes = imported(tmp_path, text)
    told = f"x.parm:{number}: {key.name}=5 "
    assert any(told in note or f"{key.name} ({number})" in note for note in notes), notes


@pytest.mark.parametrize("key", of(Use.REFUSED), ids=lambda key: f"{key.section}-{key.name}")
def test_a_key_that_would_make_another_test_is_refused_with_its_line(key: VdbenchKey, tmp_path: Path) -> None:
    text = parm(key.section, f"{key.name}=5")
    number = next(at for at, line in enumerate(text.splitlines(), 1) if f"{key.name}=5" in line)
    with pytest.raises(UsageError, match=rf"x\.parm:{number}: {key.name}=5"):
        imported(tmp_path, text)


@pytest.mark.parametrize(
    "key", [key for key in of(Use.REFUSED) if key.neutral], ids=lambda key: f"{key.section}-{key.name}"
)
def test_a_refused_key_that_asks_for_nothing_is_accepted(key: VdbenchKey, tmp_path: Path) -> None:
    method, _ = imported(tmp_path, parm(key.section, f"{key.name}={key.neutral[0]}"))
    without = "".join(
        line.replace(f",{key.name}={key.neutral[0]}", "") + "\n"
        for line in parm(key.section, f"{key.name}={key.neutral[0]}").splitlines()
        if not line.startswith(f"{key.name}=")
    )
    assert tomllib.loads(method) == tomllib.loads(imported(tmp_path, without)[0])


def test_words_are_abbreviated_as_vdbench_does() -> None:
    for section, word, name in [
        (R, "el", "elapsed"),
        (R, "in", "interval"),
        (R, "io", "iorate"),
        (R, "th", "forthreads"),
        (R, "xf", "forxfersize"),
        (W, "see", "seekpct"),
        (W, "ho", "hotband"),
        (W, "str", "stride"),
        (W, "sk", "skew"),
        (S, "si", "size"),
        (S, "re", "replay"),
        (S, "openflag", "openflags"),
    ]:
        key = find_key(section, word)
        assert key is not None, (section, word)
        assert key.name == name
    assert find_key(R, "maxdat") is None
    assert find_key(W, "rdpcts") is None


def test_the_reference_page_has_the_table() -> None:
    assert reference() in DOCS.read_text(), (
        "put the output of fathom.imports.vdbench_keys.reference() into the page"
    )


VALUES = st.sampled_from(
    [
        "5",
        "0",
        "100",
        "1k",
        "4k",
        "1g",
        "max",
        "no",
        "yes",
        "sd1",
        "wd1",
        "sd*",
        "/dev/sdb",
        "o_direct",
        "eof",
        "(4k,8k)",
        "(0,50)",
        "(1-4,d)",
        "(10-30,10)",
        "(1,2)",
        "curve",
        "random",
        "seq",
        "1e999",
        "nan",
        "inf",
        "-1",
    ]
)
WORDS = [(key.section, name) for key in KEYS for name in (key.name, *key.aliases)]


@pytest.mark.parametrize("size", ["0", "700", "2g"])
def test_a_size_of_forxfersize_that_is_none_of_a_block_is_refused_on_storage_and_files_alike(
    tmp_path: Path, size: str
) -> None:
    storage = f"sd=sd1,lun=/dev/sdb\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1,forxfersize=(4k,{size})\n"
    files = (
        "fsd=fsd1,anchor=/x\nfwd=fwd1,fsd=fsd1\n"
        f"rd=rd1,fwd=fwd1,fwdrate=max,format=yes,forxfersize=(4k,{size})\n"
    )
    for text in (storage, files):
        with pytest.raises(
            UsageError, match=r":3: .*bytes are no size of a block; a multiple of 512 up to 1g"
        ):
            imported(tmp_path, text)


@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    keys=st.lists(st.tuples(st.sampled_from(WORDS), st.integers(2, 20), VALUES), max_size=6),
    unknown=st.booleans(),
    on_files=st.booleans(),
)
def test_no_file_is_accepted_with_a_key_that_is_neither_applied_nor_noted(
    tmp_path: Path, keys: list[tuple[tuple[Section, str], int, str]], unknown: bool, on_files: bool
) -> None:
    """Random files from all keys, abbreviated at random, each key on a line of its own."""
    lines: list[tuple[Section, str, str]] = [
        (S, "sd", "sd1"),
        (S, "lun", "/dev/sdb"),
        (F, "fsd", "fsd1"),
        (F, "anchor", "/x"),
        (W, "wd", "wd1"),
        (W, "sd", "sd1"),
        (FW, "fwd", "fwd1"),
        (FW, "fsd", "fsd1"),
        (R, "rd", "rd1"),
        *([(R, "fwd", "fwd1"), (R, "fwdrate", "max")] if on_files else [(R, "wd", "wd1")]),
    ]
    lines += [(section, word[:length], value) for (section, word), length, value in keys]
    if unknown:
        lines.append((W, "frobnicate", "1"))
    order = list(Section)
    lines.sort(key=lambda line: order.index(line[0]))
    text = "hd=default\n" if any(section is Section.HOST for section, *_ in lines) else ""
    text = "".join(f"{word}={value}\n" for section, word, value in lines if section is Section.GENERAL) + text
    text += "".join(f"{word}={value}\n" for section, word, value in lines if section is not Section.GENERAL)
    try:
        method, notes = imported(tmp_path, text)
    except FathomError:
        return
    assert not unknown
    assert parse_method(method, "again").steps
    numbers = {line: at for at, line in enumerate(text.splitlines(), 1)}
    for section, word, value in lines:
        key = find_key(section, word)
        if key is None:
            assert word in ("sd", "fsd", "wd", "fwd", "rd")
        elif key.use is Use.REFUSED:
            assert value in key.neutral
        elif key.use is Use.NOTED and value not in key.neutral:
            at = numbers[f"{word}={value}"]
            assert any(f"x.parm:{at}: {word}={value}" in note or word in note for note in notes)
