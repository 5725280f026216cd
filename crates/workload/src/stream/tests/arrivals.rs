//! When requests of an open load come.

use super::*;
use crate::{Arrival, Pattern, RatePhase};

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
    let mut clock = Arrivals::new(&open(3.0e6, Arrival::Deterministic, 1).load, &[], 0, 0, 0);
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
fn constant_spacing_of_a_stream_begins_with_the_job_whatever_streams_are_before_it() {
    let stream = |name: &str, job| crate::Stream {
        name: name.into(),
        job,
        targets: Vec::new(),
        flow: None,
        exitall: false,
    };
    let alone = open(1.0, Arrival::Deterministic, 1);
    let before = open(800.0, Arrival::Deterministic, 8);
    let (errors, until) = (alone.errors, alone.until);
    let streams = vec![stream("before", before), stream("slow", alone)];
    let both = Job::of_streams(streams, true, errors, until);
    assert_eq!(arrivals(&both, 8, 2), [0, 1_000_000_000]);
}

#[test]
fn a_schedule_whose_passes_bring_next_to_nothing_goes_on_at_its_rate() {
    // One arrival in 10^12 passes of a millisecond, and one in two.
    for (rate_iops, first_ns) in [(1e-9, 1_000_000_000_000_000_000), (500.0, 2_000_000)] {
        let mut job = open(rate_iops, Arrival::Deterministic, 1);
        job.pace.rates = vec![RatePhase {
            time_ns: 1_000_000,
            from_iops: rate_iops,
            to_iops: rate_iops,
        }];
        let times = arrivals(&job, 0, 2);
        assert!(
            times[1].abs_diff(first_ns) <= first_ns / 1_000_000_000,
            "{times:?}"
        );
    }
}

#[test]
fn a_ramp_from_a_rate_of_zero_brings_its_arrivals_from_the_first_second_on() {
    for threads in [1, 4] {
        let counts = rates_of(
            &[phase(10, 0.0, 100.0)],
            Arrival::Deterministic,
            threads,
            20,
        );
        let expected = (0..20).map(|second| 5 + 10 * (second % 10));
        for (count, want) in counts.iter().zip(expected) {
            assert!(count.abs_diff(want) <= 1, "{threads} threads: {counts:?}");
        }
    }
}

#[test]
fn arrivals_beyond_centuries_never_come_and_none_comes_instead() {
    const CENTURY_NS: u64 = 3_155_760_000_000_000_000;
    for arrival in [
        Arrival::Deterministic,
        Arrival::Uniform,
        Arrival::Exponential,
    ] {
        let late = arrivals(&open(1e-300, arrival, 2), 0, 4);
        assert!(late[1] > CENTURY_NS && late.is_sorted(), "{late:?}");
        let mut job = open(1.0, arrival, 1);
        let pause = RatePhase {
            time_ns: u64::MAX - 1_000_000_000,
            ..phase(0, 0.0, 0.0)
        };
        job.pace.rates = vec![pause, phase(10, 1.0, 1.0)];
        let late = arrivals(&job, 0, 40);
        assert!(late.is_sorted(), "{late:?}");
    }
}

#[test]
fn closed_load_arrives_at_once() {
    assert_eq!(arrivals(&read_4k(Pattern::Uniform), 0, 3), [0, 0, 0]);
}
