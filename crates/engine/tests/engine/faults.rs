//! Targets that cannot be used, and targets that fail during a run.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use engine::{Backend, EngineError, Options, TargetKind, TargetSpec};
use recording::Remark;
use workload::{Block, Errors, Extent, Job, Load, Mix, Op, Pattern, Region, Stream};

use crate::support::*;

#[test]
fn a_missing_file_is_one_line_with_its_name() {
    let line = refusal(&job(Op::Read), &file_spec(Path::new("/nowhere/x.bin"), MIB));
    assert_eq!(
        line,
        "/nowhere/x.bin: cannot open for reading: No such file or directory (os error 2): check the name"
    );
}

#[test]
fn a_directory_or_the_wrong_kind_is_refused() {
    for direct in [false, true] {
        let job = Job {
            direct,
            ..job(Op::Read)
        };
        let line = refusal(&job, &file_spec(Path::new("/tmp"), MIB));
        assert!(
            line.starts_with("/tmp: is something else (a directory"),
            "{line}"
        );
    }
    let file = Scratch::filled(MIB, 1);
    let as_device = TargetSpec {
        kind: TargetKind::BlockDevice,
        ..file.spec(MIB)
    };
    assert!(refusal(&job(Op::Read), &as_device).ends_with("is a regular file, not a block device"));
}

#[test]
fn a_link_in_the_place_of_a_file_is_not_followed() {
    let (file, link) = (Scratch::filled(MIB, 7), Scratch::filled(0, 0));
    std::fs::remove_file(&link.0).unwrap();
    std::os::unix::fs::symlink(&file.0, &link.0).unwrap();
    let refused = refusal(&job(Op::Write), &link.spec(MIB));
    assert!(
        refused.ends_with("it is a symbolic link: give the file itself"),
        "{refused}"
    );
    assert_eq!(file.read(), vec![7; MIB as usize]);
}

#[test]
fn a_file_system_without_direct_io_is_refused_with_what_to_do() {
    let mut job = job(Op::Read);
    job.direct = true;
    let line = refusal(&job, &file_spec(Path::new("/proc/version"), MIB));
    assert!(
        line.contains("no direct I/O") && line.contains("direct = false"),
        "{line}"
    );
}

#[test]
fn reads_beyond_the_end_of_a_file_are_refused_before_they_happen() {
    let file = Scratch::filled(MIB, 1);
    let line = refusal(&job(Op::Read), &file.spec(2 * MIB));
    assert!(
        line.contains("holds 1048576 bytes but the job reads 2097152"),
        "{line}"
    );
}

#[test]
fn a_block_that_is_no_multiple_of_the_direct_io_alignment_is_refused() {
    let file = Scratch::filled(MIB, 1);
    let mut job = job(Op::Read);
    job.mix = Mix {
        ops: vec![block(Op::Read, 100, 1.0)],
    };
    job.direct = true;
    assert!(refusal(&job, &file.spec(MIB)).contains("block size 100 is not a multiple"));
}

#[test]
fn impossible_loads_and_operations_are_refused() {
    let mut endless = job(Op::Read);
    endless.load = Load::Closed {
        threads: 1,
        iodepth: 0,
    };
    assert!(refusal(&endless, &null_spec()).contains("must be at least 1"));
    endless.load = Load::Closed {
        threads: 1,
        iodepth: 100_000,
    };
    assert!(refusal(&endless, &null_spec()).contains("at most 32767"));
    assert!(refusal(&job(Op::Append), &null_spec()).contains("zone append"));
    let mut zones = job(Op::Read);
    zones.pattern = Pattern::Zones {
        open: 1,
        in_order: false,
        once: false,
        empties: false,
        ends: false,
        reset: None,
    };
    assert!(refusal(&zones, &null_spec()).contains("not host-managed"));
    let nothing = engine::start(&job(Op::Read), &[], &Options::default());
    assert!(matches!(nothing, Err(EngineError::NoTarget)));
    let mut empty = job(Op::Read);
    empty.mix = Mix {
        ops: Vec::<Block>::new(),
    };
    assert!(refusal(&empty, &null_spec()).contains("issues nothing"));
}

#[test]
fn short_reads_are_errors_and_never_pass_for_data() {
    for options in [Options::default(), threads()] {
        let file = Scratch::filled(MIB, 1);
        let run = engine::start(&job(Op::Read), &[file.spec(MIB)], &options).unwrap();
        // Half the file vanishes under the run: reads behind the new end return 0 bytes.
        std::fs::File::options()
            .write(true)
            .open(&file.0)
            .unwrap()
            .set_len(MIB / 2)
            .unwrap();
        std::thread::sleep(Duration::from_millis(200));
        run.stop();
        let recording = run.join().unwrap().remove(0);
        let stats = &recording.ops[&Op::Read];
        assert!(
            stats.errors > 0 && recording.errno[&0] == stats.errors,
            "{:?}",
            recording.errno
        );
        assert_eq!(stats.bytes, stats.service.count() * 4096);
        let told = |remark: &Remark| matches!(remark, Remark::FailedIo { errno: 0, n, .. } if *n == stats.errors);
        assert!(
            recording.remarks.iter().any(told),
            "{:?}",
            recording.remarks
        );
    }
}

