//! Sequential runs, also where several are interleaved. An I/O goes on with a run when it begins where one of the last
//! I/Os of its device and direction ended.

use std::collections::VecDeque;

use serde::Serialize;

use super::{histogram::Histogram, seen::Seen};
use crate::hash::{Map, mix};

/// I/Os after which a run that nothing goes on with has ended.
const MEMORY_IOS: u64 = 4096;
/// Fewest I/Os of a run that is called a stream.
const STREAM_IOS: u64 = 8;

#[derive(Clone, Copy, Debug)]
struct Run {
    ios: u64,
    bytes: u64,
    touched: u64,
}

/// Runs that may go on, by where they would.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs {
    open: Map<Run>,
    ends: VecDeque<(u64, u64)>,
    ios: u64,
    followed: u64,
    strictly: u64,
    last_end: u64,
    run_ios: Histogram,
    run_bytes: Histogram,
    stream_ios: u64,
    streams_open: u64,
    streams_most: u64,
    streams: u64,
}

/// What runs there are.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Report {
    /// I/Os that read or write.
    ios: u64,
    /// Those that go on with a run, interleaved or not.
    followed: u64,
    /// Those that begin where the I/O just before them ended.
    strictly: u64,
    /// Runs of eight I/Os or more.
    streams: u64,
    /// I/Os in them.
    stream_ios: u64,
    /// The most of them at once.
    streams_most: u64,
    /// Quantiles 50, 90 and 99 % of the I/Os of a run, weighted by I/O.
    run_ios: [Option<f64>; 3],
    /// The same quantiles for the bytes of a run.
    run_bytes: [Option<f64>; 3],
}

impl Runs {
    pub(super) fn add(&mut self, io: &Seen) {
        self.ios += 1;
        let own = mix(u64::from(io.device) << 1 | io.op as u64);
        let key = mix(io.offset_bytes ^ own);
        self.strictly += u64::from(self.ios > 1 && key == self.last_end);
        let before = self.open.remove(&key);
        self.followed += u64::from(before.is_some());
        let run = before.map_or((1, io.size_bytes), |run| {
            (run.ios + 1, run.bytes.saturating_add(io.size_bytes))
        });
        if run.0 == STREAM_IOS {
            self.streams += 1;
            self.streams_open += 1;
            self.streams_most = self.streams_most.max(self.streams_open);
        }
        let end = mix((io.offset_bytes + io.size_bytes) ^ own);
        self.last_end = end;
        let run = Run {
            ios: run.0,
            bytes: run.1,
            touched: self.ios,
        };
        if let Some(other) = self.open.insert(end, run) {
            self.close(other);
        }
        self.ends.push_back((end, self.ios));
        while let Some(&(end, touched)) = self.ends.front()
            && touched + MEMORY_IOS < self.ios
        {
            self.ends.pop_front();
            if self
                .open
                .get(&end)
                .is_some_and(|run| run.touched == touched)
                && let Some(run) = self.open.remove(&end)
            {
                self.close(run);
            }
        }
    }

    fn close(&mut self, run: Run) {
        self.run_ios.add_times(run.ios, run.ios);
        self.run_bytes.add_times(run.bytes, run.ios);
        if run.ios >= STREAM_IOS {
            self.stream_ios += run.ios;
            self.streams_open -= 1;
        }
    }

    pub(super) fn report(&mut self) -> Report {
        let rest: Vec<Run> = self.open.drain().map(|(_, run)| run).collect();
        rest.into_iter().for_each(|run| self.close(run));
        self.ends.clear();
        let quantiles =
            |histogram: &Histogram| [0.5, 0.9, 0.99].map(|share| histogram.quantile(share));
        Report {
            ios: self.ios,
            followed: self.followed,
            strictly: self.strictly,
            streams: self.streams,
            stream_ios: self.stream_ios,
            streams_most: self.streams_most,
            run_ios: quantiles(&self.run_ios),
            run_bytes: quantiles(&self.run_bytes),
        }
    }
}
