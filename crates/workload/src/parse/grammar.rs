//! The grammar: what each key of a job and a method may hold, and its default. Values are only read
//! here; whether they make sense together is decided in `check`.

use super::Refusal;
use super::check;
use super::fields::Fields;
use super::tree::{Entry, Node, Value};
use crate::units::{
    parse_duration_ns, parse_multiple, parse_percent, parse_rate_iops, parse_share,
    parse_size_bytes,
};
use crate::{
    Arrival, Block, BlockShare, Content, Curve, Errors, Extent, FileSystem, HotBand, Job, Latency,
    Load, Method, Metric, Mix, Op, Pace, Pattern, Quick, RatePhase, Region, Request, Round, Slo,
    Split, Steady, Step, StepKind, Stream, Until, Verify,
};

type Result<T> = std::result::Result<T, Refusal>;

const METHOD_KEYS: [&str; 10] = [
    "schema",
    "name",
    "title",
    "summary",
    "source",
    "bench",
    "precision",
    "file_system",
    "quick",
    "steps",
];
const STEP_KEYS: [&str; 11] = [
    "name",
    "kind",
    "workload",
    "label",
    "published",
    "bench",
    "precision",
    "steady",
    "curve",
    "round",
    "job",
];
const JOB_KEYS: [&str; 15] = [
    "mix",
    "block",
    "pattern",
    "region",
    "align",
    "content",
    "placement",
    "direct",
    "sqpoll",
    "huge-pages",
    "load",
    "errors",
    "journal",
    "until",
    "streams",
];
/// Of one of several workloads; the job says when all end.
const STREAM_KEYS: [&str; 9] = [
    "name",
    "mix",
    "block",
    "pattern",
    "region",
    "align",
    "content",
    "placement",
    "load",
];
const FILE_SYSTEMS: [(&str, FileSystem); 3] = [
    ("btrfs", FileSystem::Btrfs),
    ("xfs", FileSystem::Xfs),
    ("ext4", FileSystem::Ext4),
];
const LOAD_KEYS: [&str; 7] = [
    "threads", "iodepth", "rate", "arrival", "think", "reap", "split",
];
const OPS: [(&str, Op); 6] = [
    ("read", Op::Read),
    ("write", Op::Write),
    ("trim", Op::Trim),
    ("flush", Op::Flush),
    ("write-zeroes", Op::WriteZeroes),
    ("append", Op::Append),
];
const ARRIVALS: [(&str, Arrival); 3] = [
    ("exponential", Arrival::Exponential),
    ("uniform", Arrival::Uniform),
    ("deterministic", Arrival::Deterministic),
];
const FOREIGN_ARRIVALS: [(&str, &str); 3] = [
    ("poisson", "exponential"),
    ("linear", "deterministic"),
    ("constant", "deterministic"),
];
const LATENCIES: [(&str, Latency); 2] = [
    ("service", Latency::Service),
    ("response", Latency::Response),
];
const FOREIGN_LATENCIES: [(&str, &str); 3] = [
    ("clat", "service"),
    ("lat", "response"),
    ("vdbench", "service"),
];
/// Points of a curve that lists none.
const POINTS: [f64; 12] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2];
const FOREIGN_OPS: [(&str, &str); 6] = [
    ("randread", "read"),
    ("randwrite", "write"),
    ("unmap", "trim"),
    ("discard", "trim"),
    ("deallocate", "trim"),
    ("fsync", "flush"),
];
const FOREIGN_PATTERNS: [(&str, &str); 12] = [
    ("norandommap", "uniform"),
    ("randommap", "random-once"),
    ("random-map", "random-once"),
    ("shuffle", "random-once"),
    ("reverse", "backwards"),
    ("backward", "backwards"),
    ("random", "uniform"),
    ("rand", "uniform"),
    ("randread", "uniform"),
    ("randwrite", "uniform"),
    ("read", "sequential"),
    ("write", "sequential"),
];

