//! Patterns that go through a region in an order: what they cover, and how often.

use super::*;
use crate::{Extent, Load, Pattern, Region};

#[test]
fn sequential_threads_together_cover_the_region_exactly_once_per_pass() {
    let geometry = Geometry {
        capacity_bytes: 1003 * 4 * KIB,
        block_bytes: 4096,
    };
    let mut job = read_4k(Pattern::Sequential);
    job.region = Region {
        start: Extent::Bytes(3 * 4096),
        size: Extent::Bytes(1000 * 4096),
        part: None,
    };
    for threads in [1, 3, 7] {
        job.load = Load::Closed {
            threads,
            iodepth: 1,
        };
        let starts = (0..=threads).map(|thread| 1000 * thread as usize / threads as usize);
        let starts: Vec<usize> = starts.collect();
        let mut seen = vec![0; 1003];
        for thread in 0..threads {
            let count = starts[thread as usize + 1] - starts[thread as usize];
            for request in draw(&job, geometry, 1, thread, count) {
                seen[(request.offset_bytes / 4096) as usize] += 1;
            }
        }
        assert_eq!(seen[..3], [0; 3]);
        assert!(
            seen[3..].iter().all(|&times| times == 1),
            "{threads} threads"
        );
    }
}

#[test]
fn a_sequential_thread_wraps_at_the_end_of_the_region() {
    let geometry = Geometry {
        capacity_bytes: 10 * 4 * KIB,
        block_bytes: 4096,
    };
    let mut job = read_4k(Pattern::Sequential);
    job.load = Load::Closed {
        threads: 2,
        iodepth: 1,
    };
    let blocks: Vec<u64> = draw(&job, geometry, 1, 1, 12)
        .iter()
        .map(|request| request.offset_bytes / 4096)
        .collect();
    assert_eq!(blocks, [5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5, 6]);
}

/// Blocks visited by all threads, in order per thread, in passes of `region_blocks`.
fn blocks_of(
    pattern: Pattern,
    region_blocks: u64,
    threads: u32,
    passes: u64,
    seed: u64,
) -> Vec<Vec<u64>> {
    let geometry = Geometry {
        capacity_bytes: (region_blocks + 3) * 4096,
        block_bytes: 512,
    };
    let mut job = read_4k(pattern);
    job.load = Load::Closed {
        threads,
        iodepth: 1,
    };
    job.region = Region {
        start: Extent::Bytes(3 * 4096),
        size: Extent::Bytes(region_blocks * 4096),
        part: None,
    };
    job.until.count = Some(region_blocks * passes);
    (0..threads)
        .map(|thread| {
            let count = job.limits_of(thread, region_blocks * 4096).count;
            let requests = draw(&job, geometry, seed, thread, count as usize);
            requests
                .iter()
                .map(|request| request.offset_bytes / 4096 - 3)
                .collect()
        })
        .collect()
}

proptest::proptest! {
    #[test]
    fn threads_together_visit_every_block_once_per_pass(
        blocks in 1..3000u64, threads in 1..9u32, passes in 1..5u64, seed: u64,
    ) {
        let threads = threads.min(blocks as u32);
        for pattern in [Pattern::RandomOnce, Pattern::Sequential] {
            let parts = blocks_of(pattern.clone(), blocks, threads, passes, seed);
            let mut visits = vec![0; blocks as usize];
            parts.iter().flatten().for_each(|&block| visits[block as usize] += 1);
            proptest::prop_assert!(visits.iter().all(|&n| n == passes), "{pattern:?}: {visits:?}");
        }
    }

    #[test]
    fn a_pass_by_bytes_is_one_by_count_also_where_the_region_ends_within_a_block(
        blocks in 1..3000u64, threads in 1..9u32, multiple in 1..4u32, rest in 0..8u64,
    ) {
        let threads = threads.min(blocks as u32);
        let mut by_bytes = read_4k(Pattern::RandomOnce);
        by_bytes.load = Load::Closed { threads, iodepth: 1 };
        by_bytes.until = Until { count: None, region_multiple: Some(f64::from(multiple)), ..by_bytes.until };
        let mut by_count = by_bytes.clone();
        by_count.until = Until { count: Some(u64::from(multiple) * blocks), region_multiple: None, ..by_bytes.until };
        for thread in 0..threads {
            let limits = [&by_bytes, &by_count].map(|job| job.limits_of(thread, blocks * 4096 + rest * 512));
            proptest::prop_assert_eq!(limits[0].bytes, limits[1].count * 4096);
        }
    }
}

