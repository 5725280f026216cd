//! One load for several targets together: which part of it each of them gets. The division is static, so every target's
//! part is a job of its own. It does not move I/O from a slow target to a fast one while they run.

use serde::{Deserialize, Serialize};

use crate::{Job, Load, Pace, Stream};

/// Whose load it is, where there are several targets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Split {
    /// Every target's: each gets all of it.
    #[default]
    Each,
    /// All targets' together, in equal parts.
    Even,
    /// All drives' of a host together, in equal parts; every host of a fleet has all of it.
    Drives,
    /// All targets' together, in parts of these relative weights, in the targets' order.
    Shares(Vec<f64>),
}

impl Split {
    /// Returns whether every target gets the whole load.
    pub const fn is_each(&self) -> bool {
        matches!(self, Self::Each)
    }
}

/// A load that cannot be divided over the targets.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SplitError {
    /// There must be a share for every target.
    #[error(
        "load.split has {shares} shares for {targets} targets: give one for each, in their order, or split = \"even\""
    )]
    Shares {
        /// Shares given.
        shares: usize,
        /// Targets of the job.
        targets: usize,
    },
    /// A target would get nothing.
    #[error(
        "{in_flight} I/O in flight split over {targets} targets leave none for target {target}: use a higher iodepth or more threads"
    )]
    NothingLeft {
        /// I/O in flight on all targets together: threads x iodepth.
        in_flight: u64,
        /// Targets of the job.
        targets: usize,
        /// The first that gets nothing, counted from 1.
        target: usize,
    },
    /// A stream is for a target that there is not.
    #[error(
        "stream {stream:?} is for target {target}, and there are {targets}: give as many targets as streams name"
    )]
    NoTarget {
        /// The stream's name.
        stream: String,
        /// The target that it names, counted from 1.
        target: u32,
        /// Targets of the job.
        targets: usize,
    },
    /// Every stream is for other targets.
    #[error(
        "target {target} of {targets} has no stream: leave it out, or give a stream its number"
    )]
    NoStream {
        /// The first that has none, counted from 1.
        target: usize,
        /// Targets of the job.
        targets: usize,
    },
}

impl Stream {
    /// Returns which of its own targets a target of the job is, both from 0. `None`: it does not run on it.
    fn place_of(&self, target: usize) -> Option<usize> {
        if self.targets.is_empty() {
            return Some(target);
        }
        let mut own = self.targets.iter();
        own.position(|&one| one as usize == target + 1)
    }
}

impl Job {
    /// Returns what each of `targets` targets does: the job itself, or its part of a load that is for all of them
    /// together. The I/O in flight add up to exactly `threads` x `iodepth`, the rates to the rate. A target has at most
    /// its share of the threads (rounded up), fewer where they could not carry the same iodepth.
    ///
    /// # Errors
    /// The load cannot be divided so.
    pub fn of_targets(&self, targets: usize) -> Result<Vec<Self>, SplitError> {
        if self.streams.is_empty() {
            return self.divided(targets);
        }
        self.check_targets(targets)?;
        // Shares of a load are those of the targets that its stream runs on, in their order.
        let divided = |stream: &Stream| match stream.targets.len() {
            0 => stream.job.divided(targets),
            own => stream.job.divided(own),
        };
        let streams: Vec<Vec<Self>> = self.streams.iter().map(divided).collect::<Result<_, _>>()?;
        let of_target = |target: usize| {
            let named = self.streams.iter().zip(&streams);
            let own = named.filter_map(|(stream, jobs)| {
                let place = stream.place_of(target)?;
                Some(Stream {
                    name: stream.name.clone(),
                    job: jobs[place].clone(),
                    targets: Vec::new(),
                    flow: stream.flow,
                    exitall: stream.exitall,
                })
            });
            Self {
                sync: self.sync,
                sqpoll: self.sqpoll,
                huge_pages: self.huge_pages,
                gpu: self.gpu,
                ..Self::of_streams(own.collect(), self.direct, self.errors, self.until)
            }
        };
        Ok((0..targets).map(of_target).collect())
    }

