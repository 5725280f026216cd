//! What a host-managed disk takes and refuses.

use recording::Remark;
use workload::{Op, Request};

use super::*;
use crate::CompletionKind;

const ZONE: u64 = 256 << 20;
const EIO: i32 = 5;
const EINVAL: i32 = 22;
const EOVERFLOW: i32 = 75;

fn shingled() -> DiskParams {
    DiskParams {
        tracks: Tracks::HostManaged,
        zone_bytes: ZONE,
        conventional_share: 0.01,
        max_open_zones: 4,
        ..small_disk()
    }
}

/// One that reads blocks of zones, half of which are written: those without data come as fast as the link carries them.
pub(super) fn half_written_disk() -> (Disk, Job) {
    let mut disk = Disk::new(&shingled()).expect("valid parameters");
    let zone = first(&disk);
    assert_eq!(
        outcome(&mut disk, Op::Write, zone, ZONE as u32),
        CompletionKind::Done
    );
    let region = format!(r#","region":{{"start":"{zone}","size":"512MiB"}}"#);
    let read = job(
        "\"read\"",
        "4MiB",
        "uniform",
        &region,
        32,
        r#"{"time":"10s"}"#,
    );
    (disk, read)
}

/// The first zone that must be written in order.
fn first(disk: &Disk) -> u64 {
    u64::from(disk.zone_model().expect("zones").conventional) * ZONE
}

#[track_caller]
fn outcome(disk: &mut Disk, op: Op, offset_bytes: u64, size_bytes: u32) -> CompletionKind {
    let request = Request {
        offset_bytes,
        size_bytes,
        placement: 0,
        op,
    };
    disk.submit(disk.now_ns(), 3, request);
    loop {
        let completion = disk.advance(u64::MAX).expect("an answer");
        if completion.tag == 3 {
            return completion.kind;
        }
    }
}

#[test]
fn blocks_from_the_medium_and_without_data_share_the_rate_of_the_interface() {
    let mut disk = Disk::new(&shingled()).expect("valid parameters");
    let zone = first(&disk);
    assert_eq!(
        outcome(&mut disk, Op::Write, zone, ZONE as u32),
        CompletionKind::Done
    );
    let stream = |name: &str, zone: u64| {
        format!(
            r#"{{"name":"{name}","mix":"read","block":"1MiB","pattern":"sequential",
            "region":{{"start":"{zone}","size":"256MiB"}},"load":{{"iodepth":8}}}}"#
        )
    };
    let (written, empty) = (stream("written", zone), stream("empty", zone + ZONE));
    let text = format!(r#"{{"streams":[{written},{empty}],"until":{{"time":"10s"}}}}"#);
    let job = Job::from_json(&text, "test").expect("a valid job");
    let recording = measure(&mut disk, &job);
    let mbps = mibps(&recording) * f64::from(1 << 20) / 1e6;
    assert_close("the interface", mbps, shingled().interface_mbps, 0.001);
}

#[test]
fn writes_go_to_the_pointer_and_nowhere_else() {
    let mut disk = Disk::new(&shingled()).expect("valid parameters");
    let zone = first(&disk);
    let number = (zone / ZONE) as u32;
    let failed = CompletionKind::Failed(EIO);
    assert_eq!(outcome(&mut disk, Op::Write, zone + 4096, 4096), failed);
    assert_eq!(
        outcome(&mut disk, Op::Write, zone, 8192),
        CompletionKind::Done
    );
    assert_eq!(outcome(&mut disk, Op::Write, zone, 4096), failed);
    assert_eq!(disk.write_pointer(number), Some(zone + 8192));
    assert_eq!(
        outcome(&mut disk, Op::Append, zone, 4096),
        CompletionKind::Done
    );
    assert_eq!(disk.write_pointer(number), Some(zone + 12_288));
}

#[test]
fn a_write_across_a_boundary_and_a_write_to_a_full_zone_are_refused() {
    let mut disk = Disk::new(&shingled()).expect("valid parameters");
    let zone = first(&disk);
    let failed = CompletionKind::Failed(EIO);
    assert_eq!(
        outcome(&mut disk, Op::Write, zone, ZONE as u32 + 4096),
        failed
    );
    assert_eq!(
        outcome(&mut disk, Op::Write, zone, ZONE as u32),
        CompletionKind::Done
    );
    assert_eq!(outcome(&mut disk, Op::Append, zone, 4096), failed);
    assert_eq!(outcome(&mut disk, Op::Write, zone - 4096, 8192), failed);
}

