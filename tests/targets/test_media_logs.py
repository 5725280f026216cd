"""A drive's own counts of its writes: what the logs say is taken as it stands, what they do not say stays unknown."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from fathom.targets import media_logs
from fathom.targets.media_logs import OCP_GUID, MediaCounts, MediaReader, parse_fdp_statistics, parse_ocp
from fathom.targets.telemetry import MediaWrites

COUNT = st.integers(0, (1 << 128) - 1)


def fdp_log(host: int, media: int, erased: int) -> bytes:
    return b"".join(count.to_bytes(16, "little") for count in (host, media, erased)) + bytes(16)


def smart_log(units: int) -> bytes:
    return bytes(48) + units.to_bytes(16, "little") + bytes(448)


@given(COUNT, COUNT, COUNT)
def test_fdp_statistics_read_back_as_they_were_counted(host: int, media: int, erased: int) -> None:
    assert parse_fdp_statistics(fdp_log(host, media, erased)) == MediaCounts(
        host, media, erased, "FDP statistics log (22h)"
    )


@given(COUNT, st.integers(1, 1 << 80), st.binary(min_size=480, max_size=480))
def test_the_ocp_log_counts_with_smart_as_its_host_side(media: int, units: int, rest: bytes) -> None:
    log = media.to_bytes(16, "little") + rest + OCP_GUID
    counts = parse_ocp(log, smart_log(units))
    assert counts == MediaCounts(512_000 * units, media, None, "OCP log (C0h) and SMART")
    assert parse_ocp(log[:-1] + bytes([log[-1] ^ 1]), smart_log(units)) is None


@given(st.binary(max_size=600), st.binary(max_size=600))
def test_no_bytes_of_a_drive_break_the_parsers(log: bytes, smart: bytes) -> None:
    assert (parse_fdp_statistics(log) is None) == (len(log) < 48)
    assert parse_ocp(log, smart) is None or log.endswith(OCP_GUID)


class Drive:
    """Logs by page; a page that it lacks is refused."""

    def __init__(self, logs: Mapping[int, bytes], group: int) -> None:
        self.logs = dict(logs)
        self.group = group
        self.asked: list[tuple[int, int]] = []

    def admin(self, opcode: int, namespace: int, cdw10: int, cdw11: int, size: int) -> bytes:
        if opcode == media_logs.IDENTIFY:
            return bytes(102) + self.group.to_bytes(2, "little") + bytes(3992)
        page = cdw10 & 0xFF
        assert size == 4 * ((cdw10 >> 16) + 1)
        self.asked.append((page, cdw11 >> 16))
        if page not in self.logs:
            raise OSError("invalid log page")
        return self.logs[page]


def test_fdp_is_asked_of_the_namespaces_endurance_group_and_ocp_where_there_is_none() -> None:
    fdp = Drive({0x22: fdp_log(8, 9, 10)}, group=3)
    counts = MediaReader(fdp.admin, 1).read()
    assert counts is not None
    assert counts.media_write_bytes == 9
    assert fdp.asked == [(0x22, 3)]
    ocp = Drive({0xC0: (7).to_bytes(16, "little") + bytes(480) + OCP_GUID, 0x02: smart_log(1)}, group=0)
    counts = MediaReader(ocp.admin, 1).read()
    assert counts is not None
    assert counts.source.startswith("OCP")
    assert MediaReader(Drive({}, group=1).admin, 1).read() is None


def test_samples_are_what_was_written_between_two_reads_and_none_after_a_reset() -> None:
    drive = Drive({0x22: fdp_log(100, 150, 50)}, group=1)
    reader = MediaReader(drive.admin, 1)
    first = reader.read()
    assert first is not None
    source = MediaWrites("/dev/nvme9n1", reader, first)
    drive.logs[0x22] = fdp_log(300, 450, 80)
    samples = {value.name: value.value for value in source.sample(1.0)}
    assert samples == {"host_write_bytes": 200, "media_write_bytes": 300, "media_erase_bytes": 30}
    drive.logs[0x22] = fdp_log(10, 10, 0)
    assert source.sample(1.0) == []
    drive.logs.clear()
    assert source.sample(1.0) == []
