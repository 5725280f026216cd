//! The zones of a host-managed disk: write pointers, conventional zones, and what is refused (ZAC/ZBC,
//! as Linux reports it). Errors are those that a read or write of a block device returns.

use std::collections::VecDeque;

use super::DiskParams;

/// errno of an unaligned write, of a boundary crossed and of a full zone: the drive aborts.
pub const EIO: i32 = 5;
/// errno of a write that would make one zone too many active (`BLK_STS_ZONE_ACTIVE_RESOURCE`).
pub const EOVERFLOW: i32 = 75;

/// Zones as a file system asks for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneModel {
    /// Bytes of a zone.
    pub zone_bytes: u64,
    /// Zones in all; the last may be shorter.
    pub zones: u32,
    /// Conventional ones, at the start.
    pub conventional: u32,
    /// Most open at once; 0: no limit.
    pub max_open: u32,
    /// Most partly written; 0: no limit.
    pub max_active: u32,
}

/// The state of all zones.
pub struct Zones {
    /// What there is.
    pub model: ZoneModel,
    capacity_bytes: u64,
    /// Bytes written in each zone.
    written: Vec<u64>,
    /// Implicitly open, the one used longest ago in front.
    open: VecDeque<u32>,
    active: u32,
}

impl Zones {
    /// All empty.
    pub fn new(params: &DiskParams) -> Self {
        let zones = params.capacity_bytes.div_ceil(params.zone_bytes) as u32;
        Self {
            model: ZoneModel {
                zone_bytes: params.zone_bytes,
                zones,
                conventional: (f64::from(zones) * params.conventional_share).round() as u32,
                max_open: params.max_open_zones,
                max_active: params.max_active_zones,
            },
            capacity_bytes: params.capacity_bytes,
            written: vec![0; zones as usize],
            open: VecDeque::new(),
            active: 0,
        }
    }

    #[inline]
    fn zone(&self, at: u64) -> u32 {
        (at / self.model.zone_bytes) as u32
    }

    fn start(&self, zone: u32) -> u64 {
        u64::from(zone) * self.model.zone_bytes
    }

    fn size(&self, zone: u32) -> u64 {
        self.model
            .zone_bytes
            .min(self.capacity_bytes - self.start(zone))
    }

    /// Where the next write of a zone must go; the end of a full one.
    pub fn pointer(&self, zone: u32) -> u64 {
        self.start(zone) + self.written[zone as usize]
    }

    /// A write of `bytes` at `at`: moves the pointer, or says why not.
    #[inline]
    pub fn write(&mut self, at: u64, bytes: u64) -> Result<(), i32> {
        let zone = self.zone(at);
        let last = self.zone(at + bytes - 1);
        if zone < self.model.conventional && last < self.model.conventional {
            return Ok(());
        }
        if zone != last || zone < self.model.conventional || at != self.pointer(zone) {
            return Err(EIO);
        }
        let written = self.written[zone as usize];
        if written == 0 {
            if self.model.max_active > 0 && self.active == self.model.max_active {
                return Err(EOVERFLOW);
            }
            self.active += 1;
        }
        self.written[zone as usize] = written + bytes;
        if written + bytes == self.size(zone) {
            self.active -= 1;
            self.open.retain(|&open| open != zone);
        } else if self.open.back() != Some(&zone) {
            self.touch(zone);
        }
        Ok(())
    }

    /// Opens a zone implicitly; the one used longest ago is closed for it, which costs nothing.
    fn touch(&mut self, zone: u32) {
        self.open.retain(|&open| open != zone);
        self.open.push_back(zone);
        if self.model.max_open > 0 && self.open.len() > self.model.max_open as usize {
            self.open.pop_front();
        }
    }

    /// Where an append to the zone at `at` goes.
    pub fn append(&mut self, at: u64, bytes: u64) -> Result<u64, i32> {
        let zone = self.zone(at);
        if zone < self.model.conventional || at != self.start(zone) {
            return Err(EIO);
        }
        let place = self.pointer(zone);
        if place + bytes > self.start(zone) + self.size(zone) {
            return Err(EIO);
        }
        self.write(place, bytes).map(|()| place)
    }

    /// Empties the zones that lie wholly in the range; refused where a part of one would be cut.
    pub fn reset(&mut self, at: u64, bytes: u64) -> Result<(), i32> {
        let (first, end) = (self.zone(at), self.zone(at + bytes - 1) + 1);
        let whole = at == self.start(first)
            && at + bytes == self.start(end - 1) + self.size(end - 1)
            && first >= self.model.conventional;
        if !whole {
            return Err(EIO);
        }
        for zone in first..end {
            let written = std::mem::take(&mut self.written[zone as usize]);
            if written > 0 && written < self.size(zone) {
                self.active -= 1;
            }
        }
        self.open.retain(|open| !(first..end).contains(open));
        Ok(())
    }

    /// Whether every byte of a range lies below its zone's pointer, or in a conventional zone.
    #[inline]
    pub fn is_written(&self, at: u64, bytes: u64) -> bool {
        (self.zone(at)..=self.zone(at + bytes - 1)).all(|zone| {
            zone < self.model.conventional
                || self.pointer(zone) >= (at + bytes).min(self.start(zone) + self.size(zone))
        })
    }
}
