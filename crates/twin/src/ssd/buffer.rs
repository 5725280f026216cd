//! Writes go into the buffer page by page as there is room, in the order in which they came. One is acknowledged when
//! all of it is in. A write of part of an indirection unit reads the rest first. The page map, where it is written,
//! takes its room between them.

use workload::Request;

use std::collections::VecDeque;

use super::{InFlight, Ssd};
use crate::sim::bits::Bits;
use crate::sim::event::Event;
use crate::sim::event::us_to_ns;
use crate::sim::server::Waits;
use crate::ssd::ftl::Stream;
use crate::ssd::ftl::map_flush::MapFlush;
use crate::ssd::geometry::Geometry;
use crate::ssd::params::{SsdParams, UNIT_BYTES};

/// Rows of units that one stream of cleaning may hold in DRAM before they are programmed. Each further stream adds the
/// row that may wait for its last pages.
const CLEANING_ROWS: u32 = 4;

/// A unit between its first page and the end of its program.
#[derive(Clone, Copy, Default)]
pub(super) struct UnitState {
    /// Cleaning reads that still bring pages for it.
    pub(super) incoming: u16,
    pub(super) filled: bool,
}

/// What a reclaim group holds of the buffer.
#[derive(Clone, Default)]
pub(super) struct GroupBuffer {
    /// Writes that wait for room, in order.
    pub(super) waiting: VecDeque<u32>,
    /// Pages of the host's writes, and pages that cleaning moves.
    pub(super) host_pages: u32,
    pub(super) cleaning_pages: u32,
}

/// The write buffer, protected against power loss, and the DRAM that cleaning moves pages through.
#[derive(Clone)]
pub(super) struct WriteBuffer {
    /// The group at hand.
    pub(super) group: GroupBuffer,
    /// Most pages of each kind that a group holds.
    host_pages_max: u32,
    cleaning_pages_max: u32,
    pub(super) units: Box<[UnitState]>,
    /// One bit per unit, from its first page to the end of its program: small, because every read
    /// looks at it.
    pub(super) holds: Bits,
    pub(super) dram_ns: u64,
    acknowledge_ns: u64,
}

impl WriteBuffer {
    pub(super) fn new(params: &SsdParams, geometry: &Geometry) -> Self {
        let units = (geometry.superblocks * geometry.superblock_units) as usize;
        let mapped_units = if params.zone_bytes > 0 { 0 } else { units };
        Self {
            group: GroupBuffer::default(),
            host_pages_max: (params.write_buffer_bytes / u64::from(UNIT_BYTES)) as u32
                / geometry.groups,
            cleaning_pages_max: (CLEANING_ROWS - 1 + params.cleaning_streams() / geometry.groups)
                * geometry.dies
                * geometry.unit_pages,
            units: vec![UnitState::default(); mapped_units].into_boxed_slice(),
            holds: Bits::new(units),
            dram_ns: us_to_ns(params.dram_read_us),
            acknowledge_ns: us_to_ns(params.write_ack_us),
        }
    }

    /// Pages of host writes that there is room for.
    #[inline]
    pub(super) const fn room(&self) -> u32 {
        self.host_pages_max.saturating_sub(self.group.host_pages)
    }

    /// Returns whether cleaning can move `pages` more into it.
    #[inline]
    pub(super) const fn has_cleaning_room(&self, pages: u32) -> bool {
        self.group.cleaning_pages + pages <= self.cleaning_pages_max
    }

    /// Begins units that are erased.
    pub(super) fn begin_units(&mut self, first: u32, count: u32) {
        let end = first + count;
        self.units[first as usize..end as usize].fill(UnitState::default());
        self.holds.set_all(first, end);
    }

    /// Returns whether all of a unit's data is here.
    #[inline]
    pub(super) fn is_complete(&self, unit: u32) -> bool {
        let state = self.units[unit as usize];
        state.filled && state.incoming == 0
    }
}

impl Ssd {
    #[inline]
    pub(super) fn write(&mut self, slot: u32) {
        let Request {
            offset_bytes,
            size_bytes,
            ..
        } = self.requests[slot].request;
        let end_bytes = offset_bytes + u64::from(size_bytes);
        let within = u64::from(self.params.indirection_unit_bytes - 1);
        if (offset_bytes | end_bytes) & within != 0 {
            self.sense_rest(slot, offset_bytes, end_bytes);
        }
        if self.requests[slot].parts == 0 {
            self.queue_write(slot);
        }
    }

