"""What a device, or the zones of one, must refuse is refused before the run."""

from dataclasses import replace
from pathlib import Path

import pytest

from fathom.errors import RefusedError, UsageError
from fathom.load.resolve import resolve_targets
from fathom.method.method import load_method, parse_method
from fathom.plan.fit import check_fits
from fathom.targets.target import Identity, Target


def drive_named(name: str, identity: Identity) -> Target:
    return Target(
        name=name,
        kind="device",
        label="Drive",
        path=Path(name),
        capacity_bytes=480_000_000_000,
        logical_block_bytes=512,
        direct_align_bytes=512,
        identity=identity,
    )


@pytest.mark.parametrize("rotational", [True, False])
@pytest.mark.parametrize("quick", [True, False])
def test_the_steady_state_of_a_real_ssd_is_not_asked_of_a_shortened_run(
    quick: bool, rotational: bool
) -> None:
    method = load_method("enterprise-steady-state", quick=quick)
    drive = drive_named("/dev/sdb", Identity(rotational=rotational))
    if quick and not rotational:
        with pytest.raises(
            UsageError, match="shortened, enterprise-steady-state does not fill a drive"
        ) as refused:
            check_fits(method, drive)
        assert refused.value.hint == "run it without --quick, which takes 11 h 10 min"
    else:
        check_fits(method, drive)


def test_a_shortened_method_that_never_fills_is_not_advised_at_full_length() -> None:
    drive = drive_named("/dev/sdb", Identity(rotational=False))
    with pytest.raises(UsageError, match="what-if does not fill a drive") as refused:
        check_fits(load_method("what-if", quick=True), drive)
    assert refused.value.hint == "take a twin, or a method that fills a drive, such as four-corners"


def test_blocks_of_more_than_one_command_are_refused_by_passthrough_before_the_run() -> None:
    method = load_method("four-corners")
    block = drive_named("/dev/nvme0n1", Identity(rotational=False, command_bytes_max=64 << 10))
    drive = replace(block, name="/dev/ng0n1", passthrough=Path("/dev/ng0n1"))
    with pytest.raises(
        UsageError, match=r"step fill has blocks of 128 KiB; by passthrough .* the drive takes at most 64 KiB"
    ):
        check_fits(method, drive)
    check_fits(method, block)
    check_fits(method, replace(drive, identity=Identity(rotational=False, command_bytes_max=256 << 10)))


def test_a_device_that_no_job_can_run_on_is_refused_before_the_run() -> None:
    method = load_method("four-corners")
    block = drive_named("/dev/nvme0n1", Identity(rotational=False, block_metadata_bytes=8))
    check_fits(method, block)
    with pytest.raises(UsageError, match="blocks carry 8 B of metadata, which passthrough jobs do not send"):
        check_fits(method, replace(block, name="/dev/ng0n1", passthrough=Path("/dev/ng0n1")))
    with pytest.raises(RefusedError, match=r"/dev/nvme0n1 refused: has no medium \(size 0\)"):
        check_fits(method, replace(block, capacity_bytes=0))


@pytest.mark.parametrize(
    ("job", "said"),
    [
        ('pattern = "uniform"\nuntil = { time = "9s" }', "step one writes at random places"),
        (
            'pattern = "sequential"\nuntil = { time = "9s" }',
            "step one goes over its region until its time is over",
        ),
        ('pattern = "sequential"\nuntil = { written = "2x" }', "step one goes over its region again"),
        ('pattern = "sequential"\nuntil = { written = "1x" }', None),
        (
            'pattern = "sequential"\nload = { iodepth = 4 }\nuntil = { written = "1x" }',
            "step one keeps 4 writes in flight",
        ),
        ('pattern = "uniform"\nuntil = { time = "9s" }\nregion = "1%"', None),
        ('pattern = { zones = 1 }\nuntil = { time = "9s" }', None),
    ],
)
def test_writes_that_zones_must_refuse_are_refused_before_the_run(job: str, said: str | None) -> None:
    job += "" if "load" in job else "\nload = {}"
    text = f'name = "zoned"\n[[steps]]\nname = "one"\n[steps.job]\nmix = "write"\nblock = "64KiB"\n{job}\n'
    method = parse_method(f'schema = "fathom-method/1"\n{text}', "zoned.toml")
    drive = drive_named("/dev/sdb", Identity(rotational=True, zoned="host-managed"))
    if said:
        with pytest.raises(UsageError, match=f"/dev/sdb: {said}, and this host-managed zoned device"):
            check_fits(method, drive)
    else:
        check_fits(method, drive)
    if "zones" not in job:
        check_fits(method, replace(drive, makes="btrfs"))