#[test]
fn random_once_is_in_no_visible_order_and_in_another_one_each_pass() {
    let blocks = 1 << 16;
    let visits = blocks_of(Pattern::RandomOnce, blocks, 1, 2, 5).remove(0);
    let (first, second) = visits.split_at(blocks as usize);
    // Distances between neighbours of a random order fill all 64 sixty-fourths of the region alike.
    let mut seen = [0; 64];
    for pair in first.windows(2) {
        let distance = (pair[1] + blocks - pair[0]) % blocks;
        seen[(distance * 64 / blocks) as usize] += 1;
    }
    let z = chi_square_z(&seen, &[(blocks - 1) as f64 / 64.0; 64]);
    assert!(z.abs() < 4.0, "z = {z}");
    let in_place = first.iter().zip(second).filter(|(a, b)| a == b).count();
    assert!(
        in_place < 10,
        "{in_place} visits of the second pass are those of the first"
    );
}

#[test]
fn random_once_needs_a_block_for_every_thread() {
    let geometry = Geometry {
        capacity_bytes: 3 * 4096,
        block_bytes: 512,
    };
    let mut job = read_4k(Pattern::RandomOnce);
    job.load = Load::Closed {
        threads: 4,
        iodepth: 1,
    };
    let error = RequestStream::new(&job, geometry, 1, 0).expect_err("refused");
    assert!(
        error
            .to_string()
            .contains("3 blocks cannot be visited once by 4 threads"),
        "{error}"
    );
}

