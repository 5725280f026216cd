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
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn job(load: &str) -> Job {
        let text = format!(
            "mix = \"read\"\nblock = \"4KiB\"\npattern = \"uniform\"\nuntil = {{ time = \"1s\" }}\nload = {load}"
        );
        Job::from_toml(&text, "job.toml").unwrap()
    }

    fn loads(load: &str, targets: usize) -> Vec<(u32, u32)> {
        let jobs = job(load).of_targets(targets).unwrap();
        let shape = |job: &Job| (job.load.threads(), job.load.iodepth());
        jobs.iter().map(shape).collect()
    }

    #[test]
    fn a_load_is_each_targets_own_unless_it_is_split() {
        assert_eq!(loads("{ threads = 4, iodepth = 32 }", 3), [(4, 32); 3]);
    }

    #[test]
    fn a_split_keeps_the_io_in_flight_of_all_targets_together() {
        let even = "{ threads = 8, iodepth = 32, split = \"even\" }";
        assert_eq!(loads(even, 4), [(2, 32); 4]);
        assert_eq!(loads(even, 3), [(2, 43), (1, 85), (1, 85)]);
        assert_eq!(loads(even, 1), [(8, 32)]);
        let skewed = "{ iodepth = 256, split = [50, 30, 20] }";
        assert_eq!(loads(skewed, 3), [(1, 128), (1, 77), (1, 51)]);
    }

    #[test]
    fn a_split_divides_rates_and_their_schedules() {
        let scheduled = job(
            r#"{ iodepth = 8, split = [3, 1], rate = [{ rate = "4k/s", to = "8k/s", time = "1s" }] }"#,
        );
        let jobs = scheduled.of_targets(2).unwrap();
        let phases: Vec<_> = jobs.iter().map(|job| job.pace.rates[0]).collect();
        assert_eq!((phases[0].from_iops, phases[0].to_iops), (3e3, 6e3));
        assert_eq!((phases[1].from_iops, phases[1].to_iops), (1e3, 2e3));
        let rate = |job: &Job| match job.load {
            Load::Open { rate_iops, .. } => rate_iops,
            Load::Closed { .. } => 0.0,
        };
        assert_eq!((rate(&jobs[0]), rate(&jobs[1])), (4.5e3, 1.5e3));
    }

    #[test]
    fn what_writes_wait_for_is_that_of_the_job_on_every_target() {
        let text = r#"
sync = "data"
until = { time = "1s" }
streams = [{ name = "log", mix = "write", block = "4KiB", pattern = "sequential", load = {} }]
"#;
        let job = Job::from_toml(text, "job.toml").unwrap();
        assert_eq!(job.streams[0].job.sync, crate::Sync::Data);
        let jobs = job.of_targets(2).unwrap();
        assert!(jobs.iter().all(|job| job.sync == crate::Sync::Data));
    }

    #[test]
    fn streams_are_split_one_by_one() {
        let text = r#"
until = { time = "1s" }
streams = [
  { name = "hot", mix = "read", block = "4KiB", pattern = "uniform", load = { iodepth = 64, split = [3, 1] } },
  { name = "own", mix = "write", block = "4KiB", pattern = "uniform", load = { iodepth = 2 } },
]
"#;
        let jobs = Job::from_toml(text, "job.toml").unwrap().of_targets(2);
        let depths = |job: &Job| -> Vec<u32> {
            let streams = job.streams.iter();
            streams.map(|stream| stream.job.load.iodepth()).collect()
        };
        let depths: Vec<_> = jobs.unwrap().iter().map(depths).collect();
        assert_eq!(depths, [[48, 2], [16, 2]]);
    }

    #[test]
    fn drives_share_a_load_that_every_host_has_whole() {
        let over_drives = "{ threads = 6, iodepth = 32, split = \"drives\" }";
        let hosts = job(over_drives).of_hosts(4).unwrap();
        assert!(hosts.iter().all(|one| *one == job(over_drives)));
        assert_eq!(loads(over_drives, 24), [(1, 8); 24]);
        assert_eq!(job(over_drives).on_hosts(4).load.threads(), 24);
    }

    #[test]
    fn what_is_for_all_hosts_is_divided_over_them_and_then_over_the_drives_of_each() {
        let even = "{ threads = 4, iodepth = 32, split = \"even\" }";
        for host in job(even).of_hosts(2).unwrap() {
            let drives = host.of_targets(4).unwrap();
            let in_flight = |one: &Job| one.load.threads() * one.load.iodepth();
            assert_eq!(drives.iter().map(in_flight).collect::<Vec<_>>(), [16; 4]);
        }
    }

    #[test]
    fn a_stream_on_some_drives_is_on_the_same_drives_from_every_host() {
        let job = Job::from_toml(ON_DRIVES, "job.toml").unwrap();
        for host in job.of_hosts(2).unwrap() {
            let drives = host.of_targets(2).unwrap();
            assert_eq!(drives[0].streams.len(), 1);
            assert_eq!(drives[1].streams[0].name, "second");
        }
    }

    const ON_DRIVES: &str = r#"
