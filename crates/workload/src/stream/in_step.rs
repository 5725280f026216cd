//! What keeps threads in step: each counts what it has issued, beside the count of all.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Flow, Job};

/// What all threads in step have issued together, and their weights.
#[derive(Debug)]
struct Together {
    /// One more than they have issued: at least one thread is then below its part, so that one always goes on.
    issued: AtomicU64,
    weight: AtomicU64,
}

/// A thread of several that keep step, as fio's `flow_threshold_exceeded` has it.
#[derive(Clone, Debug)]
pub(super) struct InStep {
    together: Arc<Together>,
    flow: Flow,
    issued: u64,
    left: bool,
}

impl InStep {
    /// Returns one for each thread of the job whose stream has a flow.
    pub(super) fn of_threads(job: &Job) -> Vec<Option<Self>> {
        let flows = job.parts().map(|part| job.streams.get(part.stream?)?.flow);
        let flows: Vec<Option<Flow>> = flows.collect();
        let weight: u64 = flows
            .iter()
            .flatten()
            .map(|one| u64::from(one.weight))
            .sum();
        let together = Arc::new(Together {
            issued: AtomicU64::new(1),
            weight: AtomicU64::new(weight),
        });
        let own = |flow| Self {
            together: Arc::clone(&together),
            flow,
            issued: 0,
            left: false,
        };
        flows.into_iter().map(|flow| flow.map(own)).collect()
    }

    /// Returns whether it has issued more than its part.
    #[inline]
    pub(super) fn is_ahead(&self) -> bool {
        let issued = self.together.issued.load(Ordering::Relaxed);
        let weight = self.together.weight.load(Ordering::Relaxed);
        let own = u128::from(self.issued) * u128::from(weight);
        !self.left && own > u128::from(issued) * u128::from(self.flow.weight)
    }

    /// Notes that it issues one more.
    #[inline]
    pub(super) fn issue(&mut self) {
        self.issued += 1;
        self.together.issued.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) const fn pause_ns(&self) -> u64 {
        self.flow.pause_ns
    }

    /// Leaves the others to themselves: it issues nothing any more.
    pub(super) fn leave(&mut self) {
        if !self.left {
            self.left = true;
            let weight = u64::from(self.flow.weight);
            self.together
                .issued
                .fetch_sub(self.issued, Ordering::Relaxed);
            self.together.weight.fetch_sub(weight, Ordering::Relaxed);
        }
    }
}
