//! Several workloads at once on one target: streams, each with I/O and load of its own. A job of streams is their sum:
//! its own fields say what they come to together. So code that asks a job what it writes, where, and with how many
//! threads need not know of streams. Requests come from the streams' own jobs.

use serde::{Deserialize, Serialize};

use crate::{
    Block, BlockShare, Content, Errors, Extent, Flow, Geometry, Job, Limits, Load, Mix, Op, Pace,
    Pattern, Position, Region, StreamError, Sync, Until,
};

/// One of the workloads that a job issues at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stream {
    /// By which its results are told apart; unique within the job.
    pub name: String,
    /// Its I/O, with threads of its own. It ends with the job, or sooner by what its `until` says beside the time.
    pub job: Job,
    /// Which targets of the job it runs on, counted from 1. Empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<u32>,
    /// Its part of the I/Os of all streams that keep step. `None`: it goes at its own pace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<Flow>,
    /// Whether all streams end as soon as one of its threads has had its part.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exitall: bool,
}

/// What one thread of a job does.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// The thread's I/O: the job itself, or that of its stream.
    pub job: &'a Job,
    /// Which stream it belongs to.
    pub stream: Option<usize>,
    /// Its number among the threads of `job`, from 0.
    pub thread: u32,
}

impl Job {
    /// Returns the job itself and those of its streams.
    pub fn workloads(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(self.streams.iter().map(|stream| &stream.job))
    }

    /// Returns the job that issues `streams` at once.
    #[must_use]
    pub fn of_streams(streams: Vec<Stream>, direct: bool, errors: Errors, until: Until) -> Self {
        let jobs = || streams.iter().map(|stream| &stream.job);
        Self {
            mix: mix_of(&streams),
            flush_every: 0,
            pattern: match jobs().all(|job| job.pattern == Pattern::Sequential) {
                true => Pattern::Sequential,
                false => Pattern::Uniform,
            },
            position: Position::default(),
            region: hull(jobs().map(|job| job.region)),
            files: streams.first().and_then(|stream| stream.job.files.clone()),
            align_bytes: None,
            content: Content::default(),
            placement: jobs()
                .flat_map(|job| job.placement.iter().copied())
                .collect(),
            priority: None,
            priority_shares: Vec::new(),
            direct,
            sync: Sync::None,
            sqpoll: false,
            huge_pages: false,
            gpu: false,
            load: load_of(&streams),
            pace: Pace::default(),
            errors,
            journal: None,
            until,
            exitall: false,
            streams,
        }
    }

    /// Whether a stream ends all of them when its volume is done.
    pub fn has_exitall(&self) -> bool {
        self.streams.iter().any(|stream| stream.exitall)
    }

    /// Whether a thread of a stream, or of a job without any, ends all of them when its part of the volume is done.
    pub fn exits_all(&self, stream: Option<usize>) -> bool {
        stream.map_or(self.exitall, |index| self.streams[index].exitall)
    }

    /// Every thread of the job in order: those of the first stream, then those of the next.
    pub fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        let whole = self.streams.is_empty().then_some((None, self));
        let streams = self.streams.iter().enumerate();
        whole
            .into_iter()
            .chain(streams.map(|(index, stream)| (Some(index), &stream.job)))
            .flat_map(|(stream, job)| {
                (0..job.load.threads()).map(move |thread| Part {
                    job,
                    stream,
                    thread,
                })
            })
    }

    /// Returns when thread `thread` ends. A stream's own volume is divided over its threads, in its own region; the time
    /// is the job's.
    ///
    /// # Errors
    /// The region does not fit on the target.
    pub fn thread_limits(&self, thread: u32, geometry: Geometry) -> Result<Limits, StreamError> {
        let part = self.part(thread);
        let limits = match &part.job.files {
            Some(set) => part.job.limits_in_files(set, part.thread),
            None => {
                let region_bytes = part.job.region.resolve(geometry)?.size_bytes;
                match part.job.pattern {
                    Pattern::Zones { .. } => part.job.limits_in_zones(part.thread, region_bytes),
                    _ => part.job.limits_of(part.thread, region_bytes),
                }
            }
        };
        Ok(Limits {
            time_ns: self.until.time_ns.unwrap_or(u64::MAX),
            ..limits
        })
    }

    /// Returns what thread `thread` does; the job's own threads only.
    pub fn part(&self, thread: u32) -> Part<'_> {
        self.parts().nth(thread as usize).unwrap_or(Part {
            job: self,
            stream: None,
            thread,
        })
    }
}

