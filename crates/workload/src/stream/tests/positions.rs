//! Positions of ordered patterns: where threads begin, what follows on from what, and what a shared position gives to
//! threads that draw at the same time.

use std::collections::BTreeMap;

use super::*;

const BLOCKS: u64 = 12;
const SMALL: Geometry = Geometry {
    capacity_bytes: BLOCKS * 4096,
    block_bytes: 512,
};

fn position(threads: ThreadPositions, operations: Option<OperationPositions>) -> Position {
    Position {
        threads,
        operations,
        ahead_bytes: 0,
    }
}

fn with(pattern: Pattern, threads: u32, position: Position) -> Job {
    let mut job = read_4k(pattern);
    job.load = Load::Closed {
        threads,
        iodepth: 1,
    };
    job.position = position;
    job
}

fn places(job: &Job, thread: u32, count: usize) -> Vec<u64> {
    let requests = draw(job, SMALL, 1, thread, count);
    let block = |request: &Request| request.offset_bytes / 4096;
    requests.iter().map(block).collect()
}

#[test]
fn a_job_that_continues_draws_what_the_first_would_have_drawn_next() {
    for threads in [ThreadPositions::Part, ThreadPositions::Start] {
        let job = with(Pattern::Sequential, 3, position(threads, None));
        for drawn in [0, 1, 5, 11, 12, 40] {
            let moved_bytes = BTreeMap::from([(String::new(), 3 * 4096 * drawn as u64)]);
            let continued = job.continued(&moved_bytes);
            for thread in 0..3 {
                let expected = places(&job, thread, drawn + 30).split_off(drawn);
                assert_eq!(places(&continued, thread, 30), expected, "after {drawn}");
            }
        }
    }
}

#[test]
fn every_thread_begins_where_a_single_one_does() {
    let start = position(ThreadPositions::Start, None);
    for (pattern, expected) in [
        (Pattern::Sequential, [0, 1, 2]),
        (Pattern::Backwards, [11, 10, 9]),
        (
            Pattern::Strided {
                stride_bytes: 16_384,
            },
            [0, 4, 8],
        ),
        (
            // The first turn is the second stream's.
            Pattern::SequentialStreams { streams: 2 },
            [6, 0, 7],
        ),
        (
            Pattern::Mixed {
                read: 0.0,
                write: 0.0,
            },
            [0, 1, 2],
        ),
    ] {
        let job = with(pattern, 3, start);
        for thread in 0..3 {
            assert_eq!(places(&job, thread, 3), expected, "{:?}", job.pattern);
        }
    }
}

#[test]
fn the_threads_of_a_shared_position_take_the_places_of_one_thread_in_turn() {
    let job = with(
        Pattern::Sequential,
        3,
        position(ThreadPositions::Shared, None),
    );
    let mut streams = RequestStream::of_threads(&job, SMALL, 1).expect("fits");
    let places: Vec<u64> = (0..30)
        .map(|turn| streams[turn * turn % 3].next_request().offset_bytes / 4096)
        .collect();
    let closed_form: Vec<u64> = (0..30).map(|turn| turn % BLOCKS).collect();
    assert_eq!(places, closed_form);
}

#[test]
fn threads_that_draw_at_the_same_time_visit_every_place_once_per_pass() {
    let (threads, passes) = (4, 500);
    let mut job = with(
        Pattern::Sequential,
        threads,
        position(ThreadPositions::Shared, None),
    );
    // Seven blocks and a remainder that no request crosses into.
    job.region.size = Extent::Bytes(7 * 4096 + 512);
    let mut streams = RequestStream::of_threads(&job, SMALL, 1).expect("fits");
    let draws = 7 * passes / u64::from(threads);
    let drawn: Vec<Vec<u64>> = std::thread::scope(|scope| {
        let threads: Vec<_> = streams
            .iter_mut()
            .map(|stream| {
                scope.spawn(move || {
                    (0..draws)
                        .map(|_| stream.next_request().offset_bytes)
                        .collect()
                })
            })
            .collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined.map(|drawn| drawn.expect("no panic")).collect()
    });
    let mut visits = BTreeMap::new();
    for place in drawn.iter().flatten() {
        *visits.entry(place / 4096).or_insert(0) += 1;
    }
    let expected: BTreeMap<u64, u64> = (0..7).map(|place| (place, passes)).collect();
    assert_eq!(visits, expected);
}