    /// Returns what each of `hosts` hosts does: the job itself, or its part of a load that is for all hosts together.
    /// A host's part is for its drives together, where it loads several.
    ///
    /// # Errors
    /// The load cannot be divided so.
    pub fn of_hosts(&self, hosts: usize) -> Result<Vec<Self>, SplitError> {
        if self.streams.is_empty() {
            return self.divided_over_hosts(hosts);
        }
        let named = self.streams.iter();
        let own = |stream: &Stream| stream.job.divided_over_hosts(hosts);
        let streams: Vec<Vec<Self>> = named.map(own).collect::<Result<_, _>>()?;
        let of_host = |host: usize| {
            let mut job = self.clone();
            for (stream, jobs) in job.streams.iter_mut().zip(&streams) {
                stream.job = jobs[host].clone();
            }
            job
        };
        Ok((0..hosts).map(of_host).collect())
    }

    fn divided_over_hosts(&self, hosts: usize) -> Result<Vec<Self>, SplitError> {
        if matches!(self.pace.split, Split::Each | Split::Drives) {
            return Ok(vec![self.clone(); hosts]);
        }
        let mut jobs = self.divided(hosts)?;
        for job in &mut jobs {
            job.pace.split = Split::Drives;
        }
        Ok(jobs)
    }

    /// Every stream has its targets, and every target a stream.
    fn check_targets(&self, targets: usize) -> Result<(), SplitError> {
        for stream in &self.streams {
            let beyond = |&&target: &&u32| target == 0 || target as usize > targets;
            if let Some(&target) = stream.targets.iter().find(beyond) {
                return Err(SplitError::NoTarget {
                    stream: stream.name.clone(),
                    target,
                    targets,
                });
            }
        }
        let idle = |target: &usize| {
            self.streams
                .iter()
                .all(|one| one.place_of(*target).is_none())
        };
        match (0..targets).find(idle) {
            Some(target) => Err(SplitError::NoStream {
                target: target + 1,
                targets,
            }),
            None => Ok(()),
        }
    }

    fn divided(&self, targets: usize) -> Result<Vec<Self>, SplitError> {
        let weights = match &self.pace.split {
            Split::Each => return Ok(vec![self.clone(); targets]),
            Split::Even | Split::Drives => vec![1.0; targets],
            Split::Shares(shares) if shares.len() == targets => shares.clone(),
            Split::Shares(shares) => {
                return Err(SplitError::Shares {
                    shares: shares.len(),
                    targets,
                });
            }
        };
        let all: f64 = weights.iter().sum();
        let shares: Vec<f64> = weights.iter().map(|weight| weight / all).collect();
        let in_flight = u64::from(self.load.threads()) * u64::from(self.load.iodepth());
        let parts = whole_parts(in_flight, &shares);
        if let Some(target) = parts.iter().position(|&part| part == 0) {
            return Err(SplitError::NothingLeft {
                in_flight,
                targets,
                target: target + 1,
            });
        }
        let own = shares.iter().zip(parts);
        Ok(own.map(|(&share, part)| self.with(share, part)).collect())
    }

    /// Returns the job at `share` of its rate, with `in_flight` I/O in flight.
    fn with(&self, share: f64, in_flight: u64) -> Self {
        let most = (f64::from(self.load.threads()) * share - 1e-9).ceil();
        let threads = (1..=(most as u64).max(1))
            .rev()
            .find(|threads| in_flight.is_multiple_of(*threads))
            .unwrap_or(1);
        let (threads, iodepth) = (threads as u32, (in_flight / threads) as u32);
        let load = match self.load {
            Load::Closed { .. } => Load::Closed { threads, iodepth },
            Load::Open {
                rate_iops, arrival, ..
            } => Load::Open {
                rate_iops: rate_iops * share,
                arrival,
                threads,
                iodepth,
            },
        };
        let mut rates = self.pace.rates.clone();
        for phase in &mut rates {
            phase.from_iops *= share;
            phase.to_iops *= share;
        }
        Self {
            load,
            pace: Pace {
                rates,
                split: Split::Each,
                ..self.pace
            },
            ..self.clone()
        }
    }
}

/// Returns whole parts that add up to `total`, as near to `shares` as they can be. The largest remainders are rounded
/// up, the first of equal ones first.
fn whole_parts(total: u64, shares: &[f64]) -> Vec<u64> {
    let exact = |share: &f64| total as f64 * share;
    let mut parts: Vec<u64> = shares.iter().map(|share| exact(share) as u64).collect();
    let mut order: Vec<usize> = (0..parts.len()).collect();
    let remainder = |&target: &usize| exact(&shares[target]).fract();
    order.sort_by(|a, b| remainder(b).total_cmp(&remainder(a)));
    let left = total.saturating_sub(parts.iter().sum());
    for &target in order.iter().cycle().take(left as usize) {
        parts[target] += 1;
    }
    parts
}

#[cfg(test)]
mod tests;
