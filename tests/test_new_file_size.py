"""A new file is as large as the regions of the method ask for, where the command gives no size."""

from pathlib import Path

import pytest

from fathom.errors import UsageError
from fathom.imports.named import method_named
from fathom.load.initiator import ThisMachine
from fathom.method.method import parse_method
from fathom.plan.prepare import prepare
from fathom.plan.replay import Replay

HEAD = 'schema = "fathom-method/1"\nname = "m"\n'
STEP = """
[[steps]]
name = "s{number}"
[steps.job]
mix = "read"
block = "4KiB"
pattern = "uniform"
region = {region}
load = {{ iodepth = 4 }}
until = {{ time = "1s" }}
"""


def capacities(regions: list[str], words: list[str], size_bytes: int | None = None) -> list[int]:
    steps = (STEP.format(number=number, region=region) for number, region in enumerate(regions))
    method = parse_method(HEAD + "".join(steps), "m.toml")
    return [target.capacity_bytes for target in prepare(method, words, ThisMachine(), size_bytes)]


def test_it_reaches_to_the_end_of_the_furthest_region(tmp_path: Path) -> None:
    regions = ['"64MiB"', '{ start = "128MiB", size = "32MiB" }']
    assert capacities(regions, [f"file:{tmp_path}/new"]) == [160 << 20]
    assert capacities(regions, [f"file:{tmp_path}/new"], 1 << 30) == [1 << 30], "a size given is kept"


def test_a_fio_job_is_run_on_a_file_of_its_size(tmp_path: Path) -> None:
    (tmp_path / "j.fio").write_text("[j]\nrw=randwrite\nbs=4k\nsize=48m\nruntime=1\ntime_based\n")
    method = method_named(str(tmp_path / "j.fio"), None).method
    [target] = prepare(method, f"file:{tmp_path}/new", ThisMachine())
    assert target.capacity_bytes == 48 << 20


def test_a_trace_is_replayed_on_a_file_that_holds_all_it_reaches(tmp_path: Path) -> None:
    trace = tmp_path / "t.csv"
    trace.write_text("time_us,op,offset,size\n0,W,0,4096\n100,R,1048576,8192\n")
    method = method_named("replay", Replay(trace)).method
    [target] = prepare(method, f"file:{tmp_path}/new", ThisMachine())
    assert target.capacity_bytes == 2 << 20


@pytest.mark.parametrize("regions", [['"50%"'], ['"64MiB"', '"100%"'], ['{ start = "10%", size = "1MiB" }']])
def test_shares_of_a_target_state_no_size(regions: list[str], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="add --size"):
        capacities(regions, [f"file:{tmp_path}/new"])


def test_a_file_that_is_there_keeps_its_size(tmp_path: Path) -> None:
    (tmp_path / "there").write_bytes(bytes(1 << 20))
    assert capacities(['"512KiB"'], [f"file:{tmp_path}/there"]) == [1 << 20]
