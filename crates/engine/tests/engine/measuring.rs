//! What is counted, when, and how runs end.

use std::{
    fs::{File, FileTimes},
    os::fd::AsRawFd,
    time::{Duration, Instant, SystemTime},
};

use engine::Options;
use workload::{Arrival, Job, Load, Op, Split, Until, Verify};

use crate::support::*;

/// Far below what these runs would take by themselves, far above what a loaded machine needs.
const PROMPT: Duration = Duration::from_secs(5);

#[test]
fn a_count_is_met_exactly_by_all_threads_together() {
    let file = Scratch::filled(4 * MIB, 1);
    let mut job = job(Op::Read);
    job.until = count(10_001);
    job.load = Load::Closed {
        threads: 3,
        iodepth: 4,
    };
    for options in [Options::default(), threads()] {
        let recording = run(&job, &file.spec(4 * MIB), &options);
        assert_eq!(recording.completed(), 10_001, "{:?}", options.backend);
        assert_eq!(recording.ops[&Op::Read].bytes, 10_001 * 4096);
    }
}

#[test]
fn a_run_that_is_stopped_before_the_start_it_waits_for_ends_at_once_without_io() {
    let begun = Instant::now();
    let options = Options {
        start_at: Some(SystemTime::now() + 4 * PROMPT),
        ..Options::default()
    };
    for (spec, backend) in empty_specs() {
        let options = Options {
            start_at: options.start_at,
            ..backend
        };
        let run = engine::start(&job(Op::Read), &[spec], &options).unwrap();
        assert!(run.started_at().is_none());
        run.stop();
        assert_eq!(run.join().unwrap().remove(0).completed(), 0);
    }
    assert!(begun.elapsed() < PROMPT, "{:?}", begun.elapsed());
}

#[test]
fn a_run_that_is_stopped_while_it_is_set_up_leaves_that_and_writes_nothing() {
    let file = Scratch::filled(MIB, 1);
    // Filled, the buffers would take 16 GiB: far longer to fill than the test may take.
    let mut job = Job {
        load: Load::Closed {
            threads: 4,
            iodepth: 4096,
        },
        ..job(Op::Write)
    };
    job.mix.ops = vec![block(Op::Write, MIB as u32, 1.0)];
    let begun = Instant::now();
    let specs = [file.spec(MIB)];
    let run = engine::start_unless(&job, &specs, &Options::default(), || true).unwrap();
    let recording = run.join().unwrap().remove(0);
    assert_eq!(recording.completed(), 0);
    assert!(begun.elapsed() < PROMPT / 2, "{:?}", begun.elapsed());
    assert!(file.read().iter().all(|&byte| byte == 1));

    job.load = Load::Closed {
        threads: 1,
        iodepth: 8,
    };
    let run = engine::start_unless(&job, &specs, &threads(), || true).unwrap();
    assert_eq!(run.join().unwrap().remove(0).completed(), 0);
    assert!(file.read().iter().all(|&byte| byte == 1));
}

#[test]
fn a_run_starts_at_the_time_asked_for_and_its_seconds_count_from_there() {
    let asked = SystemTime::now() + Duration::from_millis(400);
    let mut job = job(Op::Read);
    job.until = time(Duration::from_millis(300));
    let options = Options {
        start_at: Some(asked),
        ..Options::default()
    };
    let [(spec, _), ..] = empty_specs();
    let run = engine::start(&job, &[spec], &options).unwrap();
    let (intervals, recording) = follow(run);
    assert_eq!(intervals[0].start_ns, 0);
    assert_eq!(recording.unwrap().window_ns, 300_000_000);
    let late = SystemTime::now().duration_since(asked).unwrap();
    assert!(
        late >= Duration::from_millis(300) && late < PROMPT,
        "{late:?}"
    );
}

#[test]
fn a_number_of_bytes_is_met_to_the_block() {
    let file = Scratch::filled(4 * MIB, 1);
    let mut job = job(Op::Write);
    job.until = Until {
        region_multiple: Some(2.0),
        ..forever()
    };
    job.load = Load::Closed {
        threads: 2,
        iodepth: 4,
    };
    let recording = run(&job, &file.spec(4 * MIB), &Options::default());
    assert_eq!(recording.ops[&Op::Write].bytes, 8 * MIB);
}

