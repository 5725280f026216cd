"""Hosts behind a shell: what they may be called, what they may send, and what becomes of those that die."""

import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from fathom.errors import FathomError, RefusedError, UsageError
from fathom.fleet import hosts as hosts_module
from fathom.fleet import process, serve, wire
from fathom.fleet.agent import Ended, HostAgent, JobProgress, Sampled
from fathom.fleet.hosts import HostName, Patience, hosts_of_file, local_hosts
from fathom.fleet.initiators import WantedHosts, initiator_of
from fathom.fleet.process import HostProcess
from fathom.fleet.workers import HostWorkers
from fathom.output.text import size
from fathom.targets.parse import parse_target
from fathom.validation.trial import AtDepth, Measured, OpFigures, run_trial

NULL = parse_target("null:")


@pytest.mark.parametrize(
    "text",
    [
        "-oProxyCommand=touch /tmp/x",
        "-oProxyCommand=touch",
        "user@-oProxyCommand=x",
        "-l@host",
        "--",
        "a b",
        "a;b",
        "a\tb",
        "$(id)",
        "`id`",
        "../etc",
        "a/b",
        "a@b@c",
        "host:0",
        "host:65536",
        "host:-1",
        "host:port",
        "[fe80::1",
        "[host]:22",
        "[-x]:22",
        "fe80::1%-x",
        "\x1b]0;x\x07",
        "ssh://host",
        "",
        "@host",
        "host@",
    ],
)
def test_what_is_no_name_of_a_host_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a name of a host; write NAME"):
        HostName.parse(text)


@pytest.mark.parametrize(
    ("text", "reached"),
    [
        ("storage-1.example", ["--", "storage-1.example", "sh"]),
        ("10.0.0.1", ["--", "10.0.0.1", "sh"]),
        ("root@a_b", ["--", "root@a_b", "sh"]),
        ("root@a:2222", ["-p", "2222", "--", "root@a", "sh"]),
        ("fe80::1%eth0", ["--", "fe80::1%eth0", "sh"]),
        ("root@2001:db8::1", ["--", "root@2001:db8::1", "sh"]),
        ("[2001:db8::1]:22", ["-p", "22", "--", "2001:db8::1", "sh"]),
        ("[::1]", ["--", "::1", "sh"]),
        ("bücher", ["--", "bücher", "sh"]),
    ],
)
def test_a_host_is_reached_by_ssh_behind_the_end_of_options(text: str, reached: list[str]) -> None:
    command = HostName.parse(text).reached_by(["ssh", "-i", "key"])
    assert command[:3] == ["ssh", "-i", "key"]
    assert command[-len(reached) :] == reached


def test_a_port_is_for_ssh_alone() -> None:
    with pytest.raises(UsageError, match="only ssh accepts a port"):
        HostName.parse("a:22").reached_by(["ip", "netns", "exec"])


def test_a_name_that_is_an_option_runs_no_command(tmp_path: Path) -> None:
    seen, hosts = tmp_path / "seen", tmp_path / "hosts"
    hosts.write_text(f"-oProxyCommand=touch${{IFS}}{seen}\n")
    with pytest.raises(UsageError, match="not a name of a host"), hosts_of_file(hosts):
        pass
    assert not seen.exists()


@contextmanager
def host(script: str, shell: str = "sh") -> Iterator[HostProcess]:
    """A host whose shell runs that script instead of what it is sent."""
    with closing(HostProcess("h1", [shell, "-c", script])) as made:
        yield made


HELLO = "read -r line; word=${line##* }; echo fathom-agent $word; "
"""Answers as an agent does that has begun: the word is the last of the script's one line."""


