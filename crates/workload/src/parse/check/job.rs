//! Whether a job makes sense, of one workload or of several streams.

use super::files::{files, one_layout};
use super::flow;
use super::load::{load, pace};
use super::pattern::{pattern, places, position, replay};
use super::rules::{ALIGN_BYTES_MAX, Checked, ensure, name, percent, weight};
use crate::{
    Block, Extent, Job, Op, Pattern, Priority, PriorityClass, PriorityShare, Stream, Until, Verify,
};

const BLOCK_BYTES_MAX: u32 = 1 << 30;
const SIZES_MAX: usize = 64;
const WORKLOADS_MAX: usize = 64;
const VERIFY_UNIT_BYTES: u32 = 512;
/// Alignments, of the job or of each operation.
fn aligns(job: &Job) -> Checked {
    let of_ops = || job.mix.ops.iter().filter_map(|block| block.align_bytes);
    for align_bytes in of_ops().chain(job.align_bytes) {
        ensure(
            (1..=ALIGN_BYTES_MAX).contains(&align_bytes),
            "align",
            || format!("align is {align_bytes}, expected up to 1TiB"),
        )?;
    }
    let drawn = job.pattern == Pattern::Uniform && job.files.is_none();
    ensure(drawn || of_ops().next().is_none(), "align", || {
        "operations have alignments of their own in pattern \"uniform\": give one for all"
            .to_owned()
    })
}

/// A device's slowest I/O takes longer; in less, a rate is a matter of where the window begins.
const WINDOW_NS_MIN: u64 = 1_000_000;

pub fn job(job: &Job) -> Checked {
    if !job.streams.is_empty() {
        return streams(job);
    }
    ensure(!job.mix.ops.is_empty(), "mix", || {
        "the mix has no operation".to_owned()
    })?;
    job.mix.ops.iter().try_for_each(block)?;
    flushes(job)?;
    flow::exit(job)?;
    pattern(&job.pattern)?;
    places(job)?;
    replay(job)?;
    position(job)?;
    region(job)?;
    files(job)?;
    aligns(job)?;
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
    repeats(job)?;
    verify(job)?;
    if let Some(asked) = job.priority {
        priority(asked, "priority.level")?;
    }
    priority_shares(job)?;
    journal(job)?;
    load(&job.load)?;
    pace(job)?;
    ensure(job.errors.stuck_ns > 0, "errors.stuck", || {
        "stuck is 0, expected the longest time that an I/O may take".to_owned()
    })?;
    until(job)
}

/// A pattern is all that a block holds.
fn repeats(job: &Job) -> Checked {
    let content = &job.content;
    let alone = content.compressible == 0.0 && content.dedup == 0.0 && content.verify.is_none();
    ensure(
        content.pattern.is_none() || alone,
        "content.pattern",
        || {
            "a pattern is all that a block holds: leave out compressible, dedup and verify"
                .to_owned()
        },
    )
}

fn priority(Priority { class, level }: Priority, key: &'static str) -> Checked {
    ensure(level <= Priority::LEVEL_MAX, key, || {
        format!(
            "level is {level}, expected 0, which goes first, to {}",
            Priority::LEVEL_MAX
        )
    })?;
    ensure(level == 0 || class != PriorityClass::Idle, key, || {
        "the class idle has no levels: leave it out".to_owned()
    })
}

/// Shares are of I/O that the job issues by entries of the ring, and those of one operation and size are one whole.
fn priority_shares(job: &Job) -> Checked {
    const KEY: &str = "priority_shares";
    if job.priority_shares.is_empty() {
        return Ok(());
    }
    let beside = [
        ("files", job.files.is_some()),
        ("gpu", job.gpu),
        ("content.verify", job.content.verify.is_some()),
    ];
    if let Some((other, _)) = beside.into_iter().find(|(_, given)| *given) {
        return ensure(false, KEY, || {
            format!(
                "shares of priorities go with one file or device without {other}: leave one out"
            )
        });
    }
    for one in &job.priority_shares {
        priority(one.priority, KEY)?;
        ensure(one.share > 0.0 && one.share <= 1.0, KEY, || {
            "a share of nothing: expected one above 0% and up to 100%".to_owned()
        })?;
        ensure(
            one.duration_limit <= PriorityShare::DURATION_LIMIT_MAX,
            KEY,
            || {
                format!(
                    "duration_limit is {}, expected 0, which is none, to {}",
                    one.duration_limit,
                    PriorityShare::DURATION_LIMIT_MAX
                )
            },
        )?;
    }
    let issued = job.mix.ops.iter().flat_map(|block| {
        let sizes = block.sizes.iter();
        sizes.map(move |size| (block.op, size.size_bytes))
    });
    let issued: Vec<(Op, u32)> = issued.collect();
    let mut own = job.priority_shares.iter();
    ensure(
        own.all(|one| issued.iter().any(|&(op, bytes)| one.is_of(op, bytes))),
        KEY,
        || "a share is of an operation or block that the job does not issue".to_owned(),
    )?;
    let whole = |&(op, bytes): &(Op, u32)| -> f64 {
        let shares = job.priority_shares.iter();
        shares
            .filter(|one| one.is_of(op, bytes))
            .map(|one| one.share)
            .sum()
    };
    ensure(
        issued.iter().all(|one| whole(one) <= 1.0 + 1e-9),
        KEY,
        || "the shares of one operation and block come to more than 100%".to_owned(),
    )
}

