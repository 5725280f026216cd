//! Recordings are sums: over threads, over targets and over time.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::collections::BTreeMap;

use proptest::prelude::*;
use recording::{
    Counters, HalfWidths, Interval, IoGroup, LimitedBy, OpHalfWidths, Recorder, Recording,
    Utilisation,
};
use workload::Op;

const SECOND_NS: u64 = 1_000_000_000;

/// A thread's second: latencies of reads and writes, and failures.
fn second(index: u32) -> impl Strategy<Value = Interval> {
    let latencies = || prop::collection::vec(1u64..10_000_000, 0..50);
    (latencies(), latencies(), 0u64..5, 1u64..1000).prop_map(move |(reads, writes, errors, cpu)| {
        let mut recorder = Recorder::default();
        for &ns in &reads {
            recorder.record_open(Op::Read, ns, ns * 2, 4096);
        }
        for &ns in &writes {
            recorder.record(Op::Write, ns, 8192);
        }
        for _ in 0..errors {
            recorder.fail(Op::Write, 1000);
        }
        Interval {
            index,
            offered: Some(reads.len() as u64 + 3),
            backlog: Some(3),
            counters: Counters {
                cpu_user_ns: Some(cpu),
                ..Counters::default()
            },
            ..recorder.cut(SECOND_NS, 0)
        }
    })
}

fn merged(parts: &[&Interval]) -> Interval {
    let mut sum = parts[0].clone();
    parts[1..].iter().for_each(|part| sum.merge(part));
    sum
}

/// Equal up to the rounding of the floating-point means.
fn assert_same(mut a: Interval, mut b: Interval) {
    let (x, y) = (
        a.mean_outstanding.take().unwrap(),
        b.mean_outstanding.take().unwrap(),
    );
    assert!((x - y).abs() <= 1e-9 * x.abs().max(1.0), "{x} against {y}");
    assert_eq!(a, b);
}

proptest! {
    #[test]
    fn merging_threads_is_commutative_and_associative(a in second(0), b in second(0), c in second(0)) {
        assert_same(merged(&[&a, &b]), merged(&[&b, &a]));
        let right = merged(&[&b, &c]);
        assert_same(merged(&[&a, &b, &c]), merged(&[&a, &right]));
    }

    #[test]
    fn it_does_not_matter_whether_threads_or_seconds_are_summed_first(
        a0 in second(0), a1 in second(1), b0 in second(0), b1 in second(1),
    ) {
        let by_second = Recording::from_intervals([&merged(&[&a0, &b0]), &merged(&[&a1, &b1])]);
        let mut by_thread = Recording::from_intervals([&a0, &a1]);
        by_thread.merge(&Recording::from_intervals([&b0, &b1]));
        prop_assert_eq!(&by_second.ops, &by_thread.ops);
        prop_assert_eq!(by_second.offered, by_thread.offered);
        prop_assert_eq!(by_second.backlog, by_thread.backlog);
        prop_assert_eq!(by_second.counters.clone(), by_thread.counters.clone());
        prop_assert_eq!(by_second.window_ns, by_thread.window_ns);
        let (x, y) = (by_second.mean_outstanding.unwrap(), by_thread.mean_outstanding.unwrap());
        prop_assert!((x - y).abs() <= 1e-9 * x.max(1.0));
    }

    #[test]
    fn an_empty_recording_is_neutral(a in second(0)) {
        let whole = Recording { notes: vec!["a note".into()], errno: BTreeMap::from([(5, 2)]), ..Recording::from_intervals([&a]) };
        let mut left = Recording::default();
        left.merge(&whole);
        let mut right = whole.clone();
        right.merge(&Recording::default());
        prop_assert_eq!(&left, &whole);
        prop_assert_eq!(&right, &whole);
    }
}

#[test]
fn io_that_are_alike_count_together_as_they_do_one_by_one() {
    let (mut together, mut apart) = (Recorder::default(), Recorder::default());
    let group = |n| IoGroup {
        op: Op::Write,
        service_ns: 70_000,
        bytes: u64::from(n) * 8192,
        n,
    };
    for n in [3, 0, 1] {
        together.record_group(group(n));
    }
    (0..4).for_each(|_| apart.record(Op::Write, 70_000, 8192));
    assert_eq!(together.cut(SECOND_NS, 0), apart.cut(SECOND_NS, 0));
}