#[test]
fn backwards_descends_from_each_threads_share_and_wraps_to_the_end() {
    let parts = blocks_of(Pattern::Backwards, 10, 2, 2, 1);
    assert_eq!(parts[0], [4, 3, 2, 1, 0, 9, 8, 7, 6, 5]);
    assert_eq!(parts[1], [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
}

#[test]
fn streams_ascend_side_by_side_and_cover_the_region_once_per_pass() {
    let parts = blocks_of(Pattern::SequentialStreams { streams: 2 }, 12, 2, 1, 1);
    assert_eq!(parts[0], [3, 0, 4, 1, 5, 2]);
    assert_eq!(parts[1], [9, 6, 10, 7, 11, 8]);
}

#[test]
fn a_stride_leaves_gaps_that_later_laps_fill() {
    let stride = |blocks: u64| Pattern::Strided {
        stride_bytes: blocks * 4096,
    };
    let parts = blocks_of(stride(4), 12, 1, 1, 1);
    assert_eq!(parts[0], [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]);
    let again = blocks_of(stride(5), 12, 1, 2, 1).remove(0);
    assert_eq!(again[..12], [0, 5, 10, 1, 6, 11, 2, 7, 3, 8, 4, 9]);
    assert_eq!(again[12..], again[..12]);
}

#[test]
fn strips_are_read_whole_and_what_lies_between_them_never() {
    let strips = Pattern::Strips {
        strip_bytes: 2 * 4096,
        gap_bytes: 3 * 4096,
    };
    let one = blocks_of(strips.clone(), 12, 1, 1, 1).remove(0);
    assert_eq!(one, [0, 1, 5, 6, 10, 11, 0, 1, 5, 6, 10, 11]);
    let cut = blocks_of(strips.clone(), 11, 1, 1, 1).remove(0);
    assert_eq!(cut[..6], [0, 1, 5, 6, 10, 0]);
    let two = blocks_of(strips, 12, 2, 1, 1);
    assert_eq!(
        (&two[0][..4], &two[1][..4]),
        (&[0, 1, 5, 6][..], &[5, 6, 10, 11][..])
    );
}

#[test]
fn listed_blocks_come_in_their_order_and_move_on_where_asked() {
    let listed = |moves| Pattern::Blocks {
        order: vec![2, 0, 1],
        moves,
    };
    let stays = blocks_of(listed(false), 12, 1, 1, 1).remove(0);
    assert_eq!(stays[..7], [2, 0, 1, 2, 0, 1, 2]);
    let moves = blocks_of(listed(true), 12, 1, 1, 1).remove(0);
    assert_eq!(moves, [2, 0, 1, 5, 3, 4, 8, 6, 7, 11, 9, 10]);
    let job = job(
        listed(false),
        vec![block(Op::Read, 1.0, &[(1 << 20, 1.0)])],
        1,
    );
    let small = Geometry {
        capacity_bytes: 2 << 20,
        block_bytes: 512,
    };
    let refused = RequestStream::new(&job, small, 1, 0).unwrap_err();
    assert_eq!(refused, StreamError::NoBlock { block: 2, units: 2 });
}

#[test]
fn operations_are_aligned_each_by_its_own_alignment() {
    let mut ops = vec![
        block(Op::Read, 1.0, &[(4096, 1.0), (65_536, 1.0)]),
        block(Op::Write, 1.0, &[(65_536, 1.0)]),
    ];
    ops[0].align_bytes = Some(4096);
    ops[1].align_bytes = Some(1 << 20);
    let requests = draw(&job(Pattern::Uniform, ops, 1), GEOMETRY, 3, 0, 4000);
    let of = |op| requests.iter().filter(move |one| one.op == op);
    assert!(of(Op::Write).all(|one| one.offset_bytes.is_multiple_of(1 << 20)));
    let large = of(Op::Read).filter(|one| one.size_bytes == 65_536);
    assert!(
        large
            .clone()
            .all(|one| one.offset_bytes.is_multiple_of(4096))
    );
    assert!(
        large
            .clone()
            .any(|one| !one.offset_bytes.is_multiple_of(65_536))
    );
}

/// Shares of (reads, writes) that do not start where the one before of their kind ended.
fn jumps(requests: &[Request]) -> [f64; 2] {
    [Op::Read, Op::Write].map(|op| {
        let own: Vec<_> = requests.iter().filter(|request| request.op == op).collect();
        let jumps = own.windows(2).filter(|pair| {
            pair[1].offset_bytes != pair[0].offset_bytes + u64::from(pair[0].size_bytes)
        });
        jumps.count() as f64 / own.len() as f64
    })
}

#[test]
fn a_mixed_pattern_jumps_in_the_shares_asked_for_and_follows_on_otherwise() {
    let pattern = Pattern::Mixed {
        read: 0.8,
        write: 0.2,
    };
    let ops = vec![
        block(Op::Read, 60.0, &[(8192, 90.0), (32768, 10.0)]),
        block(Op::Write, 40.0, &[(32768, 1.0)]),
    ];
    let [reads, writes] = jumps(&draw(&job(pattern, ops, 1), GEOMETRY, 3, 0, 400_000));
    assert!((reads - 0.8).abs() < 0.005, "{reads}");
    assert!((writes - 0.2).abs() < 0.005, "{writes}");
}

#[test]
fn a_mixed_pattern_without_jumps_is_sequential_and_with_nothing_else_uniform() {
    let share = |share| Pattern::Mixed {
        read: share,
        write: share,
    };
    let offsets = |pattern| -> Vec<u64> {
        let requests = draw(&read_4k(pattern), GEOMETRY, 3, 0, 10_000);
        requests
            .iter()
            .map(|request| request.offset_bytes)
            .collect()
    };
    assert_eq!(offsets(share(0.0)), offsets(Pattern::Sequential));
    let cells = 64;
    let mut seen = vec![0; cells];
    for offset in offsets(share(1.0)) {
        seen[(offset * cells as u64 / GEOMETRY.capacity_bytes) as usize] += 1;
    }
    let z = chi_square_z(&seen, &vec![10_000.0 / cells as f64; cells]);
    assert!(z.abs() < 4.0, "z = {z}");
}

#[test]
fn backwards_leaves_a_remainder_out_in_every_pass() {
    let geometry = Geometry {
        capacity_bytes: 10 * KIB,
        block_bytes: 512,
    };
    let offsets: Vec<u64> = draw(&read_4k(Pattern::Backwards), geometry, 1, 0, 6)
        .iter()
        .map(|request| request.offset_bytes / KIB)
        .collect();
    assert_eq!(offsets, [4, 0, 4, 0, 4, 0]);
}
