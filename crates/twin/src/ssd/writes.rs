//! Writes: into the buffer page by page as there is room, in the order in which they came, and acknowledged when all of
//! one is in. A write of part of an indirection unit reads the rest first. The page map, where it is written, takes
//! its room between them.

use workload::Request;

use super::{InFlight, Ssd};
use crate::sim::event::Event;
use crate::sim::server::Waits;
use crate::ssd::ftl::Stream;
use crate::ssd::ftl::map_flush::MapFlush;
use crate::ssd::params::UNIT_BYTES;

impl Ssd {
    /// First page and number of pages that a write programs: whole indirection units.
    #[inline]
    pub(super) fn written_pages(&self, request: &Request) -> (u32, u32) {
        let (first, count) = Self::pages(request);
        let within = self.indirection_pages - 1;
        let from = first & !within;
        (from, ((first + count + within) & !within) - from)
    }

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
        let (first, count) = self.written_pages(&self.requests[slot].request);
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
        if !self.waiting.is_empty() || !self.admit(slot) {
            self.waiting.push_back(slot);
            self.place_waits.begin(self.now_ns, Waits::WHOLE);
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
        let (first, count) = self.written_pages(&request);
        let stream = Stream(request.handle() as u8);
        while placed < count {
            let room = self.buffer_pages - self.buffered;
            if room == 0 || self.host_waits || self.map_in_arrears() {
                break;
            }
            let Some(page) = self.host_frontier(stream) else {
                break;
            };
            let left = self.geometry.left_in_stripe(page);
            let run = (count - placed).min(room).min(left);
            self.ftl.place(stream, first + placed, run);
            self.buffered += run;
            placed += run;
            if run == left {
                self.stripe_filled(page);
            }
            self.pace(run);
            if let Some(flush) = &mut self.map_flush {
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
        let at_ns = in_buffer_ns + self.acknowledge_ns;
        self.calendar.push(at_ns, Event::Acknowledge.with(slot));
    }

    /// Admits waiting writes after space was gained.
    pub(super) fn admit_waiting(&mut self) {
        self.write_map();
        if !self.host_waits {
            self.admit_all();
        }
    }

    fn admit_all(&mut self) {
        while let Some(&slot) = self.waiting.front() {
            if !self.admit(slot) {
                return;
            }
            self.waiting.pop_front();
            self.place_waits.end(self.now_ns, Waits::WHOLE);
        }
    }

    /// Whether so much of the map is overdue that host writes have to wait for it.
    #[inline]
    fn map_in_arrears(&self) -> bool {
        let flush = self.map_flush.as_ref();
        flush.is_some_and(|flush| flush.owes(self.geometry.stripe_pages))
    }

    /// Writes what is due of the page map, as far as there is room.
    #[inline]
    fn write_map(&mut self) {
        if self.map_flush.as_ref().is_some_and(|flush| flush.owes(1)) {
            self.write_owed_map();
        }
    }

    fn write_owed_map(&mut self) {
        while self.map_flush.as_ref().is_some_and(|flush| flush.owes(1))
            && self.buffered < self.buffer_pages
            && !self.host_waits
            && let Some(page) = self.host_frontier(self.streams.map())
        {
            let Some(logical) = self.map_flush.as_mut().and_then(MapFlush::next) else {
                return;
            };
            self.ftl.place(self.streams.map(), logical, 1);
            self.buffered += 1;
            if self.geometry.left_in_stripe(page) == 1 {
                self.stripe_filled(page);
            }
            self.pace(1);
        }
    }
}