#[test]
fn blocks_of_several_sizes_follow_on_from_a_shared_position_without_gaps() {
    let mut job = job(
        Pattern::Sequential,
        vec![block(Op::Write, 1.0, &[(4096, 1.0), (12_288, 1.0)])],
        2,
    );
    job.position = position(ThreadPositions::Shared, None);
    let mut streams = RequestStream::of_threads(&job, GEOMETRY, 1).expect("fits");
    let mut end_bytes = 0;
    for turn in 0..1000 {
        let request = streams[turn % 2].next_request();
        assert_eq!(request.offset_bytes, end_bytes);
        end_bytes += u64::from(request.size_bytes);
    }
}

/// Places of a thread by operation, of a job that reads, writes and trims.
fn by_op(pattern: Pattern, operations: Option<OperationPositions>) -> BTreeMap<Op, Vec<u64>> {
    let ops = [Op::Read, Op::Write, Op::Trim].map(|op| block(op, 1.0, &[(4096, 1.0)]));
    let mut job = job(pattern, ops.to_vec(), 1);
    job.position = position(ThreadPositions::Part, operations);
    let mut places = BTreeMap::new();
    for request in draw(&job, GEOMETRY, 1, 0, 3000) {
        let of_op: &mut Vec<u64> = places.entry(request.op).or_default();
        of_op.push(request.offset_bytes / 4096);
    }
    places
}

#[test]
fn operations_apart_are_each_sequential_from_the_start_and_together_they_are_one_sequence() {
    let in_order = |places: &[u64]| (0..).zip(places).all(|(at, &place)| at == place);
    for pattern in [
        Pattern::Sequential,
        Pattern::Mixed {
            read: 0.0,
            write: 0.0,
        },
    ] {
        let apart = by_op(pattern.clone(), Some(OperationPositions::Apart));
        assert_eq!(apart.len(), 3);
        assert!(apart.values().all(|places| in_order(places)), "{pattern:?}");
        let together = by_op(pattern.clone(), Some(OperationPositions::Together));
        let mut places: Vec<u64> = together.into_values().flatten().collect();
        places.sort_unstable();
        assert!(in_order(&places) && places.len() == 3000, "{pattern:?}");
    }
}

#[test]
fn a_thread_follows_on_behind_the_jump_of_another_that_shares_its_position() {
    let share = 0.5;
    let pattern = Pattern::Mixed {
        read: share,
        write: share,
    };
    let mut job = with(pattern, 2, position(ThreadPositions::Shared, None));
    job.region.size = Extent::Bytes(1 << 30);
    let mut streams = RequestStream::of_threads(&job, GEOMETRY, 1).expect("fits");
    let (mut end_bytes, mut followed) = (0, 0);
    for turn in 0..100_000 {
        let request = streams[turn % 2].next_request();
        followed += u32::from(request.offset_bytes == end_bytes);
        end_bytes = request.offset_bytes + 4096;
    }
    let followed = f64::from(followed) / 100_000.0;
    assert!((followed - share).abs() < 0.01, "{followed}");
}

#[test]
fn the_streams_of_a_job_share_no_position_with_each_other() {
    let shared = || {
        with(
            Pattern::Sequential,
            2,
            position(ThreadPositions::Shared, None),
        )
    };
    let streams = ["one", "two"].map(|name| crate::Stream {
        name: name.into(),
        job: shared(),
        targets: Vec::new(),
        flow: None,
        exitall: false,
    });
    let until = shared().until;
    let both = Job::of_streams(streams.into(), true, Errors::default(), until);
    let mut streams = RequestStream::of_threads(&both, SMALL, 1).expect("fits");
    let mut next = |thread: usize| streams[thread].next_request().offset_bytes / 4096;
    assert_eq!([0, 1, 2, 3, 0].map(&mut next), [0, 1, 0, 1, 2]);
}
