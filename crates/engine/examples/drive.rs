//! Runs one job through the engine and prints one JSON line: rates, latency, CPU time per I/O of
//! the whole process (kernel workers included). The measuring end of the scripts in `benches/`.
//!
//! usage: drive (file|device|null|nop) PATH SIZE_BYTES KEY=VALUE...
//!   op=read|write  pattern=rand|seq  position=part|start|shared  bs=4096  threads=1  iodepth=32  time_s=5  direct=1
//!   reap=1  huge=0  sqpoll=0  pin=1  rate=IOPS (open load)  backend=auto|threads

use std::{collections::HashMap, error::Error, mem, process::ExitCode, time::Duration};

use engine::{Backend, Options, TargetKind, TargetSpec};
use workload::{
    Arrival, Block, BlockShare, Content, Errors, Extent, Job, Load, Mix, Op, Pace, Pattern,
    Position, Region, ThreadPositions, Until,
};

fn main() -> ExitCode {
    match drive() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("drive: {error}");
            ExitCode::FAILURE
        }
    }
}

fn drive() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, path, size, settings @ ..] = &arguments[..] else {
        return Err("usage: drive (file|device|null|nop) PATH SIZE_BYTES KEY=VALUE...".into());
    };
    let settings: HashMap<&str, &str> = settings
        .iter()
        .filter_map(|setting| setting.split_once('='))
        .collect();
    let spec = TargetSpec {
        path: path.into(),
        kind: match kind.as_str() {
            "file" => TargetKind::File,
            "device" => TargetKind::BlockDevice,
            "nop" => TargetKind::Nop,
            "null" => TargetKind::Null,
            other => return Err(format!("{other}: expected file, device, null or nop").into()),
        },
        capacity_bytes: size.parse()?,
        held: None,
    };
    let options = Options {
        reap_min: number(&settings, "reap", 1.0)? as u32,
        sqpoll: number(&settings, "sqpoll", 0.0)? != 0.0,
        huge_pages: number(&settings, "huge", 0.0)? != 0.0,
        backend: match settings.get("backend") {
            Some(&"threads") => Backend::Threads,
            _ => Backend::Auto,
        },
        pin: number(&settings, "pin", 1.0)? != 0.0,
        ..Options::default()
    };
    let before = cpu_us();
    let mut run = engine::start(&job(&settings)?, &[spec], &options)?;
    while !run.is_done() {
        run.poll();
        std::thread::sleep(Duration::from_millis(50));
    }
    let setup = run.setup();
    let recording = run.join()?.remove(0);
    let after = cpu_us();
    let n = recording.completed().max(1) as f64;
    let stats = recording.ops.values().next().cloned().unwrap_or_default();
    let q = |q| stats.service.quantile_ns(q).unwrap_or(f64::NAN) / 1e3;
    if let Some(response) = &stats.response {
        let [p95, p99] = [0.95, 0.99].map(|q| response.quantile_ns(q).unwrap_or(f64::NAN) / 1e9);
        eprintln!("response p95 {p95:.3} s, p99 {p99:.3} s");
    }
    println!(
        "{{\"iops\": {:.1}, \"mbps\": {:.2}, \"user_us\": {:.5}, \"sys_us\": {:.5}, \"mean_us\": {:.2}, \"p50_us\": {:.2}, \"p99_us\": {:.2}, \"outstanding\": {:.2}, \"errors\": {}}}",
        n * 1e9 / recording.window_ns as f64,
        stats.bytes as f64 * 1e3 / recording.window_ns as f64,
        (after.0 - before.0) / n,
        (after.1 - before.1) / n,
        stats.service.mean_ns().unwrap_or(f64::NAN) / 1e3,
        q(0.5),
        q(0.99),
        recording.mean_outstanding.unwrap_or(f64::NAN),
        stats.errors,
    );
    eprintln!(
        "{}; limit: {:?}",
        serde_json::to_string(&setup)?,
        recording.limit()
    );
    for note in &recording.notes {
        eprintln!("note: {note}");
    }
    Ok(())
}

fn number(settings: &HashMap<&str, &str>, key: &str, default: f64) -> Result<f64, Box<dyn Error>> {
    match settings.get(key) {
        None => Ok(default),
        Some(text) => text
            .parse()
            .map_err(|_| format!("{key}={text}: expected a number").into()),
    }
}

fn job(settings: &HashMap<&str, &str>) -> Result<Job, Box<dyn Error>> {
    let op = if settings.get("op") == Some(&"write") {
        Op::Write
    } else {
        Op::Read
    };
    let sizes = vec![BlockShare {
        size_bytes: number(settings, "bs", 4096.0)? as u32,
        weight: 1.0,
    }];
    let threads = number(settings, "threads", 1.0)? as u32;
    let iodepth = number(settings, "iodepth", 32.0)? as u32;
    let rate_iops = number(settings, "rate", 0.0)?;
    Ok(Job {
        flush_every: 0,
        mix: Mix {
            ops: vec![Block {
                op,
                weight: 1.0,
                sizes,
                align_bytes: None,
            }],
        },
        pattern: match settings.get("pattern") {
            Some(&"seq") => Pattern::Sequential,
            _ => Pattern::Uniform,
        },
        region: Region {
            start: Extent::Bytes(0),
            size: Extent::Fraction(1.0),
            part: None,
        },
        position: Position {
            threads: match settings.get("position") {
                Some(&"shared") => ThreadPositions::Shared,
                Some(&"start") => ThreadPositions::Start,
                _ => ThreadPositions::Part,
            },
            operations: None,
            ahead_bytes: 0,
        },
        align_bytes: None,
        content: Content::default(),
        placement: Vec::new(),
        direct: number(settings, "direct", 1.0)? != 0.0,
        priority: None,
        priority_shares: Vec::new(),
        sync: workload::Sync::None,
        sqpoll: false,
        huge_pages: false,
        gpu: number(settings, "gpu", 0.0)? != 0.0,
        exitall: false,
        streams: Vec::new(),
        load: if rate_iops > 0.0 {
            Load::Open {
                rate_iops,
                arrival: Arrival::Exponential,
                threads,
                iodepth,
            }
        } else {
            Load::Closed { threads, iodepth }
        },
        pace: Pace::default(),
        errors: Errors::default(),
        files: None,
        journal: None,
        until: Until {
            time_ns: Some((number(settings, "time_s", 5.0)? * 1e9) as u64),
            bytes: None,
            region_multiple: None,
            count: None,
        },
    })
}

/// User and system time of the process, us.
fn cpu_us() -> (f64, f64) {
    // SAFETY: a zeroed rusage is a valid value for the call to fill.
    let usage = unsafe {
        let mut usage: libc::rusage = mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let us = |t: libc::timeval| t.tv_sec as f64 * 1e6 + t.tv_usec as f64;
    (us(usage.ru_utime), us(usage.ru_stime))
}
