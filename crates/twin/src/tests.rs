//! Tests by behaviour: the translation layer against closed forms and a plain map, the queues
//! against queueing theory, the whole drive against conservation laws.

mod copies;
mod drive;
pub(crate) mod drives;
mod file_system;
mod groups;
mod indirection;
mod namespaces;
mod placement;
mod positions;
mod queues;
mod read_ahead;
mod read_retries;
mod rest;
mod sata;
mod settled;
mod slc;
mod spare;
mod sync;
mod translation;
mod upkeep;
mod zns;

pub use drives::small_drive;

use recording::{Interval, Recording};
use workload::Job;

use crate::device::Device;
use crate::{Control, Ssd, SsdParams, run};

/// A closed-load job.
fn closed(mix: &str, block: &str, pattern: &str, threads: u32, iodepth: u32, until: &str) -> Job {
    let text = format!(
        r#"{{"mix":{mix},"block":"{block}","pattern":"{pattern}","load":{{"threads":{threads},"iodepth":{iodepth}}},"until":{until}}}"#
    );
    Job::from_json(&text, "test").expect("a valid job")
}

const FILL: &str = r#"{"written":"1x"}"#;

/// A drive that holds data everywhere and has nothing left to do.
fn filled(params: &SsdParams) -> Ssd {
    let mut ssd = Ssd::new(params, 7).expect("valid parameters");
    measure(
        &mut ssd,
        &closed("\"write\"", "128KiB", "sequential", 1, 32, FILL),
    );
    settle(&mut ssd);
    ssd
}

/// Lets everything under way end.
fn settle(ssd: &mut Ssd) {
    while ssd.is_busy() {
        ssd.advance(u64::MAX);
    }
}

fn measure(ssd: &mut Ssd, job: &Job) -> Recording {
    intervals(ssd, job).1
}

/// Runs a job with a seed of its own. With an earlier job's seed, reads would follow the order of that job's writes,
/// page after page on one die.
fn intervals(ssd: &mut Ssd, job: &Job) -> (Vec<Interval>, Recording) {
    let mut intervals = Vec::new();
    let seed = ssd.now_ns() + 7;
    let recording = run(job, ssd, seed, &Control::default(), |interval| {
        intervals.push(interval)
    })
    .expect("the job runs");
    (intervals, recording)
}

fn iops(recording: &Recording) -> f64 {
    recording.completed() as f64 * 1e9 / recording.window_ns as f64
}

fn waf(recording: &Recording) -> f64 {
    let host: u64 = recording.ops.values().map(|stats| stats.bytes).sum();
    recording.counters.media_write_bytes.expect("a twin knows") as f64 / host as f64
}

#[track_caller]
fn assert_close(what: &str, value: f64, expected: f64, tolerance: f64) {
    assert!(
        (value / expected - 1.0).abs() <= tolerance,
        "{what}: {value} is not within {} % of {expected}",
        tolerance * 100.0
    );
}
