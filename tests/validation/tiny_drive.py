"""A user's drive of 256 MiB with eight dies, its bench and published results: quick to simulate."""

from pathlib import Path

NAME = "acme-tiny-256mib"
CAPACITY = 268_435_456

PARAMETERS: dict[str, int | float | str | bool] = {
    "slice_denominator": 1,
    "block_bytes": 4096,
    "pcie_generation": 3,
    "pcie_lanes": 4,
    "command_pipelines": 1,
    "command_ns": 1000.0,
    "read_unit_ns": 1000.0,
    "write_unit_ns": 1000.0,
    "command_latency_us": 5.0,
    "dram_read_us": 1.0,
    "write_buffer_bytes": 1_572_864,
    "write_ack_us": 5.0,
    "channels": 4,
    "dies_per_channel": 2,
    "planes_per_die": 1,
    "independent_plane_reads": False,
    "nand_page_bytes": 16384,
    "pages_per_program": 3,
    "erase_unit_bytes": 786_432,
    "channel_mts": 800.0,
    "channel_command_ns": 300.0,
    "channel_parity_ratio": 1.1,
    "read_sense_us": 80.0,
    "read_sense_spread": 0.2,
    "read_sense_time": "page-type",
    "ecc_us": 2.0,
    "program_us": 1200.0,
    "erase_us": 3500.0,
    "program_suspend": True,
    "suspend_us": 20.0,
    "program_min_run_us": 50.0,
    "program_max_wait_us": 500.0,
    "programming_dies_max": 8,
    "over_provisioning": 0.28,
    "gc_free_superblocks": 4,
    "idle_w": 1.0,
    "command_uj": 0.3,
    "link_nj_per_byte": 0.5,
    "channel_nj_per_byte": 0.1,
    "read_sense_uj": 2.5,
    "program_uj": 130.0,
    "erase_uj": 300.0,
}
HOST: dict[str, int | float] = {
    "cores": 8,
    "submit_us": 1.0,
    "complete_us": 1.0,
    "wake_us": 2.0,
    "tlp_payload_bytes": 256,
    "tlp_overhead_bytes": 24,
    "link_protocol_share": 0.03,
}
RANDOM_READ = 'block_kib = 4, read_pct = 100, pattern = "rand", iodepth = 8'
READ_ROW = f'{{ workload = "rand-read", role = "calibration", {RANDOM_READ}, iops = 70000 }}'


def device_toml(calibrated: tuple[str, ...] = (), reasons: str = "", **changed: float) -> str:
    """The device's file; `calibrated` parameters have that basis, and `changed` ones another value."""
    lines = [
        'schema = "fathom-device/1"',
        f'name = "{NAME}"',
        'published = "acme-tiny"',
        f"capacity_bytes = {CAPACITY}",
        "[identity]",
        'vendor = "Acme"',
        'model = "Tiny"',
        'label = "Acme Tiny"',
        "[twin]",
        'kind = "ssd"',
        'bench = "acme-bench"',
    ]
    for name, value in (PARAMETERS | changed).items():
        basis = "calibrated" if name in calibrated else "assumed"
        lines += [
            f"[twin.parameters.{name}]",
            f"value = {_toml(value)} # a comment",
            f'basis = "{basis}"',
            'source = "test"',
        ]
    return "\n".join([*lines, reasons, ""])


def bench_toml(region_pct: float | None = None) -> str:
    """The bench's file."""
    lines = [
        'schema = "fathom-system/1"',
        'name = "acme-bench"',
        'kind = "bench"',
        'label = "Acme bench"',
        'source = "test"',
    ]
    if region_pct:
        lines.append(f"region_pct = {region_pct:g}")
    for name, value in HOST.items():
        lines += [f"[parameters.{name}]", f"value = {value}", 'basis = "assumed"', 'source = "test"']
    return "\n".join([*lines, ""])


DEPTHS = """
window_s = 2
[[prior]]
source = "test"
job = { mix = "write", block = "128KiB", pattern = "sequential", load = { iodepth = 8 }, until = { time = "1s" } }
[[prior]]
source = "test"
job = { mix = "write", block = "4KiB", pattern = "uniform", load = { iodepth = 8 }, until = { time = "8s" } }
[depths]
iodepths = [1, 2, 4, 8, 16]
time_s = 6
source = "test"
"""


def depths_toml() -> str:
    """The file of a bench that writes at iodepth 8 for long, and then goes through others."""
    head, cores = bench_toml().split("[parameters.cores]")
    return f"{head}{DEPTHS}[parameters.cores]{cores}"


def published_toml(*rows: str, extra: str = "") -> str:
    """Published results on that bench."""
    return f"""\
schema = "fathom-published/1"
name = "acme-tiny"
[identity]
vendor = "Acme"
model = "Tiny"
kind = "ssd"
source = "test"
[[published]]
bench = "acme-bench"
subject = "Acme Tiny"
units = 1
source = "a test"
rows = [
  {", ".join(rows)}
]
{extra}
"""


def _toml(value: object) -> str:
    return (
        str(value).lower()
        if isinstance(value, bool)
        else f'"{value}"'
        if isinstance(value, str)
        else repr(value)
    )


class Catalogue:
    """The folder that stands for the user's catalogue."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, name: str, text: str) -> Path:
        """Writes `devices/x.toml` and the like."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def device(self, calibrated: tuple[str, ...] = (), reasons: str = "", **changed: float) -> Path:
        """The drive, its bench as it is or new."""
        if not (self.folder / "systems/acme-bench.toml").exists():
            self.write("systems/acme-bench.toml", bench_toml())
        return self.write(f"devices/{NAME}.toml", device_toml(calibrated, reasons, **changed))

    def rows(self, *rows: str, extra: str = "") -> Path:
        """The drive's published results."""
        return self.write("published/acme-tiny.toml", published_toml(*rows, extra=extra))
