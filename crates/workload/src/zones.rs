//! Where requests of the pattern `zones` go. Each thread has its share of a region's sequential zones. It keeps some of
//! them open and writes at their pointers, one write in flight a zone (appends any number). A zone without room makes
//! way for another, drawn at random and reset first, once nothing is in flight in it. To the device it is open until
//! then, and its limit may be what is open already. Reads go to what was written. It is the same on a real device and
//! on a twin: whoever drives the device passes it the resets, in line with the load.

use crate::stream::random::{mix, scaled};
use crate::{Job, Op, Pattern, Request, name_ops};

/// Draws of a place to read before all zones are counted through: where they are full the first is good.
const DRAWS: u32 = 16;

/// A sequential zone, in bytes from the start of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone {
    /// Its number on the device.
    pub number: u32,
    /// Its first byte.
    pub start: u64,
    /// The end of what can be written.
    pub end: u64,
    /// Where the next write must go; `end` when the zone is full.
    pub pointer: u64,
    /// Whether it counts against the device's limit of active zones.
    pub active: bool,
}

/// What zones need of the device that they are on.
pub trait ZoneDevice {
    /// Makes a zone full as it is, so that it counts as active no longer; whether that was done.
    fn finish(&mut self, zone: &Zone) -> bool;
    /// Returns where the write pointer of a zone really stands; `None`: the device does not report it.
    fn pointer(&mut self, zone: &Zone) -> Option<u64>;
}

/// Most zones that a device has open, and active, at a time; 0: no limit.
#[derive(Clone, Copy, Debug, Default)]
pub struct ZoneLimits {
    /// Open.
    pub open: u32,
    /// Open or closed: partly written.
    pub active: u32,
}

impl ZoneLimits {
    /// Checks whether a job can keep `open` zones open per thread. A thread has `zones` of its own, and `foreign` ones
    /// outside the region are active.
    ///
    /// # Errors
    /// Why not, and what to do.
    pub fn check(self, job: &Job, open: u32, zones: u32, foreign: u32) -> Result<(), String> {
        let (threads, iodepth) = (job.load.threads(), job.load.iodepth());
        let has = |op| job.mix.ops.iter().any(|block| block.op == op);
        if zones < open.max(1) {
            return Err(format!(
                "the region gives each of {threads} thread(s) {zones} sequential zone(s), {open} shall be open: use a larger region or fewer open zones"
            ));
        }
        if has(Op::Write) && iodepth > open {
            return Err(format!(
                "iodepth {iodepth} with {open} open zone(s) a thread: a zone takes one write at a time; use iodepth {open}, zones = {iodepth}, or append"
            ));
        }
        let wanted = threads * open;
        let most = [self.open, self.active]
            .into_iter()
            .filter(|&most| most > 0);
        match most.min() {
            _ if !has(Op::Write) && !has(Op::Append) => Ok(()),
            Some(most) if wanted > most => Err(format!(
                "{threads} thread(s) x {open} open zones = {wanted}, the device allows {most}: use fewer"
            )),
            _ if self.active > 0 && wanted + foreign > self.active => Err(format!(
                "{wanted} open zones and {foreign} partly written outside the region, the device allows {} active: reset those or use fewer",
                self.active
            )),
            _ => Ok(()),
        }
    }
}

/// Where a write was placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Which of the share's zones; see [`ZoneShare::zone`].
    pub zone: usize,
    /// The zone holds old data and is to be reset before the write.
    pub reset: bool,
}

/// The zones of one thread, and where its next request goes. Places are drawn at random, which the offsets that the
/// request stream gives determine.
#[derive(Debug)]
pub struct ZoneShare {
    own: Vec<OwnZone>,
    open: Vec<usize>,
    /// Zones that hold data.
    readable: Vec<usize>,
    /// The most that an append of the job takes, bytes.
    append_bytes: u64,
    /// The last draw.
    drawn: u64,
    /// Where the next read goes if zones come in their order.
    ordered: Option<Reading>,
}

/// A place in the zones of a thread: a zone of its own, and bytes behind that one's start.
#[derive(Clone, Copy, Debug, Default)]
struct Reading {
    zone: usize,
    read: u64,
}

#[derive(Clone, Copy, Debug)]
struct OwnZone {
    /// Its pointer is behind the last write that succeeded.
    zone: Zone,
    /// Behind the last write that was issued.
    issued: u64,
    in_flight: u32,
    open: bool,
}

