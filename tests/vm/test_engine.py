"""The engine on real kernel devices: passthrough, placement, zones."""

from pathlib import Path

import pytest
from vm_guest import GIB, counts, run, sh

from fathom import _core
from fathom.analysis.settled import Unsettled
from fathom.method.method import parse_method
from fathom.report.comparison import compare
from fathom.report.data import load
from fathom.report.findings import gate
from fathom.runs.remarks import Refused, facts_of
from fathom.session import Options, start_run
from fathom.targets.media_logs import open_reader
from fathom.targets.parse import parse_target
from fathom.targets.safety import destroy_token
from followed import LastShares

SMR = GIB // 2


def test_passthrough_reads_and_writes_4k_at_random() -> None:
    job = {"mix": {"read": 50, "write": 50}, "block": "4KiB", "pattern": "uniform", "region": "256MiB"}
    recording = run("nvme-generic", "/dev/ng2n1", 2 * GIB, **job)
    assert sum(n for n, _ in counts(recording).values()) == 600
    assert all(errors == 0 for _, errors in counts(recording).values())


def test_passthrough_trims_zeroes_and_flushes() -> None:
    job = {
        "mix": {"trim": 1, "write-zeroes": 1, "flush": 1, "write": 1},
        "block": "64KiB",
        "pattern": "uniform",
        "until": {"count": 200},
    }
    done = counts(run("nvme-generic", "/dev/ng2n1", 2 * GIB, **job))
    assert set(done) == {"trim", "write-zeroes", "flush", "write"}
    assert all(errors == 0 for _, errors in done.values())


def test_a_block_larger_than_one_command_is_refused_before_the_run() -> None:
    with pytest.raises(_core.BackendError, match="one command carries at most"):
        run("nvme-generic", "/dev/ng2n1", 2 * GIB, mix="read", block="8MiB", pattern="sequential")


def test_zeroes_of_more_blocks_than_a_command_counts_are_refused_before_the_run() -> None:
    with pytest.raises(
        _core.BackendError, match="write-zeroes of 536870912 bytes, one command carries at most"
    ):
        run("nvme-generic", "/dev/ng2n1", 2 * GIB, mix="write-zeroes", block="512MiB", pattern="sequential")


def test_a_trim_may_be_larger_than_a_transfer() -> None:
    job = {"mix": "trim", "block": "64MiB", "pattern": "sequential", "until": {"count": 8}}
    assert counts(run("nvme-generic", "/dev/ng2n1", 2 * GIB, **job)) == {"trim": (8, 0)}


def test_a_placement_handle_that_does_not_exist_is_refused() -> None:
    with pytest.raises(_core.BackendError, match="placement handle 9: the device gives this namespace 8"):
        run(
            "nvme-generic", "/dev/ng0n1", 2 * GIB, mix="write", block="4KiB", pattern="uniform", placement=[9]
        )


def test_sequential_writes_at_pointers_of_open_zones_are_never_refused(smr: Path) -> None:
    job = {"mix": "write", "block": "256KiB", "pattern": {"zones": 2}, "until": {"bytes": "80MiB"}}
    region = {"start": "64MiB", "size": "64MiB"}
    recording = run("device", smr, SMR, region=region, load={"threads": 1, "iodepth": 2}, **job)
    assert counts(recording) == {"write": (320, 0)}
    assert any("zone(s) were reset" in note for note in recording.notes)


def test_reads_and_writes_mix_in_zones_on_zns(smr: Path) -> None:
    job = {
        "mix": {"read": 50, "write": 50},
        "block": "64KiB",
        "pattern": {"zones": 4},
        "load": {"threads": 2, "iodepth": 4},
    }
    for kind, path in (("device", "/dev/nvme1n1"), ("nvme-generic", "/dev/ng1n1")):
        done = counts(run(kind, path, 2 * GIB, **job))
        assert sum(n for n, _ in done.values()) == 600
        assert all(errors == 0 for _, errors in done.values())


def test_appends_go_to_a_zone_at_any_depth() -> None:
    job = {"mix": "append", "block": "16KiB", "pattern": {"zones": 2}, "load": {"iodepth": 16}}
    assert counts(run("nvme-generic", "/dev/ng1n1", 2 * GIB, **job)) == {"append": (600, 0)}


def test_deep_appends_keep_the_devices_limit_of_zones_where_it_is_what_is_open() -> None:
    sh("blkzone", "reset", "/dev/nvme1n1")
    job = {"mix": "append", "block": "128KiB", "pattern": {"zones": 4}, "load": {"threads": 4, "iodepth": 8}}
    # Sixteen zones of 48 MiB are filled before the first makes way for another.
    recording = run("nvme-generic", "/dev/ng1n1", 2 * GIB, until={"bytes": "1GiB"}, **job)
    assert counts(recording) == {"append": (8192, 0)}


