//! What a page shows of a recording: the columns of a run's points that it needs, with their names and units.

use recording::{Limit, Recording, Utilisation, with_censored};
use serde::Serialize;

/// The figures of one job.
#[derive(Serialize)]
pub struct Figures {
    /// Length of the window, s.
    pub window_s: f64,
    /// By operation.
    pub ops: Vec<OpFigures>,
    /// Bytes programmed per byte written; `None` without writes.
    pub waf: Option<f64>,
    /// Mean power, W.
    pub watts: Option<f64>,
    /// Mean I/O in flight.
    pub outstanding: Option<f64>,
    /// What bound the rate.
    pub limit: Option<LimitFigures>,
}

/// The figures of one operation.
#[derive(Serialize)]
pub struct OpFigures {
    /// Its name.
    pub op: &'static str,
    /// I/O completed.
    pub n: u64,
    /// I/O completed per second.
    pub iops: f64,
    /// 10^6 bytes a second.
    pub mbps: f64,
    /// Mean latency.
    pub mean_us: Option<f64>,
    /// `None` where too few I/O lie above it.
    pub p99_us: Option<f64>,
}

/// A limit, as the column `limit` has it.
#[derive(Serialize)]
pub struct LimitFigures {
    /// Its kind.
    pub kind: &'static str,
    /// What is saturated or waited for.
    pub resource: Option<Busy>,
    /// Offered rate or mean I/O in flight.
    pub amount: Option<f64>,
    /// The busiest other resource.
    pub next: Option<Busy>,
}

/// How busy a group of equal servers is, 0 to 1.
#[derive(Serialize)]
pub struct Busy {
    /// The group.
    pub name: String,
    /// How many.
    pub servers: u32,
    /// Their mean.
    pub mean: f64,
    /// The busiest of them.
    pub busiest: f64,
}

impl Figures {
    /// Returns the figures of a recording.
    pub fn of(recording: &Recording) -> Self {
        let window_s = recording.window_ns as f64 / 1e9;
        let ops = recording.ops.iter().map(|(op, stats)| {
            let censored = recording.censored.get(op).map(|censored| &censored.service);
            let service = with_censored(&stats.service, censored);
            OpFigures {
                op: op.name(),
                n: stats.service.count(),
                iops: stats.service.count() as f64 / window_s,
                mbps: stats.bytes as f64 / 1e6 / window_s,
                mean_us: service.mean_ns().map(|ns| ns / 1e3),
                p99_us: service.percentile_us(99_000),
            }
        });
        let written = recording.ops.iter().filter(|(op, _)| op.writes());
        let written_bytes: u64 = written.map(|(_, stats)| stats.bytes).sum();
        let programmed = recording.counters.media_write_bytes;
        Self {
            window_s,
            ops: ops.collect(),
            waf: programmed
                .filter(|_| written_bytes > 0)
                .map(|bytes| bytes as f64 / written_bytes as f64),
            watts: recording.counters.joules.map(|joules| joules / window_s),
            outstanding: recording.mean_outstanding,
            limit: recording.limit().map(LimitFigures::from),
        }
    }
}

impl From<Limit> for LimitFigures {
    fn from(limit: Limit) -> Self {
        Self {
            kind: limit.by.kind(),
            resource: limit.by.resource().map(Busy::from),
            amount: limit.by.amount(),
            next: limit.next.as_ref().map(Busy::from),
        }
    }
}

impl From<&Utilisation> for Busy {
    fn from(row: &Utilisation) -> Self {
        Self {
            name: row.resource.clone(),
            servers: row.servers,
            mean: row.mean,
            busiest: row.max,
        }
    }
}
