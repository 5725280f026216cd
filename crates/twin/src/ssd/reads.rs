//! Reads: pages are looked up, and come from DRAM where they are in the write buffer or never written. Others come from
//! their dies, neighbours in one command. What has come crosses the link.

use workload::{Op, Request};

use super::Ssd;
use crate::sim::server::Waits;
use crate::ssd::ftl::NONE;
use crate::ssd::geometry::Place;
use crate::ssd::params::UNIT_BYTES;

impl Ssd {
    #[inline]
    pub(super) fn read(&mut self, slot: u32, first: u32, count: u32) {
        let (dram_pages, unmapped) = self.sense(slot, first, count);
        self.answer_from_dram(slot, dram_pages, unmapped);
    }

    /// Splits pages by where they lie and asks the dies for their parts. Gives the pages that no die is asked
    /// for, and whether some of those were never written.
    #[inline]
    pub(super) fn sense(&mut self, slot: u32, first: u32, count: u32) -> (u32, bool) {
        let mut dram_pages = 0;
        let mut unmapped = false;
        let mut logical = first;
        let end = first + count;
        while logical < end {
            let page = self.translation.ftl.lookup(logical);
            if page == NONE {
                unmapped = true;
                dram_pages += 1;
                logical += 1;
                continue;
            }
            let place = self.geometry.place(page);
            if self.buffer.holds.get(place.unit) {
                dram_pages += 1;
                logical += 1;
                continue;
            }
            let run = self.run_from(logical, end, page);
            self.requests[slot].parts += 1;
            let share = Waits::share(run, count);
            self.read_die(slot, page, place, run, share);
            logical += run;
        }
        (dram_pages, unmapped)
    }

    /// Asks a die for `run` neighbouring pages from `page` on, which lies at `place`.
    #[inline]
    pub(super) fn read_die(
        &mut self,
        request: u32,
        page: u32,
        mut place: Place,
        run: u32,
        share: u32,
    ) {
        if self.senses_slc(page) {
            place.page_type = Place::SLC;
        }
        self.flash
            .read(self.now_ns, &mut self.calendar, request, place, run, share);
    }

    /// Returns how many pages from `logical` to before `end` one read of a die brings: those that lie one behind the
    /// other from `page` on.
    #[inline]
    pub(super) fn run_from(&self, logical: u32, end: u32, page: u32) -> u32 {
        let room = (end - logical).min(self.translation.left_in_read(page));
        let mut run = 1;
        while run < room && self.translation.ftl.lookup(logical + run) == page + run {
            run += 1;
        }
        run
    }

    /// The part of a read that no die is asked for.
    #[inline]
    pub(super) fn answer_from_dram(&mut self, slot: u32, dram_pages: u32, unmapped: bool) {
        self.translation.unmapped_reads += u64::from(unmapped);
        if dram_pages > 0 {
            self.requests[slot].parts += 1;
            self.arrived(slot, dram_pages, self.buffer.dram_ns);
        }
    }

    /// A part of a read is in the controller: it goes to the host, or lets a partial write go on.
    #[inline]
    pub(super) fn arrived(&mut self, slot: u32, units: u32, delay_ns: u64) {
        let inflight = &mut self.requests[slot];
        inflight.parts -= 1;
        let last = inflight.parts == 0;
        if inflight.request.op == Op::Write {
            if last {
                self.complete_unit(slot);
            }
            return;
        }
        let Request {
            offset_bytes,
            size_bytes,
            ..
        } = inflight.request;
        // Only what was asked for crosses of the first and last page. Which part has them is not kept: the first part and
        // the last stand for them.
        let within = u64::from(UNIT_BYTES - 1);
        let head = match inflight.done_ns {
            0 => offset_bytes & within,
            _ => 0,
        };
        let tail = match last {
            true => (offset_bytes + u64::from(size_bytes)).wrapping_neg() & within,
            false => 0,
        };
        let bytes = (units * UNIT_BYTES - (head + tail) as u32).min(size_bytes);
        let share = Waits::share(bytes, size_bytes);
        let at_ns = self.link.send(self.now_ns, bytes, share, last) + delay_ns;
        inflight.done_ns = inflight.done_ns.max(at_ns);
        if last {
            let done_ns = inflight.done_ns;
            self.end_command(slot, done_ns);
        }
    }
}
