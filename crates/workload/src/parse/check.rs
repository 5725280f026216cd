//! Whether a job and a method make sense, whatever form they were written in. A fault names the place
//! by its dotted path in the written form, which the caller turns into a line.

use super::Refusal;
use super::tree::Node;
use crate::{
    Block, Curve, Extent, Job, Load, Method, Op, Pattern, Split, Step, StepKind, Until, Verify,
};

const SCHEMA: &str = "fathom-method/1";
const THREADS_MAX: u32 = 1024;
const IODEPTH_MAX: u32 = 65_536;
const BLOCK_BYTES_MAX: u32 = 1 << 30;
const ALIGN_BYTES_MAX: u64 = 1 << 40;
const SIZES_MAX: usize = 64;
const BANDS_MAX: usize = 64;
const WORKLOADS_MAX: usize = 64;
const ZONES_MAX: u32 = 65_536;
const VERIFY_UNIT_BYTES: u32 = 512;
const THETA_MAX: f64 = 10.0;
const RATE_IOPS_MAX: f64 = 1e9;
const PHASES_MAX: usize = 1000;
const PHASE_NS_MIN: u64 = 1_000_000;
const SHARES_MAX: usize = 1024;
const STREAMS_MAX: u32 = 4096;
const POINTS_MAX: usize = 100;
const SHARE_MAX: f64 = 10.0;
const BISECTIONS_MAX: u32 = 20;

#[derive(Debug)]
pub(super) struct Fault {
    path: String,
    message: String,
}

impl Fault {
    /// The refusal at this fault's line in `document`.
    pub fn at(self, document: &Node) -> Refusal {
        Refusal {
            line: document.line_of(&self.path),
            message: self.message,
        }
    }

    fn below(self, parent: &str) -> Self {
        Self {
            path: format!("{parent}.{}", self.path),
            ..self
        }
    }
}

type Checked = Result<(), Fault>;

fn ensure(holds: bool, path: &str, message: impl FnOnce() -> String) -> Checked {
    match holds {
        true => Ok(()),
        false => Err(Fault {
            path: path.to_owned(),
            message: message(),
        }),
    }
}

pub(super) fn method(method: &Method) -> Checked {
    ensure(method.schema == SCHEMA, "schema", || {
        format!("schema is {:?}, expected {SCHEMA:?}", method.schema)
    })?;
    name(&method.name, "name")?;
    if let Some(quick) = method.quick {
        for (key, factor) in [
            ("divide_times_by", quick.divide_times_by),
            ("divide_preconditioning_by", quick.divide_preconditioning_by),
            ("divide_volumes_by", quick.divide_volumes_by),
        ] {
            ensure(
                factor >= 1.0 && factor.is_finite(),
                &format!("quick.{key}"),
                || format!("{key} is {factor}, expected 1 or more"),
            )?;
        }
    }
    ensure(!method.steps.is_empty(), "steps", || {
        "a method needs at least one step".to_owned()
    })?;
    for (index, step) in method.steps.iter().enumerate() {
        let at = format!("steps.{index}");
        check_step(step).map_err(|fault| fault.below(&at))?;
        let earlier = method.steps[..index]
            .iter()
            .any(|other| other.name == step.name);
        ensure(!earlier, &format!("{at}.name"), || {
            format!(
                "step name {:?} is used twice: names must be unique",
                step.name
            )
        })?;
    }
    Ok(())
}

fn name(name: &str, path: &str) -> Checked {
    parse_name(name).map(drop).map_err(|message| Fault {
        path: path.to_owned(),
        message,
    })
}

/// Lower-case letters, digits, dashes and dots.
pub(super) fn parse_name(name: &str) -> Result<String, String> {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    let starts_well = name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    match starts_well && name.chars().all(allowed) {
        true => Ok(name.to_owned()),
        false => Err(format!(
            "name {name:?} is not of the form 4k-rand-read: lower-case letters, digits, dashes"
        )),
    }
}

