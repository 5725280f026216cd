import errno
import getpass
import json
import os
import platform
import socket
from pathlib import Path

import pytest

from fathom.targets import environment as module
from fathom.targets.environment import environment


def write(root: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def two_socket_server(root: Path) -> Path:
    for cpu in range(8):
        base = f"devices/system/cpu/cpu{cpu}"
        governor = "performance" if cpu else "powersave"
        topology = {"physical_package_id": cpu // 4, "core_id": cpu % 2}
        write(root, {f"{base}/topology/{name}": str(value) for name, value in topology.items()})
        write(root, {f"{base}/cpufreq/scaling_governor": governor})
    write(root, {"devices/system/cpu/smt/active": "1", "fs/cgroup/box/cpu.max": "150000 100000"})
    write(root, {"fs/cgroup/box/memory.max": "1073741824", "class/dmi/id/sys_vendor": "Dell Inc."})
    for node in range(2):
        write(root, {f"devices/system/node/node{node}/cpulist": "0"})
    return root


def test_cores_sockets_governors_and_limits_are_counted(tmp_path: Path):
    proc, sys = tmp_path / "proc", two_socket_server(tmp_path / "sys")
    write(proc, {"self/cgroup": "0::/box\n", "meminfo": "MemTotal: 1024 kB\n"})
    write(proc, {"cpuinfo": "processor : 0\nmodel name\t: Acme 9000\nflags\t: fpu\n"})
    found = environment(proc, sys)
    assert (found.sockets, found.cores, found.smt, found.numa_nodes) == (2, 4, True, 2)
    assert found.governor == "performance, powersave"
    assert (found.cpu_quota_threads, found.memory_limit_bytes, found.memory_bytes) == (1.5, 1 << 30, 1 << 20)
    assert (found.cpu_model, found.virtualisation) == ("Acme 9000", "none")


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"sys/class/dmi/id/sys_vendor": "QEMU"}, "kvm"),
        ({"sys/class/dmi/id/sys_vendor": "Microsoft Corporation"}, "none"),
        (
            {
                "sys/class/dmi/id/sys_vendor": "Microsoft Corporation",
                "sys/class/dmi/id/product_name": "Virtual Machine",
            },
            "hyper-v",
        ),
        ({"sys/class/dmi/id/sys_vendor": "Amazon EC2", "sys/class/dmi/id/product_name": "i3.metal"}, "none"),
        ({"sys/devices/system/clocksource/clocksource0/available_clocksource": "kvm-clock tsc"}, "kvm"),
        ({"proc/cpuinfo": "flags : fpu hypervisor"}, "a hypervisor without a name"),
        ({"sys/hypervisor/type": "xen"}, "xen"),
    ],
)
def test_the_hypervisor_is_named_where_something_names_it(
    tmp_path: Path, files: dict[str, str], expected: str
):
    write(tmp_path, files)
    assert environment(tmp_path / "proc", tmp_path / "sys").virtualisation == expected


def test_what_cannot_be_read_is_unknown_and_not_invented(tmp_path: Path):
    found = environment(tmp_path / "proc", tmp_path / "sys")
    assert (found.cpu_model, found.governor, found.smt, found.cores, found.memory_bytes) == (None,) * 5


@pytest.mark.parametrize(
    ("code", "setting", "expected"),
    [
        (0, "0", "available"),
        (errno.EPERM, "2", "refused: kernel.io_uring_disabled = 2"),
        (errno.EPERM, "0", "refused by a seccomp filter or security module"),
        (errno.ENOSYS, "", "not in this kernel"),
    ],
)
def test_io_uring_is_tried_and_its_refusal_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, setting: str, expected: str
):
    write(tmp_path / "proc", {"sys/kernel/io_uring_disabled": setting})
    monkeypatch.setattr(module, "io_uring_errno", lambda: code)
    assert environment(tmp_path / "proc", tmp_path / "sys").io_uring == expected


def test_this_machine_is_described_without_its_host_or_user_name():
    found = environment()
    text = json.dumps(found.to_json())
    assert found.kernel == platform.release()
    assert 1 <= found.threads_allowed <= found.threads == os.cpu_count()
    assert found.versions["python"] == platform.python_version()
    words = {word.strip('",') for word in text.split()}
    assert socket.gethostname() not in words
    assert getpass.getuser() not in words
