//! When a step or its rounds have been steady for long enough.

use serde::{Deserialize, Serialize};

/// A step's place in rounds that are repeated until the tracked ones are steady. Steady means that their figures over
/// the last `window` rounds pass the window of SNIA SSS PTS 2.0, all at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Round {
    /// Name of the rounds.
    pub of: String,
    /// The step's name within the round.
    pub step: String,
    /// Which round, from 1.
    pub number: u32,
    /// After how many rounds it is given up.
    pub most: u32,
    /// Rounds in the window (5 in the standard).
    pub window: u32,
    /// max - min over the window, as a fraction of the mean (0.20).
    pub range: f64,
    /// |OLS slope| x (window - 1) as a fraction of the mean (0.10).
    pub slope: f64,
    /// Steps of the round that have to be steady.
    pub track: Vec<String>,
    /// What of them.
    pub metric: Metric,
}

/// What is compared from round to round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// I/O per second.
    Iops,
    /// Bytes per second.
    Mbps,
    /// Mean service latency.
    Latency,
}

/// When the figures of a measured step hold still: fio's `steadystate` over its last seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UntilSteady {
    /// What is looked at.
    pub metric: Metric,
    /// What has to be small.
    pub by: Stillness,
    /// Below which fraction of the mean.
    pub limit: f64,
    /// Length of the window, ns.
    pub over_ns: u64,
    /// How much of the step's begin is not looked at, ns.
    pub after_ns: u64,
    /// Length of one value of the window, ns.
    pub every_ns: u64,
}

/// What has to be small for figures to hold still.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stillness {
    /// The largest distance of a value from the mean of the window.
    Deviation,
    /// The slope of a straight line through them, for each value.
    Slope,
}

/// The SNIA SSS PTS steady-state window over rounds of IOPS.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Steady {
    /// Length of a round, ns.
    pub round_ns: u64,
    /// Rounds in the window (5 in the standard).
    pub window: u32,
    /// max - min over the window, as a fraction of the mean (0.20).
    pub range: f64,
    /// |OLS slope| x (window - 1) as a fraction of the mean (0.10).
    pub slope: f64,
    /// Least that the step itself writes, in multiples of its region: what it found is gone by then.
    #[serde(default)]
    pub written: f64,
}
