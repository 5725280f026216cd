"""The machine a run happened on, as run.json keeps it: kernel, processor, memory, virtualisation, io_uring.

What belongs to one target (model, link, scheduler, file system) is in that target's identity. Host and user
names are not read.
"""

import errno
import os
import platform
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from fathom.targets.mounts import PROC, SYS
from fathom.targets.syscalls import io_uring_errno
from fathom.targets.sysfs import number, text

if TYPE_CHECKING:
    from pydantic import JsonValue

_HYPERVISORS = {
    "QEMU": "kvm",
    "Amazon EC2": "kvm (ec2)",
    "Google": "kvm (gce)",
    "Microsoft Corporation": "hyper-v",
    "VMware, Inc.": "vmware",
    "innotek GmbH": "virtualbox",
    "Xen": "xen",
}
_CLOCKS = {"kvm-clock": "kvm", "hyperv_clocksource_tsc_page": "hyper-v", "xen": "xen"}
_LIBRARIES = ("fathom", "numpy", "pyarrow", "duckdb")


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Facts about the machine; None where it does not report them.

    `threads_allowed` are the hardware threads this process may run on, `cpu_quota_threads` how many of them its control
    group pays for. `governor` lists every one in use. `io_uring` is `available` or the reason why it is not.
    """

    kernel: str
    distribution: str | None
    architecture: str
    cpu_model: str | None
    sockets: int | None
    cores: int | None
    threads: int
    threads_allowed: int
    cpu_quota_threads: float | None
    governor: str | None
    smt: bool | None
    numa_nodes: int | None
    memory_bytes: int | None
    memory_limit_bytes: int | None
    virtualisation: str
    container: str | None
    io_uring: str
    versions: dict[str, str]

    def to_json(self) -> "dict[str, JsonValue]":
        """Returns all fields, for run.json."""
        return asdict(self)


def environment(proc: Path = PROC, sys: Path = SYS) -> Environment:
    """Reads the machine as it is now."""
    cpus = sorted((sys / "devices/system/cpu").glob("cpu[0-9]*"))
    topology = [(number(c / "topology/physical_package_id"), number(c / "topology/core_id")) for c in cpus]
    known = [(package, core) for package, core in topology if package is not None and core is not None]
    governors = sorted({found for c in cpus if (found := text(c / "cpufreq/scaling_governor"))})
    smt = number(sys / "devices/system/cpu/smt/active")
    return Environment(
        kernel=platform.release(),
        distribution=_distribution(),
        architecture=platform.machine(),
        cpu_model=_cpu_model(proc),
        sockets=len({package for package, _ in known}) or None,
        cores=len(set(known)) or None,
        threads=os.cpu_count() or 1,
        threads_allowed=len(os.sched_getaffinity(0)),
        cpu_quota_threads=_cpu_quota(_own_group(proc, sys)),
        governor=", ".join(governors) or None,
        smt=None if smt is None else smt == 1,
        numa_nodes=len(list((sys / "devices/system/node").glob("node[0-9]*"))) or None,
        memory_bytes=_memory_bytes(proc),
        memory_limit_bytes=number(_own_group(proc, sys) / "memory.max"),
        virtualisation=_virtualisation(proc, sys),
        container=_container(),
        io_uring=_io_uring(proc),
        versions=versions(),
    )


def versions() -> dict[str, str]:
    """Returns the versions of Fathom, its Python and the libraries that write its files."""
    return {"python": platform.python_version(), **dict(_installed(_LIBRARIES))}


def _installed(names: Iterable[str]) -> Iterable[tuple[str, str]]:
    for name in names:
        try:
            yield name, metadata.version(name)
        except metadata.PackageNotFoundError:
            continue


def _distribution() -> str | None:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return None


def _cpu_model(proc: Path) -> str | None:
    """Returns the processor's name: `model name` on x86; on Arm, which has none, implementer and part numbers."""
    pairs = dict(line.split(":", 1) for line in (text(proc / "cpuinfo") or "").splitlines() if ":" in line)
    facts = {key.strip(): value.strip() for key, value in pairs.items()}
    if name := facts.get("model name") or facts.get("Model") or facts.get("cpu"):
        return name
    if "CPU part" in facts:
        return f"Arm implementer {facts.get('CPU implementer')} part {facts['CPU part']}"
    return None


def _memory_bytes(proc: Path) -> int | None:
    first = (text(proc / "meminfo") or "").split()
    return int(first[1]) * 1024 if first[:1] == ["MemTotal:"] else None


def _own_group(proc: Path, sys: Path) -> Path:
    """Returns the directory of this process's control group (version 2; elsewhere its files are simply absent)."""
    lines = (text(proc / "self/cgroup") or "").splitlines()
    own = next((line[3:] for line in lines if line.startswith("0::")), "/")
    return sys / "fs/cgroup" / own.lstrip("/")


def _cpu_quota(group: Path) -> float | None:
    words = (text(group / "cpu.max") or "max").split()
    return int(words[0]) / int(words[1]) if words[0] != "max" else None


def _virtualisation(proc: Path, sys: Path) -> str:
    """Returns `none`, or the hypervisor: named by the firmware or by its clock, else only known to be there."""
    if (text(sys / "hypervisor/type")) == "xen":
        return "xen"
    vendor = text(sys / "class/dmi/id/sys_vendor") or ""
    product = text(sys / "class/dmi/id/product_name") or ""
    metal = (vendor == "Microsoft Corporation" and "Virtual" not in product) or product.endswith(".metal")
    if vendor in _HYPERVISORS and not metal:
        return _HYPERVISORS[vendor]
    clocks = (text(sys / "devices/system/clocksource/clocksource0/available_clocksource") or "").split()
    if named := next((_CLOCKS[clock] for clock in clocks if clock in _CLOCKS), None):
        return named
    flags = next((x for x in (text(proc / "cpuinfo") or "").splitlines() if x.startswith("flags")), "")
    return "a hypervisor without a name" if "hypervisor" in flags.split() else "none"


def _container() -> str | None:
    if Path("/run/.containerenv").exists():
        return "podman"
    if Path("/.dockerenv").exists():
        return "docker"
    marked = os.environ.get("container")  # noqa: SIM112 - spelt so by systemd, LXC and podman
    return marked or ("kubernetes" if "KUBERNETES_SERVICE_HOST" in os.environ else None)


def _io_uring(proc: Path) -> str:
    """Returns `available` if a ring can be made, else the setting that refuses it."""
    code = io_uring_errno()
    if code == 0:
        return "available"
    disabled = number(proc / "sys/kernel/io_uring_disabled")
    if disabled:
        return f"refused: kernel.io_uring_disabled = {disabled}"
    reasons = {
        errno.ENOSYS: "not in this kernel",
        errno.EPERM: "refused by a seccomp filter or security module",
    }
    return reasons.get(code, f"refused: {os.strerror(code)}")
