"""Texts from outside that would steer a terminal, be read as markup, or be a spreadsheet's formula: every command that
prints is run with them."""

import csv
import io
import json
import os
import pty
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from fathom.cli.progress import LiveObserver
from fathom.errors import FathomError
from fathom.method.method import parse_method
from fathom.output.printed import cleaned_streams, csv_text, printable
from fathom.output.terminal import Terminal
from fathom.runs.store import StepOutcome
from fathom.sweep.table import write_tables
from fathom.targets.acknowledged import JournalReport, print_report
from fathom.targets.discover import DeviceReport, print_devices
from fathom.targets.parse import parse_target
from fathom.targets.safety import Refusal
from fathom.targets.target import Identity
from warm import called

#: Sets a window's title, rings, clears the screen by a C1 control, turns letters round, returns, is markup.
HOSTILE = "a\x1b]0;owned\x07b\x9b2Jc‮d\re[/red]f[bold]g"
METHOD = """
schema = "fathom-method/1"
name = "hostile"
title = {text}
summary = {text}
source = {text}
[[steps]]
name = "read"
kind = "measure"
workload = "4k-rand-read"
label = {text}
[steps.job]
mix = "read"
block = "4KiB"
pattern = "uniform"
load = {{ threads = 1, iodepth = 1 }}
until = {{ time = "200ms" }}
"""


def steering(text: str) -> set[str]:
    """The characters that a terminal obeys instead of showing them."""
    return {
        each
        for each in text
        if (unicodedata.category(each) in ("Cc", "Cs", "Zl", "Zp") and each not in "\n\t")
        or unicodedata.bidirectional(each) in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
    }


def printed(home: Path, *arguments: str | Path) -> tuple[int, str]:
    """Exit code, and both streams together as bytes leave the process: no colours, as into a pipe."""
    done = called([str(one) for one in arguments], {"FATHOM_RUNS": str(home)})
    return done.returncode, (done.stdout + done.stderr).decode()


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """A hostile method, a target with a hostile name, and the home of a run of the one on the other."""
    folder = tmp_path_factory.mktemp("hostile")
    method, target, home = folder / "m.toml", folder / HOSTILE.replace("/", ""), folder / "runs"
    method.write_text(METHOD.format(text=json.dumps(HOSTILE)))
    target.write_bytes(bytes(1 << 20))
    code, text = printed(home, "run", method, f"file:{target}")
    assert code == 0, text
    assert not steering(text)
    return method, target, home


COMMANDS: dict[str, Callable[[Path, Path], list[str | Path]]] = {
    "run as JSON": lambda method, target: ["run", method, f"file:{target}", "--json"],
    "plan": lambda method, target: ["plan", method, f"file:{target}"],
    "report": lambda method, target: ["report", "last"],
    "report as CSV": lambda method, target: ["report", "last", "--csv"],
    "report as JSON": lambda method, target: ["report", "last", "--json"],
    "runs": lambda method, target: ["runs"],
    "runs as JSON": lambda method, target: ["runs", "--json"],
    "resume": lambda method, target: ["resume", "last"],
    "query": lambda method, target: ["query", "select * from runs"],
    "query of a text": lambda method, target: ["query", f"select '{HOSTILE}'"],
    "query of a text as CSV": lambda method, target: ["query", f"select '{HOSTILE}' as a", "--csv"],
    "query of a text as JSON": lambda method, target: ["query", f"select '{HOSTILE}' as a", "--json"],
    "query in error": lambda method, target: ["query", f"select {HOSTILE}"],
    "export": lambda method, target: ["export", "--to", "fio", method],
    "sweep in error": lambda method, target: ["sweep", method, "twin:x", "--set", HOSTILE],
    "verify in error": lambda method, target: ["verify", HOSTILE],
    "refusal": lambda method, target: ["run", "four-corners", f"file:{target}"],
    "unknown target": lambda method, target: ["run", method, HOSTILE],
    "unknown method": lambda method, target: ["plan", HOSTILE, "null:"],
    "unknown run": lambda method, target: ["report", HOSTILE],
    "unknown command": lambda method, target: [HOSTILE],
    "unknown option": lambda method, target: ["runs", f"--{HOSTILE}"],
    "unknown argument": lambda method, target: ["runs", HOSTILE],
    "wrong value": lambda method, target: ["run", method, "null:", "--size", HOSTILE],
    "wrong number": lambda method, target: ["run", method, "null:", "--seed", HOSTILE],
    "unknown device": lambda method, target: ["catalog", "show", HOSTILE],
    "unknown hosts": lambda method, target: ["run", method, "null:", "--hosts", HOSTILE],
    "unknown shell": lambda method, target: ["run", method, "null:", "--hosts", method, "--shell", HOSTILE],
    "import in error": lambda method, target: ["import", HOSTILE],
    "prices in error": lambda method, target: ["size", HOSTILE, "--prices", HOSTILE],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_prints_what_steers_a_terminal(name: str, measured: tuple[Path, Path, Path]) -> None:
    method, target, home = measured
    _, text = printed(home, *COMMANDS[name](method, target))
    assert text.strip()
    assert not steering(text), text
    assert "Traceback" not in text


@pytest.mark.parametrize("name", ["plan", "query of a text"])
def test_markup_in_a_text_is_printed_as_it_stands(name: str, measured: tuple[Path, Path, Path]) -> None:
    method, target, home = measured
    code, text = printed(home, *COMMANDS[name](method, target))
    assert code == 0
    assert "e[/red]f[bold]g" in "".join(text.split())


def test_on_a_terminal_only_colours_steer(measured: tuple[Path, Path, Path]) -> None:
    method, target, home = measured
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "fathom", "plan", str(method), f"file:{target}"]
    environment = os.environ | {"FATHOM_RUNS": str(home), "TERM": "xterm-256color"}
    with subprocess.Popen(command, stdout=follower, stderr=follower, env=environment) as process:
        os.close(follower)
        text = b""
        while True:
            try:
                text += os.read(leader, 1 << 16)
            except OSError:
                break
        os.close(leader)
        assert process.wait() == 0
    assert b"\x1b[1m" in text
    assert b"\x1b]" not in text
    assert b"\x07" not in text
    assert "\x9b" not in text.decode()