fn check_step(step: &Step) -> Checked {
    name(&step.name, "name")?;
    name(&step.workload, "workload")?;
    job(&step.job).map_err(|fault| fault.below("job"))?;
    let until = &step.job.until;
    match step.kind {
        StepKind::Fill => {
            ensure(only(&step.job, Op::Write), "job.mix", || {
                "a fill step only writes: set mix = \"write\"".to_owned()
            })?;
            let volume = until.bytes.is_some() || until.region_multiple.is_some();
            ensure(volume, "job.until", || {
                "a fill step ends by volume: set until = { written = \"1x\" }".to_owned()
            })?;
        }
        StepKind::Precondition => {
            let Some(steady) = step.steady else {
                let message = || {
                    "a precondition step needs `steady`, such as steady = { round = \"1min\" }"
                        .to_owned()
                };
                return ensure(false, "kind", message);
            };
            ensure(steady.window >= 2, "steady.window", || {
                format!("window is {}, expected 2 rounds or more", steady.window)
            })?;
            ensure(steady.round_ns > 0, "steady.round", || {
                "round is 0".to_owned()
            })?;
            for (path, limit) in [
                ("steady.range", steady.range),
                ("steady.slope", steady.slope),
            ] {
                ensure(limit > 0.0 && limit <= 1.0, path, || {
                    format!("{path} is {limit}, expected more than 0% and at most 100%")
                })?;
            }
            let least_ns = steady.round_ns.saturating_mul(u64::from(steady.window));
            ensure(
                until.time_ns.is_some_and(|most_ns| most_ns >= least_ns),
                "job.until",
                || {
                    let least_s = least_ns as f64 / 1e9;
                    format!(
                        "a precondition step needs until.time of at least round x window = {least_s} s, the time at which it gives up"
                    )
                },
            )?;
        }
        StepKind::Purge => {
            ensure(only(&step.job, Op::Trim), "job.mix", || {
                "a purge deallocates the target: leave out its job, or set mix = \"trim\""
                    .to_owned()
            })?;
        }
        StepKind::Idle => {
            ensure(until.time_ns.is_some(), "kind", || {
                "an idle step needs `time`, such as time = \"30s\"".to_owned()
            })?;
        }
        StepKind::Measure => {}
        StepKind::Curve => {
            let closed = matches!(step.job.load, Load::Closed { .. });
            ensure(closed, "job.load.rate", || {
                "a curve measures its own maximum and takes its rates from it: leave out the rate"
                    .to_owned()
            })?;
            ensure(step.job.pace.think_ns == 0, "job.load.think", || {
                "a curve measures at rates, without pauses: leave out think".to_owned()
            })?;
            ensure(step.job.streams.is_empty(), "job.streams", || {
                "a curve varies the rate of one workload: give it a job without streams".to_owned()
            })?;
            let Some(curve) = &step.curve else {
                let message =
                    || "a curve step needs `curve`, such as curve = { time = \"30s\" }".to_owned();
                return ensure(false, "kind", message);
            };
            check_curve(curve).map_err(|fault| fault.below("curve"))?;
        }
    }
    ensure(
        step.curve.is_none() || step.kind == StepKind::Curve,
        "curve",
        || "`curve` belongs to a curve step: set kind = \"curve\"".to_owned(),
    )?;
    if let Some(round) = &step.round {
        ensure(
            round.window >= 2 && round.window <= round.most,
            "round.window",
            || {
                format!(
                    "window is {} of at most {} rounds, expected 2 or more of them",
                    round.window, round.most
                )
            },
        )?;
    }
    let misplaced = step.steady.is_some() && step.kind != StepKind::Precondition;
    ensure(!misplaced, "steady", || {
        "`steady` belongs to a precondition step".to_owned()
    })
}

