"""`fathom fit` writes a method that runs, proves it, and names what it misses."""

import json
from pathlib import Path

import numpy as np
import pytest
from test_convert import fathom

from fathom.fitting.chosen import Choice, count
from fathom.fitting.fit import fit
from fathom.fitting.missed import Property
from fathom.fitting.proof import prove
from fathom.fitting.terminal import notes
from fathom.fitting.to_method import method_toml
from fathom.method.method import parse_method
from fathom.traces.batch import Trace
from fathom.traces.opening import open_trace
from fathom.traces.spread import spread

HEAD = "time_us,op,offset,size\n"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def written(path: Path, times_us: np.ndarray, ops: list[str], offsets: np.ndarray, size: int = 4096) -> Path:
    rows = zip(times_us.astype(int).tolist(), ops, offsets.tolist(), strict=True)
    path.write_text(HEAD + "".join(f"{time},{op},{offset},{size}\n" for time, op, offset in rows))
    return path


@pytest.fixture
def poisson(tmp_path: Path) -> Path:
    """Twenty thousand random reads and writes at 10,000 a second."""
    drawn = np.random.default_rng(1)
    ops = ["R" if one < 0.7 else "W" for one in drawn.random(20_000)]
    times = np.cumsum(drawn.exponential(100, 20_000))
    return written(tmp_path / "app.csv", times, ops, drawn.integers(0, 1 << 18, 20_000) * 4096)


def choice(path: Path) -> Choice:
    return Choice(lambda: open_trace(path))


