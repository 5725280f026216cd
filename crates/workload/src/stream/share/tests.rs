//! However threads take turns: each I/O is issued once, and those that conflict keep the order of the trace.

use proptest::prelude::*;

use super::*;
use crate::Request;
use crate::stream::random::{Purpose, Random};

const BLOCK_BYTES: u64 = 512;

fn row(number: usize, start: u64, blocks: u64, op: Op) -> Row {
    let (offset_bytes, size_bytes) = match op {
        Op::Flush => (0, 0),
        _ => (start * BLOCK_BYTES, blocks * BLOCK_BYTES),
    };
    Row {
        // By its time each I/O is known again.
        arrival_ns: number as u64,
        request: Request {
            offset_bytes,
            size_bytes: size_bytes as u32,
            placement: Request::NO_PLACEMENT,
            op,
        },
    }
}

fn conflict(one: &Row, other: &Row) -> bool {
    let range = |row: &Row| {
        let start = row.request.offset_bytes;
        (start, start + u64::from(row.request.size_bytes))
    };
    let ((start, end), (from, to)) = (range(one), range(other));
    let read = |row: &Row| row.request.op == Op::Read;
    start.max(from) < end.min(to) && !(read(one) && read(other))
}

/// What a thread has done: how many of its I/Os it has issued, and which are out, with their marks.
struct Turn {
    rows: Arc<[Row]>,
    share: Share,
    next: usize,
    out: Vec<(usize, u32)>,
}

/// Lets threads issue and return in random turns, and checks what is out at each issue. Returns the most that were.
fn take_turns(rows: &[Row], threads: usize, iodepth: usize, seed: u64) -> usize {
    let mut turns: Vec<_> = shares(rows, threads)
        .into_iter()
        .map(|(rows, share)| Turn {
            rows,
            share,
            next: 0,
            out: Vec::new(),
        })
        .collect();
    let mut returned = vec![false; rows.len()];
    let mut issued = vec![false; rows.len()];
    let mut random = Random::new(seed, 0, Purpose::Requests);
    let (mut stuck, mut most) = (0, 0);
    while turns.iter().any(|turn| turn.next < turn.rows.len()) {
        let draw = random.next();
        let turn = &mut turns[draw as usize % threads];
        let issues = draw >> 32 & 3 > 0;
        if issues && turn.next < turn.rows.len() && turn.out.len() < iodepth {
            if turn.share.holds(turn.next) {
                stuck += 1;
                assert!(stuck < 100_000, "nothing goes on");
                continue;
            }
            let mark = turn.share.mark(turn.next);
            turn.share.pass(turn.next);
            let number = turn.rows[turn.next].arrival_ns as usize;
            turn.next += 1;
            assert!(!std::mem::replace(&mut issued[number], true), "twice");
            let early = (0..number)
                .find(|&before| !returned[before] && conflict(&rows[before], &rows[number]));
            assert_eq!(early, None, "of {number}");
            turn.out.push((number, mark));
            most = most.max(turns.iter().map(|turn| turn.out.len()).sum());
        } else if !turn.out.is_empty() {
            let (number, mark) = turn.out.swap_remove((draw >> 40) as usize % turn.out.len());
            turn.share.returned(mark, 1);
            returned[number] = true;
            stuck = 0;
        }
    }
    assert!(issued.iter().all(|&issued| issued));
    most
}

proptest! {
    #[test]
    fn conflicting_ios_keep_their_order_and_each_is_issued_once(
        ios in proptest::collection::vec((0..48u64, 1..12u64, 0..5u8), 1..200),
        threads in 2..6usize,
        iodepth in 1..40usize,
        seed in any::<u64>(),
    ) {
        let rows: Vec<_> = ios
            .into_iter()
            .enumerate()
            .map(|(number, (start, blocks, op))| {
                let op = [Op::Read, Op::Read, Op::Write, Op::Write, Op::Flush][usize::from(op)];
                row(number, start, blocks, op)
            })
            .collect();
        take_turns(&rows, threads, iodepth, seed);
    }
}

#[test]
fn more_reads_of_the_same_bytes_than_are_remembered_still_come_before_the_write_after_them() {
    let reads = (0..500).map(|number| row(number, number as u64 % 3, 2, Op::Read));
    let mut rows: Vec<_> = reads.collect();
    rows.push(row(500, 1, 1, Op::Write));
    for seed in 0..20 {
        take_turns(&rows, 3, 200, seed);
    }
}

#[test]
fn ios_without_conflicts_are_divided_evenly_and_none_waits() {
    let rows: Vec<_> = (0..300)
        .map(|n| row(n, 2 * n as u64, 2, Op::Write))
        .collect();
    let parts = shares(&rows, 3);
    for (rows, share) in &parts {
        assert_eq!((rows.len(), share.holds.len()), (100, 0));
    }
    assert!(take_turns(&rows, 3, 32, 1) > 64);
}

#[test]
fn a_chain_of_writes_to_one_place_stays_on_one_thread_and_leaves_another_free() {
    let rows: Vec<_> = (0..100).map(|n| row(n, 0, 8, Op::Write)).collect();
    let parts = shares(&rows, 2);
    let lengths: Vec<_> = parts.iter().map(|(rows, _)| rows.len()).collect();
    assert_eq!(lengths, [100, 0]);
    assert_eq!(take_turns(&rows, 2, 32, 1), 1);
}
