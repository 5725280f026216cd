//! Where the requests of a job go inside its region.

use serde::{Deserialize, Serialize};

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
    /// Ascending offsets in strips of one size, with a gap of another behind each. At the region's end each thread goes on
    /// from its first strip.
    Strips {
        /// Bytes of a strip.
        strip_bytes: u64,
        /// Bytes that are left out behind it.
        gap_bytes: u64,
    },
    /// Blocks in the order that a list has, then again.
    Blocks {
        /// Numbers of blocks of the region, from 0.
        order: Vec<u32>,
        /// Whether each round goes as many blocks further as the list has.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        moves: bool,
    },
    /// Independent, uniformly distributed offsets.
    Uniform,
    /// Every block of the region once, in random order; then again in another order. Each thread has
    /// its share of every pass.
    RandomOnce,
    /// Every block of the region once in random order, and some twice, so that a drive is then as after long random
    /// writing.
    OnePass {
        /// Flash beyond what the region takes, as a share of that.
        spare: f64,
        /// Parts of the flash that are filled one after the other.
        stretches: u32,
    },
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
        /// Zones that each thread keeps open for writing; 0: as many as the device allows.
        open: u32,
        /// Whether a thread goes through its zones in their order instead, one after the other.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        in_order: bool,
        /// Whether writes choose among the open zones as `RandomOnce` does among blocks, so that each has as many.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        once: bool,
        /// Whether the zones are emptied before the first request.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        empties: bool,
        /// Whether a thread ends with its zones: behind the last one, or where none has room.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ends: bool,
        /// When a zone is reset though it has room.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reset: Option<ZoneReset>,
    },
    /// The I/Os of a recorded trace, in its order. Operations, sizes and offsets are the trace's, and so are the times of
    /// recorded arrivals. The mix says what they come to.
    Replay {
        /// The prepared trace; see `fathom run replay`.
        file: String,
        /// Where its offsets go.
        offsets: Offsets,
        /// Whether I/Os wait for those that they waited for when they were recorded.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        waits: bool,
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
    /// Returns whether I/Os wait for others, as they did when they were recorded.
    pub const fn waits(&self) -> bool {
        matches!(self, Self::Replay { waits: true, .. })
    }

    /// The name in TOML and JSON.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::SequentialStreams { .. } => "sequential-streams",
            Self::Backwards => "backwards",
            Self::Strided { .. } => "strided",
            Self::Strips { .. } => "strips",
            Self::Blocks { .. } => "blocks",
            Self::Uniform => "uniform",
            Self::RandomOnce => "random-once",
            Self::OnePass { .. } => "one-pass",
            Self::Zipf { .. } => "zipf",
            Self::Pareto { .. } => "pareto",
            Self::Mixed { .. } => "mixed",
            Self::HotSpots { .. } => "hot-spots",
            Self::Zones { .. } => "zones",
            Self::Replay { .. } => "replay",
        }
    }
}

/// Resets of zones with room, as of a log-structured program: the zone that a write is about to go to becomes empty.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ZoneReset {
    /// Share of the region that holds data from which on writes are counted.
    pub above: f64,
    /// Every how many of those writes find their zone reset.
    pub every: u32,
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
