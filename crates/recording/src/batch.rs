//! Latencies of a part of a window, for how well the window's percentiles are known.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use workload::Op;

use crate::Bins;

/// One of equally long parts of a window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// Latencies per operation.
    pub ops: BTreeMap<Op, OpBins>,
    /// Latencies per stream and operation; empty for a job of one workload.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub streams: BTreeMap<String, BTreeMap<Op, OpBins>>,
}

/// Latencies of one operation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpBins {
    /// From issue to completion.
    pub service: Bins,
    /// From intended start to completion; empty under closed load.
    pub response: Bins,
}

impl OpBins {
    /// Returns what was counted after `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            service: self.service.since(&earlier.service),
            response: self.response.since(&earlier.response),
        }
    }

    /// Adds other counts.
    pub fn merge(&mut self, other: &Self) {
        self.service.merge(&other.service);
        self.response.merge(&other.response);
    }
}
