//! Loads that follow from a measured rate: curves of latency, and shares offered to a later step.

use serde::{Deserialize, Serialize};

use crate::Arrival;

/// Latency against rate: points at shares of a measured maximum, as open load. A point keeps the
/// threads and iodepth of the maximum as the most that may be in flight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// Offered rates as fractions of the maximum, ascending; above 1 the backlog grows.
    pub points: Vec<f64>,
    /// Length of a point, ns.
    pub time_ns: u64,
    /// Inter-arrival distribution.
    pub arrival: Arrival,
    /// Which latency stands for the curve.
    pub latency: Latency,
    /// `None`: no capacity is searched for.
    pub slo: Option<Slo>,
}

/// Open load at a share of the rate that an earlier step achieved. The threads and iodepth of the load that it replaces
/// are the most that may be in flight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offered {
    /// Name of the earlier step.
    pub of: String,
    /// Fraction of its IOPS, all operations together.
    pub share: f64,
    /// The stream of the job that is offered it; `None`: the job, which has no streams.
    pub stream: Option<String>,
    /// Inter-arrival distribution.
    pub arrival: Arrival,
}

/// From where to where a latency runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Latency {
    /// Issue to completion, as Vdbench reports it: time in the backlog is left out.
    Service,
    /// Intended start to completion, as a user of the storage sees it.
    Response,
}

/// A service-level objective. The highest sustained rate that meets it is found by bisection.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slo {
    /// Most that [`Curve::latency`] may be, of each operation.
    #[serde(flatten)]
    pub limit: LatencyLimit,
    /// Points after the listed ones, each in the middle of what is left.
    pub steps: u32,
}

/// The most that a percentile of a latency may be, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LatencyLimit {
    /// The median: half of all I/Os are within it.
    #[serde(rename = "p50_ns")]
    P50(u64),
    /// 95 % of I/Os are within it.
    #[serde(rename = "p95_ns")]
    P95(u64),
    /// 99 % are within it.
    #[serde(rename = "p99_ns")]
    P99(u64),
    /// 99.9 % are within it.
    #[serde(rename = "p999_ns")]
    P999(u64),
    /// 99.99 % are within it.
    #[serde(rename = "p9999_ns")]
    P9999(u64),
}

impl LatencyLimit {
    /// Returns its key in a method.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::P50(_) => "p50",
            Self::P95(_) => "p95",
            Self::P99(_) => "p99",
            Self::P999(_) => "p999",
            Self::P9999(_) => "p9999",
        }
    }

    /// Returns the limit, ns.
    #[must_use]
    pub const fn ns(self) -> u64 {
        match self {
            Self::P50(ns) | Self::P95(ns) | Self::P99(ns) | Self::P999(ns) | Self::P9999(ns) => ns,
        }
    }
}