until = { time = "1s" }
streams = [
  { name = "first", mix = "read", block = "4KiB", pattern = "uniform", load = { iodepth = 4 }, targets = [1] },
  { name = "second", mix = "read", block = "4KiB", pattern = "uniform", load = { iodepth = 4 }, targets = [2] },
]
"#;

    const ON_TARGETS: &str = r#"
until = { time = "1s" }
streams = [
  { name = "first", mix = "read", block = "4KiB", pattern = "uniform", load = { iodepth = 4 }, targets = [1] },
  { name = "others", mix = "write", block = "4KiB", pattern = "uniform", load = { iodepth = 6, split = [2, 1] }, targets = [2, 3] },
]
"#;

    #[test]
    fn a_stream_runs_on_its_own_targets_alone() {
        let jobs = Job::from_toml(ON_TARGETS, "job.toml")
            .unwrap()
            .of_targets(3);
        let streams = |job: &Job| -> Vec<(String, u32)> {
            let streams = job.streams.iter();
            streams
                .map(|stream| (stream.name.clone(), stream.job.load.iodepth()))
                .collect()
        };
        let jobs = jobs.unwrap();
        assert_eq!(streams(&jobs[0]), [("first".to_owned(), 4)]);
        assert_eq!(streams(&jobs[1]), [("others".to_owned(), 4)]);
        assert_eq!(streams(&jobs[2]), [("others".to_owned(), 2)]);
        assert!(!jobs[0].writes());
    }

    #[test]
    fn streams_and_targets_that_do_not_meet_are_refused() {
        let refusal = |targets| {
            let job = Job::from_toml(ON_TARGETS, "job.toml").unwrap();
            job.of_targets(targets).unwrap_err().to_string()
        };
        assert!(refusal(2).contains("stream \"others\" is for target 3, and there are 2"));
        assert!(refusal(4).contains("target 4 of 4 has no stream"));
    }

    #[test]
    fn a_split_that_fits_no_target_is_refused_with_the_remedy() {
        let refusal = |load: &str, targets| job(load).of_targets(targets).unwrap_err().to_string();
        let missing = refusal("{ iodepth = 8, split = [1, 1] }", 3);
        assert!(missing.contains("2 shares for 3 targets"), "{missing}");
        let thin = refusal("{ iodepth = 8, split = [99, 1] }", 2);
        assert!(thin.contains("leave none for target 2"), "{thin}");
    }

    proptest! {
        #[test]
        fn parts_add_up_and_are_within_one_of_their_shares(
            total in 1_u64..1 << 26,
            weights in prop::collection::vec(0.01_f64..100.0, 1..64),
        ) {
            let all: f64 = weights.iter().sum();
            let shares: Vec<f64> = weights.iter().map(|weight| weight / all).collect();
            let parts = whole_parts(total, &shares);
            prop_assert_eq!(parts.iter().sum::<u64>(), total);
            for (part, share) in parts.iter().zip(&shares) {
                prop_assert!((*part as f64 - total as f64 * share).abs() < 1.0 + 1e-6);
            }
        }
    }
}
