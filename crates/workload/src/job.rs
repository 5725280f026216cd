//! The job: one step's I/O, complete and independent of any device.

mod content;
mod load;
mod mix;
mod pattern;

use serde::{Deserialize, Serialize};

pub use self::{
    content::{Content, Verify},
    load::{Arrival, Load, Pace, RatePhase},
    mix::{Block, BlockShare, Mix},
    pattern::{HotBand, Offsets, Pattern, ZoneReset},
};
use crate::{FileSet, Position, Priority, PriorityShare, Stream, Sync};

/// One step's I/O. Written in TOML or JSON; see `docs/reference/job.md`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Which operations, in which shares, at which block sizes.
    pub mix: Mix,
    /// Writes of a thread from one flush to the next. 0: no flush.
    #[serde(default, skip_serializing_if = "load::is_zero")]
    pub flush_every: u32,
    /// Where requests go inside the region.
    pub pattern: Pattern,
    /// Where the threads of an ordered pattern begin, and what follows on from what.
    #[serde(default, skip_serializing_if = "Position::is_default")]
    pub position: Position,
    /// Part of the target that is touched.
    pub region: Region,
    /// The set of files that the target is. `None`: a device, or one file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<FileSet>,
    /// Alignment of offsets in bytes, counted from the region's start. `None`: random patterns align
    /// each request to its own block size, sequential ones follow on without gaps.
    pub align_bytes: Option<u64>,
    /// What is written.
    pub content: Content,
    /// Placement handles (FDP) used by writes: thread `i` uses entry `i % len`. Empty: no directive.
    pub placement: Vec<u16>,
    /// What the kernel's I/O scheduler serves first. Real targets only; `None`: as the process has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// Shares of the I/O with another priority. Real targets only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub priority_shares: Vec<PriorityShare>,
    /// Bypass the page cache (`O_DIRECT`).
    pub direct: bool,
    /// What each write waits for. Real targets only.
    #[serde(default, skip_serializing_if = "Sync::is_none")]
    pub sync: Sync,
    /// Let a thread of the kernel submit (SQPOLL). Real targets only; a twin submits as its bench does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sqpoll: bool,
    /// Back I/O buffers with huge pages. Real targets only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub huge_pages: bool,
    /// Reads end in the memory of a GPU. Real targets only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gpu: bool,
    /// How hard.
    pub load: Load,
    /// How the load changes over time, how long it pauses, and whose it is.
    #[serde(default)]
    pub pace: Pace,
    /// What failed I/O does to the step.
    #[serde(default)]
    pub errors: Errors,
    /// Directory of the write journal: on another device than the target, so that it outlives a crash.
    /// `None`: no journal.
    #[serde(default)]
    pub journal: Option<String>,
    /// When to stop; the first condition met ends the step.
    pub until: Until,
    /// End all threads when the first of them has done its part of the volume. Streams have their own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exitall: bool,
    /// Several workloads at once, each with threads of its own; the other fields say what they come to together.
    /// Empty: the job is one workload.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub streams: Vec<Stream>,
}

/// A length or position, absolute or relative to the target's capacity.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Extent {
    /// Bytes.
    Bytes(u64),
    /// Fraction of the target's capacity, 0..=1.
    Fraction(f64),
    /// Bytes, or all up to the target's end where there are fewer. Only a size.
    UpTo(u64),
}

/// Part of the target.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Region {
    /// First byte.
    pub start: Extent,
    /// Length.
    pub size: Extent,
    /// The part of it that one of several hosts has. `None`: all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<RegionPart>,
}

/// One of equal parts of a region. Where the parts meet depends on the target, so it is not given in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegionPart {
    /// Which one, from 0.
    pub number: u32,
    /// How many there are.
    pub of: u32,
    /// Bytes that no two parts divide between them.
    pub grain_bytes: u64,
}

/// What failed I/O does to a step. It is counted and kept out of the latencies in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Errors {
    /// More failed I/O of a target than this end the step. `None`: any number is only counted.
    pub most: Option<u64>,
    /// An I/O that is in flight for longer ends the step, ns. Real targets only.
    pub stuck_ns: u64,
}

impl Default for Errors {
    /// Twice what Linux gives an NVMe or SCSI command before it aborts it.
    fn default() -> Self {
        Self {
            most: None,
            stuck_ns: 60_000_000_000,
        }
    }
}

/// When a step ends: the first condition met. At least one is set, in a job of streams by every stream if not for all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Until {
    /// Elapsed time, ns.
    pub time_ns: Option<u64>,
    /// Bytes moved, all threads of a target together.
    pub bytes: Option<u64>,
    /// Bytes moved as a multiple of the region's size ("2x").
    pub region_multiple: Option<f64>,
    /// Number of I/Os.
    pub count: Option<u64>,
}
