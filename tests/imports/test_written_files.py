"""`import --out` and `export --out`: what they write, and what they leave alone."""

from pathlib import Path

import pytest

from as_user import SHORT, fathom, refused

JOB = "[x]\nfilename=/dev/sdz\ndirect=1\nioengine=libaio\nrw=randread\nsize=1g\ntime_based\nruntime=60\nnice=3\n"


@pytest.fixture
def given(tmp_path: Path) -> dict[str, str | Path]:
    """What each command is given."""
    job = tmp_path / "load.fio"
    job.write_text(JOB)
    return {"import": job, "export": SHORT}


@pytest.mark.parametrize("command", ["import", "export"])
def test_a_file_has_what_would_be_printed_and_the_notes_stay_on_stderr(
    command: str, given: dict[str, str | Path], tmp_path: Path
) -> None:
    printed = fathom(command, given[command])
    out = tmp_path / "a folder" / "made"
    for _ in range(2):
        done = fathom(command, given[command], "--out", str(out))
        assert (done.returncode, done.stdout, done.stderr) == (0, "", printed.stderr)
        assert out.read_text() == printed.stdout != ""


@pytest.mark.parametrize("command", ["import", "export"])
def test_a_file_that_somebody_wrote_stays(command: str, given: dict[str, str | Path], tmp_path: Path) -> None:
    out = tmp_path / "mine"
    out.write_text("a week's work\n")
    code, text = refused(command, given[command], "--out", str(out))
    assert (code, text) == (
        3,
        f"fathom: {out}: exists and is not an earlier output of Fathom; remove it, or give the path of a file that "
        "does not exist",
    )
    assert out.read_text() == "a week's work\n"


def test_nothing_is_written_where_the_file_is_refused(tmp_path: Path) -> None:
    job, out = tmp_path / "bad.fio", tmp_path / "made.toml"
    job.write_text(JOB + "ioengine=net\n")
    code, _ = refused("import", str(job), "--out", str(out))
    assert code == 2
    assert not out.exists()
