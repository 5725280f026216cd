"""Power meters: what is read from files and servers, what energy it makes, and what a run says of it."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Event
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

import fathom
from fathom.errors import InterruptedRunError, UsageError
from fathom.method.method import Step, parse_method
from fathom.power.csv_file import CsvFile
from fathom.power.energy import Energy, energy
from fathom.power.meter import open_meter
from fathom.power.source import MeterError
from fathom.runs.reader import Run
from fathom.runs.store import StepOutcome
from fathom.session import Options, SilentObserver, resume_run, start_run, stepper
from fathom.targets.parse import parse_targets
from fathom.targets.target import Target

NOW = 1_800_000_000.0
READ = """
schema = "fathom-method/1"
name = "read"
[[steps]]
name = "read"
job = { mix = "read", block = "4KiB", pattern = "uniform", load = { iodepth = 4 }, until = { time = "1s" } }
[[steps]]
name = "short"
job = { mix = "read", block = "4KiB", pattern = "uniform", load = { iodepth = 4 }, until = { time = "50ms" } }
"""


def known(found: Energy | str) -> Energy:
    assert isinstance(found, Energy), found
    return found


def test_energy_of_a_straight_line_of_power_is_exact_at_any_rate_of_samples() -> None:
    for interval_s in (0.3, 1.0, 7.0):
        times = np.arange(NOW - 10, NOW + 110, interval_s)
        found = known(energy([(t, 5 + 0.1 * (t - NOW)) for t in times], NOW, NOW + 100))
        assert found.joules == pytest.approx(5 * 100 + 0.1 * 100**2 / 2, rel=1e-9)
        assert found.interval_s == pytest.approx(interval_s)
        assert sum(joules for _, _, joules in found.cells) == pytest.approx(found.joules)
        assert min(length_s for _, length_s, _ in found.cells) >= min(1.0, interval_s)


def test_the_interval_of_energy_covers_what_was_used_and_counts_the_accuracy_of_the_meter() -> None:
    rng = np.random.default_rng(7)
    missed = 0
    for _ in range(100):
        found = known(
            energy([(NOW + k, watts) for k, watts in enumerate(rng.normal(20, 2, 61))], NOW, NOW + 60)
        )
        missed += abs(found.joules - 20 * 60) > found.half_width_j
    assert missed <= 12
    samples = [(NOW + k, 20.0) for k in range(61)]
    assert known(energy(samples, NOW, NOW + 60)).half_width_j == pytest.approx(0, abs=1e-9)
    assert known(energy(samples, NOW, NOW + 60, 0.02)).half_width_j == pytest.approx(0.02 * 1200)


@pytest.mark.parametrize(
    ("seconds", "reason"),
    [
        ([], "0 samples"),
        ([0, 15, 30, 45], "4 samples in 1 min 00 s; at least 5 are needed"),
        ([*range(20), *range(40, 61)], "no sample for 21 s in the middle"),
        (range(10, 61), "no sample for the first 10 s"),
        (range(50), "no sample for the last 11 s"),
    ],
)
def test_a_window_that_a_meter_did_not_see_whole_has_no_energy_and_says_why(
    seconds: list[int], reason: str
) -> None:
    found = energy([(NOW + second, 10.0) for second in seconds], NOW, NOW + 60)
    assert isinstance(found, str)
    assert reason in found


@pytest.mark.parametrize(
    ("text", "watts"),
    [
        ("time,watts\n{epoch},12.5\n", 12.5),
        ("Timestamp;Voltage (V);Power (mW)\n{iso};12;12500,5\n", 12.5005),
        ("# made by a meter\ndate\tpower_kw\n{ms}\t0.0125\n", 12.5),
        ("{epoch},12.5\n", 12.5),
        ('"time","power, W"\n"{iso}","12.5"\n', 12.5),
    ],
)
def test_csv_is_read_in_the_forms_that_meters_write(tmp_path: Path, text: str, watts: float) -> None:
    file = tmp_path / "power.csv"
    file.write_text(
        text.format(epoch=NOW, ms=int(NOW * 1000), iso=datetime.fromtimestamp(NOW, UTC).isoformat())
    )
    assert CsvFile(file).read() == [(NOW, pytest.approx(watts))]


def test_csv_that_grows_is_read_line_by_line_and_begun_again_when_it_was_replaced(tmp_path: Path) -> None:
    file = tmp_path / "power.csv"
    file.write_text(f"time,a_watts,b_watts\n{NOW},1,10\n{NOW + 1},2,")
    source = CsvFile(file, "b_watts")
    assert source.read() == [(NOW, 10.0)]
    with file.open("a") as more:
        more.write(f"20\nnonsense\n{NOW + 2},3,nan\n{NOW + 3},4,30\n")
    assert source.read() == [(NOW + 1, 20.0), (NOW + 3, 30.0)]
    file.unlink()
    with pytest.raises(MeterError, match="No such file"):
        source.read()
    file.write_text(f"time,b_watts\n{NOW + 9},90\n")
    assert source.read() == [(NOW + 9, 90.0)]


def test_empty_rows_and_lone_carriage_returns_cost_their_line_and_not_the_meter(tmp_path: Path) -> None:
    file = tmp_path / "power.csv"
    file.write_bytes(f"time,watts\r\n\r\n{NOW},10\r\n\r{NOW + 1},20\r,\n{NOW + 2},30\n".encode())
    source = CsvFile(file)
    assert source.read() == [(NOW, 10.0), (NOW + 2, 30.0)]
    with file.open("ab") as more:
        more.write(f"\r\n\r\n,,\n\r\r\n{NOW + 3},40\n".encode())
    assert source.read() == [(NOW + 3, 40.0)]


@pytest.mark.parametrize(
    ("meter", "says"),
    [
        ("watt:/x", "not a power meter"),
        ("csv:{folder}/none.csv", "No such file"),
        ("csv:{folder}/empty.csv", "the meter must be running first"),
        ("csv:{folder}/two.csv", "a_watts, b_watts may each be the power: add ?column=NAME"),
        ("csv:{folder}/two.csv?column=c", "no column 'c', but time, a_watts, b_watts"),
        ("csv:{folder}/two.csv?query=x", "csv has no key 'query'"),
        ("csv:{folder}/two.csv?column=a_watts&accuracy=2", "accuracy '2' is not a percentage"),
        ("csv:{folder}/uptime.csv", "no column of time among 0.5, 12"),
        ("prometheus:http://127.0.0.1:9", "the query is missing"),
        ("prometheus:127.0.0.1:9?query=x", "is not an address of a server"),
        ("prometheus:http://me:secret@127.0.0.1:9?query=x", "leave the password out of the address"),
        ("prometheus:http://127.0.0.1:9?query=x", "Connection refused"),
    ],
)
def test_a_meter_that_is_not_there_is_refused_before_the_run(tmp_path: Path, meter: str, says: str) -> None:
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "two.csv").write_text("time,a_watts,b_watts\n")
    (tmp_path / "uptime.csv").write_text("0.5,12\n")
    with pytest.raises(UsageError) as refusal:
        open_meter(meter.format(folder=tmp_path))
    assert says in str(refusal.value)
    assert "secret" not in str(refusal.value)


@contextmanager
def metered(file: Path, watts: float, until_s: float = 60.0) -> Iterator[None]:
    """A meter that appends a sample every 50 ms, for so long."""
    stop = threading.Event()
    file.write_text("time,watts\n")
    end_s = time.monotonic() + until_s

    def write() -> None:
        while not stop.wait(0.05) and time.monotonic() < end_s:
            with file.open("a") as log:
                log.write(f"{time.time():.6f},{watts}\n")

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def run_read(tmp_path: Path, power: str) -> Run:
    method = tmp_path / "read.toml"
    method.write_text(READ)
    return fathom.run(str(method), targets=["null:"], power=power, out=tmp_path / "out")


def notes(run: Run) -> list[str]:
    return [note.text for note in run.notes if note.rule == "power-meter"]


def test_power_that_drifts_is_as_uncertain_as_its_samples_lie_apart() -> None:
    falling = [(float(at), 100.0 - at) for at in range(21)]
    assert known(energy(falling, 0, 20)).half_width_j == pytest.approx(20 * 20)


def test_a_run_has_the_energy_of_a_csv_meter_and_says_what_it_is_worth(tmp_path: Path) -> None:
    log = tmp_path / "power.csv"
    with metered(log, 25.0):
        run = run_read(tmp_path, f"csv:{log}?accuracy=2%")
    points = {row["step"]: row for row in run.points.to_pylist()}
    assert points["read"]["joules"] == pytest.approx(25.0 * points["read"]["window_s"], rel=1e-3)
    assert points["short"]["joules"] is None
    [said, missing] = notes(run)
    assert "± 2 %" in said
    assert "accuracy of 2 %" in said
    assert "no energy for 1 of 2 steps: short: " in missing
    events = [json.loads(line) for line in (run.path / "journal.jsonl").read_text().splitlines()]
    [first, second] = [event for event in events if event["event"] == "power"]
    assert first["accuracy"] == 0.02
    assert len(first["samples"]) >= 10
    assert {watts for _, watts in first["samples"]} == {25.0}
    assert all(0 <= seconds <= 1.2 for seconds, _ in first["samples"])
    assert "at least 5 are needed" in second["reason"]


def test_what_a_drive_draws_once_the_window_is_over_is_not_the_energy_of_the_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    follow = stepper._Load.follow
    begun_s: list[float] = []

    def slow_to_end(load: stepper._Load) -> None:
        begun_s.append(time.time())
        follow(load)
        time.sleep(1.5)

    monkeypatch.setattr(stepper._Load, "follow", slow_to_end)
    log, from_s = tmp_path / "power.csv", time.time() - 1
    times = from_s + np.arange(0, 30, 0.05)
    log.write_text("time,watts\n" + "".join(f"{t:.6f},{10 * (t - from_s):.6f}\n" for t in times))
    run = run_read(tmp_path, f"csv:{log}")
    [read] = [row for row in run.points.to_pylist() if row["step"] == "read"]
    middle_s = from_s + read["joules"] / read["window_s"] / 10
    assert middle_s == pytest.approx(begun_s[0] + 0.5, abs=0.4)


def test_a_meter_that_is_lost_costs_the_figure_and_not_the_run(tmp_path: Path) -> None:
    log = tmp_path / "power.csv"
    log.write_text(f"time,watts\n{time.time()},5\n")
    threading.Timer(0.5, log.unlink).start()
    run = run_read(tmp_path, f"csv:{log}")
    assert run.document.status == "complete"
    assert {row["joules"] for row in run.points.to_pylist()} == {None}
    [missing] = notes(run)
    assert "the meter cannot be read" in missing


def test_a_resumed_run_goes_on_with_its_meter(tmp_path: Path) -> None:
    class Hurried(SilentObserver):
        def step_ended(self, target: Target, step: Step, outcome: StepOutcome) -> None:
            interrupt.set()

    interrupt = Event()
    log = tmp_path / "power.csv"
    method = parse_method(READ.replace("50ms", "600ms").replace("1s", "600ms"), "read.toml")
    options = Options(out=tmp_path / "out", power=f"csv:{log}", observer=Hurried(), interrupt=interrupt)
    with metered(log, 8.0):
        with pytest.raises(InterruptedRunError):
            start_run(method, parse_targets(["null:"]), options)
        [path] = (tmp_path / "out").iterdir()
        run = resume_run(path, Options())
    points = run.points.to_pylist()
    assert [row["step"] for row in points] == ["read", "short"]
    assert all(row["joules"] == pytest.approx(8.0 * row["window_s"], rel=1e-3) for row in points)
    assert len(notes(run)) == 1


def test_twins_need_no_meter(tmp_path: Path) -> None:
    (tmp_path / "power.csv").write_text("time,watts\n")
    with pytest.raises(UsageError, match="twins report their own energy"):
        fathom.run(
            "four-corners", targets=["twin:samsung-pm9a3-7.68tb"], power=f"csv:{tmp_path / 'power.csv'}"
        )


class Server(HTTPServer):
    """A Prometheus server with one series of 40 W, a sample every 100 ms."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.broken = False

    def __enter__(self) -> "Server":
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *arguments: object) -> None:
        self.shutdown()
        self.server_close()


