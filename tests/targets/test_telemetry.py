import itertools
import os
import time
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from loop_devices import Loops

from fathom.columns.schema import TELEMETRY, Reading
from fathom.targets.not_measured import NotMeasured, Quantity
from fathom.targets.parse import device_target
from fathom.targets.target import Identity, Target
from fathom.targets.telemetry import Telemetry


def write(root: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def values(rows: list[Reading], name: str) -> list[float]:
    return [row.value for row in rows if row.name == name]


NET = """Inter-|   Receive                            |  Transmit
 face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls carrier compressed
    lo: 999 1 0 0 0 0 0 0 999 1 0 0 0 0 0 0
  eth0: {received} 1 0 0 0 0 0 0 {sent} 1 0 0 0 0 0 0
"""


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A machine with every source, all counters at a known place."""
    disk = "sys/devices/nvme0/nvme0n1"
    write(
        tmp_path,
        {
            "proc/stat": "cpu  100 0 100 800 0 0 0 0 0 0\n",
            "proc/net/dev": NET.format(received=1000, sent=2000),
            "proc/self/cgroup": "3:cpu,cpuacct:/job\n0::/\n",
            "sys/fs/cgroup/cpu,cpuacct/job/cpu.stat": "nr_periods 50\nnr_throttled 5\nthrottled_time 1\n",
            "sys/class/net/eth0/speed": "10000",
            "sys/class/net/lo/operstate": "unknown",
            "sys/class/net/br0/speed": "10000",
            "sys/class/net/br0/bridge/stp_state": "0",
            f"{disk}/stat": "1 0 8 0 1 0 16 0 0 100 0\n",
            f"{disk}/dev": "259:0",
            "sys/devices/nvme0/hwmon1/temp1_input": "41850",
            "sys/devices/nvme0/hwmon1/power1_input": "12500000",
            "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq": "2000000",
            "sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq": "3000000",
            "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count": "5",
            "sys/class/powercap/intel-rapl:0/energy_uj": "9000000",
            "sys/class/powercap/intel-rapl:0/max_energy_range_uj": "10000000",
        },
    )
    (tmp_path / disk / "device").symlink_to(tmp_path / "sys/devices/nvme0")
    (tmp_path / "sys/dev/block").mkdir(parents=True)
    (tmp_path / "sys/dev/block/259:0").symlink_to(tmp_path / disk)
    return tmp_path


def drive(dev: str | None = "259:0") -> Target:
    return Target(
        name="/dev/nvme0n1",
        kind="device",
        path=None,
        capacity_bytes=1 << 40,
        logical_block_bytes=512,
        direct_align_bytes=512,
        identity=Identity(dev=dev),
        label="Acme",
    )


def sampler(root: Path, target: Target) -> Telemetry:
    return Telemetry([target], period_s=3600, proc=root / "proc", sys=root / "sys")


def test_every_source_gives_its_value_with_its_unit(machine: Path):
    with sampler(machine, drive()) as telemetry:
        telemetry.step("read")
        write(
            machine,
            {
                "proc/stat": "cpu  130 0 110 850 0 0 0 10 0 0\n",
                "proc/net/dev": NET.format(received=4000, sent=2500),
                "sys/fs/cgroup/cpu,cpuacct/job/cpu.stat": "nr_periods 70\nnr_throttled 20\nthrottled_time 1\n",
                "sys/devices/nvme0/nvme0n1/stat": "9 0 2056 0 9 0 32 0 0 100 0\n",
                "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count": "7",
                "sys/class/powercap/intel-rapl:0/energy_uj": "9500000",
            },
        )
        rows = telemetry.drain()
    found = {(row.target, row.name, row.unit): row.value for row in rows}
    length_s = rows[0].length_s
    drive_name = "/dev/nvme0n1"
    assert found == {
        (None, "cpu_busy", "%"): 40.0,
        (None, "cpu_steal", "%"): 10.0,
        (None, "cpu_quota_used_up", "%"): 75.0,
        (None, "nic_received: eth0", "B"): 3000.0,
        (None, "nic_sent: eth0", "B"): 500.0,
        (None, "nic_busy: eth0", "%"): pytest.approx(100 * 3000 / (10e9 / 8 * length_s)),
        (None, "cpu_frequency", "MHz"): 2500.0,
        (None, "cpu_throttled", "events"): 2.0,
        (None, "package_energy", "J"): pytest.approx(0.5),
        (drive_name, "device_read", "B"): 2048 * 512.0,
        (drive_name, "device_written", "B"): 16 * 512.0,
        (drive_name, "device_busy", "%"): 0.0,
        (drive_name, "device_temperature", "degC"): pytest.approx(41.85),
        (drive_name, "joules", "J"): pytest.approx(12.5 * length_s),
    }
    assert telemetry.not_measured == [NotMeasured(Quantity.MEDIA_WRITES, "not an NVMe drive", "/dev/nvme0n1")]


def test_a_disk_whose_busy_time_begins_again_after_50_days_is_busy_by_the_difference(machine: Path):
    stat = "sys/devices/nvme0/nvme0n1/stat"
    write(machine, {stat: "1 0 8 0 1 0 16 0 0 4294967290 0\n"})
    with sampler(machine, drive()) as telemetry:
        telemetry.step("read")
        write(machine, {stat: "1 0 8 0 1 0 16 0 0 4 0\n"})
        rows = telemetry.drain()
    [busy_pct] = values(rows, "device_busy")
    assert busy_pct == pytest.approx(min(100.0, 10 / (rows[0].length_s * 10)))


def test_io_that_the_kernel_does_not_count_is_not_measured_instead_of_nothing(machine: Path):
    around = replace(drive(), passthrough=Path("/dev/ng0n1"))
    with sampler(machine, around) as telemetry:
        telemetry.step("read")
        assert not values(telemetry.drain(), "device_read")
    why = "the kernel does not count I/O by passthrough"
    assert NotMeasured(Quantity.TRAFFIC, why, "/dev/nvme0n1") in telemetry.not_measured
    write(machine, {"sys/devices/nvme0/nvme0n1/queue/iostats": "0\n"})
    off = sampler(machine, drive())
    why = "the kernel counts no I/O: queue/iostats of nvme0n1 is 0"
    assert NotMeasured(Quantity.TRAFFIC, why, "/dev/nvme0n1") in off.not_measured


def test_a_process_that_is_moved_to_another_control_group_is_followed(machine: Path):
    with sampler(machine, drive()) as telemetry:
        telemetry.step("read")
        write(
            machine,
            {
                "proc/self/cgroup": "0::/slow\n",
                "sys/fs/cgroup/slow/cpu.stat": "usage_usec 1\nnr_periods 10\nnr_throttled 9\n",
            },
        )
        assert values(telemetry.drain(), "cpu_quota_used_up") == [90.0]


def test_paths_that_are_not_live_count_their_time(machine: Path):
    parent = machine / "sys/devices/nvme-subsys0"
    for name in ("nvme3", "nvme4"):
        write(machine, {f"sys/devices/{name}/transport": "tcp\n", f"sys/devices/{name}/state": "live\n"})
        parent.mkdir(exist_ok=True)
        (parent / name).symlink_to(machine / "sys/devices" / name)
    (parent / "nvme0n1").mkdir()
    link = machine / "sys/devices/nvme0/nvme0n1/device"
    link.unlink()
    link.symlink_to(parent)
    with sampler(machine, drive()) as telemetry:
        telemetry.step("read")
        rows = telemetry.drain()
        assert values(rows, "nvme_paths") == [2.0]
        assert values(rows, "nvme_path_down") == [0.0]
        write(machine, {"sys/devices/nvme4/state": "connecting\n"})
        rows = telemetry.drain()
        assert values(rows, "nvme_path_down") == [rows[0].length_s]
        (machine / "sys/devices/nvme3/state").unlink()
        rows = telemetry.drain()
        assert values(rows, "nvme_path_down") == [2 * rows[0].length_s]


def test_resets_of_a_controller_are_counted_where_the_kernel_counts_them(machine: Path):
    with sampler(machine, drive()) as telemetry:
        telemetry.step("read")
        assert values(telemetry.drain(), "nvme_resets") == []
    write(machine, {"sys/devices/nvme0/transport": "pcie\n", "sys/devices/nvme0/diag/reset_count": "3\n"})
    with sampler(machine, drive()) as telemetry:
        telemetry.step("read")
        assert values(telemetry.drain(), "nvme_resets") == [0.0]
        write(machine, {"sys/devices/nvme0/diag/reset_count": "5\n"})
        assert values(telemetry.drain(), "nvme_resets") == [2.0]


def test_an_array_that_lacks_a_member_or_copies_counts_its_time(machine: Path):
    md = "sys/devices/nvme0/nvme0n1/md"
    write(machine, {f"{md}/degraded": "0\n", f"{md}/sync_action": "idle\n"})
    with sampler(machine, drive()) as telemetry:
        telemetry.step("read")
        rows = telemetry.drain()
        assert (values(rows, "md_degraded"), values(rows, "md_copying")) == ([0.0], [0.0])
        write(machine, {f"{md}/degraded": "1\n", f"{md}/sync_action": "recover\n"})
        rows = telemetry.drain()
        length_s = rows[0].length_s
        assert (values(rows, "md_degraded"), values(rows, "md_copying")) == ([length_s], [length_s])


def test_an_energy_counter_that_wrapped_is_continued(machine: Path):
    with sampler(machine, drive()) as telemetry:
        telemetry.step("read")
        write(machine, {"sys/class/powercap/intel-rapl:0/energy_uj": "250000"})
        assert values(telemetry.drain(), "package_energy") == [pytest.approx(1.25)]


def test_the_energy_of_the_packages_is_not_counted_again_with_the_platforms(machine: Path):
    zones = {"0": "package-0", "1": "psys", "2": "package-1"}
    write(machine, {f"sys/class/powercap/intel-rapl:{zone}/name": name for zone, name in zones.items()})
    energies = {f"sys/class/powercap/intel-rapl:{zone}/energy_uj": "1000000" for zone in zones}
    write(machine, energies)
    with sampler(machine, drive()) as telemetry:
        telemetry.step("read")
        write(machine, dict.fromkeys(energies, "1500000"))
        assert values(telemetry.drain(), "package_energy") == [pytest.approx(1.0)]


def test_rows_fit_the_telemetry_table(machine: Path):
    with sampler(machine, drive()) as telemetry:
        telemetry.step("read")
        rows = telemetry.drain()
    table = pa.Table.from_pylist([vars(row) for row in rows], schema=TELEMETRY)
    assert table.num_rows == len(rows) > 0


def test_absent_sources_are_named_and_give_no_rows(tmp_path: Path):
    write(tmp_path, {"proc/stat": "cpu  1 0 1 8 0 0 0 0 0 0\n"})
    with sampler(tmp_path, drive(dev=None)) as telemetry:
        telemetry.step("read")
        write(tmp_path, {"proc/stat": "cpu  2 0 1 9 0 0 0 0 0 0\n"})
        assert {row.name for row in telemetry.drain()} == {"cpu_busy", "cpu_steal"}
    subjects = (
        "CPU frequency",
        "CPU package energy",
        "CPU thermal throttling",
        "network traffic",
        "traffic, temperature, media writes and WAF of /dev/nvme0n1",
        "energy of /dev/nvme0n1",
    )
    assert {one.subject for one in telemetry.not_measured} == set(subjects)


def test_a_drive_that_goes_away_ends_its_rows_and_nothing_else(machine: Path):
    with sampler(machine, drive()) as telemetry:
        telemetry.step("read")
        (machine / "sys/devices/nvme0/nvme0n1/stat").unlink()
        (machine / "sys/devices/nvme0/hwmon1/temp1_input").unlink()
        (machine / "sys/devices/nvme0/hwmon1/power1_input").unlink()
        rows = telemetry.drain()
    assert {row.target for row in rows} == {None}
    assert rows


def test_intervals_of_a_step_join_without_gap_and_start_at_its_beginning(machine: Path):
    with Telemetry([drive()], period_s=0.05, proc=machine / "proc", sys=machine / "sys") as telemetry:
        telemetry.step("first")
        time.sleep(0.18)
        telemetry.step("second")
        time.sleep(0.08)
        rows = telemetry.drain()
    for step, at_least in (("first", 3), ("second", 1)):
        spans = [(r.start_s, r.length_s) for r in rows if r.step == step and r.name == "cpu_frequency"]
        assert len(spans) >= at_least
        assert spans[0][0] == 0
        for (start_s, length_s), (next_s, _) in itertools.pairwise(spans):
            assert next_s == pytest.approx(start_s + length_s, abs=1e-9)


def test_nothing_is_recorded_outside_a_step(machine: Path):
    with sampler(machine, drive()) as telemetry:
        assert telemetry.drain() == []


def test_real_traffic_is_counted_and_what_was_not_ours_is_its_share(loops: Loops):
    node = loops.attach(16 << 20)
    fd = os.open(node, os.O_RDWR)
    try:
        with Telemetry([device_target(node)]) as telemetry:
            telemetry.step("write")
            os.pwrite(fd, os.urandom(8 << 20), 0)
            os.fsync(fd)
            rows = telemetry.drain()
    finally:
        os.close(fd)
    assert sum(values(rows, "device_written")) == 8 << 20
    traffic = ("device_read", "device_written")
    moved = sum(row.value for row in rows if row.target == str(node) and row.name in traffic)
    assert moved == pytest.approx(8 << 20, rel=0.01)
