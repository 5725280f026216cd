"""What an NVMe drive counts of its own writes: FDP statistics (log 22h), the OCP log (C0h), SMART (02h). Only reads.

Media writes come from the FDP statistics where the namespace's endurance group has them, else from the OCP log. Host
writes come from the same place, or from SMART. A drive with neither does not report its media writes; nothing is
estimated. Layouts: NVM Express base 2.0 with TP4146 (FDP), OCP Datacenter NVMe SSD 2.0; numbers are little-endian.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fathom.targets.nvme_admin import GET_LOG_PAGE, IDENTIFY, admin_of

SMART, FDP_STATISTICS, OCP_SMART = 0x02, 0x22, 0xC0
OCP_GUID = bytes.fromhex("c5af1028eabff2a49c4f6f7cc914d5af")
"""What the OCP log ends with; other vendors use C0h for something else."""
DATA_UNIT_BYTES = 512_000


@dataclass(frozen=True, slots=True)
class MediaCounts:
    """Totals in bytes, as counted since the drive was made or FDP enabled; None: not counted."""

    host_write_bytes: int
    media_write_bytes: int
    media_erase_bytes: int | None
    source: str


def parse_fdp_statistics(log: bytes) -> MediaCounts | None:
    """Returns HBMW, MBMW and MBE of log 22h; None for one that is too short."""
    if len(log) < 48:
        return None
    host, media, erased = (_number(log, at) for at in (0, 16, 32))
    return MediaCounts(host, media, erased, "FDP statistics log (22h)")


def parse_ocp(log: bytes, smart: bytes) -> MediaCounts | None:
    """Returns physical media units written of log C0h beside SMART's data units written; None for any other log."""
    if len(log) < 512 or log[496:512] != OCP_GUID or len(smart) < 64:
        return None
    host = _number(smart, 48) * DATA_UNIT_BYTES
    return MediaCounts(host, _number(log, 0), None, "OCP log (C0h) and SMART")


def _number(log: bytes, at: int) -> int:
    return int.from_bytes(log[at : at + 16], "little")


class MediaReader:
    """Reads the counts of one drive again and again; holds no descriptor between two reads.

    `admin` sends an admin command and gives its data: (opcode, namespace, cdw10, cdw11, bytes wanted).
    """

    def __init__(self, admin: Callable[[int, int, int, int, int], bytes], namespace: int) -> None:
        self._admin = admin
        self._group = int.from_bytes(admin(IDENTIFY, namespace, 0, 0, 4096)[102:104], "little")

    def read(self) -> MediaCounts | None:
        """Returns the counts now; None where the drive has none."""
        if self._group and (found := parse_fdp_statistics(self._log(FDP_STATISTICS, 64, self._group))):
            return found
        ocp = self._log(OCP_SMART, 512)
        return parse_ocp(ocp, self._log(SMART, 512)) if ocp else None

    def _log(self, page: int, size: int, group: int = 0) -> bytes:
        """Returns a log page; empty where the drive refuses it."""
        try:
            return self._admin(GET_LOG_PAGE, 0xFFFFFFFF, page | (size // 4 - 1) << 16, group << 16, size)
        except OSError:
            return b""


def open_reader(node: Path, namespace: int) -> MediaReader:
    """Returns a reader of the drive behind a device node. Raises OSError where it takes no NVMe commands from us."""
    return MediaReader(admin_of(node), namespace)