#[test]
fn mean_outstanding_is_the_area_under_the_in_flight_curve() {
    // One I/O from 0.2 s to 1.7 s, another from 0.5 s to 0.9 s, one failing from 0.1 s to 0.2 s.
    let mut recorder = Recorder::default();
    recorder.fail(Op::Read, SECOND_NS / 10);
    recorder.record(Op::Read, SECOND_NS * 4 / 10, 4096);
    let first = recorder.cut(SECOND_NS, SECOND_NS * 8 / 10);
    recorder.record(Op::Read, SECOND_NS * 15 / 10, 4096);
    let second = recorder.cut(2 * SECOND_NS, 0);
    assert_eq!(first.mean_outstanding, Some(0.1 + 0.4 + 0.8));
    assert_eq!(second.mean_outstanding, Some(0.7));
    let whole = Recording::from_intervals([&first, &second]);
    assert!((whole.mean_outstanding.unwrap() - 1.0).abs() < 1e-12);
}

#[test]
fn intervals_follow_each_other_without_gap() {
    let mut recorder = Recorder::default();
    let ends = [SECOND_NS, 2 * SECOND_NS, 2 * SECOND_NS + 300];
    let cut: Vec<Interval> = ends.map(|end_ns| recorder.cut(end_ns, 0)).into();
    assert_eq!(cut.iter().map(|i| i.index).collect::<Vec<_>>(), [0, 1, 2]);
    for (interval, end_ns) in cut.iter().zip(ends) {
        assert_eq!(interval.start_ns + interval.length_ns, end_ns);
        assert!(interval.ops.is_empty());
    }
}

#[test]
fn a_counter_that_one_side_does_not_know_is_unknown_in_the_sum() {
    let known = Interval {
        counters: Counters {
            joules: Some(2.0),
            ..Counters::default()
        },
        ..Interval::default()
    };
    let mut sum = known.clone();
    sum.merge(&Interval::default());
    assert_eq!(sum.counters.joules, None);
    let mut sum = known.clone();
    sum.merge(&known);
    assert_eq!(sum.counters.joules, Some(4.0));
}

fn resource(name: &str, servers: u32, mean: f64, max: f64) -> Utilisation {
    Utilisation {
        resource: name.into(),
        servers,
        mean,
        max,
        waiting: 0.0,
    }
}

#[test]
fn servers_of_equal_name_become_one_group_over_targets_and_an_average_over_time() {
    let busy = Interval {
        length_ns: SECOND_NS,
        utilisation: vec![resource("dies", 64, 0.9, 1.0)],
        ..Interval::default()
    };
    let idle = Interval {
        length_ns: SECOND_NS,
        utilisation: vec![resource("dies", 64, 0.1, 0.2)],
        ..Interval::default()
    };
    let mut targets = Recording::from_intervals([&busy]);
    targets.merge(&Recording::from_intervals([&idle]));
    assert_eq!(targets.utilisation, [resource("dies", 128, 0.5, 1.0)]);
    let times = Recording::from_intervals([&busy, &idle]);
    let dies = &times.utilisation[0];
    assert_eq!(dies.servers, 64);
    assert!((dies.mean - 0.5).abs() < 1e-12 && (dies.max - 0.6).abs() < 1e-12);
}

#[test]
fn a_saturated_resource_is_named_with_the_next_one() {
    let recording = Recording {
        utilisation: vec![
            resource("PCIe link (read)", 1, 0.71, 0.71),
            resource("dies", 64, 0.96, 0.97),
        ],
        ..Recording::default()
    };
    let limit = recording.limit().unwrap();
    assert_eq!(
        limit.by,
        LimitedBy::Saturated(recording.utilisation[1].clone())
    );
    assert_eq!(limit.next, Some(recording.utilisation[0].clone()));
}

#[test]
fn a_single_hot_server_saturates_its_group_and_a_warm_one_does_not() {
    let recording = Recording {
        utilisation: vec![resource("dies", 64, 0.20, 0.99)],
        ..Recording::default()
    };
    let limit = recording.limit().unwrap();
    assert_eq!(
        limit.by,
        LimitedBy::Saturated(resource("dies", 64, 0.20, 0.99))
    );
    assert_eq!(limit.next, None);
    let below = Recording {
        mean_outstanding: Some(16.0),
        utilisation: vec![resource("dies", 64, 0.20, 0.77)],
        ..Recording::default()
    };
    let limit = below.limit().unwrap();
    assert_eq!(limit.by, LimitedBy::OutstandingIo { mean: 16.0 });
    assert_eq!(limit.next, Some(resource("dies", 64, 0.20, 0.77)));
}

