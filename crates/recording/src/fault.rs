//! Where I/O failed, and how: counted by operation, errno and place, in bounded memory however many fail.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use workload::Op;

/// Parts that a target is divided into for counting.
const PARTS: u64 = 64;
const PART_BYTES_MIN: u64 = 4096;

/// Failed I/O of one kind in one range.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The operation.
    pub op: Op,
    /// As in [`crate::Recording::errno`].
    pub errno: i32,
    /// First byte of the first of them.
    pub start_bytes: u64,
    /// Behind the last byte of the last of them.
    pub end_bytes: u64,
    /// How many; not every block of the range need have failed.
    pub n: u64,
}

/// Counts failed I/O of one thread: in each part of the target a range per operation and errno.
#[derive(Debug)]
pub struct FaultCounter {
    part_bytes: u64,
    parts: BTreeMap<(Op, i32, u64), Fault>,
}

impl FaultCounter {
    /// Counts faults of a target of `capacity_bytes`.
    pub fn new(capacity_bytes: u64) -> Self {
        Self {
            part_bytes: capacity_bytes.div_ceil(PARTS).max(PART_BYTES_MIN),
            parts: BTreeMap::new(),
        }
    }

    /// Counts a failed I/O.
    #[cold]
    pub fn count(&mut self, op: Op, errno: i32, offset_bytes: u64, size_bytes: u32) {
        let end_bytes = offset_bytes + u64::from(size_bytes);
        let part = offset_bytes / self.part_bytes;
        let fault = self.parts.entry((op, errno, part)).or_insert(Fault {
            op,
            errno,
            start_bytes: offset_bytes,
            end_bytes,
            n: 0,
        });
        fault.start_bytes = fault.start_bytes.min(offset_bytes);
        fault.end_bytes = fault.end_bytes.max(end_bytes);
        fault.n += 1;
    }

    /// Returns what was counted.
    pub fn into_faults(self) -> Vec<Fault> {
        let mut faults = Vec::new();
        merge_faults(&mut faults, self.parts.into_values());
        faults
    }
}

/// Adds what failed elsewhere; ranges of one kind that touch become one.
pub fn merge_faults(into: &mut Vec<Fault>, from: impl IntoIterator<Item = Fault>) {
    into.extend(from);
    into.sort_by_key(|fault| (fault.op, fault.errno, fault.start_bytes));
    into.dedup_by(|next, fault| {
        let touch =
            (next.op, next.errno) == (fault.op, fault.errno) && next.start_bytes <= fault.end_bytes;
        if touch {
            fault.end_bytes = fault.end_bytes.max(next.end_bytes);
            fault.n += next.n;
        }
        touch
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bad_block_is_told_to_the_byte_and_many_take_no_more_memory() {
        let mut counter = FaultCounter::new(1 << 40);
        counter.count(Op::Read, 5, 123 * 4096, 4096);
        counter.count(Op::Read, 5, 123 * 4096, 4096);
        for block in 0..100_000u64 {
            counter.count(
                Op::Write,
                5,
                block.wrapping_mul(7_368_787) % (1 << 28) * 4096,
                4096,
            );
        }
        let faults = counter.into_faults();
        assert!(faults.len() <= 65, "{}", faults.len());
        let (start_bytes, end_bytes) = (123 * 4096, 124 * 4096);
        let errno = 5;
        let expected = Fault {
            op: Op::Read,
            errno,
            start_bytes,
            end_bytes,
            n: 2,
        };
        assert_eq!(faults[0], expected);
        assert_eq!(
            faults[1..].iter().map(|fault| fault.n).sum::<u64>(),
            100_000
        );
    }

    #[test]
    fn ranges_of_threads_that_touch_become_one_and_kinds_stay_apart() {
        let fault = |op, errno, start_bytes, end_bytes| Fault {
            op,
            errno,
            start_bytes,
            end_bytes,
            n: 1,
        };
        let mut faults = vec![fault(Op::Read, 5, 0, 8), fault(Op::Write, 28, 0, 8)];
        merge_faults(
            &mut faults,
            [fault(Op::Read, 5, 8, 16), fault(Op::Read, 0, 4, 12)],
        );
        assert_eq!(faults.len(), 3);
        assert_eq!(
            (faults[1].start_bytes, faults[1].end_bytes, faults[1].n),
            (0, 16, 2)
        );
    }
}