def frame(text: bytes, length: int | None = None) -> str:
    """Printing a frame, by a shell."""
    data = struct.pack(">I", len(text) if length is None else length) + text
    return "printf '" + "".join(f"\\{byte:03o}" for byte in data) + "'; "


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (frame(b"", 1 << 31), r"sent a message of 2147483648 bytes; 67108864 are allowed"),
        (frame(b"garbage"), "sent a value of a wrong type"),
        (frame(b'{"id": 7}\n[1]'), "answered a call that was never made"),
        (frame(b'{"id": "x"}\n[1]'), "sent a value of a wrong type: id"),
        (frame(b'{"id": 1}\n["soon"]'), "sent a value of a wrong type: 0: Input should be a valid integer"),
        (frame(b'{"id": 1}\n[1.5]'), "sent a value of a wrong type: 0"),
        (frame(b'{"id": 1}\n[-1]'), "sent a value of a wrong type: 0"),
        (frame(b'{"id": 1}\n[' + b"9" * 400 + b"]"), "sent a value of a wrong type"),
        (
            frame(b'{"id": 1, "failure": {"kind": "os._exit", "message": "", "hint": null}}\nnull'),
            "wrong type",
        ),
        (frame(b'{"id": 1}\n' + b"[" * 5000), "sent a value of a wrong type"),
        ("", "the host or its agent has died"),
        ("echo broken >&2; ", "the host or its agent has died: broken"),
        ("kill -9 $$; ", "the host or its agent has died"),
        ("yes >&2; ", r"printed more than \d+ bytes of errors"),
    ],
)
def test_a_host_that_sends_what_it_may_not_is_lost_with_the_reason(sent: str, why: str) -> None:
    with host(HELLO + "head -c 4 >/dev/null; " + sent) as bad:
        bad.wait_for_start()
        with pytest.raises(FathomError, match=why):
            bad.submit(HostAgent.clock_ns).result(20)
        assert bad.lost is not None
        with pytest.raises(FathomError, match=why):
            bad.submit(HostAgent.clock_ns).result(1)


def test_a_host_that_answers_twice_is_lost() -> None:
    answer = frame(b'{"id": 1}\n[1]')
    with host(HELLO + "head -c 4 >/dev/null; " + answer + answer + "sleep 5") as bad:
        bad.wait_for_start()
        assert bad.submit(HostAgent.clock_ns).result(20) == 1
        deadline = time.monotonic() + 10
        while bad.lost is None and time.monotonic() < deadline:
            time.sleep(0.01)
        assert str(bad.lost) == "answered a call that was never made"


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("yes", f"its shell printed {64 << 10} bytes before the agent began"),
        ("head -c 10000000000 /dev/zero", f"its shell printed {64 << 10} bytes before the agent began"),
        ("echo no such command >&2; exit 127", "did not start: no such command; check that it"),
        ("echo Welcome; exit 1", "did not start: Welcome"),
        ("exit 1", "did not start: no reason given"),
        ("echo fathom-agent guess; sleep 1; exit 1", "did not start: fathom-agent guess"),
    ],
)
def test_a_shell_that_gives_no_agent_is_refused_at_once(script: str, why: str) -> None:
    begun = time.monotonic()
    with host(script) as bad, pytest.raises(FathomError, match=f"host h1: {re.escape(why)}"):
        bad.wait_for_start()
    assert time.monotonic() - begun < 10


def test_a_greeting_before_the_agent_is_passed_over() -> None:
    with closing(HostProcess("h1", ["sh", "-c", "echo Welcome; echo to h1; exec sh"])) as greeted:
        greeted.wait_for_start()
        assert greeted.submit(HostAgent.facts).result(20).name


def test_a_host_that_reads_nothing_is_lost_before_memory_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "MOST_UNSENT", 8)
    with host(HELLO + "sleep 30") as deaf:
        deaf.wait_for_start()
        for _ in range(200):
            deaf.submit(HostAgent.resolve, "x" * 100_000, None)
            if deaf.lost:
                break
        assert str(deaf.lost) == "does not read: 8 calls wait"


