//! Whether an address pattern makes sense, by itself and with the blocks of its job.

use super::rules::{ALIGN_BYTES_MAX, Checked, ensure, weight};
use crate::{Arrival, HotBand, Job, Load, Op, Pattern};

const BANDS_MAX: usize = 64;
const ZONES_MAX: u32 = 65_536;
const THETA_MAX: f64 = 10.0;
const STREAMS_MAX: u32 = 4096;
const ORDER_MAX: usize = 1 << 20;
const STRETCHES_MAX: u32 = 100_000;

pub(super) fn pattern(pattern: &Pattern) -> Checked {
    match pattern {
        Pattern::Sequential
        | Pattern::Backwards
        | Pattern::Uniform
        | Pattern::RandomOnce
        | Pattern::Strided { .. }
        | Pattern::Strips { .. } => Ok(()),
        Pattern::Blocks { order, .. } => ensure(
            (1..=ORDER_MAX).contains(&order.len()),
            "pattern.blocks",
            || {
                format!(
                    "order has {} blocks, expected 1 to {ORDER_MAX}",
                    order.len()
                )
            },
        ),
        Pattern::SequentialStreams { streams } => ensure(
            (1..=STREAMS_MAX).contains(streams),
            "pattern.sequential",
            || format!("sequential is {streams}, expected 1 to {STREAMS_MAX} streams per thread"),
        ),
        Pattern::Replay { file, .. } => ensure(!file.is_empty(), "pattern.replay", || {
            "file is empty, expected a prepared trace".to_owned()
        }),
        Pattern::Zones { open, reset, .. } => {
            ensure(*open <= ZONES_MAX, "pattern.zones", || {
                format!("zones is {open}, expected 1 to {ZONES_MAX} open zones per thread")
            })?;
            ensure(
                reset.is_none_or(|reset| reset.every > 0 && (0.0..=1.0).contains(&reset.above)),
                "pattern.zones.reset",
                || "expected above = 0% to 100%, and every = 1 or more".to_owned(),
            )
        }
        Pattern::OnePass { spare, stretches } => {
            ensure(*spare > 0.0 && *spare <= 1.0, "pattern.one-pass", || {
                "spare is 0%, expected the drive's spare flash, such as 15%".to_owned()
            })?;
            ensure(
                (2..=STRETCHES_MAX).contains(stretches),
                "pattern.one-pass",
                || format!("stretches is {stretches}, expected 2 to {STRETCHES_MAX}"),
            )
        }
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
        Pattern::HotSpots { bands } => hot_spots(bands),
    }
}

