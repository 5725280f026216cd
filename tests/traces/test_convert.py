"""A trace that is converted holds the same I/Os, in little space, and no file of somebody is written over."""

import errno
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from samples import EXPECTED, SAMPLES
from test_formats import of_text, read

from fathom.errors import FathomError, RefusedError, UsageError
from fathom.traces.batch import NO_NAME, Batch, Findings
from fathom.traces.convert import convert
from fathom.traces.opening import open_trace
from fathom.traces.parquet import ParquetWriter
from fathom.traces.profile import characterise


def fathom(*arguments: str, cwd: Path, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "fathom", *arguments], cwd=cwd, input=given, capture_output=True, check=False
    )


def same(one: Batch, other: Batch, columns: tuple[str, ...] = tuple(Batch.__annotations__)) -> None:
    for name in columns:
        assert getattr(one, name).tolist() == getattr(other, name).tolist(), name


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
@pytest.mark.parametrize("name", ["blkparse", "iolog-3", "msr"])
def test_parquet_and_csv_keep_everything(name: str, suffix: str, tmp_path: Path):
    out = tmp_path / f"out{suffix}"
    done = convert(of_text(tmp_path, SAMPLES[name].text), out)
    before, after = of_text(tmp_path, SAMPLES[name].text), open_trace(out)
    same(read(before), read(after))
    assert (done.ios, done.duration_ns) == (len(EXPECTED), 1_000_000_000)
    assert list(before.devices) == list(after.devices)
    assert list(before.processes) == list(after.processes)


@pytest.mark.parametrize("suffix", [".csv", ".iolog"])
def test_devices_whose_names_differ_by_what_a_format_cannot_hold_remain_two(suffix: str, tmp_path: Path):
    out = tmp_path / f"out{suffix}"
    text = "1,R,0,512,a b\n2,R,512,512,a_b\n3,R,1024,512,a b\n"
    convert(of_text(tmp_path, text, "time_us,op,offset,size,device"), out)
    after = open_trace(out)
    assert read(after).device.tolist() == [0, 1, 0]
    assert list(after.devices) == ["a_b", "a_b-2"]


def test_flushes_discards_and_flags_survive(tmp_path: Path):
    text = "1,F,,,,\n2,trim,4096,8192,,a\n3,WFSM,0,512,,b\n4,FN,,,10,\n"
    columns = "time_us,op,offset,size,latency_us,process"
    for suffix in (".parquet", ".csv"):
        out = tmp_path / f"out{suffix}"
        convert(of_text(tmp_path, text, columns), out)
        same(read(of_text(tmp_path, text, columns)), read(open_trace(out)))
    rows = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert [row["operation"] for row in rows] == ["flush", "discard", "write", "flush"]
    assert rows[0]["offset_bytes"] is None
    assert rows[2]["flags"] == "SFM"


def test_an_io_that_stands_too_late_delays_none_behind_it_in_an_iolog(tmp_path: Path):
    lines = [f"{10 * number},R,0,4096" for number in range(70_000)]
    text = "\n".join([*lines, "5,R,4096,4096", "900000,R,0,4096"]) + "\n"
    out = tmp_path / "out.iolog"
    convert(of_text(tmp_path, text, "time_us,op,offset,size"), out)
    times = [int(line.split()[0]) for line in out.read_text().splitlines()[1:]]
    assert times == sorted(times)
    assert times[-1] == 900_000


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
def test_fio_replays_the_iolog_that_is_written(tmp_path: Path):
    lines = "".join(
        f"{100 * number},{'RW'[number % 2]},{4096 * (number * 7 % 64)},4096\n" for number in range(64)
    )
    convert(of_text(tmp_path, lines, "time_us,op,offset,size"), tmp_path / "out.iolog")
    (tmp_path / "data").write_bytes(bytes(64 * 4096))
    command = "fio --name=a --read_iolog=out.iolog --replay_redirect=data --output-format=json"
    done = subprocess.run(command.split(), cwd=tmp_path, check=True, capture_output=True)
    [job] = json.loads(done.stdout)["jobs"]
    found = [(job[kind]["total_ios"], job[kind]["io_bytes"]) for kind in ("read", "write")]
    assert found == [(32, 32 * 4096)] * 2