def test_errors_of_a_host_keep_their_kind_and_are_cut() -> None:
    for kind in (FathomError, UsageError, RefusedError):
        answer, _ = wire.parse_answer(wire.failure_frame(1, kind("why " * 1000, "do"))[4:])
        assert answer.failure is not None
        again = wire.error_of(answer.failure)
        assert type(again) is kind
        assert again.hint == "do"
        assert len(again.message) <= wire.MOST_WORDS
    answer, _ = wire.parse_answer(wire.failure_frame(1, ZeroDivisionError("by 0\nmore"))[4:])
    assert answer.failure is not None
    assert str(wire.error_of(answer.failure)) == "ZeroDivisionError: by 0"


@pytest.mark.parametrize(
    ("function", "result"),
    [
        (HostAgent.poll, JobProgress([b"\xff\x00", b""], 5, done=True)),
        (HostAgent.result, Ended(b"\x80", [Sampled(None, "s", 0.0, 1.0, "n", 2.5, "W")])),
        (HostAgent.resolve, NULL),
        (HostAgent.release, None),
        (
            run_trial,
            Measured(
                ops={None: OpFigures(1.5, 0.1, 2.0, bins=((1, 2, 3),)), "read": OpFigures(1e-300, 1, 1)},
                window_s=1.0, interval_pct=None, steady=True, grounds="g", limited_by=None,
                depths=(AtDepth(1, 2.0, None),),
            ),
        ),
    ],
)  # fmt: skip
def test_results_come_over_the_wire_as_they_were(function: Callable[..., object], result: object) -> None:
    _, values = wire.parse_answer(wire.result_frame(1, function, result)[4:])
    assert wire.result_of(function, values) == result
    assert wire.as_sent(function, result) == result


@pytest.mark.parametrize(
    "result",
    [
        None,
        "x",
        JobProgress([1], None),  # pyright: ignore
        JobProgress([b""], "soon"),  # pyright: ignore
        JobProgress([b""], 1 << 80),
        JobProgress([b""], -1),
    ],  # pyright: ignore
)
def test_results_of_a_wrong_type_are_refused_whichever_way_they_come(result: object) -> None:
    with pytest.raises(wire.WireError):
        wire.as_sent(HostAgent.poll, result)


@pytest.mark.parametrize("name", ["os:system", "fathomless:x", "subprocess:run", "fathom.errors:ExitCode.OK"])
def test_only_functions_of_fathom_are_called(name: str) -> None:
    with pytest.raises(FathomError):
        serve._function(name)


