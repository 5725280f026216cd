//! The method: a named procedure of steps.

mod curve;
mod steady;

use serde::{Deserialize, Serialize};

pub use self::{
    curve::{Curve, Latency, LatencyLimit, Offered, Slo},
    steady::{Metric, Round, Steady, Stillness, UntilSteady},
};
use crate::Job;

/// A procedure that turns targets into a result. See `docs/reference/method.md`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Method {
    /// `fathom-method/1`.
    pub schema: String,
    /// Lower-case name with dashes.
    pub name: String,
    /// Title for reports.
    pub title: String,
    /// One or two sentences: what question the method answers.
    pub summary: String,
    /// Where the procedure comes from.
    pub source: String,
    /// What a page of its runs opens with; `None`: the page chooses among what the runs hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_figure: Option<KeyFigure>,
    /// File system that block devices and virtual drives get where the target names none; `None`: the
    /// I/O goes to the bare target.
    pub file_system: Option<FileSystem>,
    /// Most that a twin simulates of a drive, bytes; `None`: what each twin does by itself.
    pub slice_bytes: Option<u64>,
    /// What `--quick` does; `None` refuses `--quick`.
    pub quick: Option<Quick>,
    /// At least one.
    pub steps: Vec<Step>,
}

/// A file system between the load and a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileSystem {
    /// Copy-on-write; on a host-managed disk in its zones.
    Btrfs,
    /// In place.
    Xfs,
    /// In place.
    Ext4,
}

/// The figure that answers a method's question, with its sentence. The report's section of that name makes both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyFigure {
    /// Latency that a system adds to that of its own drive.
    AddedLatency,
    /// Write amplification of each load.
    Amplification,
    /// Rates and latencies of clusters over depth.
    Cluster,
    /// The spread of long measurements, second by second.
    Consistency,
    /// Latency over achieved rate.
    Curves,
    /// Rates over I/Os in flight.
    Depths,
    /// Drives that a GPU needs.
    GpuFeed,
    /// Rates over the share of reads.
    Mixes,
    /// All application workloads by target.
    Overview,
    /// Write amplification with and without placement.
    Placement,
    /// Rates before, in and after a load that disturbs.
    Recovery,
    /// How long the I/Os of a replayed trace took.
    Replay,
    /// Rounds until steady, and what they come to.
    Rounds,
    /// Rates over what was written.
    Saturation,
    /// Every measured workload by target.
    Summary,
    /// Which disk is for which use.
    Verdict,
}

impl KeyFigure {
    /// Each with its word in method files.
    pub const WORDS: [(&'static str, KeyFigure); 16] = [
        ("added-latency", KeyFigure::AddedLatency),
        ("amplification", KeyFigure::Amplification),
        ("cluster", KeyFigure::Cluster),
        ("consistency", KeyFigure::Consistency),
        ("curves", KeyFigure::Curves),
        ("depths", KeyFigure::Depths),
        ("gpu-feed", KeyFigure::GpuFeed),
        ("mixes", KeyFigure::Mixes),
        ("overview", KeyFigure::Overview),
        ("placement", KeyFigure::Placement),
        ("recovery", KeyFigure::Recovery),
        ("replay", KeyFigure::Replay),
        ("rounds", KeyFigure::Rounds),
        ("saturation", KeyFigure::Saturation),
        ("summary", KeyFigure::Summary),
        ("verdict", KeyFigure::Verdict),
    ];
}

/// How `--quick` shortens a method.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quick {
    /// Every duration is divided by this, >= 1.
    pub divide_times_by: f64,
    /// Instead of `divide_times_by` for precondition steps (their rounds and their time limit):
    /// preconditioning may shrink to rounds of a second while a measurement keeps several.
    pub divide_preconditioning_by: f64,
    /// Every written volume given as a multiple of the region is divided by this, >= 1.
    pub divide_volumes_by: f64,
    /// Most that twins of SSDs simulate of a drive then: what is written in less time is as much of a smaller slice.
    /// `None`: the method's slice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice_bytes: Option<u64>,
}

/// What a step is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepKind {
    /// Write the region so that every block holds data. Recorded, not reported as a result.
    Fill,
    /// Bring the target into the state of one that was never written. Recorded, not a result.
    Purge,
    /// Issue nothing for a time. Recorded, not a result.
    Idle,
    /// Repeat the job until it is steady or its time is up. Recorded, not reported as a result.
    Precondition,
    /// Measure: becomes rows of `points`.
    Measure,
    /// Measure the maximum, then [`Curve::points`] at shares of it under open load: all become rows
    /// of `points`.
    Curve,
}

