//! The deterministic request stream: a job becomes requests and, under open load, arrival times.
//! Everything is a pure function of (job, geometry, seed, thread): no clock and no global state. No arithmetic differs
//! between machines: transcendental functions come from `libm`, not from the platform. The stream is infinite; the
//! driver applies [`crate::Limits`].

mod address;
mod arrival;
mod conflicts;
mod cursors;
mod error;
mod in_files;
mod in_step;
mod names;
mod one_pass;
mod pareto;
mod permutation;
pub(crate) mod random;
mod replay;
mod row;
mod share;
mod waiting;
mod zipf;

use self::address::{Addresses, Slots};
use self::arrival::Arrivals;
use self::cursors::SharedCursors;
pub use self::error::StreamError;
use self::in_step::InStep;
use self::names::Names;
use self::random::{Purpose, Random, threshold};
use self::replay::Replay;
pub use self::waiting::Waiting;
use crate::{Geometry, Job, Limits, Op, Part, Pattern, Request};

/// Requests of one thread: a pure function of (job, geometry, seed, thread). Infinite; the driver
/// applies [`crate::Until`]. Threads with a shared position are the exception: the order in which they ask decides who
/// gets the next place. Only what they issue together is such a function.
#[derive(Clone, Debug)]
pub struct RequestStream {
    random: Random,
    choices: Box<[Choice]>,
    addresses: Addresses,
    arrivals: Arrivals,
    flushes: Flushes,
    /// What requests come from where they are not drawn from the mix.
    instead: Option<Instead>,
    /// What keeps it in step with other threads.
    in_step: Option<InStep>,
}

/// Requests of another source.
#[derive(Clone, Debug)]
enum Instead {
    /// A recorded trace.
    Replay(Replay),
    /// Operations on names, by what is there.
    Names(Box<Names>),
}

/// When a flush is due: after every `every` writes.
#[derive(Clone, Copy, Debug)]
struct Flushes {
    /// `u32::MAX`: never.
    every: u32,
    writes: u32,
}

impl Flushes {
    const REQUEST: Request = Request {
        offset_bytes: 0,
        size_bytes: 0,
        placement: Request::NO_PLACEMENT,
        op: Op::Flush,
    };

    const fn new(every: u32) -> Self {
        let every = if every == 0 { u32::MAX } else { every };
        Self { every, writes: 0 }
    }

    /// Returns whether the writes so far are to be flushed now.
    #[inline(always)]
    const fn due(&mut self) -> bool {
        let due = self.writes == self.every;
        if due {
            self.writes = 0;
        }
        due
    }

    #[inline(always)]
    const fn count(&mut self, op: Op) {
        if self.every != u32::MAX {
            self.writes += matches!(op, Op::Write) as u32;
        }
    }
}

/// One (operation, block size) of the mix.
#[derive(Clone, Copy, Debug)]
struct Choice {
    /// Drawn when a uniform `u64` is below this and not below the previous choice's.
    threshold: u64,
    slots: Slots,
    size_bytes: u32,
    placement: u16,
    op: Op,
}

impl RequestStream {
    /// Streams of all threads of `job`, in order.
    ///
    /// # Errors
    /// The job does not fit the target.
    pub fn of_threads(job: &Job, geometry: Geometry, seed: u64) -> Result<Vec<Self>, StreamError> {
        let workloads: Vec<&Job> = match job.streams.is_empty() {
            true => vec![job],
            false => job.streams.iter().map(|stream| &stream.job).collect(),
        };
        let shared = workloads.iter().map(|own| Common::of(own, geometry));
        let shared = shared.collect::<Result<Vec<_>, _>>()?;
        let numbered = (0..job.load.threads()).zip(job.parts());
        let streams = numbered
            .zip(InStep::of_threads(job))
            .map(|((thread, own), in_step)| {
                let shared = &shared[own.stream.unwrap_or(0)];
                let made = Self::of_part(own, geometry, seed, thread, shared)?;
                Ok(Self { in_step, ..made })
            });
        streams.collect()
    }

    /// Stream of thread `thread` (0-based) of `job.load.threads()` alone: a shared position is only its own, and nobody
    /// else issues what it waits for.
    ///
    /// # Errors
    /// The job does not fit the target.
    pub fn new(job: &Job, geometry: Geometry, seed: u64, thread: u32) -> Result<Self, StreamError> {
        let own = job.part(thread);
        Self::of_part(own, geometry, seed, thread, &Common::of(own.job, geometry)?)
    }

