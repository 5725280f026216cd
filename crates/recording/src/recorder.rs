//! The recorder of one load-generating thread: what the hot loop counts into, and the cut that
//! turns a second's counts into an [`Interval`]. It reads no clock.

use std::collections::BTreeMap;

use workload::Op;

use crate::{Histogram, Interval, OpBins, OpStats};

/// I/O of one operation since the last cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Successful I/O.
    pub count: u64,
    /// Their service latencies, summed.
    pub sum_ns: u128,
    /// Their response latencies, summed; 0 under closed load.
    pub response_ns: u128,
    /// Bytes they moved.
    pub bytes: u64,
}

impl Tally {
    /// Returns what was counted after `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            count: self.count - earlier.count,
            sum_ns: self.sum_ns - earlier.sum_ns,
            response_ns: self.response_ns - earlier.response_ns,
            bytes: self.bytes - earlier.bytes,
        }
    }

    /// Adds another.
    pub fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.response_ns += other.response_ns;
        self.bytes += other.bytes;
    }
}

/// Successful I/O of one operation that took equally long, to be counted together.
#[derive(Clone, Copy, Debug)]
pub struct IoGroup {
    /// What they did.
    pub op: Op,
    /// Service latency of each, ns.
    pub service_ns: u64,
    /// Bytes that they moved together.
    pub bytes: u64,
    /// How many; with 0 nothing is counted.
    pub n: u32,
}

#[derive(Debug, Default)]
struct HotOp {
    service: Histogram,
    response: Histogram,
    bytes: u64,
    errors: u64,
}

/// Counts one thread's I/O. Nothing allocates between two cuts.
#[derive(Debug)]
pub struct Recorder {
    ops: [HotOp; Op::COUNT],
    failed_ns: u64,
    index: u32,
    start_ns: u64,
    /// Summed age of the I/O in flight when the interval began.
    age_at_start_ns: u64,
}

impl Default for Recorder {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Recorder {
    /// Returns a recorder whose first interval starts at `start_ns`, with nothing in flight.
    pub fn new(start_ns: u64) -> Self {
        Self {
            ops: Default::default(),
            failed_ns: 0,
            index: 0,
            start_ns,
            age_at_start_ns: 0,
        }
    }

    /// Counts a successful I/O.
    #[inline]
    pub fn record(&mut self, op: Op, service_ns: u64, bytes: u64) {
        let hot = &mut self.ops[op as usize];
        hot.service.record(service_ns);
        hot.bytes += bytes;
    }

    /// Counts successful I/O that are alike, for the price of one.
    #[inline]
    pub fn record_group(&mut self, group: IoGroup) {
        if group.n > 0 {
            let hot = &mut self.ops[group.op as usize];
            hot.service.record_n(group.service_ns, group.n);
            hot.bytes += group.bytes;
        }
    }

    /// Counts a successful I/O of an open load; `response_ns` runs from its intended start.
    #[inline]
    pub fn record_open(&mut self, op: Op, service_ns: u64, response_ns: u64, bytes: u64) {
        self.record(op, service_ns, bytes);
        self.ops[op as usize].response.record(response_ns);
    }

    /// Counts a failed I/O that was in flight for `service_ns`.
    #[cold]
    pub fn fail(&mut self, op: Op, service_ns: u64) {
        self.ops[op as usize].errors += 1;
        self.failed_ns += service_ns;
    }

    /// Returns what was counted since the last cut, per operation in the order of [`Op::ALL`].
    pub fn tallies(&self) -> [Tally; Op::COUNT] {
        std::array::from_fn(|op| {
            let hot = &self.ops[op];
            Tally {
                count: hot.service.count(),
                sum_ns: hot.service.sum_ns(),
                response_ns: hot.response.sum_ns(),
                bytes: hot.bytes,
            }
        })
    }

    /// Latencies counted since the last cut, per operation in the order of [`Op::ALL`].
    pub fn bins(&self) -> [OpBins; Op::COUNT] {
        std::array::from_fn(|op| OpBins {
            service: self.ops[op].service.bins(),
            response: self.ops[op].response.bins(),
        })
    }

    /// Ends the interval at `now_ns` and starts the next there. `in_flight_age_ns` is the summed age, at `now_ns`, of
    /// the I/O in flight. It makes the mean outstanding I/O exact: the area under the in-flight curve is the completed
    /// latencies plus the ages' increase.
    pub fn cut(&mut self, now_ns: u64, in_flight_age_ns: u64) -> Interval {
        let mut ops = BTreeMap::new();
        let mut completed_ns = u128::from(std::mem::take(&mut self.failed_ns));
        for (op, hot) in Op::ALL.into_iter().zip(&mut self.ops) {
            if hot.service.count() == 0 && hot.errors == 0 {
                continue;
            }
            completed_ns += hot.service.sum_ns();
            let service = hot.service.take();
            let response = (hot.response.count() > 0).then(|| hot.response.take());
            let (bytes, errors) = (
                std::mem::take(&mut hot.bytes),
                std::mem::take(&mut hot.errors),
            );
            ops.insert(
                op,
                OpStats {
                    bytes,
                    errors,
                    service,
                    response,
                },
            );
        }
        let length_ns = now_ns.saturating_sub(self.start_ns);
        let area_ns = (completed_ns + u128::from(in_flight_age_ns))
            .saturating_sub(u128::from(self.age_at_start_ns));
        let interval = Interval {
            index: self.index,
            start_ns: self.start_ns,
            length_ns,
            ops,
            mean_outstanding: (length_ns > 0).then(|| area_ns as f64 / length_ns as f64),
            ..Interval::default()
        };
        self.index += 1;
        self.start_ns = now_ns;
        self.age_at_start_ns = in_flight_age_ns;
        interval
    }
}
