//! Whether a set of files makes sense, by itself and with the I/O of its job.

use super::pattern::pattern;
use super::rules::{Checked, ensure, percent, weight};
use crate::{Block, Extent, FileSet, FileThreads, Job, Op, Pattern, Region, Select, Visit};

const COUNT_MAX: u32 = 1_000_000;
const SIZES_MAX: usize = 64;
const SIZE_BYTES_MAX: u64 = 1 << 50;
/// Sizes are whole sectors, so that places in the space of all files keep to them.
const GRAIN_BYTES: u64 = 512;
const DEPTH_MAX: u32 = 16;
const OPEN_MAX: u32 = 1_000_000;

const WHOLE: Region = Region {
    start: Extent::Bytes(0),
    size: Extent::Fraction(1.0),
    part: None,
};

pub(super) fn files(job: &Job) -> Checked {
    let named = job.mix.ops.iter().find(|block| block.op.is_metadata());
    let Some(set) = &job.files else {
        return ensure(named.is_none(), "mix", || {
            let op = named.map_or("", |block| block.op.name());
            format!("{op} is of files: give the job `files`")
        });
    };
    layout(set)?;
    choice(set)?;
    inside(job)?;
    blocks(job, set)?;
    threads(job, set)?;
    metadata(job, set)
}

/// Operations on names are calls that wait, one at a time in each thread. What they change, only the thread may know.
fn metadata(job: &Job, set: &FileSet) -> Checked {
    let all = job.mix.ops.iter().all(|block| block.op.is_metadata());
    let any = job.mix.ops.iter().any(|block| block.op.is_metadata());
    ensure(all || !any, "mix", || {
        "a mix is of data or of names: put reads and writes into a stream of their own".to_owned()
    })?;
    let share = set.present.unwrap_or(1.0);
    ensure((0.0..=1.0).contains(&share), "files.present", || {
        format!("present is {}%, expected 0% to 100%", percent(share))
    })?;
    if !any {
        return ensure(set.present.is_none(), "files.present", || {
            "reads and writes need all files: leave present out".to_owned()
        });
    }
    let closes = job.mix.ops.iter().any(|block| block.op == Op::Close);
    ensure(!closes, "mix", || {
        "close follows every open and create by itself: use open".to_owned()
    })?;
    ensure(job.load.iodepth() == 1, "load.iodepth", || {
        "a thread waits for each operation on names: use more threads, and iodepth = 1".to_owned()
    })?;
    ensure(job.content.verify.is_none(), "content.verify", || {
        "operations on names carry no data: leave verify out".to_owned()
    })?;
    let apart = set.threads == FileThreads::Apart || !job.is_destructive();
    ensure(apart, "files.threads", || {
        "what a thread makes, renames or removes is its own: use threads = \"apart\"".to_owned()
    })
}

fn layout(set: &FileSet) -> Checked {
    ensure((1..=COUNT_MAX).contains(&set.count), "files.count", || {
        format!("count is {}, expected 1 to {COUNT_MAX} files", set.count)
    })?;
    let (path, count) = ("files.size", set.sizes.len());
    ensure((1..=SIZES_MAX).contains(&count), path, || {
        format!("size has {count} entries, expected 1 to {SIZES_MAX}")
    })?;
    for size in &set.sizes {
        let bytes = size.size_bytes;
        let fits = (GRAIN_BYTES..=SIZE_BYTES_MAX).contains(&bytes);
        ensure(fits && bytes % GRAIN_BYTES == 0, path, || {
            format!("size is {bytes} bytes, expected a multiple of {GRAIN_BYTES} up to 1PiB")
        })?;
        weight(size.weight, path, "share")?;
    }
    ensure(set.depth <= DEPTH_MAX, "files.depth", || {
        format!("depth is {}, expected up to {DEPTH_MAX} levels", set.depth)
    })?;
    ensure(
        set.width >= 1 && (set.depth > 0 || set.width == 1),
        "files.width",
        || {
            format!(
                "width is {} with a depth of {}: it is how many directories each level has",
                set.width, set.depth
            )
        },
    )?;
    let filled = set.leaves().is_some_and(|leaves| leaves <= set.count);
    ensure(filled, "files.width", || {
        format!(
            "{} levels of {} directories are more than the {} files: each of the lowest holds one or more",
            set.depth, set.width, set.count
        )
    })
}