def test_a_million_random_ios_take_less_than_16_bytes_each(tmp_path: Path):
    drawn, rows = np.random.default_rng(1), 1_000_000
    text = "".join(
        f"{time},{'RW'[kind]},{4096 * place},{size},{latency}\n"
        for time, kind, place, size, latency in zip(
            np.cumsum(drawn.exponential(5000, rows)).astype(int).tolist(),
            drawn.integers(0, 2, rows).tolist(),
            drawn.integers(0, 1 << 28, rows).tolist(),
            drawn.choice([4096, 8192, 131072], rows).tolist(),
            drawn.lognormal(11, 0.5, rows).astype(int).tolist(),
            strict=True,
        )
    )
    done = convert(of_text(tmp_path, text, "time_ns,op,offset,size,latency_ns"), tmp_path / "out.parquet")
    assert done.ios == rows
    assert done.size_bytes / rows < 16


def test_a_file_that_is_there_stays(tmp_path: Path):
    out = tmp_path / "out.csv"
    out.write_text("mine")
    with pytest.raises(RefusedError):
        convert(of_text(tmp_path, SAMPLES["msr"].text), out)
    assert out.read_text() == "mine"


def test_strict_refuses_a_wrong_line_and_leaves_no_file(tmp_path: Path):
    with pytest.raises(UsageError, match="line 11"):
        convert(of_text(tmp_path, SAMPLES["msr"].text + b"x\n"), tmp_path / "out.csv", strict=True)
    assert [path.name for path in tmp_path.iterdir()] == ["trace"]


def test_the_command_reads_standard_input_and_shows_what_it_left_out(tmp_path: Path):
    done = fathom(
        "trace", "convert", "-", "out.parquet", cwd=tmp_path, given=SAMPLES["blkparse"].text + b"CPU0 (x)\n"
    )
    assert done.returncode == 0, done.stderr
    assert b"out.parquet: 10 I/Os over 1 s" in done.stdout
    done = fathom("trace", "convert", "-", "two.csv", cwd=tmp_path, given=b"1,R,0,1\nx\n2,R,0,1\n")
    assert (done.returncode, done.stdout) == (2, b"")
    given = b"1,R,0,1\nx\n2,R,0,1\n"
    done = fathom(
        "trace", "convert", "-", "two.csv", "--columns", "time_s,op,offset,size", cwd=tmp_path, given=given
    )
    assert done.stderr.decode().splitlines() == [
        "fathom: -, line 2: time: not a number",
        "fathom: -: lines or records left out: 1; I/Os read: 2",
    ]


def test_a_damaged_or_foreign_parquet_is_refused_in_one_line(tmp_path: Path):
    out = tmp_path / "out.parquet"
    convert(of_text(tmp_path, SAMPLES["msr"].text), out)
    content = bytearray(out.read_bytes())
    chunk = pq.read_metadata(out).row_group(0).column(2)
    content[chunk.data_page_offset + chunk.total_compressed_size - 3] ^= 0xFF
    damaged = tmp_path / "damaged.parquet"
    damaged.write_bytes(content)
    with pytest.raises(UsageError, match=r"damaged\.parquet"):
        read(open_trace(damaged))
    damaged.write_bytes(content[:300])
    with pytest.raises(UsageError, match="Parquet") as refused:
        open_trace(damaged)
    assert not refused.value.message.endswith(".")
    foreign = tmp_path / "foreign.parquet"
    pq.write_table(pq.read_table(out).drop_columns(["flags"]), foreign)
    with pytest.raises(UsageError, match="flags"):
        open_trace(foreign)


FAR = (1 << 63) - 1


