//! What happened: latency histograms, one-second intervals, counters, and their merging.
//!
//! One shape of results, whoever produced them. A *hot* [`Histogram`] is a fixed array that the
//! load generators count into; a [`SparseHistogram`] is the same counts at rest. Everything merges
//! by addition: threads, targets and hosts alike; percentiles are never averaged.

mod batch;
mod censored;
mod fault;
mod gpu;
mod half_widths;
mod histogram;
mod interval;
mod limit;
mod recorder;
mod recording;
mod remark;
mod sound;

pub use batch::{Batch, OpBins};
pub use censored::{Censored, CensoredOps, InFlight, censor, with_censored};
pub use fault::{Fault, FaultCounter, merge_faults};
pub use gpu::Gpu;
pub use half_widths::{HalfWidths, OpHalfWidths};
pub use histogram::{BINS, Bins, Histogram, SparseHistogram, bin_bounds_ns, bin_index};
pub use interval::{Counters, Interval, OpStats, Residence, Share, Streams, Utilisation};
pub use limit::{Limit, LimitedBy};
pub use recorder::{IoGroup, Recorder, Tally};
pub use recording::Recording;
pub use remark::Remark;
