//! A job: one workload or several streams, where its I/O goes, what it carries, and when it ends.

use super::files::files;
use super::load::{load, pace};
use super::mix::mix;
use super::pattern::pattern;
use super::position::position;
use crate::parse::fields::Fields;
use crate::parse::refusal::Result;
use crate::parse::tree::{Node, Value};
use crate::units::{parse_duration_ns, parse_multiple, parse_percent, parse_size_bytes};
use crate::{
    BytePattern, Content, Errors, Extent, Flow, Job, Mix, Op, Pattern, Position, Priority,
    PriorityClass, PriorityShare, Region, Request, Stream, Sync, Until, Verify,
};

const JOB_KEYS: [&str; 23] = [
    "mix",
    "block",
    "flush_every",
    "pattern",
    "position",
    "region",
    "files",
    "align",
    "content",
    "placement",
    "priority",
    "priority_shares",
    "direct",
    "sync",
    "sqpoll",
    "huge_pages",
    "gpu",
    "load",
    "errors",
    "journal",
    "until",
    "exitall",
    "streams",
];
/// Keys of one of several workloads; the job says when all end, a stream when it ends sooner.
const STREAM_KEYS: [&str; 18] = [
    "name",
    "mix",
    "block",
    "flush_every",
    "pattern",
    "position",
    "region",
    "files",
    "align",
    "content",
    "placement",
    "priority",
    "priority_shares",
    "load",
    "until",
    "targets",
    "flow",
    "exitall",
];

pub fn job(node: &Node) -> Result<Job> {
    if let Some(streams) = node.get("streams") {
        return job_of_streams(node, streams);
    }
    let fields = Fields::new(node, "the job", &JOB_KEYS)?;
    let ends = until(fields.need("until")?)?;
    let job = workload(&fields, &Shared::of(&fields, ends)?)?;
    written_fits(&fields, &job.mix)?;
    Ok(Job {
        exitall: exitall(&fields)?,
        ..job
    })
}

fn job_of_streams(node: &Node, streams: &Node) -> Result<Job> {
    let keys = [
        "streams",
        "direct",
        "sync",
        "sqpoll",
        "huge_pages",
        "gpu",
        "errors",
        "until",
    ];
    let fields = Fields::new(node, "a job of streams", &keys)?;
    let ends = fields.get("until").map_or(Ok(Until::default()), until)?;
    let shared = Shared::of(&fields, ends)?;
    let stream = |node: &Node| {
        let fields = Fields::new(node, "the stream", &STREAM_KEYS)?;
        let job = workload(&fields, &shared)?;
        let until = fields
            .get("until")
            .map_or(Ok(shared.until), |node| own_end(node, shared.until.time_ns))?;
        written_fits(&fields, &job.mix)?;
        Ok(Stream {
            name: fields.text("name")?,
            job: Job { until, ..job },
            targets: fields.get("targets").map_or(Ok(Vec::new()), numbers)?,
            flow: fields.get("flow").map(flow).transpose()?,
            exitall: exitall(&fields)?,
        })
    };
    let streams = streams.list("streams")?.iter().map(stream);
    let streams = streams.collect::<Result<_>>()?;
    Ok(Job {
        sync: shared.sync,
        sqpoll: shared.sqpoll,
        huge_pages: shared.huge_pages,
        gpu: shared.gpu,
        ..Job::of_streams(streams, shared.direct, shared.errors, shared.until)
    })
}

fn exitall(fields: &Fields<'_>) -> Result<bool> {
    let node = fields.get("exitall");
    node.map_or(Ok(false), |node| node.flag("exitall"))
}

/// What the streams of a job have in common.
struct Shared {
    direct: bool,
    sync: Sync,
    sqpoll: bool,
    huge_pages: bool,
    gpu: bool,
    errors: Errors,
    until: Until,
}

impl Shared {
    fn of(fields: &Fields<'_>, until: Until) -> Result<Self> {
        let flag = |key, otherwise| {
            let node = fields.get(key);
            node.map_or(Ok(otherwise), |node| node.flag(key))
        };
        Ok(Self {
            direct: flag("direct", true)?,
            sync: fields
                .get("sync")
                .map_or(Ok(Sync::None), |node| node.word("sync", &Sync::WORDS, &[]))?,
            sqpoll: flag("sqpoll", false)?,
            huge_pages: flag("huge_pages", false)?,
            gpu: flag("gpu", false)?,
            errors: fields.get("errors").map_or(Ok(Errors::default()), errors)?,
            until,
        })
    }
}

/// One alignment for all, or one for each operation, which goes to the mix.
fn align(node: &Node, mix: &mut Mix) -> Result<Option<u64>> {
    if !matches!(node.value, Value::Table(_)) {
        return node.parsed("align", parse_size_bytes).map(Some);
    }
    let names: Vec<&'static str> = mix.ops.iter().map(|block| block.op.name()).collect();
    let fields = Fields::new(node, "align", &names)?;
    for block in &mut mix.ops {
        block.align_bytes = fields.parsed(block.op.name(), parse_size_bytes)?;
    }
    Ok(None)
}