#[test]
fn without_a_saturated_resource_the_load_is_the_limit() {
    let closed = Recording {
        window_ns: SECOND_NS,
        mean_outstanding: Some(31.97),
        utilisation: vec![resource("dies", 64, 0.70, 0.71)],
        ..Recording::default()
    };
    let limit = closed.limit().unwrap();
    assert_eq!(limit.by, LimitedBy::OutstandingIo { mean: 31.97 });
    assert_eq!(limit.next, Some(resource("dies", 64, 0.70, 0.71)));
    let shallow = Recording {
        mean_outstanding: Some(0.998),
        utilisation: Vec::new(),
        ..closed.clone()
    };
    let limit = shallow.limit().unwrap();
    assert_eq!(limit.by, LimitedBy::OutstandingIo { mean: 0.998 });
    assert_eq!(limit.next, None);
    let mut recorder = Recorder::default();
    (0..1000).for_each(|_| recorder.record_open(Op::Read, 80_000, 90_000, 4096));
    let interval = Interval {
        offered: Some(1005),
        ..recorder.cut(SECOND_NS, 0)
    };
    let open = Recording::from_intervals([&interval]);
    assert_eq!(
        open.limit().unwrap().by,
        LimitedBy::OfferedRate { iops: 1005.0 }
    );
}

#[test]
fn a_closed_load_that_waits_longer_than_it_is_served_is_limited_by_what_it_waits_for() {
    let waiting = |dies: f64, channels: f64| Recording {
        window_ns: SECOND_NS,
        mean_outstanding: Some(32.0),
        utilisation: vec![
            Utilisation {
                waiting: dies,
                ..resource("dies", 64, 0.30, 0.45)
            },
            Utilisation {
                waiting: channels,
                ..resource("channels", 8, 0.60, 0.61)
            },
        ],
        ..Recording::default()
    };
    let queued = waiting(14.0, 2.1);
    let [dies, channels] = [0, 1].map(|index| queued.utilisation[index].clone());
    let limit = queued.limit().unwrap();
    assert_eq!(
        (limit.by, limit.next),
        (LimitedBy::Queue(dies.clone()), Some(channels))
    );
    let limit = waiting(13.0, 2.9).limit().unwrap();
    assert_eq!(limit.by, LimitedBy::OutstandingIo { mean: 32.0 });
    let mut saturated = queued;
    let channels = resource("channels", 8, 0.94, 0.95);
    saturated.utilisation[1] = channels.clone();
    let limit = saturated.limit().unwrap();
    assert_eq!(
        (limit.by, limit.next),
        (LimitedBy::Saturated(channels), Some(dies))
    );
}

#[test]
fn waiting_adds_up_over_targets_and_averages_over_time() {
    let interval = |waiting: f64| Interval {
        length_ns: SECOND_NS,
        utilisation: vec![Utilisation {
            waiting,
            ..resource("dies", 64, 0.5, 0.5)
        }],
        ..Interval::default()
    };
    let mut both = interval(3.0);
    both.merge(&interval(5.0));
    assert_eq!(both.utilisation[0].waiting, 8.0);
    let mean = Recording::from_intervals([&interval(3.0), &interval(5.0)]);
    assert_eq!(mean.utilisation[0].waiting, 4.0);
}

#[test]
fn a_real_target_that_tells_nothing_of_itself_may_be_the_limit() {
    let recording = Recording {
        window_ns: SECOND_NS,
        mean_outstanding: Some(32.0),
        utilisation: vec![resource("load generator CPU", 1, 0.4, 0.4)],
        setup: BTreeMap::from([("completions".into(), "polled".into())]),
        ..Recording::default()
    };
    let limit = recording.limit().unwrap();
    assert_eq!(limit.by, LimitedBy::TargetOrOutstandingIo { mean: 32.0 });
    assert_eq!(limit.next, Some(recording.utilisation[0].clone()));
}

#[test]
fn nothing_known_means_no_limit_is_named() {
    assert_eq!(Recording::default().limit(), None);
}

#[test]
fn a_sum_tells_every_way_its_load_was_made_once() {
    let made = |completions: &str| Recording {
        window_ns: SECOND_NS,
        setup: [("completions", completions), ("clock", "tsc")]
            .map(|(aspect, value)| (aspect.into(), value.into()))
            .into(),
        ..Recording::default()
    };
    let mut sum = Recording::default();
    for completions in ["polled", "not polled", "polled"] {
        sum.merge(&made(completions));
    }
    assert_eq!(sum.setup["completions"], "polled; not polled");
    assert_eq!(sum.setup["clock"], "tsc");
}

