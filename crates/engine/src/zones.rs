//! Zoned devices (`linux/blkzoned.h`): what zones there are, where their write pointers stand, and a layer over
//! a [`Protocol`] that keeps the device's rules. With the pattern `zones` each thread keeps some zones of its
//! share open, writes at their pointers, one write in flight a zone (appends any number), and resets a zone
//! before it is used again. With any other pattern requests go where the pattern says, and a write that the
//! device refuses is reported with its zone and the pointer. Which target may be written is decided elsewhere.

use std::{
    fs::{File, OpenOptions},
    io,
    os::fd::AsRawFd,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use io_uring::squeue::{PushError, SubmissionQueue};
use workload::{Op, Request, Span};

use crate::{EngineError, buffers::Buffers, protocol::Protocol, target::Queue};

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
/// Refused writes that are told one by one.
const TOLD: usize = 4;

/// One zone as the device reports it, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Zone {
    pub(crate) start: u64,
    pub(crate) length: u64,
    /// Bytes of it that can be written.
    pub(crate) capacity: u64,
    /// Where the next write must go; the end of the capacity when it is full.
    pub(crate) pointer: u64,
    pub(crate) sequential: bool,
    pub(crate) active: bool,
    usable: bool,
}

impl Zone {
    fn end(&self) -> u64 {
        self.start + self.capacity
    }
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
    path: PathBuf,
    control: File,
    zone_bytes: u64,
    /// Most zones open at a time; `None`: no limit.
    max_open: Option<u32>,
    max_active: Option<u32>,
}

impl Zoned {
    /// The zoned device at `path`, `None` when it is an ordinary one. `writes`: zones will be reset.
    pub(crate) fn open(
        path: &Path,
        queue: &Queue,
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
        let limit = |name| Some(queue.number(name) as u32).filter(|&limit| limit > 0);
        Ok(Some(Self {
            path: path.to_owned(),
            control,
            zone_bytes: queue.number("chunk_sectors") * SECTOR_BYTES,
            max_open: limit("max_open_zones"),
            max_active: limit("max_active_zones"),
        }))
    }

