//! The priority that the kernel's I/O scheduler gives the I/O of a job (ioprio_set(2)): that of its threads, and that of
//! shares of it.

use serde::{Deserialize, Serialize};

use crate::stream::random::{Purpose, Random};
use crate::{Job, Op, Request};

/// A class of priority, and a level within it: 0 goes first, 7 last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Priority {
    /// The class, before which no I/O of a lower one is served.
    pub class: PriorityClass,
    /// 0..=7.
    #[serde(default)]
    pub level: u8,
}

/// A class of priority. Numbers are those of `linux/ioprio.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PriorityClass {
    /// Served first. It needs a right of its own.
    Realtime = 1,
    /// What I/O has otherwise.
    BestEffort = 2,
    /// Served when nothing else asks for the disk.
    Idle = 3,
}

impl Priority {
    /// The lowest level.
    pub const LEVEL_MAX: u8 = 7;

    /// Returns the value of the system call: the class above 13 bits, the level below.
    pub fn value(self) -> u32 {
        (self.class as u32) << 13 | u32::from(self.level)
    }
}

/// A share of a job's reads and writes that has a priority of its own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriorityShare {
    /// How much of the I/O that it is of, above 0 and up to 1.
    pub share: f64,
    /// What that has.
    pub priority: Priority,
    /// Command duration limit that the drive is asked for, 1..=7 (Linux 6.5); 0: none.
    #[serde(default)]
    pub duration_limit: u8,
    /// `None`: reads and writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op: Option<Op>,
    /// `None`: blocks of every size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_bytes: Option<u32>,
}

impl PriorityShare {
    /// The highest command duration limit.
    pub const DURATION_LIMIT_MAX: u8 = 7;

    /// Returns the value of a submission: that of the priority, and the limit in the bits between class and level.
    pub fn value(self) -> u16 {
        self.priority.value() as u16 | u16::from(self.duration_limit) << 3
    }

    /// Returns whether it is of such I/O.
    pub fn is_of(self, op: Op, size_bytes: u32) -> bool {
        matches!(op, Op::Read | Op::Write)
            && self.op.is_none_or(|own| own == op)
            && self.block_bytes.is_none_or(|own| own == size_bytes)
    }
}

/// Draws which I/O of a thread has which priority.
#[derive(Clone, Debug)]
pub struct PriorityDraw {
    shares: Box<[PriorityShare]>,
    random: Random,
}

impl PriorityDraw {
    /// Returns the draw of one thread of a job: the same for the same seed.
    pub fn new(job: &Job, seed: u64, thread: u32) -> Self {
        Self {
            shares: job.priority_shares.as_slice().into(),
            random: Random::new(seed, thread, Purpose::Priorities),
        }
    }

    /// Returns the value for the submission of a request; 0: that of the thread.
    #[inline]
    pub fn value_for(&mut self, request: &Request) -> u16 {
        let draw = self.random.unit();
        let mut upto = 0.0;
        let is_of = |share: &&PriorityShare| share.is_of(request.op, request.size_bytes);
        let mut own = self.shares.iter().filter(is_of);
        own.find(|share| {
            upto += share.share;
            draw <= upto
        })
        .map_or(0, |share| share.value())
    }
}

impl Job {
    /// Returns whether the job, or a stream of it, asks for a priority.
    pub fn has_priority(&self) -> bool {
        let mut own = self.workloads();
        own.any(|job| job.priority.is_some() || !job.priority_shares.is_empty())
    }

    /// Returns whether the job, or a stream of it, gives shares of its I/O a priority.
    pub fn has_priority_shares(&self) -> bool {
        self.workloads().any(|job| !job.priority_shares.is_empty())
    }

    /// Returns every priority that the job asks for itself.
    pub fn priorities(&self) -> impl Iterator<Item = Priority> + '_ {
        let shares = self.priority_shares.iter().map(|one| one.priority);
        self.priority.into_iter().chain(shares)
    }
}

impl PriorityClass {
    /// The words of a job.
    pub(crate) const WORDS: [(&str, Self); 3] = [
        ("realtime", Self::Realtime),
        ("best-effort", Self::BestEffort),
        ("idle", Self::Idle),
    ];

    /// Returns the word of a job.
    pub fn name(self) -> &'static str {
        match self {
            Self::Realtime => "realtime",
            Self::BestEffort => "best-effort",
            Self::Idle => "idle",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: &str = r#"
mix = { read = 50, write = 50 }
block = [{ size = "4KiB", share = 50 }, { size = "64KiB", share = 50 }]
pattern = "uniform"
priority = "idle"
priority_shares = [
  { share = "25%", class = "realtime", level = 1, op = "read", block = "64KiB" },
  { share = "50%", class = "best-effort", level = 2, duration_limit = 3, op = "read", block = "64KiB" },
  { share = "10%", class = "realtime", block = "4KiB" },
]
load = {}
until = { time = "1s" }
"#;

    fn share_of(value: u16, op: Op, size_bytes: u32) -> f64 {
        let job = Job::from_toml(JOB, "job.toml").unwrap();
        let mut draw = PriorityDraw::new(&job, 7, 0);
        let request = Request {
            offset_bytes: 0,
            size_bytes,
            placement: Request::NO_PLACEMENT,
            op,
        };
        let count = (0..100_000).filter(|_| draw.value_for(&request) == value);
        count.count() as f64 / 1e5
    }

    #[test]
    fn each_share_of_the_io_that_it_is_of_has_its_priority_and_the_rest_the_thread_s() {
        let (first, second, third) = (1 << 13 | 1, 2 << 13 | 3 << 3 | 2, 1 << 13);
        for (value, op, size_bytes, share) in [
            (first, Op::Read, 65536, 0.25),
            (second, Op::Read, 65536, 0.5),
            (0, Op::Read, 65536, 0.25),
            (0, Op::Write, 65536, 1.0),
            (third, Op::Write, 4096, 0.1),
            (third, Op::Read, 4096, 0.1),
            (0, Op::Flush, 0, 1.0),
        ] {
            let found = share_of(value, op, size_bytes);
            assert!((found - share).abs() < 0.01, "{op:?} {size_bytes}: {found}");
        }
    }
}
