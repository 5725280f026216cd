"""Methods that are about a file system: which targets get one, and which twins cannot have it."""

import pytest

from fathom.errors import UsageError
from fathom.load.resolve import ensure_simulable, resolve_targets
from fathom.method.method import load_method
from fathom.plan.file_system import with_file_system
from fathom.plan.fit import check_fits
from fathom.targets.target import Target

CMR = "twin:wd-ultrastar-dc-hc560-20tb"


def test_bare_drives_get_the_methods_file_system_and_others_keep_their_own() -> None:
    targets = resolve_targets([CMR, f"{CMR}*8", f"{CMR}#2/xfs"])
    fitted = with_file_system(load_method("drive-array-filesystem"), targets)
    assert [target.name for target in fitted] == [f"{CMR}/btrfs", f"{CMR}*8/btrfs", f"{CMR}#2/xfs"]
    assert fitted[1].parts[0] == f"{CMR}*8/btrfs#1"
    assert with_file_system(load_method("four-corners"), targets) == targets


def under_btrfs(text: str) -> Target:
    [target] = with_file_system(load_method("drive-array-filesystem"), resolve_targets([text]))
    return target


@pytest.mark.parametrize("text", ["twin:samsung-pm9a3-7.68tb", "twin:samsung-pm9a3-7.68tb*8"])
def test_a_file_that_is_larger_than_a_twins_slice_is_refused_with_a_slice_that_has_room(text: str) -> None:
    method = load_method("drive-array-filesystem")
    with pytest.raises(
        UsageError, match=r"region of 50 GiB, but the twin simulates only 6\.986 GiB of 6\.986 TiB"
    ) as told:
        check_fits(method, under_btrfs(text))
    assert told.value.hint is not None
    advised = told.value.hint.removeprefix("use a region in percent, or ")
    assert "?slice_denominator=32" in advised
    check_fits(method, under_btrfs(advised))


def test_a_disk_that_is_simulated_whole_takes_the_file() -> None:
    check_fits(load_method("drive-array-filesystem"), under_btrfs(f"{CMR}*8"))


@pytest.mark.parametrize("system", ["twin:weka-6x-micron-9400-pro", "twin:atto-xstreamcore-9400"])
def test_a_system_gets_no_file_system_and_is_refused_before_the_run(system: str) -> None:
    with pytest.raises(UsageError, match=f"{system}: drive-array-filesystem puts btrfs on each drive"):
        check_fits(load_method("drive-array-filesystem"), under_btrfs(system))
    [asked] = resolve_targets([f"{system}/xfs"])
    with pytest.raises(UsageError, match=rf"cannot get xfs, and a system has its own.*or {system}$"):
        check_fits(load_method("four-corners"), asked)


def test_a_file_system_that_a_twin_cannot_have_is_refused_before_the_run() -> None:
    [zoned] = resolve_targets(["twin:wd-ultrastar-dc-hc650-20tb/xfs"])
    with pytest.raises(UsageError, match="takes no writes in place: take btrfs"):
        ensure_simulable(zoned)