/// One workload under one load until one condition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Unique within the method, lower-case with dashes.
    pub name: String,
    /// What the step is for.
    pub kind: StepKind,
    /// The targets that it runs on, by the names that a run binds. Empty: every target of the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// Whether it runs on files alone: a device keeps what it holds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_files: bool,
    /// Name of the workload, the key by which results are compared ("4k-rand-read").
    pub workload: String,
    /// Text for tables ("4 KiB random read, 8T/32Q").
    pub label: String,
    /// Name of this workload in the published results (`fio-4k-rand-read`).
    pub published: Option<String>,
    /// The catalogue's system that twins are driven from; `None`: each device's own. The method's if
    /// the step names none.
    pub bench: Option<String>,
    /// Half-width of the 95 % intervals of rate and mean latency, as a fraction of them. A window or round in virtual
    /// time may end early at it. `None`: all have their full length. The method's if the step gives none.
    pub precision: Option<f64>,
    /// Only for [`StepKind::Measure`]: least share of the region that a window with writes writes before it may end
    /// early, 0..1. `None`: a quarter, since a drive may be far from settled under the step.
    pub turnover: Option<f64>,
    /// Only for [`StepKind::Measure`]: the highest percentile, 0..1, that the step is made to resolve for every
    /// operation. A window in virtual time has the I/O for it before it ends early. `None`: p99.99 of small blocks.
    pub percentile: Option<f64>,
    /// Only for [`StepKind::Measure`]: the rate follows from what an earlier step achieved. `None`: the job's own load.
    pub offered: Option<Offered>,
    /// Only for [`StepKind::Fill`]: a twin of an SSD begins anew here, with the whole of it filled. A real target is filled
    /// as the job says.
    #[serde(default, skip_serializing_if = "is_false")]
    pub afresh: bool,
    /// Only for [`StepKind::Measure`] outside rounds: a twin runs the step on a copy of the state that the last step
    /// without it left. What the step does is lost with the copy. Targets that cannot be copied run it like any other.
    #[serde(default, skip_serializing_if = "is_false")]
    pub on_copy: bool,
    /// Only for [`StepKind::Measure`] outside rounds: it goes on where the step before it, which has the same I/O, ended.
    /// Ordered streams keep their positions.
    #[serde(default, skip_serializing_if = "is_false")]
    pub continues: bool,
    /// Only for [`StepKind::Precondition`]: when it counts as steady.
    pub steady: Option<Steady>,
    /// Only for [`StepKind::Measure`]: it ends before its time once its figures hold still.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_steady: Option<UntilSteady>,
    /// Only for [`StepKind::Curve`]: the points after the maximum.
    pub curve: Option<Curve>,
    /// Only for a step of a round: which one, and until when rounds are repeated.
    pub round: Option<Round>,
    /// The I/O. A curve has that of its maximum, under closed load.
    pub job: Job,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// Recordings have one interval a second, so a shorter round would be judged on nothing new.
const SHORTEST_ROUND_NS: u64 = 1_000_000_000;

impl Method {
    /// Returns the method as `--quick` runs it. Times, rounds and volumes in multiples of the region are divided as
    /// [`Method::quick`] says, rounds to no less than a second. Absolute volumes and counts stay. A method without
    /// `quick` comes back unchanged; refuse `--quick` before.
    #[must_use]
    pub fn shortened(&self) -> Method {
        let mut method = self.clone();
        let Some(quick) = self.quick else {
            return method;
        };
        method.slice_bytes = quick.slice_bytes.or(method.slice_bytes);
        let divide = |ns: u64, by: f64| ((ns as f64 / by).round() as u64).max(1);
        for step in &mut method.steps {
            let by = match step.kind {
                StepKind::Precondition => quick.divide_preconditioning_by,
                StepKind::Fill
                | StepKind::Purge
                | StepKind::Idle
                | StepKind::Measure
                | StepKind::Curve => quick.divide_times_by,
            };
            if let Some(steady) = &mut step.steady {
                steady.round_ns = divide(steady.round_ns, by).max(SHORTEST_ROUND_NS);
                steady.written /= quick.divide_volumes_by;
            }
            if let Some(steady) = &mut step.until_steady {
                let least_ns = steady.every_ns.saturating_mul(2);
                steady.over_ns = steady.every_ns.max(1)
                    * (divide(steady.over_ns, by).max(least_ns) / steady.every_ns.max(1));
                steady.after_ns = divide(steady.after_ns, by);
            }
            if let Some(curve) = &mut step.curve {
                curve.time_ns = divide(curve.time_ns, by);
            }
            let streams = step.job.streams.iter_mut();
            let streams = streams.map(|stream| &mut stream.job.until);
            for until in std::iter::once(&mut step.job.until).chain(streams) {
                until.time_ns = until.time_ns.map(|ns| divide(ns, by));
                if step.kind != StepKind::Purge {
                    until.region_multiple = until
                        .region_multiple
                        .map(|multiple| multiple / quick.divide_volumes_by);
                }
            }
        }
        method
    }
}