pub(super) fn method(node: &Node) -> Result<Method> {
    let fields = Fields::new(node, "the method", &METHOD_KEYS)?;
    let name = fields.text("name")?;
    let (bench, precision) = (bench(&fields)?, precision(&fields)?);
    let step = |node: &Node| {
        let step = step(node)?;
        Ok(Step {
            bench: step.bench.or_else(|| bench.clone()),
            precision: step.precision.or(precision),
            ..step
        })
    };
    Ok(Method {
        schema: fields.text("schema")?,
        title: fields.text_or("title", &name)?,
        summary: fields.text_or("summary", "")?,
        source: fields.text_or("source", "")?,
        file_system: fields
            .get("file_system")
            .map(|node| node.word("file_system", &FILE_SYSTEMS, &[]))
            .transpose()?,
        quick: fields.get("quick").map(quick).transpose()?,
        steps: fields
            .need("steps")?
            .list("steps")?
            .iter()
            .map(step)
            .collect::<Result<_>>()?,
        name,
    })
}

fn bench(fields: &Fields<'_>) -> Result<Option<String>> {
    fields.parsed("bench", check::parse_name)
}

fn precision(fields: &Fields<'_>) -> Result<Option<f64>> {
    fields.parsed("precision", |text| match parse_percent(text)? {
        share if share > 0.0 && share < 1.0 => Ok(share),
        _ => Err(format!("{text} is not above 0% and below 100%")),
    })
}

fn quick(node: &Node) -> Result<Quick> {
    let keys = [
        "divide_times_by",
        "divide_preconditioning_by",
        "divide_volumes_by",
    ];
    let fields = Fields::new(node, "quick", &keys)?;
    let factor = |key: &str| fields.get(key).map(|node| node.number(key)).transpose();
    let divide_times_by = fields.need(keys[0])?.number(keys[0])?;
    Ok(Quick {
        divide_times_by,
        divide_preconditioning_by: factor(keys[1])?.unwrap_or(divide_times_by),
        divide_volumes_by: factor(keys[2])?.unwrap_or(1.0),
    })
}

fn step(node: &Node) -> Result<Step> {
    let fields = Fields::new(node, "the step", &STEP_KEYS)?;
    let kinds = [
        ("fill", StepKind::Fill),
        ("purge", StepKind::Purge),
        ("idle", StepKind::Idle),
        ("precondition", StepKind::Precondition),
        ("measure", StepKind::Measure),
        ("curve", StepKind::Curve),
    ];
    let name = fields.text("name")?;
    let workload = fields.text_or("workload", &name)?;
    Ok(Step {
        kind: match fields.get("kind") {
            Some(node) => node.word("kind", &kinds, &[])?,
            None => StepKind::Measure,
        },
        label: fields.text_or("label", &workload)?,
        published: fields
            .get("published")
            .map(|node| node.text("published").map(str::to_owned))
            .transpose()?,
        bench: bench(&fields)?,
        precision: precision(&fields)?,
        steady: fields.get("steady").map(steady).transpose()?,
        curve: fields.get("curve").map(curve).transpose()?,
        round: fields.get("round").map(round).transpose()?,
        job: job(fields.need("job")?)?,
        workload,
        name,
    })
}

/// Defaults are those of SNIA SSS PTS 2.0.
fn steady(node: &Node) -> Result<Steady> {
    let fields = Fields::new(node, "steady", &["round", "window", "range", "slope"])?;
    Ok(Steady {
        round_ns: fields
            .parsed("round", parse_duration_ns)?
            .unwrap_or(60_000_000_000),
        window: fields.integer_or("window", 5)?,
        range: fields.parsed("range", parse_percent)?.unwrap_or(0.20),
        slope: fields.parsed("slope", parse_percent)?.unwrap_or(0.10),
    })
}