fn check_curve(curve: &Curve) -> Checked {
    let count = curve.points.len();
    ensure((1..=POINTS_MAX).contains(&count), "points", || {
        format!("points has {count} entries, expected 1 to {POINTS_MAX}")
    })?;
    let mut below = 0.0;
    for (index, &share) in curve.points.iter().enumerate() {
        let path = format!("points.{index}");
        ensure(share > below && share <= SHARE_MAX, &path, || {
            format!(
                "point {}% follows {}%: expected ascending percentages above 0% and up to {}%",
                percent(share),
                percent(below),
                percent(SHARE_MAX)
            )
        })?;
        below = share;
    }
    ensure(curve.time_ns > 0, "time", || "time is 0".to_owned())?;
    let Some(slo) = curve.slo else { return Ok(()) };
    ensure(slo.p99_ns > 0, "slo.p99", || "p99 is 0".to_owned())?;
    ensure(
        (1..=BISECTIONS_MAX).contains(&slo.steps),
        "slo.steps",
        || format!("steps is {}, expected 1 to {BISECTIONS_MAX}", slo.steps),
    )
}

/// A fraction in percent, to four decimals.
fn percent(fraction: f64) -> f64 {
    (fraction * 1e6).round() / 1e4
}

pub(super) fn job(job: &Job) -> Checked {
    if !job.streams.is_empty() {
        return streams(job);
    }
    ensure(!job.mix.ops.is_empty(), "mix", || {
        "the mix has no operation".to_owned()
    })?;
    job.mix.ops.iter().try_for_each(block)?;
    pattern(&job.pattern)?;
    places(job)?;
    region(job)?;
    let align_bytes = job.align_bytes.unwrap_or(1);
    ensure(
        (1..=ALIGN_BYTES_MAX).contains(&align_bytes),
        "align",
        || format!("align is {align_bytes}, expected up to 1TiB"),
    )?;
    let compressible = job.content.compressible;
    ensure(
        (0.0..=1.0).contains(&compressible),
        "content.compressible",
        || format!("compressible is {compressible}, expected 0% to 100%"),
    )?;
    let dedup = job.content.dedup;
    ensure((0.0..=1.0).contains(&dedup), "content.dedup", || {
        format!("dedup is {dedup}, expected 0% to 100%")
    })?;
    ensure(
        dedup == 0.0 || job.content.verify.is_none(),
        "content.dedup",
        || "verify makes every sector differ from every other: leave out dedup".to_owned(),
    )?;
    verify(job)?;
    journal(job)?;
    load(&job.load)?;
    pace(job)?;
    ensure(job.errors.stuck_ns > 0, "errors.stuck", || {
        "stuck is 0, expected the longest time that an I/O may take".to_owned()
    })?;
    until(job)
}

/// Patterns that only make sense with blocks of certain sizes.
fn places(job: &Job) -> Checked {
    let sizes = || job.mix.ops.iter().flat_map(|block| &block.sizes);
    let largest = sizes().map(|size| size.size_bytes).max().unwrap_or(0);
    match job.pattern {
        Pattern::RandomOnce => ensure(
            sizes().all(|size| size.size_bytes == largest),
            "block",
            || "random-once visits blocks of one size: give all operations the same".to_owned(),
        ),
        Pattern::Strided { stride_bytes } => {
            ensure(
                stride_bytes >= u64::from(largest) && stride_bytes <= ALIGN_BYTES_MAX,
                "pattern.stride",
                || {
                    format!(
                        "stride is {stride_bytes} bytes, expected a block ({largest} bytes) to 1TiB"
                    )
                },
            )?;
            ensure(job.align_bytes.is_none(), "align", || {
                "the stride sets where requests start: leave out align".to_owned()
            })
        }
        _ => Ok(()),
    }
}

