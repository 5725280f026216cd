//! When the next request is issued: at once, after a pause, when those that it waits for have returned, or at its own
//! arrival. Each kind of load has a loop of its own.

use std::{collections::VecDeque, io, iter};

use workload::Waiting;

use super::Driver;
use crate::{offered::Offered, queue_pair::QueuePair};

impl<Q: QueuePair> Driver<Q> {
    /// Keeps `iodepth` in flight at all times.
    pub(super) fn closed(&mut self) -> io::Result<()> {
        loop {
            while self.slots.free() > 0 && self.takes_more() {
                let request = self.next_request();
                self.push(request, 0)?;
            }
            self.stamp();
            if self.slots.in_flight() == 0 && self.exhausted() {
                self.cut_last(None);
                return Ok(());
            }
            let returned = if self.slots.free() > 0 && self.is_held() {
                if self.stream.pause_ns() > 0 && self.rest()? {
                    return Ok(());
                }
                self.wait_for_others()?;
                true
            } else {
                self.queues
                    .submit(self.reap_min.min(self.slots.in_flight()))?
            };
            let now_ns = self.clock.now_ns();
            if self.meter.is_due(now_ns) && self.look_up(now_ns, None) {
                return Ok(());
            }
            if returned {
                let free_before = self.slots.free();
                self.reap::<false>(now_ns);
                self.note_returned(free_before, now_ns);
            }
        }
    }

    /// Runs as `closed`, but each of the `iodepth` pauses between a completion and its next request.
    pub(super) fn thinking(&mut self, think_ns: u64) -> io::Result<()> {
        let mut ready_ns = VecDeque::from(vec![0; self.slots.len()]);
        loop {
            let now_ns = self.clock.now_ns();
            while ready_ns.front().is_some_and(|&at_ns| at_ns <= now_ns) && self.takes_more() {
                ready_ns.pop_front();
                let request = self.stream.next_request();
                self.push(request, 0)?;
            }
            self.stamp();
            if self.exhausted() && self.slots.in_flight() == 0 {
                self.cut_last(None);
                return Ok(());
            }
            match ready_ns.front() {
                Some(&at_ns) if self.takes_more() => self.queues.submit_until(at_ns)?,
                _ => {
                    self.queues.submit(1)?;
                }
            }
            let now_ns = self.clock.now_ns();
            if self.meter.is_due(now_ns) && self.look_up(now_ns, None) {
                return Ok(());
            }
            let free_before = self.slots.free();
            self.reap::<false>(now_ns);
            let returned = self.slots.free() - free_before;
            ready_ns.extend(iter::repeat_n(now_ns.saturating_add(think_ns), returned));
        }
    }

    /// Issues a trace whose I/Os wait for others.
    pub(super) fn waiting(&mut self, mut trace: Waiting) -> io::Result<()> {
        let mut rows = vec![0; self.slots.len()];
        loop {
            let now_ns = self.clock.now_ns();
            while self.slots.free() > 0 && self.takes_more() {
                let Some((row, _, request)) = trace.take_due(now_ns) else {
                    break;
                };
                rows[usize::from(self.slots.next_free())] = row;
                self.push(request, 0)?;
            }
            self.stamp();
            if self.exhausted() && self.slots.in_flight() == 0 {
                self.cut_last(None);
                return Ok(());
            }
            match trace.next_due_ns() {
                Some(at_ns) if self.slots.free() > 0 && self.takes_more() => {
                    self.queues.submit_until(at_ns)?;
                }
                _ => {
                    self.queues.submit(1)?;
                }
            }
            let now_ns = self.clock.now_ns();
            if self.meter.is_due(now_ns) && self.look_up(now_ns, None) {
                return Ok(());
            }
            let free_before = self.slots.free();
            self.reap::<false>(now_ns);
            for &slot in self.slots.freed_since(free_before) {
                trace.returned(rows[usize::from(slot)], now_ns, |_| {});
            }
        }
    }

    /// Requests arrive on their own clock; those that find no free slot wait in the backlog.
    pub(super) fn open(&mut self) -> io::Result<()> {
        let mut offered = Offered::new(&self.stream, self.left.count);
        let ended = self.issue_on_arrival(&mut offered);
        self.meter.summary.uncounted_ns = offered.uncounted_ns();
        ended
    }

    fn issue_on_arrival(&mut self, offered: &mut Offered) -> io::Result<()> {
        let mut arrival_ns = self.stream.next_arrival_ns();
        let mut waited_for_slot = false;
        loop {
            let now_ns = self.clock.now_ns();
            while arrival_ns <= now_ns && self.slots.free() > 0 && self.takes_more() {
                let request = self.next_request();
                self.push(request, arrival_ns)?;
                if !waited_for_slot {
                    self.meter.summary.lateness.count(now_ns - arrival_ns);
                }
                arrival_ns = self.stream.next_arrival_ns();
            }
            self.stamp();
            let held = arrival_ns <= now_ns && self.is_held();
            waited_for_slot = self.slots.free() == 0 || held || !self.queues.is_ready();
            if self.exhausted() && self.slots.in_flight() == 0 {
                self.cut_last(Some(offered));
                return Ok(());
            }
            if self.slots.free() > 0 && held {
                self.wait_for_others()?;
            } else if self.slots.free() == 0 || self.exhausted() || !self.queues.is_ready() {
                self.queues.submit(1)?;
            } else {
                self.queues.submit_until(arrival_ns)?;
            }
            let now_ns = self.clock.now_ns();
            offered.advance(now_ns.min(self.meter.due_ns));
            if self.meter.is_due(now_ns) && self.look_up(now_ns, Some(offered)) {
                return Ok(());
            }
            let free_before = self.slots.free();
            self.reap::<true>(now_ns);
            self.note_returned(free_before, now_ns);
        }
    }
}