#[test]
fn seconds_follow_each_other_and_add_up_to_the_recording() {
    let mut job = job(Op::Read);
    job.until = time(Duration::from_millis(2300));
    job.load = Load::Closed {
        threads: 2,
        iodepth: 4,
    };
    for (spec, options) in empty_specs() {
        let (intervals, recording) = follow(engine::start(&job, &[spec], &options).unwrap());
        let recording = recording.unwrap();
        let spans: Vec<(u32, u64, u64)> = intervals
            .iter()
            .map(|i| (i.index, i.start_ns, i.length_ns))
            .collect();
        let second = 1_000_000_000;
        assert_eq!(
            spans,
            [
                (0, 0, second),
                (1, second, second),
                (2, 2 * second, second * 3 / 10)
            ]
        );
        assert_eq!(recording.window_ns, 2_300_000_000);
        let n: u64 = intervals
            .iter()
            .map(|i| i.ops[&Op::Read].service.count())
            .sum();
        assert_eq!(recording.completed(), n);
        assert!(
            recording.counters.cpu_user_ns.unwrap() + recording.counters.cpu_sys_ns.unwrap() > 0
        );
    }
}

#[test]
fn intervals_arrive_while_the_run_goes_on() {
    let mut run = engine::start(&job(Op::Read), &[null_spec()], &Options::default()).unwrap();
    let started = Instant::now();
    let mut first = None;
    wait_for(|| {
        first = run.poll().into_iter().next();
        first.is_some()
    });
    assert!(!run.is_done());
    assert!(started.elapsed() < PROMPT);
    run.stop();
    run.join().unwrap();
}

#[test]
fn stopping_is_prompt_and_keeps_what_was_measured() {
    let file = Scratch::filled(4 * MIB, 1);
    for options in [Options::default(), threads()] {
        let run = engine::start(&job(Op::Read), &[file.spec(4 * MIB)], &options).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        let asked = Instant::now();
        run.stop();
        let recording = run.join().unwrap().remove(0);
        assert!(asked.elapsed() < PROMPT, "took {:?}", asked.elapsed());
        assert!(recording.completed() > 0);
        assert!(
            recording.window_ns >= 250_000_000,
            "{}",
            recording.window_ns
        );
    }
}

#[test]
fn an_idle_open_load_stops_promptly_too() {
    let mut job = job(Op::Read);
    job.load = open(0.1, workload::Arrival::Deterministic, 4);
    for (spec, options) in empty_specs() {
        let run = engine::start(&job, &[spec], &options).unwrap();
        std::thread::sleep(Duration::from_millis(100));
        let asked = Instant::now();
        run.stop();
        run.join().unwrap();
        assert!(asked.elapsed() < PROMPT, "took {:?}", asked.elapsed());
    }
}

#[test]
fn the_asked_for_depth_is_really_outstanding() {
    let file = Scratch::filled(16 * MIB, 1);
    let mut job = job(Op::Read);
    job.direct = true;
    job.load = Load::Closed {
        threads: 2,
        iodepth: 16,
    };
    job.until = time(Duration::from_secs(1));
    for options in [Options::default(), threads()] {
        let recording = run(&job, &file.spec(16 * MIB), &options);
        let outstanding = recording.mean_outstanding.unwrap();
        assert!(
            (28.0..=32.001).contains(&outstanding),
            "{outstanding} with {:?}",
            options.backend
        );
        // Little's law: throughput x latency = outstanding, up to what is in flight at the end.
        let stats = &recording.ops[&Op::Read].service;
        let little = stats.sum_ns() as f64 / recording.window_ns as f64;
        assert!(
            (little - outstanding).abs() < 0.05 * outstanding,
            "{little} against {outstanding}"
        );
    }
}

#[test]
fn several_targets_get_the_whole_load_each_and_are_reported_apart() {
    let (small, large) = (Scratch::filled(MIB, 1), Scratch::filled(4 * MIB, 1));
    let mut job = job(Op::Read);
    job.until = Until {
        region_multiple: Some(1.0),
        ..forever()
    };
    let specs = [small.spec(MIB), large.spec(4 * MIB)];
    let recordings = engine::start(&job, &specs, &Options::default())
        .unwrap()
        .join()
        .unwrap();
    let n: Vec<u64> = recordings
        .iter()
        .map(recording::Recording::completed)
        .collect();
    assert_eq!(n, [256, 1024]);
}

