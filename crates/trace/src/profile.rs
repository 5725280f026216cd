//! What a trace is like: rates over time, mix, sizes, runs, reuse of space, arrivals, depth and latency. Memory does not
//! grow with the trace's length. I/Os come in the order of their issue.

mod bursts;
mod distinct;
mod histogram;
mod in_flight;
mod mix;
mod reuse;
mod runs;
mod seen;
mod timeline;

use serde::Serialize;

use self::{
    bursts::Bursts, in_flight::InFlight, mix::Mix, reuse::Reuse, runs::Runs, seen::Seen,
    timeline::Timeline,
};
use crate::{Batch, Operation, hash::mix};

/// Bytes of a unit of space, in which reuse and working set are counted.
const UNIT_BYTES: u64 = 4096;
/// Units of one I/O that are looked at; a longer I/O counts by its first ones.
const MOST_UNITS: u64 = 1 << 14;

/// Takes a trace batch by batch.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    ios: u64,
    last_ns: u64,
    timeline: Timeline,
    mix: Mix,
    runs: Runs,
    reuse: Reuse,
    bursts: Bursts,
    in_flight: InFlight,
}

/// What a trace is like. Names are numbers of the trace's dictionaries.
#[derive(Clone, Debug, Serialize)]
pub struct ProfileReport {
    ios: u64,
    duration_ns: u64,
    timeline: timeline::Report,
    mix: mix::Report,
    runs: runs::Report,
    reuse: reuse::Report,
    bursts: bursts::Report,
    in_flight: in_flight::Report,
}

impl Profile {
    /// Takes the next I/Os.
    pub fn add(&mut self, batch: &Batch) {
        for place in 0..batch.len() {
            let Some(&op) = Operation::ALL.get(usize::from(batch.op[place])) else {
                continue;
            };
            let latency_ns = batch.latency_ns[place];
            self.add_one(&Seen {
                // One that is out of order counts as if it had come with the one before.
                issue_ns: batch.issue_ns[place].max(self.last_ns),
                latency_ns: (latency_ns != Batch::NONE_TIME).then_some(latency_ns),
                offset_bytes: batch.offset_bytes[place],
                size_bytes: batch.size_bytes[place],
                op,
                flags: batch.flags[place],
                device: batch.device[place],
                process: batch.process[place],
            });
        }
    }

    fn add_one(&mut self, io: &Seen) {
        self.ios += 1;
        self.timeline.add(io);
        self.bursts
            .add(io.issue_ns, io.issue_ns - self.last_ns, self.ios > 1);
        self.last_ns = io.issue_ns;
        self.mix.add(io);
        self.in_flight.add(io);
        if io.op != Operation::Flush {
            self.add_space(io);
        }
    }

    fn add_space(&mut self, io: &Seen) {
        if io.op != Operation::Discard {
            self.runs.add(io);
        }
        let first = io.offset_bytes / UNIT_BYTES;
        let end = (io.offset_bytes + io.size_bytes).div_ceil(UNIT_BYTES);
        let units = (end - first).min(MOST_UNITS);
        let device = mix(u64::from(io.device));
        let moves_data = io.op != Operation::Discard;
        if moves_data {
            self.reuse.count(units);
        }
        for unit in first..first + units {
            let hash = mix(unit ^ device);
            if moves_data {
                self.timeline.touch(hash);
            }
            if !self.reuse.follows(hash) {
                continue;
            }
            if moves_data {
                self.reuse
                    .access(hash, io.op == Operation::Write, io.issue_ns);
            } else {
                self.reuse.discard(hash, io.issue_ns);
            }
        }
    }

    /// Returns what the trace so far is like.
    pub fn report(&mut self) -> ProfileReport {
        ProfileReport {
            ios: self.ios,
            duration_ns: self.last_ns,
            timeline: self.timeline.report(),
            mix: self.mix.report(),
            runs: self.runs.report(),
            reuse: self.reuse.report(),
            bursts: self.bursts.report(self.last_ns),
            in_flight: self.in_flight.report(self.last_ns),
        }
    }
}
