//! How hard a job drives its targets: closed or open, at which rate, spread how.

use crate::parse::fields::Fields;
use crate::parse::refusal::Result;
use crate::parse::tree::{Node, Value};
use crate::units::{parse_duration_ns, parse_rate_iops};
use crate::{Arrival, Load, Pace, RatePhase, Split};

const LOAD_KEYS: [&str; 7] = [
    "threads", "iodepth", "rate", "arrival", "think", "reap", "split",
];
const ARRIVALS: [(&str, Arrival); 4] = [
    ("exponential", Arrival::Exponential),
    ("uniform", Arrival::Uniform),
    ("deterministic", Arrival::Deterministic),
    ("recorded", Arrival::Recorded),
];
const FOREIGN_ARRIVALS: [(&str, &str); 3] = [
    ("poisson", "exponential"),
    ("linear", "deterministic"),
    ("constant", "deterministic"),
];

pub(super) fn load(node: &Node) -> Result<Load> {
    let fields = Fields::new(node, "load", &LOAD_KEYS)?;
    let threads = fields.integer_or("threads", 1)?;
    let phases = rates(&fields)?;
    let rate_iops = match &phases[..] {
        [] => fields.parsed("rate", parse_rate_iops)?,
        phases => Some(mean_rate_iops(phases)),
    };
    match (rate_iops, fields.get("arrival")) {
        (Some(rate_iops), arrival) => Ok(Load::Open {
            rate_iops,
            arrival: arrival.map_or(Ok(Arrival::Exponential), arrival_of)?,
            threads,
            iodepth: fields.need("iodepth")?.integer("iodepth")?,
        }),
        (None, Some(arrival)) => {
            Err(arrival.fault("arrival needs a rate, such as rate = \"100000/s\"".to_owned()))
        }
        (None, None) => Ok(Load::Closed {
            threads,
            iodepth: fields.integer_or("iodepth", 1)?,
        }),
    }
}

pub(super) fn pace(node: &Node) -> Result<Pace> {
    let fields = Fields::new(node, "load", &LOAD_KEYS)?;
    Ok(Pace {
        think_ns: fields.parsed("think", parse_duration_ns)?.unwrap_or(0),
        reap: fields.integer_or("reap", 0)?,
        rates: rates(&fields)?,
        split: fields.get("split").map_or(Ok(Split::Each), split)?,
    })
}

/// Equal parts, or a share for each target.
fn split(node: &Node) -> Result<Split> {
    match node.value {
        Value::List(_) => {
            let shares = node
                .list("split")?
                .iter()
                .map(|share| share.number("split"));
            Ok(Split::Shares(shares.collect::<Result<_>>()?))
        }
        _ => node.word(
            "split",
            &[
                ("even", Split::Even),
                ("drives", Split::Drives),
                ("each", Split::Each),
            ],
            &[],
        ),
    }
}

/// Returns the phases of a schedule; none where the rate is constant.
fn rates(fields: &Fields) -> Result<Vec<RatePhase>> {
    let Some(node) = fields.get("rate") else {
        return Ok(Vec::new());
    };
    let Value::List(_) = node.value else {
        return Ok(Vec::new());
    };
    let phase = |item: &Node| {
        let fields = Fields::new(item, "rate", &["rate", "to", "time"])?;
        let from_iops = fields.need("rate")?.parsed("rate", parse_rate_iops)?;
        Ok(RatePhase {
            time_ns: fields.need("time")?.parsed("time", parse_duration_ns)?,
            from_iops,
            to_iops: fields.parsed("to", parse_rate_iops)?.unwrap_or(from_iops),
        })
    };
    node.list("rate")?.iter().map(phase).collect()
}

/// Returns the mean rate of one pass through a schedule.
fn mean_rate_iops(phases: &[RatePhase]) -> f64 {
    let (mut arrivals, mut time_ns) = (0.0, 0.0);
    for phase in phases {
        arrivals += 0.5 * (phase.from_iops + phase.to_iops) * phase.time_ns as f64;
        time_ns += phase.time_ns as f64;
    }
    arrivals / f64::max(time_ns, 1.0)
}

pub(super) fn arrival_of(node: &Node) -> Result<Arrival> {
    node.word("arrival", &ARRIVALS, &FOREIGN_ARRIVALS)
}