#[test]
fn a_split_load_arrives_over_all_targets_together_in_the_shares_asked_for() {
    let mut job = job(Op::Read);
    job.load = open(1000.0, Arrival::Deterministic, 40);
    job.pace.split = Split::Shares(vec![70.0, 20.0, 10.0]);
    job.until = time(Duration::from_secs(1));
    let targets = vec![null_spec(); 3];
    for options in [Options::default(), threads()] {
        let run = engine::start(&job, &targets, &options).unwrap();
        let recordings = run.join().unwrap();
        let offered: Vec<_> = recordings.iter().map(|one| one.offered).collect();
        assert_eq!(offered, [Some(700), Some(200), Some(100)]);
    }
    let refused = engine::start(&job, &targets[..2], &Options::default());
    let reason = refused.err().unwrap().to_string();
    assert!(reason.contains("3 shares for 2 targets"), "{reason}");
}

#[test]
fn the_set_up_report_says_what_was_achieved() {
    let file = Scratch::filled(4 * MIB, 1);
    let mut job = job(Op::Read);
    job.direct = true;
    let run = engine::start(&job, &[file.spec(4 * MIB)], &Options::default()).unwrap();
    let setup = run.setup();
    run.stop();
    let told = run.join().unwrap().remove(0).setup;
    let target = &setup.targets[0];
    assert_eq!(
        (target.backend.as_str(), &target.fallback),
        ("io_uring", &None)
    );
    assert!(target.direct && target.registered_buffers && !target.poll);
    assert_eq!(target.cpus.len(), 1);
    assert!(setup.clock_error_ppm < 100.0);
    assert_eq!(told["page cache"], "bypassed (O_DIRECT)");
    assert_eq!(told["completions"], "not polled");
    assert_eq!(told["I/O buffers"], "registered, ordinary pages");
    assert_eq!(
        told["load threads"],
        format!("pinned to core {}", target.cpus[0])
    );
    assert!(told["interface"].starts_with("io_uring ("), "{told:?}");
    assert!(told.contains_key("clock"));
}

#[test]
fn the_null_target_counts_as_an_empty_operation_of_the_kernel_does() {
    let mut job = job(Op::Read);
    job.mix.ops = vec![block(Op::Read, 4096, 0.7), block(Op::Write, 8192, 0.3)];
    job.until = count(10_000);
    let counted = |spec: engine::TargetSpec| {
        let recording = run(&job, &spec, &Options::default());
        let of = |op| {
            let stats = &recording.ops[&op];
            (stats.service.count(), stats.bytes, stats.errors)
        };
        (of(Op::Read), of(Op::Write))
    };
    let (reads, writes) = counted(null_spec());
    assert_eq!((reads, writes), counted(nop_spec()));
    assert_eq!(reads.0 + writes.0, 10_000);
}

#[test]
fn requests_on_the_null_target_stay_in_the_process() {
    let mut job = job(Op::Read);
    job.until = count(1000);
    job.sqpoll = true;
    let backend_of = |spec| {
        let started = engine::start(&job, &[spec], &Options::default()).unwrap();
        let setup = started.setup().targets.remove(0);
        started.join().unwrap();
        setup
    };
    let (null, nop) = (backend_of(null_spec()), backend_of(nop_spec()));
    assert_eq!((null.backend.as_str(), null.ring.len()), ("in-process", 0));
    assert_eq!(nop.backend, "io_uring");
    assert!(
        null.notes.iter().any(|note| note.contains("no effect")),
        "{:?}",
        null.notes
    );
}

