//! A thread that submits: its stream of requests, drawn ahead so that the device can prefetch, and what it has out.

use workload::{Limits, Load, Part, Request, RequestStream, Waiting};

use super::backlog::Backlog;
use crate::device::Device;

/// Requests drawn ahead of their use, so that the device can prefetch.
const LOOK_AHEAD: usize = 32;
/// How many are drawn at once: the processor then looks for the addresses of several map entries at the same time.
const BURST: usize = 16;

/// One submitting thread.
pub(super) struct Thread {
    pub(super) stream: RequestStream,
    /// Requests drawn ahead in a ring, and the place of the next of them.
    ahead: Vec<Request>,
    next: usize,
    /// Whether others draw from the same position or trace: what is drawn ahead would then be issued out of its order.
    shared: bool,
    /// Whether others issue the rest of its trace.
    pub(super) shares_trace: bool,
    /// Whether it keeps step with others.
    pub(super) in_step: bool,
    /// Whether it pauses because it is ahead of them: until its own requests are back, and then for a while.
    pub(super) rests: bool,
    /// Whether they are, so that it only waits for the time.
    pub(super) pauses: bool,
    /// Whether all threads end when its volume is done.
    pub(super) exitall: bool,
    pub(super) core: u32,
    /// Which recorder counts its I/O: its stream's.
    pub(super) recorder: u32,
    pub(super) iodepth: u32,
    pub(super) open: bool,
    /// Closed load: pause of a slot between its requests.
    pub(super) think_ns: u64,
    pub(super) in_flight: u32,
    /// Closed load: free slots whose requests wait until a zone takes them.
    pub(super) held: u32,
    /// What of its part of the job's volume has not been issued.
    pub(super) left: Limits,
    /// Open load: arrivals to come, at most.
    pub(super) to_arrive: u64,
    /// Open load: arrivals that wait for a slot.
    pub(super) backlog: Backlog,
    /// Whether the device will wake the thread for its next arrival, and when that is, from the start of the job.
    pub(super) awaits: bool,
    pub(super) arrives_ns: u64,
    /// A trace whose I/Os wait for others, in place of the stream.
    pub(super) waiting: Option<Box<Waiting>>,
}

impl Thread {
    pub(super) fn new(stream: RequestStream, core: u32, part: &Part<'_>, limits: Limits) -> Self {
        let limits = stream.limited(limits);
        Self {
            waiting: stream.waiting().map(Box::new),
            shared: part.job.position.is_shared() || stream.shares_trace() || stream.is_in_step(),
            shares_trace: stream.shares_trace(),
            in_step: stream.is_in_step(),
            rests: false,
            pauses: false,
            exitall: false,
            stream,
            ahead: Vec::with_capacity(LOOK_AHEAD),
            next: 0,
            core,
            recorder: part.stream.unwrap_or(0) as u32,
            iodepth: part.job.load.iodepth(),
            open: matches!(part.job.load, Load::Open { .. }),
            think_ns: part.job.pace.think_ns,
            in_flight: 0,
            held: 0,
            left: limits,
            to_arrive: limits.count,
            backlog: Backlog::default(),
            awaits: false,
            arrives_ns: 0,
        }
    }

    /// Open load: whether an arrival waits that a slot is free for.
    #[inline]
    pub(super) fn waits(&self) -> bool {
        self.open
            && !self.backlog.is_empty()
            && self.in_flight < self.iodepth
            && !self.left.is_spent()
    }

    /// Returns whether what follows a completion may be more than a request: a pause, or the end of other threads.
    pub(super) fn reacts_with_wakes(&self) -> bool {
        self.waiting.is_some() || self.in_step || self.exitall || (!self.open && self.think_ns > 0)
    }

    /// Returns the next request of the stream.
    #[inline]
    pub(super) fn next_request<D: Device>(&mut self, device: &D) -> Request {
        let Self {
            stream,
            ahead,
            next,
            shared,
            ..
        } = self;
        if *shared {
            return stream.next_request();
        }
        if ahead.is_empty() {
            ahead.extend((0..LOOK_AHEAD).map(|_| stream.next_request()));
        } else if next.is_multiple_of(BURST) {
            let used = (*next + LOOK_AHEAD - BURST) % LOOK_AHEAD;
            for request in &mut ahead[used..used + BURST] {
                *request = stream.next_request();
                device.prefetch(request);
            }
        }
        let request = ahead[*next];
        *next = (*next + 1) % LOOK_AHEAD;
        request
    }
}