def test_the_method_is_on_standard_output_and_the_proof_beside_it(poisson: Path, tmp_path: Path):
    done = fathom("fit", str(poisson), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    method = parse_method(done.stdout.decode(), "mine.toml")
    assert [step.name for step in method.steps] == ["fill", "fitted"]
    shown = done.stderr.decode()
    assert "twin:samsung-pm9a3-7.68tb, written once: all 20,000 I/Os" in shown
    assert "misses none" in shown
    (tmp_path / "mine.toml").write_bytes(done.stdout)
    ran = fathom("run", "mine.toml", "twin:samsung-pm9a3-7.68tb", "--out", "runs", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr


def test_the_document_has_every_figure_with_its_noise(poisson: Path, tmp_path: Path):
    done = fathom("fit", str(poisson), "--json", cwd=tmp_path)
    document = json.loads(done.stdout)
    assert document["schema"] == "fathom-fit/1"
    figures = {row["name"]: row for row in document["figures"]}
    assert set(figures) >= {"IOPS", "read mean", "read p50", "read p99", "write p99"}
    assert figures["IOPS"]["trace"] == pytest.approx(10_000, rel=0.02)
    assert figures["IOPS"]["low"] < 1 < figures["IOPS"]["high"]
    assert document["missed"] == []


def test_bursts_below_a_millisecond_are_named_as_missed(tmp_path: Path):
    drawn = np.random.default_rng(2)
    times = np.repeat(np.cumsum(drawn.exponential(6_400, 400)), 64)
    path = written(
        tmp_path / "batches.csv", times, ["R"] * len(times), drawn.integers(0, 1 << 18, len(times)) * 4096
    )
    fitted = fit(count(choice(path)))
    first = next(miss for miss in prove(fitted, choice(path)).misses if miss.property == Property.DISPERSION)
    assert first.at == 1e6
    assert first.trace == pytest.approx(64, rel=0.2)
    assert first.fitted < 20


def test_data_that_is_read_soon_after_it_was_written_is_named_as_missed(tmp_path: Path):
    drawn = np.random.default_rng(3)
    places = np.repeat(drawn.integers(0, 1 << 18, 10_000), 2) * 4096
    path = written(tmp_path / "again.csv", np.arange(20_000) * 100, ["W", "R"] * 10_000, places)
    proof = prove(fit(count(choice(path))), choice(path))
    reuse = next(miss for miss in proof.misses if miss.property == Property.REUSE)
    assert reuse.trace > 0.4
    assert reuse.fitted < 0.1


def test_without_times_the_load_is_closed_at_a_stated_depth(tmp_path: Path):
    path = tmp_path / "old.log"
    path.write_text(
        "fio version 2 iolog\nf add\nf open\n" + "".join(f"f read {4096 * n} 4096\n" for n in range(500))
    )
    fitted = fit(count(choice(path)))
    assert fitted.arrivals.assumed
    job = parse_method(method_toml(fitted), "old.toml").steps[-1].job
    assert (job.pattern.kind, job.iodepth, job.count) == ("sequential", 32, 500)


def test_what_a_job_cannot_have_is_counted(tmp_path: Path):
    path = tmp_path / "fua.csv"
    lines = "".join(f"{100 * n},W,{4096 * (n * 7919 % 1000)},4096,F\n" for n in range(2000))
    path.write_text(f"time_us,op,offset,size,flags\n{lines}{10**6},D,0,4096,\n")
    misses = {miss.property: miss.trace for miss in prove(fit(count(choice(path))), choice(path)).misses}
    assert misses[Property.FORCED] == 2000
    assert misses[Property.LEFT_OUT] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-"], "reads its trace several times"),
        (["app.csv", "--on", "null:"], "--on is 'null:'"),
        (["app.csv", "--on", "twin:no-such"], "no-such"),
        (["none.csv"], "no such file"),
        (["flushes.csv"], "flushes.csv: its 2 I/Os are flushes, discards or larger than 64 MiB"),
        (["large.csv"], "large.csv: its 1 I/Os are flushes, discards or larger than 64 MiB"),
        (["jumps.csv"], "jumps.csv: 34,722 days are more than any recording takes"),
        (["far.csv"], "name a larger twin with --on"),
        (["two.csv"], "several devices"),
    ],
)
def test_a_wrong_choice_is_one_line(arguments: list[str], message: str, poisson: Path):
    folder = poisson.parent
    (folder / "flushes.csv").write_text(f"{HEAD}0,F,0,0\n1,F,0,0\n")
    (folder / "large.csv").write_text(f"{HEAD}0,R,0,{1 << 28}\n")
    (folder / "jumps.csv").write_text(f"{HEAD}0,R,0,4096\n{3 * 10**15},R,4096,4096\n")
    (folder / "far.csv").write_text(f"{HEAD}0,R,{1 << 44},4096\n1,R,0,4096\n")
    (folder / "two.csv").write_text("time_us,op,offset,size,device\n0,R,0,4096,a\n1,R,0,4096,b\n")
    done = fathom("fit", *arguments, cwd=folder)
    assert done.returncode == 2
    [line] = done.stderr.decode().splitlines()
    assert message in line


def test_a_trace_of_few_ios_is_compared_with_nothing(tmp_path: Path):
    (tmp_path / "two.csv").write_text(f"{HEAD}0,R,0,4096\n1000,R,8192,4096\n")
    done = fathom("fit", "two.csv", cwd=tmp_path)
    assert done.returncode == 0
    shown = " ".join(done.stderr.decode().split())
    assert "all 2 I/Os" in shown
    assert shown.endswith("Too few I/Os to compare trace and job: 100 are needed")
    document = json.loads(fathom("fit", "two.csv", "--json", cwd=tmp_path).stdout)
    assert (document["figures"], document["missed"], document["too_few_ios"]) == ([], [], True)


def test_a_trace_longer_than_the_proof_is_fitted_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("fathom.fitting.proof.MOST_IOS", 1000)
    drawn = np.random.default_rng(4)
    path = written(
        tmp_path / "a.csv", np.arange(5000) * 50, ["W"] * 5000, drawn.integers(0, 1 << 16, 5000) * 4096
    )
    proof = prove(fit(count(choice(path))), choice(path))
    assert (proof.ios, proof.whole) == (1000, False)