@pytest.mark.parametrize(
    ("column", "values", "said"),
    [
        ("offset_bytes", [0, FAR], "an I/O ends beyond 2^63 bytes"),
        ("latency_ns", [5, -5], "a negative number"),
        ("issue_ns", [None, 1], "issue_ns is missing"),
        ("device", [None, "a"], "device is missing"),
        ("operation", ["read", None], "operation is missing"),
        ("flags", ["", None], "flags is missing"),
    ],
)
def test_a_damaged_row_of_parquet_is_refused_in_one_line(
    column: str, values: list[object], said: str, tmp_path: Path
):
    out, damaged = tmp_path / "out.parquet", tmp_path / "damaged.parquet"
    convert(
        of_text(tmp_path, "1,R,0,512,a,5\n2,W,512,512,a,6\n", "time_us,op,offset,size,device,latency_us"), out
    )
    table = pq.read_table(out)
    own = table.schema.field(column)
    plain = pa.array(values, own.type.value_type if pa.types.is_dictionary(own.type) else own.type)
    given = plain.dictionary_encode().cast(own.type) if pa.types.is_dictionary(own.type) else plain
    place = table.schema.get_field_index(column)
    pq.write_table(table.set_column(place, pa.field(column, own.type), given), damaged)
    for read_through in (read, characterise):
        with pytest.raises(UsageError, match=rf"damaged\.parquet: damaged: {re.escape(said)}"):
            read_through(open_trace(damaged))


def test_a_parquet_trace_without_threads_and_cpus_is_still_read(tmp_path: Path):
    out, older = tmp_path / "out.parquet", tmp_path / "older.parquet"
    convert(of_text(tmp_path, SAMPLES["blkparse"].text), out)
    pq.write_table(pq.read_table(out).drop_columns(["pid", "cpu"]), older)
    before, after = read(open_trace(out)), read(open_trace(older))
    same(before, after, ("issue_ns", "latency_ns", "offset_bytes", "size_bytes", "operation", "process"))
    assert set(before.cpu.tolist()) == {1}
    assert set(after.cpu.tolist()) == set(after.pid.tolist()) == {NO_NAME}


def test_what_has_been_read_of_a_parquet_trace_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("fathom.traces.parquet._ROWS", 1 << 14)
    monkeypatch.setattr("fathom.traces.parquet._READ_ROWS", 1 << 13)
    drawn, rows, groups = np.random.default_rng(1), 1 << 14, 24
    none = np.zeros(rows, np.uint32)
    with ParquetWriter(tmp_path / "long.parquet") as writer:
        for group in range(groups):
            batch = Batch(
                issue_ns=np.arange(group * rows, (group + 1) * rows, dtype=np.uint64),
                latency_ns=drawn.integers(0, 1 << 60, rows, np.uint64),
                offset_bytes=drawn.integers(0, 1 << 60, rows, np.uint64),
                size_bytes=np.full(rows, 4096, np.uint64),
                operation=np.zeros(rows, np.uint8),
                flags=np.zeros(rows, np.uint8),
                device=none,
                process=none,
                pid=none,
                cpu=none,
            )
            writer.write(batch, ["d"], ["p"])
        writer.finish("long", "csv", Findings())
    size_bytes = (tmp_path / "long.parquet").stat().st_size
    assert size_bytes > 12 * groups * rows
    before = pa.total_allocated_bytes()
    kept = [pa.total_allocated_bytes() - before for _ in open_trace(tmp_path / "long.parquet").batches()]
    assert len(kept) == 2 * groups
    assert max(kept) < size_bytes / 4


def test_a_full_disk_is_named_with_the_file_that_was_to_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "Error writing bytes to file. Detail: [errno 28]")

    monkeypatch.setattr(ParquetWriter, "finish", full)
    out = tmp_path / "out.parquet"
    with pytest.raises(FathomError) as refused:
        convert(of_text(tmp_path, SAMPLES["blkparse"].text), out)
    assert str(refused.value).startswith(f"cannot write {out}: No space left on device; free some space")
    assert not out.exists()
