//! Patterns that draw: how often each block comes.

use super::*;
use crate::{Extent, HotBand, Load, Pattern};

#[test]
fn uniform_offsets_pass_a_chi_square_test_over_every_block() {
    let geometry = Geometry {
        capacity_bytes: 1000 * 4 * KIB,
        block_bytes: 4096,
    };
    let mut job = read_4k(Pattern::Uniform);
    job.region.size = Extent::Bytes(geometry.capacity_bytes);
    let mut seen = vec![0; 1000];
    for request in draw(&job, geometry, 1, 0, 1_000_000) {
        seen[(request.offset_bytes / 4096) as usize] += 1;
    }
    let z = chi_square_z(&seen, &vec![1000.0; 1000]);
    assert!(z.abs() < 4.0, "z = {z}");
}

/// Counts per unit, most frequent first.
fn popularity(job: &Job, geometry: Geometry, units: usize, count: usize) -> Vec<u64> {
    let mut seen = vec![0; units];
    for request in draw(job, geometry, 3, 0, count) {
        seen[(request.offset_bytes / 4096) as usize] += 1;
    }
    seen.sort_unstable_by(|a, b| b.cmp(a));
    seen
}

#[test]
fn zipf_exponent_is_recovered_from_the_stream() {
    let units = 1 << 20;
    for theta in [0.6, 0.99, 1.0, 1.2, 2.0] {
        let seen = popularity(
            &read_4k(Pattern::Zipf { theta }),
            GEOMETRY,
            units,
            2_000_000,
        );
        // The first ranks are drawn often enough that sorting by count is sorting by rank.
        let normaliser: f64 = (1..=units).map(|rank| (rank as f64).powf(-theta)).sum();
        let expected = |rank: usize| 2e6 * (rank as f64).powf(-theta) / normaliser;
        let ranks: Vec<usize> = (1..=64).filter(|&rank| expected(rank) > 1000.0).collect();
        for &rank in ranks.iter().take(8) {
            let (got, want) = (seen[rank - 1] as f64, expected(rank));
            assert!(
                (got - want).abs() < 6.0 * want.sqrt(),
                "theta {theta} rank {rank}: {got} for {want}"
            );
        }
        // The mass behind the first thousand ranks checks the tail as well as the head.
        let head: f64 = (1..=1000).map(expected).sum();
        let zipf = zipf::Zipf::new(units as u64, theta);
        let mut random = Random::new(5, 0, Purpose::Requests);
        let got = (0..2_000_000)
            .filter(|_| zipf.next(&mut random) < 1000)
            .count() as f64;
        assert!(
            (got / head - 1.0).abs() < 0.01,
            "theta {theta}: {got} for {head}"
        );
    }
}

#[test]
fn a_pareto_share_of_the_blocks_gets_the_rest_of_the_accesses_and_inside_it_again() {
    let (units, draws) = (1 << 20, 500_000);
    for share in [0.1, 0.2, 0.4] {
        let pareto = pareto::Pareto::new(units, share);
        let mut random = Random::new(5, 0, Purpose::Requests);
        let ranks: Vec<u64> = (0..draws).map(|_| pareto.next(&mut random)).collect();
        for level in 1..=3 {
            let below = (units as f64 * share.powi(level)) as u64;
            let got = ranks.iter().filter(|&&rank| rank < below).count() as f64;
            let want = f64::from(draws) * (1.0 - share).powi(level);
            assert!(
                (got - want).abs() < 6.0 * want.sqrt(),
                "share {share} level {level}: {got} for {want}"
            );
        }
    }
    // In a stream the hot blocks lie scattered.
    let seen = popularity(
        &read_4k(Pattern::Pareto { share: 0.2 }),
        GEOMETRY,
        1 << 20,
        draws as usize,
    );
    let hot: u64 = seen[..seen.len() / 5].iter().sum();
    assert!(hot as f64 > 0.8 * f64::from(draws), "{hot}");
}

#[test]
fn zipf_ranks_are_scattered_by_a_bijection() {
    for n in [1u64, 2, 3, 5, 64, 1000, 65_537] {
        let scatter = permutation::Scatter::new(n, 11);
        let mut seen = vec![false; n as usize];
        for rank in 0..n {
            seen[scatter.apply(rank) as usize] = true;
        }
        assert!(seen.into_iter().all(|hit| hit), "n = {n}");
    }
}

#[test]
fn hot_zipf_blocks_are_spread_over_the_whole_region_and_shared_by_all_threads() {
    let n = 1u64 << 20;
    let mut seen = vec![0u64; 64];
    for seed in 0..10 {
        let scatter = permutation::Scatter::new(n, seed);
        for rank in 0..640 {
            seen[(scatter.apply(rank) * 64 / n) as usize] += 1;
        }
    }
    let z = chi_square_z(&seen, &[100.0; 64]);
    assert!(z.abs() < 4.0, "z = {z}, {seen:?}");

    let mut job = read_4k(Pattern::Zipf { theta: 1.2 });
    job.load = Load::Closed {
        threads: 2,
        iodepth: 1,
    };
    let hottest = |thread| {
        let requests = draw(&job, GEOMETRY, 9, thread, 100_000);
        let mut counts = std::collections::BTreeMap::new();
        for request in requests {
            *counts.entry(request.offset_bytes).or_insert(0) += 1;
        }
        counts
            .into_iter()
            .max_by_key(|&(_, count)| count)
            .map(|(offset, _)| offset)
    };
    assert_eq!(hottest(0), hottest(1));
}

#[test]
fn hot_spots_receive_their_shares_of_accesses() {
    let bands = vec![
        HotBand {
            area: 10.0,
            access: 90.0,
        },
        HotBand {
            area: 40.0,
            access: 8.0,
        },
        HotBand {
            area: 50.0,
            access: 2.0,
        },
    ];
    let ops = vec![block(Op::Read, 1.0, &[(4096, 1.0), (16384, 1.0)])];
    let job = job(Pattern::HotSpots { bands }, ops, 1);
    let count = 500_000;
    let mut seen = [0u64; 3];
    for request in draw(&job, GEOMETRY, 2, 0, count) {
        let place = request.offset_bytes as f64 / GEOMETRY.capacity_bytes as f64;
        seen[if place < 0.1 {
            0
        } else if place < 0.5 {
            1
        } else {
            2
        }] += 1;
    }
    let expected = [0.90, 0.08, 0.02].map(|share| share * count as f64);
    let z = chi_square_z(&seen, &expected);
    assert!(z < 4.0, "z = {z}, {seen:?}");
}

#[test]
fn a_hot_spot_narrower_than_a_block_is_refused() {
    let bands = vec![
        HotBand {
            area: 1e-9,
            access: 1.0,
        },
        HotBand {
            area: 1.0,
            access: 1.0,
        },
    ];
    let error = RequestStream::new(&read_4k(Pattern::HotSpots { bands }), GEOMETRY, 0, 0);
    assert!(matches!(error, Err(StreamError::EmptyBand { band: 1, .. })));
}