/// The journal tells which sealed blocks must be there.
fn journal(job: &Job) -> Checked {
    let Some(directory) = &job.journal else {
        return Ok(());
    };
    ensure(!directory.is_empty(), "journal", || {
        "journal is empty, expected a directory on another device than the target".to_owned()
    })?;
    let writes = job.mix.ops.iter().any(|block| block.op == Op::Write);
    ensure(writes && job.content.verify.is_some(), "journal", || {
        "a journal is of writes that describe themselves: set content = { verify = 1 }".to_owned()
    })?;
    let only_writes = |op| matches!(op, Op::Read | Op::Write | Op::Flush);
    ensure(
        job.mix.ops.iter().all(|block| only_writes(block.op)),
        "journal",
        || "a journal follows reads, writes and flushes only".to_owned(),
    )
}

fn pace(job: &Job) -> Checked {
    if let Split::Shares(shares) = &job.pace.split {
        let count = shares.len();
        ensure((1..=SHARES_MAX).contains(&count), "load.split", || {
            format!("split has {count} shares, expected one for each target, up to {SHARES_MAX}")
        })?;
        shares
            .iter()
            .try_for_each(|&share| weight(share, "load.split", "share"))?;
    }
    let open = matches!(job.load, Load::Open { .. });
    ensure(job.pace.think_ns == 0 || !open, "load.think", || {
        "think belongs to a closed load, which waits for completions: leave out the rate".to_owned()
    })?;
    let reap = job.pace.reap;
    ensure(reap == 0 || !open, "load.reap", || {
        "reap belongs to a closed load: an open one looks at each completion".to_owned()
    })?;
    let iodepth = job.load.iodepth();
    ensure(reap <= iodepth, "load.reap", || {
        format!(
            "reap is {reap} with iodepth {iodepth}: no more can be waited for than are in flight"
        )
    })?;
    let phases = &job.pace.rates;
    ensure(phases.is_empty() || open, "load.rate", || {
        "rates belong to an open load".to_owned()
    })?;
    ensure(phases.len() <= PHASES_MAX, "load.rate", || {
        format!(
            "rate has {} phases, expected up to {PHASES_MAX}",
            phases.len()
        )
    })?;
    for (index, phase) in phases.iter().enumerate() {
        let path = format!("load.rate.{index}");
        ensure(phase.time_ns >= PHASE_NS_MIN, &path, || {
            "time is below 1ms, the shortest phase".to_owned()
        })?;
        let fits = |rate: f64| (0.0..=RATE_IOPS_MAX).contains(&rate);
        ensure(fits(phase.from_iops) && fits(phase.to_iops), &path, || {
            "rate is beyond 1000M/s".to_owned()
        })?;
    }
    Ok(())
}

/// Streams end together, so only by time: how fast each moves its bytes is what the run shall tell.
fn streams(whole: &Job) -> Checked {
    let count = whole.streams.len();
    ensure(count <= WORKLOADS_MAX, "streams", || {
        format!("streams has {count} entries, expected 1 to {WORKLOADS_MAX}")
    })?;
    for (index, stream) in whole.streams.iter().enumerate() {
        let at = format!("streams.{index}");
        name(&stream.name, "name").map_err(|fault| fault.below(&at))?;
        let earlier = whole.streams[..index].iter();
        let twice = earlier.clone().any(|other| other.name == stream.name);
        ensure(!twice, &format!("{at}.name"), || {
            format!(
                "stream name {:?} is used twice: names must be unique",
                stream.name
            )
        })?;
        ensure(stream.job.streams.is_empty(), &at, || {
            "a stream is one workload and has no streams of its own".to_owned()
        })?;
        let zoned = matches!(stream.job.pattern, Pattern::Zones { .. });
        ensure(!zoned, &format!("{at}.pattern"), || {
            "streams cannot share zones: use pattern zones in a job of its own".to_owned()
        })?;
        job(&stream.job).map_err(|fault| fault.below(&at))?;
    }
    load(&whole.load)?;
    let threads: u64 = whole
        .streams
        .iter()
        .map(|stream| u64::from(stream.job.load.threads()))
        .sum();
    ensure(
        threads == u64::from(whole.load.threads()),
        "load.threads",
        || {
            format!(
                "threads is {}, but the streams have {threads}",
                whole.load.threads()
            )
        },
    )?;
    let Until {
        time_ns,
        bytes,
        region_multiple,
        count,
    } = whole.until;
    let only_time =
        time_ns.is_some() && bytes.is_none() && region_multiple.is_none() && count.is_none();
    ensure(only_time, "until", || {
        "streams run side by side until a time: set until = { time = \"60s\" }".to_owned()
    })
}

