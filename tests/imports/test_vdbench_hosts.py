"""Vdbench files of several hosts: a method is what one host does, and a note says what the others have.

The model is written after the sources of Vdbench 5.04.06. A workload goes to each of its hosts with the storage that
this one has (`RD_entry.createWgListForOneRd`, RD_entry.java:1883). Threads of one storage are dealt out to the hosts
that have it (`RD_entry.spreadSdThreadsAcrossSlaves`). A rate is divided equally over all storage of all hosts
(`HandleSkew.spreadWgSkew`, HandleSkew.java:96).
"""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from fathom.errors import UsageError
from fathom.imports import import_method

TWO = "hd=default,user=root\nhd=a,system=one.lab\nhd=b,system=two.lab\nsd=default,openflags=o_direct\n"
DIVIDED = (
    "2 hosts divide this load in Vdbench: here one host has all of it; do not run it with --hosts, which gives all to "
    "each"
)
ALIKE = (
    "each of 2 hosts has devices of its own by these names, and its part of the rate: run this on all 2, fathom run "
    "--hosts FILE"
)


def imported(tmp_path: Path, text: str) -> tuple[list[dict[str, Any]], list[str], str]:
    """The steps, the notes on runs, and what to run it on."""
    file = tmp_path / "hosts.parm"
    file.write_text(text)
    method, notes = import_method(file)
    [target] = [line for line in method.splitlines() if line.startswith("# Run it on ")]
    said = [note.partition(": ")[2] for note in notes if " host" in note.partition(": ")[2]]
    return (
        tomllib.loads(method)["steps"],
        [one for one in said if "reaches" not in one],
        target.removeprefix("# Run it on "),
    )


def test_hosts_with_devices_of_their_own_by_the_same_names_each_do_what_the_method_says(
    tmp_path: Path,
) -> None:
    steps, notes, target = imported(
        tmp_path,
        f"{TWO}sd=a1,host=a,lun=/dev/sdb\nsd=b1,host=b,lun=/dev/sdb\nsd=a2,host=a,lun=/dev/sdc\n"
        "sd=b2,host=b,lun=/dev/sdc\nwd=w,sd=*,rdpct=0\nrd=r,wd=w,iorate=1000,threads=6,maxdata=8g\n",
    )
    [step] = steps
    assert notes == [ALIKE]
    assert target == "array:/dev/sdb,/dev/sdc"
    # Six threads of each device, and half of the rate and of each device's data.
    assert step["job"]["load"] == {
        "threads": 12,
        "iodepth": 1,
        "rate": "500/s",
        "arrival": "exponential",
        "split": "even",
    }
    assert step["job"]["until"]["bytes"] == "2GiB"


def test_several_hosts_of_one_machine_are_one(tmp_path: Path) -> None:
    _, notes, target = imported(
        tmp_path,
        "hd=a,system=one.lab\nhd=b,system=one.lab\nsd=default,openflags=o_direct\n"
        "sd=s1,host=a,lun=/dev/sdb\nsd=s2,host=b,lun=/dev/sdc\nwd=w,sd=*\nrd=r,wd=w,iorate=max\n",
    )
    assert (notes, target) == ([], "array:/dev/sdb,/dev/sdc")


@pytest.mark.parametrize(
    "storage",
    [
        "sd=s1,lun=/dev/sdb\nsd=s2,lun=/dev/sdc\n",
        "sd=s1,host=a,lun=/dev/sdb\nsd=s2,host=two.lab,lun=/dev/sdc\n",
    ],
    ids=["both-have-all-storage", "each-has-its-own"],
)
def test_a_load_that_hosts_divide_is_whole_on_one_and_a_note_says_so(storage: str, tmp_path: Path) -> None:
    [step], notes, target = imported(tmp_path, f"{TWO}{storage}wd=w,sd=*\nrd=r,wd=w,iorate=1000,threads=6\n")
    assert notes == [DIVIDED]
    assert target == "array:/dev/sdb,/dev/sdc"
    assert (step["job"]["load"]["threads"], step["job"]["load"]["rate"]) == (12, "1000/s")


def test_a_workload_touches_only_the_storage_of_its_hosts(tmp_path: Path) -> None:
    text = f"{TWO}sd=s1,host=a,lun=/dev/sdb\nsd=s2,host=b,lun=/dev/sdc\nwd=w,host=b,sd=s*,rdpct=0\n"
    _, notes, target = imported(tmp_path, f"{text}rd=r,wd=w,iorate=max\n")
    assert (notes, target) == ([], "/dev/sdc")
    with pytest.raises(UsageError, match=r"hosts\.parm:8: sd=s1: no host of wd=w has that storage"):
        imported(tmp_path, f"{text}rd=r,wd=w,sd=s1,iorate=max\n")


def test_devices_of_one_name_on_hosts_that_do_otherwise_are_refused(tmp_path: Path) -> None:
    text = (
        f"{TWO}sd=a1,host=a,lun=/dev/sdb\nsd=a2,host=a,lun=/dev/sdc\nsd=b1,host=b,lun=/dev/sdc\nwd=w,sd=*\n"
    )
    refusal = (
        r"hosts\.parm:9: rd=r: sd=a2 and sd=b1 are the same device, or those of hosts that do not do the same"
    )
    with pytest.raises(UsageError, match=refusal):
        imported(tmp_path, f"{text}rd=r,wd=w\n")
    alike, one_host = "rd=r,wd=w,sd=(a2,b1)\n", "rd=one,wd=w,sd=a2\n"
    assert imported(tmp_path, text + alike)[1:] == ([ALIKE], "/dev/sdc")
    # As one method each host would do the run of one.
    with pytest.raises(UsageError, match=refusal):
        imported(tmp_path, text + alike + one_host)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("sd=s,host=c,lun=/dev/sdb\nwd=w,sd=s\nrd=r,wd=w\n", r":5: host=c: there is no host c"),
        ("sd=s,lun=/dev/sdb\nwd=w,sd=s,host=c*\nrd=r,wd=w\n", r":6: host=c\*: there is no host c\*"),
        ("fsd=f,anchor=/x\nfwd=w,fsd=f,host=c\nrd=r,fwd=w,fwdrate=max\n", r":6: host=c: there is no host c"),
        (
            "sd=s,host=a,lun=/dev/sdb,lun=/dev/sdc,host=b\nwd=w,sd=s\nrd=r,wd=w\n",
            r":5: lun=/dev/sdc: another lun for other hosts has no counterpart",
        ),
    ],
)
def test_a_host_that_there_is_not_and_a_device_by_host_are_refused(
    text: str, what: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=what):
        imported(tmp_path, TWO + text)


def test_files_that_hosts_divide_have_all_of_their_load_on_one(tmp_path: Path) -> None:
    _, notes, target = imported(
        tmp_path,
        f"{TWO}fsd=f1,anchor=/x\nfsd=f2,anchor=/y\nfwd=w1,host=a,fsd=f1\nfwd=w2,host=b,fsd=f2\n"
        "rd=r,fwd=*,fwdrate=100,format=yes\n",
    )
    assert (notes, target) == ([DIVIDED], "array:dir:/x,dir:/y")
