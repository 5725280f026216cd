//! Requests that arrive on their own clock.

use std::time::{Duration, Instant};

use engine::Options;
use recording::{Limit, LimitedBy, Remark};
use workload::{Arrival, Op};

use crate::support::*;

#[test]
fn four_hundred_thousand_poisson_arrivals_per_second_are_offered_within_one_percent() {
    let mut job = job(Op::Read);
    job.load = open(400_000.0, Arrival::Exponential, 256);
    job.until = time(Duration::from_secs(2));
    for spec in [null_spec(), nop_spec()] {
        let recording = run(&job, &spec, &Options::default());
        let offered_iops = recording.offered.unwrap() as f64 / 2.0;
        assert!(
            (offered_iops / 400_000.0 - 1.0).abs() < 0.01,
            "{offered_iops}"
        );
        // Issued and completed at that rate, up to what a busy machine left in the backlog at the end.
        let unfinished = recording.offered.unwrap() - recording.completed();
        assert!(
            unfinished <= recording.backlog.unwrap() + 256,
            "{unfinished} unfinished"
        );
        assert!(
            (recording.completed() as f64) > 0.9 * 800_000.0,
            "{}",
            recording.completed()
        );
    }
}

#[test]
fn a_thread_that_spins_until_the_next_arrival_is_not_called_busy() {
    let mut job = job(Op::Read);
    job.load = open(50_000.0, Arrival::Exponential, 64);
    job.until = time(Duration::from_secs(2));
    for spec in [null_spec(), nop_spec()] {
        let recording = run(&job, &spec, &Options::default());
        let busy = recording.utilisation[0].max;
        assert!(0.0 < busy && busy < 0.8, "{busy} on {:?}", spec.path);
        let cpu_ns =
            recording.counters.cpu_user_ns.unwrap() + recording.counters.cpu_sys_ns.unwrap();
        assert!(cpu_ns > 0, "the CPU time itself is told in full");
        let limit = recording.limit().unwrap();
        assert!(!is_generator(&limit), "{limit:?}");
    }
}

#[test]
fn a_load_that_the_generator_cannot_make_is_put_down_to_it() {
    let mut job = job(Op::Read);
    job.load = open(100e6, Arrival::Exponential, 64);
    job.until = time(Duration::from_secs(1));
    let limit = run(&job, &null_spec(), &Options::default()).limit();
    assert!(is_generator(&limit.unwrap()));
}

fn is_generator(limit: &Limit) -> bool {
    matches!(&limit.by, LimitedBy::Saturated(one) if one.resource == "load generator CPU")
}

#[test]
fn a_load_faster_than_a_thread_can_count_still_issues_and_ends_on_time_and_says_that_it_was_not_counted()
 {
    let mut job = job(Op::Read);
    job.load = open(100e6, Arrival::Exponential, 64);
    job.until = time(Duration::from_secs(2));
    let start = Instant::now();
    let recording = run(&job, &null_spec(), &Options::default());
    let took = start.elapsed();
    assert!(took < Duration::from_secs(3), "it took {took:?}");
    let (offered, backlog) = (recording.offered.unwrap(), recording.backlog.unwrap());
    let completed = recording.completed();
    assert!(completed > 100_000, "{completed} completed");
    assert!(offered < 200_000_000, "{offered} counted of 200 million");
    assert!(
        offered - completed - backlog <= 64,
        "{offered} offered, {completed} completed, {backlog} waiting"
    );
    let uncounted = |remark: &Remark| matches!(remark, Remark::UncountedArrivals { .. });
    assert!(
        recording.remarks.iter().any(uncounted),
        "{:?}",
        recording.remarks
    );
}

#[test]
fn every_constant_arrival_is_counted_exactly() {
    let mut job = job(Op::Read);
    job.load = open(500.0, Arrival::Deterministic, 8);
    job.until = time(Duration::from_secs(1));
    for (spec, options) in empty_specs() {
        let recording = run(&job, &spec, &options);
        let how = (spec.path, options.backend);
        assert_eq!(recording.offered, Some(500), "{how:?}");
        let completed = recording.completed() + recording.backlog.unwrap();
        assert!((499..=500).contains(&completed), "{completed} with {how:?}");
    }
}

#[test]
fn a_load_beyond_the_target_grows_the_backlog_and_the_response_not_the_service() {
    let file = Scratch::filled(16 * MIB, 1);
    let mut job = job(Op::Read);
    job.direct = true;
    job.load = open(500_000.0, Arrival::Exponential, 2);
    job.until = time(Duration::from_millis(2000));
    for options in [Options::default(), threads()] {
        let (intervals, recording) =
            follow(engine::start(&job, &[file.spec(16 * MIB)], &options).unwrap());
        let recording = recording.unwrap();
        let backlog: Vec<u64> = intervals.iter().map(|i| i.backlog.unwrap()).collect();
        assert!(
            backlog[1] > backlog[0] && backlog[0] > 100_000,
            "{backlog:?}"
        );
        let accounted = recording.completed() + recording.backlog.unwrap();
        let offered = recording.offered.unwrap();
        assert!(
            offered >= accounted && offered - accounted <= 2,
            "{offered} offered, {accounted} accounted for"
        );
        let stats = &recording.ops[&Op::Read];
        let response_ns = stats.response.as_ref().unwrap().quantile_ns(0.99).unwrap();
        assert!(response_ns > 1e9, "response p99 {response_ns} ns");
        assert!(stats.service.quantile_ns(0.5).unwrap() < 0.1e9);
        assert!(recording.mean_outstanding.unwrap() <= 2.001);
    }
}

#[test]
fn response_is_never_shorter_than_service() {
    let file = Scratch::filled(4 * MIB, 1);
    let mut job = job(Op::Read);
    job.load = open(5_000.0, Arrival::Exponential, 32);
    job.until = count(3_000);
    for options in [Options::default(), threads()] {
        let recording = run(&job, &file.spec(4 * MIB), &options);
        let stats = &recording.ops[&Op::Read];
        let response = stats.response.as_ref().unwrap();
        assert_eq!((stats.service.count(), response.count()), (3_000, 3_000));
        assert!(response.sum_ns() >= stats.service.sum_ns());
        assert!(response.min_ns() >= stats.service.min_ns());
    }
}
