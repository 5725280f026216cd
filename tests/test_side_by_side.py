"""The commands of `make test` run at once; their outputs stay apart, and a failure of any is the failure of all."""

import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[1] / "tools/side_by_side.py"


def side_by_side(folder: Path, *commands: str) -> subprocess.CompletedProcess[str]:
    """Runs a copy of the tool, so that the logs of the tests' own run stay."""
    tools = folder / "tools"
    tools.mkdir()
    copy = tools / TOOL.name
    copy.write_text(TOOL.read_text())
    named = [word for number, command in enumerate(commands) for word in (f"c{number}", command)]
    return subprocess.run([sys.executable, copy, *named], capture_output=True, text=True, check=False)


def test_outputs_follow_one_another_in_the_order_of_the_commands(tmp_path: Path) -> None:
    done = side_by_side(tmp_path, "echo a; sleep 0.5; echo b >&2", "echo c; sleep 0.2; echo d")
    assert (done.returncode, done.stdout) == (0, "a\nb\nc\nd\n")
    assert (tmp_path / "target/logs/c1.log").read_text() == "c\nd\n"


@pytest.mark.parametrize(
    ("commands", "status"),
    [
        (("exit 3", "true", "true"), 3),
        (("true", "exit 4", "true"), 4),
        (("true", "true", "exit 5"), 5),
        (("false; true", "sleep 0.3; exit 2"), 1),
        (("false | true", "true"), 1),
        (("kill -9 $$", "true"), 137),
    ],
)
def test_a_failure_of_any_command_is_the_exit_status(
    tmp_path: Path, commands: tuple[str, ...], status: int
) -> None:
    assert side_by_side(tmp_path, *commands).returncode == status


def test_a_failure_does_not_cut_the_others_short(tmp_path: Path) -> None:
    done = side_by_side(tmp_path, "echo a; false", "sleep 0.5; echo b")
    assert (done.returncode, done.stdout) == (1, "a\nb\n")


def test_commands_run_at_the_same_time(tmp_path: Path) -> None:
    # Each waits for a file that the other makes.
    met = "touch {}; for n in $(seq 100); do [ -e {} ] && exit 0; sleep 0.1; done; exit 1"
    one, other = tmp_path / "one", tmp_path / "other"
    done = side_by_side(tmp_path, met.format(one, other), met.format(other, one))
    assert done.returncode == 0


def test_a_name_without_a_command_is_refused() -> None:
    done = subprocess.run([sys.executable, TOOL, "rust"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "expected NAME COMMAND" in done.stderr
