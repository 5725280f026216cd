"""A run written as the results of others is read by their own programs, and comes back as it was."""

import json
import shutil
import subprocess
from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from others import Fathom, FioFiles

from fathom.errors import UsageError
from fathom.results.export import ExportFormat, export_results
from fathom.results.export.measured import measured_of
from fathom.results.hdr_codec import decode, encode
from fathom.results.import_files import import_results
from fathom.results.records import Bin
from fathom.runs.home import runs_home
from fathom.runs.reader import Run
from fathom.statistics.percentiles import Histogram

METHOD = """
schema = "fathom-method/1"
name = "pair"
title = "Pair"
[[steps]]
name = "randread"
[steps.job]
mix = "read"
block = "4KiB"
pattern = "uniform"
load = { threads = 2, iodepth = 8 }
until = { time = "3s" }
[[steps]]
name = "mixed"
[steps.job]
mix = { read = 70, write = 30 }
block = "4KiB"
pattern = "uniform"
load = { threads = 2, iodepth = 8 }
until = { time = "3s" }
"""
DIRECTIONS = ("read", "write")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Three seconds of reads and of a mix on a twin."""
    import fathom

    folder = tmp_path_factory.mktemp("run")
    (folder / "pair.toml").write_text(METHOD)
    return fathom.run(str(folder / "pair.toml"), ["twin:samsung-pm9a3-7.68tb"], out=folder)


@pytest.fixture
def theirs(fio: FioFiles) -> Run:
    outcome = import_results([fio.json_plus])
    return Run(outcome.runs[0])


def jobs_of(data: bytes) -> dict[str, dict]:
    return {job["jobname"]: job for job in json.loads(data)["jobs"]}


def test_what_fio_counted_together_stays_so_in_its_format(fio: FioFiles, tmp_path: Path) -> None:
    document = json.loads(fio.json_plus.read_text())
    job = next(job for job in document["jobs"] if job["jobname"] == "oltp")
    job["mixed"] = job.pop("read")
    del job["write"], job["trim"]
    file = tmp_path / "mixed.json"
    file.write_text(json.dumps({**document, "jobs": [job]}))
    [run] = import_results([file]).runs
    [back] = json.loads(export_results(run, ExportFormat.FIO_JSON_PLUS))["jobs"]
    assert back["mixed"]["total_ios"] == job["mixed"]["total_ios"]
    assert back["mixed"]["clat_ns"]["bins"] == job["mixed"]["clat_ns"]["bins"]


def test_fios_json_plus_comes_back_with_its_counts_bins_and_percentiles(fio: FioFiles, theirs: Run):
    before = jobs_of(fio.json_plus.read_bytes())
    after = jobs_of(export_results(theirs, ExportFormat.FIO_JSON_PLUS))
    assert after.keys() == before.keys()
    for name, job in before.items():
        for op in DIRECTIONS:
            was, now = job[op], after[name][op]
            assert now["total_ios"] == was["total_ios"]
            assert now["runtime"] == was["runtime"]
            assert now["iops"] == pytest.approx(was["iops"])
            assert now["bw_bytes"] == was["bw_bytes"]
            assert now["clat_ns"]["N"] == was["clat_ns"]["N"]
            if was["total_ios"]:
                assert now["clat_ns"]["bins"] == was["clat_ns"]["bins"]
                assert now["clat_ns"]["percentile"] == was["clat_ns"]["percentile"]
                assert now["clat_ns"]["mean"] == pytest.approx(was["clat_ns"]["mean"])
                assert now["clat_ns"]["max"] == was["clat_ns"]["max"]


def test_an_export_that_is_imported_has_the_figures_of_the_run(run: Run, tmp_path: Path):
    (tmp_path / "run.json").write_bytes(export_results(run, ExportFormat.FIO_JSON_PLUS))
    again = Run(import_results([tmp_path / "run.json"]).runs[0])
    then = {(row["step"], row["op"]): row for row in again.points.to_pylist()}
    for row in run.points.to_pylist():
        other = then[row["step"], row["op"]]
        assert other["n"] == row["n"]
        assert other["iops"] == pytest.approx(row["iops"])
        assert other["mean_us"] == pytest.approx(row["mean_us"])
        # A bin of fio is two of Fathom's: 1/64 of its lower edge.
        assert other["p99_us"] == pytest.approx(row["p99_us"], rel=1 / 64)
        assert (other["threads"], other["iodepth"], other["block_bytes"]) == (2, 8, 4096)


UNLIKE_FIO = """
schema = "fathom-method/1"
name = "unlike"
[[steps]]
name = "discards"
[steps.job]
mix = { read = 1, trim = 1 }
block = "4KiB"
pattern = "uniform"
load = { iodepth = 4 }
until = { time = "1s" }
[[steps]]
name = "together"
[steps.job]
until = { time = "1s" }
[[steps.job.streams]]
name = "one"
mix = "read"
block = "4KiB"
pattern = "uniform"
load = { iodepth = 4 }
[[steps.job.streams]]
name = "other"
mix = "write"
block = "4KiB"
pattern = "uniform"
load = { iodepth = 2 }
"""


def test_loads_that_fio_has_no_options_for_come_back_without_a_mix_or_a_depth(tmp_path: Path):
    import fathom

    (tmp_path / "unlike.toml").write_text(UNLIKE_FIO)
    run = fathom.run(str(tmp_path / "unlike.toml"), ["twin:samsung-pm9a3-7.68tb"], out=tmp_path)
    data = export_results(run, ExportFormat.FIO_JSON)
    assert [job["job options"].get("rw") for job in jobs_of(data).values()] == [None, None]
    (tmp_path / "run.json").write_bytes(data)
    rows = Run(import_results([tmp_path / "run.json"]).runs[0]).points.to_pylist()
    assert {(row["step"], row["read_pct"], row["iodepth"]) for row in rows} == {
        ("discards", None, 4),
        ("together", None, None),
    }


def test_streams_of_two_block_sizes_come_back_with_the_size_of_each_operation(tmp_path: Path):
    import fathom

    head, write, tail = UNLIKE_FIO.rpartition('block = "4KiB"')
    (tmp_path / "unlike.toml").write_text(head + write.replace("4KiB", "128KiB") + tail)
    run = fathom.run(str(tmp_path / "unlike.toml"), ["twin:samsung-pm9a3-7.68tb"], out=tmp_path)
    data = export_results(run, ExportFormat.FIO_JSON)
    assert [job["job options"]["bs"] for job in jobs_of(data).values()] == ["4096", "4096,131072,4096"]
    (tmp_path / "run.json").write_bytes(data)
    rows = Run(import_results([tmp_path / "run.json"]).runs[0]).points.to_pylist()
    assert {(row["op"], row["block_bytes"]) for row in rows if row["step"] == "together"} == {
        ("read", 4096),
        ("write", 131072),
    }


@pytest.mark.parametrize(
    "format", [ExportFormat.FIO_JSON, ExportFormat.FIO_JSON_PLUS, ExportFormat.HDRHISTOGRAM]
)
def test_what_a_twin_did_is_simulated_after_an_export_and_an_import_too(
    format: ExportFormat, run: Run, tmp_path: Path, fathom: Fathom
):
    (tmp_path / "exported").write_bytes(export_results(run, format))
    again = fathom("import-results", tmp_path / "exported").out.strip()
    document = Run(Path(again)).document
    assert [(one.name, one.kind) for one in document.targets] == [("twin:samsung-pm9a3-7.68tb", "twin")]
    assert (document.made, document.program) == ("simulated", run.document.program)
    assert f"{run.document.program} simulated this elsewhere" in document.notes[0].text
    assert not any("page cache" in note.text for note in document.notes)
    assert "simulated)" in " ".join(fathom("runs").out.split())
    assert fathom("query", "select made from runs", "--csv").out.split() == ["made", "simulated"]
    compared = fathom("compare", again, run.path).out
    assert f"simulated by {run.document.program} elsewhere" in compared
    assert "measured by" not in compared
    assert fathom("report", again, "--out", tmp_path / "page.html").code == 0
    page = (tmp_path / "page.html").read_text()
    assert "All targets are twins: virtual drives simulated in virtual time" in page
    assert f"simulated by {run.document.program}, elsewhere" in page
    assert "measured by" not in page


@pytest.mark.parametrize("format", [ExportFormat.FIO_JSON, ExportFormat.HDRHISTOGRAM])
def test_of_two_targets_only_the_twin_is_simulated_after_an_export(format: ExportFormat, tmp_path: Path):
    import fathom

    (tmp_path / "pair.toml").write_text(METHOD.replace("3s", "1s"))
    both = fathom.run(str(tmp_path / "pair.toml"), ["null:", "twin:samsung-pm9a3-7.68tb"], out=tmp_path)
    (tmp_path / "exported").write_bytes(export_results(both, format))
    again = Run(import_results([tmp_path / "exported"]).runs[0])
    assert again.document.made == "measured and simulated"
    assert {one.name: one.kind for one in again.targets} == {
        "twin:samsung-pm9a3-7.68tb": "twin",
        "null:": "null",
    }


@pytest.mark.parametrize("about", ["[]", '{"targets": {"twin:x": "spaceship", "y": 1}, "measured by": 3}'])
def test_marks_that_fathom_did_not_write_are_passed_over(about: str, fio: FioFiles, tmp_path: Path):
    changed = fio.json.read_text().replace("{", f'{{"fathom": {about},', 1)
    (tmp_path / "o.json").write_text(changed)
    document = Run(import_results([tmp_path / "o.json"]).runs[0]).document
    assert document.made == "measured"
    assert [one.kind for one in document.targets] == ["file"]


def test_what_fio_measured_stays_fios_after_an_export(theirs: Run, tmp_path: Path):
    (tmp_path / "o.json").write_bytes(export_results(theirs, ExportFormat.FIO_JSON_PLUS))
    again = Run(import_results([tmp_path / "o.json"]).runs[0]).document
    assert (again.made, again.program) == ("measured", theirs.document.program)
    assert [(one.name, one.kind) for one in again.targets] == [(one.name, one.kind) for one in theirs.targets]


def test_formats_without_an_import_say_what_is_simulated(run: Run):
    metrics = export_results(run, ExportFormat.OPENMETRICS).decode().splitlines()
    assert all('simulated="true"' in line for line in metrics if not line.startswith("#"))
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    book = openpyxl.load_workbook(BytesIO(export_results(run, ExportFormat.XLSX)))
    about = dict(book["about"].iter_rows(values_only=True))
    assert about["simulated"] == "twin:samsung-pm9a3-7.68tb"
    assert about["simulated by"] == run.document.program


def test_every_export_with_room_for_them_has_the_validity_notes_of_the_run(run: Run):
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    texts = [note.text for note in run.document.notes]
    assert len(texts) > 1
    fio = json.loads(export_results(run, ExportFormat.FIO_JSON))
    assert [note["text"] for note in fio["fathom"]["notes"]] == texts
    book = openpyxl.load_workbook(BytesIO(export_results(run, ExportFormat.XLSX)))
    assert [row[3] for row in book["notes"].iter_rows(min_row=2, values_only=True)] == texts
    metrics = export_results(run, ExportFormat.OPENMETRICS).decode()
    assert metrics.count("\nfathom_note{") == len(texts)
    log = export_results(run, ExportFormat.HDRHISTOGRAM).decode()
    assert all(json.dumps(text)[1:-1] in log for text in texts)


def test_the_line_on_notes_that_a_csv_has_no_place_for_names_a_report_that_can_be_made(
    run: Run, capsys: pytest.CaptureFixture[str]
):
    from fathom.cli.others import export_results as command

    command(str(run.path), "csv")
    said = capsys.readouterr().err
    assert f"see `fathom report {run.path}`" in said
    assert not run.path.is_relative_to(runs_home())


@pytest.mark.parametrize("format", [ExportFormat.FIO_JSON_PLUS, ExportFormat.HDRHISTOGRAM])
def test_an_export_of_two_targets_comes_back_with_its_steps_workloads_and_notes(
    format: ExportFormat, tmp_path: Path
):
    import fathom

    method = METHOD.replace('name = "mixed"', 'name = "mixed"\nworkload = "oltp"').replace("3s", "1s")
    (tmp_path / "pair.toml").write_text(method)
    targets = ["twin:samsung-pm9a3-7.68tb", "twin:wd-ultrastar-dc-sn861-7.68tb"]
    run = fathom.run(str(tmp_path / "pair.toml"), targets, out=tmp_path / "own")
    exported = tmp_path / "result"
    exported.write_bytes(export_results(run, format))
    back = Run(import_results([exported], out=tmp_path / "theirs").runs[0])
    key = ("target", "step", "workload", "op")
    assert {tuple(row[name] for name in key) for row in back.points.to_pylist()} == {
        tuple(row[name] for name in key) for row in run.points.to_pylist()
    }
    assert [note.text for note in run.document.notes] == [note.text for note in back.document.notes[1:]]


def test_plain_fio_json_has_percentiles_and_no_bins(run: Run):
    for job in jobs_of(export_results(run, ExportFormat.FIO_JSON)).values():
        assert "bins" not in job["read"]["clat_ns"]
        assert job["read"]["clat_ns"]["percentile"]["99.000000"] > 0


def test_fios_own_converter_reads_and_validates_the_bins(run: Run, tmp_path: Path):
    tool = shutil.which("fio_jsonplus_clat2csv")
    if tool is None:
        pytest.skip("fio_jsonplus_clat2csv is not installed")
    (tmp_path / "o.json").write_bytes(export_results(run, ExportFormat.FIO_JSON_PLUS))
    for more in ((), ("--validate",)):
        done = subprocess.run(
            [tool, "o.json", "o.csv", *more], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        if "No module named 'six'" in done.stderr:
            pytest.skip("fio_jsonplus_clat2csv lacks its module six")
        assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["o_job0.csv validated", "o_job1.csv validated"]


def test_fio_plot_draws_the_export(run: Run, tmp_path: Path):
    tool = shutil.which("fio-plot")
    if tool is None:
        pytest.skip("fio-plot is not installed")
    (tmp_path / "in").mkdir()
    document = json.loads(export_results(run, ExportFormat.FIO_JSON))
    # fio-plot takes files of one job.
    document["jobs"] = [job for job in document["jobs"] if job["jobname"] == "randread"]
    (tmp_path / "in/randread.json").write_text(json.dumps(document))
    command = [tool, "-i", "in", "-T", "t", "-l", "-d", "8", "-n", "2", "-r", "randread", "-o", "out.png"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "out.png").stat().st_size > 1000


def test_hdrhistograms_library_reads_the_log_with_the_same_counts_and_percentiles(run: Run, tmp_path: Path):
    reader = pytest.importorskip("hdrh.log", reason="hdrhistogram is not installed")
    histogram = pytest.importorskip("hdrh.histogram", reason="hdrhistogram is not installed")
    (tmp_path / "run.hlog").write_bytes(export_results(run, ExportFormat.HDRHISTOGRAM))
    for one in measured_of(run):
        whole = histogram.HdrHistogram(1, 1 << 40, 3)
        log = reader.HistogramLogReader(str(tmp_path / "run.hlog"), whole)
        while (part := log.get_next_interval_histogram()) is not None:
            if part.get_tag() == f"{one.point.step}/{one.point.op}":
                whole.add(part)
        assert whole.get_total_count() == sum(n for _, _, n in one.bins)
        if found := Histogram.of(*zip(*one.bins, strict=True)).quantile(0.99):
            assert whole.get_value_at_percentile(99) / 1000 == pytest.approx(found.us, rel=0.01)


def test_a_log_of_a_run_that_is_imported_has_its_counts(run: Run, tmp_path: Path):
    (tmp_path / "run.hlog").write_bytes(export_results(run, ExportFormat.HDRHISTOGRAM))
    again = Run(import_results([tmp_path / "run.hlog"]).runs[0])
    counts = {(row["step"], row["op"]): row["n"] for row in again.points.to_pylist()}
    assert counts == {
        (one.point.step, one.point.op): sum(n for _, _, n in one.bins) for one in measured_of(run)
    }


@pytest.mark.parametrize("value", [1, 127, 2047, 2048, 1_000_000, 123_456_789, 1 << 46])
def test_a_value_in_hdrhistograms_encoding_comes_back_to_three_digits(value: int):
    [found] = decode(encode([Bin(value, value + 1, 7)]))
    assert found.n == 7
    assert found.low_ns <= value < found.high_ns
    assert found.high_ns - found.low_ns <= max(1, value / 1000)


def test_openmetrics_has_rates_and_cumulative_buckets(run: Run):
    lines = export_results(run, ExportFormat.OPENMETRICS).decode().splitlines()
    assert lines[-1] == "# EOF"
    assert sum(line.startswith("fathom_iops{") for line in lines) == run.points.num_rows
    buckets = [
        int(line.rsplit(" ", 1)[1])
        for line in lines
        if line.startswith("fathom_latency_seconds_bucket{") and 'step="randread"' in line
    ]
    assert buckets == sorted(buckets)
    assert buckets[-1] == next(sum(n for _, _, n in one.bins) for one in measured_of(run))


def test_a_workbook_has_points_seconds_and_where_they_come_from(run: Run):
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    book = openpyxl.load_workbook(BytesIO(export_results(run, ExportFormat.XLSX)))
    assert book.sheetnames == ["points", "seconds", "about", "notes"]
    heading, *rows = book["points"].iter_rows(values_only=True)
    assert [row[heading.index("iops")] for row in rows] == run.points["iops"].to_pylist()
    assert book["seconds"].max_row == run.intervals.num_rows + 1


def test_exports_leave_out_the_figures_of_a_step_whose_io_failed_as_reports_do(theirs: Run):
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    file = theirs.path / "points.parquet"
    points = pq.read_table(file)
    counts = zip(points["step"].to_pylist(), points["n"].to_pylist(), strict=True)
    errors = [n if step == "randread" else 0 for step, n in counts]
    place = points.schema.get_field_index("errors")
    field = points.schema.field(place)
    pq.write_table(points.set_column(place, field, pa.array(errors, field.type)), file)
    (theirs.path / "manifest.json").unlink()
    run = Run(theirs.path)
    text = export_results(run, ExportFormat.OPENMETRICS).decode()
    figures = [line for line in text.splitlines() if not line.startswith(("fathom_window", "fathom_note"))]
    assert any('step="oltp"' in line for line in figures)
    assert not any('step="randread"' in line for line in figures)
    assert "Tag=randread" not in export_results(run, ExportFormat.HDRHISTOGRAM).decode()
    book = openpyxl.load_workbook(BytesIO(export_results(run, ExportFormat.XLSX)))
    heading, *rows = book["points"].iter_rows(values_only=True)
    step, iops = heading.index("step"), heading.index("iops")
    assert {row[step] for row in rows if row[iops] is not None} == {"oltp"}
    assert jobs_of(export_results(run, ExportFormat.FIO_JSON))["randread"]["total_err"] == sum(errors)


def test_the_command_prints_or_writes_and_refuses_what_cannot_be(run: Run, tmp_path: Path, fathom: Fathom):
    printed = fathom("export-results", run.path, "--format", "csv")
    assert printed.out == fathom("report", run.path, "--csv").out
    out = tmp_path / "run.xlsx"
    assert fathom("export-results", run.path, "--format", "xlsx").code == 2
    assert fathom("export-results", run.path, "--format", "xlsx", "--out", out).code == 0
    assert out.read_bytes().startswith(b"PK")
    refused = fathom("export-results", run.path, "--format", "pdf")
    assert refused.code == 2
    assert "formats: fio-json" in refused.err


def test_a_run_without_histograms_makes_no_log(fio: FioFiles):
    plain = Run(import_results([fio.json]).runs[0])
    with pytest.raises(UsageError, match="no histograms"):
        export_results(plain, ExportFormat.HDRHISTOGRAM)


def test_a_run_of_fathom_compares_with_an_imported_one_and_says_what_is_not_known(
    run: Run, theirs: Run, fathom: Fathom
):
    done = fathom("compare", theirs.path, run.path)
    assert done.code == 0
    assert "measured by fio" in done.out
    assert "not recorded" in done.out
    assert "unknown →" not in done.out, "a sentence says it of all, so no line says it of each"
    assert "randread" in done.out
    assert "cannot tell" in done.out