def tree(root: int) -> set[int]:
    """A process and all that came of it."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found = {root}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def listening(pids: set[int]) -> list[str]:
    """TCP sockets on which any of the processes waits for connections, as the kernel has them."""
    inodes = set()
    for pid in pids:
        for link in Path(f"/proc/{pid}/fd").glob("*"):
            try:
                inodes.add(str(link.readlink()))
            except OSError:
                continue
    rows = [
        row.split()
        for table in ("tcp", "tcp6")
        for row in Path(f"/proc/net/{table}").read_text().splitlines()[1:]
    ]
    return [row[1] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in inodes]


def test_the_listener_test_sees_a_listener() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = f"{server.getsockname()[1]:04X}"
        assert listening({os.getpid()}) == [f"0100007F:{port}"]


def test_a_fleet_listens_nowhere_and_leaves_nothing_under_tmp() -> None:
    before = {path.name for path in Path("/tmp").iterdir()}
    with local_hosts(3) as hosts:
        workers = HostWorkers(hosts, pytest.fail)
        assert workers.submit(size, 4096).result(60) == "4 KiB"
        processes = tree(os.getpid())
        assert len(processes) >= 4
        assert listening(processes) == []
    made = {path.name for path in Path("/tmp").iterdir()} - before
    assert not {name for name in made if "ray" in name or "fathom" in name}


def test_hosts_end_when_the_coordinator_is_killed() -> None:
    script = (
        "import time\nfrom fathom.fleet.hosts import local_hosts\n"
        "with local_hosts(2) as hosts:\n print('up', flush=True)\n time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as coordinator:
        assert coordinator.stdout is not None
        assert coordinator.stdout.readline() == b"up\n"
        left = tree(coordinator.pid) - {coordinator.pid}
        assert len(left) >= 2
        coordinator.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline and any(Path(f"/proc/{pid}").exists() for pid in left):
        time.sleep(0.05)
    assert not [pid for pid in left if Path(f"/proc/{pid}").exists()]


def test_a_simulation_whose_host_dies_is_made_on_another_and_one_line_says_so() -> None:
    said: list[str] = []
    with local_hosts(2) as hosts:
        workers = HostWorkers(hosts, said.append)
        os.kill(hosts[0]._process.pid, signal.SIGKILL)
        answers = [workers.submit(size, 1024 * k) for k in range(1, 9)]
        assert [answer.result(60) for answer in answers] == [f"{k} KiB" for k in range(1, 9)]
        os.kill(hosts[1]._process.pid, signal.SIGKILL)
        hosts[1]._process.wait(10)
        with pytest.raises(
            FathomError, match=r"host host\d: the host or its agent has died.*no host is left"
        ):
            [answer.result(60) for answer in [workers.submit(size, 1) for _ in range(3)]]
        with pytest.raises(FathomError, match="no host is left"):
            workers.submit(size, 1).result(60)
    assert said == [
        "host host1 was lost: the host or its agent has died; the hosts that are left do its work"
    ]


def test_a_worker_that_raises_says_what() -> None:
    with local_hosts(1) as hosts, pytest.raises(FathomError, match="is not a target"):
        HostWorkers(hosts, pytest.fail).submit(parse_target, "nothing:").result(60)


def reaching(folder: Path) -> str:
    """A shell that reaches a host once there is a file `up-HOST`."""
    script = folder / "reach"
    script.write_text(
        f'#!/bin/sh\n[ -e {folder}/up-$1 ] || {{ echo "no route to $1" >&2; exit 255; }}\nexec sh\n'
    )
    script.chmod(0o755)
    return str(script)


def test_a_host_that_starts_late_is_waited_for_with_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosts_module, "RETRY_S", 0.1)
    names, said = tmp_path / "hosts", list[str]()
    names.write_text("a\nb\n")
    (tmp_path / "up-a").touch()

    def tell(text: str) -> None:
        said.append(text)
        (tmp_path / "up-b").touch()

    with hosts_of_file(names, reaching(tmp_path), Patience(60.0, tell)) as found:
        assert [(host.name, host.lost) for host in found] == [("a", None), ("b", None)]
    assert said == ["host b: did not start: no route to b; tries again for up to 1 min 00 s"]


def test_waiting_for_a_host_ends_with_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosts_module, "RETRY_S", 0.1)
    names, said = tmp_path / "hosts", list[str]()
    names.write_text("b\n")
    with (
        pytest.raises(FathomError, match=r"host b: did not start: no route to b; tried for 3"),
        hosts_of_file(names, reaching(tmp_path), Patience(3.0, said.append)),
    ):
        pass
    assert len(said) == 1


@pytest.mark.parametrize(
    ("hosts", "local", "wait", "message"),
    [(None, 2, "5s", "--wait is for the hosts of --hosts"), (Path("hosts"), None, "soon", "--wait soon: ")],
)
def test_a_wait_that_cannot_be_is_refused(
    hosts: Path | None, local: int | None, wait: str, message: str
) -> None:
    wanted = WantedHosts(hosts, local_hosts=local, wait=wait)
    with pytest.raises(UsageError, match=message), initiator_of(wanted):
        pass


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
def test_a_shared_directory_that_takes_no_folder_is_one_line() -> None:
    with pytest.raises(
        UsageError, match=r"/proc/fathom-h1: .*; give a directory in which every host may write"
    ):
        HostAgent("h1").resolve("dir:/proc", None)