/// As `expand` writes it. Limits default to those of SNIA SSS PTS 2.0.
fn round(node: &Node) -> Result<Round> {
    let keys = [
        "of", "step", "number", "most", "window", "range", "slope", "track", "metric",
    ];
    let fields = Fields::new(node, "rounds", &keys)?;
    let metrics = [
        ("iops", Metric::Iops),
        ("mbps", Metric::Mbps),
        ("latency", Metric::Latency),
    ];
    Ok(Round {
        of: fields.text("of")?,
        step: fields.text("step")?,
        number: fields.need("number")?.integer("number")?,
        most: fields.need("most")?.integer("most")?,
        window: fields.integer_or("window", 5)?,
        range: fields.parsed("range", parse_percent)?.unwrap_or(0.20),
        slope: fields.parsed("slope", parse_percent)?.unwrap_or(0.10),
        track: fields
            .need("track")?
            .list("track")?
            .iter()
            .map(|name| name.text("track").map(str::to_owned))
            .collect::<Result<_>>()?,
        metric: fields
            .get("metric")
            .map_or(Ok(Metric::Iops), |node| node.word("metric", &metrics, &[]))?,
    })
}

fn curve(node: &Node) -> Result<Curve> {
    let keys = ["points", "time", "arrival", "latency", "slo"];
    let fields = Fields::new(node, "curve", &keys)?;
    let share = |node: &Node| node.parsed("points", parse_share);
    Ok(Curve {
        points: match fields.get("points") {
            Some(list) => list
                .list("points")?
                .iter()
                .map(share)
                .collect::<Result<_>>()?,
            None => POINTS.to_vec(),
        },
        time_ns: fields.need("time")?.parsed("time", parse_duration_ns)?,
        arrival: fields
            .get("arrival")
            .map_or(Ok(Arrival::Exponential), arrival_of)?,
        latency: fields
            .get("latency")
            .map_or(Ok(Latency::Response), |node| {
                node.word("latency", &LATENCIES, &FOREIGN_LATENCIES)
            })?,
        slo: fields.get("slo").map(slo).transpose()?,
    })
}

fn slo(node: &Node) -> Result<Slo> {
    let fields = Fields::new(node, "slo", &["p99", "steps"])?;
    Ok(Slo {
        p99_ns: fields.need("p99")?.parsed("p99", parse_duration_ns)?,
        steps: fields.integer_or("steps", 5)?,
    })
}

pub(super) fn job(node: &Node) -> Result<Job> {
    if let Some(streams) = node.get("streams") {
        return job_of_streams(node, streams);
    }
    let fields = Fields::new(node, "the job", &JOB_KEYS)?;
    workload(&fields, &Shared::of(&fields)?)
}

fn job_of_streams(node: &Node, streams: &Node) -> Result<Job> {
    let keys = [
        "streams",
        "direct",
        "sqpoll",
        "huge-pages",
        "errors",
        "until",
    ];
    let fields = Fields::new(node, "a job of streams", &keys)?;
    let shared = Shared::of(&fields)?;
    let stream = |node: &Node| {
        let fields = Fields::new(node, "the stream", &STREAM_KEYS)?;
        Ok(Stream {
            name: fields.text("name")?,
            job: workload(&fields, &shared)?,
        })
    };
    let streams = streams.list("streams")?.iter().map(stream);
    let streams = streams.collect::<Result<_>>()?;
    Ok(Job {
        sqpoll: shared.sqpoll,
        huge_pages: shared.huge_pages,
        ..Job::of_streams(streams, shared.direct, shared.errors, shared.until)
    })
}

/// What the streams of a job have in common.
struct Shared {
    direct: bool,
    sqpoll: bool,
    huge_pages: bool,
    errors: Errors,
    until: Until,
}

impl Shared {
    fn of(fields: &Fields<'_>) -> Result<Self> {
        let flag = |key, otherwise| {
            let node = fields.get(key);
            node.map_or(Ok(otherwise), |node| node.flag(key))
        };
        Ok(Self {
            direct: flag("direct", true)?,
            sqpoll: flag("sqpoll", false)?,
            huge_pages: flag("huge-pages", false)?,
            errors: fields.get("errors").map_or(Ok(Errors::default()), errors)?,
            until: until(fields.need("until")?)?,
        })
    }
}

