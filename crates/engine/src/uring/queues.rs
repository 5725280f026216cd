//! A ring as the load loop's pair of queues: entries in the target's protocol, one system call per batch.
//!
//! A tick (a timeout entry every 20 ms) wakes a thread whose I/O does not return. So the stop flag and the interval's
//! end need no timer and no system call of their own. A thread that waits for more than one completion has a limit on
//! the wait instead.

use std::{io, time::Duration};

use io_uring::{
    CompletionQueue, SubmissionQueue, Submitter, opcode,
    types::{SubmitArgs, Timespec},
};
use recording::Remark;
use workload::Request;

use crate::{
    buffers::Buffers,
    clock::Clock,
    gate::TICK_NS,
    protocol::{Outcome, Protocol},
    queue_pair::{QueuePair, SPIN_NS},
    ring::{Ring, register_ring_fd},
    verify::MISMATCH,
};

/// Completion tag of the tick.
const TICK: u64 = u64::MAX;
/// How often room in a full submission ring is waited for: a wait that a signal ends early is repeated.
const MOST_WAITS: usize = 1000;

/// The two queues of a ring. `encoder` and `buffers` outlive them.
pub(super) struct Queues<'r, P: Protocol> {
    submitter: Submitter<'r>,
    submissions: SubmissionQueue<'r, P::Entry>,
    completions: CompletionQueue<'r, P::Completion>,
    encoder: P,
    buffers: Buffers,
    polls: bool,
    sqpoll: bool,
    flags_taskrun: bool,
    tick: Box<Timespec>,
    tick_armed: bool,
    clock: Clock,
    idle_ns: u64,
}

impl<'r, P: Protocol> Queues<'r, P> {
    pub(super) fn new(ring: &'r mut Ring<P>, encoder: P, buffers: Buffers, clock: Clock) -> Self {
        let (polls, sqpoll, flags_taskrun) = (ring.polls, ring.sqpoll, ring.flags_taskrun);
        let (mut submitter, submissions, completions) = ring.io.split();
        register_ring_fd(&mut submitter);
        Self {
            submitter,
            submissions,
            completions,
            encoder,
            buffers,
            polls,
            sqpoll,
            flags_taskrun,
            tick: Box::new(Timespec::from(Duration::from_nanos(TICK_NS))),
            tick_armed: false,
            clock,
            idle_ns: 0,
        }
    }

    /// Returns what I/O in flight may refer to.
    pub(super) fn into_memory(self) -> (P, Buffers) {
        (self.encoder, self.buffers)
    }

    /// Waits until the kernel's submitting thread has freed entries: it does so after their completions, at the end of
    /// its batch.
    #[cold]
    fn make_room(&mut self) -> io::Result<()> {
        for _ in 0..MOST_WAITS {
            self.submissions.sync();
            if !self.submissions.is_full() {
                break;
            }
            self.enter(Submitter::submit)?;
            self.enter(Submitter::squeue_wait)?;
        }
        Ok(())
    }

    /// Watches the completion queue for a while, then sleeps: until a completion, or for a tick where there is none.
    #[cold]
    fn await_kernel_thread(&mut self, want: usize) -> io::Result<()> {
        self.enter(Submitter::submit)?;
        let begin_ns = self.clock.now_ns();
        let mut now_ns = begin_ns;
        while self.completions.len() < want && now_ns < begin_ns + SPIN_NS {
            std::hint::spin_loop();
            self.completions.sync();
            now_ns = self.clock.now_ns();
        }
        self.idle_ns += now_ns - begin_ns;
        if self.completions.len() >= want {
            return Ok(());
        }
        self.await_batch(want)
    }

    /// Submits and waits with a limit of the wait's own: the tick's completion would count as one of the batch.
    #[inline(always)]
    fn await_batch(&mut self, want: usize) -> io::Result<()> {
        let tick = Timespec::from(Duration::from_nanos(TICK_NS));
        let arguments = SubmitArgs::new().timespec(&tick);
        self.enter(|submitter| submitter.submit_with_args(want, &arguments))
    }

    #[inline(always)]
    fn enter(&mut self, call: impl Fn(&Submitter<'r>) -> io::Result<usize>) -> io::Result<()> {
        let entered = call(&self.submitter);
        self.submissions.sync();
        self.completions.sync();
        match entered {
            Ok(_) => Ok(()),
            Err(error) => match error.raw_os_error() {
                Some(libc::EINTR | libc::ETIME | libc::EBUSY | libc::EAGAIN) => Ok(()),
                _ => Err(io::Error::new(error.kind(), format!("io_uring: {error}"))),
            },
        }
    }

    #[cold]
    fn arm_tick(&mut self) -> io::Result<()> {
        if self.submissions.is_full() {
            self.make_room()?;
        }
        let entry = P::Entry::from(
            opcode::Timeout::new(&raw const *self.tick)
                .build()
                .user_data(TICK),
        );
        // SAFETY: the kernel copies the timespec at submission; the box outlives that.
        unsafe { self.submissions.push(&entry) }.map_err(io::Error::other)?;
        self.tick_armed = true;
        Ok(())
    }
}

impl<P: Protocol> QueuePair for Queues<'_, P> {
    #[inline(always)]
    fn is_ready(&self) -> bool {
        self.encoder.is_ready()
    }