#[test]
fn errors_are_counted_by_errno_and_the_run_goes_on() {
    for options in [Options::default(), threads()] {
        let memory = Sealable::new(MIB);
        memory.seal(libc::F_SEAL_GROW);
        let mut job = job(Op::Write);
        job.errors.most = Some(u64::MAX);
        job.until = count(2_000);
        // Writes behind the sealed end fail with EPERM, the others succeed.
        let recording = run(&job, &memory.spec(2 * MIB), &options);
        let stats = &recording.ops[&Op::Write];
        assert_eq!(stats.service.count() + stats.errors, 2_000);
        assert_eq!(recording.errno[&libc::EPERM], stats.errors);
        assert!((800..1200).contains(&stats.errors), "{}", stats.errors);
    }
}

#[test]
fn a_target_that_fails_altogether_ends_the_run_and_keeps_what_was_measured() {
    for options in [Options::default(), threads()] {
        let memory = Sealable::new(MIB);
        let mut run = engine::start(&job(Op::Write), &[memory.spec(MIB)], &options).unwrap();
        std::thread::sleep(Duration::from_millis(200));
        memory.seal(libc::F_SEAL_WRITE);
        let failed = Instant::now();
        wait_for(|| {
            run.poll();
            run.is_done()
        });
        assert!(failed.elapsed() < Duration::from_secs(4));
        let Err(EngineError::TargetFailed {
            reason, recordings, ..
        }) = run.join()
        else {
            panic!("the failure was not reported")
        };
        assert!(
            reason.contains("every I/O of a whole second failed (Operation not permitted"),
            "{reason}"
        );
        assert!(recordings[0].completed() > 0 && recordings[0].errno[&libc::EPERM] > 0);
    }
}

#[test]
fn a_second_in_which_one_stream_fails_and_another_does_not_ends_no_run() {
    // One reads from the file, the other behind its end.
    let stream = |name: &str, start| Stream {
        name: name.into(),
        job: Job {
            region: Region {
                start: Extent::Bytes(start),
                size: Extent::Bytes(MIB / 2),
                part: None,
            },
            ..job(Op::Read)
        },
        targets: Vec::new(),
        flow: None,
        exitall: false,
    };
    let streams = vec![stream("good", 0), stream("bad", MIB / 2)];
    let until = time(Duration::from_millis(2_500));
    let job = Job::of_streams(streams, false, Errors::default(), until);
    for options in [Options::default(), threads()] {
        let file = Scratch::filled(MIB, 1);
        let running = engine::start(&job, &[file.spec(MIB)], &options).unwrap();
        std::fs::File::options()
            .write(true)
            .open(&file.0)
            .unwrap()
            .set_len(MIB / 2)
            .unwrap();
        let (_, ended) = follow(running);
        let recording = ended.unwrap();
        assert!(
            recording.window_ns >= 2_400_000_000,
            "{}",
            recording.window_ns
        );
        let reads = &recording.ops[&Op::Read];
        assert!(reads.errors > 0 && reads.service.count() > 0);
    }
}

/// Forbids io_uring_setup to the calling thread and its children, as containers do.
fn forbid_io_uring() {
    let statement = |code: u32, jt, jf, k| libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    let load_number = statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0);
    let is_setup = statement(
        libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
        0,
        1,
        libc::SYS_io_uring_setup as u32,
    );
    let refuse = statement(
        libc::BPF_RET | libc::BPF_K,
        0,
        0,
        libc::SECCOMP_RET_ERRNO | libc::EPERM as u32,
    );
    let allow = statement(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW);
    let mut filter = [load_number, is_setup, refuse, allow];
    let program = libc::sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: the program is valid for the call, which copies it.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_eq!(
            libc::prctl(
                libc::PR_SET_SECCOMP,
                libc::SECCOMP_MODE_FILTER,
                &raw const program
            ),
            0
        );
    }
}

#[test]
fn where_io_uring_is_forbidden_threads_take_over_and_the_result_says_so() {
    let outcome = std::thread::spawn(|| {
        forbid_io_uring();
        let file = Scratch::filled(4 * MIB, 1);
        let mut job = job(Op::Read);
        job.until = count(5_000);
        let run = engine::start(&job, &[file.spec(4 * MIB)], &Options::default()).unwrap();
        let setup = run.setup().targets.remove(0);
        let recording = run.join().unwrap().remove(0);
        assert_eq!(setup.backend, "threads");
        assert_eq!(
            setup.fallback.as_deref(),
            Some("io_uring is forbidden here")
        );
        assert_eq!(recording.completed(), 5_000);
        let fallback = Remark::Fallback {
            reason: "io_uring is forbidden here".into(),
        };
        assert!(
            recording.remarks.contains(&fallback),
            "{:?}",
            recording.remarks
        );
        let insisting = Options {
            backend: Backend::IoUring,
            ..Options::default()
        };
        let no_ring = engine::start(&job, &[nop_spec()], &Options::default()).err();
        assert!(no_ring.unwrap().to_string().contains("nop:"));
        engine::start(&job, &[file.spec(4 * MIB)], &insisting)
            .err()
            .unwrap()
            .to_string()
    });
    let line = outcome.join().unwrap();
    assert!(
        line.starts_with("io_uring cannot be used: io_uring is forbidden here: allow it"),
        "{line}"
    );
}
