//! Reads that end elsewhere than in the I/O buffers: their data are copied on, to a GPU's memory. A read is complete,
//! and its slot the loop's again, only after the copy. So a buffer is never read into while it is copied from, and a
//! read's latency is that of the whole way.

#[cfg(test)]
mod tests;

use std::{collections::VecDeque, io};

use recording::Remark;
use workload::{Op, Request};

use crate::{clock::Clock, gate::TICK_NS, queue_pair::QueuePair};

/// How long a thread that waits for copies watches the completions of requests before it looks for copies again.
const LOOK_NS: u64 = 2_000;

/// Where reads end.
pub(crate) trait Destination {
    /// Begins to copy the first `size_bytes` of a slot's read buffer.
    fn begin(&mut self, slot: u16, size_bytes: u32) -> io::Result<()>;

    /// Returns whether a slot's copy is complete. Copies complete in the order in which they began.
    fn is_complete(&self, slot: u16) -> io::Result<bool>;
}

/// `below`, with reads that end in `destination`.
pub(crate) struct CopyingQueue<Q, L> {
    below: Q,
    destination: L,
    clock: Clock,
    /// Bytes that a slot's read brings; 0: it is no read.
    reads: Box<[u32]>,
    /// Completions whose data are being copied, in the order in which the copies began.
    copying: VecDeque<(u16, i32)>,
    complete: VecDeque<(u16, i32)>,
}

impl<Q: QueuePair, L: Destination> CopyingQueue<Q, L> {
    pub(crate) fn new(below: Q, destination: L, iodepth: u32, clock: Clock) -> Self {
        let slots = iodepth as usize;
        Self {
            below,
            destination,
            clock,
            reads: vec![0; slots].into(),
            copying: VecDeque::with_capacity(slots),
            complete: VecDeque::with_capacity(slots),
        }
    }

    pub(crate) fn into_parts(self) -> (Q, L) {
        (self.below, self.destination)
    }

    /// Begins the copies of reads that have arrived, and takes in those that are complete.
    fn gather(&mut self) -> io::Result<()> {
        while let Some((slot, result)) = self.below.next() {
            let size_bytes = self.reads[usize::from(slot)];
            if size_bytes == 0 || result < 0 {
                self.complete.push_back((slot, result));
            } else {
                self.destination.begin(slot, size_bytes)?;
                self.copying.push_back((slot, result));
            }
        }
        while let Some(&(slot, result)) = self.copying.front() {
            if !self.destination.is_complete(slot)? {
                break;
            }
            self.copying.pop_front();
            self.complete.push_back((slot, result));
        }
        Ok(())
    }
}

impl<Q: QueuePair, L: Destination> QueuePair for CopyingQueue<Q, L> {
    fn is_ready(&self) -> bool {
        self.below.is_ready()
    }

    fn is_over(&self) -> bool {
        self.below.is_over()
    }

    fn queue(&mut self, request: &mut Request, slot: u16) -> io::Result<()> {
        self.reads[usize::from(slot)] = match request.op {
            Op::Read => request.size_bytes,
            _ => 0,
        };
        self.below.queue(request, slot)
    }

    fn send(&mut self) -> io::Result<usize> {
        let arrived = self.below.send()?;
        Ok(arrived + self.copying.len() + self.complete.len())
    }

    fn submit(&mut self, want: usize) -> io::Result<bool> {
        let give_up_ns = self.clock.now_ns() + TICK_NS;
        self.below.send()?;
        loop {
            self.gather()?;
            let missing = want.saturating_sub(self.complete.len());
            let now_ns = self.clock.now_ns();
            if missing == 0 || now_ns >= give_up_ns {
                return Ok(missing == 0);
            }
            if self.copying.is_empty() {
                self.below.submit(missing)?;
            } else {
                self.below.submit_until(now_ns + LOOK_NS)?;
            }
        }
    }

    fn submit_until(&mut self, until_ns: u64) -> io::Result<()> {
        self.gather()?;
        let until_ns = match (self.complete.is_empty(), self.copying.is_empty()) {
            (false, _) => self.clock.now_ns(),
            (true, false) => until_ns.min(self.clock.now_ns() + LOOK_NS),
            (true, true) => until_ns,
        };
        self.below.submit_until(until_ns)?;
        self.gather()
    }

    fn next(&mut self) -> Option<(u16, i32)> {
        self.complete.pop_front()
    }

    fn settle(&mut self, slot: u16, request: &Request, result: i32) -> Result<(), i32> {
        self.below.settle(slot, request, result)
    }

    fn idle_ns(&self) -> Option<u64> {
        self.below.idle_ns()
    }

    fn fault(&mut self) -> Option<String> {
        self.below.fault()
    }

    fn remarks(&mut self) -> Vec<Remark> {
        self.below.remarks()
    }

    fn notes(&mut self) -> Vec<String> {
        self.below.notes()
    }
}
