//! How hard a job drives its target: what is in flight or arrives, and how that changes over time.

use serde::{Deserialize, Serialize};

use crate::Split;

/// How hard to drive the target. Per target: with N targets each gets this load, unless the job's [`Split`] says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, tag = "kind", rename_all = "kebab-case")]
pub enum Load {
    /// `threads` x `iodepth` outstanding at all times.
    Closed {
        /// Submitting threads.
        threads: u32,
        /// Outstanding I/O per thread.
        iodepth: u32,
    },
    /// Requests arrive on their own clock whether or not earlier ones have finished.
    Open {
        /// Arrivals per second, over all threads of the target.
        rate_iops: f64,
        /// Inter-arrival distribution.
        arrival: Arrival,
        /// Submitting threads; each carries `rate_iops / threads`.
        threads: u32,
        /// Most I/O in flight per thread; later arrivals wait in the backlog.
        iodepth: u32,
    },
}

impl Load {
    /// Returns the number of submitting threads.
    pub const fn threads(&self) -> u32 {
        match *self {
            Load::Closed { threads, .. } | Load::Open { threads, .. } => threads,
        }
    }

    /// Returns the most I/O in flight per thread.
    pub const fn iodepth(&self) -> u32 {
        match *self {
            Load::Closed { iodepth, .. } | Load::Open { iodepth, .. } => iodepth,
        }
    }
}

/// What a [`Load`] leaves open: pauses of a closed one, changes of an open one, division over targets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Pace {
    /// Closed load: how long each of the `threads` x `iodepth` pauses between a completion and its
    /// next request.
    pub think_ns: u64,
    /// Closed load: completions that a thread waits for before it looks; 0: not asked for, which is 1. Real targets
    /// only.
    #[serde(skip_serializing_if = "is_zero")]
    pub reap: u32,
    /// Open load: the rate over time, from the start again at the end. Empty: constant.
    pub rates: Vec<RatePhase>,
    /// Whether the load is each target's or all targets' together.
    #[serde(skip_serializing_if = "Split::is_each")]
    pub split: Split,
}

pub(super) fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// A part of a rate schedule: the rate goes from one value to another in a straight line.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RatePhase {
    /// Length, ns.
    pub time_ns: u64,
    /// Arrivals per second at its start, over all threads of the target.
    pub from_iops: f64,
    /// The same at its end.
    pub to_iops: f64,
}

/// Inter-arrival distribution of an open load, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrival {
    /// Poisson process.
    Exponential,
    /// Uniform on (0, 2/rate).
    Uniform,
    /// Constant spacing.
    Deterministic,
    /// As in the trace that the pattern `replay` names.
    Recorded,
}

impl Arrival {
    /// Every distribution.
    pub const ALL: [Self; 4] = [
        Self::Exponential,
        Self::Uniform,
        Self::Deterministic,
        Self::Recorded,
    ];

    /// The name in TOML and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exponential => "exponential",
            Self::Uniform => "uniform",
            Self::Deterministic => "deterministic",
            Self::Recorded => "recorded",
        }
    }
}
