//! The job: one step's I/O, complete and independent of any device.

use serde::{Deserialize, Serialize};

use crate::{FileSet, Op, Position, Split, Stream};

/// One step's I/O. Written in TOML or JSON; see `docs/reference/job.md`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Which operations, in which shares, at which block sizes.
    pub mix: Mix,
    /// Writes of a thread from one flush to the next. 0: no flush.
    #[serde(default, skip_serializing_if = "is_zero")]
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
    /// Bypass the page cache (`O_DIRECT`).
    pub direct: bool,
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
    /// Several workloads at once, each with threads of its own; the other fields say what they come to together.
    /// Empty: the job is one workload.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub streams: Vec<Stream>,
}

/// Operation mix: for each operation a relative weight and its block sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mix {
    /// At least one entry; weights are relative and need not sum to 100.
    pub ops: Vec<Block>,
}

/// One operation of a [`Mix`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// The operation.
    pub op: Op,
    /// Relative weight, > 0.
    pub weight: f64,
    /// Block sizes of this operation; at least one entry unless the operation is a flush.
    pub sizes: Vec<BlockShare>,
}

/// One block size with its share.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlockShare {
    /// Block size in bytes.
    pub size_bytes: u32,
    /// Relative weight, > 0.
    pub weight: f64,
}

/// Address pattern.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, tag = "kind", rename_all = "kebab-case")]
pub enum Pattern {
    /// Ascending offsets. With several threads, thread `i` of `n` starts at `i/n` of the region;
    /// each wraps at the end of the region.
    Sequential,
    /// As `Sequential`, but each thread keeps several streams, taken in turn. The streams of all
    /// threads start at equal distances.
    SequentialStreams {
        /// Streams per thread.
        streams: u32,
    },
    /// Descending offsets: thread `i` of `n` starts below `(i + 1)/n` of the region and goes on from
    /// its end.
    Backwards,
    /// Ascending offsets at a constant distance. At the region's end the next lap begins one block
    /// further than the one before, until the gaps have been covered too.
    Strided {
        /// From the start of one request to that of the next.
        stride_bytes: u64,
    },
    /// Independent, uniformly distributed offsets.
    Uniform,
    /// Every block of the region once, in random order; then again in another order. Each thread has
    /// its share of every pass.
    RandomOnce,
    /// Zipf-distributed over the region's blocks, hot blocks scattered over the region.
    Zipf {
        /// Skew, > 0: probability of rank k is proportional to k^-theta (1 included).
        theta: f64,
    },
    /// A share of the region's blocks gets the rest of the accesses, and inside it again (fio's pareto): hot blocks
    /// scattered over the region.
    Pareto {
        /// The hot share h, above 0 and below 0.5, which gets 1 - h.
        share: f64,
    },
    /// Sequential with random jumps: each request either starts at a uniformly distributed offset or
    /// follows on behind the one before. Reads follow reads, everything else follows writes.
    Mixed {
        /// Share of reads that jump, 0..=1.
        read: f64,
        /// Share of all other operations that jump, 0..=1.
        write: f64,
    },
    /// Bands of the region with given shares of accesses, uniform inside a band.
    HotSpots {
        /// Areas and shares, both relative weights, laid out in order from the region's start.
        bands: Vec<HotBand>,
    },
    /// Zoned targets: writes go to the write pointers of open zones, reads to what was written. Each
    /// thread has its share of the region's zones. A zone that is full is replaced by another, drawn
    /// uniformly and reset. The stream draws places uniformly; whoever runs it keeps the pointers.
    Zones {
        /// Zones that each thread keeps open for writing.
        open: u32,
    },
    /// The I/Os of a recorded trace, in its order. Operations, sizes and offsets are the trace's, and so are the times of
    /// recorded arrivals. The mix says what they come to.
    Replay {
        /// The prepared trace; see `fathom run replay`.
        file: String,
        /// Where its offsets go.
        offsets: Offsets,
    },
}

/// Where the offsets of a recorded trace go in the region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Offsets {
    /// Where they are. A trace that reaches further than the region is refused.
    #[default]
    AsIs,
    /// Modulo the region: what is near stays near.
    Wrap,
    /// In proportion to the region: the whole trace fits, and gaps shrink or grow.
    Scale,
}

impl Offsets {
    /// Every way.
    pub const ALL: [Self; 3] = [Self::AsIs, Self::Wrap, Self::Scale];