    /// Zones from the one that holds `from` on, at most `most`.
    fn report(&self, from: u64, most: usize) -> io::Result<Vec<Zone>> {
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
            zones.extend(found.iter().map(|raw| in_bytes(raw, has_capacity)));
            report.sector = last.start + last.length;
        }
        Ok(zones)
    }

    /// The zone that holds a byte, as it is now.
    fn zone_at(&self, offset: u64) -> io::Result<Option<Zone>> {
        Ok(self.report(offset, 1)?.first().copied())
    }

    fn manage(&self, call: libc::c_ulong, zone: &Zone) -> io::Result<()> {
        let range = [zone.start / SECTOR_BYTES, zone.length / SECTOR_BYTES];
        // SAFETY: the call reads two u64, first sector and number of sectors.
        match unsafe { libc::ioctl(self.control.as_raw_fd(), call as _, range.as_ptr()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

fn in_bytes(raw: &RawZone, has_capacity: bool) -> Zone {
    let capacity = match has_capacity {
        true => raw.capacity,
        false => raw.length,
    };
    let (start, sequential) = (raw.start * SECTOR_BYTES, raw.kind == SEQUENTIAL_REQUIRED);
    let capacity = capacity * SECTOR_BYTES;
    Zone {
        start,
        length: raw.length * SECTOR_BYTES,
        capacity,
        pointer: match raw.condition {
            CONDITION_FULL => start + capacity,
            _ if sequential => raw.pointer * SECTOR_BYTES,
            _ => start,
        },
        sequential,
        active: CONDITIONS_ACTIVE.contains(&raw.condition),
        usable: sequential && !CONDITIONS_LOST.contains(&raw.condition),
    }
}

fn zone_error(path: &Path, reason: String) -> EngineError {
    EngineError::Zones {
        path: path.to_owned(),
        reason,
    }
}

/// A zone of a thread's share.
#[derive(Clone, Copy, Debug)]
struct Own {
    zone: Zone,
    /// Behind the last write that was issued; the zone's pointer is behind the last that succeeded.
    issued: u64,
    in_flight: u32,
    open: bool,
    /// Its place in `Share::readable` plus one; 0: nothing to read.
    readable: usize,
}

/// The zones of one thread, and where its next request goes. Places are drawn by the request stream: the offset
/// that it gives chooses among the zones.
struct Share {
    device: Arc<Zoned>,
    thread: u32,
    own: Vec<Own>,
    open: Vec<usize>,
    readable: Vec<usize>,
    resets: u64,
    reset_ns: u64,
    faults: Vec<String>,
}

/// What a thread is to do on a zoned device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) region: Span,
    pub(crate) thread: u32,
    pub(crate) threads: u32,
    /// Zones the thread keeps open.
    pub(crate) open: u32,
    pub(crate) iodepth: u32,
    pub(crate) writes: bool,
    /// Writes that are no appends: one in flight a zone.
    pub(crate) ordered: bool,
}

impl Share {
    fn new(device: &Arc<Zoned>, part: Part) -> Result<Self, EngineError> {
        let refuse = |reason: String| zone_error(&device.path, reason);
        let region_end = part.region.start_bytes + part.region.size_bytes;
        let all = device
            .report(0, usize::MAX)
            .map_err(|error| refuse(format!("zones cannot be reported: {error}")))?;
        let inside = |zone: &Zone| {
            zone.usable && zone.start >= part.region.start_bytes && zone.end() <= region_end
        };
        let usable: Vec<Zone> = all.iter().copied().filter(inside).collect();
        let (thread, threads) = (part.thread as usize, part.threads as usize);
        let bounds = [thread, thread + 1].map(|i| usable.len() * i / threads);
        let own: Vec<Own> = usable[bounds[0]..bounds[1]]
            .iter()
            .map(|&zone| Own {
                zone,
                issued: zone.pointer,
                in_flight: 0,
                open: false,
                readable: 0,
            })
            .collect();
        if part.writes {
            let foreign = all.iter().filter(|z| z.active && !inside(z)).count() as u32;
            check_limits(device, part, own.len() as u32, foreign).map_err(refuse)?;
        }
        let mut share = Self {
            device: Arc::clone(device),
            thread: part.thread,
            own,
            open: Vec::new(),
            readable: Vec::new(),
            resets: 0,
            reset_ns: 0,
            faults: Vec::new(),
        };
        for index in 0..share.own.len() {
            share.note_readable(index);
        }
        if part.writes {
            share.open_first(part.open as usize);
        }
        Ok(share)
    }

    /// Goes on with zones that were left partly written, so that they do not count against the device's limit
    /// for nothing; finishes what is too many; fills up with empty zones, and at last with full ones.
    fn open_first(&mut self, count: usize) {
        let rank = |own: &Own| match (own.zone.active, own.issued == own.zone.start) {
            (true, _) => 0,
            (_, true) => 1,
            _ => 2,
        };
        let mut order: Vec<usize> = (0..self.own.len()).collect();
        order.sort_by_key(|&index| rank(&self.own[index]));
        for (place, index) in order.into_iter().enumerate() {
            let zone = self.own[index].zone;
            if place < count {
                self.take(index);
            } else if zone.active {
                self.manage(BLKFINISHZONE, index);
                self.own[index].issued = zone.end();
                self.own[index].zone.pointer = zone.end();
            }
        }
    }

    /// Opens a zone for writing, from its beginning when it is full.
    fn take(&mut self, index: usize) {
        let own = self.own[index];
        if own.issued >= own.zone.end() {
            self.reset(index);
        }
        self.own[index].open = true;
        self.open.push(index);
    }

    fn reset(&mut self, index: usize) {
        let begin = Instant::now();
        if self.manage(BLKRESETZONE, index) {
            let own = &mut self.own[index];
            own.issued = own.zone.start;
            own.zone.pointer = own.zone.start;
            self.forget_readable(index);
        }
        self.resets += 1;
        self.reset_ns += begin.elapsed().as_nanos() as u64;
    }

    fn manage(&mut self, call: libc::c_ulong, index: usize) -> bool {
        let zone = self.own[index].zone;
        let Err(error) = self.device.manage(call, &zone) else {
            return true;
        };
        let what = match call {
            BLKRESETZONE => "reset",
            _ => "finished",
        };
        if self.faults.len() < TOLD {
            let number = zone.start / self.device.zone_bytes.max(1);
            self.faults
                .push(format!("zone {number} could not be {what}: {error}"));
        }
        false
    }

    /// Moves a request to where the device takes it; the zone in which it now is.
    fn place(&mut self, request: &mut Request) -> Option<usize> {
        let size_bytes = u64::from(request.size_bytes);
        match request.op {
            Op::Read => {
                self.place_read(request, size_bytes);
                None
            }
            Op::Write | Op::Append => self.place_write(request, size_bytes),
            Op::Trim | Op::Flush | Op::WriteZeroes => None,
        }
    }

    /// Into what was written; unwritten zones read as zeroes and tell nothing.
    fn place_read(&self, request: &mut Request, size_bytes: u64) {
        let draw = (request.offset_bytes / size_bytes) as usize;
        for step in 0..self.readable.len() {
            let zone = self.own[self.readable[(draw + step) % self.readable.len()]].zone;
            let places = (zone.pointer - zone.start) / size_bytes;
            if places > 0 {
                let place = (draw / self.readable.len()) as u64 % places;
                request.offset_bytes = zone.start + place * size_bytes;
                return;
            }
        }
    }

    fn place_write(&mut self, request: &mut Request, size_bytes: u64) -> Option<usize> {
        let draw = (request.offset_bytes / size_bytes) as usize;
        let exclusive = request.op == Op::Write;
        let count = self.open.len();
        let idle = |own: &Own| !exclusive || own.in_flight == 0;
        let at = (0..count)
            .map(|step| (draw + step) % count)
            .find(|&at| idle(&self.own[self.open[at]]))?;
        let mut index = self.open[at];
        if self.own[index].issued + size_bytes > self.own[index].zone.end() {
            index = self.replace(at, draw / count)?;
        }
        let own = &mut self.own[index];
        request.offset_bytes = match request.op {
            Op::Append => own.zone.start,
            _ => own.issued,
        };
        own.issued += size_bytes;
        own.in_flight += 1;
        Some(index)
    }

    /// Puts a zone that has no more room away, and another in its place, drawn at random.
    fn replace(&mut self, at: usize, draw: usize) -> Option<usize> {
        let old = self.open[at];
        let own = self.own[old];
        if own.issued < own.zone.end() && own.in_flight == 0 {
            self.manage(BLKFINISHZONE, old);
        }
        self.own[old].open = false;
        self.own[old].issued = own.zone.end();
        let count = self.own.len();
        let free = |own: &Own| !own.open && own.in_flight == 0;
        let next = (0..count)
            .map(|step| (draw + step) % count)
            .find(|&index| index != old && free(&self.own[index]));
        let next = next.unwrap_or(old);
        if self.own[next].issued > self.own[next].zone.start {
            self.reset(next);
        }
        self.own[next].open = true;
        self.open[at] = next;
        Some(next)
    }

    fn settle(&mut self, index: usize, size_bytes: u64, succeeded: bool) {
        let own = &mut self.own[index];
        own.in_flight -= 1;
        if succeeded {
            own.zone.pointer += size_bytes;
            self.note_readable(index);
        } else if let Ok(Some(now)) = self.device.zone_at(own.zone.start) {
            own.zone.pointer = now.pointer;
            own.issued = now.pointer;
        }
    }

    fn note_readable(&mut self, index: usize) {
        let own = &mut self.own[index];
        if own.readable == 0 && own.zone.pointer > own.zone.start {
            self.readable.push(index);
            own.readable = self.readable.len();
        }
    }

    fn forget_readable(&mut self, index: usize) {
        let place = std::mem::take(&mut self.own[index].readable);
        if place > 0 {
            self.readable.swap_remove(place - 1);
            if let Some(&moved) = self.readable.get(place - 1) {
                self.own[moved].readable = place;
            }
        }
    }
}

/// Whether the device can hold so many zones open; else why not and what to do.
fn check_limits(device: &Zoned, part: Part, zones: u32, foreign: u32) -> Result<(), String> {
    let Part {
        open,
        threads,
        iodepth,
        ..
    } = part;
    let wanted = open * threads;
    if zones < open.max(1) {
        return Err(format!(
            "the region gives each of {threads} thread(s) {zones} sequential zone(s), {open} shall be open: use a larger region or fewer open zones"
        ));
    }
    if part.ordered && iodepth > open {
        return Err(format!(
            "iodepth {iodepth} with {open} open zone(s) a thread: a zone takes one write at a time; use iodepth {open}, zones = {iodepth}, or append"
        ));
    }
    if let Some(most) = device.max_open.filter(|&most| wanted > most) {
        return Err(format!(
            "{threads} thread(s) x {open} open zones = {wanted}, the device allows {most}: use fewer"
        ));
    }
    match device.max_active {
        Some(most) if wanted + foreign > most => Err(format!(
            "{wanted} open zones and {foreign} partly written outside the region, the device allows {most} active: reset those or use fewer"
        )),
        _ => Ok(()),
    }
}

/// What is known of a request in flight.
#[derive(Clone, Copy)]
struct Flight {
    offset: u64,
    size_bytes: u32,
    op: Op,
    zone: Option<usize>,
}

/// Keeps the rules of zones for the protocol below it.
pub(crate) struct Layer<P> {
    below: P,
    device: Arc<Zoned>,
    share: Option<Share>,
    flights: Box<[Flight]>,
    refused: u64,
    told: Vec<String>,
}

impl<P> Layer<P> {
    /// Over `below`. `part` is given for the pattern `zones`; without it the layer only watches.
    pub(crate) fn new(
        below: P,
        device: &Arc<Zoned>,
        part: Option<Part>,
        iodepth: u32,
    ) -> Result<Self, EngineError> {
        let idle = Flight {
            offset: 0,
            size_bytes: 0,
            op: Op::Read,
            zone: None,
        };
        Ok(Self {
            below,
            device: Arc::clone(device),
            share: part.map(|part| Share::new(device, part)).transpose()?,
            flights: vec![idle; iodepth as usize].into(),
            refused: 0,
            told: Vec::new(),
        })
    }

    /// Says which zone refused a write and where its pointer stands.
    #[cold]
    fn tell(&mut self, flight: Flight) {
        self.refused += 1;
        if self.told.len() >= TOLD {
            return;
        }
        let (at, size) = (flight.offset, flight.size_bytes);
        let about = match self.device.zone_at(at) {
            Ok(Some(zone)) => place_of(&zone, self.device.zone_bytes, at),
            Ok(None) => "there is no such zone".into(),
            Err(error) => format!("its zone cannot be reported: {error}"),
        };
        self.told.push(format!(
            "{} of {size} bytes at {at} was refused: {about}",
            flight.op.name()
        ));
    }
}

fn place_of(zone: &Zone, zone_bytes: u64, at: u64) -> String {
    let number = zone.start / zone_bytes.max(1);
    let pointer = zone.pointer;
    if !zone.sequential {
        return format!("zone {number} is conventional, so the order is not the reason");
    }
    if pointer >= zone.end() {
        return format!("zone {number} is full (it ends at {})", zone.end());
    }
    let order = if at == pointer {
        "in order"
    } else {
        "out of order"
    };
    format!("zone {number} has its write pointer at {pointer} ({order})")
}

impl<P: Protocol> Protocol for Layer<P> {
    type Entry = P::Entry;
    type Completion = P::Completion;

    #[inline(always)]
    fn queue(
        &mut self,
        request: &Request,
        slot: u16,
        buffers: &mut Buffers,
        into: &mut SubmissionQueue<'_, P::Entry>,
    ) -> Result<i32, PushError> {
        let mut placed = *request;
        let zone = match &mut self.share {
            Some(share) => share.place(&mut placed),
            None => None,
        };
        self.flights[usize::from(slot)] = Flight {
            offset: placed.offset_bytes,
            size_bytes: placed.size_bytes,
            op: placed.op,
            zone,
        };
        self.below.queue(&placed, slot, buffers, into)
    }

    #[inline(always)]
    fn outcome(completion: &P::Completion) -> (u64, i32) {
        P::outcome(completion)
    }

    #[inline(always)]
    fn settle(&mut self, slot: u16, succeeded: bool, buffers: &Buffers) -> bool {
        let flight = self.flights[usize::from(slot)];
        if !succeeded && flight.op.is_destructive() {
            self.tell(flight);
        }
        if let (Some(share), Some(zone)) = (&mut self.share, flight.zone) {
            share.settle(zone, u64::from(flight.size_bytes), succeeded);
        }
        self.below.settle(slot, succeeded, buffers)
    }

    fn notes(&mut self) -> Vec<String> {
        let mut notes = std::mem::take(&mut self.told);
        let untold = self.refused - notes.len() as u64;
        if untold > 0 {
            notes.push(format!(
                "{untold} more write(s) were refused by their zones"
            ));
        }
        if let Some(share) = &mut self.share {
            notes.append(&mut share.faults);
            if share.resets > 0 {
                notes.push(format!(
                    "thread {}: {} zone(s) were reset in line with the load, {:.1} ms in all",
                    share.thread,
                    share.resets,
                    share.reset_ns as f64 / 1e6
                ));
            }
        }
        notes.extend(self.below.notes());
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ZONE: u64 = 1 << 20;
    const BLOCK: u64 = 64 << 10;

    fn zone(number: u64, capacity: u64, written: u64) -> Zone {
        Zone {
            start: number * ZONE,
            length: ZONE,
            capacity,
            pointer: number * ZONE + written,
            sequential: true,
            active: false,
            usable: true,
        }
    }

    /// A device whose control descriptor manages nothing: every reset fails and is told.
    fn device(max_open: Option<u32>) -> Arc<Zoned> {
        Arc::new(Zoned {
            path: "/dev/null".into(),
            control: File::open("/dev/null").unwrap(),
            zone_bytes: ZONE,
            max_open,
            max_active: None,
        })
    }

    fn share(zones: Vec<Zone>, open: usize) -> Share {
        let own = zones.into_iter().map(|zone| Own {
            zone,
            issued: zone.pointer,
            in_flight: 0,
            open: false,
            readable: 0,
        });
        let mut share = Share {
            device: device(None),
            thread: 0,
            own: own.collect(),
            open: Vec::new(),
            readable: Vec::new(),
            resets: 0,
            reset_ns: 0,
            faults: Vec::new(),
        };
        (0..share.own.len()).for_each(|index| share.note_readable(index));
        share.open_first(open);
        share
    }

    fn request(op: Op, offset_bytes: u64) -> Request {
        Request {
            op,
            offset_bytes,
            size_bytes: BLOCK as u32,
            placement: 0,
        }
    }

    #[test]
    fn writes_follow_the_pointer_of_a_zone_and_wait_for_the_one_before() {
        let mut share = share(vec![zone(0, ZONE, 0), zone(1, ZONE, 0)], 2);
        let place = |share: &mut Share, draw: u64| {
            let mut write = request(Op::Write, draw * BLOCK);
            share
                .place(&mut write)
                .map(|zone| (zone, write.offset_bytes))
        };
        assert_eq!(place(&mut share, 0), Some((0, 0)));
        assert_eq!(place(&mut share, 0), Some((1, ZONE)));
        assert_eq!(
            place(&mut share, 0),
            None,
            "both zones have a write in flight"
        );
        share.settle(0, BLOCK, true);
        assert_eq!(place(&mut share, 1), Some((0, BLOCK)));
    }

    #[test]
    fn a_zone_is_left_when_its_capacity_is_used_though_it_is_longer() {
        let mut share = share(vec![zone(0, 2 * BLOCK, 0), zone(1, 2 * BLOCK, 0)], 1);
        let offsets: Vec<u64> = (0..4)
            .map(|_| {
                let mut write = request(Op::Write, 0);
                let index = share.place(&mut write).unwrap();
                share.settle(index, BLOCK, true);
                write.offset_bytes
            })
            .collect();
        assert_eq!(offsets, [0, BLOCK, ZONE, ZONE + BLOCK]);
    }

    #[test]
    fn reads_stay_below_the_pointers_of_zones_that_hold_data() {
        let share = share(vec![zone(0, ZONE, 0), zone(1, ZONE, 3 * BLOCK)], 1);
        for draw in 0..64 {
            let mut read = request(Op::Read, draw * BLOCK);
            share.place_read(&mut read, BLOCK);
            assert!((ZONE..ZONE + 3 * BLOCK).contains(&read.offset_bytes));
        }
    }

    #[test]
    fn a_reset_that_fails_is_told_with_its_zone() {
        let share = share(vec![zone(7, ZONE, ZONE)], 1);
        assert!(share.faults[0].starts_with("zone 7 could not be reset"));
    }

    #[test]
    fn a_refused_write_is_told_with_its_zone_and_its_pointer() {
        let told = place_of(&zone(3, ZONE, BLOCK), ZONE, 3 * ZONE);
        assert_eq!(
            told,
            "zone 3 has its write pointer at 3211264 (out of order)"
        );
        let full = place_of(&zone(3, ZONE, ZONE), ZONE, 3 * ZONE);
        assert_eq!(full, "zone 3 is full (it ends at 4194304)");
    }

    #[test]
    fn limits_of_the_device_are_kept() {
        let part = Part {
            region: Span {
                start_bytes: 0,
                size_bytes: 64 * ZONE,
            },
            thread: 0,
            threads: 2,
            open: 4,
            iodepth: 4,
            writes: true,
            ordered: true,
        };
        assert_eq!(check_limits(&device(Some(8)), part, 32, 0), Ok(()));
        let refused =
            |device: Arc<Zoned>, part, zones| check_limits(&device, part, zones, 0).unwrap_err();
        assert!(refused(device(Some(7)), part, 32).contains("the device allows 7"));
        assert!(refused(device(None), part, 3).contains("use a larger region"));
        let deep = Part { iodepth: 5, ..part };
        assert!(refused(device(None), deep, 32).contains("one write at a time"));
    }
}