fn workload(fields: &Fields<'_>, shared: &Shared) -> Result<Job> {
    let mut mix = mix(fields)?;
    let align_bytes = fields
        .get("align")
        .map_or(Ok(None), |node| align(node, &mut mix))?;
    let only_names = mix.ops.iter().all(|block| block.op.is_metadata());
    let place = match only_names {
        true => fields.get("pattern").map(pattern).transpose()?,
        false => Some(pattern(fields.need("pattern")?)?),
    };
    Ok(Job {
        mix,
        flush_every: fields.integer_or("flush_every", 0)?,
        pattern: place.unwrap_or(Pattern::Uniform),
        position: fields
            .get("position")
            .map_or(Ok(Position::default()), position)?,
        region: fields.get("region").map_or(
            Ok(Region {
                start: Extent::Bytes(0),
                size: Extent::Fraction(1.0),
                part: None,
            }),
            region,
        )?,
        files: fields.get("files").map(files).transpose()?,
        align_bytes,
        content: fields
            .get("content")
            .map_or(Ok(Content::default()), content)?,
        placement: fields.get("placement").map_or(Ok(Vec::new()), placement)?,
        priority: fields.get("priority").map(priority).transpose()?,
        priority_shares: fields
            .get("priority_shares")
            .map_or(Ok(Vec::new()), priority_shares)?,
        direct: shared.direct,
        sync: shared.sync,
        sqpoll: shared.sqpoll,
        huge_pages: shared.huge_pages,
        gpu: shared.gpu,
        load: load(fields.need("load")?)?,
        pace: pace(fields.need("load")?)?,
        errors: shared.errors,
        journal: fields
            .get("journal")
            .map(|node| node.text("journal").map(str::to_owned))
            .transpose()?,
        until: shared.until,
        exitall: false,
        streams: Vec::new(),
    })
}

fn region(node: &Node) -> Result<Region> {
    if !matches!(node.value, Value::Table(_)) {
        return Ok(Region {
            start: Extent::Bytes(0),
            size: node.parsed("region", length)?,
            part: None,
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
    Ok(Region {
        start,
        size,
        part: None,
    })
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
    let fields = Fields::new(
        node,
        "content",
        &["compressible", "dedup", "pattern", "verify"],
    )?;
    let share = |key| Ok(fields.parsed(key, parse_percent)?.unwrap_or(0.0));
    Ok(Content {
        compressible: share("compressible")?,
        dedup: share("dedup")?,
        pattern: fields.parsed("pattern", BytePattern::parse)?,
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

/// A class, or a table that names the level too.
fn priority(node: &Node) -> Result<Priority> {
    let class = |node: &Node| node.word("priority", &PriorityClass::WORDS, &[]);
    if !matches!(node.value, Value::Table(_)) {
        return Ok(Priority {
            class: class(node)?,
            level: 0,
        });
    }
    let fields = Fields::new(node, "priority", &["class", "level"])?;
    Ok(Priority {
        class: class(fields.need("class")?)?,
        level: fields.integer_or("level", 0)?,
    })
}

fn priority_shares(node: &Node) -> Result<Vec<PriorityShare>> {
    let one = |node: &Node| {
        let keys = ["share", "class", "level", "duration_limit", "op", "block"];
        let fields = Fields::new(node, "the share", &keys)?;
        let ops = [("read", Op::Read), ("write", Op::Write)];
        Ok(PriorityShare {
            share: fields.need("share")?.parsed("share", parse_percent)?,
            priority: Priority {
                class: fields
                    .need("class")?
                    .word("class", &PriorityClass::WORDS, &[])?,
                level: fields.integer_or("level", 0)?,
            },
            duration_limit: fields.integer_or("duration_limit", 0)?,
            op: fields
                .get("op")
                .map(|node| node.word("op", &ops, &[]))
                .transpose()?,
            block_bytes: fields
                .parsed("block", parse_size_bytes)?
                .map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX)),
        })
    };
    node.list("priority_shares")?.iter().map(one).collect()
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

fn until(node: &Node) -> Result<Until> {
    let fields = Fields::new(
        node,
        "until",
        &["time", "bytes", "written", "volume", "count"],
    )?;
    if let (Some(_), Some(volume)) = (fields.get("written"), fields.get("volume")) {
        return Err(volume.fault(
            "written and volume are both multiples of the region: leave one of the two out"
                .to_owned(),
        ));
    }
    let written = fields.parsed("written", parse_multiple)?;
    Ok(Until {
        time_ns: fields.parsed("time", parse_duration_ns)?,
        bytes: fields.parsed("bytes", parse_size_bytes)?,
        region_multiple: written.or(fields.parsed("volume", parse_multiple)?),
        count: fields
            .get("count")
            .map(|node| node.integer("count"))
            .transpose()?,
    })
}

/// When a stream ends before the others; all end at `time_ns`.
fn own_end(node: &Node, time_ns: Option<u64>) -> Result<Until> {
    let own = until(node)?;
    if own.time_ns.is_some() {
        return Err(node.fault(
            "time is that of all streams: a stream of its own ends by bytes, written, volume or count".to_owned(),
        ));
    }
    Ok(Until { time_ns, ..own })
}

/// `written` is of jobs that only write or trim: beside reads it would count them too.
fn written_fits(fields: &Fields<'_>, mix: &Mix) -> Result<()> {
    let only = |op| mix.ops.iter().all(|block| block.op == op);
    let written = fields.get("until").and_then(|until| until.get("written"));
    match written {
        Some(node) if !only(Op::Write) && !only(Op::Trim) => Err(node.fault(
            "written is of a job that only writes or trims; volume is the same of any mix"
                .to_owned(),
        )),
        _ => Ok(()),
    }
}

/// A weight, or a table that also names the pause of a thread that is ahead.
fn flow(node: &Node) -> Result<Flow> {
    let Value::Table(_) = node.value else {
        let weight = node.integer("flow")?;
        return Ok(Flow {
            weight,
            pause_ns: 0,
        });
    };
    let fields = Fields::new(node, "flow", &["weight", "pause"])?;
    Ok(Flow {
        weight: fields.need("weight")?.integer("weight")?,
        pause_ns: fields.parsed("pause", parse_duration_ns)?.unwrap_or(0),
    })
}

fn numbers(node: &Node) -> Result<Vec<u32>> {
    let each = node.list("targets")?.iter();
    each.map(|node| node.integer("targets")).collect()
}
