//! The file system over a device that only counts and takes time: what reaches it, in which order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use recording::Recording;
use workload::{Job, Op, Request};

use super::{assert_close, closed, small_drive};
use crate::device::{Account, Completion, CompletionKind, Device};
use crate::{Control, FileSystem, FsParams, HostParams, Ssd, run};

const BLOCK: u64 = 4096;
const MIB: u64 = 1 << 20;

/// One head: a request begins when the one before has ended, costs a seek when it does not follow
/// it, and then its bytes. It remembers every request.
pub(super) struct Tape {
    bytes: u64,
    seek_ns: u64,
    ns_per_block: u64,
    host: HostParams,
    now_ns: u64,
    free_ns: u64,
    head: u64,
    number: u64,
    queue: BinaryHeap<Reverse<(u64, u64, u32, bool)>>,
    pub(super) log: Vec<Request>,
}

impl Tape {
    /// 100 MB/s and a seek of 10 ms.
    pub(super) fn new(bytes: u64) -> Self {
        Self {
            bytes,
            seek_ns: 10_000_000,
            ns_per_block: 40_960,
            host: small_drive().host,
            now_ns: 0,
            free_ns: 0,
            head: 0,
            number: 0,
            queue: BinaryHeap::new(),
            log: Vec::new(),
        }
    }

    fn push(&mut self, at_ns: u64, tag: u32, wake: bool) {
        self.number += 1;
        self.queue
            .push(Reverse((at_ns.max(self.now_ns), self.number, tag, wake)));
    }

    fn of(&self, op: Op) -> Vec<Request> {
        self.log.iter().filter(|r| r.op == op).copied().collect()
    }
}

impl Device for Tape {
    fn capacity_bytes(&self) -> u64 {
        self.bytes
    }
    fn block_bytes(&self) -> u32 {
        512
    }
    fn scale(&self) -> f64 {
        1.0
    }
    fn host(&self) -> &HostParams {
        &self.host
    }
    fn now_ns(&self) -> u64 {
        self.now_ns
    }
    fn submit(&mut self, at_ns: u64, tag: u32, request: Request) {
        self.log.push(request);
        let moves = matches!(request.op, Op::Read | Op::Write);
        let begin_ns = self.free_ns.max(at_ns);
        let seek_ns = if moves && request.offset_bytes != self.head {
            self.seek_ns
        } else {
            0
        };
        if moves {
            self.head = request.offset_bytes + u64::from(request.size_bytes);
            let blocks = u64::from(request.size_bytes) / BLOCK;
            self.free_ns = begin_ns + seek_ns + blocks * self.ns_per_block;
        }
        self.push(self.free_ns.max(at_ns), tag, false);
    }
    fn wake(&mut self, at_ns: u64, tag: u32) {
        self.push(at_ns, tag, true);
    }
    fn advance(&mut self, limit_ns: u64) -> Option<Completion> {
        match self.queue.peek() {
            Some(&Reverse((at_ns, _, tag, wake))) if at_ns <= limit_ns => {
                self.queue.pop();
                self.now_ns = at_ns;
                let kind = if wake {
                    CompletionKind::Wake
                } else {
                    CompletionKind::Done
                };
                Some(Completion { at_ns, tag, kind })
            }
            _ => {
                if limit_ns != u64::MAX {
                    self.now_ns = self.now_ns.max(limit_ns);
                }
                None
            }
        }
    }
    fn is_busy(&self) -> bool {
        !self.queue.is_empty()
    }
    fn account(&mut self, into: &mut Account) {
        into.media_write_bytes = self
            .of(Op::Write)
            .iter()
            .map(|r| u64::from(r.size_bytes))
            .sum();
        into.media_read_bytes = self
            .of(Op::Read)
            .iter()
            .map(|r| u64::from(r.size_bytes))
            .sum();
        into.resources.clear();
    }
}

/// A preset with 64 MiB of memory, and zones or groups of 16 MiB.
fn small(name: &str) -> FsParams {
    let preset = FsParams::preset(name, true).expect("a preset");
    FsParams {
        memory_bytes: 64 * MIB,
        group_bytes: 16 * MIB,
        zone_bytes: preset.zone_bytes.min(16 * MIB),
        ..preset
    }
}