fn choice(set: &FileSet) -> Checked {
    match set.select {
        Select::Zipf { theta } => pattern(&Pattern::Zipf { theta }),
        Select::Pareto { share } => pattern(&Pattern::Pareto { share }),
        Select::Roundrobin | Select::Random => Ok(()),
    }
    .map_err(|fault| fault.moved("files.select"))?;
    ensure(set.visit != Visit::Requests(0), "files.visit", || {
        "visit is 0, expected the requests to a file before the next one".to_owned()
    })?;
    let open = set.open.unwrap_or(1);
    ensure((1..=OPEN_MAX).contains(&open), "files.open", || {
        format!("open is {open}, expected 1 to {OPEN_MAX} files")
    })
}

/// What goes through one region as a whole has no meaning in many files.
fn inside(job: &Job) -> Checked {
    let known = matches!(
        job.pattern,
        Pattern::Sequential | Pattern::Uniform | Pattern::RandomOnce
    );
    ensure(known, "pattern", || {
        "in a set of files the pattern is of each file: use \"sequential\", \"uniform\" or \"random-once\""
            .to_owned()
    })?;
    ensure(job.position.is_default(), "position", || {
        "in a set of files each thread has a position in each file: leave position out".to_owned()
    })?;
    ensure(job.region == WHOLE, "region", || {
        "a set of files is worked on as a whole: leave region out, or use smaller files".to_owned()
    })?;
    ensure(job.align_bytes.is_none(), "align", || {
        "in a set of files blocks lie at multiples of their size: leave align out".to_owned()
    })?;
    ensure(job.journal.is_none(), "journal", || {
        "a journal is of one device or file: leave it or files out".to_owned()
    })?;
    let appends = job.mix.ops.iter().any(|block| block.op == Op::Append);
    ensure(!appends, "mix", || {
        "append is of zones, which files have not: use write".to_owned()
    })
}

fn blocks(job: &Job, set: &FileSet) -> Checked {
    let (block, file) = (u64::from(job.largest_block_bytes()), set.least_bytes());
    ensure(block <= file, "files.size", || {
        format!(
            "a block of {block} bytes does not fit into a file of {file}: use smaller blocks or larger files"
        )
    })
}

fn threads(job: &Job, set: &FileSet) -> Checked {
    let threads = job.load.threads();
    match set.threads {
        FileThreads::Apart => ensure(threads <= set.count, "files.threads", || {
            format!(
                "{threads} threads have parts of {} files: use fewer threads, or threads = \"together\"",
                set.count
            )
        }),
        FileThreads::Together => {
            let once = job.pattern == Pattern::RandomOnce && threads > 1;
            ensure(!once, "files.threads", || {
                "random-once visits each block once where each thread has files of its own: use threads = \"apart\""
                    .to_owned()
            })
        }
    }
}

/// A target holds one set of files: streams differ in what they do with it.
pub(super) fn one_layout(whole: &Job) -> Checked {
    let alike = whole
        .streams
        .iter()
        .all(|stream| match (&stream.job.files, &whole.files) {
            (None, None) => true,
            (Some(own), Some(first)) => own.has_layout_of(first),
            _ => false,
        });
    ensure(alike, "streams", || {
        "streams on one target have one set of files: give all the same count, size, width and depth"
            .to_owned()
    })?;
    let changes = |block: &Block| block.op.is_metadata() && block.op.is_destructive();
    let changed = whole.mix.ops.iter().find(|block| changes(block));
    ensure(changed.is_none(), "streams", || {
        let op = changed.map_or("", |block| block.op.name());
        format!("{op} changes files under the other streams: give it a job without streams")
    })
}
