"""Files that a user gives: what is no text, or has no end, is refused in one line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fathom.catalog import find
from fathom.errors import FathomError
from fathom.new_device.sheet import read_sheet
from fathom.runs.document import RunDocument
from fathom.text_file import read_text


@pytest.mark.parametrize(
    "words", [("plan", "/dev/zero", "null:"), ("import", "/dev/zero"), ("import-results", "/dev/zero")]
)
def test_a_device_in_the_place_of_a_file_is_one_line_and_is_not_read(words: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fathom", *words], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode != 0
    assert "/dev/zero: a device, not a text file" in done.stderr


@pytest.mark.parametrize("words", [("plan", "{}", "null:"), ("import", "{}"), ("import-results", "{}")])
def test_a_pipe_that_nothing_writes_to_is_refused_in_one_line(words: tuple[str, ...], tmp_path: Path) -> None:
    pipe = tmp_path / "given.toml"
    os.mkfifo(pipe)
    command = [sys.executable, "-m", "fathom", *(word.format(pipe) for word in words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert "given.toml: is not a regular file, but a pipe that nothing writes to" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_pipe_in_the_folder_of_the_catalogue_or_of_runs_is_no_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "methods").mkdir()
    (tmp_path / "run").mkdir()
    os.mkfifo(tmp_path / "methods" / "piped.toml")
    os.mkfifo(tmp_path / "run" / "run.json")
    monkeypatch.setenv("FATHOM_CATALOG", str(tmp_path))
    with pytest.raises(FathomError, match=r"piped.toml: cannot be read"):
        find("methods", "piped").text()
    with pytest.raises(FathomError, match=r"run.json: not a readable run"):
        RunDocument.load(tmp_path / "run")


def test_a_pipe_is_read_to_its_end_however_late_its_writer_is(tmp_path: Path) -> None:
    pipe = tmp_path / "given.txt"
    os.mkfifo(pipe)
    writer = subprocess.Popen(["sh", "-c", f"exec >{pipe}; sleep 1.5; printf 'a\\r\\nb'; printf c"])
    assert read_text(pipe) == "a\nbc"
    assert writer.wait() == 0


def test_json_nested_without_end_is_one_line(tmp_path: Path) -> None:
    sheet = tmp_path / "deep.json"
    sheet.write_text("[" * 100_000)
    with pytest.raises(FathomError, match=r"deep.json: nested too deeply for a data sheet"):
        read_sheet(sheet)


def test_a_byte_order_mark_in_front_of_a_text_is_no_part_of_it(tmp_path: Path) -> None:
    path = tmp_path / "given.txt"
    path.write_bytes(b"\xef\xbb\xbfa\r\nb")
    assert read_text(path) == "a\nb"


def test_a_message_that_quotes_a_line_of_any_length_stays_short_and_keeps_both_ends() -> None:
    error = FathomError(f"load.fio:3: {'q' * 1_000_000} is no option", "leave it out")
    assert len(str(error)) < 2000
    assert str(error).startswith("load.fio:3: qqq")
    assert str(error).endswith("qqq is no option; leave it out")
