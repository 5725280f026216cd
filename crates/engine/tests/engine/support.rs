//! Scratch files, jobs and runs for the tests.

use std::{
    fs::File,
    os::{fd::FromRawFd, unix::fs::FileExt},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use engine::{EngineError, Options, Run, TargetKind, TargetSpec};
use recording::{Interval, Recording};
use workload::{
    Arrival, Block, BlockShare, Content, Errors, Extent, Job, Load, Mix, Op, Pace, Pattern,
    Position, Region, Until,
};

pub const MIB: u64 = 1 << 20;

/// Ends the test, saying why, where the process may not mount or `device` cannot be had.
#[macro_export]
macro_rules! needs {
    ($device:literal) => {
        if let Some(reason) = $crate::support::lacks($device) {
            eprintln!("skipped: {reason}");
            return;
        }
    };
}

/// What is missing to make and mount devices through `device`.
pub fn lacks(device: &str) -> Option<String> {
    const CAP_SYS_ADMIN: u32 = 21;
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let capabilities = u64::from_str_radix(effective.unwrap().trim(), 16).unwrap();
    if capabilities >> CAP_SYS_ADMIN & 1 == 0 {
        return Some("needs root (CAP_SYS_ADMIN)".into());
    }
    let opened = File::options().read(true).write(true).open(device);
    Some(format!("needs {device}: {}", opened.err()?))
}

/// A file that is removed with the value.
pub struct Scratch(pub PathBuf);

impl Scratch {
    /// A file of `size_bytes` filled with `byte`.
    pub fn filled(size_bytes: u64, byte: u8) -> Self {
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("fathom-engine-{}-{serial}", std::process::id()));
        let scratch = Self(path);
        std::fs::write(&scratch.0, vec![byte; size_bytes as usize]).unwrap();
        scratch
    }

    pub fn read(&self) -> Vec<u8> {
        std::fs::read(&self.0).unwrap()
    }

    pub fn spec(&self, capacity_bytes: u64) -> TargetSpec {
        file_spec(&self.0, capacity_bytes)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Memory that behaves like a file and can be sealed against writes: a target that fails on demand.
pub struct Sealable(pub File);

impl Sealable {
    pub fn new(size_bytes: u64) -> Self {
        // SAFETY: the name is a valid C string.
        let fd = unsafe { libc::memfd_create(c"fathom".as_ptr(), libc::MFD_ALLOW_SEALING) };
        assert!(fd >= 0);
        // SAFETY: the descriptor was just made and has no other owner.
        let file = unsafe { File::from_raw_fd(fd) };
        file.write_all_at(&vec![1; size_bytes as usize], 0).unwrap();
        Self(file)
    }

    pub fn seal(&self, seals: libc::c_int) {
        use std::os::fd::AsRawFd;
        // SAFETY: a system call on an open descriptor.
        let done = unsafe { libc::fcntl(self.0.as_raw_fd(), libc::F_ADD_SEALS, seals) };
        assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
    }

    pub fn spec(&self, capacity_bytes: u64) -> TargetSpec {
        use std::os::fd::AsRawFd;
        file_spec(
            Path::new(&format!("/proc/self/fd/{}", self.0.as_raw_fd())),
            capacity_bytes,
        )
    }
}

pub fn file_spec(path: &Path, capacity_bytes: u64) -> TargetSpec {
    TargetSpec {
        path: path.into(),
        kind: TargetKind::File,
        capacity_bytes,
        held: None,
    }
}

pub fn null_spec() -> TargetSpec {
    TargetSpec {
        path: "null:".into(),
        kind: TargetKind::Null,
        capacity_bytes: 1 << 40,
        held: None,
    }
}

pub fn nop_spec() -> TargetSpec {
    TargetSpec {
        path: "nop:".into(),
        kind: TargetKind::Nop,
        ..null_spec()
    }
}

/// The targets without anything behind them, each with the ways to run on it.
pub fn empty_specs() -> [(TargetSpec, Options); 3] {
    [
        (null_spec(), Options::default()),
        (null_spec(), threads()),
        (nop_spec(), Options::default()),
    ]
}

/// 4 KiB of one operation, uniform over the target, one thread x 8, no end.
pub fn job(op: Op) -> Job {
    Job {
        mix: Mix {
            ops: vec![block(op, 4096, 1.0)],
        },
        flush_every: 0,
        pattern: Pattern::Uniform,
        region: Region {
            start: Extent::Bytes(0),
            size: Extent::Fraction(1.0),
            part: None,
        },
        position: Position::default(),
        align_bytes: None,
        content: Content::default(),
        placement: Vec::new(),
        direct: false,
        priority: None,
        priority_shares: Vec::new(),
        sync: workload::Sync::None,
        sqpoll: false,
        huge_pages: false,
        gpu: false,
        exitall: false,
        streams: Vec::new(),
        load: Load::Closed {
            threads: 1,
            iodepth: 8,
        },
        pace: Pace::default(),
        errors: Errors::default(),
        files: None,
        journal: None,
        until: forever(),
    }
}

pub fn block(op: Op, size_bytes: u32, weight: f64) -> Block {
    let sizes = if op == Op::Flush {
        Vec::new()
    } else {
        vec![BlockShare {
            size_bytes,
            weight: 1.0,
        }]
    };
    Block {
        op,
        weight,
        sizes,
        align_bytes: None,
    }
}

pub fn forever() -> Until {
    Until {
        time_ns: None,
        bytes: None,
        region_multiple: None,
        count: None,
    }
}

pub fn count(count: u64) -> Until {
    Until {
        count: Some(count),
        ..forever()
    }
}

pub fn time(time: Duration) -> Until {
    Until {
        time_ns: Some(time.as_nanos() as u64),
        ..forever()
    }
}

pub fn open(rate_iops: f64, arrival: Arrival, iodepth: u32) -> Load {
    Load::Open {
        rate_iops,
        arrival,
        threads: 1,
        iodepth,
    }
}

/// Polls to the end; the intervals of the first target and its recording.
pub fn follow(mut run: Run) -> (Vec<Interval>, Result<Recording, EngineError>) {
    let mut intervals = Vec::new();
    let give_up = Instant::now() + Duration::from_secs(120);
    while !run.is_done() {
        assert!(Instant::now() < give_up, "the run does not end");
        intervals.extend(
            run.poll()
                .into_iter()
                .filter(|(target, _)| *target == 0)
                .map(|(_, i)| i),
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    (
        intervals,
        run.join().map(|mut recordings| recordings.remove(0)),
    )
}

pub fn run(job: &Job, spec: &TargetSpec, options: &Options) -> Recording {
    let run = engine::start(job, std::slice::from_ref(spec), options).unwrap();
    run.join().unwrap().remove(0)
}

pub fn threads() -> Options {
    Options {
        backend: engine::Backend::Threads,
        ..Options::default()
    }
}

pub fn refusal(job: &Job, spec: &TargetSpec) -> String {
    match engine::start(job, std::slice::from_ref(spec), &Options::default()) {
        Ok(_) => panic!("started"),
        Err(error) => error.to_string(),
    }
}

/// Spends time until `condition`, for at most ten seconds.
pub fn wait_for(mut condition: impl FnMut() -> bool) {
    let give_up = Instant::now() + Duration::from_secs(10);
    while !condition() {
        assert!(Instant::now() < give_up, "waited in vain");
        std::thread::sleep(Duration::from_millis(5));
    }
}