def test_a_trace_that_writes_less_than_it_reaches_has_no_waf(poisson: Path, tmp_path: Path):
    done = fathom("fit", str(poisson), "--out", "own.toml", "--json", cwd=tmp_path)
    document = json.loads(done.stdout)
    assert "WAF" not in [row["name"] for row in document["figures"]]
    assert document["waf_needs_written_bytes"] > 0
    shown = fathom("fit", str(poisson), "--out", "two.toml", cwd=tmp_path)
    text = shown.stdout.decode()
    assert "No WAF: it takes " in text
    assert "of writes, the larger of what the trace reaches and ten write buffers" in " ".join(text.split())


def of_whole_seconds(folder: Path, rates: list[int], name: str = "app.csv") -> Path:
    """A random load of those I/Os in each second, with the times of a clock of whole seconds."""
    times = np.repeat(np.arange(len(rates)), rates)
    drawn = np.random.default_rng(5)
    return written(
        folder / name, 1_000_000 * times, ["R"] * len(times), drawn.integers(0, 1 << 16, len(times)) * 4096
    )


def test_the_bursts_of_a_coarse_clock_are_not_in_the_job(tmp_path: Path):
    fitted = fit(count(choice(of_whole_seconds(tmp_path, [400] * 30))))
    assert (fitted.arrivals.kind, fitted.arrivals.gaps) == ("even", "exponential")
    assert fitted.rate_iops == pytest.approx(400, rel=0.02)
    assert notes(fitted)[-1] == (
        "Load: open, with exponential gaps. The clock of the trace steps by 1 s and does not show when within a step "
        "its I/Os came, so they are spread over it at random."
    )


def test_changes_from_step_to_step_of_a_coarse_clock_are_phases_of_the_job(tmp_path: Path):
    fitted = fit(count(choice(of_whole_seconds(tmp_path, [200] * 40 + [800] * 40))))
    assert fitted.arrivals.kind == "phases"
    assert [round(one.time_s) for one in fitted.arrivals.phases] == pytest.approx([40, 40], abs=2)
    assert [one.factor for one in fitted.arrivals.phases] == pytest.approx([0.4, 1.6], rel=0.05)


def test_a_fit_to_a_coarse_clock_is_proved_against_the_trace_that_it_was_fitted_to(tmp_path: Path):
    path = of_whole_seconds(tmp_path, np.random.default_rng(6).poisson(400, 30).tolist())
    done = fathom("fit", str(path), "--out", "mine.toml", cwd=tmp_path)
    shown = " ".join(done.stdout.decode().split())
    assert "I/Os spread over each 1 s of the trace's clock" in shown
    assert "missed: bursts" not in shown


def test_a_spread_trace_keeps_its_order_and_how_many_ios_each_step_has(tmp_path: Path):
    path = of_whole_seconds(tmp_path, [70_000, 5, 0, 70_000])
    plain = np.concatenate([one.offset_bytes for one in open_trace(path).batches()])
    opened = spread(lambda: open_trace(path), 1_000_000_000)
    batches = list(opened().batches())
    assert len(batches) > 1
    times = np.concatenate([one.issue_ns for one in batches])
    assert np.all(np.diff(times.astype(np.int64)) >= 0)
    assert np.bincount((times // 1_000_000_000).astype(np.int64)).tolist() == [70_000, 5, 0, 70_000]
    assert np.array_equal(np.concatenate([one.offset_bytes for one in batches]), plain)
    again = np.concatenate([one.issue_ns for one in opened().batches()])
    assert np.array_equal(times, again)


def test_a_fit_reads_its_trace_as_often_as_it_needs(poisson: Path):
    opened = 0

    def open_it() -> Trace:
        nonlocal opened
        opened += 1
        return open_trace(poisson)

    fit(count(Choice(open_it)))
    assert opened == 3
