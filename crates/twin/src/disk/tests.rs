//! Tests by behaviour: the mechanics against closed forms, the queue against theory, the cache and the
//! zones against what a real drive does.

mod drive_managed;
mod mechanics;
mod zones;

use recording::Recording;
use workload::Job;

use super::params::{Scheduling, Tracks};
use super::{Disk, DiskParams};
use crate::{Control, Device, HostParams, run};

/// A disk of 7200 rpm whose host costs nothing.
pub fn small_disk() -> DiskParams {
    DiskParams {
        capacity_bytes: 2_000_000_000_000,
        block_bytes: 4096,
        rpm: 7200,
        heads: 18,
        recording_zones: 30,
        outer_mbps: 269.5,
        inner_outer_ratio: 0.5,
        tracks_per_head: 64,
        track_switch_us: 320.0,
        head_switch_us: 1600.0,
        seek_track_read_us: 230.0,
        seek_track_write_us: 320.0,
        seek_average_read_us: 7400.0,
        seek_average_write_us: 8200.0,
        seek_knee: 0.3,
        setup_us: 200.0,
        interface_mbps: 570.0,
        command_us: 6.0,
        queue_depth: 32,
        scheduling: Scheduling::Sptf,
        ageing: 0.01,
        write_cache_bytes: 256 << 20,
        write_cache_extents: 2048,
        destage_window: 16,
        read_segments: 16,
        read_ahead_bytes: 16 << 20,
        read_ahead_least_bytes: 2 << 20,
        tracks: Tracks::Conventional,
        zone_bytes: 0,
        media_cache_bytes: 0,
        media_cache_idle_ms: 0.0,
        conventional_share: 0.0,
        max_open_zones: 0,
        max_active_zones: 0,
        refresh_after_writes: 0,
        idle_w: 5.8,
        seek_w: 1.5,
        transfer_w: 0.7,
        link_nj_per_byte: 1.0,
        host: HostParams {
            cores: 16,
            submit_us: 0.0,
            complete_us: 0.0,
            wake_us: 0.0,
            tlp_payload_bytes: 256,
            tlp_overhead_bytes: 24,
            link_protocol_share: 0.0,
            sata_frame_ns: 0.0,
            adapter_mbps: 0.0,
            drive_per_thread: false,
        },
    }
}

fn job(mix: &str, block: &str, pattern: &str, region: &str, depth: u32, until: &str) -> Job {
    let text = format!(
        r#"{{"mix":{mix},"block":"{block}","pattern":"{pattern}"{region},"load":{{"threads":1,"iodepth":{depth}}},"until":{until}}}"#
    );
    Job::from_json(&text, "test").expect("a valid job")
}

fn measure(disk: &mut Disk, job: &Job) -> Recording {
    let seed = disk.now_ns() + 7;
    run(job, disk, seed, &Control::default(), |_| {}).expect("the job runs")
}

#[test]
fn a_copy_of_a_disk_goes_on_as_the_disk_would_have_and_leaves_it_alone() {
    let mut disk = Disk::new(&small_disk()).expect("valid parameters");
    let mix = r#"{"read":50,"write":50}"#;
    let random = job(mix, "4KiB", "uniform", "", 16, r#"{"count":2000}"#);
    measure(&mut disk, &random);
    let mut copy = disk.clone();
    let copied = measure(&mut copy, &random);
    measure(&mut copy, &random);
    assert!(copied == measure(&mut disk, &random));
}

fn iops(recording: &Recording) -> f64 {
    recording.completed() as f64 * 1e9 / recording.window_ns as f64
}

fn mibps(recording: &Recording) -> f64 {
    let bytes: u64 = recording.ops.values().map(|stats| stats.bytes).sum();
    bytes as f64 / f64::from(1 << 20) * 1e9 / recording.window_ns as f64
}

#[track_caller]
fn assert_close(what: &str, value: f64, expected: f64, tolerance: f64) {
    assert!(
        (value / expected - 1.0).abs() <= tolerance,
        "{what}: {value} is not within {} % of {expected}",
        tolerance * 100.0
    );
}
