"""The engine loads what `claim` gave, and nothing else can be made to look like it."""

import json
import pickle
import re
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import get_type_hints

import pytest

from fathom._core import Job
from fathom.errors import RefusedError
from fathom.load.array import EngineArray
from fathom.load.backend import EngineBackend, engine_target
from fathom.load.initiator import ThisMachine
from fathom.targets.claim import Claimed, claim
from fathom.targets.files import file_target
from fathom.targets.parse import parse_targets
from fathom.targets.target import Target

PACKAGE = Path(__file__).parents[2] / "python/fathom"
MIB = 1 << 20
WRITE = Job(
    json.dumps(
        {"mix": "write", "block": "4KiB", "pattern": "uniform", "load": {"iodepth": 1}, "until": {"count": 8}}
    )
)


@pytest.mark.parametrize("backend", [EngineBackend, EngineArray])
def test_the_engine_takes_no_target_that_was_only_parsed(
    tmp_path: Path, backend: type[EngineBackend] | type[EngineArray]
):
    data = tmp_path / "thesis"
    data.write_bytes(b"three years of work" * 4096)
    before = data.read_bytes()
    parsed = file_target(data, None)
    for unchecked in (parsed, data, str(data)):
        with pytest.raises(TypeError, match="was not claimed"):
            backend([unchecked])  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="was not claimed"):
        ThisMachine().start(parsed, lambda: False)
    assert data.read_bytes() == before


def test_its_signatures_say_so():
    for signed in (EngineBackend.__init__, EngineArray.__init__):
        assert Sequence[Claimed] in get_type_hints(signed).values()
    assert get_type_hints(engine_target)["target"] is Claimed


def test_a_claimed_target_cannot_be_made_or_changed_by_hand(tmp_path: Path):
    parsed = file_target(tmp_path / "own", MIB)
    facts = {name: getattr(parsed, name) for name in parsed.__dataclass_fields__}
    with pytest.raises(TypeError, match="only fathom"):
        Claimed(**facts, writes=True, seal=object())
    with claim(parsed, writes=True) as ready:
        with pytest.raises(ValueError, match="seal"):
            replace(ready, path=tmp_path / "other")
        assert type(pickle.loads(pickle.dumps(ready))) is Target
        assert type(copy(ready)) is Target


def test_what_was_checked_for_reading_is_not_written(tmp_path: Path):
    with claim(file_target(tmp_path / "own", MIB), writes=True):
        pass
    held = (tmp_path / "own").read_bytes()
    with (
        claim(file_target(tmp_path / "own", None), writes=False) as ready,
        pytest.raises(RefusedError, match="for reading only"),
    ):
        EngineBackend([ready]).start(WRITE, seed=1)
    assert (tmp_path / "own").read_bytes() == held


def test_members_of_a_claimed_array_are_claimed_one_by_one(tmp_path: Path):
    text = ",".join(f"file:{tmp_path}/{name}" for name in ("a", "b"))
    [array] = parse_targets([f"array:{text}"], size_bytes=MIB)
    with claim(array, writes=True) as ready:
        assert [type(member) for member in ready.members] == [Claimed, Claimed]


def test_only_the_package_of_the_checks_constructs_one():
    making = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if re.search(r"\bClaimed\(|\b_SEAL\b|object\.__new__|object\.__setattr__", path.read_text())
    }
    assert making == {"targets/claim.py"}
