//! The priority that the kernel's I/O scheduler gives the I/O of a job (ioprio_set(2)).

use serde::{Deserialize, Serialize};

use crate::Job;

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

impl Job {
    /// Returns whether the job, or a stream of it, asks for a priority.
    pub fn has_priority(&self) -> bool {
        let mut streams = self.streams.iter();
        self.priority.is_some() || streams.any(|stream| stream.job.priority.is_some())
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
