//! Loop devices, RAM disks, mounts, frozen file systems and a file that fails as told. Who may not make them skips these tests,
//! and is told so.

use std::{
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use engine::{EngineError, Options, TargetKind, TargetSpec};
use recording::Remark;
use workload::{Arrival, Load, Mix, Op, Pattern, Until};

use crate::{
    faulty::{Fate, Faulty, Policy},
    needs,
    support::*,
};

fn sh(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A loop device over a file, by default a scratch file.
struct LoopDevice<B = Scratch> {
    path: String,
    _backing: B,
}

impl LoopDevice {
    fn new(size_bytes: u64) -> Self {
        let backing = Scratch::filled(size_bytes, 0);
        let file = backing.0.clone();
        Self::over(backing, &file)
    }
}

impl<B> LoopDevice<B> {
    fn over(backing: B, file: &Path) -> Self {
        let path = sh("losetup", &["--find", "--show", file.to_str().unwrap()]);
        Self {
            path,
            _backing: backing,
        }
    }

    fn spec(&self, capacity_bytes: u64) -> TargetSpec {
        TargetSpec {
            path: self.path.clone().into(),
            kind: TargetKind::BlockDevice,
            capacity_bytes,
            held: None,
        }
    }
}

impl<B> Drop for LoopDevice<B> {
    fn drop(&mut self) {
        clean_up("losetup", &["--detach", &self.path]);
    }
}

/// A RAM disk whose driver cannot promise the kernel that it does not wait.
struct Zram(String);

const ZRAM: &str = "/sys/class/zram-control";

impl Zram {
    fn new(size_bytes: u64) -> Self {
        let number = std::fs::read_to_string(format!("{ZRAM}/hot_add")).unwrap();
        let name = format!("zram{}", number.trim());
        std::fs::write(
            format!("/sys/block/{name}/disksize"),
            size_bytes.to_string(),
        )
        .unwrap();
        Self(name)
    }

    fn spec(&self, capacity_bytes: u64) -> TargetSpec {
        TargetSpec {
            path: format!("/dev/{}", self.0).into(),
            kind: TargetKind::BlockDevice,
            capacity_bytes,
            held: None,
        }
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        let reset = std::fs::write(format!("/sys/block/{}/reset", self.0), "1");
        let number = self.0.trim_start_matches("zram");
        let removed = reset.and_then(|()| std::fs::write(format!("{ZRAM}/hot_remove"), number));
        assert!(
            removed.is_ok() || thread::panicking(),
            "{}: {removed:?}",
            self.0
        );
    }
}

/// Undoes what a test did; a test that has failed already is not ended twice.
fn clean_up(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(
        output.status.success() || thread::panicking(),
        "{program} {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// A small ext4 on a loop device.
struct Mounted {
    at: PathBuf,
    _device: LoopDevice,
}

impl Mounted {
    fn new(size_bytes: u64) -> Self {
        let device = LoopDevice::new(size_bytes);
        sh("mkfs.ext4", &["-q", "-m", "0", &device.path]);
        let at = device._backing.0.with_extension("mnt");
        std::fs::create_dir(&at).unwrap();
        sh("mount", &[&device.path, at.to_str().unwrap()]);
        Self {
            at,
            _device: device,
        }
    }

    fn file(&self, size_bytes: u64) -> TargetSpec {
        let path = self.at.join("x.bin");
        std::fs::write(&path, vec![1; size_bytes as usize]).unwrap();
        sh("sync", &[]);
        file_spec(&path, size_bytes)
    }

    fn freeze(&self) {
        sh("fsfreeze", &["--freeze", self.at.to_str().unwrap()]);
    }

    fn thaw(&self) {
        sh("fsfreeze", &["--unfreeze", self.at.to_str().unwrap()]);
    }
}

impl Drop for Mounted {
    /// Load threads of a failed test may have files open for a while: the mount goes when they end.
    fn drop(&mut self) {
        let at = self.at.to_str().unwrap();
        let _ = Command::new("fsfreeze").args(["--unfreeze", at]).output();
        match thread::panicking() {
            true => clean_up("umount", &["--lazy", at]),
            false => clean_up("umount", &[at]),
        }
        let removed = std::fs::remove_dir(&self.at);
        assert!(removed.is_ok() || thread::panicking(), "{at}: {removed:?}");
    }
}

#[test]
fn the_watchdog_names_the_io_that_does_not_return() {
    needs!("/dev/loop-control");
    let options = Options {
        drain_timeout: Duration::from_millis(300),
        ..Options::default()
    };
    let mounted = Mounted::new(64 * MIB);
    let spec = mounted.file(16 * MIB);
    let mut job = job(Op::Write);
    job.direct = true;
    job.errors.stuck_ns = 300_000_000;
    mounted.freeze();
    let began = Instant::now();
    let failed = engine::start(&job, &[spec], &options).unwrap().join();
    let took = began.elapsed();
    mounted.thaw();
    let Err(EngineError::TargetFailed { reason, .. }) = failed else {
        panic!("no failure: {failed:?}")
    };
    assert!(
        reason.contains("an I/O does not return: write of 4096 bytes at"),
        "{reason}"
    );
    assert!(took < Duration::from_secs(4), "{took:?}");
    thread::sleep(Duration::from_secs(1));
}

#[test]
fn a_block_device_is_filled_trimmed_zeroed_and_flushed() {
    needs!("/dev/loop-control");
    for options in [Options::default(), threads()] {
        let device = LoopDevice::new(16 * MIB);
        let content = || std::fs::read(&device.path).unwrap();
        let mut job = job(Op::Write);
        job.direct = true;
        job.pattern = Pattern::Sequential;
        job.until = Until {
            region_multiple: Some(1.0),
            ..forever()
        };
        run(&job, &device.spec(16 * MIB), &options);
        assert!(
            content()
                .chunks(4096)
                .all(|b| b.iter().any(|&byte| byte != 0))
        );
        for op in [Op::WriteZeroes, Op::Trim] {
            job.mix = Mix {
                ops: vec![block(op, 65536, 4.0), block(Op::Flush, 0, 1.0)],
            };
            let recording = run(&job, &device.spec(16 * MIB), &options);
            assert_eq!(
                recording.ops[&op].service.count(),
                256,
                "{op:?} {:?}",
                recording.errno
            );
            assert!(
                content().iter().all(|&byte| byte == 0),
                "{op:?} with {:?}",
                options.backend
            );
        }
    }
}

#[test]
fn a_device_that_may_always_wait_is_trimmed() {
    needs!("/sys/class/zram-control");
    for options in [Options::default(), threads()] {
        let device = Zram::new(16 * MIB);
        let mut job = job(Op::Trim);
        job.direct = true;
        job.pattern = Pattern::Sequential;
        job.mix.ops = vec![block(Op::Trim, 65536, 1.0)];
        job.until = Until {
            region_multiple: Some(1.0),
            ..forever()
        };
        let recording = run(&job, &device.spec(16 * MIB), &options);
        assert_eq!(recording.ops[&Op::Trim].service.count(), 256);
        assert!(recording.errno.is_empty(), "{:?}", recording.errno);
    }
}

#[test]
fn a_device_smaller_than_the_target_says_is_refused() {
    needs!("/dev/loop-control");
    let device = LoopDevice::new(4 * MIB);
    assert!(refusal(&job(Op::Write), &device.spec(8 * MIB)).contains("holds 4194304 bytes"));
}

#[test]
fn a_full_file_system_is_counted_as_enospc() {
    needs!("/dev/loop-control");
    let mounted = Mounted::new(16 * MIB);
    let mut job = job(Op::Write);
    job.direct = true;
    job.pattern = Pattern::Sequential;
    job.until = Until {
        region_multiple: Some(1.0),
        ..forever()
    };
    // 64 MiB into 16 MiB: what fits is written, then every write fails.
    let spec = file_spec(&mounted.at.join("grows.bin"), 64 * MIB);
    std::fs::write(&spec.path, b"").unwrap();
    let run = engine::start(&job, &[spec], &Options::default()).unwrap();
    let recording = match run.join() {
        Ok(mut recordings) => recordings.remove(0),
        Err(EngineError::TargetFailed { mut recordings, .. }) => recordings.remove(0),
        Err(other) => panic!("{other}"),
    };
    assert!(recording.errno[&libc::ENOSPC] > 0);
    assert!(recording.completed() > 1000);
    let full = |remark: &Remark| matches!(remark, Remark::FailedIo { errno, .. } if *errno == libc::ENOSPC);
    assert!(
        recording.remarks.iter().any(full),
        "{:?}",
        recording.remarks
    );
}

#[test]
fn a_read_only_file_system_is_refused_for_writing_only() {
    needs!("/dev/loop-control");
    let mounted = Mounted::new(16 * MIB);
    let spec = mounted.file(MIB);
    sh("mount", &["-o", "remount,ro", mounted.at.to_str().unwrap()]);
    assert!(refusal(&job(Op::Write), &spec).contains("it is read-only"));
    let mut reading = job(Op::Read);
    reading.until = count(100);
    assert_eq!(run(&reading, &spec, &Options::default()).completed(), 100);
}

#[test]
fn a_frozen_target_shows_in_the_response_latency_of_an_open_load() {
    needs!("/dev/loop-control");
    thread::scope(|both| {
        for options in [Options::default(), threads()] {
            both.spawn(move || freeze_an_open_load(&options));
        }
    });
}

/// 1,000 arrivals a second for 10 s. However busy the machine, those of a freeze wait to its end at least, and at most
/// to the end of the second in which none is left waiting, by the engine's own count.
fn freeze_an_open_load(options: &Options) {
    const RATE_IOPS: f64 = 1000.0;
    const IODEPTH: u32 = 32;
    let mounted = Mounted::new(64 * MIB);
    let spec = mounted.file(16 * MIB);
    let mut job = job(Op::Write);
    job.direct = true;
    job.load = open(RATE_IOPS, Arrival::Deterministic, IODEPTH);
    job.until = time(Duration::from_secs(10));
    let run = engine::start(&job, &[spec], options).unwrap();
    wait_for(|| run.started_at().is_some());
    let start = run.started_at().unwrap();
    let run_time = || start.elapsed().unwrap_or_default().as_secs_f64();
    thread::sleep(Duration::from_secs_f64(2.75 - run_time()));
    let freezing_s = run_time();
    mounted.freeze();
    let frozen_s = run_time();
    thread::sleep(Duration::from_millis(1100));
    let thawing_s = run_time();
    mounted.thaw();

    let (intervals, recording) = follow(run);
    let recording = recording.unwrap();
    assert_eq!(recording.errno.len(), 0);
    // Seconds that ended with more arrivals waiting than one round issues: a busy machine may fall behind at other times too.
    let behind_s: Vec<f64> = intervals
        .iter()
        .filter(|interval| interval.backlog > Some(u64::from(IODEPTH)))
        .map(|interval| f64::from(interval.index))
        .collect();
    let slow_from_s = match behind_s.first() {
        Some(&first_s) if first_s < freezing_s.floor() => first_s,
        _ => freezing_s,
    };
    let caught_up_s = 2.0 + behind_s.last().copied().unwrap_or(freezing_s.floor());
    let response = recording.ops[&Op::Write].response.as_ref().unwrap();
    for q in [0.95, 0.99] {
        let response_s = response.quantile_ns(q).unwrap() / 1e9;
        // Those that wait longer than x arrived in the freeze's time but for its last x.
        let slower_s = (1.0 - q) * response.count() as f64 / RATE_IOPS;
        let (least_s, most_s) = (
            thawing_s - frozen_s - slower_s,
            caught_up_s - slow_from_s - slower_s,
        );
        eprintln!(
            "{:?}: response p{:.0} {response_s:.3} s of {least_s:.3} to {most_s:.3} s",
            options.backend,
            q * 100.0
        );
        // Half a bin of the histogram, and an arrival at each end.
        let slack_s = 0.004 * response_s + 2.0 / RATE_IOPS;
        assert!(
            (least_s - slack_s..most_s + slack_s).contains(&response_s),
            "p{:.0} {response_s} s of {least_s} to {most_s} s with {:?}",
            q * 100.0,
            options.backend
        );
    }
}

#[test]
fn io_that_never_returns_does_not_hold_up_the_end_of_a_run() {
    needs!("/dev/loop-control");
    for options in [Options::default(), threads()] {
        let options = Options {
            drain_timeout: Duration::from_millis(300),
            ..options
        };
        let mounted = Mounted::new(64 * MIB);
        let spec = mounted.file(16 * MIB);
        let mut job = job(Op::Write);
        job.direct = true;
        job.load = Load::Closed {
            threads: 1,
            iodepth: 4,
        };
        let run = engine::start(&job, &[spec], &options).unwrap();
        // A thread stuck in the kernel has delivered whole seconds only.
        thread::sleep(Duration::from_millis(1300));
        mounted.freeze();
        thread::sleep(Duration::from_millis(100));
        let asked = Instant::now();
        run.stop();
        let recording = run.join().unwrap().remove(0);
        assert!(
            asked.elapsed() < Duration::from_secs(6),
            "took {:?}",
            asked.elapsed()
        );
        assert!(recording.completed() > 0);
        let lost = |remark: &Remark| matches!(remark, Remark::LostIo { n: 4, .. });
        assert!(
            recording.remarks.iter().any(lost),
            "{:?} with {:?}",
            recording.remarks,
            options.backend
        );
        let censored = &recording.censored[&Op::Write].service;
        let largest_ns = recording.ops[&Op::Write].service.max_ns();
        assert_eq!(censored.count(), 4, "{censored:?}");
        assert!(censored.min_ns() > largest_ns, "{censored:?}");
        mounted.thaw();
        // The stuck threads end once the file system lives again; then it can be unmounted.
        thread::sleep(Duration::from_secs(1));
    }
}

#[test]
fn paths_of_devices_need_not_be_canonical() {
    needs!("/dev/loop-control");
    let device = LoopDevice::new(MIB);
    let link = device._backing.0.with_extension("link");
    std::os::unix::fs::symlink(Path::new(&device.path), &link).unwrap();
    let mut job = job(Op::Read);
    job.until = count(10);
    let spec = TargetSpec {
        path: link.clone(),
        ..device.spec(MIB)
    };
    assert_eq!(run(&job, &spec, &Options::default()).completed(), 10);
    std::fs::remove_file(link).unwrap();
}

/// 4 KiB blocks on a faulty file of 1 MiB, deep enough that some fail while others succeed.
fn on_faulty(op: Op, policy: Policy) -> (Faulty, workload::Job) {
    let mut job = job(op);
    job.direct = true;
    (Faulty::new(MIB, policy), job)
}

/// The run's failure and what was measured until then.
fn failure(
    faulty: &Faulty,
    job: &workload::Job,
    options: &Options,
) -> (String, recording::Recording) {
    let run = engine::start(job, &[faulty.spec()], options).unwrap();
    match run.join() {
        Err(EngineError::TargetFailed {
            reason,
            mut recordings,
            ..
        }) => (reason, recordings.remove(0)),
        other => panic!("no failure: {other:?}"),
    }
}

#[test]
fn io_errors_are_counted_by_errno_and_place_and_the_run_goes_on() {
    needs!("/dev/fuse");
    for options in [Options::default(), threads()] {
        let (faulty, mut job) = on_faulty(Op::Read, |io| match io.offset {
            65_536..=81_919 => Fate::Error(libc::EIO),
            _ => Fate::Good,
        });
        job.until = count(2000);
        let recording = run(&job, &faulty.spec(), &options);
        let errors = recording.ops[&Op::Read].errors;
        assert!((10..60).contains(&errors), "{errors}");
        assert_eq!(recording.completed() + errors, 2000);
        assert_eq!(recording.errno[&libc::EIO], errors);
        let [fault] = &recording.faults[..] else {
            panic!("{:?}", recording.faults)
        };
        assert_eq!(
            (fault.op, fault.errno, fault.n),
            (Op::Read, libc::EIO, errors)
        );
        assert_eq!((fault.start_bytes, fault.end_bytes), (65_536, 81_920));
        let told = Remark::FailedIo {
            errno: libc::EIO,
            n: errors,
            ranges: vec![fault.clone()],
            more_ranges: 0,
        };
        assert!(recording.remarks.contains(&told), "{:?}", recording.remarks);
    }
}

#[test]
fn batches_stay_whole_on_a_target_that_takes_longer_than_a_tick_for_one() {
    needs!("/dev/fuse");
    let (faulty, mut job) = on_faulty(Op::Read, |_| {
        thread::sleep(Duration::from_millis(3));
        Fate::Good
    });
    // FUSE would keep the submission in the kernel until it is answered; a loop device over it takes I/O and goes on.
    let file = faulty.spec().path;
    let device = LoopDevice::over(faulty, &file);
    job.load = Load::Closed {
        threads: 1,
        iodepth: 16,
    };
    job.pace.reap = 16;
    job.until = count(160);
    let recording = run(&job, &device.spec(MIB), &Options::default());
    let latencies = recording.ops[&Op::Read].service.bins();
    assert!(
        latencies.iter().all(|(_, n)| n % 16 == 0),
        "{latencies:?} of batches of 16"
    );
}

#[test]
fn short_writes_and_a_full_device_are_told_apart() {
    needs!("/dev/fuse");
    let (faulty, mut job) = on_faulty(Op::Write, |io| match io.offset {
        // The kernel asks for the rest of a short write once more; only then it gives up.
        0..=262_143 if io.size == 4096 => Fate::Short(512),
        0..=262_143 => Fate::Short(0),
        262_144..=524_287 => Fate::Error(libc::ENOSPC),
        _ => Fate::Good,
    });
    job.pattern = Pattern::Sequential;
    job.until = count(256);
    let recording = run(&job, &faulty.spec(), &Options::default());
    assert_eq!(recording.errno[&0], 64);
    assert_eq!(recording.errno[&libc::ENOSPC], 64);
    let stats = &recording.ops[&Op::Write];
    assert_eq!((stats.service.count(), stats.bytes), (128, 128 * 4096));
}

#[test]
fn a_job_that_asks_to_stop_at_errors_does_so_at_once_and_says_where() {
    needs!("/dev/fuse");
    for options in [Options::default(), threads()] {
        let (faulty, mut job) = on_faulty(Op::Read, |io| match io.number {
            500.. => Fate::Error(libc::EIO),
            _ => Fate::Good,
        });
        job.errors.most = Some(3);
        let began = Instant::now();
        let (reason, recording) = failure(&faulty, &job, &options);
        assert!(began.elapsed() < Duration::from_secs(2));
        assert!(
            reason.contains(
                "4 I/O failed, and the job asks to stop then; the last: read of 4096 bytes at"
            ),
            "{reason}"
        );
        assert!(recording.completed() > 400, "{}", recording.completed());
    }
}

#[test]
fn a_device_that_is_removed_ends_the_run_and_keeps_what_was_measured() {
    needs!("/dev/fuse");
    for options in [Options::default(), threads()] {
        let (faulty, job) = on_faulty(Op::Read, |_| Fate::Good);
        let run = engine::start(&job, &[faulty.spec()], &options).unwrap();
        thread::sleep(Duration::from_millis(100));
        faulty.remove();
        let removed = Instant::now();
        let Err(EngineError::TargetFailed {
            reason, recordings, ..
        }) = run.join()
        else {
            panic!("the removal was not reported")
        };
        assert!(removed.elapsed() < Duration::from_secs(2));
        assert!(reason.contains("the device is gone"), "{reason}");
        assert!(recordings[0].completed() > 0);
    }
}

#[test]
fn the_watchdog_ends_a_run_whose_io_does_not_return() {
    needs!("/dev/fuse");
    for options in [Options::default(), threads()] {
        let options = Options {
            drain_timeout: Duration::from_millis(100),
            ..options
        };
        let (faulty, mut job) = on_faulty(Op::Read, |io| match io.number {
            100 => Fate::Never,
            _ => Fate::Good,
        });
        job.errors.stuck_ns = 300_000_000;
        let began = Instant::now();
        let (reason, recording) = failure(&faulty, &job, &options);
        // FUSE keeps a submission in the kernel until it is answered.
        assert!(
            reason.contains("an I/O does not return: load thread"),
            "{reason}"
        );
        assert!(
            began.elapsed() < Duration::from_secs(12),
            "{:?}",
            began.elapsed()
        );
        let lost = |remark: &Remark| matches!(remark, Remark::LostIo { age_ns, .. } if *age_ns > 300_000_000);
        assert!(
            recording.remarks.iter().any(lost),
            "{:?}",
            recording.remarks
        );
    }
}

#[test]
fn io_in_flight_at_the_end_counts_with_its_age_where_nothing_that_returned_took_as_long() {
    needs!("/dev/fuse");
    for options in [Options::default(), threads()] {
        let options = Options {
            drain_timeout: Duration::from_millis(100),
            ..options
        };
        let (faulty, mut job) = on_faulty(Op::Write, |io| match io.number {
            200.. => Fate::Never,
            _ => Fate::Good,
        });
        job.until.time_ns = Some(1_500_000_000);
        let recording = run(&job, &faulty.spec(), &options);
        let censored = &recording.censored[&Op::Write].service;
        let (least_ns, most_ns) = (censored.min_ns().unwrap(), censored.max_ns().unwrap());
        assert!(
            (1_000_000_000..=1_500_000_000).contains(&least_ns) && most_ns <= 1_500_000_000,
            "{censored:?} with {:?}",
            options.backend
        );
    }
}

#[test]
fn a_run_whose_io_hangs_can_be_abandoned_at_once() {
    needs!("/dev/fuse");
    for options in [Options::default(), threads()] {
        let (faulty, job) = on_faulty(Op::Write, |io| match io.number {
            200.. => Fate::Never,
            _ => Fate::Good,
        });
        let run = engine::start(&job, &[faulty.spec()], &options).unwrap();
        thread::sleep(Duration::from_millis(1200));
        let abandoned = Instant::now();
        run.abandoner()();
        let recording = run.join().unwrap().remove(0);
        assert!(
            abandoned.elapsed() < Duration::from_secs(1),
            "{:?}",
            abandoned.elapsed()
        );
        assert!(recording.censored[&Op::Write].service.count() > 0);
    }
}
