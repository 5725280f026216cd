//! Zones of a device as Linux reports and manages them (`linux/blkzoned.h`).

use std::{
    fs::{File, OpenOptions},
    io,
    os::{fd::AsRawFd, unix::fs::OpenOptionsExt},
    path::{Path, PathBuf},
};

use workload::{Span, Zone, ZoneLimits};

use crate::{EngineError, queue_attributes::QueueAttributes};

const SECTOR_BYTES: u64 = 512;
/// `_IOWR(0x12, 130, 16 bytes)`, `_IOW(0x12, 131 | 136, 16 bytes)`.
const BLKREPORTZONE: libc::c_ulong = 0xc010_1282;
const BLKRESETZONE: libc::c_ulong = 0x4010_1283;
const BLKFINISHZONE: libc::c_ulong = 0x4010_1288;
const REPORT_ZONES: usize = 1024;
/// The report fills in each zone's capacity (Linux 5.9).
const HAS_CAPACITY: u32 = 1;
const SEQUENTIAL_REQUIRED: u8 = 2;
const CONDITIONS_ACTIVE: [u8; 3] = [2, 3, 4];
const CONDITION_FULL: u8 = 14;
/// Offline or read-only.
const CONDITIONS_LOST: [u8; 2] = [13, 15];

/// One zone as the device reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reported {
    pub(super) zone: Zone,
    /// From its start to that of the next, bytes.
    pub(super) length: u64,
    /// It must be written in order.
    pub(super) sequential: bool,
    /// It is sequential, and neither offline nor read-only.
    pub(super) usable: bool,
}

impl Reported {
    /// Returns whether it can be used and lies in a region as a whole.
    pub(super) fn is_usable_in(&self, region: Span) -> bool {
        let region_end = region.start_bytes + region.size_bytes;
        self.usable
            && self.zone.start >= region.start_bytes
            && self.zone.start + self.length <= region_end
    }
}

/// What is done with a zone beside reads and writes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Command {
    Reset,
    Finish,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct RawZone {
    start: u64,
    length: u64,
    pointer: u64,
    kind: u8,
    condition: u8,
    non_sequential: u8,
    reset: u8,
    reserved: [u8; 4],
    capacity: u64,
    reserved_after: [u8; 24],
}

#[repr(C)]
struct Report {
    sector: u64,
    count: u32,
    flags: u32,
    zones: [RawZone; REPORT_ZONES],
}

/// A zoned device: its limits and the way to its zones.
#[derive(Debug)]
pub(crate) struct Zoned {
    pub(super) path: PathBuf,
    pub(super) control: File,
    pub(super) zone_bytes: u64,
    pub(super) limits: ZoneLimits,
}

impl Zoned {
    /// Returns the zoned device at `path`, `None` when it is an ordinary one. `writes`: zones will be reset.
    pub(crate) fn open(
        path: &Path,
        queue: &QueueAttributes,
        writes: bool,
    ) -> Result<Option<Self>, EngineError> {
        if queue.text("zoned") != "host-managed" {
            return Ok(None);
        }
        let control = OpenOptions::new()
            .read(true)
            .write(writes)
            .custom_flags(libc::O_CLOEXEC)
            .open(path)
            .map_err(|error| zone_error(path, format!("cannot be opened: {error}")))?;
        Ok(Some(Self {
            path: path.to_owned(),
            control,
            zone_bytes: queue.number("chunk_sectors") * SECTOR_BYTES,
            limits: ZoneLimits {
                open: queue.number("max_open_zones") as u32,
                active: queue.number("max_active_zones") as u32,
            },
        }))
    }

    /// Returns every zone.
    pub(super) fn zones(&self) -> io::Result<Vec<Reported>> {
        self.report(0, usize::MAX)
    }

    /// Returns the zone that holds a byte, as it is now.
    pub(super) fn zone_at(&self, offset: u64) -> io::Result<Option<Reported>> {
        Ok(self.report(offset, 1)?.first().copied())
    }

    /// Zones from the one that holds `from` on, at most `most`.
    fn report(&self, from: u64, most: usize) -> io::Result<Vec<Reported>> {
        let mut zones = Vec::new();
        let mut report = Box::new(Report {
            sector: from / SECTOR_BYTES,
            count: 0,
            flags: 0,
            zones: [RawZone::default(); REPORT_ZONES],
        });
        while zones.len() < most {
            report.count = REPORT_ZONES.min(most - zones.len()) as u32;
            // SAFETY: the report has room for `count` zones behind its header.
            let done = unsafe {
                libc::ioctl(
                    self.control.as_raw_fd(),
                    BLKREPORTZONE as _,
                    &raw mut *report,
                )
            };
            if done != 0 {
                return Err(io::Error::last_os_error());
            }
            let found = &report.zones[..report.count as usize];
            let Some(last) = found.last() else { break };
            let has_capacity = report.flags & HAS_CAPACITY != 0;
            let zones_so_far = found.iter().map(|raw| self.in_bytes(raw, has_capacity));
            zones.extend(zones_so_far);
            report.sector = last.start + last.length;
        }
        Ok(zones)
    }

    /// Resets or finishes the zone that begins at `start`.
    pub(super) fn manage(&self, command: Command, start: u64) -> io::Result<()> {
        let call = match command {
            Command::Reset => BLKRESETZONE,
            Command::Finish => BLKFINISHZONE,
        };
        let found = self.zone_at(start)?;
        let length = found.map_or(self.zone_bytes, |found| found.length);
        let range = [start / SECTOR_BYTES, length / SECTOR_BYTES];
        // SAFETY: the call reads two u64, first sector and number of sectors.
        match unsafe { libc::ioctl(self.control.as_raw_fd(), call as _, range.as_ptr()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn in_bytes(&self, raw: &RawZone, has_capacity: bool) -> Reported {
        let capacity = match has_capacity {
            true => raw.capacity,
            false => raw.length,
        };
        let (start, sequential) = (raw.start * SECTOR_BYTES, raw.kind == SEQUENTIAL_REQUIRED);
        let end = start + capacity * SECTOR_BYTES;
        Reported {
            zone: Zone {
                number: (start / self.zone_bytes.max(1)) as u32,
                start,
                end,
                pointer: match raw.condition {
                    CONDITION_FULL => end,
                    _ if sequential => raw.pointer * SECTOR_BYTES,
                    _ => start,
                },
                active: CONDITIONS_ACTIVE.contains(&raw.condition),
            },
            length: raw.length * SECTOR_BYTES,
            sequential,
            usable: sequential && !CONDITIONS_LOST.contains(&raw.condition),
        }
    }
}

pub(super) fn zone_error(path: &Path, reason: String) -> EngineError {
    EngineError::Zones {
        path: path.to_owned(),
        reason,
    }
}
