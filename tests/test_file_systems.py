"""Methods that are about a file system: which targets get one."""

from fathom.load.resolve import resolve_targets
from fathom.method.method import load_method
from fathom.plan.file_system import with_file_system

CMR = "twin:wd-ultrastar-dc-hc560-20tb"


def test_bare_drives_get_the_methods_file_system_and_others_keep_their_own() -> None:
    targets = resolve_targets([CMR, f"{CMR}*8", f"{CMR}#2/xfs"])
    fitted = with_file_system(load_method("drive-array-filesystem"), targets)
    assert [target.name for target in fitted] == [f"{CMR}/btrfs", f"{CMR}*8/btrfs", f"{CMR}#2/xfs"]
    assert fitted[1].parts[0] == f"{CMR}*8/btrfs#1"
    assert with_file_system(load_method("four-corners"), targets) == targets