class Handler(BaseHTTPRequestHandler):
    """Answers one query of each kind."""

    def do_GET(self) -> None:
        [query] = parse_qs(urlsplit(self.path).query)["query"]
        now_s = time.time()
        results: dict[str, tuple[str, object]] = {
            'power{host="a+b"}[1m]': (
                "matrix",
                [{"metric": {}, "values": [[now_s - 6 + k / 10, "40"] for k in range(61)]}],
            ),
            "power": ("vector", [{"metric": {}, "value": [now_s, "40.5"]}]),
            "two": ("vector", [{"metric": {}, "value": [now_s, "1"]}] * 2),
            "none": ("vector", []),
            "scalar(power)": ("scalar", [now_s, "40"]),
            "text": ("string", [now_s, "forty"]),
        }
        server = self.server
        broken = isinstance(server, Server) and server.broken
        kind, result = results.get(query, ("", None))
        answer = {"status": "success", "data": {"resultType": kind, "result": result}}
        body = json.dumps(answer if kind else {"status": "error", "error": "parse error: bad"}).encode()
        self.send_response(503 if broken else 200 if kind else 400)
        self.end_headers()
        self.wfile.write(b"later" if broken else body)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server() as made:
        yield made


def at(server: Server, query: str) -> str:
    return f"prometheus:http://127.0.0.1:{server.server_port}?query={query}"


