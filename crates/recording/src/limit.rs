//! What set the throughput of a step, as values. Whoever shows it finds the words.

use crate::{Recording, Utilisation};

/// A resource busier than this is taken as the limit: beyond it queueing, not service, sets the
/// latency, and little throughput is left to gain.
const SATURATED: f64 = 0.90;
/// Least part of the latency spent waiting for a resource that makes it the limit of a closed load, instead of the
/// outstanding I/O. Latency is twice its unloaded value there: about where the asymptotes of a closed network cross
/// (Lazowska et al., Quantitative System Performance, 1984, chapter 5). Below, rate = outstanding I/O over unloaded
/// latency (Little); beyond, more of it waits longer.
const WAITING: f64 = 0.5;

/// What set the throughput of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// The limit itself.
    pub by: LimitedBy,
    /// The busiest resource but the limit.
    pub next: Option<Utilisation>,
}

/// The kinds of limits.
#[derive(Clone, Debug, PartialEq)]
pub enum LimitedBy {
    /// A resource without time left.
    Saturated(Utilisation),
    /// The resource that I/O waited for, where it waited for longer than it was served.
    Queue(Utilisation),
    /// An open load that the target kept up with.
    OfferedRate {
        /// Arrivals per second.
        iops: f64,
    },
    /// The load of a target that says how busy it is.
    OutstandingIo {
        /// Mean I/O in flight.
        mean: f64,
    },
    /// The load, or the target: a real one does not say how busy it is.
    TargetOrOutstandingIo {
        /// Mean I/O in flight.
        mean: f64,
    },
}

impl LimitedBy {
    /// The kind's name, for programs.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Saturated(_) => "saturated",
            Self::Queue(_) => "queue",
            Self::OfferedRate { .. } => "offered-rate",
            Self::OutstandingIo { .. } => "outstanding-io",
            Self::TargetOrOutstandingIo { .. } => "target-or-outstanding-io",
        }
    }

    /// Returns what is saturated or waited for; `None` of a load.
    pub const fn resource(&self) -> Option<&Utilisation> {
        match self {
            Self::Saturated(one) | Self::Queue(one) => Some(one),
            _ => None,
        }
    }

    /// Returns the arrivals per second of an offered rate, or the mean I/O in flight; `None` of a resource.
    pub const fn amount(&self) -> Option<f64> {
        match *self {
            Self::OfferedRate { iops } => Some(iops),
            Self::OutstandingIo { mean } | Self::TargetOrOutstandingIo { mean } => Some(mean),
            _ => None,
        }
    }
}

impl Recording {
    /// Returns what set the throughput: a saturated resource, else the rate of an open load that the target kept up
    /// with. Else it is the resource that most I/O waited for, where they waited for longer than they were served. Else
    /// it is the outstanding I/O. `None` when neither utilisations nor the outstanding I/O are known.
    pub fn limit(&self) -> Option<Limit> {
        let mut busiest: Vec<&Utilisation> =
            self.utilisation.iter().filter(|u| u.max > 0.0).collect();
        busiest.sort_by(|a, b| {
            b.max
                .total_cmp(&a.max)
                .then_with(|| a.resource.cmp(&b.resource))
        });
        let saturated = busiest.first().filter(|u| u.max >= SATURATED).copied();
        let queue = || self.longest_queue().filter(|_| !self.kept_up());
        let (by, own) = if let Some(first) = saturated {
            (LimitedBy::Saturated(first.clone()), Some(first))
        } else if let Some(queue) = queue() {
            (LimitedBy::Queue(queue.clone()), Some(queue))
        } else {
            (self.load_limit()?, None)
        };
        let is_other = |u: &&&Utilisation| own.is_none_or(|own| u.resource != own.resource);
        let next = busiest.iter().find(is_other).map(|&u| u.clone());
        Some(Limit { by, next })
    }

    /// Returns the resource that most I/O waited for, where I/O waited for longer than it was served.
    fn longest_queue(&self) -> Option<&Utilisation> {
        let waiting: f64 = self.utilisation.iter().map(|u| u.waiting).sum();
        let longest = self
            .utilisation
            .iter()
            .max_by(|a, b| a.waiting.total_cmp(&b.waiting))?;
        (waiting > WAITING * self.mean_outstanding?).then_some(longest)
    }

    fn load_limit(&self) -> Option<LimitedBy> {
        if self.kept_up() {
            let iops = self.offered? as f64 * 1e9 / self.window_ns as f64;
            return Some(LimitedBy::OfferedRate { iops });
        }
        let mean = self.mean_outstanding?;
        Some(match self.setup.is_empty() {
            true => LimitedBy::OutstandingIo { mean },
            false => LimitedBy::TargetOrOutstandingIo { mean },
        })
    }

    /// The sustained criterion of a rate curve: at least 99 % of what arrived was completed.
    fn kept_up(&self) -> bool {
        let enough = |offered: u64| self.completed() as f64 >= 0.99 * offered as f64;
        self.window_ns > 0 && self.offered.is_some_and(enough)
    }
}
