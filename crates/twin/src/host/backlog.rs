//! Arrivals of an open load that wait for a slot. The earliest are kept; a long backlog takes no memory for the others,
//! whose times are drawn again.

use std::collections::VecDeque;

use workload::RequestStream;

/// Arrival times kept for a thread. Fewer wait except under overload.
const KEPT: usize = 1024;

/// A thread's arrivals that no request has taken.
#[derive(Default)]
pub(super) struct Backlog {
    /// The first of them, from the start of the job.
    kept_ns: VecDeque<u64>,
    /// How many follow those kept.
    more: u64,
    /// The thread's stream as it was after the last of those kept: it draws the times of the others again.
    again: Option<Box<RequestStream>>,
}

impl Backlog {
    /// Returns how many wait.
    pub(super) fn len(&self) -> u64 {
        self.kept_ns.len() as u64 + self.more
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.kept_ns.is_empty() && self.more == 0
    }

    /// Adds an arrival at `at_ns`, the one that `stream` drew last.
    #[inline]
    pub(super) fn push(&mut self, at_ns: u64, stream: &RequestStream) {
        if self.again.is_some() {
            self.more += 1;
            return;
        }
        self.kept_ns.push_back(at_ns);
        if self.kept_ns.len() == KEPT {
            self.again = Some(Box::new(stream.clone()));
        }
    }

    /// Takes the first.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<u64> {
        self.kept_ns.pop_front().or_else(|| self.draw_again())
    }

    #[cold]
    fn draw_again(&mut self) -> Option<u64> {
        self.more = self.more.checked_sub(1)?;
        let at_ns = self.again.as_mut()?.next_arrival_ns();
        if self.more == 0 {
            self.again = None;
        }
        Some(at_ns)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use workload::{Geometry, Job};

    use super::*;

    fn stream() -> RequestStream {
        let body = r#"{"mix":"read","block":"4KiB","pattern":"uniform","until":{"time":"1s"},
            "load":{"rate":"100k/s","arrival":"exponential","threads":1,"iodepth":1}}"#;
        let job = Job::from_json(body, "backlog").expect("valid");
        let geometry = Geometry {
            capacity_bytes: 1 << 30,
            block_bytes: 4096,
        };
        let mut streams = RequestStream::of_threads(&job, geometry, 1).expect("fits");
        streams.remove(0)
    }

    proptest! {
        /// Runs of arrivals and of requests that take them, some of them far longer than what is kept.
        #[test]
        fn arrivals_leave_a_backlog_of_any_length_in_the_order_and_with_the_times_that_they_came(
            runs in proptest::collection::vec((0..2 * KEPT, 0..2 * KEPT), 1..12)
        ) {
            let (mut stream, mut backlog) = (stream(), Backlog::default());
            let mut expected = VecDeque::new();
            for (arrivals, requests) in runs {
                for _ in 0..arrivals {
                    let at_ns = stream.next_arrival_ns();
                    backlog.push(at_ns, &stream);
                    expected.push_back(at_ns);
                }
                for _ in 0..requests {
                    prop_assert_eq!(backlog.pop(), expected.pop_front());
                }
                prop_assert_eq!(backlog.len(), expected.len() as u64);
                prop_assert_eq!(backlog.is_empty(), expected.is_empty());
                prop_assert!(backlog.kept_ns.len() <= KEPT);
            }
        }
    }
}