#[test]
fn what_of_a_file_was_in_memory_before_a_buffered_job_is_told() {
    let file = Scratch::filled(4 * MIB, 1);
    let handle = File::open(&file.0).unwrap();
    let mut job = job(Op::Read);
    job.until = count(100);
    for options in [Options::default(), threads()] {
        let told = || {
            let notes = run(&job, &file.spec(4 * MIB), &options).notes;
            notes
                .into_iter()
                .find(|note| note.contains("page cache before the first I/O"))
        };
        std::fs::read(&file.0).unwrap();
        let all = told();
        // A kernel before 6.5 does not tell.
        assert!(all.is_none_or(|note| note.starts_with("100 % of the target")));
        handle.sync_all().unwrap();
        // SAFETY: a system call on an open descriptor.
        unsafe { libc::posix_fadvise(handle.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
        assert_eq!(told(), None);
    }
}

#[test]
fn reads_leave_no_trace_in_the_files_inode() {
    let file = Scratch::filled(MIB, 1);
    let long_ago = SystemTime::now() - Duration::from_secs(3 * 86_400);
    File::options()
        .write(true)
        .open(&file.0)
        .unwrap()
        .set_times(FileTimes::new().set_accessed(long_ago))
        .unwrap();
    let accessed = || std::fs::metadata(&file.0).unwrap().accessed().unwrap();
    let before = accessed();
    let mut job = job(Op::Read);
    job.until = count(100);
    for options in [Options::default(), threads()] {
        run(&job, &file.spec(MIB), &options);
        assert_eq!(accessed(), before);
    }
}

#[test]
fn a_job_may_ask_for_whole_batches_and_huge_pages() {
    let file = Scratch::filled(4 * MIB, 1);
    let mut job = job(Op::Read);
    (job.direct, job.huge_pages) = (true, true);
    job.load = Load::Closed {
        threads: 1,
        iodepth: 16,
    };
    job.pace.reap = 16;
    job.until = count(160);
    let run = engine::start(&job, &[file.spec(4 * MIB)], &Options::default()).unwrap();
    let setup = run.setup().targets.remove(0);
    let told = setup.notes.iter().any(|note| note.contains("huge pages"));
    assert_ne!(setup.huge_pages == "none", !told, "{setup:?}");
    let recording = run.join().unwrap().remove(0);
    let latencies = recording.ops[&Op::Read].service.bins().len();
    assert!(latencies <= 10, "{latencies} latencies in 10 batches");
}

#[test]
fn huge_pages_that_the_kernel_does_not_give_are_not_claimed() {
    // SAFETY: takes transparent huge pages from this process's later mappings, and gives them back; no memory.
    let forbid = |on: libc::c_ulong| unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, on, 0, 0, 0) };
    let file = Scratch::filled(MIB, 1);
    let mut job = job(Op::Read);
    job.huge_pages = true;
    job.until = count(16);
    assert_eq!(forbid(1), 0);
    let run = engine::start(&job, &[file.spec(MIB)], &Options::default()).unwrap();
    forbid(0);
    let setup = run.setup().targets.remove(0);
    let recording = run.join().unwrap().remove(0);
    if setup.huge_pages == "hugetlb" {
        return;
    }
    assert_eq!(recording.setup["I/O buffers"], "registered, ordinary pages");
    let note = recording
        .notes
        .iter()
        .find(|note| note.contains("huge pages"));
    assert!(note.unwrap().starts_with("0 % of the I/O buffers"));
}

#[test]
fn reads_for_a_gpu_end_in_it_or_in_host_memory_and_the_record_says_which() {
    let file = Scratch::filled(4 * MIB, 1);
    let mut job = job(Op::Read);
    job.gpu = true;
    job.until = count(200);
    let run = engine::start(&job, &[file.spec(4 * MIB)], &Options::default()).unwrap();
    let setup = run.setup().targets.remove(0);
    let recording = run.join().unwrap().remove(0);
    assert_eq!(recording.completed(), 200);
    let lacking = "reads end in host memory, not in a GPU's as the job asks: ";
    let notes = recording.notes.iter();
    let told: Vec<_> = notes.filter(|note| note.starts_with(lacking)).collect();
    match setup.gpu {
        None => assert_eq!(told.len(), 1, "{:?}", recording.notes),
        Some(gpu) => {
            assert!(recording.setup["GPU"].starts_with(&gpu.name));
            assert!(gpu.copy_bytes_per_s > 1e9);
            assert!(told.is_empty());
        }
    }
    let threads = self::run(&job, &file.spec(4 * MIB), &threads());
    assert!(threads.notes.iter().any(|note| note.starts_with(lacking)));
}

