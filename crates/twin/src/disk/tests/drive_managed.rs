//! A drive-managed shingled disk: fast while its media cache has room, as slow as its cleaning beyond,
//! and fast again after a rest.

use super::*;
use crate::disk::media_cache::{MediaCache, Rewrite};

const BAND: u64 = 32 << 20;

/// A media cache of 1 GiB over 200 GB in bands of 32 MiB.
fn drive_managed() -> DiskParams {
    DiskParams {
        capacity_bytes: 200_000_000_000,
        tracks: Tracks::DriveManaged,
        zone_bytes: BAND,
        media_cache_bytes: 1 << 30,
        media_cache_idle_ms: 500.0,
        ..small_disk()
    }
}

fn random_writes(until: &str) -> Job {
    let region = r#","region":{"size":"100GB"}"#;
    job("\"write\"", "64KiB", "uniform", region, 8, until)
}

/// One whose media cache is full, and what has it clean bands of 256 MiB one after the other.
pub(super) fn cleaning_disk() -> (Disk, Job) {
    let params = DiskParams {
        zone_bytes: 256 << 20,
        write_cache_bytes: 512 << 20,
        ..drive_managed()
    };
    let mut disk = Disk::new(&params).expect("valid parameters");
    measure(&mut disk, &random_writes(r#"{"bytes":2147483648}"#));
    (disk, random_writes(r#"{"time":"60s"}"#))
}

fn rest(disk: &mut Disk, seconds: u64) {
    let until_ns = disk.now_ns() + seconds * 1_000_000_000;
    while disk.advance(until_ns).is_some() {}
}

/// Filled once in order, so that every band is full.
fn full() -> Disk {
    let mut disk = Disk::new(&drive_managed()).expect("valid parameters");
    let region = r#","region":{"size":"100GB"}"#;
    let fill = job(
        "\"write\"",
        "1MiB",
        "sequential",
        region,
        8,
        r#"{"written":"1x"}"#,
    );
    let rate = mibps(&measure(&mut disk, &fill));
    assert!(
        rate > 200.0,
        "{rate} MiB/s: in order, nothing passes the media cache"
    );
    rest(&mut disk, 60);
    disk
}

#[test]
fn random_writes_run_into_the_media_cache_and_then_into_its_cleaning_and_recover_at_rest() {
    let mut disk = full();
    let burst = iops(&measure(
        &mut disk,
        &random_writes(r#"{"bytes":536870912}"#),
    ));
    // Long enough for every band to have been cleaned and to have waited its turn again.
    measure(&mut disk, &random_writes(r#"{"time":"2000s"}"#));
    let sustained = iops(&measure(&mut disk, &random_writes(r#"{"time":"1000s"}"#)));
    // What the log holds of a band grows from nothing until its turn comes: twice the mean. That is read,
    // the band is read and written, and room for as much is filled: four moves of the arm.
    let held = 2.0 * ((1 << 30) as f64 / 65_536.0) / (100e9 / BAND as f64);
    let cleaning_s = 2.0 * 32.0 / 257.0 + 4.0 * 0.013;
    let expected = held / cleaning_s;
    assert!(burst > 20.0 * sustained, "{burst} against {sustained} IOPS");
    assert_close("sustained IOPS", sustained, expected, 0.15);
    rest(&mut disk, 3000);
    let again = iops(&measure(
        &mut disk,
        &random_writes(r#"{"bytes":536870912}"#),
    ));
    assert_close("IOPS after a rest", again, burst, 0.2);
}

#[test]
fn streams_over_full_bands_are_written_in_place_band_by_band() {
    let mut disk = full();
    let before = disk.media_write_bytes;
    let region = r#","region":{"size":"10GB"}"#;
    let stream = job(
        "\"write\"",
        "1MiB",
        "sequential",
        region,
        8,
        r#"{"written":"1x"}"#,
    );
    let rate = mibps(&measure(&mut disk, &stream));
    rest(&mut disk, 60);
    let amplification = (disk.media_write_bytes - before) as f64 / 10e9;
    assert!(rate > 200.0, "{rate} MiB/s");
    assert!(amplification < 1.05, "{amplification}");
}

#[test]
fn a_read_of_what_the_media_cache_holds_goes_to_the_innermost_tracks() {
    let mut disk = full();
    measure(
        &mut disk,
        &job(
            "\"write\"",
            "64KiB",
            "uniform",
            r#","region":{"size":"1GB"}"#,
            1,
            r#"{"count":40}"#,
        ),
    );
    let flush = job("\"flush\"", "64KiB", "uniform", "", 1, r#"{"count":1}"#);
    measure(&mut disk, &flush);
    let held = (0..1_000_000_000 / 65_536).filter(|block| disk.logged(block * 65_536).is_some());
    assert!(held.count() > 30);
    let block = (0..)
        .find(|block| disk.logged(block * 65_536).is_some())
        .expect("held");
    let region = format!(r#","region":{{"start":{},"size":"64KiB"}}"#, block * 65_536);
    measure(
        &mut disk,
        &job("\"read\"", "64KiB", "uniform", &region, 1, r#"{"count":1}"#),
    );
    assert!(disk.at_byte > drive_managed().capacity_bytes);
    rest(&mut disk, 60);
    assert_eq!(
        disk.logged(block * 65_536),
        None,
        "cleaned while nobody asked for anything"
    );
}

#[test]
fn the_log_knows_the_latest_place_of_every_byte() {
    let mut media = MediaCache::new(&drive_managed());
    let first = media.log(8192..16_384);
    let second = media.log(12_288..20_480);
    assert_eq!(media.find(8192), Some(first));
    assert_eq!(media.find(12_288), Some(second));
    assert_eq!(media.find(20_480), None);
    media.wrote(0..10_000);
    assert_eq!(media.find(10_000), Some(first + 10_000 - 8192));
    let place = first + 10_000 - 8192;
    let rewrite = Rewrite {
        band: 0..BAND,
        logged: place..place + (20_480 - 10_000),
    };
    assert_eq!(media.clean(), Some(rewrite));
    assert!(media.is_empty());
    assert_eq!(
        media.in_place(BAND..BAND + 4096),
        Some(BAND..BAND + 4096),
        "never written"
    );
    assert_eq!(
        media.in_place(0..4096),
        None,
        "the tracks behind would be lost"
    );
    assert_eq!(media.in_place(0..BAND + 4096), Some(0..BAND));
}

#[test]
fn a_band_must_fit_the_write_cache_twice() {
    let params = DiskParams {
        zone_bytes: 256 << 20,
        ..drive_managed()
    };
    assert_eq!(params.check().expect_err("refused").name, "zone_bytes");
}

#[test]
fn a_command_that_takes_longer_than_the_idle_time_is_waited_for() {
    let params = DiskParams {
        capacity_bytes: 1 << 30,
        zone_bytes: 1 << 20,
        media_cache_bytes: 512 << 20,
        media_cache_idle_ms: 5.0,
        write_cache_bytes: 64 << 20,
        write_cache_extents: 1,
        ..drive_managed()
    };
    let mut disk = Disk::new(&params).expect("valid parameters");
    let writes = job("\"write\"", "1280KiB", "uniform", "", 1, r#"{"count":100}"#);
    let recording = measure(&mut disk, &writes);
    assert_eq!(recording.completed(), 100);
    rest(&mut disk, 60);
    assert!(!disk.is_busy());
}