fn over_tape(params: &FsParams) -> FileSystem<Tape> {
    FileSystem::new(Tape::new(2048 * MIB), params).expect("room")
}

fn job(mix: &str, block: &str, pattern: &str, until: &str) -> Job {
    let text = format!(
        r#"{{"mix":{mix},"block":"{block}","pattern":"{pattern}","region":"512MiB","load":{{"threads":1,"iodepth":8}},"until":{until}}}"#
    );
    Job::from_json(&text, "test").expect("a valid job")
}

fn measure<D: Device>(fs: &mut FileSystem<D>, job: &Job) -> Recording {
    let seed = fs.now_ns() + 7;
    run(job, fs, seed, &Control::default(), |_| {}).expect("the job runs")
}

fn settle<D: Device>(fs: &mut FileSystem<D>) {
    while fs.is_busy() {
        fs.advance(u64::MAX);
    }
    assert_eq!(fs.dirty_bytes(), 0);
}

/// A file of 512 MiB, written in order, clean.
fn filled(params: &FsParams) -> FileSystem<Tape> {
    let mut fs = over_tape(params);
    measure(
        &mut fs,
        &job("\"write\"", "1MiB", "sequential", r#"{"written":"1x"}"#),
    );
    settle(&mut fs);
    fs
}

fn bytes(recording: &Recording) -> u64 {
    recording.ops.values().map(|stats| stats.bytes).sum()
}

fn mbps(recording: &Recording) -> f64 {
    bytes(recording) as f64 * 1e3 / recording.window_ns as f64
}

/// Requests that follow the one before on the device, as a share, behind the first `from`.
fn in_order(log: &[Request]) -> f64 {
    let follows = log.windows(2).filter(|pair| {
        pair[0].offset_bytes + u64::from(pair[0].size_bytes) == pair[1].offset_bytes
    });
    follows.count() as f64 / (log.len() - 1) as f64
}

/// Overwrites `count` random blocks of the filled file and lets all of it reach the device.
fn overwritten(params: &FsParams, block: &str, count: u64) -> (FileSystem<Tape>, Vec<Request>) {
    let mut fs = filled(params);
    let from = fs.device().of(Op::Write).len();
    let until = format!(r#"{{"count":{count}}}"#);
    measure(&mut fs, &job("\"write\"", block, "uniform", &until));
    settle(&mut fs);
    let log = fs.device().of(Op::Write).split_off(from);
    (fs, log)
}

#[test]
fn on_zones_random_overwrites_reach_the_device_in_order_and_merged() {
    let (_, log) = overwritten(&small("btrfs-zoned"), "64KiB", 2000);
    let metadata = 48 * MIB;
    let data: Vec<Request> = log
        .into_iter()
        .filter(|r| r.offset_bytes >= metadata)
        .collect();
    let mut pointers = std::collections::HashMap::new();
    for request in &data {
        let zone = request.offset_bytes / (16 * MIB);
        let at = pointers.entry(zone).or_insert(request.offset_bytes);
        assert_eq!(
            *at, request.offset_bytes,
            "zone {zone} is written at its pointer"
        );
        *at += u64::from(request.size_bytes);
    }
    assert!(in_order(&data) > 0.8, "{}", in_order(&data));
    let mean = data.iter().map(|r| u64::from(r.size_bytes)).sum::<u64>() / data.len() as u64;
    assert!(mean > 512 << 10, "{mean} bytes a request");
}

#[test]
fn in_place_random_overwrites_stay_where_they_were_and_in_order_of_the_file() {
    let (fs, log) = overwritten(&small("xfs"), "64KiB", 500);
    let fs_fill = filled(&small("xfs"));
    assert_eq!(fs.extents(), fs_fill.extents(), "nothing moved");
    let data: Vec<Request> = log.into_iter().filter(|r| r.size_bytes >= 65_536).collect();
    assert!(in_order(&data) < 0.2, "{}", in_order(&data));
    let backwards = data
        .windows(2)
        .filter(|w| w[1].offset_bytes < w[0].offset_bytes)
        .count();
    assert!(
        backwards * 20 < data.len(),
        "one sweep or few: {backwards} of {}",
        data.len()
    );
}

#[test]
fn random_writes_are_faster_on_zones_than_in_place() {
    let rate = |name| {
        let mut fs = filled(&small(name));
        mbps(&measure(
            &mut fs,
            &job("\"write\"", "64KiB", "uniform", r#"{"time":"60s"}"#),
        ))
    };
    let (zoned, in_place) = (rate("btrfs-zoned"), rate("xfs"));
    // In place every 64 KiB pay a seek: 64 KiB in 10.7 ms are 6.1 MB/s, less what two overwrites of a
    // block in the cache save.
    assert!(in_place < 10.0, "{in_place}");
    assert!(zoned > 5.0 * in_place, "{zoned} against {in_place}");
}

#[test]
fn reads_after_random_overwrites_pay_for_fragments() {
    let read = job("\"read\"", "1MiB", "sequential", r#"{"count":512}"#);
    let fresh = mbps(&measure(&mut filled(&small("btrfs-zoned")), &read));
    let (mut fs, _) = overwritten(&small("btrfs-zoned"), "64KiB", 2000);
    let fragmented = mbps(&measure(&mut fs, &read));
    assert_close("sequential read of a fresh file, MB/s", fresh, 100.0, 0.03);
    assert!(fragmented < 0.3 * fresh, "{fragmented} against {fresh}");
}

#[test]
fn extents_after_n_random_overwrites_are_as_derived() {
    // A file of B blocks, of which a share p was overwritten, each by itself: a boundary between two
    // neighbours is one of extents unless neither was overwritten, 1 - (1 - p)^2, p = 1 - e^(-n/B).
    let (blocks, count) = (8192.0, 4000.0_f64);
    let (fs, _) = overwritten(&small("btrfs-zoned"), "64KiB", count as u64);
    let share = 1.0 - (-count / blocks).exp();
    let expected = blocks * (1.0 - (1.0 - share).powi(2));
    // Neighbours written in one sweep lie beside each other again: the sweeps are of the free-run
    // limit's 9.6 MiB, 154 blocks, so fewer than 2 in 100 pairs.
    assert_close("extents", fs.extents() as f64, expected, 0.06);
}

#[test]
fn writers_run_at_memory_speed_to_the_dirty_limit_and_at_the_devices_rate_beyond() {
    let params = small("xfs");
    let mut fs = over_tape(&params);
    let limit = 64 * MIB * 15 / 100;
    let until = format!(r#"{{"bytes":{}}}"#, limit / 2);
    let early = measure(&mut fs, &job("\"write\"", "64KiB", "sequential", &until));
    assert!(mbps(&early) > 3000.0, "{}", mbps(&early));
    let mut fs = over_tape(&params);
    let late = measure(
        &mut fs,
        &job("\"write\"", "64KiB", "sequential", r#"{"time":"4s"}"#),
    );
    let device_bytes = 100e6 * 4.0 + limit as f64;
    assert_close("bytes in 4 s", bytes(&late) as f64, device_bytes, 0.02);
    assert!(fs.dirty_bytes() <= limit + MIB);
}

#[test]
fn dirty_data_below_every_limit_is_written_when_it_is_old() {
    let mut fs = over_tape(&small("xfs"));
    measure(
        &mut fs,
        &job("\"write\"", "64KiB", "sequential", r#"{"count":10}"#),
    );
    fs.wake(29_000_000_000, 0);
    while fs.advance(29_000_000_000).is_some() {}
    assert!(fs.device().of(Op::Write).is_empty());
    while fs.advance(36_000_000_000).is_some() {}
    assert_eq!(fs.dirty_bytes(), 0);
}

#[test]
fn fsync_ends_when_data_metadata_and_the_devices_cache_are_written() {
    for name in ["ext4", "xfs", "btrfs", "btrfs-zoned"] {
        let mut fs = over_tape(&small(name));
        measure(
            &mut fs,
            &job("\"write\"", "64KiB", "uniform", r#"{"count":10}"#),
        );
        assert_eq!(fs.dirty_bytes(), 10 * 65_536, "{name}");
        measure(
            &mut fs,
            &job("\"flush\"", "4KiB", "uniform", r#"{"count":1}"#),
        );
        assert_eq!(fs.dirty_bytes(), 0, "{name}");
        let log = &fs.device().log;
        let data: u64 = log.iter().map(|r| u64::from(r.size_bytes)).sum();
        assert!(data > 10 * 65_536, "{name}: {data} bytes with metadata");
        assert_eq!(log.last().map(|r| r.op), Some(Op::Flush), "{name}");
    }
}

#[test]
fn a_sequential_reader_is_read_ahead_of_and_a_random_one_is_not() {
    let mut fs = filled(&small("btrfs"));
    let from = fs.device().of(Op::Read).len();
    let sequential = measure(
        &mut fs,
        &job("\"read\"", "4KiB", "sequential", r#"{"count":20000}"#),
    );
    let reads = fs.device().of(Op::Read).split_off(from);
    assert!(
        reads.len() < 200,
        "{} reads for 20000 requests",
        reads.len()
    );
    assert_close(
        "4 KiB sequential reads, MB/s",
        mbps(&sequential),
        100.0,
        0.1,
    );
    let before = fs.device().of(Op::Read).len();
    measure(
        &mut fs,
        &job("\"read\"", "4KiB", "uniform", r#"{"count":500}"#),
    );
    let random = fs.device().of(Op::Read).split_off(before);
    assert!(random.iter().all(|r| u64::from(r.size_bytes) == BLOCK));
    assert!(random.len() > 490);
}

#[test]
fn what_is_dirty_is_read_from_memory() {
    let mut fs = over_tape(&small("xfs"));
    measure(
        &mut fs,
        &job("\"write\"", "64KiB", "sequential", r#"{"count":16}"#),
    );
    let text = r#"{"mix":"read","block":"64KiB","pattern":"sequential","region":"1MiB","load":{"threads":1,"iodepth":1},"until":{"count":16}}"#;
    measure(&mut fs, &Job::from_json(text, "test").expect("a valid job"));
    assert!(fs.device().of(Op::Read).is_empty());
}

#[test]
fn a_full_zoned_device_is_reclaimed_and_goes_on() {
    let params = small("btrfs-zoned");
    let tape = Tape::new(512 * MIB);
    let mut fs = FileSystem::new(tape, &params).expect("room");
    let whole = |pattern: &str, until: &str| {
        let text = format!(
            r#"{{"mix":"write","block":"1MiB","pattern":"{pattern}","load":{{"threads":1,"iodepth":4}},"until":{until}}}"#
        );
        Job::from_json(&text, "test").expect("a valid job")
    };
    measure(&mut fs, &whole("sequential", r#"{"written":"1x"}"#));
    measure(&mut fs, &whole("uniform", r#"{"written":"2x"}"#));
    settle(&mut fs);
    let log = &fs.device().log;
    assert!(fs.device().of(Op::Trim).len() > 20, "zones are reset");
    let mut pointer = std::collections::HashMap::new();
    for request in log {
        let zone = request.offset_bytes / (16 * MIB);
        match request.op {
            Op::Trim => drop(pointer.insert(zone, zone * 16 * MIB)),
            Op::Write => {
                let at = pointer.entry(zone).or_insert(zone * 16 * MIB);
                assert_eq!(
                    *at, request.offset_bytes,
                    "zone {zone} is written at its pointer"
                );
                *at += u64::from(request.size_bytes);
            }
            _ => {}
        }
    }
    let host = 3 * fs.capacity_bytes();
    let device: u64 = fs
        .device()
        .of(Op::Write)
        .iter()
        .map(|r| u64::from(r.size_bytes))
        .sum();
    assert!(device > host, "moved data is written again");
}

/// A job over the whole file.
fn over_all(mix: &str, block: &str, pattern: &str, until: &str) -> Job {
    closed(&format!("\"{mix}\""), block, pattern, 1, 4, until)
}

#[test]
fn a_full_file_on_few_zones_leaves_room_to_win_overwritten_space_back() {
    // 11 zones of data: two in reserve, one that is written.
    let tape = Tape::new(192 * MIB);
    let mut fs = FileSystem::new(tape, &small("btrfs-zoned")).expect("room");
    assert_eq!(fs.capacity_bytes(), 8 * 16 * MIB);
    let fill = over_all("write", "1MiB", "sequential", r#"{"written":"1x"}"#);
    measure(&mut fs, &fill);
    let again = over_all("write", "64KiB", "uniform", r#"{"written":"2x"}"#);
    let found = measure(&mut fs, &again);
    assert!(found.errno.is_empty(), "{:?}", found.errno);
    settle(&mut fs);
}

#[test]
fn writes_fail_where_a_commit_frees_nothing_and_there_is_no_space() {
    let tape = Tape::new(192 * MIB);
    let mut fs = FileSystem::new(tape, &small("btrfs-zoned")).expect("room");
    fs.stretch(11 * 16 * MIB / BLOCK);
    let fill = over_all("write", "1MiB", "sequential", r#"{"written":"1x"}"#);
    let found = measure(&mut fs, &fill);
    assert_eq!(found.errno.keys().copied().collect::<Vec<_>>(), [28]);
    settle(&mut fs);
}

#[test]
fn only_the_next_fsync_reports_a_write_that_failed() {
    let tape = Tape::new(192 * MIB);
    let mut fs = FileSystem::new(tape, &small("btrfs-zoned")).expect("room");
    fs.stretch(11 * 16 * MIB / BLOCK);
    measure(
        &mut fs,
        &over_all("write", "1MiB", "sequential", r#"{"written":"1x"}"#),
    );
    settle(&mut fs);
    let flush = over_all("flush", "4KiB", "uniform", r#"{"count":1}"#);
    let failed = |fs: &mut FileSystem<Tape>| !measure(fs, &flush).errno.is_empty();
    assert_eq!([failed(&mut fs), failed(&mut fs)], [true, false]);
}

#[test]
fn the_same_seed_gives_the_same_figures_over_a_drive() {
    let once = || {
        let ssd = Ssd::new(&small_drive(), 7).expect("valid parameters");
        let params = FsParams {
            memory_bytes: 8 * MIB,
            ..small("btrfs")
        };
        let mut fs = FileSystem::new(ssd, &params).expect("room");
        measure(
            &mut fs,
            &closed(
                "\"write\"",
                "128KiB",
                "sequential",
                1,
                8,
                r#"{"written":"1x"}"#,
            ),
        );
        let mix = r#"{"read":70,"write":30}"#;
        measure(
            &mut fs,
            &closed(mix, "4KiB", "uniform", 2, 8, r#"{"count":20000}"#),
        )
    };
    let first = once();
    assert_eq!(first.completed(), 20_000);
    assert!(first.counters.media_read_bytes > Some(0));
    assert_eq!(first, once());
}

#[test]
fn holes_are_punched_one_after_the_other_at_their_cost_per_page() {
    for page_ns in [10.0, 250.0] {
        let params = FsParams {
            hole_page_ns: page_ns,
            ..small("xfs")
        };
        let found = measure(
            &mut filled(&params),
            &job("\"trim\"", "1MiB", "uniform", r#"{"count":10000}"#),
        );
        let expected = 4096.0 * 1e3 / page_ns;
        assert!((mbps(&found) / expected - 1.0).abs() < 0.01, "{page_ns}");
    }
}

#[test]
fn parameters_that_make_no_sense_are_refused_by_name() {
    let refused = |params: FsParams| params.check().expect_err("refused").name;
    let good = small("btrfs");
    assert_eq!(
        refused(FsParams {
            hole_page_ns: -1.0,
            ..good.clone()
        }),
        "hole_page_ns"
    );
    assert_eq!(
        FsParams::preset("zfs", true).expect_err("refused").name,
        "file_system"
    );
    assert_eq!(
        refused(FsParams {
            io_bytes: 100,
            ..good.clone()
        }),
        "io_bytes"
    );
    assert_eq!(
        refused(FsParams {
            commit_s: f64::NAN,
            ..good.clone()
        }),
        "commit_s"
    );
    assert_eq!(
        refused(FsParams {
            zone_bytes: 16 * MIB,
            ..small("xfs")
        }),
        "zone_bytes"
    );
    let tiny = FileSystem::new(Tape::new(MIB), &small("btrfs-zoned"));
    assert_eq!(tiny.err().expect("refused").name, "zone_bytes");
}
