//! Whether a job makes sense, of one workload or of several streams.

use std::collections::HashSet;

use super::content::content;
use super::files::{files, one_layout};
use super::flow;
use super::load::{load, pace};
use super::pattern::{pattern, places, position, replay};
use super::priority::priorities;
use super::rules::{ALIGN_BYTES_MAX, Checked, ensure, name, percent, weight};
use crate::{Block, Extent, Job, Op, Pattern, Stream, Until};

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
    content(job)?;
    priorities(job)?;
    journal(job)?;
    load(&job.load)?;
    pace(job)?;
    ensure(job.errors.stuck_ns > 0, "errors.stuck", || {
        "stuck is 0, expected the longest time that an I/O may take".to_owned()
    })?;
    until(job)
}

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

fn streams(whole: &Job) -> Checked {
    let count = whole.streams.len();
    let most = Job::STREAMS_MAX;
    ensure(count <= most, "streams", || {
        format!("streams has {count} entries, expected 1 to {most}")
    })?;
    for (index, stream) in whole.streams.iter().enumerate() {
        let earlier = &whole.streams[..index];
        one_stream(stream, earlier).map_err(|fault| fault.below(&format!("streams.{index}")))?;
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
    streams_end(whole)?;
    window(&whole.until)
}

/// A stream by itself, beside the names of those before it.
fn one_stream(stream: &Stream, earlier: &[Stream]) -> Checked {
    name(&stream.name, "name")?;
    let twice = earlier.iter().any(|other| other.name == stream.name);
    ensure(!twice, "name", || {
        format!(
            "stream name {:?} is used twice: names must be unique",
            stream.name
        )
    })?;
    ensure(stream.job.streams.is_empty(), "streams", || {
        "a stream is one workload and has no streams of its own".to_owned()
    })?;
    let zoned = matches!(stream.job.pattern, Pattern::Zones { .. });
    ensure(!zoned, "pattern", || {
        "streams cannot share zones: use pattern zones in a job of its own".to_owned()
    })?;
    targets(stream)?;
    let timed = Job {
        until: Until {
            time_ns: stream.job.until.time_ns.or(Some(WINDOW_NS_MIN)),
            ..stream.job.until
        },
        ..stream.job.clone()
    };
    job(&timed)
}

/// Streams end by a time that is for all, or each by its own volume: a volume of all is no one's.
fn streams_end(whole: &Job) -> Checked {
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
    })
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
    let different: HashSet<&u32> = targets.iter().collect();
    let twice = different.len() < targets.len();
    ensure(!twice, "targets", || "a target is there twice".to_owned())
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
    let most = Job::BLOCK_SIZES_MAX;
    ensure((1..=most).contains(&count), &path, || {
        format!("{op} has {count} block sizes, expected 1 to {most}")
    })?;
    for size in &block.sizes {
        ensure(
            (1..=Job::BLOCK_BYTES_MAX).contains(&size.size_bytes),
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
        ensure(given != Some(false), path, || match path {
            "until.volume" => {
                "the multiple of the region is 0 or too large to count, expected such as 2x"
                    .to_owned()
            }
            _ => format!("{path} is 0, expected more"),
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
