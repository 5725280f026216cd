//! A thread per I/O where io_uring is not to be had: the same I/O, ends and counts as with a ring.

use engine::Options;
use recording::Remark;
use workload::{Arrival, Job, Load, Op, Pattern};

use crate::support::*;

#[test]
fn a_thread_that_ends_all_has_done_its_whole_part_before_the_others_stop() {
    let file = Scratch::filled(MIB, 1);
    let job = Job {
        exitall: true,
        until: count(203),
        ..job(Op::Read)
    };
    for _ in 0..20 {
        let recording = run(&job, &file.spec(MIB), &threads());
        assert_eq!(recording.completed(), 203);
    }
}

#[test]
fn every_arrival_is_counted_though_the_first_worker_has_nothing_left_to_do() {
    let file = Scratch::filled(MIB, 1);
    let job = Job {
        load: open(50.0, Arrival::Deterministic, 8),
        until: count(20),
        ..job(Op::Read)
    };
    let recording = run(&job, &file.spec(MIB), &threads());
    assert_eq!(
        (recording.completed(), recording.offered),
        (20, Some(20)),
        "{recording:?}"
    );
}

#[test]
fn a_load_that_many_threads_have_done_has_no_backlog() {
    let file = Scratch::filled(MIB, 1);
    let job = Job {
        load: open(10_000.0, Arrival::Exponential, 8),
        until: count(1_000),
        ..job(Op::Read)
    };
    for _ in 0..25 {
        let recording = run(&job, &file.spec(MIB), &threads());
        assert_eq!(
            (recording.completed(), recording.offered, recording.backlog),
            (1_000, Some(1_000), Some(0))
        );
    }
}

#[test]
fn arrivals_that_are_issued_late_are_admitted() {
    let file = Scratch::filled(MIB, 1);
    let job = Job {
        load: open(200.0, Arrival::Deterministic, 4),
        until: count(100),
        ..job(Op::Read)
    };
    let recording = run(&job, &file.spec(MIB), &threads());
    let reads = &recording.ops[&Op::Read];
    let response_ns = reads.response.as_ref().unwrap().mean_ns().unwrap();
    let late_ns = response_ns - reads.service.mean_ns().unwrap();
    let is_late = |remark: &Remark| matches!(remark, Remark::LateArrivals { .. });
    let told = recording.remarks.iter().any(is_late);
    // A sleep ends tens of microseconds late, unless the system has another timer slack.
    assert!(told || late_ns < 21_000.0, "{late_ns}");
}

#[test]
fn what_a_job_asks_of_a_ring_and_does_not_get_is_admitted() {
    let file = Scratch::filled(MIB, 1);
    let mut job = Job {
        placement: vec![1],
        sqpoll: true,
        load: Load::Closed {
            threads: 1,
            iodepth: 4,
        },
        until: count(8),
        ..job(Op::Write)
    };
    job.pace.reap = 4;
    let notes = run(&job, &file.spec(MIB), &threads()).notes;
    for word in ["placement handles are not sent", "SQPOLL", "reap"] {
        let told = notes.iter().filter(|note| note.contains(word)).count();
        assert_eq!(told, 1, "{word}: {notes:?}");
    }
}

#[test]
fn room_is_reserved_behind_the_end_of_a_file_as_through_a_ring() {
    for options in [Options::default(), threads()] {
        let file = Scratch::filled(0, 0);
        let job = Job {
            pattern: Pattern::Sequential,
            until: count(MIB / 4096),
            ..job(Op::Allocate)
        };
        let recording = run(&job, &file.spec(MIB), &options);
        assert_eq!(recording.completed(), MIB / 4096, "{recording:?}");
        assert_eq!(file.read().len() as u64, MIB, "{options:?}");
    }
}

#[test]
fn a_trace_whose_ios_wait_ends_all_streams_once_it_is_through_whatever_the_count() {
    let trace = Scratch::filled(0, 0);
    let read = |behind: u64| 4096 | (Op::Read as u64) << 32 | behind << 40;
    let (header, first, second) = ([2, 8192, 10], [0, 0, read(0)], [5, 4096, read(1)]);
    let words = [header, first, second].concat();
    let bytes = words.into_iter().flat_map(u64::to_le_bytes);
    let bytes: Vec<u8> = b"FTHRPL2\n".iter().copied().chain(bytes).collect();
    std::fs::write(&trace.0, bytes).unwrap();
    let text = format!(
        r#"
        until = {{ time = "3s" }}
        [[streams]]
        name = "trace"
        mix = "read"
        block = "4KiB"
        pattern = {{ replay = {{ file = "{}", waits = true }} }}
        load = {{ iodepth = 2 }}
        until = {{ count = 5 }}
        exitall = true
        [[streams]]
        name = "beside"
        mix = "read"
        block = "4KiB"
        pattern = "uniform"
        load = {{ iodepth = 2 }}
        "#,
        trace.0.display()
    );
    let job = Job::from_toml(&text, "job.toml").unwrap();
    for (spec, options) in empty_specs() {
        let recording = run(&job, &spec, &options);
        assert_eq!(recording.streams["trace"][&Op::Read].service.count(), 2);
        assert!(recording.window_ns < 3_000_000_000, "{options:?}");
    }
}