fn workload(fields: &Fields<'_>, shared: &Shared) -> Result<Job> {
    Ok(Job {
        mix: mix(fields)?,
        pattern: pattern(fields.need("pattern")?)?,
        region: fields.get("region").map_or(
            Ok(Region {
                start: Extent::Bytes(0),
                size: Extent::Fraction(1.0),
            }),
            region,
        )?,
        align_bytes: fields.parsed("align", parse_size_bytes)?,
        content: fields
            .get("content")
            .map_or(Ok(Content::default()), content)?,
        placement: fields.get("placement").map_or(Ok(Vec::new()), placement)?,
        direct: shared.direct,
        sqpoll: shared.sqpoll,
        huge_pages: shared.huge_pages,
        load: load(fields.need("load")?)?,
        pace: pace(fields.need("load")?)?,
        errors: shared.errors,
        journal: fields
            .get("journal")
            .map(|node| node.text("journal").map(str::to_owned))
            .transpose()?,
        until: shared.until,
        streams: Vec::new(),
    })
}

/// `mix` and `block` together. Operations come in the order of [`Op::ALL`] however they were
/// written, so that TOML and JSON give the same request stream.
fn mix(fields: &Fields) -> Result<Mix> {
    let node = fields.need("mix")?;
    let mut weights: Vec<(Op, f64)> = match &node.value {
        Value::Text(_) => vec![(node.word("mix", &OPS, &FOREIGN_OPS)?, 1.0)],
        Value::Table(entries) if !entries.is_empty() => {
            let weight = |entry: &Entry| {
                let op = entry.node.choose("mix", &entry.key, &OPS, &FOREIGN_OPS)?;
                Ok((op, entry.node.number(&entry.key)?))
            };
            entries.iter().map(weight).collect::<Result<_>>()?
        }
        _ => return Err(node.refuse("mix", "an operation or { read = 70, write = 30 }")),
    };
    weights.sort_by_key(|(op, _)| *op);
    let moves_data = weights.iter().any(|(op, _)| *op != Op::Flush);
    let block = match moves_data {
        true => Some(fields.need("block")?),
        false => fields.get("block"),
    };
    if let Some(block) = block {
        check_block_keys(block, &weights)?;
    }
    let ops = weights.into_iter().map(|(op, weight)| {
        let sizes = match (block, op) {
            (Some(block), op) if op != Op::Flush => sizes_of(block, op)?,
            _ => Vec::new(),
        };
        Ok(Block { op, weight, sizes })
    });
    Ok(Mix {
        ops: ops.collect::<Result<_>>()?,
    })
}

/// Block sizes per operation may only name operations of the mix.
fn check_block_keys(block: &Node, weights: &[(Op, f64)]) -> Result<()> {
    let Value::Table(entries) = &block.value else {
        return Ok(());
    };
    for entry in entries {
        let op = entry.node.choose("block", &entry.key, &OPS, &FOREIGN_OPS)?;
        if op == Op::Flush || !weights.iter().any(|(in_mix, _)| *in_mix == op) {
            let message = format!(
                "block gives sizes for `{}`, which the mix does not issue with data",
                entry.key
            );
            return Err(entry.node.fault(message));
        }
    }
    Ok(())
}

/// The sizes of one operation: from a table per operation, or the same for all.
fn sizes_of(block: &Node, op: Op) -> Result<Vec<BlockShare>> {
    let node = match &block.value {
        Value::Table(_) => block.get(op.name()).ok_or_else(|| {
            block.fault(format!(
                "block gives no size for `{}`, which is in the mix",
                op.name()
            ))
        })?,
        _ => block,
    };
    let size = |node: &Node| {
        let bytes = node.parsed("block", parse_size_bytes)?;
        u32::try_from(bytes).map_err(|_| node.refuse("block", "less than 4GiB"))
    };
    let Value::List(_) = node.value else {
        return Ok(vec![BlockShare {
            size_bytes: size(node)?,
            weight: 1.0,
        }]);
    };
    let shares = node.list("block")?.iter().map(|item| {
        let fields = Fields::new(item, "block", &["size", "share"])?;
        Ok(BlockShare {
            size_bytes: size(fields.need("size")?)?,
            weight: fields.need("share")?.number("share")?,
        })
    });
    shares.collect()
}

