"""The linter of the documentation finds what it is for, and leaves code and tables alone."""

import subprocess
import sys
from pathlib import Path

import pytest

LINTER = Path(__file__).parents[1] / "tools/prose.py"


def found(tmp_path: Path, text: str) -> list[str]:
    page = tmp_path / "page.md"
    page.write_text(text)
    done = subprocess.run([sys.executable, LINTER, page], capture_output=True, text=True, check=False)
    assert done.returncode == bool(done.stdout), done.stderr
    return [line.removeprefix(f"{page}:") for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"One.\n\nThis {'word ' * 25}ends.\n", "3: 27 words"),
        ("The page tells which drive leads.", "'tells': write"),
        ("Of each step, the report shows the mean.", "put the subject first"),
        ("Minutes, of which none is idle.", "begin a new sentence"),
    ],
)
def test_a_sentence_against_the_rules_is_named_with_its_line(tmp_path: Path, text: str, said: str):
    [line] = found(tmp_path, text)
    assert said in line


def test_code_tables_and_short_sentences_are_left_alone(tmp_path: Path):
    text = f"```\ntold {'word ' * 40}\n```\n| told | {'word ' * 40} |\n\n`fathom plan` shows it. `run` does it.\n"
    assert found(tmp_path, text) == []