/// One drive's window: so many writes of one stream, known to `width`, and so many bytes programmed.
fn known(writes: u64, width: f64, media_write_bytes: u64, waf: Option<f64>) -> Recording {
    let mut recorder = Recorder::default();
    for _ in 0..writes {
        recorder.record(Op::Write, 1_000, 4096);
    }
    let interval = Interval {
        counters: Counters {
            media_write_bytes: Some(media_write_bytes),
            joules: Some(media_write_bytes as f64),
            ..Counters::default()
        },
        ..recorder.cut(SECOND_NS, 0).of_stream("log")
    };
    let of_op = OpHalfWidths {
        rate: width,
        mean_latency: 2.0 * width,
        mean_response: None,
    };
    let ops = BTreeMap::from([(Op::Write, of_op)]);
    let mut recording = Recording::from_intervals([&interval]);
    recording.half_widths = Some(HalfWidths {
        streams: BTreeMap::from([("log".to_owned(), ops.clone())]),
        ops,
        waf,
        joules: waf,
    });
    recording
}

#[test]
fn a_sum_is_known_by_the_squares_of_what_its_parts_are_known_by() {
    let parts = [
        known(300, 0.04, 3 << 20, Some(0.04)),
        known(400, 0.03, 4 << 20, Some(0.03)),
    ];
    let sum = HalfWidths::of_sum(&parts).unwrap();
    let expected = (12.0_f64.powi(2) * 2.0).sqrt() / 700.0;
    let near = |found: f64, expected: f64| (found / expected - 1.0).abs() < 1e-9;
    for ops in [&sum.ops, &sum.streams["log"]] {
        let write = ops[&Op::Write];
        assert!(near(write.rate, expected), "{write:?}");
        assert!(near(write.mean_latency, 2.0 * expected), "{write:?}");
        assert_eq!(write.mean_response, None);
    }
    assert!(near(sum.waf.unwrap(), expected), "{:?}", sum.waf);
    assert_eq!(sum.joules, sum.waf);
}

/// One drive's window under open load: so many reads of one latency, whose means are known to these widths.
fn known_open(reads: u64, service_ns: u64, response_ns: u64, widths: [f64; 2]) -> Recording {
    let mut recorder = Recorder::default();
    (0..reads).for_each(|_| recorder.record_open(Op::Read, service_ns, response_ns, 4096));
    let mut recording = Recording::from_intervals([&recorder.cut(SECOND_NS, 0)]);
    let of_op = OpHalfWidths {
        rate: 0.0,
        mean_latency: widths[0],
        mean_response: Some(widths[1]),
    };
    recording.half_widths = Some(HalfWidths {
        ops: BTreeMap::from([(Op::Read, of_op)]),
        ..HalfWidths::default()
    });
    recording
}

#[test]
fn under_open_load_the_mean_of_a_sum_is_known_by_the_parts_latencies_not_by_their_counts() {
    let parts = [
        known_open(100, 1_000, 2_000, [0.01, 0.01]),
        known_open(100, 9_000, 38_000, [0.20, 0.10]),
    ];
    let read = HalfWidths::of_sum(&parts).unwrap().ops[&Op::Read];
    let near = |found: f64, expected: f64| (found / expected - 1.0).abs() < 1e-9;
    let service = f64::hypot(0.01 * 1.0, 0.20 * 9.0) / 10.0;
    assert!(near(read.mean_latency, service), "{read:?}");
    let response = f64::hypot(0.01 * 2.0, 0.10 * 38.0) / 40.0;
    assert!(near(read.mean_response.unwrap(), response), "{read:?}");
}

#[test]
fn the_write_amplification_of_a_sum_is_known_where_that_of_every_part_that_writes_is() {
    let waf = |parts: &[Recording]| HalfWidths::of_sum(parts).unwrap().waf;
    let (read, written) = (known(1, 0.0, 0, None), known(1, 0.0, 1 << 20, Some(0.01)));
    assert_eq!(waf(&[read.clone(), written.clone()]), Some(0.01));
    assert_eq!(waf(&[written, known(1, 0.0, 1 << 20, None)]), None);
    assert_eq!(waf(&[read]), None);
    let unwatched = Recording::default();
    assert_eq!(HalfWidths::of_sum([&unwatched]), None);
}

#[test]
fn what_a_batch_adds_to_a_second_of_very_late_responses_is_exact() {
    const LATE_NS: u64 = 1 << 60;
    let mut recorder = Recorder::default();
    let responses = |n: u32, recorder: &mut Recorder| {
        (0..n).for_each(|_| recorder.record_open(Op::Read, 100, LATE_NS, 4096));
        recorder.tallies()[Op::Read as usize]
    };
    let before = responses(20, &mut recorder);
    let added = responses(3, &mut recorder).since(&before);
    assert_eq!((added.count, added.response_ns), (3, 3 << 60));
    let second = recorder.cut(SECOND_NS, 0);
    let response = second.ops[&Op::Read].response.as_ref().unwrap();
    assert_eq!(response.mean_ns(), Some(LATE_NS as f64));
    assert_eq!(second.mean_outstanding, Some(23.0 * 100.0 / 1e9));
}