def test_a_write_out_of_order_is_reported_with_zone_and_pointer(smr: Path) -> None:
    job = {"mix": "write", "block": "4KiB", "pattern": "uniform", "until": {"count": 50}}
    region = {"start": "64MiB", "size": "128MiB"}
    recording = run("device", smr, SMR, load={"iodepth": 1}, region=region, **job)
    (n, errors) = counts(recording)["write"]
    assert errors > 0
    assert n + errors == 50
    refused = [fact for fact in facts_of(recording) if isinstance(fact, Refused)]
    assert refused
    assert {fact.op for fact in refused} == {"write"}
    assert all("has its write pointer at" in fact.about or "is full" in fact.about for fact in refused)


def test_more_writes_in_flight_than_open_zones_are_refused_with_the_remedy(smr: Path) -> None:
    with pytest.raises(_core.BackendError, match="a zone takes one write at a time; use iodepth 2"):
        run("device", smr, SMR, mix="write", block="4KiB", pattern={"zones": 2}, load={"iodepth": 8})


def test_more_open_zones_than_the_device_allows_are_refused() -> None:
    load = {"threads": 5, "iodepth": 4}
    with pytest.raises(_core.BackendError, match="the device allows 16"):
        run("device", "/dev/nvme1n1", 2 * GIB, mix="write", block="4KiB", pattern={"zones": 4}, load=load)


def test_the_zones_pattern_on_an_ordinary_device_is_refused() -> None:
    with pytest.raises(_core.BackendError, match="not host-managed"):
        run("device", "/dev/nvme2n1", 2 * GIB, mix="read", block="4KiB", pattern={"zones": 2})


def test_passthrough_and_the_block_device_move_the_same_bytes_to_the_same_places() -> None:
    job = {"block": "64KiB", "pattern": "uniform", "region": "64MiB", "until": {"count": 300}}
    paths = {"nvme-generic": "/dev/ng2n1", "device": "/dev/nvme2n1"}
    written = []
    for kind, path in paths.items():
        sh("blkdiscard", "--force", "/dev/nvme2n1")
        assert counts(run(kind, path, 2 * GIB, mix="write", **job)) == {"write": (300, 0)}
        sh("blockdev", "--flushbufs", "/dev/nvme2n1")
        with Path("/dev/nvme2n1").open("rb") as device:
            written.append([any(device.read(65536)) for _ in range(1024)])
    assert written[0] == written[1]
    assert 200 < sum(written[0]) <= 300


def needs_write_streams(kind: str) -> None:
    """Skips what a block device before Linux 6.16 cannot be told."""
    streams = Path("/sys/block/nvme0n1/queue/max_write_streams")
    if kind == "device" and not (streams.exists() and int(streams.read_text())):
        pytest.skip("this kernel has no write streams")


@pytest.mark.parametrize("kind", ["nvme-generic", "device"])
def test_placement_handles_arrive_at_the_reclaim_units_that_they_name(kind: str) -> None:
    needs_write_streams(kind)
    path = {"nvme-generic": "/dev/ng0n1", "device": "/dev/nvme0n1"}[kind]
    handle = {"nvme-generic": 3, "device": 5}[kind]
    before = free_in_reclaim_units()
    job = {"mix": "write", "block": "64KiB", "pattern": "sequential", "until": {"bytes": "8MiB"}}
    assert counts(run(kind, path, 2 * GIB, placement=handle, **job)) == {"write": (128, 0)}
    used = [was - is_ for was, is_ in zip(before, free_in_reclaim_units(), strict=True)]
    assert used == [2048 if number == handle else 0 for number in range(8)]


def free_in_reclaim_units() -> list[int]:
    """Blocks left in the reclaim unit of each placement handle, by the drive's own status log."""
    status = sh("nvme", "fdp", "status", "/dev/nvme0n1")
    return [int(line.split()[-1], 0) for line in status.splitlines() if "RUAMW" in line]


