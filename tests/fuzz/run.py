"""Fuzzes one parser for a time: `python tests/fuzz/run.py NAME --seconds 60`. Exit code 0: nothing but refusals.

Coverage-guided by Atheris. An input that breaks the parser is left in the folder named by `--artifacts`; once it is
mended, the input belongs into `tests/fuzz/corpus/NAME`, where every run of the tests tries it again.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["fathom"], enable_loader_override=False):  # pyright: ignore[reportAttributeAccessIssue]
    from parsers import CORPUS, PARSERS

MOST_BYTES = 16_384
MOST_MIB = 4_096
SLOWEST_S = 30
"""An input that takes longer is a finding."""


def main() -> None:
    """Parses the command line and hands over to the fuzzer, which ends the process."""
    options = argparse.ArgumentParser(description="Fuzz one parser.")
    options.add_argument("name", choices=sorted(PARSERS))
    options.add_argument("--seconds", type=int, default=60)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--artifacts", type=Path, default=Path())
    asked = options.parse_args()
    parser = PARSERS[asked.name]

    def test_one_input(data: bytes) -> None:
        try:
            parser.feed(data)
        except parser.refusals:
            return

    found = Path(tempfile.mkdtemp(prefix=f"fathom-fuzz-{asked.name}-"))
    for number, sample in enumerate(parser.samples()):
        (found / f"sample{number}").write_bytes(sample)
    kept = CORPUS / asked.name
    arguments = [
        sys.argv[0],
        str(found),
        *([str(kept)] if kept.is_dir() else []),
        f"-max_total_time={asked.seconds}",
        f"-seed={asked.seed}",
        f"-max_len={MOST_BYTES}",
        f"-rss_limit_mb={MOST_MIB}",
        f"-timeout={SLOWEST_S}",
        f"-artifact_prefix={asked.artifacts}/{asked.name}-",
        "-print_final_stats=1",
        "-verbosity=0",
    ]
    atheris.Setup(arguments, test_one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
