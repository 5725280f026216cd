import io
import json
from dataclasses import replace

from loop_devices import Loops, sh
from rich.console import Console

from fathom.targets.discover import DEVICES_SCHEMA, DeviceReport, devices_json, discover, print_devices
from fathom.targets.safety import Refusal
from fathom.targets.target import Identity, Target


def test_attached_devices_are_listed_with_their_verdict_and_token(loops: Loops):
    clean, signed = loops.attach(), loops.attach()
    sh("mkswap", signed)
    reports = {report.target.name: report for report in discover()}
    assert reports[str(clean)].verdict == "safe"
    assert reports[str(clean)].destroy_token.startswith(f"{clean.name}:/")
    assert reports[str(signed)].verdict == "refused: holds swap"
    assert not reports[str(signed)].safe


def test_loop_devices_without_a_file_are_left_out(loops: Loops):
    node = loops.attach()
    sh("losetup", "-d", node)
    assert str(node) not in [report.target.name for report in discover()]


def report(model: str) -> DeviceReport:
    identity = Identity(device="nvme0n1", model=model, serial="S1", transport="nvme-pcie")
    target = Target(
        name="/dev/nvme0n1",
        kind="device",
        path=None,
        capacity_bytes=7_681_501_126_656,
        logical_block_bytes=512,
        direct_align_bytes=512,
        identity=identity,
        label=model,
    )
    return DeviceReport(target, (Refusal("mounted", "mounted on /data (xfs)"),), "S1")


def printed(*reports: DeviceReport) -> str:
    text = io.StringIO()
    print_devices(Console(file=text, width=200), reports)
    return text.getvalue()


def test_the_table_shows_model_serial_size_transport_and_reason():
    shown = printed(report("Acme"))
    for expected in ("/dev/nvme0n1", "Acme", "S1", "7.68 TB", "nvme-pcie", "refused: mounted on /data (xfs)"):
        assert expected in shown


def test_a_device_without_a_serial_shows_what_destroy_takes_instead():
    loop = replace(report("disk.img"), destroy_token="loop0:/var/tmp/disk.img")
    assert "--destroy" in printed(loop)
    assert "loop0:/var/tmp/disk.img" in printed(loop)


def test_a_stacked_device_is_listed_by_its_name_and_kind():
    volume = report("-")
    identity = Identity(device="dm-3", transport="device-mapper", mapped="vg-data", layers=("LVM", "raid1"))
    assert "vg-data (LVM)" in printed(replace(volume, target=replace(volume.target, identity=identity)))


def test_a_model_that_looks_like_markup_is_shown_as_it_is():
    assert "[red]Acme[/red]" in printed(report("[red]Acme[/red]"))


def test_the_json_form_is_versioned_and_complete():
    document = json.loads(json.dumps(devices_json([report("Acme")])))
    assert document["schema"] == DEVICES_SCHEMA
    (device,) = document["devices"]
    assert device["refusals"] == [{"rule": "mounted", "reason": "mounted on /data (xfs)"}]
    assert (device["safe"], device["destroy_token"], device["identity"]["model"]) == (False, "S1", "Acme")


def test_where_no_device_may_be_written_the_list_says_what_can_be_tested():
    for shown in (printed(), printed(report("Acme"))):
        assert "fathom run four-corners file:scratch.bin" in shown
        assert "twins need no disk" in shown
    assert "safe to write" not in printed()


def test_of_a_safe_device_the_list_says_how_to_go_on():
    safe = replace(report("Acme"), refusals=())
    shown = printed(report("Other"), safe)
    assert "fathom plan four-corners /dev/nvme0n1" in shown
    assert "scratch.bin" not in shown