    /// The name in TOML and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AsIs => "as-is",
            Self::Wrap => "wrap",
            Self::Scale => "scale",
        }
    }
}

impl Pattern {
    /// The name in TOML and JSON.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::SequentialStreams { .. } => "sequential-streams",
            Self::Backwards => "backwards",
            Self::Strided { .. } => "strided",
            Self::Uniform => "uniform",
            Self::RandomOnce => "random-once",
            Self::Zipf { .. } => "zipf",
            Self::Pareto { .. } => "pareto",
            Self::Mixed { .. } => "mixed",
            Self::HotSpots { .. } => "hot-spots",
            Self::Zones { .. } => "zones",
            Self::Replay { .. } => "replay",
        }
    }
}

/// One band of [`Pattern::HotSpots`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HotBand {
    /// Share of the region's space.
    pub area: f64,
    /// Share of the accesses.
    pub access: f64,
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
}

/// What writes carry. Data is prepared before the run; see `docs/explanation/engine.md`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Content {
    /// Share of each block that compresses away, 0..=1. 0 is incompressible random data.
    pub compressible: f64,
    /// Share of the 4 KiB units written that are copies of others, 0..=1. 0: no two are equal.
    #[serde(default)]
    pub dedup: f64,
    /// Writes describe themselves and reads are checked. `None`: neither.
    #[serde(default)]
    pub verify: Option<Verify>,
}

/// What blocks say of themselves, beside their place, and what reads expect of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verify {
    /// Which pass wrote them; each pass over old data takes a higher one, so that a lost write is seen.
    pub generation: u32,
    /// Distinguishes these data from those of others.
    pub seed: u64,
}

/// How hard to drive the target. Per target: with N targets each gets this load, unless the job's [`Split`] says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, tag = "kind", rename_all = "kebab-case")]
pub enum Load {
    /// `threads` x `iodepth` outstanding at all times.
    Closed {
        /// Submitting threads.
        threads: u32,
        /// Outstanding I/O per thread.
        iodepth: u32,
    },
    /// Requests arrive on their own clock whether or not earlier ones have finished.
    Open {
        /// Arrivals per second, over all threads of the target.
        rate_iops: f64,
        /// Inter-arrival distribution.
        arrival: Arrival,
        /// Submitting threads; each carries `rate_iops / threads`.
        threads: u32,
        /// Most I/O in flight per thread; later arrivals wait in the backlog.
        iodepth: u32,
    },
}

impl Load {
    /// Returns the number of submitting threads.
    pub const fn threads(&self) -> u32 {
        match *self {
            Load::Closed { threads, .. } | Load::Open { threads, .. } => threads,
        }
    }

    /// Returns the most I/O in flight per thread.
    pub const fn iodepth(&self) -> u32 {
        match *self {
            Load::Closed { iodepth, .. } | Load::Open { iodepth, .. } => iodepth,
        }
    }
}

/// What a [`Load`] leaves open: pauses of a closed one, changes of an open one, division over targets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Pace {
    /// Closed load: how long each of the `threads` x `iodepth` pauses between a completion and its
    /// next request.
    pub think_ns: u64,
    /// Closed load: completions that a thread waits for before it looks; 0: not asked for, which is 1. Real targets
    /// only.
    #[serde(skip_serializing_if = "is_zero")]
    pub reap: u32,
    /// Open load: the rate over time, from the start again at the end. Empty: constant.
    pub rates: Vec<RatePhase>,
    /// Whether the load is each target's or all targets' together.
    #[serde(skip_serializing_if = "Split::is_each")]
    pub split: Split,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// A part of a rate schedule: the rate goes from one value to another in a straight line.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RatePhase {
    /// Length, ns.
    pub time_ns: u64,
    /// Arrivals per second at its start, over all threads of the target.
    pub from_iops: f64,
    /// The same at its end.
    pub to_iops: f64,
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

/// Inter-arrival distribution of an open load, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrival {
    /// Poisson process.
    Exponential,
    /// Uniform on (0, 2/rate).
    Uniform,
    /// Constant spacing.
    Deterministic,
    /// As in the trace that the pattern `replay` names.
    Recorded,
}

impl Arrival {
    /// Every distribution.
    pub const ALL: [Self; 4] = [
        Self::Exponential,
        Self::Uniform,
        Self::Deterministic,
        Self::Recorded,
    ];

    /// The name in TOML and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exponential => "exponential",
            Self::Uniform => "uniform",
            Self::Deterministic => "deterministic",
            Self::Recorded => "recorded",
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