#[test]
fn conventional_zones_take_any_order() {
    let mut disk = Disk::new(&shingled()).expect("valid parameters");
    for offset in [40_960, 0, 40_960, ZONE - 4096] {
        assert_eq!(
            outcome(&mut disk, Op::Write, offset, 8192),
            CompletionKind::Done
        );
    }
}

#[test]
fn a_reset_empties_whole_zones_only() {
    let mut disk = Disk::new(&shingled()).expect("valid parameters");
    let zone = first(&disk);
    outcome(&mut disk, Op::Write, zone, 8192);
    let half = outcome(&mut disk, Op::Trim, zone, (ZONE / 2) as u32);
    assert_eq!(half, CompletionKind::Failed(EINVAL));
    assert_eq!(
        outcome(&mut disk, Op::Trim, zone, ZONE as u32),
        CompletionKind::Done
    );
    assert_eq!(disk.write_pointer((zone / ZONE) as u32), Some(zone));
}

#[test]
fn a_limit_of_active_zones_refuses_one_more_until_one_is_full() {
    let params = DiskParams {
        max_active_zones: 2,
        ..shingled()
    };
    let mut disk = Disk::new(&params).expect("valid parameters");
    let zone = first(&disk);
    let mut write = |index: u64, bytes: u32| {
        let pointer = disk
            .write_pointer(((zone / ZONE) + index) as u32)
            .expect("zones");
        outcome(&mut disk, Op::Write, pointer, bytes)
    };
    assert_eq!(write(0, 4096), CompletionKind::Done);
    assert_eq!(write(1, 4096), CompletionKind::Done);
    assert_eq!(write(2, 4096), CompletionKind::Failed(EOVERFLOW));
    assert_eq!(write(0, ZONE as u32 - 4096), CompletionKind::Done);
    assert_eq!(write(2, 4096), CompletionKind::Done);
}

#[test]
fn one_open_zone_more_than_allowed_closes_another_without_refusing() {
    let mut disk = Disk::new(&shingled()).expect("valid parameters");
    let zone = first(&disk);
    for index in (0..8).chain(0..8) {
        let pointer = disk
            .write_pointer((zone / ZONE) as u32 + index)
            .expect("zones");
        assert_eq!(
            outcome(&mut disk, Op::Write, pointer, 4096),
            CompletionKind::Done
        );
    }
}

#[test]
fn an_ordinary_disk_has_no_zones_to_append_to_or_reset() {
    let mut disk = Disk::new(&small_disk()).expect("valid parameters");
    for op in [Op::Append, Op::Trim] {
        assert_eq!(outcome(&mut disk, op, 0, 4096), CompletionKind::Failed(95));
    }
    assert_eq!(disk.zone_model(), None);
}

