"""No input breaks a parser: each input that once did is tried again, and a fuzzer looks for others.

`FATHOM_FUZZ_SECONDS` is the time per parser. Without it each has a few seconds: `make test-full` has the
time for more. `FATHOM_FUZZ_SEED` other than 1 makes the fuzzer look elsewhere.
"""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from parsers import CORPUS, PARSERS

SHORT_S = 8
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
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the fuzzers of all parsers, one for each core at a time, left what they printed and how they ended."""
    if find_spec("atheris") is None:
        pytest.skip("atheris has no wheel for this Python or processor")
    folder = tmp_path_factory.mktemp("fuzz")
    scratch = tmp_path_factory.mktemp("scratch")
    command = [
        sys.executable,
        str(Path(__file__).with_name("run.py")),
        *(f"{name}={_seconds(name)}" for name in PARSERS),
    ]
    options = [f"--at-once={len(os.sched_getaffinity(0))}", f"--seed={SEED}", f"--artifacts={folder}"]
    subprocess.run(
        [*command, *options],
        stdout=subprocess.DEVNULL,
        env=os.environ | {"TMPDIR": str(scratch)},
        check=False,
    )
    shutil.rmtree(scratch)
    return folder


@pytest.mark.parametrize("name", PARSERS)
def test_the_fuzzer_finds_no_input_that_breaks(name: str, fuzzed: Path) -> None:
    printed = (fuzzed / f"{name}.log").read_text(errors="replace")
    assert (fuzzed / f"{name}.status").read_text() == "0", printed[-8000:]


def _seconds(name: str) -> int:
    asked = int(ASKED_S) if ASKED_S else SHORT_S
    brief = name in NATIVE or (name in SMALL and not ASKED_S)
    return max(LEAST_S, asked // 10 if brief else asked)