    /// Threads of a workload divide its region by their number in it; they draw by `thread`, their number in the job.
    fn of_part(
        own: Part<'_>,
        geometry: Geometry,
        seed: u64,
        thread: u32,
        shared: &Common,
    ) -> Result<Self, StreamError> {
        let addresses = Addresses::new(own.job, geometry, seed, own.thread, &shared.cursors)?;
        Ok(Self {
            random: Random::new(seed, thread, Purpose::Requests),
            choices: choices(own.job, &addresses, own.thread)?,
            addresses,
            arrivals: Arrivals::new(&own.job.load, &own.job.pace.rates, seed, thread, own.thread),
            flushes: Flushes::new(own.job.flush_every),
            instead: instead(own.job, shared, seed, own.thread),
            in_step: None,
        })
    }

    /// Returns the next request. Allocates nothing.
    #[inline(always)]
    pub fn next_request(&mut self) -> Request {
        if let Some(in_step) = &mut self.in_step {
            in_step.issue();
        }
        if let Some(instead) = &mut self.instead {
            return match instead {
                Instead::Replay(replay) => replay.next_request(),
                Instead::Names(names) => names.next_request(&mut self.random),
            };
        }
        if self.flushes.due() {
            return Request {
                offset_bytes: self.addresses.flushed_bytes(),
                ..Flushes::REQUEST
            };
        }
        let choice = match &*self.choices {
            [only] => only,
            several => {
                // Counting instead of searching: no branch depends on the draw.
                let draw = self.random.next();
                let below = several[..several.len() - 1]
                    .iter()
                    .map(|choice| usize::from(draw >= choice.threshold));
                &several[below.sum::<usize>()]
            }
        };
        let offset_bytes = match choice.op {
            Op::Flush => self.addresses.flushed_bytes(),
            _ => self
                .addresses
                .next(&choice.slots, choice.size_bytes, &mut self.random),
        };
        self.flushes.count(choice.op);
        Request {
            offset_bytes,
            size_bytes: choice.size_bytes,
            placement: choice.placement,
            op: choice.op,
        }
    }

    /// Open load: the next intended arrival, ns since the start of the step, non-decreasing.
    /// Drawn from its own random sequence, so addresses do not depend on the rate.
    /// Closed load: always 0.
    #[inline]
    pub fn next_arrival_ns(&mut self) -> u64 {
        match (&mut self.instead, self.arrivals.are_recorded()) {
            (Some(Instead::Replay(replay)), true) => replay.next_arrival_ns(),
            _ => self.arrivals.next_ns(),
        }
    }

    /// Returns the I/Os as ones that wait for others, where the job's trace is such; they are then not drawn one by one.
    pub fn waiting(&self) -> Option<Waiting> {
        match &self.instead {
            Some(Instead::Replay(replay)) => replay.waiting(),
            _ => None,
        }
    }

    /// Returns the thread's limits. One that shares a trace ends with its own I/Os of it. One whose I/Os wait for others
    /// issues each once.
    #[must_use]
    pub fn limited(&self, limits: Limits) -> Limits {
        let Some(Instead::Replay(replay)) = &self.instead else {
            return limits;
        };
        let count = replay.limited(limits.count);
        Limits { count, ..limits }
    }

    /// Returns whether other threads issue the rest of the same trace.
    #[inline]
    pub fn shares_trace(&self) -> bool {
        matches!(&self.instead, Some(Instead::Replay(replay)) if replay.own_ios().is_some())
    }

    /// Returns whether it keeps step with other threads, by the number of I/Os.
    #[inline]
    pub const fn is_in_step(&self) -> bool {
        self.in_step.is_some()
    }

    /// Returns for how long a thread that is ahead of those in step with it pauses, once its own I/Os have returned, ns.
    pub fn pause_ns(&self) -> u64 {
        self.in_step.as_ref().map_or(0, InStep::pause_ns)
    }

    /// Leaves the threads in step with it to themselves, because it issues nothing any more.
    pub fn leave(&mut self) {
        if let Some(in_step) = &mut self.in_step {
            in_step.leave();
        }
    }

