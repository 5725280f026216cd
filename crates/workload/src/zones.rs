//! Where requests of the pattern `zones` go. Each thread has its share of a region's sequential zones. It keeps some of
//! them open and writes at their pointers, one write in flight a zone (appends any number). A zone without room makes
//! way for another, drawn at random and reset first, once nothing is in flight in it. To the device it is open until
//! then, and its limit may be what is open already. Reads go to what was written. It is the same on a real device and
//! on a twin: whoever drives the device passes it the resets, in line with the load.

use crate::stream::random::{mix, scaled};
use crate::{Job, Op, Pattern, Request, Span, name_ops};

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
    /// Returns how many of its `zones` a thread keeps open where a job asks for `open`; 0 is all that the limits allow.
    /// `foreign` zones are active outside the region.
    pub fn open_of(self, job: &Job, open: u32, zones: u32, foreign: u32) -> u32 {
        if open > 0 {
            return open;
        }
        let active = (self.active > 0).then(|| self.active.saturating_sub(foreign));
        let limits = [(self.open > 0).then_some(self.open), active];
        let most = limits.into_iter().flatten().min();
        let each = most.map_or(zones, |most| most / job.load.threads());
        each.clamp(1, zones.max(1))
    }

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
    /// The region, if the place in it says which of the open zones a write goes to.
    once: Option<Span>,
    resets: Option<Resets>,
}

/// When zones with room are reset: once enough of the region holds data, before each `every`th write. What is counted,
/// and when, is as in fio (`zbd_adjust_block` of its `zbd.c`).
#[derive(Clone, Copy, Debug)]
struct Resets {
    above_bytes: f64,
    every: u32,
    /// Writes until the next one.
    left: u32,
    /// What all zones hold, writes in flight included.
    data_bytes: u64,
    /// What was asked for in this pass of the region; each begins to count anew.
    passed_bytes: u64,
    region_bytes: u64,
}

impl Resets {
    /// A request is to be placed.
    fn pass(&mut self, size_bytes: u32) {
        if self.passed_bytes >= self.region_bytes {
            (self.passed_bytes, self.left) = (0, self.every);
        }
        self.passed_bytes += u64::from(size_bytes);
    }

    /// Returns whether the next write finds its zone reset.
    fn is_due(&mut self) -> bool {
        if (self.data_bytes as f64) < self.above_bytes {
            return false;
        }
        self.left -= 1;
        let due = self.left == 0;
        if due {
            self.left = self.every;
        }
        due
    }
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
    /// Returns the share of a thread of `job` in these zones of its region, none of them open yet.
    pub fn new(job: &Job, region: Span, zones: impl IntoIterator<Item = Zone>) -> Self {
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
        let (in_order, once, reset) = match job.pattern {
            Pattern::Zones {
                in_order,
                once,
                reset,
                ..
            } => (in_order, once, reset),
            _ => (false, false, None),
        };
        let resets = reset.map(|reset| Resets {
            above_bytes: reset.above * region.size_bytes as f64,
            every: reset.every,
            left: reset.every,
            data_bytes: own.iter().map(|own| own.issued - own.zone.start).sum(),
            passed_bytes: 0,
            region_bytes: region.size_bytes,
        });
        Self {
            readable: (0..own.len()).filter(holds_data).collect(),
            open: Vec::new(),
            own,
            append_bytes: sizes
                .map(|share| u64::from(share.size_bytes))
                .max()
                .unwrap_or(0),
            drawn: 0,
            ordered: in_order.then(Reading::default),
            once: once.then_some(region),
            resets,
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
            let end = own.zone.end;
            self.move_to(index, end);
        }
    }

    /// Moves the end of what was issued in a zone.
    fn move_to(&mut self, index: usize, issued: u64) {
        let own = &mut self.own[index];
        if let Some(resets) = &mut self.resets {
            resets.data_bytes = resets.data_bytes + issued - own.issued;
        }
        own.issued = issued;
    }

    /// Makes a zone empty: whoever drives the device resets it.
    fn empty(&mut self, index: usize) {
        let start = self.own[index].zone.start;
        self.move_to(index, start);
        let own = &mut self.own[index];
        own.zone.pointer = start;
        own.zone.active = false;
        self.readable.retain(|&other| other != index);
    }

    /// Moves a request to where the device takes it. `None`: it has no zone of its own to be settled.
    pub fn place(&mut self, request: &mut Request, device: &mut impl ZoneDevice) -> Option<Placed> {
        self.drawn = mix(self.drawn ^ request.offset_bytes);
        if let Some(resets) = &mut self.resets {
            resets.pass(request.size_bytes);
        }
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
        let draw = match self.once {
            None => self.below(count as u64) as usize,
            Some(region) => {
                let place = u128::from(request.offset_bytes - region.start_bytes);
                (place * count as u128 / u128::from(region.size_bytes)) as usize
            }
        };
        let takes = |own: &OwnZone| match request.op {
            Op::Append => own.takes_append(size_bytes),
            _ => own.in_flight == 0,
        };
        let at = (0..count)
            .map(|step| (draw + step) % count)
            .find(|&at| takes(&self.own[self.open[at]]))?;
        let due = self.resets.as_mut().is_some_and(Resets::is_due);
        let reset = match self.own[self.open[at]].has_room(size_bytes) {
            false => self.replace(at, device, size_bytes),
            true => due && self.empty_begun(self.open[at]),
        };
        let zone = self.open[at];
        let own = &mut self.own[zone];
        request.offset_bytes = match request.op {
            Op::Append => own.zone.start,
            _ => own.issued,
        };
        own.in_flight += 1;
        let issued = own.issued + size_bytes;
        self.move_to(zone, issued);
        Some(Placed { zone, reset })
    }

    /// Makes a zone empty that is not; whether it was not.
    fn empty_begun(&mut self, index: usize) -> bool {
        let own = &self.own[index];
        let holds_data = own.issued > own.zone.start;
        if holds_data {
            self.empty(index);
        }
        holds_data
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
        !goes_on && self.empty_begun(next)
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
            own.zone.pointer = pointer;
            self.move_to(index, pointer);
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
