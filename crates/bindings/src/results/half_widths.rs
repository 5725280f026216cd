//! How well a window is known.

use std::collections::BTreeMap;

use pyo3::prelude::*;
use workload::Op;

/// Halves of 95 % intervals of one operation's figures, as fractions of them.
#[pyclass(frozen, get_all, module = "fathom._core")]
#[derive(Clone)]
pub struct OpHalfWidths {
    rate: f64,
    mean_latency: f64,
    mean_response: Option<f64>,
}

/// How well a window is known: by operation, by stream and operation, of the WAF and of the energy.
#[pyclass(frozen, get_all, module = "fathom._core")]
pub struct HalfWidths {
    ops: BTreeMap<&'static str, OpHalfWidths>,
    streams: BTreeMap<String, BTreeMap<&'static str, OpHalfWidths>>,
    waf: Option<f64>,
    joules: Option<f64>,
}

impl From<&recording::HalfWidths> for HalfWidths {
    fn from(known: &recording::HalfWidths) -> Self {
        let of_ops = |ops: &BTreeMap<Op, recording::OpHalfWidths>| {
            let each = ops.iter().map(|(op, width)| {
                let widths = OpHalfWidths {
                    rate: width.rate,
                    mean_latency: width.mean_latency,
                    mean_response: width.mean_response,
                };
                (op.name(), widths)
            });
            each.collect()
        };
        Self {
            ops: of_ops(&known.ops),
            streams: known
                .streams
                .iter()
                .map(|(name, ops)| (name.clone(), of_ops(ops)))
                .collect(),
            waf: known.waf,
            joules: known.joules,
        }
    }
}
