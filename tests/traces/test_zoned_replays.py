"""A trace that writes, and drives whose zones take writes in order only: refused before anything runs, without advice
on job patterns.
"""

import json
from pathlib import Path

import pytest

import fathom
from fathom.errors import UsageError
from fathom.fitting.chosen import Choice, count
from fathom.fitting.fit import fit
from fathom.fitting.proof import prove
from fathom.plan.replay import Replay
from fathom.plan.zones import check_order
from fathom.traces.opening import open_trace
from small_trace import write_trace

ZONED = "twin:wd-ultrastar-dc-zn540-1tb"


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return write_trace(tmp_path / "trace.csv")


def test_a_replay_is_refused_with_advice_on_drives(trace: Path, tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match="a trace writes where it was recorded; take a drive without"
    ) as error:
        fathom.run("replay", ZONED, replay=Replay(trace), out=tmp_path / "runs")
    assert "pattern" not in str(error.value)
    assert not list(tmp_path.glob("runs/*")), "nothing began"


def test_the_proof_of_a_fit_is_refused_with_advice_on_its_twin(trace: Path) -> None:
    choice = Choice(lambda: open_trace(trace), None, 4096)
    with pytest.raises(UsageError, match="name another twin with --on, or none to leave it out") as error:
        prove(fit(count(choice)), choice, ZONED)
    assert "pattern" not in str(error.value)


@pytest.mark.parametrize(("tracks", "takes"), [("host-managed", False), ("drive-managed", True)])
def test_zones_take_a_trace_where_the_disk_orders_them_by_itself(tracks: str, takes: bool) -> None:
    parameters = json.dumps({"kind": "disk", "tracks": tracks, "zone_bytes": 1 << 28})
    if takes:
        check_order(parameters, writes=True)
    else:
        with pytest.raises(UsageError, match="its zones take writes at their write pointers only"):
            check_order(parameters, writes=True)