#[test]
fn each_stream_is_judged_by_its_own_io() {
    let run_both = |write: &str, region: &str| {
        let mut disk = Disk::new(&shingled()).expect("valid parameters");
        let text = format!(
            r#"{{"until":{{"time":"1s"}},"streams":[
            {{"name":"w","mix":"write","block":"64KiB","pattern":"{write}","region":{region},"load":{{"iodepth":1}}}},
            {{"name":"r","mix":"read","block":"4KiB","pattern":"uniform","load":{{"iodepth":1}}}}]}}"#
        );
        let job = Job::from_json(&text, "test").expect("a valid job");
        run(&job, &mut disk, 1, &Control::default(), |_| {}).map(|found| found.errno.len())
    };
    let zone = first(&Disk::new(&shingled()).expect("valid parameters"));
    let conventional = format!(r#"{{"size":{zone}}}"#);
    let shingled = format!(r#"{{"start":{zone},"size":{}}}"#, 8 * ZONE);
    assert_eq!(run_both("sequential", &shingled), Ok(0));
    assert_eq!(run_both("uniform", &conventional), Ok(0));
    let refused = run_both("uniform", &shingled).expect_err("refused");
    assert!(matches!(refused, crate::TwinError::OutOfOrder { .. }));
}

fn zones_job(mix: &str, zones: u32, threads: u32, depth: u32, until: &str) -> Job {
    let text = format!(
        r#"{{"mix":{mix},"block":"1MiB","pattern":{{"zones":{zones}}},"region":{{"size":"24GiB"}},"load":{{"threads":{threads},"iodepth":{depth}}},"until":{until}}}"#
    );
    Job::from_json(&text, "test").expect("a valid job")
}

#[test]
fn a_zones_job_writes_at_the_pointers_and_resets_what_it_writes_again() {
    for (mix, depth) in [("\"write\"", 2), ("\"append\"", 8)] {
        let mut disk = Disk::new(&shingled()).expect("valid parameters");
        let conventional = first(&disk) / ZONE;
        let usable = (24 << 30) / ZONE - conventional;
        let volume = format!(r#"{{"bytes":{}}}"#, 2 * usable * ZONE);
        let recording = measure(&mut disk, &zones_job(mix, 2, 2, depth, &volume));
        assert_eq!(recording.errno.len(), 0, "{:?}", recording.notes);
        let note = recording.notes.last().expect("resets are told");
        assert!(note.contains("zone(s) were reset"), "{note}");
        for zone in 0..conventional {
            assert_eq!(disk.write_pointer(zone as u32), Some(zone * ZONE));
        }
        let rate = mibps(&recording);
        assert!(rate > 200.0, "{rate} MiB/s: as good as sequential");
    }
}

#[test]
fn reads_of_a_zones_job_find_what_was_written() {
    let mut disk = Disk::new(&shingled()).expect("valid parameters");
    measure(
        &mut disk,
        &zones_job("\"write\"", 1, 1, 1, r#"{"count":300}"#),
    );
    let recording = measure(
        &mut disk,
        &zones_job("\"read\"", 1, 1, 4, r#"{"count":200}"#),
    );
    assert_eq!(recording.counters.unmapped_reads, Some(0));
}

#[test]
fn writes_out_of_order_are_refused_and_told_with_zone_and_pointer() {
    let mut disk = Disk::new(&shingled()).expect("valid parameters");
    let start = first(&disk) + 8 * ZONE + 4096;
    let region = format!(r#","region":{{"start":{start},"size":"64MiB"}}"#);
    let job = job(
        "\"write\"",
        "4KiB",
        "sequential",
        &region,
        1,
        r#"{"count":9}"#,
    );
    let recording = measure(&mut disk, &job);
    assert_eq!(recording.errno.get(&EIO), Some(&9));
    let (number, pointer) = (start / ZONE, start - 4096);
    let refused = Remark::Refused {
        op: Op::Write,
        offset_bytes: start,
        size_bytes: 4096,
        about: format!("zone {number} has its write pointer at {pointer} (out of order)"),
    };
    assert_eq!(recording.remarks[0], refused);
    assert_eq!(
        recording.notes[0],
        "5 more write(s) were refused by their zones"
    );
}

#[test]
fn jobs_that_a_zoned_disk_cannot_take_are_refused_in_one_line() {
    let refusal = |params: &DiskParams, job: &Job| {
        let mut disk = Disk::new(params).expect("valid parameters");
        let refused = run(job, &mut disk, 1, &Control::default(), |_| {});
        refused.expect_err("refused").to_string()
    };
    let random = |region| job("\"write\"", "4KiB", "uniform", region, 1, r#"{"count":9}"#);
    let message = refusal(&shingled(), &random(""));
    assert!(
        message.contains("write pointers") && message.contains("20132659200"),
        "{message}"
    );
    let mut disk = Disk::new(&shingled()).expect("valid parameters");
    let inside = measure(&mut disk, &random(r#","region":{"size":"10GB"}"#));
    assert_eq!(inside.completed(), 9, "conventional zones take any order");
    let deep = zones_job("\"write\"", 2, 1, 3, r#"{"count":9}"#);
    assert!(refusal(&shingled(), &deep).contains("one write at a time"));
    let wide = zones_job("\"append\"", 5, 1, 1, r#"{"count":9}"#);
    assert!(refusal(&shingled(), &wide).contains("the device allows 4"));
    assert!(refusal(&small_disk(), &wide).contains("needs a host-managed"));
}