def drawn(draw: Callable[[Terminal], object]) -> str:
    out = io.StringIO()
    draw(Terminal(file=out, width=200))
    return out.getvalue()


def test_devices_with_hostile_models_serials_and_reasons_are_shown_without_steering() -> None:
    identity = Identity(device=HOSTILE, model=HOSTILE, serial=HOSTILE * 20, firmware=HOSTILE)
    target = replace(parse_target("null:"), label=HOSTILE, identity=identity, kind="device")
    report = DeviceReport(target, (Refusal("signed", HOSTILE),), HOSTILE)
    text = drawn(lambda console: print_devices(console, [report]))
    assert text.strip()
    assert not steering(text)


def test_a_hostile_target_is_drawn_in_progress_without_steering() -> None:
    target = replace(parse_target("null:"), label=HOSTILE, name=HOSTILE)
    step = parse_method(METHOD.format(text='"plain"'), "m.toml").steps[0]

    def draw(console: Terminal) -> None:
        with LiveObserver(console, [target]) as observer:
            observer.step_started(target, 1, 1, step)
            observer.step_ended(target, step, StepOutcome("complete", None, HOSTILE, 1.0, 0))
            observer.target_ended(target, HOSTILE)
            console.print(observer._table())

    text = drawn(draw)
    assert "b�2Jc�d" in text
    assert not steering(text)


def test_a_hostile_journal_is_reported_without_steering() -> None:
    report = JournalReport(
        schema="fathom-verify/1",
        target=HOSTILE, journals=1, writes=1, torn_bytes=0, last_acked_ns=1, behind_ns=0, blocks=1,
        wrong={}, wrong_though_flushed=0, reported=[HOSTILE], beyond_bytes=0,
    )  # fmt: skip
    text = drawn(lambda console: print_report(console, report))
    assert text.strip()
    assert not steering(text)


def test_both_streams_are_cleaned_for_whoever_writes_to_them(capsys: pytest.CaptureFixture[str]) -> None:
    with cleaned_streams():
        print(HOSTILE)
        print(FathomError(HOSTILE), file=sys.stderr)
        sys.stdout.writelines([HOSTILE, "\n"])
    out, errors = capsys.readouterr()
    assert out.count("owned") == 2
    assert "owned" in errors
    assert not steering(out + errors)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_letter_that_the_terminal_lacks_ends_no_command(encoding: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fathom", "catalog", "show", "samsung-pm9a3-7.68tb"],
        capture_output=True,
        check=False,
        env=os.environ | {"PYTHONIOENCODING": encoding},
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert "Samsung PM9A3" in done.stdout.decode(encoding)


def test_plain_text_stays_as_it_is() -> None:
    plain = "Ünïcode 日本語 − ≤ ‘x’\twith tabs\nand lines\r\n"
    assert printable(plain) == plain
    assert printable(os.fsdecode(b"\xff\xfe")) == "��"


@pytest.mark.parametrize("text", ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", '=HYPERLINK("x")'])
def test_a_text_that_is_a_formula_is_none_in_a_table(text: str) -> None:
    [names, cells] = csv.reader(io.StringIO(csv_text([text], [[text]]), newline=""))
    assert names == [f"'{text}"]
    assert cells == [f"'{text}"]


def test_numbers_of_a_table_stay_numbers() -> None:
    assert csv_text(["a", "b", "c"], [[-1, -2.5, None]]) == "a,b,c\n-1,-2.5,\n"


def test_a_sweeps_table_has_no_formula(tmp_path: Path) -> None:
    write_tables(pa.table({"set": ["=1+1", None, "x"], "n": [-1, 2, 3]}), tmp_path)
    rows = list(csv.reader(io.StringIO((tmp_path / "points.csv").read_text())))
    assert rows == [["set", "n"], ["'=1+1", "-1"], ["", "2"], ["x", "3"]]
