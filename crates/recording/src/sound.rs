//! Whether counts that came over a wire can be what somebody counted: code that adds them up relies on it.

use std::collections::BTreeMap;

use workload::Op;

use crate::{Batch, Interval, OpStats, Recording, Streams};

/// Most of anything in one interval: no machine moves that many bytes, or waits that many ns, in a second or a minute.
const MOST_OF_INTERVAL: u64 = 1 << 48;
/// Most of anything in a step: the sum over a thousand hosts is within 64 bits.
const MOST_OF_STEP: u64 = 1 << 54;

impl Interval {
    /// Returns whether somebody can have counted this.
    pub fn is_sound(&self) -> bool {
        let most = MOST_OF_INTERVAL;
        self.start_ns <= MOST_OF_STEP
            && (1..=most).contains(&self.length_ns)
            && ops_are_sound(&self.ops, most)
            && streams_are_sound(&self.streams, most)
            && [self.offered, self.backlog]
                .into_iter()
                .flatten()
                .all(|n| n <= most)
    }
}

impl Recording {
    /// Returns whether somebody can have counted this.
    pub fn is_sound(&self) -> bool {
        let most = MOST_OF_STEP;
        self.window_ns <= most
            && ops_are_sound(&self.ops, most)
            && streams_are_sound(&self.streams, most)
            && self.batches.iter().all(|batch| batch_is_sound(batch, most))
            && self
                .gpu
                .iter()
                .all(|gpu| gpu.copy_bytes_per_s > 0.0 && gpu.copy_bytes_per_s.is_finite())
            && [self.offered, self.backlog]
                .into_iter()
                .flatten()
                .chain(self.errno.values().copied())
                .all(|n| n <= most)
    }
}

fn ops_are_sound(ops: &BTreeMap<Op, OpStats>, most: u64) -> bool {
    ops.values().all(|op| {
        op.bytes <= most
            && op.errors <= most
            && op.service.is_sound(most)
            && op
                .response
                .as_ref()
                .is_none_or(|response| response.is_sound(most))
    })
}

fn streams_are_sound(streams: &Streams, most: u64) -> bool {
    streams.values().all(|ops| ops_are_sound(ops, most))
}

fn batch_is_sound(batch: &Batch, most: u64) -> bool {
    let of_streams = batch.streams.values().flat_map(BTreeMap::values);
    batch
        .ops
        .values()
        .chain(of_streams)
        .all(|op| op.service.is_sound(most) && op.response.is_sound(most))
}

#[cfg(test)]
mod tests {
    use workload::Op;

    use crate::{Interval, Recorder, Recording};

    fn interval() -> Interval {
        let mut recorder = Recorder::new(0);
        recorder.record(Op::Read, 1_000, 4_096);
        recorder.record(Op::Read, 90_000, 4_096);
        recorder.cut(1_000_000_000, 0)
    }

    /// The interval with one part of its JSON replaced.
    fn altered(part: &str, by: &str) -> Interval {
        let text = serde_json::to_string(&interval()).unwrap();
        assert!(text.contains(part), "{part} is not in {text}");
        serde_json::from_str(&text.replace(part, by)).unwrap()
    }

    #[test]
    fn what_was_counted_is_sound() {
        assert!(interval().is_sound());
        assert!(Recording::from_intervals(&[interval(), interval()]).is_sound());
        assert!(Recording::default().is_sound());
    }

    #[test]
    fn what_nobody_can_have_counted_is_not() {
        for (part, by) in [
            ("\"count\":2", "\"count\":3"),
            ("\"min_ns\":1000", "\"min_ns\":18446744073709551615"),
            ("\"max_ns\":90000", "\"max_ns\":0"),
            ("\"sum_ns\":91000", "\"sum_ns\":1"),
            ("\"bytes\":8192", "\"bytes\":18446744073709551615"),
            ("\"length_ns\":1000000000", "\"length_ns\":0"),
            ("\"start_ns\":0", "\"start_ns\":18446744073709551615"),
            ("\"bins\":[[", "\"bins\":[[65535,1],["),
        ] {
            assert!(!altered(part, by).is_sound(), "{part} -> {by}");
        }
    }
}