@pytest.mark.parametrize(
    ("start", "size", "passes"), [(0, 48, True), (0, 49, False), (64, 48, True), (120, 1, False)]
)
def test_one_pass_is_refused_where_it_reaches_blocks_behind_the_capacity_of_a_zone(
    start: int, size: int, passes: bool
) -> None:
    region = f'region = {{ start = "{start}MiB", size = "{size}MiB" }}'
    job = f'mix = "write"\nblock = "64KiB"\npattern = "sequential"\nuntil = {{ written = "1x" }}\n{region}\nload = {{}}'
    text = f'schema = "fathom-method/1"\nname = "m"\n[[steps]]\nname = "one"\n[steps.job]\n{job}\n'
    zones = Identity(zoned="host-managed", zone_bytes=64 << 20, zone_capacity_bytes=48 << 20)
    drive = drive_named("/dev/nvme1n1", zones)
    if passes:
        check_fits(parse_method(text, "m.toml"), drive)
        return
    with pytest.raises(
        UsageError, match=r"step one writes .* only 48 MiB of each zone of 64 MiB can be written"
    ):
        check_fits(parse_method(text, "m.toml"), drive)
    in_order = text.replace('"sequential"', '{ zones = { open = "in-order", ends = true } }')
    check_fits(parse_method(in_order, "m.toml"), drive)


IN_GAPS = "of each zone of 2 GiB can be written"


@pytest.mark.parametrize("twin", ["twin:wd-ultrastar-dc-hc650-20tb", "twin:wd-ultrastar-dc-zn540-1tb"])
@pytest.mark.parametrize(
    ("job", "said"),
    [
        ('pattern = "uniform"\nuntil = { time = "9s" }', "writes at random places"),
        ('pattern = "sequential"\nuntil = { written = "2x" }', "step one goes over its region again"),
        ('pattern = { zones = 999 }\nuntil = { time = "9s" }', "step one: zones: .*(use|or) fewer"),
        ('pattern = "sequential"\nregion = "50%"\nuntil = { written = "1x" }', IN_GAPS),
        ('pattern = "sequential"\nregion = "1GiB"\nuntil = { written = "1x" }', None),
        ('pattern = { zones = 1 }\nuntil = { time = "9s" }', None),
    ],
)
def test_writes_that_the_zones_of_a_twin_must_refuse_are_refused_before_the_run(
    twin: str, job: str, said: str | None
) -> None:
    text = f'name = "zoned"\n[[steps]]\nname = "one"\n[steps.job]\nmix = "write"\nblock = "64KiB"\n{job}\nload = {{}}\n'
    method = parse_method(f'schema = "fathom-method/1"\n{text}', "zoned.toml")
    [target] = resolve_targets([twin])
    if said and (said != IN_GAPS or "zn540" in twin):
        with pytest.raises(UsageError, match=f"{twin}: .*{said}"):
            check_fits(method, target)
    else:
        check_fits(method, target)
    if "zones" not in job:
        [layered] = resolve_targets([f"{twin}/btrfs"])
        check_fits(method, layered)


@pytest.mark.parametrize(
    ("job", "zoned", "said"),
    [
        (
            'mix = "read"\ngpu = true',
            "host-managed",
            "step one reads to a GPU, and reads of zoned devices end in",
        ),
        ('mix = "read"\ngpu = true', "none", None),
        ('mix = "write"\ndirect = false', "host-managed", "step one writes through the page cache"),
        ('mix = "write"\ndirect = false', "none", None),
        ('mix = "allocate"', "none", "step one reserves room"),
    ],
)
def test_what_the_engine_refuses_of_a_device_is_refused_before_the_run(
    job: str, zoned: str, said: str | None
) -> None:
    text = f'name = "m"\n[[steps]]\nname = "one"\n[steps.job]\n{job}\nblock = "64KiB"\nuntil = {{ written = "1x" }}\n'
    if "write" not in job:
        text = text.replace('{ written = "1x" }', '{ time = "9s" }')
    method = parse_method(
        f'schema = "fathom-method/1"\n{text}pattern = "sequential"\nload = {{}}\n', "m.toml"
    )
    drive = drive_named("/dev/sdb", Identity(rotational=True, zoned=zoned))
    if said:
        with pytest.raises(UsageError, match=f"/dev/sdb: {said}"):
            check_fits(method, drive)
    else:
        check_fits(method, drive)
