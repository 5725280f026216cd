use super::*;
use crate::{
    Arrival, Block, BlockShare, Content, Errors, Extent, HotBand, Load, Mix, Pace, Pattern,
    RatePhase, Region, Until,
};

const KIB: u64 = 1 << 10;
const GIB: u64 = 1 << 30;

const GEOMETRY: Geometry = Geometry {
    capacity_bytes: 4 * GIB,
    block_bytes: 512,
};

fn block(op: Op, weight: f64, sizes: &[(u32, f64)]) -> Block {
    let sizes = sizes
        .iter()
        .map(|&(size_bytes, weight)| BlockShare { size_bytes, weight });
    Block {
        op,
        weight,
        sizes: sizes.collect(),
    }
}

fn job(pattern: Pattern, ops: Vec<Block>, threads: u32) -> Job {
    Job {
        mix: Mix { ops },
        pattern,
        region: Region {
            start: Extent::Fraction(0.0),
            size: Extent::Fraction(1.0),
        },
        align_bytes: None,
        content: Content::default(),
        placement: Vec::new(),
        direct: true,
        sqpoll: false,
        huge_pages: false,
        streams: Vec::new(),
        load: Load::Closed {
            threads,
            iodepth: 1,
        },
        pace: Pace::default(),
        errors: Errors::default(),
        journal: None,
        until: Until {
            time_ns: None,
            bytes: None,
            region_multiple: None,
            count: Some(1),
        },
    }
}

fn read_4k(pattern: Pattern) -> Job {
    job(pattern, vec![block(Op::Read, 1.0, &[(4096, 1.0)])], 1)
}

fn draw(job: &Job, geometry: Geometry, seed: u64, thread: u32, count: usize) -> Vec<Request> {
    let mut stream = RequestStream::new(job, geometry, seed, thread).expect("fits");
    (0..count).map(|_| stream.next_request()).collect()
}

