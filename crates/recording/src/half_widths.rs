//! How well the figures of a window are known, where the load generator watched their scatter.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use workload::Op;

use crate::{OpStats, Recording, SparseHistogram};

/// How well the figures of a window are known: halves of their 95 % intervals, as fractions of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HalfWidths {
    /// Half-widths per operation.
    pub ops: BTreeMap<Op, OpHalfWidths>,
    /// Half-widths per stream and operation; empty for a job of one workload.
    #[serde(default)]
    pub streams: BTreeMap<String, BTreeMap<Op, OpHalfWidths>>,
    /// Half-width of the write amplification; `None` where nothing was written, the medium's bytes are not counted, or
    /// their cycles are too long for the window.
    #[serde(default)]
    pub waf: Option<f64>,
    /// Half-width of the energy, and so of the mean power; `None` where it is not known.
    #[serde(default)]
    pub joules: Option<f64>,
}

/// Half-widths of one operation's figures, as in [`HalfWidths`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OpHalfWidths {
    /// Half-width of the rate.
    pub rate: f64,
    /// Half-width of the mean service latency.
    pub mean_latency: f64,
    /// Half-width of the mean response latency; `None` under closed load.
    pub mean_response: Option<f64>,
}

impl HalfWidths {
    /// Returns the half-widths of the sum of independent recordings of the same window: their squares add up. Each
    /// counts with its share of the I/O; for mean latencies under open load, of the latencies. For the WAF it is the
    /// share of the medium's bytes; for the energy, of the energy. `None` where one of them has none.
    pub fn of_sum<'a>(parts: impl IntoIterator<Item = &'a Recording>) -> Option<Self> {
        let mut ops = BTreeMap::<Op, OpSquares>::new();
        let mut streams = BTreeMap::<String, BTreeMap<Op, OpSquares>>::new();
        let (mut waf, mut energy) = (Some(Square::default()), Some(Square::default()));
        let mut completed = 0;
        for part in parts {
            let known = part.half_widths.as_ref()?;
            completed += part.completed();
            add_squares(&mut ops, &known.ops, &part.ops);
            for (name, widths) in &known.streams {
                let into = streams.entry(name.clone()).or_default();
                add_squares(into, widths, part.streams.get(name)?);
            }
            let programmed = part.counters.media_write_bytes.unwrap_or(0) as f64;
            let joules = part.counters.joules.unwrap_or(0.0);
            waf = waf.and_then(|sum| sum.and(known.waf, programmed));
            energy = energy.and_then(|sum| sum.and(known.joules, joules));
        }
        let widths = |squares: BTreeMap<Op, OpSquares>| {
            let each = squares.into_iter();
            each.map(|(op, squares)| (op, squares.widths())).collect()
        };
        (completed > 0).then(|| Self {
            ops: widths(ops),
            streams: streams
                .into_iter()
                .map(|(name, ops)| (name, widths(ops)))
                .collect(),
            waf: waf.filter(|sum| sum.weight > 0.0).map(Square::width),
            joules: energy.filter(|sum| sum.weight > 0.0).map(Square::width),
        })
    }
}

/// Squares of half-widths, each times its part of a sum.
#[derive(Clone, Copy, Debug, Default)]
struct Square {
    sum: f64,
    weight: f64,
}

impl Square {
    fn plus(self, width: f64, weight: f64) -> Self {
        Self {
            sum: self.sum + (width * weight).powi(2),
            weight: self.weight + weight,
        }
    }

    /// Adds as `plus`; `None` where a part that weighs is not known.
    fn and(self, width: Option<f64>, weight: f64) -> Option<Self> {
        match width {
            Some(width) => Some(self.plus(width, weight)),
            None => (weight == 0.0).then_some(self),
        }
    }

    fn width(self) -> f64 {
        if self.weight > 0.0 {
            self.sum.sqrt() / self.weight
        } else {
            0.0
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct OpSquares {
    rate: Square,
    mean_latency: Square,
    mean_response: Option<Square>,
}

impl OpSquares {
    fn widths(self) -> OpHalfWidths {
        OpHalfWidths {
            rate: self.rate.width(),
            mean_latency: self.mean_latency.width(),
            mean_response: self.mean_response.map(Square::width),
        }
    }
}

fn add_squares(
    into: &mut BTreeMap<Op, OpSquares>,
    widths: &BTreeMap<Op, OpHalfWidths>,
    ops: &BTreeMap<Op, OpStats>,
) {
    for (op, known) in widths {
        let stats = ops.get(op);
        let count = stats.map_or(0, |stats| stats.service.count()) as f64;
        let service_ns = stats.map_or(0, |stats| stats.service.sum_ns()) as f64;
        let response = stats.and_then(|stats| stats.response.as_ref());
        let response_ns = response.map_or(0, SparseHistogram::sum_ns) as f64;
        // The mean of a sum is all latencies over all I/O. A closed load fixes the latencies (in flight, times the
        // time): only the counts scatter. An open load fixes the counts: only the latencies scatter.
        let latency_weight = known.mean_response.map_or(count, |_| service_ns);
        let sum = into.entry(*op).or_insert(OpSquares {
            rate: Square::default(),
            mean_latency: Square::default(),
            mean_response: Some(Square::default()),
        });
        sum.rate = sum.rate.plus(known.rate, count);
        sum.mean_latency = sum.mean_latency.plus(known.mean_latency, latency_weight);
        sum.mean_response = sum
            .mean_response
            .zip(known.mean_response)
            .map(|(sum, width)| sum.plus(width, response_ns));
    }
}
