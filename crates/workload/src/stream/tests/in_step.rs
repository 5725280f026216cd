//! Threads in step: who is held, and who goes on alone.

use super::*;
use crate::{Flow, Stream};

fn in_step(weights: [u32; 2]) -> Vec<RequestStream> {
    let stream = |(name, weight): (&str, u32)| Stream {
        name: name.into(),
        job: read_4k(Pattern::Uniform),
        targets: Vec::new(),
        flow: Some(Flow {
            weight,
            pause_ns: 0,
        }),
        exitall: false,
    };
    let until = read_4k(Pattern::Uniform).until;
    let streams = ["a", "b"].into_iter().zip(weights).map(stream).collect();
    let both = Job::of_streams(streams, true, Errors::default(), until);
    RequestStream::of_threads(&both, GEOMETRY, 1).expect("fits")
}

/// Issues whatever may be, the later thread first, so often.
fn issued(threads: &mut [RequestStream], times: usize) -> Vec<u32> {
    let mut counts = vec![0; threads.len()];
    for _ in 0..times {
        let free = (0..threads.len())
            .rev()
            .find(|&thread| !threads[thread].is_held());
        let thread = free.expect("one may always issue");
        threads[thread].next_request();
        counts[thread] += 1;
    }
    counts
}

#[test]
fn threads_issue_in_proportion_to_their_weights() {
    for (weights, expected) in [([1, 4], [100, 400]), ([3, 1], [300, 100])] {
        let counts = issued(&mut in_step(weights), expected.iter().sum());
        // One of them may be an I/O ahead.
        let off = |thread: usize| counts[thread].abs_diff(expected[thread] as u32);
        assert!(off(0) <= 1 && off(1) <= 1, "{counts:?}");
    }
}

#[test]
fn a_thread_whose_company_has_left_is_held_no_more() {
    let mut threads = in_step([1, 1]);
    issued(&mut threads, 10);
    threads[0].leave();
    assert_eq!(issued(&mut threads[1..], 100), [100]);
}