fn pattern(node: &Node) -> Result<Pattern> {
    const TABLES: [(&str, &str); 7] = [
        ("zipf", "{ zipf = 0.99 }"),
        ("hot-spots", "{ hot-spots = [{ area = 10, access = 90 }] }"),
        ("random", "{ random = \"80%\" }"),
        ("sequential", "{ sequential = 4 }"),
        ("stride", "{ stride = \"1MiB\" }"),
        ("zones", "{ zones = 4 }"),
        ("pareto", "{ pareto = 0.2 }"),
    ];
    const FOREIGN_TABLES: [(&str, &str); 2] = [("mixed", "random"), ("strided", "stride")];
    if let Value::Table(entries) = &node.value {
        let keys = TABLES.map(|(key, _)| key);
        let fields = Fields::new(node, "pattern", &keys)?;
        let [
            Entry {
                key, node: value, ..
            },
        ] = &entries[..]
        else {
            return Err(node.fault(format!("pattern needs one of {}", keys.join(", "))));
        };
        return match key.as_str() {
            "zipf" => Ok(Pattern::Zipf {
                theta: value.number(key)?,
            }),
            "pareto" => Ok(Pattern::Pareto {
                share: value.number(key)?,
            }),
            "hot-spots" => hot_spots(value),
            "random" => mixed(value),
            "sequential" => Ok(Pattern::SequentialStreams {
                streams: value.integer(key)?,
            }),
            "stride" => Ok(Pattern::Strided {
                stride_bytes: value.parsed(key, parse_size_bytes)?,
            }),
            _ => Ok(Pattern::Zones {
                open: fields.integer_or("zones", 1)?,
            }),
        };
    }
    let words = [
        ("sequential", Pattern::Sequential),
        ("backwards", Pattern::Backwards),
        ("uniform", Pattern::Uniform),
        ("random-once", Pattern::RandomOnce),
    ];
    if let Value::Text(text) = &node.value {
        let here = FOREIGN_TABLES.iter().find(|(word, _)| word == text);
        let key = here.map_or(text.as_str(), |(_, key)| key);
        // "sequential" is a pattern by itself, and "random" alone is fio's word for what is "uniform" here.
        let alone = ["sequential", "random"].contains(&text.as_str());
        let table = TABLES.iter().find(|(table, _)| *table == key && !alone);
        if let Some((_, example)) = table {
            return Err(node.refuse("pattern", example));
        }
    }
    node.word("pattern", &words, &FOREIGN_PATTERNS)
}

/// One share of random requests for all operations, or one for reads and one for the others.
fn mixed(node: &Node) -> Result<Pattern> {
    if !matches!(node.value, Value::Table(_)) {
        let share = node.parsed("random", parse_percent)?;
        return Ok(Pattern::Mixed {
            read: share,
            write: share,
        });
    }
    let fields = Fields::new(node, "random", &["read", "write"])?;
    let share = |key: &str| fields.need(key)?.parsed(key, parse_percent);
    Ok(Pattern::Mixed {
        read: share("read")?,
        write: share("write")?,
    })
}