/// What describes itself sector by sector is whole sectors, and knows its place before it is written.
fn verify(job: &Job) -> Checked {
    let Some(Verify { generation, .. }) = job.content.verify else {
        return Ok(());
    };
    let path = "content.verify";
    ensure(generation > 0, path, || {
        "generation is 0, expected 1 or more".to_owned()
    })?;
    let blocks = || job.mix.ops.iter();
    let mut sizes = blocks().flat_map(|block| &block.sizes);
    let whole = sizes.all(|size| size.size_bytes % VERIFY_UNIT_BYTES == 0);
    ensure(whole, path, || {
        format!("verify needs blocks that are multiples of {VERIFY_UNIT_BYTES} bytes")
    })?;
    ensure(blocks().all(|block| block.op != Op::Append), path, || {
        "verify needs to know where a block goes, which append does not tell: use write".to_owned()
    })
}

fn only(job: &Job, op: Op) -> bool {
    job.mix.ops.iter().all(|block| block.op == op)
}

fn weight(value: f64, path: &str, what: &str) -> Checked {
    ensure(value > 0.0 && value.is_finite(), path, || {
        format!("{what} is {value}, expected a number above 0")
    })
}

fn block(block: &Block) -> Checked {
    let op = block.op.name();
    weight(
        block.weight,
        &format!("mix.{op}"),
        &format!("the weight of {op}"),
    )?;
    if block.op == Op::Flush {
        return ensure(block.sizes.is_empty(), "block", || {
            "a flush has no block size".to_owned()
        });
    }
    let path = format!("block.{op}");
    let count = block.sizes.len();
    ensure((1..=SIZES_MAX).contains(&count), &path, || {
        format!("{op} has {count} block sizes, expected 1 to {SIZES_MAX}")
    })?;
    for size in &block.sizes {
        ensure(
            (1..=BLOCK_BYTES_MAX).contains(&size.size_bytes),
            &path,
            || {
                format!(
                    "block size is {} bytes, expected up to 1GiB",
                    size.size_bytes
                )
            },
        )?;
        weight(size.weight, &path, "share")?;
    }
    Ok(())
}

fn pattern(pattern: &Pattern) -> Checked {
    match pattern {
        Pattern::Sequential
        | Pattern::Backwards
        | Pattern::Uniform
        | Pattern::RandomOnce
        | Pattern::Strided { .. } => Ok(()),
        Pattern::SequentialStreams { streams } => ensure(
            (1..=STREAMS_MAX).contains(streams),
            "pattern.sequential",
            || format!("sequential is {streams}, expected 1 to {STREAMS_MAX} streams per thread"),
        ),
        Pattern::Zones { open } => ensure((1..=ZONES_MAX).contains(open), "pattern.zones", || {
            format!("zones is {open}, expected 1 to {ZONES_MAX} open zones per thread")
        }),
        Pattern::Mixed { read, write } => ensure(
            [read, write]
                .iter()
                .all(|share| (0.0..=1.0).contains(*share)),
            "pattern.random",
            || format!("random shares are {read} and {write}, expected 0% to 100%"),
        ),
        Pattern::Zipf { theta } => {
            ensure(*theta > 0.0 && *theta <= THETA_MAX, "pattern.zipf", || {
                format!(
                    "zipf is {theta}, expected a skew above 0 and up to {THETA_MAX}; \"uniform\" has no skew"
                )
            })
        }
        Pattern::Pareto { share } => ensure(*share > 0.0 && *share < 0.5, "pattern.pareto", || {
            format!(
                "pareto is {share}, expected a share above 0 and below 0.5, such as 0.2: a fifth of the blocks with four fifths of the accesses"
            )
        }),
        Pattern::HotSpots { bands } => {
            let path = "pattern.hot-spots";
            ensure((1..=BANDS_MAX).contains(&bands.len()), path, || {
                format!(
                    "hot-spots has {} bands, expected 1 to {BANDS_MAX}",
                    bands.len()
                )
            })?;
            for band in bands {
                weight(band.area, path, "area")?;
                ensure(band.access >= 0.0 && band.access.is_finite(), path, || {
                    format!("access is {}, expected 0 or more", band.access)
                })?;
            }
            let accesses: f64 = bands.iter().map(|band| band.access).sum();
            weight(accesses, path, "the sum of accesses")
        }
    }
}