def test_a_run_has_the_energy_of_a_range_vector(tmp_path: Path, server: Server) -> None:
    run = run_read(tmp_path, at(server, 'power{host="a+b"}[1m]'))
    [first, _] = run.points.to_pylist()
    assert first["joules"] == pytest.approx(40 * first["window_s"], rel=1e-6)
    assert "A sample came every 100 ms" in notes(run)[0]


def test_instant_vectors_and_scalars_are_samples_of_the_moment_of_the_question(server: Server) -> None:
    for query, watts in (("power", 40.5), ("scalar(power)", 40.0)):
        meter = open_meter(at(server, query))
        before_s = time.time()
        meter.look()
        [(seconds, power)] = meter.samples(before_s, time.time() + 1)
        assert power == watts
        assert seconds >= before_s


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("two", "the query gives 2 series: choose one by its labels, or sum them"),
        ("none", "the query gives no series"),
        ("text", "the query gives a string, not a power"),
        ("power{", "parse error: bad"),
    ],
)
def test_a_query_that_gives_no_single_power_is_refused(server: Server, query: str, says: str) -> None:
    with pytest.raises(UsageError) as refusal:
        open_meter(at(server, query))
    assert says in str(refusal.value)


def test_a_server_that_fails_is_asked_again(server: Server) -> None:
    meter = open_meter(at(server, "power"))
    server.broken = True
    meter.look()
    server.broken = False
    now_s = time.time()
    assert "HTTP 503" in str(meter.measure(now_s - 10, now_s - 5)) or meter.samples(now_s, now_s + 5)
    meter.look()
    assert meter.samples(now_s, time.time() + 1)
