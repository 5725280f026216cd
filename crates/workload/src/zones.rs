//! Where requests of the pattern `zones` go. Each thread has its share of a region's sequential zones. It keeps some of
//! them open and writes at their pointers, one write in flight a zone (appends any number). A zone without room makes
//! way for another, drawn at random and reset first, once nothing is in flight in it. To the device it is open until
//! then, and its limit may be what is open already. Reads go to what was written. It is the same on a real device and
//! on a twin: whoever drives the device passes it the resets, in line with the load.

mod limits;
mod own;
mod resets;

pub use self::{limits::ZoneLimits, own::Zone};
use self::{own::OwnZone, resets::Resets};
use crate::stream::random::{mix, scaled};
use crate::{Job, Op, Pattern, Request, Span, name_ops};

/// Draws of a place to read before all zones are counted through: where they are full the first is good.
const DRAWS: u32 = 16;

/// What zones need of the device that they are on.
pub trait ZoneDevice {
    /// Makes a zone empty before the load; whether that was done.
    fn reset(&mut self, zone: &Zone) -> bool;
    /// Makes a zone full as it is, so that it counts as active no longer; whether that was done.
    fn finish(&mut self, zone: &Zone) -> bool;
    /// Returns where the write pointer of a zone really stands; `None`: the device does not report it.
    fn pointer(&mut self, zone: &Zone) -> Option<u64>;
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
    /// Most partly written zones that it keeps beside the open ones, where zones come in their order.
    kept: u32,
    /// Whether its zones are emptied before the first request.
    empties: bool,
    /// The size of all requests where the thread ends with its zones.
    ends: Option<u64>,
    over: bool,
    /// What is left of the multiple of its zones after which it ends, bytes; `u64::MAX`: it ends otherwise.
    left_bytes: u64,
    /// Whether a zone that was full before the load may still come first, in order.
    fresh: bool,
}