fn hot_spots(bands: &[HotBand]) -> Checked {
    let path = "pattern.hot-spots";
    let count = bands.len();
    ensure((1..=BANDS_MAX).contains(&count), path, || {
        format!("hot-spots has {count} bands, expected 1 to {BANDS_MAX}")
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

/// Patterns that only make sense with blocks of certain sizes.
pub(super) fn places(job: &Job) -> Checked {
    empties(job)?;
    let sizes = || job.mix.ops.iter().flat_map(|block| &block.sizes);
    let largest = sizes().map(|size| size.size_bytes).max().unwrap_or(0);
    match &job.pattern {
        Pattern::RandomOnce | Pattern::Blocks { .. } => ensure(
            sizes().all(|size| size.size_bytes == largest),
            "block",
            || {
                format!(
                    "{} visits blocks of one size: give all operations the same",
                    job.pattern.name()
                )
            },
        ),
        Pattern::OnePass { .. } => {
            let one_size = sizes().count() == 1;
            ensure(
                job.only(Op::Write) && one_size && job.load.threads() == 1,
                "pattern.one-pass",
                || "one-pass is of writes of one size by one thread".to_owned(),
            )?;
            ensure(job.align_bytes.is_none(), "align", || {
                "one-pass writes whole blocks: leave out align".to_owned()
            })
        }
        &Pattern::Strips {
            strip_bytes,
            gap_bytes,
        } => {
            from_a_block_on(strip_bytes, largest, "pattern.strips", "size")?;
            ensure(gap_bytes <= ALIGN_BYTES_MAX, "pattern.strips", || {
                format!("gap is {gap_bytes} bytes, expected up to 1TiB")
            })?;
            sets_the_starts(job, "the strips set")
        }
        &Pattern::Strided { stride_bytes } => {
            from_a_block_on(stride_bytes, largest, "pattern.stride", "stride")?;
            sets_the_starts(job, "the stride sets")
        }
        Pattern::Zones { ends: true, .. } => ends(job, sizes().count() == 1),
        Pattern::Zones { once, reset, .. } if *once || reset.is_some() => {
            let appends = job.mix.ops.iter().any(|block| block.op == Op::Append);
            ensure(job.load.threads() == 1 && !appends, "pattern.zones", || {
                "zones have choice and reset for one thread, and without append".to_owned()
            })?;
            ensure(
                !once || job.only(Op::Write) && sizes().count() == 1,
                "pattern.zones.choice",
                || "random-once is of writes of one size".to_owned(),
            )
        }
        _ => Ok(()),
    }
}

/// A step holds a block, or the next request would overlap the last.
fn from_a_block_on(step_bytes: u64, largest: u32, path: &str, key: &str) -> Checked {
    ensure(
        step_bytes >= u64::from(largest) && step_bytes <= ALIGN_BYTES_MAX,
        path,
        || format!("{key} is {step_bytes} bytes, expected a block ({largest} bytes) to 1TiB"),
    )
}

fn sets_the_starts(job: &Job, what_sets: &str) -> Checked {
    ensure(job.align_bytes.is_none(), "align", || {
        format!("{what_sets} where requests start: leave out align")
    })
}

/// A job that no safety check takes for one that writes leaves the device's data alone.
fn empties(job: &Job) -> Checked {
    let empties = matches!(job.pattern, Pattern::Zones { empties: true, .. });
    ensure(
        !empties || job.is_destructive(),
        "pattern.zones.begin",
        || "a job that only reads leaves its zones as they are: leave out begin".to_owned(),
    )
}

/// What ends with its zones knows whether the next request has a place there.
fn ends(job: &Job, one_size: bool) -> Checked {
    let Pattern::Zones {
        in_order,
        once,
        reset,
        ..
    } = job.pattern
    else {
        return Ok(());
    };
    let reads = in_order && job.only(Op::Read);
    ensure(
        (reads || job.only(Op::Write)) && one_size && !once && reset.is_none(),
        "pattern.zones.ends",
        || {
            "a job ends with its zones that writes, or reads in order, blocks of one size: leave out choice and reset"
                .to_owned()
        },
    )
}

/// A trace is one order of I/Os: what draws, divides or checks them otherwise is left out.
pub(super) fn replay(job: &Job) -> Checked {
    let replays = matches!(job.pattern, Pattern::Replay { .. });
    let arrival = match job.load {
        Load::Open { arrival, .. } => Some(arrival),
        Load::Closed { .. } => None,
    };
    ensure(
        replays || arrival != Some(Arrival::Recorded),
        "load.arrival",
        || {
            "recorded arrivals are those of a trace: use pattern = { replay = { file = \"FILE\" } }"
                .to_owned()
        },
    )?;
    if !replays {
        return Ok(());
    }
    let several = job.load.threads() > 1;
    ensure(
        !several || !job.pattern.waits() && job.pace.think_ns == 0,
        "load.threads",
        || "one thread replays a trace with waits or think: leave out threads".to_owned(),
    )?;
    let volume = job.until.bytes.is_some() || job.until.region_multiple.is_some();
    ensure(!(several && volume), "until", || {
        "a trace that several threads replay ends by count or time: leave out bytes, written and volume"
            .to_owned()
    })?;
    ensure(job.pace.rates.is_empty(), "load.rate", || {
        "a trace has arrivals of its own: give one rate".to_owned()
    })?;
    let paced = arrival.is_some() || job.pace.think_ns > 0;
    ensure(!(job.pattern.waits() && paced), "pattern.replay", || {
        "I/Os that wait for others have no rate and no think: leave them out of the load".to_owned()
    })?;
    let plain = job.flush_every == 0 && job.placement.is_empty() && job.align_bytes.is_none();
    ensure(
        plain && job.content.verify.is_none(),
        "pattern.replay",
        || "a replay has no flush_every, placement, align or verify: leave them out".to_owned(),
    )
}

/// Positions are of patterns that go on from a place; not every such pattern goes on from those of other threads or
/// operations.
pub(super) fn position(job: &Job) -> Checked {
    let (mixes, ordered) = match job.pattern {
        Pattern::Sequential | Pattern::Mixed { .. } => (true, true),
        Pattern::SequentialStreams { .. }
        | Pattern::Backwards
        | Pattern::Strided { .. }
        | Pattern::Strips { .. } => (false, true),
        _ => (false, false),
    };
    ensure(ordered || job.position.is_default(), "position", || {
        "position is of patterns that go through the region in order: leave it out, or use pattern = \"sequential\""
            .to_owned()
    })?;
    ensure(mixes || !job.position.is_shared(), "position", || {
        "a position is shared by the threads of pattern \"sequential\" or { random = ... }: use \"part\" or \"start\""
            .to_owned()
    })?;
    ensure(
        mixes || job.position.operations.is_none(),
        "position.operations",
        || {
            "operations have positions of their own in pattern \"sequential\" or { random = ... }: leave it out"
                .to_owned()
        },
    )
}
