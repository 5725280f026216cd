//! What I/O to issue: methods, steps and jobs, their TOML and JSON form, and the deterministic
//! request stream. Nothing here performs I/O or reads a clock.
//!
//! A [`Job`] is the single definition of a step's I/O. The engine (real devices) and the twin (virtual devices) both
//! draw their requests from [`RequestStream`], so both see the same I/O. The stream is a pure function of (job,
//! geometry, seed, thread).

mod byte_pattern;
mod changed;
mod error;
mod files;
mod flow;
mod geometry;
mod job;
mod method;
mod parse;
mod position;
mod priority;
mod region;
mod request;
mod split;
mod stream;
mod streams;
mod sync;
mod units;
mod zones;

pub use byte_pattern::BytePattern;
pub use error::ParseError;
pub use files::{FileSet, FileShare, FileThreads, Select, Visit};
pub use flow::Flow;
pub use geometry::Geometry;
pub use job::{
    Arrival, Block, BlockShare, Content, Errors, Extent, HotBand, Job, Load, Mix, Offsets, Pace,
    Pattern, RatePhase, Region, RegionPart, Until, Verify, ZoneReset,
};
pub use method::{
    Curve, FileSystem, KeyFigure, Latency, LatencyLimit, Method, Metric, Offered, Quick, Round,
    Slo, Steady, Step, StepKind, Stillness, UntilSteady,
};
pub use position::{OperationPositions, Position, ThreadPositions};
pub use priority::{Priority, PriorityClass, PriorityDraw, PriorityShare};
pub use region::{Limits, Span};
pub use request::{Op, Request};
pub use split::{Split, SplitError};
pub use stream::{RequestStream, StreamError, Waiting};
pub use streams::{Part, Stream};
pub use sync::Sync;
pub use units::{
    parse_duration_ns, parse_multiple, parse_percent, parse_rate_iops, parse_size_bytes,
};
pub use zones::{Placed, Zone, ZoneDevice, ZoneLimits, ZoneShare};
