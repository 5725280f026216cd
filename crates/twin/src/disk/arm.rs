//! The arm: what it does next, where it goes, and what its time is spent on.

use std::ops::Range;

use workload::Op;

use super::layout::Place;
use super::queue::Arm;
use super::read_ahead::Stream;
use super::work::{Spent, Work};
use super::{Disk, TAIL_BYTES, WORK};
use crate::sim::event::Event;

impl Disk {
    /// Gives the arm its next work, if it has none.
    #[inline]
    pub(super) fn start_work(&mut self) {
        if !matches!(self.work, Work::Idle) {
            return;
        }
        let dirty = self.cache.is_dirty();
        if self.queue.is_empty() && !dirty {
            return self.rest();
        }
        if let Some(stream) = self.stream {
            let least = match self.sequential {
                true => stream.from + self.params.read_ahead_least_bytes,
                false => 0,
            };
            let until = stream.promised.max(least.min(stream.limit));
            let until_ns = self.passes_ns(&stream, until);
            if until_ns > self.now_ns {
                self.stream = Some(Stream {
                    promised: until,
                    ..stream
                });
                return self.begin(Work::Ahead, until_ns);
            }
            self.close_stream();
        }
        let pressed = !self.shut_out.is_empty() || !self.flushes.is_empty();
        if dirty && (self.queue.is_empty() || pressed && self.destage_next) {
            self.destage_next = false;
            match self.media_cache.is_some() {
                true => self.destage_shingled(pressed),
                false => self.destage(),
            }
        } else {
            self.destage_next = true;
            self.command();
        }
    }

    pub(super) fn begin(&mut self, work: Work, end_ns: u64) {
        self.work = work;
        self.calendar.push(end_ns, Event::Die.with(WORK));
    }

    pub(super) fn arm_at(&self, now_ns: u64) -> Arm<'_> {
        Arm {
            at: self.at,
            next_stream_ns: self.at_stream_ns,
            now_ns,
            angle_ns: self.layout.angle_ns(now_ns),
            setup_ns: self.setup_ns,
            layout: &self.layout,
            seek: &self.seek,
        }
    }

    /// Serves the best of the waiting commands.
    fn command(&mut self) {
        let mut queue = std::mem::take(&mut self.queue);
        let next = queue.next(&self.arm_at(self.now_ns));
        self.queue = queue;
        let Some(waiting) = next else { return };
        let inflight = self.requests[waiting.slot];
        let start = inflight.request.offset_bytes;
        let start = match waiting.write {
            true => start,
            false => self.logged(start).unwrap_or(start),
        };
        let end = (start + u64::from(inflight.request.size_bytes)).min(self.last_byte() + 1);
        let place = self.layout.place(start);
        let end_ns = self.visit(self.now_ns, start..end, &place, waiting.write);
        self.begin(Work::Command { slot: waiting.slot }, end_ns);
    }

    /// The arm is over what follows the last byte that it passed.
    #[inline]
    pub(super) fn rest_at(&mut self, byte: u64) {
        self.at = self.layout.place(byte.min(self.last_byte()));
        self.at_byte = byte;
        self.at_stream_ns = self.at.stream_ns;
    }

    /// Moves the arm, free at `at_ns`, to the first byte of a range, at `place`, and over the range; gives when it is
    /// there, ns.
    pub(super) fn visit(
        &mut self,
        at_ns: u64,
        range: Range<u64>,
        place: &Place,
        write: bool,
    ) -> u64 {
        let Range { start, end } = range;
        let positioning = self.arm_at(at_ns).position(place, write);
        self.rest_at(end);
        let end_stream_ns = match end > self.last_byte() {
            true => self.layout.stream_ns(end),
            false => self.at_stream_ns,
        };
        let transfer_ns = end_stream_ns - place.stream_ns;
        let busy_ns = positioning.total_ns() + transfer_ns;
        let spent = Spent {
            busy_ns,
            seek_ns: positioning.seek_ns,
            wait_ns: positioning.wait_ns,
            transfer_ns,
        };
        self.booked.visit(at_ns + busy_ns, spent);
        let bytes = end - start;
        if write {
            self.media_write_bytes += bytes;
        } else {
            self.media_read_bytes += bytes;
        }
        at_ns + busy_ns
    }

    /// The arm has done what it was sent for.
    pub(super) fn work_done(&mut self) {
        self.booked.work_done();
        match std::mem::replace(&mut self.work, Work::Idle) {
            Work::Idle | Work::Clean => {}
            Work::Ahead => {
                self.sequential = false;
                self.close_stream();
            }
            Work::Command { slot } => {
                let inflight = self.requests[slot];
                if inflight.request.op == Op::Read {
                    self.send(slot, TAIL_BYTES);
                    let range = inflight.range();
                    if self.at_byte == range.end {
                        self.read_on(range);
                        self.share_stream();
                    }
                } else {
                    self.calendar.push(self.now_ns, Event::Complete.with(slot));
                }
            }
            Work::Destage { bytes } => {
                self.cache.moving_bytes -= bytes;
                self.make_use_of_room();
            }
        }
        self.start_work();
    }

    /// Returns the last byte of the medium, its cache included.
    pub(super) fn last_byte(&self) -> u64 {
        self.params.capacity_bytes + self.params.media_cache_bytes - 1
    }
}
