//! A thread that is ahead of those in step with it, and pauses.

use std::io;

use super::Driver;
use crate::queue_pair::QueuePair;

impl<Q: QueuePair> Driver<Q> {
    /// Waits until the thread's own requests have returned, and then for the pause, as fio's `flow_sleep`. Returns
    /// whether the run is over.
    #[cold]
    pub(super) fn rest(&mut self) -> io::Result<bool> {
        while self.in_flight() > 0 {
            self.queues.submit(self.in_flight())?;
            if self.looks_over() {
                return Ok(true);
            }
            self.reap::<false>(self.clock.now_ns());
        }
        let until_ns = self.clock.now_ns() + self.stream.pause_ns();
        while self.clock.now_ns() < until_ns {
            self.queues.submit_until(until_ns)?;
            if self.looks_over() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn looks_over(&mut self) -> bool {
        let now_ns = self.clock.now_ns();
        self.meter.is_due(now_ns) && self.look_up(now_ns, None)
    }
}