/// Bands in percent. What they leave of space and accesses forms a last band.
fn hot_spots(node: &Node) -> Result<Pattern> {
    let band = |item: &Node| {
        let fields = Fields::new(item, "hot-spots", &["area", "access"])?;
        Ok(HotBand {
            area: fields.need("area")?.number("area")?,
            access: fields.need("access")?.number("access")?,
        })
    };
    let mut bands = node
        .list("hot-spots")?
        .iter()
        .map(band)
        .collect::<Result<Vec<_>>>()?;
    let area: f64 = bands.iter().map(|band| band.area).sum();
    let access: f64 = bands.iter().map(|band| band.access).sum();
    let (area_left, access_left) = (100.0 - area, 100.0 - access);
    let tolerance = 1e-9;
    if area_left < -tolerance || access_left < -tolerance {
        return Err(node.fault(format!(
            "hot-spots: areas add up to {area}% and accesses to {access}%, expected at most 100% each"
        )));
    }
    if area_left > tolerance {
        bands.push(HotBand {
            area: area_left,
            access: access_left.max(0.0),
        });
    } else if access_left > tolerance {
        return Err(node.fault(format!(
            "hot-spots: the areas cover everything, but only {access}% of the accesses are given"
        )));
    }
    Ok(Pattern::HotSpots { bands })
}

fn region(node: &Node) -> Result<Region> {
    if !matches!(node.value, Value::Table(_)) {
        return Ok(Region {
            start: Extent::Bytes(0),
            size: node.parsed("region", length)?,
        });
    }
    let fields = Fields::new(node, "region", &["start", "size"])?;
    let start = fields.parsed("start", extent)?.unwrap_or(Extent::Bytes(0));
    let size = match (fields.parsed("size", length)?, start) {
        (Some(size), _) => size,
        (None, Extent::Fraction(start)) => Extent::Fraction(1.0 - start),
        (None, Extent::Bytes(0)) => Extent::Fraction(1.0),
        (None, Extent::Bytes(_) | Extent::UpTo(_)) => {
            return Err(node.fault("a region that starts at a byte needs a size".to_owned()));
        }
    };
    Ok(Region { start, size })
}

fn extent(text: &str) -> std::result::Result<Extent, String> {
    match text.trim_end().ends_with('%') {
        true => parse_percent(text).map(Extent::Fraction),
        false => parse_size_bytes(text).map(Extent::Bytes),
    }
}

fn length(text: &str) -> std::result::Result<Extent, String> {
    match text.trim_start().strip_prefix("up to ") {
        Some(most) => parse_size_bytes(most).map(Extent::UpTo),
        None => extent(text),
    }
}

fn content(node: &Node) -> Result<Content> {
    let fields = Fields::new(node, "content", &["compressible", "dedup", "verify"])?;
    let share = |key| Ok(fields.parsed(key, parse_percent)?.unwrap_or(0.0));
    Ok(Content {
        compressible: share("compressible")?,
        dedup: share("dedup")?,
        verify: fields.get("verify").map(verify).transpose()?,
    })
}

/// A generation, or a table that names the seed too.
fn verify(node: &Node) -> Result<Verify> {
    if let Value::Integer(_) = node.value {
        let generation = node.integer("verify")?;
        return Ok(Verify {
            generation,
            seed: 0,
        });
    }
    let fields = Fields::new(node, "verify", &["generation", "seed"])?;
    Ok(Verify {
        generation: fields.integer_or("generation", 1)?,
        seed: fields.integer_or("seed", 0)?,
    })
}

fn placement(node: &Node) -> Result<Vec<u16>> {
    let handle = |node: &Node| match node.integer("placement")? {
        Request::NO_PLACEMENT => Err(node.refuse("placement", "a whole number below 65535")),
        handle => Ok(handle),
    };
    match node.value {
        Value::List(_) => node.list("placement")?.iter().map(handle).collect(),
        _ => Ok(vec![handle(node)?]),
    }
}

fn load(node: &Node) -> Result<Load> {
    let fields = Fields::new(node, "load", &LOAD_KEYS)?;
    let threads = fields.integer_or("threads", 1)?;
    let phases = rates(&fields)?;
    let rate_iops = match &phases[..] {
        [] => fields.parsed("rate", parse_rate_iops)?,
        phases => Some(mean_rate_iops(phases)),
    };
    match (rate_iops, fields.get("arrival")) {
        (Some(rate_iops), arrival) => Ok(Load::Open {
            rate_iops,
            arrival: arrival.map_or(Ok(Arrival::Exponential), arrival_of)?,
            threads,
            iodepth: fields.need("iodepth")?.integer("iodepth")?,
        }),
        (None, Some(arrival)) => {
            Err(arrival.fault("arrival needs a rate, such as rate = \"100000/s\"".to_owned()))
        }
        (None, None) => Ok(Load::Closed {
            threads,
            iodepth: fields.integer_or("iodepth", 1)?,
        }),
    }
}

