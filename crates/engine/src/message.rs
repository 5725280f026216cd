//! What load threads report to the [`crate::Run`], and how they reach it.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::Sender,
    },
};

use recording::{Fault, InFlight, Interval, Remark};
use workload::{Errors, Op};

use crate::{EngineError, TargetSetup, gate::Shared};

/// What a load thread reports to the run.
pub(crate) enum Message {
    /// Set up and waiting at the gate, or not.
    Ready {
        target: usize,
        setup: Result<TargetSetup, EngineError>,
    },
    /// A thread is done with its I/O and at work on something else, which takes long.
    AtWork { target: usize, member: usize },
    /// A second of one thread.
    Interval {
        target: usize,
        member: usize,
        interval: Box<Interval>,
    },
    /// The thread's last message.
    Finished {
        target: usize,
        member: usize,
        summary: Summary,
    },
}

/// What a load thread has to say besides its intervals.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    /// Failed I/O by errno; 0: short.
    pub(crate) errno: BTreeMap<i32, u64>,
    /// The same by operation and range.
    pub(crate) faults: Vec<Fault>,
    /// I/O in flight when the window ended.
    pub(crate) in_flight: Vec<InFlight>,
    /// I/O that had not returned when the drain was given up.
    pub(crate) lost: u64,
    /// Age of the oldest of it then.
    pub(crate) lost_age_ns: u64,
    /// Why the target is taken as failed.
    pub(crate) failure: Option<String>,
    /// Open load: how late I/O was issued that nothing but the thread held up.
    pub(crate) lateness: Lateness,
    /// Open load: the time at the end whose arrivals were not counted.
    pub(crate) uncounted_ns: u64,
    /// Time ready to run while something else had the core.
    pub(crate) waiting_ns: u64,
    /// What the target's protocol has to say.
    pub(crate) remarks: Vec<Remark>,
    /// The same in words.
    pub(crate) notes: Vec<String>,
}

/// The delays of arrivals.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lateness {
    arrivals: u64,
    delay_ns: u64,
}

impl Lateness {
    /// Counts an arrival that was issued so much later.
    #[inline]
    pub(crate) fn count(&mut self, delay_ns: u64) {
        self.arrivals += 1;
        self.delay_ns += delay_ns;
    }

    /// Takes over what another thread has counted.
    pub(crate) fn absorb(&mut self, other: Self) {
        self.arrivals += other.arrivals;
        self.delay_ns += other.delay_ns;
    }

    /// Returns the mean delay; 0 without arrivals.
    pub(crate) fn mean_ns(self) -> f64 {
        self.delay_ns as f64 / self.arrivals.max(1) as f64
    }
}

/// The name of one load thread in messages, and the way to the run.
#[derive(Clone)]
pub(crate) struct ThreadContext {
    pub(crate) target: usize,
    pub(crate) member: usize,
    /// The stream of the job that it belongs to.
    pub(crate) stream: Option<Arc<str>>,
    pub(crate) sender: Sender<Message>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) errors: Errors,
    /// Failed I/O of all threads of the target.
    pub(crate) failed: Arc<AtomicU64>,
    /// Whether a thread of the target has ended all of them.
    pub(crate) ended: Arc<AtomicBool>,
    /// Whether this one does when its volume is done.
    pub(crate) exitall: bool,
    pub(crate) capacity_bytes: u64,
    pub(crate) issuing: Arc<Issuing>,
}

/// What a load thread has given to the kernel last: all that is known of one that the kernel does not let go.
#[derive(Debug, Default)]
pub(crate) struct Issuing(AtomicU64);

impl Issuing {
    const OP_BITS: u32 = 5;

    /// Notes an I/O that is issued now.
    #[inline(always)]
    pub(crate) fn note(&self, op: Op, issued_ns: u64) {
        let noted = issued_ns << Self::OP_BITS | (op as u64 + 1);
        self.0.store(noted, Ordering::Relaxed);
    }

    /// Returns the operation noted last and when it was issued.
    pub(crate) fn last(&self) -> Option<(Op, u64)> {
        let noted = self.0.load(Ordering::Relaxed);
        let op = (noted & ((1 << Self::OP_BITS) - 1)).checked_sub(1)?;
        let op = Op::ALL.get(op as usize)?;
        Some((*op, noted >> Self::OP_BITS))
    }
}

const _: () = assert!(Op::COUNT < 1 << Issuing::OP_BITS);

impl ThreadContext {
    /// A run that was dropped no longer listens; its threads end by the stop flag.
    pub(crate) fn send(&self, message: Message) {
        let _ = self.sender.send(message);
    }

    pub(crate) fn ready(&self, setup: Result<TargetSetup, EngineError>) {
        self.send(Message::Ready {
            target: self.target,
            setup,
        });
    }

    pub(crate) fn at_work(&self) {
        self.send(Message::AtWork {
            target: self.target,
            member: self.member,
        });
    }

    pub(crate) fn finished(&self, summary: Summary) {
        self.send(Message::Finished {
            target: self.target,
            member: self.member,
            summary,
        });
    }
}
