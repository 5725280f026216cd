//! SATA drives: one wire, few command slots; how far the host runs ahead of cleaning; the page map on
//! its way to flash.

use recording::{Recording, bin_bounds_ns};
use workload::Op;

use super::{closed, filled, iops, measure, settle, small_drive, waf};
use crate::device::Device;
use crate::{Ssd, SsdParams};

const HALVES: &str = r#"{"read":50,"write":50}"#;
const SECOND: &str = r#"{"time":"1s"}"#;

/// The small drive behind a SATA port that costs nothing but its wire.
fn sata_drive() -> SsdParams {
    let mut params = small_drive();
    (params.pcie_generation, params.pcie_lanes) = (0, 0);
    params.sata_gbps = 6.0;
    params.command_slots = 32;
    params
}

fn mbps(recording: &Recording) -> f64 {
    let bytes: u64 = recording.ops.values().map(|stats| stats.bytes).sum();
    bytes as f64 * 1e3 / recording.window_ns as f64
}

/// Writes the region at random until cleaning is steady, then measures.
fn steady_writes(params: &SsdParams, iodepth: u32) -> (Ssd, Recording) {
    let mut ssd = filled(params);
    let twice = r#"{"written":"3x"}"#;
    measure(
        &mut ssd,
        &closed("\"write\"", "4KiB", "uniform", 1, iodepth, twice),
    );
    let job = closed(
        "\"write\"",
        "4KiB",
        "uniform",
        1,
        iodepth,
        r#"{"time":"3s"}"#,
    );
    let recording = measure(&mut ssd, &job);
    (ssd, recording)
}

fn share_above(recording: &Recording, threshold_ns: u64) -> f64 {
    let service = &recording.ops[&Op::Write].service;
    let above = service
        .bins()
        .iter()
        .filter(|&&(bin, _)| bin_bounds_ns(usize::from(bin)).0 >= threshold_ns);
    above.map(|&(_, n)| n).sum::<u64>() as f64 / service.count() as f64
}

#[test]
fn both_directions_share_a_sata_wire_and_have_a_pcie_lane_each() {
    let rate = |params: &SsdParams, mix: &str| {
        let mut ssd = filled(params);
        mbps(&measure(
            &mut ssd,
            &closed(mix, "128KiB", "sequential", 1, 32, SECOND),
        ))
    };
    let wire = 600.0;
    let read = rate(&sata_drive(), "\"read\"");
    assert!((0.98 * wire..wire).contains(&read), "{read} MB/s");
    let both = rate(&sata_drive(), HALVES);
    assert!(both < wire, "{both} MB/s in both directions");
}

#[test]
fn a_handshake_for_every_frame_slows_small_io_most() {
    let ratio = |block: &str| {
        let mut slow = sata_drive();
        slow.host.sata_frame_ns = 400.0;
        let rate = |params: &SsdParams| {
            mbps(&measure(
                &mut filled(params),
                &closed("\"read\"", block, "sequential", 1, 32, SECOND),
            ))
        };
        rate(&slow) / rate(&sata_drive())
    };
    let (small, large) = (ratio("4KiB"), ratio("128KiB"));
    // 4 KiB: one data frame and four others, 2 us more on 7.1; 128 KiB: 20 frames, 8 us on 219.
    assert!((0.75..0.82).contains(&small), "{small}");
    assert!((0.95..0.975).contains(&large), "{large}");
}

#[test]
fn the_host_keeps_what_the_drive_has_no_slot_for() {
    let rate = |slots, iodepth| {
        let mut params = sata_drive();
        params.command_slots = slots;
        let job = closed("\"read\"", "4KiB", "uniform", 1, iodepth, SECOND);
        iops(&measure(&mut filled(&params), &job))
    };
    let (kept, alone, deep) = (rate(4, 32), rate(32, 4), rate(32, 32));
    assert!((kept / alone - 1.0).abs() < 0.01, "{kept} {alone}");
    assert!(deep > 1.3 * kept, "{deep} {kept}");
}

#[test]
fn a_host_that_runs_far_ahead_of_cleaning_waits_rarely_and_long() {
    let run = |ahead_bytes| {
        let mut params = sata_drive();
        params.gc_free_superblocks = 6;
        params.gc_ahead_bytes = ahead_bytes;
        steady_writes(&params, 32).1
    };
    let (near, far) = (run(64 << 10), run(4 << 20));
    assert!((iops(&near) / iops(&far) - 1.0).abs() < 0.03);
    let [near_long, far_long] = [&near, &far].map(|one| share_above(one, 5_000_000));
    assert!(near_long < 0.005, "{near_long}");
    assert!((0.01..0.1).contains(&far_long), "{far_long}");
}

#[test]
fn the_page_map_is_written_as_often_as_it_is_due_and_stays_readable() {
    let mut params = sata_drive();
    params.gc_free_superblocks = 6;
    params.gc_ahead_bytes = 1 << 20;
    let without = waf(&steady_writes(&params, 32).1);
    // 64 map pages after every 512 pages of data.
    params.map_flush_bytes = 2 << 20;
    let (mut ssd, with) = steady_writes(&params, 32);
    let more = waf(&with) / without - 1.0;
    assert!(
        (0.08..0.25).contains(&more),
        "{more} more media writes than without"
    );
    settle(&mut ssd);
    assert_eq!(u64::from(ssd.mapped_pages()) * 4096, ssd.capacity_bytes());
}

#[test]
fn sequential_writes_change_little_of_the_page_map() {
    let mut params = sata_drive();
    params.map_flush_bytes = 16 << 20;
    let mut ssd = filled(&params);
    let job = closed(
        "\"write\"",
        "128KiB",
        "sequential",
        1,
        32,
        r#"{"written":"2x"}"#,
    );
    let waf = waf(&measure(&mut ssd, &job));
    assert!(waf < 1.05, "{waf}");
}

#[test]
fn a_drive_has_one_link() {
    let mut params = sata_drive();
    params.pcie_lanes = 4;
    assert!(params.check().is_err());
    params.sata_gbps = 0.0;
    assert!(params.check().is_err());
    params.pcie_generation = 4;
    assert!(params.check().is_ok());
}
