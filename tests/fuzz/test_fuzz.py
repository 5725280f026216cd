"""No input breaks a parser: each input that once did is tried again, and a fuzzer looks for others.

`FATHOM_FUZZ_SECONDS` is the time per parser. Without it each has a quarter of a minute, and those in `SMALL` a few
seconds: `make test-full` has the time for more. `FATHOM_FUZZ_SEED` other than 1 makes the fuzzer look elsewhere.
"""

import os
import shutil
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import pytest
from parsers import CORPUS, PARSERS

SHORT_S = 15
LEAST_S = 3
ASKED_S = os.environ.get("FATHOM_FUZZ_SECONDS")
SEED = os.environ.get("FATHOM_FUZZ_SEED", "1")
SMALL = {
    *("duration", "need", "size", "setting", "target", "power-option", "media-logs", "published", "template"),
    *("journal", "manifest", "host-answer", "host-call"),
    *("results-fio-log", "results-fio-latency-log", "results-fio-histogram-log"),
}
"""Parsers of a line or two or of one type."""
NATIVE = {name for name in PARSERS if name.startswith("trace-")} - {"trace-parquet"}
"""Parsers in Rust, where this fuzzer sees no branches: it tries the seam to Python, and a tenth of the time will do.
`crates/trace/tests/fuzz` has the whole time for each, and changes traces by their structure.
"""
SLACK_S = 120


@pytest.mark.parametrize(
    ("name", "kept"), [(name, path) for name in PARSERS for path in sorted(CORPUS.glob(f"{name}/*"))]
)
def test_every_kept_input_is_parsed_or_refused(name: str, kept: Path) -> None:
    parser = PARSERS[name]
    refusal = None
    try:
        parser.feed(kept.read_bytes())
    except parser.refusals as error:
        refusal = str(error)
    assert refusal is None or refusal.strip()


def test_every_parser_has_a_sample() -> None:
    assert [
        name
        for name, parser in PARSERS.items()
        if not parser.samples() and not list(CORPUS.glob(f"{name}/*"))
    ] == []


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Future[subprocess.CompletedProcess[str]]]:
    """Fuzzers of all parsers, as many at a time as there are cores."""
    if find_spec("atheris") is None:
        pytest.skip("atheris has no wheel for this Python or processor")
    folder = tmp_path_factory.mktemp("fuzz")
    pool = ThreadPoolExecutor(max(1, len(os.sched_getaffinity(0))))
    return {name: pool.submit(_fuzz, name, folder) for name in PARSERS}


@pytest.mark.parametrize("name", PARSERS)
def test_the_fuzzer_finds_no_input_that_breaks(
    name: str, fuzzed: dict[str, Future[subprocess.CompletedProcess[str]]]
) -> None:
    done = fuzzed[name].result()
    assert done.returncode == 0, done.stdout[-8000:]


def _seconds(name: str) -> int:
    asked = int(ASKED_S) if ASKED_S else SHORT_S
    brief = name in NATIVE or (name in SMALL and not ASKED_S)
    return max(LEAST_S, asked // 10 if brief else asked)


def _fuzz(name: str, folder: Path) -> subprocess.CompletedProcess[str]:
    seconds = _seconds(name)
    scratch = folder / name
    scratch.mkdir()
    command = [sys.executable, str(Path(__file__).with_name("run.py")), name]
    options = [f"--seconds={seconds}", f"--seed={SEED}", f"--artifacts={folder}"]
    try:
        return subprocess.run(
            [*command, *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=seconds + SLACK_S,
            env=os.environ | {"TMPDIR": str(scratch)},
            check=False,
        )
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
