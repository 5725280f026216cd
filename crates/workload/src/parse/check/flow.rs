//! Whether streams can keep step, and end together.

use super::rules::{Checked, ensure};
use crate::{Flow, Job, Load, Pattern, Stream};

/// Streams in step run on the same targets, and issue I/O whenever the others let them.
pub(super) fn flows(whole: &Job) -> Checked {
    let several = whole
        .streams
        .iter()
        .filter(|one| one.flow.is_some())
        .count()
        > 1;
    for (index, stream) in whole.streams.iter().enumerate() {
        let Some(flow) = stream.flow else { continue };
        let at = format!("streams.{index}.flow");
        ensure(several, &at, || {
            "flow is a part of the I/Os of several streams: give it to two or more".to_owned()
        })?;
        ensure((1..=Flow::WEIGHT_MAX).contains(&flow.weight), &at, || {
            format!(
                "weight is {}, expected 1 to {}",
                flow.weight,
                Flow::WEIGHT_MAX
            )
        })?;
        ensure(stream.targets.is_empty(), &at, || {
            "streams on targets of their own cannot keep step: leave flow or targets out".to_owned()
        })?;
        ensure(keeps_step(stream), &at, || {
            "flow is of reads and writes without think, and without a recorded trace".to_owned()
        })?;
        let open = matches!(stream.job.load, Load::Open { .. });
        ensure(!open || flow.pause_ns == 0, &at, || {
            "a rate leaves no room for a pause: leave one of the two out".to_owned()
        })?;
    }
    Ok(())
}

fn keeps_step(stream: &Stream) -> bool {
    let replays = matches!(stream.job.pattern, Pattern::Replay { .. });
    !replays && !stream.job.is_metadata() && stream.job.pace.think_ns == 0
}

fn has_volume(job: &Job) -> bool {
    let until = job.until;
    until.bytes.is_some() || until.region_multiple.is_some() || until.count.is_some()
}

/// A job without streams that ends with the first of its threads has a volume.
pub(super) fn exit(job: &Job) -> Checked {
    ensure(!job.exitall || has_volume(job), "exitall", || {
        "exitall ends the step when a thread has done its part: set until to bytes, volume or count"
            .to_owned()
    })
}

/// A stream that ends all has an end of its own.
pub(super) fn exits(whole: &Job) -> Checked {
    for (index, stream) in whole.streams.iter().enumerate() {
        let at = format!("streams.{index}.exitall");
        ensure(!stream.exitall || has_volume(&stream.job), &at, || {
            "exitall ends all streams when this one has done its part: set its until to bytes, volume or count".to_owned()
        })?;
        let apart = whole.has_exitall() && !stream.targets.is_empty();
        ensure(!apart, &at, || {
            "a stream ends those of its own target: leave exitall or targets out".to_owned()
        })?;
    }
    Ok(())
}
