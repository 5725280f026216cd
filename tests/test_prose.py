"""The linter of pages, docstrings, comments and messages finds what it is for, and leaves code and tables alone."""

import subprocess
import sys
from pathlib import Path

import pytest

LINTER = Path(__file__).parents[1] / "tools/prose.py"


def found(tmp_path: Path, text: str, name: str = "page.md") -> list[str]:
    page = tmp_path / name
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
        ("Of one turn.", "put the subject first"),
        ("Minutes, of which none is idle.", "begin a new sentence"),
    ],
)
def test_a_sentence_against_the_rules_is_named_with_its_line(tmp_path: Path, text: str, said: str):
    [line] = found(tmp_path, text)
    assert said in line


def test_code_tables_and_short_sentences_are_left_alone(tmp_path: Path):
    text = f"```\ntold {'word ' * 40}\n```\n| told | {'word ' * 40} |\n\n`fathom plan` shows it. `run` does it.\n"
    assert found(tmp_path, text) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('def rate():\n    """The rate."""\n', "2: a docstring begins with a verb"),
        ('def rate():\n    """gives the rate."""\n', "2: a docstring begins with a verb"),
        ('def rate():\n    """Seconds of the window."""\n', "2: a docstring begins with a verb"),
        ('class Rate:\n    """Each of so many drives."""\n', "2: 'so many'"),
        ('raise ValueError(f"{name}: the drive told {what}")\n', "1: 'told'"),
        ("x = 1\n# Blocks,\n# of which none is lost.\n", "2: 'of which'"),
        (f"def f():\n    # One {'word ' * 20}\n    # {'word ' * 20}ends.\n    f()\n", "2: 42 words"),
    ],
)
def test_docstrings_and_messages_of_python_are_read(tmp_path: Path, text: str, said: str):
    [line] = found(tmp_path, text, "code.py")
    assert line.startswith(said)


@pytest.mark.parametrize(
    "text",
    [
        'def rate():\n    """Returns the rate."""\n',
        'def _rate():\n    """The rate."""\n',
        '@property\ndef rate(self):\n    """The rate."""\n',
        'class Rate:\n    """A rate."""\n',
        'KEY = "so many"\n',
        "x = 1  # noqa: told\n# pyright: told\n",
    ],
)
def test_values_classes_and_private_functions_are_named_by_a_noun(tmp_path: Path, text: str):
    assert found(tmp_path, text, "code.py") == []


def test_comments_and_errors_of_rust_are_read(tmp_path: Path):
    text = '/// Bytes, of which\n/// none is lost.\nfn f() {\n    // The drive tells it.\n}\n#[error("so many: {0}")]\n'
    first, second, third = found(tmp_path, text, "code.rs")
    assert first.startswith("1: 'of which'")
    assert second.startswith("4: 'tells'")
    assert third.startswith("6: 'so many'")