/// A place in the zones of a thread: a zone of its own, and bytes behind that one's start.
#[derive(Clone, Copy, Debug, Default)]
struct Reading {
    zone: usize,
    read: u64,
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
        let (in_order, once, reset, empties, ends) = match job.pattern {
            Pattern::Zones {
                in_order,
                once,
                reset,
                empties,
                ends,
                ..
            } => (in_order, once, reset, empties, ends),
            _ => (false, false, None, false, false),
        };
        let mut all_sizes = job.mix.ops.iter().flat_map(|block| &block.sizes);
        let one_size = all_sizes.next().map(|share| u64::from(share.size_bytes));
        let resets = reset.map(|reset| Resets {
            above_bytes: reset.above * region.size_bytes as f64,
            every: reset.every,
            left: reset.every,
            data_bytes: own.iter().map(|own| own.issued - own.zone.start).sum(),
            passed_bytes: 0,
            region_bytes: region.size_bytes,
        });
        let left_bytes = job.until.region_multiple.map_or(u64::MAX, |multiple| {
            let all_bytes: u64 = own.iter().map(|own| own.takes_bytes(job)).sum();
            (all_bytes as f64 * multiple) as u64
        });
        Self {
            left_bytes,
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
            kept: u32::MAX,
            empties,
            ends: one_size.filter(|_| ends),
            over: false,
            fresh: in_order,
        }
    }

    /// Returns whether the thread has been through its zones, where it ends with them, or as often as its job says.
    #[inline]
    pub const fn is_over(&self) -> bool {
        self.over || self.left_bytes == 0
    }

    /// Says how many partly written zones it may keep beside the open ones; see [`ZoneLimits::kept_of`].
    pub const fn keep(&mut self, most: u32) {
        self.kept = most;
    }

    /// Prepares the zones for a load that keeps `count` of them open, where it `writes`.
    pub fn begin(&mut self, count: u32, writes: bool, device: &mut impl ZoneDevice) {
        if self.empties && writes {
            for index in 0..self.own.len() {
                let own = &self.own[index];
                if own.issued > own.zone.start && device.reset(&own.zone) {
                    self.empty(index);
                }
            }
        }
        if writes {
            self.open_first(count, device);
        }
        if let (Some(size_bytes), false) = (self.ends, writes) {
            self.over = !self.reads_on(self.ordered.unwrap_or_default(), size_bytes);
        }
    }

    /// Returns whether a request can be placed now. Where every open zone is full with appends in flight it waits for
    /// the last of one of them.
    #[inline]
    pub fn is_ready(&self) -> bool {
        if let Some(size_bytes) = self.ends {
            return self.open.is_empty() || self.takes_last(size_bytes);
        }
        self.append_bytes == 0
            || self.open.is_empty()
            || self
                .open
                .iter()
                .any(|&index| self.own[index].takes_append(self.append_bytes))
    }

    /// Returns whether a write goes to a zone now that has room, or whose place another with room can take.
    fn takes_last(&self, size_bytes: u64) -> bool {
        let mut idle = self.open.iter().map(|&index| &self.own[index]);
        let more = || self.next_with_room(0, size_bytes).is_some();
        idle.any(|own| {
            own.in_flight == 0 && (own.has_room(size_bytes) || self.ordered.is_some() || more())
        })
    }

    /// Returns a zone that is not open and has room, the first from `draw` on.
    fn next_with_room(&self, draw: usize, size_bytes: u64) -> Option<usize> {
        let count = self.own.len();
        (0..count)
            .map(|step| (draw + step) % count)
            .find(|&index| self.own[index].is_free() && self.own[index].has_room(size_bytes))
    }

    /// A zone, its pointer behind the last write that succeeded.
    pub fn zone(&self, index: usize) -> &Zone {
        &self.own[index].zone
    }

    /// Goes on with zones that were left partly written, so that they do not count against the device's limit for
    /// nothing. It finishes what is too many, then takes empty zones, and full ones at last.
    fn open_first(&mut self, count: u32, device: &mut impl ZoneDevice) {
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
        // In order, each is gone on with in its turn, as far as the device's limit lets it wait.
        let kept = if ordered { self.kept as usize } else { 0 };
        let begun = rest.into_iter().filter(|&index| self.own[index].is_begun());
        let left: Vec<usize> = begun.skip(kept).collect();
        left.into_iter()
            .for_each(|index| self.finish(index, device));
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
        if self.left_bytes != u64::MAX {
            self.left_bytes = self
                .left_bytes
                .saturating_sub(u64::from(request.size_bytes));
        }
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
                self.over = self.ends.is_some() && !self.reads_on(next, size_bytes);
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

    /// Returns whether there is more to read from a place on, up to the last zone.
    fn reads_on(&self, from: Reading, size_bytes: u64) -> bool {
        let mut next = from;
        self.advance(&mut next, size_bytes) && (next.zone, next.read) >= (from.zone, from.read)
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
        let at = self.choose(request)?;
        let due = self.resets.as_mut().is_some_and(Resets::is_due);
        let reset = match self.own[self.open[at]].has_room(size_bytes) {
            false if self.ordered.is_some() => self.go_on(at, device, size_bytes),
            false => self.replace(at, device),
            true => due && self.empty_begun(self.open[at]),
        };
        self.fresh = false;
        let zone = self.open[at];
        let own = &mut self.own[zone];
        request.offset_bytes = match request.op {
            Op::Append => own.zone.start,
            _ => own.issued,
        };
        own.in_flight += 1;
        let issued = own.issued + size_bytes;
        self.move_to(zone, issued);
        self.over = self.ends.is_some() && !self.writes_on(zone, size_bytes);
        Some(Placed { zone, reset })
    }

    /// Returns which of the open zones a write goes to. One without room that nothing can replace is open no longer.
    fn choose(&mut self, request: &Request) -> Option<usize> {
        let size_bytes = u64::from(request.size_bytes);
        let takes = |own: &OwnZone| match request.op {
            Op::Append => own.takes_append(size_bytes),
            _ => own.in_flight == 0,
        };
        loop {
            let count = self.open.len();
            if count == 0 {
                return None;
            }
            let draw = match self.once {
                None => self.below(count as u64) as usize,
                Some(region) => {
                    let place = u128::from(request.offset_bytes - region.start_bytes);
                    (place * count as u128 / u128::from(region.size_bytes)) as usize
                }
            };
            let at = (0..count)
                .map(|step| (draw + step) % count)
                .find(|&at| takes(&self.own[self.open[at]]))?;
            let is_last = self.ends.is_some() && self.ordered.is_none();
            let has_room = self.own[self.open[at]].has_room(size_bytes);
            if !is_last || has_room || self.next_with_room(0, size_bytes).is_some() {
                return Some(at);
            }
            let full = self.open.remove(at);
            self.own[full].open = false;
        }
    }

    /// Returns whether another write has a place behind one in `zone`, where no zone is written again.
    fn writes_on(&self, zone: usize, size_bytes: u64) -> bool {
        match self.ordered {
            Some(_) => zone + 1 < self.own.len() || self.own[zone].has_room(size_bytes),
            None => self.own.iter().any(|own| own.has_room(size_bytes)),
        }
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

    /// Another zone in place of one without room, drawn at random; whether it holds old data. Where the thread ends with
    /// its zones it is one with room, which is gone on with.
    fn replace(&mut self, at: usize, device: &mut impl ZoneDevice) -> bool {
        let (old, count) = (self.open[at], self.own.len());
        let draw = self.below(count as u64) as usize;
        self.own[old].open = false;
        self.finish(old, device);
        if let Some(next) = self.ends.and_then(|size| self.next_with_room(draw, size)) {
            self.open[at] = next;
            self.own[next].open = true;
            return false;
        }
        let next = (0..count)
            .map(|step| (draw + step) % count)
            .find(|&index| index != old && self.own[index].is_free())
            .unwrap_or(old);
        self.open[at] = next;
        self.own[next].open = true;
        self.empty_begun(next)
    }

    /// The next zone in place of one without room; whether it is reset. A zone is written on from where it stands, and
    /// reset where it is full. One with too little room for a write is finished and left out, as in fio.
    fn go_on(&mut self, at: usize, device: &mut impl ZoneDevice, size_bytes: u64) -> bool {
        let count = self.own.len();
        let mut next = self.open[at];
        // The first zone was full before: it is reset in its turn like all others.
        let mut comes_next = self.fresh && self.own[next].is_full();
        for _ in 0..=count {
            if comes_next {
                break;
            }
            self.own[next].open = false;
            self.finish(next, device);
            next = (next + 1) % count;
            comes_next = self.own[next].has_room(size_bytes) || self.own[next].is_full();
        }
        self.open[at] = next;
        self.own[next].open = true;
        !self.own[next].has_room(size_bytes) && self.empty_begun(next)
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

#[cfg(test)]
mod tests;