/// A flush is for the writes before it, and has one rule.
fn flushes(job: &Job) -> Checked {
    if job.flush_every == 0 {
        return Ok(());
    }
    let has = |op| job.mix.ops.iter().any(|block| block.op == op);
    ensure(has(Op::Write), "flush_every", || {
        "flush_every counts writes, and the mix has none".to_owned()
    })?;
    ensure(!has(Op::Flush), "flush_every", || {
        "flushes are in the mix already: leave one of the two out".to_owned()
    })
}

/// The journal says which sealed blocks must be there.
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

/// Streams end by a time that is for all, or each by its own volume: a volume of all is no one's.
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
        targets(stream).map_err(|fault| fault.below(&at))?;
        let timed = Job {
            until: Until {
                time_ns: stream.job.until.time_ns.or(Some(WINDOW_NS_MIN)),
                ..stream.job.until
            },
            ..stream.job.clone()
        };
        job(&timed).map_err(|fault| fault.below(&at))?;
    }
    one_layout(whole)?;
    flow::flows(whole)?;
    flow::exits(whole)?;
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
    let no_volume = bytes.is_none() && region_multiple.is_none() && count.is_none();
    ensure(no_volume, "until", || {
        "streams run side by side until a time: set until = { time = \"60s\" }, and volumes in each stream".to_owned()
    })?;
    let ends = |stream: &Stream| {
        let own = stream.job.until;
        time_ns.is_some()
            || whole.has_exitall()
            || own.bytes.is_some()
            || own.region_multiple.is_some()
            || own.count.is_some()
    };
    let endless = whole.streams.iter().find(|stream| !ends(stream));
    ensure(endless.is_none(), "until", || {
        let name = endless.map_or("", |stream| &stream.name);
        format!(
            "nothing ends the stream {name:?}: set until = {{ time = \"60s\" }}, or its own until"
        )
    })?;
    window(&whole.until)
}

/// A window has room for I/O.
fn window(until: &Until) -> Checked {
    let time_ns = until.time_ns.unwrap_or(WINDOW_NS_MIN);
    ensure(time_ns >= WINDOW_NS_MIN, "until.time", || {
        format!("time is {time_ns} ns, expected 1ms or more: hardly any I/O ends in less")
    })
}

/// Targets are counted from 1, each once.
fn targets(stream: &Stream) -> Checked {
    let targets = &stream.targets;
    ensure(!targets.contains(&0), "targets", || {
        "targets are counted from 1".to_owned()
    })?;
    let twice = (1..targets.len()).any(|place| targets[..place].contains(&targets[place]));
    ensure(!twice, "targets", || "a target is there twice".to_owned())
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
        "verify needs to know where a block goes, which append does not say: use write".to_owned()
    })
}

pub(super) fn only(job: &Job, op: Op) -> bool {
    job.mix.ops.iter().all(|block| block.op == op)
}

fn block(block: &Block) -> Checked {
    let op = block.op.name();
    weight(
        block.weight,
        &format!("mix.{op}"),
        &format!("the weight of {op}"),
    )?;
    if !block.op.has_block() {
        return ensure(block.sizes.is_empty(), "block", || {
            format!("{op} has no block size")
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
    })?;
    let part = job.region.part;
    let known = part.is_none_or(|part| part.number < part.of && part.grain_bytes > 0);
    ensure(known, "region", || {
        "part of a region: expected a number below that of all parts, and a grain".to_owned()
    })
}

fn until(job: &Job) -> Checked {
    let until = &job.until;
    let positive = [
        ("until.time", until.time_ns.map(|ns| ns > 0)),
        ("until.bytes", until.bytes.map(|bytes| bytes > 0)),
        ("until.count", until.count.map(|count| count > 0)),
        (
            "until.volume",
            until
                .region_multiple
                .map(|multiple| multiple > 0.0 && multiple.is_finite()),
        ),
    ];
    ensure(
        positive.iter().any(|(_, given)| given.is_some()),
        "until",
        || "until needs at least one of time, bytes, written, volume, count".to_owned(),
    )?;
    for (path, given) in positive {
        ensure(given != Some(false), path, || {
            format!("{path} is 0, expected more")
        })?;
    }
    window(until)?;
    let moves = job.mix.ops.iter().any(|block| block.op.has_block());
    let ends = until.time_ns.is_some() || until.count.is_some();
    ensure(moves || ends, "until", || {
        let op = job.mix.ops.first().map_or("", |block| block.op.name());
        format!("{op} moves no bytes: set time or count")
    })
}
