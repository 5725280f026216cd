//! What of a target was busy, where its I/O spent its time, what its members had, its counters, and what bound the rate.

use std::collections::BTreeMap;

use pyo3::prelude::*;
use recording::Counters;

/// How busy a group of equal servers was.
#[pyclass(frozen, get_all, module = "fathom._core")]
#[derive(Clone)]
pub struct Utilisation {
    resource: String,
    servers: u32,
    mean: f64,
    max: f64,
    /// I/O that waited for one of them on average.
    waiting: f64,
}

pub(super) fn utilisation_rows(rows: &[recording::Utilisation]) -> Vec<Utilisation> {
    rows.iter().map(Utilisation::from).collect()
}

impl From<&recording::Utilisation> for Utilisation {
    fn from(row: &recording::Utilisation) -> Self {
        Self {
            resource: row.resource.clone(),
            servers: row.servers,
            mean: row.mean,
            max: row.max,
            waiting: row.waiting,
        }
    }
}

pub(super) fn residence_us(parts: &[recording::Residence]) -> BTreeMap<String, f64> {
    parts
        .iter()
        .filter_map(|spent| Some((spent.part.clone(), spent.mean_ns()? / 1e3)))
        .collect()
}

/// Group, member, I/O completed, their mean latency in us, and the bytes written and programmed for it.
pub(super) type ShareRow = (String, u32, u64, Option<f64>, Option<(u64, u64)>);

/// What each member of a system had.
pub(super) fn share_rows(shares: &[recording::Share]) -> Vec<ShareRow> {
    shares
        .iter()
        .map(|share| {
            let mean_us = share.mean_ns().map(|ns| ns / 1e3);
            (
                share.group.clone(),
                share.member,
                share.n,
                mean_us,
                share.written(),
            )
        })
        .collect()
}

/// Counters that the backend knows, by name with its unit.
pub(super) fn counter_map(counters: &Counters) -> BTreeMap<&'static str, f64> {
    let whole = |value: Option<u64>| value.map(|v| v as f64);
    [
        ("media_read_bytes", whole(counters.media_read_bytes)),
        ("media_write_bytes", whole(counters.media_write_bytes)),
        ("media_erase_bytes", whole(counters.media_erase_bytes)),
        ("joules", counters.joules),
        ("throttled_ns", whole(counters.throttled_ns)),
        ("temperature_c", counters.temperature_c),
        ("wear_pct", counters.wear_pct),
        ("unmapped_reads", whole(counters.unmapped_reads)),
        ("cpu_user_ns", whole(counters.cpu_user_ns)),
        ("cpu_sys_ns", whole(counters.cpu_sys_ns)),
    ]
    .into_iter()
    .filter_map(|(name, value)| value.map(|v| (name, v)))
    .collect()
}

/// What bound the rate of a step.
#[pyclass(frozen, get_all, module = "fathom._core")]
pub struct Limit {
    /// `saturated`, `queue`, `offered-rate`, `outstanding-io` or `target-or-outstanding-io`.
    kind: &'static str,
    /// What is saturated or waited for.
    resource: Option<Utilisation>,
    /// Arrivals per second of an offered rate; mean I/O in flight of outstanding I/O.
    amount: Option<f64>,
    /// The busiest resource but the limit.
    next: Option<Utilisation>,
}

impl From<recording::Limit> for Limit {
    fn from(limit: recording::Limit) -> Self {
        Self {
            kind: limit.by.kind(),
            resource: limit.by.resource().map(Utilisation::from),
            amount: limit.by.amount(),
            next: limit.next.as_ref().map(Utilisation::from),
        }
    }
}

/// The GPU in whose memory the reads of a real load ended.
#[pyclass(frozen, get_all, module = "fathom._core")]
pub struct Gpu {
    name: String,
    /// Speed of its link to the host; None where the kernel does not report it.
    link: Option<String>,
    /// What copies to it reach with nothing beside them.
    copy_bytes_per_s: f64,
}

impl From<&recording::Gpu> for Gpu {
    fn from(gpu: &recording::Gpu) -> Self {
        Self {
            name: gpu.name.clone(),
            link: gpu.link.clone(),
            copy_bytes_per_s: gpu.copy_bytes_per_s,
        }
    }
}