fn pace(node: &Node) -> Result<Pace> {
    let fields = Fields::new(node, "load", &LOAD_KEYS)?;
    Ok(Pace {
        think_ns: fields.parsed("think", parse_duration_ns)?.unwrap_or(0),
        reap: fields.integer_or("reap", 0)?,
        rates: rates(&fields)?,
        split: fields.get("split").map_or(Ok(Split::Each), split)?,
    })
}

/// Equal parts, or a share for each target.
fn split(node: &Node) -> Result<Split> {
    match node.value {
        Value::List(_) => {
            let shares = node
                .list("split")?
                .iter()
                .map(|share| share.number("split"));
            Ok(Split::Shares(shares.collect::<Result<_>>()?))
        }
        _ => node.word(
            "split",
            &[("even", Split::Even), ("each", Split::Each)],
            &[],
        ),
    }
}

/// The phases of a schedule; none where the rate is constant.
fn rates(fields: &Fields) -> Result<Vec<RatePhase>> {
    let Some(node) = fields.get("rate") else {
        return Ok(Vec::new());
    };
    let Value::List(_) = node.value else {
        return Ok(Vec::new());
    };
    let phase = |item: &Node| {
        let fields = Fields::new(item, "rate", &["rate", "to", "time"])?;
        let from_iops = fields.need("rate")?.parsed("rate", parse_rate_iops)?;
        Ok(RatePhase {
            time_ns: fields.need("time")?.parsed("time", parse_duration_ns)?,
            from_iops,
            to_iops: fields.parsed("to", parse_rate_iops)?.unwrap_or(from_iops),
        })
    };
    node.list("rate")?.iter().map(phase).collect()
}

/// Of one pass through a schedule.
fn mean_rate_iops(phases: &[RatePhase]) -> f64 {
    let (mut arrivals, mut time_ns) = (0.0, 0.0);
    for phase in phases {
        arrivals += 0.5 * (phase.from_iops + phase.to_iops) * phase.time_ns as f64;
        time_ns += phase.time_ns as f64;
    }
    arrivals / f64::max(time_ns, 1.0)
}

/// A policy, the most failures that are put up with, or a table that also names the watchdog's time.
fn errors(node: &Node) -> Result<Errors> {
    let most = |node: &Node| match node.value {
        Value::Integer(_) => node.integer("errors").map(Some),
        _ => node.word("errors", &[("continue", None), ("stop", Some(0))], &[]),
    };
    if !matches!(node.value, Value::Table(_)) {
        return Ok(Errors {
            most: most(node)?,
            ..Errors::default()
        });
    }
    let fields = Fields::new(node, "errors", &["most", "stuck"])?;
    let default = Errors::default();
    Ok(Errors {
        most: fields.get("most").map_or(Ok(default.most), most)?,
        stuck_ns: fields
            .parsed("stuck", parse_duration_ns)?
            .unwrap_or(default.stuck_ns),
    })
}

fn arrival_of(node: &Node) -> Result<Arrival> {
    node.word("arrival", &ARRIVALS, &FOREIGN_ARRIVALS)
}

fn until(node: &Node) -> Result<Until> {
    let fields = Fields::new(node, "until", &["time", "bytes", "written", "count"])?;
    Ok(Until {
        time_ns: fields.parsed("time", parse_duration_ns)?,
        bytes: fields.parsed("bytes", parse_size_bytes)?,
        region_multiple: fields.parsed("written", parse_multiple)?,
        count: fields
            .get("count")
            .map(|node| node.integer("count"))
            .transpose()?,
    })
}