@pytest.mark.parametrize("kind", ["nvme-generic", "device"])
def test_each_stream_writes_to_its_own_reclaim_unit_and_the_drives_log_counts_it_all(kind: str) -> None:
    needs_write_streams(kind)
    path = {"nvme-generic": "/dev/ng0n1", "device": "/dev/nvme0n1"}[kind]
    reader = open_reader(Path("/dev/nvme0n1"), 1)
    free, before = free_in_reclaim_units(), reader.read()
    writes = {"mix": "write", "block": "64KiB", "pattern": "uniform", "load": {"rate": "50/s", "iodepth": 1}}
    streams = [writes | {"name": "hot", "placement": 1}, writes | {"name": "cold", "placement": 6}]
    recording = run(kind, path, 2 * GIB, streams=streams, until={"time": "2s"})
    after = reader.read()
    assert before is not None
    assert after is not None
    used = [4096 * (was - is_) for was, is_ in zip(free, free_in_reclaim_units(), strict=True)]
    assert sum(used) == after.host_write_bytes - before.host_write_bytes
    for name, handle in (("hot", 1), ("cold", 6)):
        [op] = recording.streams[name]
        # The last write may come back when the time is up.
        assert 50 * (64 << 10) < op.bytes <= used[handle] <= op.bytes + (64 << 10)
    assert [number for number in range(8) if used[number]] == [1, 6]


def test_the_capacity_of_zones_is_known_before_a_run() -> None:
    target = parse_target("/dev/nvme1n1")
    assert (target.identity.zone_bytes, target.identity.zone_capacity_bytes) == (64 << 20, 48 << 20)


FILLED = """
schema = "fathom-method/1"
name = "filled"
[[steps]]
name = "fill"
kind = "fill"
[steps.job]
mix = "write"
block = "1MiB"
pattern = { zones = "in-order" }
load = { iodepth = 1 }
until = { written = "1x" }
[[steps]]
name = "reads"
[steps.job]
mix = "read"
block = "4KiB"
pattern = { zones = "in-order" }
load = { iodepth = 1 }
until = { time = "2s" }
"""


def test_zones_with_gaps_are_full_after_a_pass_which_is_followed_and_claimed_as_that(tmp_path: Path) -> None:
    sh("blkzone", "reset", "/dev/nvme1n1")
    target = parse_target("/dev/nvme1n1")
    seen = LastShares()
    confirmed = Options(
        out=tmp_path, observer=seen, destroy=(destroy_token(target.identity),), unknown_data=True
    )
    done = start_run(parse_method(FILLED, "filled.toml"), [target], confirmed)
    assert seen.shares["fill"] == pytest.approx(1, abs=0.05)
    assert Unsettled.NOT_FILLED not in gate(compare([load(done.path)])).values()


def test_the_pointers_of_the_zones_tell_what_was_appended() -> None:
    sh("blkzone", "reset", "/dev/nvme1n1")
    job = {"mix": "append", "block": "16KiB", "pattern": {"zones": 3}, "load": {"iodepth": 8}}
    assert counts(run("nvme-generic", "/dev/ng1n1", 2 * GIB, **job)) == {"append": (600, 0)}
    zones = [
        line.split("wptr")[1].split()[0] for line in sh("blkzone", "report", "/dev/nvme1n1").splitlines()
    ]
    appended = [512 * int(pointer, 16) for pointer in zones]
    assert sum(appended) == 600 * (16 << 10)
    assert sum(bytes_ > 0 for bytes_ in appended) == 3


def test_btrfs_on_a_host_managed_disk_takes_random_writes_of_a_file(smr: Path, tmp_path: Path) -> None:
    sh("blkzone", "reset", str(smr))
    sh("mkfs.btrfs", "-q", "-f", "-m", "single", "-d", "single", str(smr))
    sh("mount", str(smr), str(tmp_path))
    try:
        file = tmp_path / "x.bin"
        job = {"block": "64KiB", "direct": False}
        fill = run(
            "file", touched(file), 64 << 20, mix="write", pattern="sequential", until={"written": "1x"}, **job
        )
        mixed = {"read": 50, "write": 50}
        load = run("file", file, 64 << 20, mix=mixed, pattern="uniform", until={"count": 1000}, **job)
        sh("sync")
    finally:
        sh("umount", str(tmp_path))
    assert counts(fill) == {"write": (1024, 0)}
    assert all(errors == 0 for _, errors in counts(load).values())


def test_a_journal_where_a_power_cut_may_take_it_along_is_told(tmp_path: Path) -> None:
    sh("modprobe", "ext4")
    sh("mkfs.ext4", "-q", "-F", "/dev/nvme2n1")
    sh("mount", "/dev/nvme2n1", str(tmp_path))
    try:
        job = {"mix": "write", "block": "4KiB", "pattern": "uniform", "content": {"verify": 1}}
        for journal, told in (
            (tmp_path / "acks", "is on nvme2n1, as is the target: a disk that loses"),
            (Path("/dev/shm/acks"), "is in memory (tmpfs), which a power cut empties"),
        ):
            file = touched(tmp_path / "x.bin")
            notes = run("file", file, 64 << 20, journal=str(journal), **job).notes
            assert [told in note for note in notes if note.startswith("journal:")] == [True], notes
    finally:
        sh("umount", str(tmp_path))


def touched(path: Path) -> Path:
    path.touch()
    return path