/// Pearson's statistic, standardised: near N(0, 1) for many cells under the null hypothesis.
fn chi_square_z(observed: &[u64], expected: &[f64]) -> f64 {
    let statistic: f64 = observed
        .iter()
        .zip(expected)
        .map(|(&seen, &want)| (seen as f64 - want).powi(2) / want)
        .sum();
    let freedom = observed.len() as f64 - 1.0;
    (statistic - freedom) / (2.0 * freedom).sqrt()
}

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
    };
    let whole = crate::Limits {
        time_ns: u64::MAX,
        bytes: u64::MAX,
        count: region_blocks,
    };
    (0..threads)
        .map(|thread| {
            let count = whole.of_thread(thread, threads).count * passes;
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
    fn random_once_visits_every_block_exactly_once_per_pass(
        blocks in 1..3000u64, threads in 1..9u32, seed: u64,
    ) {
        let threads = threads.min(blocks as u32);
        let parts = blocks_of(Pattern::RandomOnce, blocks, threads, 2, seed);
        for pass in 0..2 {
            let mut seen: Vec<u64> = parts
                .iter()
                .flat_map(|part| &part[part.len() / 2 * pass..part.len() / 2 * (pass + 1)])
                .copied()
                .collect();
            seen.sort_unstable();
            proptest::prop_assert_eq!(seen, (0..blocks).collect::<Vec<_>>());
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
fn operations_and_block_sizes_come_in_their_shares() {
    let ops = vec![
        block(Op::Read, 70.0, &[(8192, 90.0), (32768, 10.0)]),
        block(Op::Write, 20.0, &[(4096, 1.0)]),
        block(Op::Trim, 9.0, &[(65536, 1.0)]),
        block(Op::Flush, 1.0, &[]),
    ];
    let job = job(Pattern::Uniform, ops, 1);
    let count = 1_000_000;
    let mut seen = [0u64; 5];
    for request in draw(&job, GEOMETRY, 7, 0, count) {
        let cell = match (request.op, request.size_bytes) {
            (Op::Read, 8192) => 0,
            (Op::Read, 32768) => 1,
            (Op::Write, 4096) => 2,
            (Op::Trim, 65536) => 3,
            (Op::Flush, 0) => 4,
            other => panic!("not in the mix: {other:?}"),
        };
        seen[cell] += 1;
    }
    let expected = [0.63, 0.07, 0.20, 0.09, 0.01].map(|share| share * count as f64);
    let z = chi_square_z(&seen, &expected);
    assert!(z < 4.0, "z = {z}, {seen:?}");
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

fn open(rate_iops: f64, arrival: Arrival, threads: u32) -> Job {
    let mut job = read_4k(Pattern::Uniform);
    job.load = Load::Open {
        rate_iops,
        arrival,
        threads,
        iodepth: 32,
    };
    job
}

fn arrivals(job: &Job, thread: u32, count: usize) -> Vec<u64> {
    let mut stream = RequestStream::new(job, GEOMETRY, 21, thread).expect("fits");
    (0..count).map(|_| stream.next_arrival_ns()).collect()
}

#[test]
fn exponential_arrivals_at_400k_per_second_keep_their_rate_and_their_distribution() {
    let count = 400_000;
    let times = arrivals(&open(400_000.0, Arrival::Exponential, 1), 0, count);
    let rate_iops = count as f64 / (times[count - 1] as f64 / 1e9);
    assert!((rate_iops / 400_000.0 - 1.0).abs() < 0.01, "{rate_iops}");

    // Kolmogorov-Smirnov on gaps; whole nanoseconds add at most 1/2500 to the distance.
    let mut gaps: Vec<f64> = times
        .windows(2)
        .map(|pair| (pair[1] - pair[0]) as f64)
        .collect();
    gaps.sort_unstable_by(f64::total_cmp);
    let n = gaps.len() as f64;
    let distance = gaps
        .iter()
        .enumerate()
        .map(|(i, gap)| ((1.0 - (-gap / 2500.0).exp()) - i as f64 / n).abs())
        .fold(0.0, f64::max);
    assert!(distance < 1.95 / n.sqrt() + 1.0 / 2500.0, "D = {distance}");
}

#[test]
fn every_arrival_process_keeps_its_rate_over_many_threads_and_hours() {
    for arrival in [
        Arrival::Exponential,
        Arrival::Uniform,
        Arrival::Deterministic,
    ] {
        let times = arrivals(&open(333_333.3, arrival, 8), 3, 2_000_000);
        let seconds = times[1_999_999] as f64 / 1e9;
        let rate_iops = 8.0 * 2e6 / seconds;
        assert!(
            (rate_iops / 333_333.3 - 1.0).abs() < 0.004,
            "{arrival:?}: {rate_iops}"
        );
        assert!(times.is_sorted());
    }
    // 6 h of constant spacing that is no whole number of nanoseconds ends on the nanosecond.
    let mut clock = Arrivals::new(&open(3.0e6, Arrival::Deterministic, 1).load, &[], 0, 0);
    let last_ns = (0..30_000_001u64).map(|_| clock.next_ns()).last();
    assert!(
        last_ns.is_some_and(|last_ns| last_ns.abs_diff(10_000_000_000) <= 1),
        "{last_ns:?}"
    );
}

/// Arrivals per second of all threads, second by second.
fn rates_of(rates: &[RatePhase], arrival: Arrival, threads: u32, seconds: usize) -> Vec<u64> {
    let mut job = open(1.0, arrival, threads);
    job.pace.rates = rates.to_vec();
    let mut counts = vec![0; seconds];
    for thread in 0..threads {
        let mut stream = RequestStream::new(&job, GEOMETRY, 9, thread).expect("fits");
        loop {
            let second = stream.next_arrival_ns() / 1_000_000_000;
            match counts.get_mut(second as usize) {
                Some(count) => *count += 1,
                None => break,
            }
        }
    }
    counts
}

fn phase(seconds: u64, from_iops: f64, to_iops: f64) -> RatePhase {
    RatePhase {
        time_ns: seconds * 1_000_000_000,
        from_iops,
        to_iops,
    }
}

#[test]
fn a_schedule_steps_ramps_pauses_and_starts_again() {
    let rates = [
        phase(2, 10_000.0, 10_000.0),
        phase(2, 10_000.0, 30_000.0),
        phase(1, 0.0, 0.0),
    ];
    let expected = [
        10_000, 10_000, 15_000, 25_000, 0, 10_000, 10_000, 15_000, 25_000, 0,
    ];
    for (arrival, allowed) in [
        (Arrival::Deterministic, 4.0),
        (Arrival::Uniform, 400.0),
        (Arrival::Exponential, 700.0),
    ] {
        let counts = rates_of(&rates, arrival, 4, 10);
        for (count, want) in counts.iter().zip(expected) {
            let off = (*count as f64 - f64::from(want)).abs();
            assert!(off <= allowed, "{arrival:?}: {counts:?}");
        }
    }
}

#[test]
fn gaps_of_a_scheduled_poisson_process_are_exponential_in_its_own_time() {
    // Kolmogorov-Smirnov against Exp(1) after rescaling each gap by the integral of the ramp.
    let mut job = open(1.0, Arrival::Exponential, 1);
    job.pace.rates = vec![phase(10, 1000.0, 3000.0)];
    let expected_by = |ns: u64| {
        let s = ns as f64 / 1e9;
        1000.0 * s + 100.0 * s * s
    };
    let times = arrivals(&job, 0, 15_000);
    let mut gaps: Vec<f64> = times
        .windows(2)
        .map(|pair| expected_by(pair[1]) - expected_by(pair[0]))
        .collect();
    gaps.sort_by(f64::total_cmp);
    let n = gaps.len() as f64;
    let worst = gaps
        .iter()
        .enumerate()
        .map(|(i, gap)| ((1.0 - (-gap).exp()) - (i as f64 + 0.5) / n).abs())
        .fold(0.0, f64::max);
    assert!(worst < 1.95 / n.sqrt(), "D = {worst}");
}

#[test]
fn constant_spacing_interleaves_the_threads() {
    let job = open(4000.0, Arrival::Deterministic, 4);
    let mut times: Vec<u64> = (0..4)
        .flat_map(|thread| arrivals(&job, thread, 5))
        .collect();
    times.sort_unstable();
    assert!(
        times.windows(2).all(|pair| pair[1] - pair[0] == 250_000),
        "{times:?}"
    );
}

#[test]
fn closed_load_arrives_at_once() {
    assert_eq!(arrivals(&read_4k(Pattern::Uniform), 0, 3), [0, 0, 0]);
}

#[test]
fn addresses_do_not_depend_on_the_load() {
    let closed = draw(&read_4k(Pattern::Uniform), GEOMETRY, 5, 0, 100);
    let open = draw(&open(1000.0, Arrival::Exponential, 1), GEOMETRY, 5, 0, 100);
    assert_eq!(closed, open);
}

#[test]
fn threads_and_seeds_draw_different_requests_and_repeat_their_own() {
    let mut job = read_4k(Pattern::Uniform);
    job.load = Load::Closed {
        threads: 2,
        iodepth: 1,
    };
    let first = draw(&job, GEOMETRY, 1, 0, 1000);
    assert_eq!(first, draw(&job, GEOMETRY, 1, 0, 1000));
    for other in [
        draw(&job, GEOMETRY, 1, 1, 1000),
        draw(&job, GEOMETRY, 2, 0, 1000),
    ] {
        let common = first.iter().zip(&other).filter(|(a, b)| a == b).count();
        assert!(common < 5, "{common} equal requests of 1000");
    }
}

/// FNV-1a over the little-endian fields.
fn fingerprint(job: &Job) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut eat = |bytes: &[u8]| {
        for &byte in bytes {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    };
    let mut stream = RequestStream::new(job, GEOMETRY, 42, 1).expect("fits");
    for _ in 0..10_000 {
        let request = stream.next_request();
        eat(&request.offset_bytes.to_le_bytes());
        eat(&request.size_bytes.to_le_bytes());
        eat(&[request.op as u8]);
        eat(&stream.next_arrival_ns().to_le_bytes());
    }
    hash
}

#[test]
fn the_stream_of_a_seed_never_changes() {
    let ops = || {
        vec![
            block(Op::Read, 7.0, &[(4096, 1.0), (65536, 1.0)]),
            block(Op::Write, 3.0, &[(8192, 1.0)]),
        ]
    };
    let band = |area, access| HotBand { area, access };
    let patterns = [
        Pattern::Sequential,
        Pattern::Uniform,
        Pattern::Zipf { theta: 0.99 },
        Pattern::HotSpots {
            bands: vec![band(1.0, 9.0), band(9.0, 1.0)],
        },
    ];
    let prints = patterns.map(|pattern| {
        let mut job = job(pattern, ops(), 4);
        job.load = Load::Open {
            rate_iops: 250_000.0,
            arrival: Arrival::Exponential,
            threads: 4,
            iodepth: 8,
        };
        fingerprint(&job)
    });
    assert_eq!(prints.map(|print| format!("{print:016x}")), GOLDEN);
}

/// Committed fingerprints; a change of the stream changes them, and the commit says why.
const GOLDEN: [&str; 4] = [
    "92507e07c2bb7929",
    "1ea036150b4bd5fb",
    "8e8c30165fa5c2f5",
    "b1ca3ded75bdad9a",
];

#[test]
fn thread_i_writes_with_placement_handle_i_modulo_their_number() {
    let ops = vec![
        block(Op::Read, 1.0, &[(4096, 1.0)]),
        block(Op::Write, 1.0, &[(4096, 1.0)]),
    ];
    let mut job = job(Pattern::Uniform, ops, 4);
    job.placement = vec![5, 6, 7];
    for (thread, handle) in [(0, 5), (2, 7), (3, 5)] {
        for request in draw(&job, GEOMETRY, 1, thread, 100) {
            let expected = match request.op {
                Op::Write => handle,
                _ => Request::NO_PLACEMENT,
            };
            assert_eq!(request.placement, expected);
        }
    }
}

#[test]
fn a_job_that_does_not_fit_says_why() {
    let tiny = Geometry {
        capacity_bytes: 2048,
        block_bytes: 512,
    };
    let coarse = Geometry {
        block_bytes: 8192,
        ..GEOMETRY
    };
    let refuse = |job: &Job, geometry| RequestStream::new(job, geometry, 0, 0).err();
    let read = read_4k(Pattern::Uniform);
    assert_eq!(
        refuse(&read, tiny),
        Some(StreamError::RegionTooSmall {
            region_bytes: 2048,
            block_bytes: 4096
        })
    );
    assert_eq!(
        refuse(&read, coarse),
        Some(StreamError::Misaligned {
            size_bytes: 4096,
            block_bytes: 8192
        })
    );
    let mut beyond = read.clone();
    beyond.region.size = Extent::Bytes(5 * GIB);
    assert!(matches!(
        refuse(&beyond, GEOMETRY),
        Some(StreamError::RegionBeyondTarget { .. })
    ));
    let mut crooked = read.clone();
    crooked.align_bytes = Some(1000);
    assert!(matches!(
        refuse(&crooked, GEOMETRY),
        Some(StreamError::MisalignedOffsets { .. })
    ));
    assert_eq!(
        refuse(&job(Pattern::Uniform, vec![], 1), GEOMETRY),
        Some(StreamError::EmptyMix)
    );
}

#[test]
fn the_threads_of_a_stream_issue_its_requests_and_no_others() {
    let mut log = job(
        Pattern::Sequential,
        vec![block(Op::Write, 1.0, &[(65536, 1.0)])],
        2,
    );
    log.region.size = Extent::Bytes(64 * 65536);
    log.placement = vec![3];
    let mut small = read_4k(Pattern::Uniform);
    small.region.start = Extent::Bytes(GIB);
    small.region.size = Extent::Bytes(GIB);
    let stream = |name: &str, job| crate::Stream {
        name: name.into(),
        job,
    };
    let streams = vec![stream("log", log), stream("small", small)];
    let both = Job::of_streams(
        streams,
        true,
        Errors::default(),
        read_4k(Pattern::Uniform).until,
    );
    for (thread, start) in [(0, 0), (1, 32)] {
        for (index, request) in draw(&both, GEOMETRY, 1, thread, 32).iter().enumerate() {
            assert_eq!(request.offset_bytes, (start + index as u64) * 65536);
            assert_eq!((request.op, request.placement), (Op::Write, 3));
        }
    }
    for request in draw(&both, GEOMETRY, 1, 2, 1000) {
        assert!((GIB..2 * GIB).contains(&request.offset_bytes));
        let placement = Request::NO_PLACEMENT;
        assert_eq!((request.op, request.placement), (Op::Read, placement));
    }
}