impl ZoneShare {
    /// Returns the share of a thread of `job` in these zones, none of them open yet.
    pub fn new(job: &Job, zones: impl IntoIterator<Item = Zone>) -> Self {
        let own = zones.into_iter().map(|zone| OwnZone {
            zone,
            issued: zone.pointer,
            in_flight: 0,
            open: false,
        });
        let own: Vec<OwnZone> = own.collect();
        let holds_data = |&index: &usize| own[index].zone.pointer > own[index].zone.start;
        let appends = job.mix.ops.iter().filter(|block| block.op == Op::Append);
        let sizes = appends.flat_map(|block| &block.sizes);
        Self {
            readable: (0..own.len()).filter(holds_data).collect(),
            open: Vec::new(),
            own,
            append_bytes: sizes
                .map(|share| u64::from(share.size_bytes))
                .max()
                .unwrap_or(0),
            drawn: 0,
            ordered: matches!(job.pattern, Pattern::Zones { in_order: true, .. })
                .then(Reading::default),
        }
    }

    /// Returns whether a request can be placed now. Where every open zone is full with appends in flight it waits for
    /// the last of one of them.
    #[inline]
    pub fn is_ready(&self) -> bool {
        self.append_bytes == 0
            || self.open.is_empty()
            || self
                .open
                .iter()
                .any(|&index| self.own[index].takes_append(self.append_bytes))
    }

    /// A zone, its pointer behind the last write that succeeded.
    pub fn zone(&self, index: usize) -> &Zone {
        &self.own[index].zone
    }

    /// Goes on with zones that were left partly written, so that they do not count against the device's limit for
    /// nothing. It finishes what is too many, then takes empty zones, and full ones at last.
    pub fn open_first(&mut self, count: u32, device: &mut impl ZoneDevice) {
        let ordered = self.ordered.is_some();
        let rank = |own: &OwnZone| match own.issued {
            _ if ordered => 0,
            _ if own.is_begun() => 0,
            issued if issued == own.zone.start => 1,
            _ => 2,
        };
        let mut order: Vec<usize> = (0..self.own.len()).collect();
        order.sort_by_key(|&index| rank(&self.own[index]));
        let rest = order.split_off((count as usize).min(order.len()));
        order.iter().for_each(|&index| self.own[index].open = true);
        self.open = order;
        if !ordered {
            rest.into_iter()
                .for_each(|index| self.finish(index, device));
        }
    }

    /// Makes a zone full that is not gone on with.
    fn finish(&mut self, index: usize, device: &mut impl ZoneDevice) {
        let own = &mut self.own[index];
        if own.is_begun() && !own.open && own.in_flight == 0 && device.finish(&own.zone) {
            own.issued = own.zone.end;
        }
    }

    /// Moves a request to where the device takes it. `None`: it has no zone of its own to be settled.
    pub fn place(&mut self, request: &mut Request, device: &mut impl ZoneDevice) -> Option<Placed> {
        self.drawn = mix(self.drawn ^ request.offset_bytes);
        match request.op {
            Op::Read => {
                self.place_read(request);
                None
            }
            Op::Write | Op::Append => self.place_write(request, device),
            Op::Trim | Op::Flush | Op::WriteZeroes | Op::Allocate => None,
            name_ops!() => None,
        }
    }

    /// Uniform on `0..n`.
    fn below(&mut self, n: u64) -> u64 {
        self.drawn = mix(self.drawn);
        scaled(self.drawn, n)
    }

    /// Places a read anywhere in what was written, each place as likely as another; unwritten zones read as zeroes and
    /// show nothing. Where nothing was written, the request stays.
    fn place_read(&mut self, request: &mut Request) {
        let size_bytes = u64::from(request.size_bytes);
        if let Some(mut next) = self.ordered {
            if self.advance(&mut next, size_bytes) {
                request.offset_bytes = self.own[next.zone].zone.start + next.read;
                next.read += size_bytes;
                self.ordered = Some(next);
            }
            return;
        }
        let zones = self.readable.len() as u64;
        if zones == 0 {
            return;
        }
        for _ in 0..DRAWS {
            let drawn = self.below(zones) as usize;
            let index = self.readable[drawn];
            let Zone { start, end, .. } = self.own[index].zone;
            // Zones have one capacity: a place is drawn in a full one, and drawn again where this one is not written so far.
            let place = self.below(((end - start) / size_bytes).max(1));
            if place < self.own[index].places(size_bytes) {
                request.offset_bytes = start + place * size_bytes;
                return;
            }
        }
        let places = |index: &usize| self.own[*index].places(size_bytes);
        let all: u64 = self.readable.iter().map(places).sum();
        if all == 0 {
            return;
        }
        let mut place = self.below(all);
        for &index in &self.readable {
            let own = &self.own[index];
            let here = own.places(size_bytes);
            if place < here {
                request.offset_bytes = own.zone.start + place * size_bytes;
                return;
            }
            place -= here;
        }
    }