fn region(job: &Job) -> Checked {
    let fraction = |extent| match extent {
        Extent::Fraction(fraction) => fraction,
        Extent::Bytes(_) | Extent::UpTo(_) => 0.0,
    };
    let (start, size) = (fraction(job.region.start), fraction(job.region.size));
    let inside = start >= 0.0 && size >= 0.0 && start + size <= 1.0 + 1e-12;
    ensure(inside, "region", || {
        let (start, end) = (percent(start), percent(start + size));
        format!("region runs from {start}% to {end}%, expected to end at 100% or before")
    })?;
    let empty = matches!(job.region.size, Extent::Bytes(0) | Extent::UpTo(0))
        || job.region.size == Extent::Fraction(0.0);
    ensure(!empty, "region", || "region is empty".to_owned())?;
    let placed = !matches!(job.region.start, Extent::UpTo(_));
    ensure(placed, "region", || {
        "region starts at a place, not `up to` one".to_owned()
    })
}

fn load(load: &Load) -> Checked {
    let (threads, iodepth) = (load.threads(), load.iodepth());
    ensure((1..=THREADS_MAX).contains(&threads), "load.threads", || {
        format!("threads is {threads}, expected 1 to {THREADS_MAX}")
    })?;
    ensure((1..=IODEPTH_MAX).contains(&iodepth), "load.iodepth", || {
        format!("iodepth is {iodepth}, expected 1 to {IODEPTH_MAX}")
    })?;
    match *load {
        Load::Open { rate_iops, .. } => ensure(
            rate_iops > 0.0 && rate_iops <= RATE_IOPS_MAX,
            "load.rate",
            || format!("rate is {rate_iops}/s, expected more than 0/s and up to 1000M/s"),
        ),
        Load::Closed { .. } => Ok(()),
    }
}

fn until(job: &Job) -> Checked {
    let until = &job.until;
    let positive = [
        ("until.time", until.time_ns.map(|ns| ns > 0)),
        ("until.bytes", until.bytes.map(|bytes| bytes > 0)),
        ("until.count", until.count.map(|count| count > 0)),
        (
            "until.written",
            until
                .region_multiple
                .map(|multiple| multiple > 0.0 && multiple.is_finite()),
        ),
    ];
    ensure(
        positive.iter().any(|(_, given)| given.is_some()),
        "until",
        || "until needs at least one of time, bytes, written, count".to_owned(),
    )?;
    for (path, given) in positive {
        ensure(given != Some(false), path, || {
            format!("{path} is 0, expected more")
        })?;
    }
    let counts = only(job, Op::Write) || only(job, Op::Trim);
    ensure(
        until.region_multiple.is_none() || counts,
        "until.written",
        || {
            "written counts the writes of a job that only writes or trims; set time, bytes or count"
                .to_owned()
        },
    )?;
    let timeless = only(job, Op::Flush) && until.time_ns.is_none() && until.count.is_none();
    ensure(!timeless, "until", || {
        "flushes move no bytes: set time or count".to_owned()
    })
}