/// Returns every operation and block size of the streams, weighted by the I/O that they keep in flight. Only a run can
/// show the share that each has of the I/O done.
fn mix_of(streams: &[Stream]) -> Mix {
    let of_op = |op: Op| {
        let mut whole = Block {
            op,
            weight: 0.0,
            sizes: Vec::new(),
            align_bytes: None,
        };
        for Stream { job, .. } in streams {
            let in_flight = f64::from(job.load.threads()) * f64::from(job.load.iodepth());
            let all: f64 = job.mix.ops.iter().map(|block| block.weight).sum();
            for block in job.mix.ops.iter().filter(|block| block.op == op) {
                let weight = in_flight * block.weight / all;
                whole.weight += weight;
                add_sizes(&mut whole.sizes, &block.sizes, weight);
            }
        }
        (whole.weight > 0.0).then_some(whole)
    };
    Mix {
        ops: Op::ALL.into_iter().filter_map(of_op).collect(),
    }
}

fn add_sizes(into: &mut Vec<BlockShare>, sizes: &[BlockShare], weight: f64) {
    let all: f64 = sizes.iter().map(|size| size.weight).sum();
    for size in sizes {
        let share = weight * size.weight / all;
        match into
            .iter_mut()
            .find(|own| own.size_bytes == size.size_bytes)
        {
            Some(own) => own.weight += share,
            None => into.push(BlockShare {
                weight: share,
                ..*size
            }),
        }
    }
}

/// Returns the smallest region that holds all; the whole target where fractions and bytes cannot be compared.
fn hull(regions: impl Iterator<Item = Region> + Clone) -> Region {
    let whole = Region {
        start: Extent::Bytes(0),
        size: Extent::Fraction(1.0),
        part: None,
    };
    let fractions = regions.clone().map(|region| {
        let start = match region.start {
            Extent::Fraction(start) => start,
            Extent::Bytes(0) => 0.0,
            Extent::Bytes(_) | Extent::UpTo(_) => return None,
        };
        match region.size {
            Extent::Fraction(size) => Some((start, start + size)),
            Extent::Bytes(_) | Extent::UpTo(_) => None,
        }
    });
    if let Some(spans) = fractions.collect::<Option<Vec<_>>>() {
        let start = spans.iter().fold(1.0_f64, |least, span| least.min(span.0));
        let end = spans.iter().fold(0.0_f64, |most, span| most.max(span.1));
        return Region {
            start: Extent::Fraction(start),
            size: Extent::Fraction(end - start),
            part: None,
        };
    }
    let bytes = regions.map(|region| match (region.start, region.size) {
        (Extent::Bytes(start), Extent::Bytes(size)) => Some((start, start.saturating_add(size))),
        _ => None,
    });
    let Some(spans) = bytes.collect::<Option<Vec<_>>>() else {
        return whole;
    };
    let start = spans.iter().map(|span| span.0).min().unwrap_or(0);
    let end = spans.iter().map(|span| span.1).max().unwrap_or(0);
    Region {
        start: Extent::Bytes(start),
        size: Extent::Bytes(end - start),
        part: None,
    }
}

/// All threads together, at the deepest iodepth of any; open only where every stream is.
fn load_of(streams: &[Stream]) -> Load {
    let loads = || streams.iter().map(|stream| stream.job.load);
    let threads = loads().fold(0, |sum: u32, load| sum.saturating_add(load.threads()));
    let iodepth = loads().map(|load| load.iodepth()).max().unwrap_or(1);
    let rates = loads().map(|load| match load {
        Load::Open {
            rate_iops, arrival, ..
        } => Some((rate_iops, arrival)),
        Load::Closed { .. } => None,
    });
    match rates.collect::<Option<Vec<_>>>().as_deref() {
        Some(open @ [(_, arrival), ..]) => Load::Open {
            rate_iops: open.iter().map(|(rate_iops, _)| rate_iops).sum(),
            arrival: *arrival,
            threads,
            iodepth,
        },
        _ => Load::Closed { threads, iodepth },
    }
}