#[test]
fn data_that_go_to_a_gpu_are_not_verified_on_the_way() {
    let file = Scratch::filled(MIB, 1);
    let mut job = job(Op::Read);
    job.gpu = true;
    job.content.verify = Some(Verify {
        generation: 1,
        seed: 1,
    });
    let refused = engine::start(&job, &[file.spec(MIB)], &Options::default());
    let error = refused.err().unwrap().to_string();
    assert!(error.contains("leave gpu or content.verify out"), "{error}");
}

#[test]
fn a_thread_of_the_kernel_submits_where_sqpoll_is_asked_for() {
    let file = Scratch::filled(MIB, 1);
    let mut job = job(Op::Read);
    job.sqpoll = true;
    let options = Options::default();
    // Full submission rings: the kernel frees its entries late, so two batches of 4, or one of 63, leave the tick no room.
    let closed = |iodepth| Load::Closed {
        threads: 1,
        iodepth,
    };
    for load in [
        closed(63),
        closed(4),
        open(20_000.0, Arrival::Exponential, 63),
    ] {
        job.load = load;
        job.until = count(10_000);
        let run = engine::start(&job, &[file.spec(MIB)], &options).unwrap();
        let setup = run.setup().targets.remove(0);
        let admitted = setup.notes.iter().any(|note| note.contains("SQPOLL"));
        assert_eq!(setup.ring.contains(&"sqpoll".into()), !admitted);
        let recording = run.join().unwrap().remove(0);
        assert_eq!(recording.completed(), 10_000);
        assert_eq!(recording.errno.len(), 0);
    }
}

#[test]
fn more_threads_than_cores_are_not_pinned_and_the_report_says_so() {
    let mut job = job(Op::Read);
    job.until = count(1000);
    job.load = Load::Closed {
        threads: 300,
        iodepth: 1,
    };
    let run = engine::start(&job, &[null_spec()], &Options::default()).unwrap();
    let target = run.setup().targets.remove(0);
    let recording = run.join().unwrap().remove(0);
    assert!(target.cpus.is_empty());
    assert!(
        recording
            .notes
            .iter()
            .any(|note| note.contains("not pinned: 300 threads")),
        "{:?}",
        recording.notes
    );
    assert_eq!(recording.completed(), 1000);
}

#[test]
fn placement_handles_that_are_not_sent_are_admitted() {
    let job = Job {
        placement: vec![1],
        until: count(8),
        ..job(Op::Write)
    };
    let recording = run(&job, &null_spec(), &Options::default());
    assert!(
        recording
            .notes
            .iter()
            .any(|note| note.contains("placement handles are not sent")),
        "{:?}",
        recording.notes
    );
}

#[test]
fn a_run_that_nobody_follows_any_more_ends_by_itself() {
    let threads_alive = || {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        tasks
            .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok())
            .filter(|name| name.trim() == "io-7.0")
            .count()
    };
    let specs = vec![null_spec(); 8];
    drop(engine::start(&job(Op::Read), &specs, &Options::default()).unwrap());
    wait_for(|| threads_alive() == 0);
}

#[test]
fn a_thought_of_centuries_is_not_over_at_once() {
    for (spec, options) in empty_specs() {
        let mut job = job(Op::Read);
        job.pace.think_ns = u64::MAX - 1;
        job.until = time(Duration::from_millis(50));
        let recording = run(&job, &spec, &options);
        assert_eq!(recording.completed(), 8, "{spec:?} {options:?}");
    }
}

#[test]
fn think_time_follows_the_interactive_response_time_law() {
    for (spec, options) in empty_specs() {
        let mut job = job(Op::Read);
        job.pace.think_ns = 50_000_000;
        job.until = time(Duration::from_millis(1500));
        let recording = run(&job, &spec, &options);
        // N / (R + Z), with R next to nothing: 8 at once and again each 50 ms; one after the other they would be 30. A
        // busy machine wakes threads late.
        assert!(
            (60..=240).contains(&recording.completed()),
            "{}",
            recording.completed()
        );
        assert!(recording.mean_outstanding.unwrap() < 1.0);
    }
}
