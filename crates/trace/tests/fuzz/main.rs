//! No trace breaks its parser, whoever wrote it: changed samples of each format are read or refused, each refusal in one
//! line. None panics, hangs or takes much memory, and what comes out keeps the promises of `Batch`.
//!
//! Each format gets `FATHOM_FUZZ_INPUTS` inputs at least, `LEAST_INPUTS` without it, and `FATHOM_FUZZ_SECONDS`, 10
//! without it: a minute for each format would add six minutes to `make test` on two cores; `make test-full` gives ten.
//! `FATHOM_FUZZ_SEED` looks elsewhere.
//! An input is known by seed and number, and one that breaks a parser is kept in `target/trace-fuzz`.
//! Once that is mended, it belongs into `tests/fuzz/corpus/trace-FORMAT`, from which the samples come.

mod mutate;
mod promises;

use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use mutate::{Chance, mutated};
use promises::{check, check_columns, check_detect};
use trace::Format;

/// Twelve kinds of input make a million.
const LEAST_INPUTS: u64 = 100_000;
/// An input that takes more processor time hangs. Time on the clock would count what other programs take, too.
const SLOWEST: Duration = Duration::from_secs(20);
/// USER_HZ of Linux, the unit of processor times in procfs.
const TICKS_PER_S: u64 = 100;
const MOST_RESIDENT_BYTES: u64 = 1 << 30;
const MOST_SOURCES: usize = 3;

fn number_of(name: &str, default: u64) -> u64 {
    let text = env::var(name).unwrap_or_default();
    text.parse().unwrap_or(default)
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn samples(name: &str) -> Vec<Vec<u8>> {
    let folder = repository().join("tests/fuzz/corpus").join(name);
    let files =
        fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    paths.sort();
    let found: Vec<_> = paths
        .iter()
        .map(|path| fs::read(path).expect("a sample"))
        .collect();
    assert!(!found.is_empty(), "{}: no samples", folder.display());
    found
}

/// Returns the most memory that this process has had.
fn most_resident_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("procfs");
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kib.expect("VmHWM in kB") << 10
}

/// Returns the processor time that a thread has taken, by its folder in procfs.
fn cpu_time(task: &Path) -> Duration {
    let stat = fs::read_to_string(task.join("stat")).unwrap_or_default();
    // The name ends with the last bracket; utime and stime are the 12th and 13th field behind it.
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks = fields.split_whitespace().skip(11).take(2);
    Duration::from_millis(
        ticks.filter_map(|one| one.parse::<u64>().ok()).sum::<u64>() * 1000 / TICKS_PER_S,
    )
}

/// Feeds samples as they are, then changed ones until time and least count are reached.
fn fuzz(name: &'static str, feed: fn(&[Vec<u8>], &mut Chance)) {
    let kept = samples(name);
    for sample in &kept {
        feed(std::slice::from_ref(sample), &mut Chance::new(0, 0));
    }
    let seed = number_of("FATHOM_FUZZ_SEED", 1);
    let end = Instant::now() + Duration::from_secs(number_of("FATHOM_FUZZ_SECONDS", 10));
    let least = number_of("FATHOM_FUZZ_INPUTS", LEAST_INPUTS);
    let next = Arc::new(AtomicU64::new(0));
    let at_work = Arc::clone(&next);
    let (tell, told) = mpsc::channel();
    let worker = thread::spawn(move || {
        let own = fs::read_link("/proc/thread-self").expect("procfs");
        tell.send(Path::new("/proc").join(own)).expect("a watcher");
        let mut number = 0;
        while number < least || Instant::now() < end {
            at_work.store(number, Ordering::Relaxed);
            let mut chance = Chance::new(seed, number);
            feed(&input(&kept, &mut chance), &mut chance);
            number += 1;
        }
        number
    });
    watch(name, seed, &next, &worker, &told.recv().expect("a worker"));
    match worker.join() {
        Ok(inputs) => println!("{name}: {inputs} inputs, seed {seed}"),
        Err(_) => fail(
            name,
            seed,
            next.load(Ordering::Relaxed),
            "breaks the parser",
        ),
    }
}

/// Returns the files of one trace: one, or now and then several.
fn input(samples: &[Vec<u8>], chance: &mut Chance) -> Vec<Vec<u8>> {
    let sources = if chance.one_in(4) {
        1 + chance.below(MOST_SOURCES)
    } else {
        1
    };
    (0..sources).map(|_| mutated(samples, chance)).collect()
}

/// Waits for the worker. A parser that hangs cannot be ended, but the test can.
fn watch(name: &str, seed: u64, next: &AtomicU64, worker: &thread::JoinHandle<u64>, task: &Path) {
    let mut seen = (u64::MAX, Duration::ZERO);
    while !worker.is_finished() {
        thread::sleep(Duration::from_millis(100));
        let number = next.load(Ordering::Relaxed);
        if number != seen.0 {
            seen = (number, cpu_time(task));
        } else if cpu_time(task).saturating_sub(seen.1) > SLOWEST {
            fail(name, seed, number, "hangs");
        }
        if most_resident_bytes() > MOST_RESIDENT_BYTES {
            fail(
                name,
                seed,
                number,
                "or one of the last before it takes more than 1 GiB",
            );
        }
    }
}

fn fail(name: &str, seed: u64, number: u64, what: &str) -> ! {
    let folder = repository().join("target/trace-fuzz");
    fs::create_dir_all(&folder).expect("a folder");
    let files = input(&samples(name), &mut Chance::new(seed, number));
    for (place, bytes) in files.iter().enumerate() {
        let path = folder.join(format!("{name}-{seed}-{number}.{place}"));
        fs::write(path, bytes).expect("room for an input");
    }
    panic!("{name}: input {number} of seed {seed} {what}; it is kept in target/trace-fuzz");
}

macro_rules! formats {
    ($($test:ident: $name:literal, $format:expr;)*) => {
        $(#[test]
        fn $test() {
            fuzz(concat!("trace-", $name), |files, chance| check($format, files, chance));
        })*

        #[test]
        fn every_format_is_fuzzed() {
            let fuzzed = [$($name),*];
            assert_eq!(fuzzed, Format::ALL.map(Format::name));
        }
    };
}

formats! {
    no_csv_breaks_its_parser: "csv", Format::Csv;
    no_msr_trace_breaks_its_parser: "msr", Format::Msr;
    no_systor_trace_breaks_its_parser: "systor", Format::Systor;
    no_alibaba_trace_breaks_its_parser: "alibaba", Format::Alibaba;
    no_tencent_trace_breaks_its_parser: "tencent", Format::Tencent;
    no_cloudphysics_trace_breaks_its_parser: "cloudphysics", Format::CloudPhysics;
    no_blktrace_breaks_its_parser: "blktrace", Format::Blktrace;
    no_blkparse_text_breaks_its_parser: "blkparse", Format::Blkparse;
    no_iolog_breaks_its_parser: "iolog", Format::Iolog;
    no_perf_text_breaks_its_parser: "perf", Format::Perf;
    no_biosnoop_table_breaks_its_parser: "biosnoop", Format::Biosnoop;
}

#[test]
fn no_list_of_columns_breaks_its_parser() {
    fuzz("trace-columns", check_columns);
}

#[test]
fn no_head_of_a_file_breaks_the_recognition_of_formats() {
    fuzz("trace-detect", check_detect);
}
