//! Which I/Os of a trace conflict: they touch the same bytes, and one of the two writes.

use std::collections::BTreeMap;

const NONE: u32 = u32::MAX;
/// Reads of the same bytes that are remembered for the next write there. One read more waits for the oldest of them.
const MOST_READS: usize = 64;

/// Who touched which bytes last, of I/Os that come in the order of their trace.
#[derive(Debug, Default)]
pub(super) struct Conflicts {
    /// Ranges by their first byte; none overlaps another.
    touched: BTreeMap<u64, Touched>,
}

/// A range whose bytes the same I/Os touched.
#[derive(Clone, Debug)]
struct Touched {
    end: u64,
    /// The last write; `NONE`: none has written here.
    write: u32,
    /// Reads since then.
    reads: Vec<u32>,
}

impl Conflicts {
    /// Notes an I/O of the bytes from `start` to before `end`. Adds to `found` those of before that have to return first,
    /// some perhaps several times. What those waited for has returned before them, so it is not among them.
    pub(super) fn touch(
        &mut self,
        io: u32,
        (start, end): (u64, u64),
        writes: bool,
        found: &mut Vec<u32>,
    ) {
        if start >= end {
            return;
        }
        self.cut(start);
        self.cut(end);
        if writes {
            while let Some((&at, _)) = self.touched.range(start..end).next() {
                let Some(before) = self.touched.remove(&at) else {
                    break;
                };
                // Reads have waited for the write before them.
                match before.reads.is_empty() {
                    true => found.extend((before.write != NONE).then_some(before.write)),
                    false => found.extend(before.reads),
                }
            }
            let written = Touched {
                end,
                write: io,
                reads: Vec::new(),
            };
            self.touched.insert(start, written);
            return;
        }
        let (mut at, mut gaps) = (start, Vec::new());
        for (&from, before) in self.touched.range_mut(start..end) {
            gaps.extend((at < from).then_some((at, from)));
            at = before.end;
            found.extend((before.write != NONE).then_some(before.write));
            if before.reads.len() == MOST_READS {
                found.push(before.reads.remove(0));
            }
            before.reads.push(io);
        }
        gaps.extend((at < end).then_some((at, end)));
        for (from, end) in gaps {
            let read = Touched {
                end,
                write: NONE,
                reads: vec![io],
            };
            self.touched.insert(from, read);
        }
    }

    /// Divides the range that goes over `at` there.
    fn cut(&mut self, at: u64) {
        let Some((&from, before)) = self.touched.range_mut(..at).next_back() else {
            return;
        };
        if from < at && at < before.end {
            let behind = before.clone();
            before.end = at;
            self.touched.insert(at, behind);
        }
    }
}