    /// A write that covers part of an indirection unit needs the rest of it first.
    #[cold]
    fn sense_rest(&mut self, slot: u32, offset_bytes: u64, end_bytes: u64) {
        let unit = u64::from(UNIT_BYTES);
        let (first, count) = self.translation.written_pages(&self.requests[slot].request);
        let head_end = offset_bytes.div_ceil(unit) as u32;
        let tail = ((end_bytes / unit) as u32).max(head_end);
        self.sense(slot, first, head_end - first);
        self.sense(slot, tail, first + count - tail);
    }

    /// The rest of the indirection units that a write covers in part has come.
    #[cold]
    pub(super) fn complete_unit(&mut self, slot: u32) {
        self.enter_group_of(slot);
        self.queue_write(slot);
    }

    pub(super) fn queue_write(&mut self, slot: u32) {
        if !self.buffer.group.waiting.is_empty() || !self.admit(slot) {
            self.buffer.group.waiting.push_back(slot);
            self.queue.place_waits.begin(self.now_ns, Waits::WHOLE);
        }
    }

    /// Puts as many pages of a write into the buffer as there is room for; true when all are in.
    fn admit(&mut self, slot: u32) -> bool {
        if self.zns.is_some() {
            return self.admit_zoned(slot);
        }
        let InFlight {
            request,
            mut placed,
            ..
        } = self.requests[slot];
        let (first, count) = self.translation.written_pages(&request);
        let stream = Stream(request.handle() as u8);
        while placed < count {
            let room = self.buffer.room();
            if room == 0
                || self.cleaner.group.host_waits
                || self.translation.owes_map(self.geometry.stripe_pages)
            {
                break;
            }
            let Some(page) = self.host_frontier(stream) else {
                break;
            };
            let left = self.geometry.left_in_stripe(page);
            let run = (count - placed).min(room).min(left);
            self.translation.ftl.place(stream, first + placed, run);
            self.buffer.group.host_pages += run;
            self.placed_in_group(run);
            placed += run;
            if run == left {
                self.stripe_filled(page);
            }
            self.pace(run);
            if let Some(flush) = &mut self.translation.map_flush {
                flush.change(first + placed - run, run);
                flush.host_wrote(run);
                self.write_map();
            }
        }
        self.requests[slot].placed = placed;
        if placed < count {
            return false;
        }
        if let Some(namespaces) = &mut self.namespaces {
            namespaces.wrote(&request, count);
        }
        self.accept(slot, request.size_bytes);
        true
    }

    /// A write has room in the buffer: its data comes, and is acknowledged.
    #[inline]
    pub(super) fn accept(&mut self, slot: u32, size_bytes: u32) {
        let in_buffer_ns = self.link.fetch(self.now_ns, size_bytes);
        let at_ns = in_buffer_ns + self.buffer.acknowledge_ns;
        self.calendar.push(at_ns, Event::Acknowledge.with(slot));
    }

    /// Admits waiting writes after space was gained.
    pub(super) fn admit_waiting(&mut self) {
        self.write_map();
        if !self.cleaner.group.host_waits {
            self.admit_all();
        }
    }

    fn admit_all(&mut self) {
        while let Some(&slot) = self.buffer.group.waiting.front() {
            if !self.admit(slot) {
                return;
            }
            self.buffer.group.waiting.pop_front();
            self.queue.place_waits.end(self.now_ns, Waits::WHOLE);
        }
    }

    /// Writes what is due of the page map, as far as there is room.
    #[inline]
    fn write_map(&mut self) {
        if self.translation.owes_map(1) {
            self.write_owed_map();
        }
    }

    fn write_owed_map(&mut self) {
        while self.translation.owes_map(1)
            && self.buffer.room() > 0
            && !self.cleaner.group.host_waits
            && let Some(page) = self.host_frontier(self.translation.streams.map())
        {
            let Some(logical) = self.translation.map_flush.as_mut().and_then(MapFlush::next) else {
                return;
            };
            self.translation
                .ftl
                .place(self.translation.streams.map(), logical, 1);
            self.buffer.group.host_pages += 1;
            if self.geometry.left_in_stripe(page) == 1 {
                self.stripe_filled(page);
            }
            self.pace(1);
        }
    }
}