    /// Returns whether the next request waits: for others of a shared trace on the same bytes, or for threads in step with
    /// this one.
    #[inline(always)]
    pub fn is_held(&self) -> bool {
        if let Some(in_step) = &self.in_step {
            return in_step.is_ahead();
        }
        match &self.instead {
            Some(Instead::Replay(replay)) => replay.is_held(),
            None | Some(Instead::Names(_)) => false,
        }
    }

    /// Returns the mark of the next request, by which [`RequestStream::returned`] knows it.
    #[inline(always)]
    pub fn next_mark(&self) -> u32 {
        match &self.instead {
            Some(Instead::Replay(replay)) => replay.next_mark(),
            None | Some(Instead::Names(_)) => 0,
        }
    }

    /// Returns when the next request may be issued at the earliest: those that it waits for have returned by then. 0:
    /// at any time.
    #[inline(always)]
    pub fn earliest_ns(&self) -> u64 {
        match &self.instead {
            Some(Instead::Replay(replay)) => replay.earliest_ns(),
            None | Some(Instead::Names(_)) => 0,
        }
    }

    /// Notes that a request of a shared trace has returned: others may wait for it.
    #[inline(always)]
    pub fn returned(&self, mark: u32, at_ns: u64) {
        if let Some(Instead::Replay(replay)) = &self.instead {
            replay.returned(mark, at_ns);
        }
    }

    /// Returns whether there is nothing left to do, as where a job makes files and all of them are there.
    #[inline(always)]
    pub fn is_over(&self) -> bool {
        match &self.instead {
            None | Some(Instead::Replay(_)) => false,
            Some(Instead::Names(names)) => names.is_over(),
        }
    }
}

/// What the threads of a workload have in common.
struct Common {
    cursors: SharedCursors,
    /// The part of each in a recorded trace; empty: there is none.
    trace: Vec<Replay>,
}

impl Common {
    fn of(job: &Job, geometry: Geometry) -> Result<Self, StreamError> {
        let mut trace = Vec::new();
        if let Pattern::Replay {
            file,
            offsets,
            waits,
        } = &job.pattern
        {
            let region = job.region.resolve(geometry)?;
            let whole = Replay::open(file, *offsets, *waits, region, geometry, &job.mix)?;
            trace = whole.divided(job.load.threads(), job.until.count, file)?;
        }
        Ok(Self {
            cursors: SharedCursors::default(),
            trace,
        })
    }
}

/// Returns what a job's requests come from where they are not drawn from its mix.
fn instead(job: &Job, shared: &Common, seed: u64, thread: u32) -> Option<Instead> {
    if let (true, Some(set)) = (job.is_metadata(), &job.files) {
        let names = Names::new(job, set, seed, thread);
        return Some(Instead::Names(Box::new(names)));
    }
    let trace = shared.trace.get(thread as usize);
    trace.cloned().map(Instead::Replay)
}

/// Flattens the mix into one cumulative table over (operation, block size).
fn choices(job: &Job, addresses: &Addresses, thread: u32) -> Result<Box<[Choice]>, StreamError> {
    let placement = match job.placement.len() {
        0 => Request::NO_PLACEMENT,
        handles => job.placement[thread as usize % handles],
    };
    let weight_of_all: f64 = job.mix.ops.iter().map(|block| block.weight).sum();
    let mut choices = Vec::new();
    let mut share_below = 0.0;
    for block in &job.mix.ops {
        let share = block.weight / weight_of_all;
        let mut push = |size_bytes, share| {
            share_below += share;
            choices.push(Choice {
                threshold: threshold(share_below),
                slots: addresses.slots(job, block.op, size_bytes),
                size_bytes,
                placement: if matches!(block.op, Op::Write | Op::Append) {
                    placement
                } else {
                    Request::NO_PLACEMENT
                },
                op: block.op,
            });
        };
        if !block.op.has_block() {
            push(0, share);
            continue;
        }
        let weight_of_sizes: f64 = block.sizes.iter().map(|size| size.weight).sum();
        for size in &block.sizes {
            push(size.size_bytes, share * size.weight / weight_of_sizes);
        }
    }
    if choices.is_empty() {
        return Err(StreamError::EmptyMix);
    }
    Ok(choices.into_boxed_slice())
}

#[cfg(test)]
mod tests;