    #[inline(always)]
    fn is_over(&self) -> bool {
        self.encoder.is_over()
    }

    #[inline(always)]
    fn queue(&mut self, request: &mut Request, slot: u16) -> io::Result<()> {
        if self.submissions.is_full() {
            self.make_room()?;
        }
        self.encoder
            .queue(request, slot, &mut self.buffers, &mut self.submissions)
            .map_err(io::Error::other)
    }

    fn send(&mut self) -> io::Result<usize> {
        self.submissions.sync();
        self.enter(Submitter::submit)?;
        Ok(self.completions.len())
    }

    #[inline(always)]
    fn submit(&mut self, want: usize) -> io::Result<bool> {
        if want == 1 && !self.tick_armed && !self.polls {
            self.arm_tick()?;
        }
        self.submissions.sync();
        if self.sqpoll {
            self.await_kernel_thread(want)?;
        } else if want == 1 || self.polls {
            self.enter(|submitter| submitter.submit_and_wait(want))?;
        } else {
            self.await_batch(want)?;
        }
        Ok(self.completions.len() >= want)
    }

    fn submit_until(&mut self, until_ns: u64) -> io::Result<()> {
        if !self.tick_armed && !self.polls {
            self.arm_tick()?;
        }
        self.submissions.sync();
        let gap_ns = until_ns.saturating_sub(self.clock.now_ns());
        if gap_ns > SPIN_NS && !self.polls {
            let timeout = Timespec::from(Duration::from_nanos(gap_ns - SPIN_NS));
            let arguments = SubmitArgs::new().timespec(&timeout);
            self.enter(|submitter| submitter.submit_with_args(1, &arguments))?;
        } else if !self.submissions.is_empty() {
            self.enter(Submitter::submit)?;
        }
        let begin_ns = self.clock.now_ns();
        // Nothing else ends the wait of a thread that polls: its ring takes no tick.
        let until_ns = match self.polls {
            true => until_ns.min(begin_ns + TICK_NS),
            false => until_ns,
        };
        let mut now_ns = begin_ns;
        while self.completions.is_empty() && now_ns < until_ns {
            self.submissions.sync();
            if self.polls || (self.flags_taskrun && self.submissions.taskrun()) {
                self.enter(Submitter::submit)?;
            }
            std::hint::spin_loop();
            self.completions.sync();
            now_ns = self.clock.now_ns();
        }
        self.idle_ns += now_ns - begin_ns;
        Ok(())
    }

    #[inline(always)]
    fn next(&mut self) -> Option<(u16, i32)> {
        loop {
            match self.completions.next()?.outcome() {
                (TICK, _) => self.tick_armed = false,
                (slot, result) => return Some((slot as u16, result)),
            }
        }
    }

    #[inline(always)]
    fn settle(&mut self, slot: u16, request: &Request, result: i32) -> Result<(), i32> {
        let returned = result == self.encoder.success(request);
        match self.encoder.settle(slot, returned, &self.buffers) {
            true => Ok(()),
            false if returned => Err(MISMATCH),
            false => Err(self.encoder.error(slot, result)),
        }
    }

    /// Where completions are polled for the kernel spins inside the call that submits.
    fn idle_ns(&self) -> Option<u64> {
        (!self.polls).then_some(self.idle_ns)
    }

    fn fault(&mut self) -> Option<String> {
        self.encoder.fault()
    }

    fn remarks(&mut self) -> Vec<Remark> {
        self.encoder.remarks()
    }

    fn notes(&mut self) -> Vec<String> {
        self.encoder.notes()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use workload::Job;

    use super::*;
    use crate::{ring::RingOptions, submission::Nops};

    const JOB: &str = r#"{"mix": "read", "block": "4KiB", "pattern": "uniform", "load": {}, "until": {"count": 1}}"#;

    #[test]
    fn a_wait_for_a_far_moment_ends_after_about_a_tick_where_completions_are_polled_too() {
        let job = Job::from_json(JOB, "job.json").unwrap();
        for poll in [false, true] {
            let options = RingOptions {
                poll,
                spin: true,
                sqpoll: false,
            };
            let Ok(mut ring) = Ring::new(4, options) else {
                eprintln!("skipped: no ring with poll: {poll}");
                continue;
            };
            let (buffers, clock) = (
                Buffers::new(&job, 0, 1, false, || false).unwrap(),
                Clock::new(),
            );
            let mut queues = Queues::new(&mut ring, Nops, buffers, clock);
            let begin = Instant::now();
            queues.submit_until(clock.now_ns() + 3_000_000_000).unwrap();
            let waited = begin.elapsed();
            assert!(waited < Duration::from_secs(1), "poll: {poll}: {waited:?}");
        }
    }
}
