//! Whether a load makes sense.

use super::rules::{Checked, ensure, weight};
use crate::{Job, Load, Split};

const IODEPTH_MAX: u32 = 65_536;
const RATE_IOPS_MAX: f64 = 1e9;
const PHASES_MAX: usize = 1000;
const PHASE_NS_MIN: u64 = 1_000_000;
const SHARES_MAX: usize = 1024;

pub(super) fn load(load: &Load) -> Checked {
    let (threads, iodepth) = (load.threads(), load.iodepth());
    let most = Job::THREADS_MAX;
    ensure((1..=most).contains(&threads), "load.threads", || {
        format!("threads is {threads}, expected 1 to {most}")
    })?;
    ensure((1..=IODEPTH_MAX).contains(&iodepth), "load.iodepth", || {
        format!("iodepth is {iodepth}, expected 1 to {IODEPTH_MAX}")
    })?;
    match *load {
        Load::Open { rate_iops, .. } => ensure(
            rate_iops > 0.0 && rate_iops <= RATE_IOPS_MAX,
            "load.rate",
            || format!("rate is {rate_iops}/s, expected more than 0/s and up to 1000M/s"),
        ),
        Load::Closed { .. } => Ok(()),
    }
}

pub(super) fn pace(job: &Job) -> Checked {
    if let Split::Shares(shares) = &job.pace.split {
        let count = shares.len();
        ensure((1..=SHARES_MAX).contains(&count), "load.split", || {
            format!("split has {count} shares, expected one for each target, up to {SHARES_MAX}")
        })?;
        shares
            .iter()
            .try_for_each(|&share| weight(share, "load.split", "share"))?;
    }
    let open = matches!(job.load, Load::Open { .. });
    ensure(job.pace.think_ns == 0 || !open, "load.think", || {
        "think belongs to a closed load, which waits for completions: leave out the rate".to_owned()
    })?;
    let reap = job.pace.reap;
    ensure(reap == 0 || !open, "load.reap", || {
        "reap belongs to a closed load: an open one looks at each completion".to_owned()
    })?;
    let iodepth = job.load.iodepth();
    ensure(reap <= iodepth, "load.reap", || {
        format!(
            "reap is {reap} with iodepth {iodepth}: no more can be waited for than are in flight"
        )
    })?;
    let phases = &job.pace.rates;
    ensure(phases.is_empty() || open, "load.rate", || {
        "rates belong to an open load".to_owned()
    })?;
    ensure(phases.len() <= PHASES_MAX, "load.rate", || {
        format!(
            "rate has {} phases, expected up to {PHASES_MAX}",
            phases.len()
        )
    })?;
    for (index, phase) in phases.iter().enumerate() {
        let path = format!("load.rate.{index}");
        ensure(phase.time_ns >= PHASE_NS_MIN, &path, || {
            "time is below 1ms, the shortest phase".to_owned()
        })?;
        let fits = |rate: f64| (0.0..=RATE_IOPS_MAX).contains(&rate);
        ensure(fits(phase.from_iops) && fits(phase.to_iops), &path, || {
            "rate is beyond 1000M/s".to_owned()
        })?;
    }
    Ok(())
}