    /// Moves a place on to the next one where so much was written, from the first zone again behind the last; whether
    /// there is one.
    fn advance(&self, next: &mut Reading, size_bytes: u64) -> bool {
        for _ in 0..=self.own.len() {
            let zone = &self.own[next.zone].zone;
            if zone.start + next.read + size_bytes <= zone.pointer {
                return true;
            }
            *next = Reading {
                zone: (next.zone + 1) % self.own.len(),
                read: 0,
            };
        }
        false
    }

    /// At the pointer of an open zone that takes a write now; there is one in a job that was checked, where
    /// [`ZoneShare::is_ready`].
    fn place_write(
        &mut self,
        request: &mut Request,
        device: &mut impl ZoneDevice,
    ) -> Option<Placed> {
        let size_bytes = u64::from(request.size_bytes);
        let count = self.open.len();
        let draw = self.below(count as u64) as usize;
        let takes = |own: &OwnZone| match request.op {
            Op::Append => own.takes_append(size_bytes),
            _ => own.in_flight == 0,
        };
        let at = (0..count)
            .map(|step| (draw + step) % count)
            .find(|&at| takes(&self.own[self.open[at]]))?;
        let reset =
            !self.own[self.open[at]].has_room(size_bytes) && self.replace(at, device, size_bytes);
        let zone = self.open[at];
        let own = &mut self.own[zone];
        request.offset_bytes = match request.op {
            Op::Append => own.zone.start,
            _ => own.issued,
        };
        own.issued += size_bytes;
        own.in_flight += 1;
        Some(Placed { zone, reset })
    }

    /// Another zone in place of one without room: drawn at random, or the next; whether it holds old data.
    fn replace(&mut self, at: usize, device: &mut impl ZoneDevice, size_bytes: u64) -> bool {
        let (old, count) = (self.open[at], self.own.len());
        let draw = match self.ordered {
            Some(_) => (old + 1) % count,
            None => self.below(count as u64) as usize,
        };
        self.own[old].open = false;
        self.finish(old, device);
        let free = |own: &OwnZone| !own.open && own.in_flight == 0;
        let next = (0..count)
            .map(|step| (draw + step) % count)
            .find(|&index| index != old && free(&self.own[index]))
            .unwrap_or(old);
        self.open[at] = next;
        let own = &mut self.own[next];
        own.open = true;
        // In their order, zones are written on from where they stand.
        let goes_on = self.ordered.is_some() && own.has_room(size_bytes);
        let reset = own.issued > own.zone.start && !goes_on;
        if reset {
            own.issued = own.zone.start;
            own.zone.pointer = own.zone.start;
            own.zone.active = false;
            self.readable.retain(|&index| index != next);
        }
        reset
    }

    /// A write that was placed in a zone has ended.
    pub fn settle(
        &mut self,
        index: usize,
        size_bytes: u64,
        succeeded: bool,
        device: &mut impl ZoneDevice,
    ) {
        let own = &mut self.own[index];
        own.in_flight -= 1;
        if succeeded {
            if own.zone.pointer == own.zone.start {
                self.readable.push(index);
            }
            own.zone.pointer += size_bytes;
        } else if let Some(pointer) = device.pointer(&own.zone) {
            (own.issued, own.zone.pointer) = (pointer, pointer);
        }
        self.finish(index, device);
    }
}

impl OwnZone {
    fn has_room(&self, size_bytes: u64) -> bool {
        self.issued + size_bytes <= self.zone.end
    }

    /// Returns whether an append can go there, or another zone take its place.
    fn takes_append(&self, size_bytes: u64) -> bool {
        self.has_room(size_bytes) || self.in_flight == 0
    }

    /// Blocks that can be read.
    fn places(&self, size_bytes: u64) -> u64 {
        (self.zone.pointer - self.zone.start) / size_bytes
    }

    /// Returns whether it is active and could still be written.
    fn is_begun(&self) -> bool {
        self.issued < self.zone.end && (self.issued > self.zone.start || self.zone.active)
    }
}

#[cfg(test)]
mod tests;
