//! Sequential read-ahead against its limits: all of it from DRAM, none of it, and as fast as what is read ahead comes.

use recording::Recording;
use workload::{Job, Op};

use super::{assert_close, closed, filled, iops, measure, small_drive};
use crate::SsdParams;

const TIME: &str = r#"{"time":"50ms"}"#;

fn reading_ahead(read_ahead_bytes: u64) -> SsdParams {
    SsdParams {
        read_ahead_bytes,
        ..small_drive()
    }
}

fn mean_us(recording: &Recording) -> f64 {
    recording.ops[&Op::Read].service.mean_ns().expect("reads") / 1e3
}

fn read(params: &SsdParams, pattern: &str, threads: u32, iodepth: u32) -> Recording {
    let job = closed("\"read\"", "16KiB", pattern, threads, iodepth, TIME);
    measure(&mut filled(params), &job)
}

#[test]
fn a_sequential_stream_is_answered_from_dram_when_enough_is_read_ahead() {
    let mut params = reading_ahead(1 << 20);
    // A host that asks for less than the channels carry.
    params.host.submit_us = 10.0;
    let sequential = mean_us(&read(&params, "sequential", 1, 1));
    let mut erased = crate::Ssd::new(&params, 1).expect("valid");
    let job = closed("\"read\"", "16KiB", "sequential", 1, 1, TIME);
    let from_dram = mean_us(&measure(&mut erased, &job));
    assert_close("mean latency, us", sequential, from_dram, 0.05);
    assert!(mean_us(&read(&params, "uniform", 1, 1)) > 3.0 * sequential);
}

#[test]
fn random_reads_and_deep_queues_are_as_without_read_ahead() {
    for (pattern, threads, iodepth) in
        [("uniform", 1, 1), ("uniform", 2, 16), ("sequential", 1, 32)]
    {
        let with = read(&reading_ahead(1 << 20), pattern, threads, iodepth);
        let without = read(&small_drive(), pattern, threads, iodepth);
        // Random reads meet a stream's next page once in as many as the drive has.
        assert_close("rate", iops(&with), iops(&without), 0.002);
    }
}

#[test]
fn what_is_read_ahead_bounds_the_rate_where_it_takes_longer_to_come_than_to_go() {
    let mut params = reading_ahead(64 << 10);
    params.read_sense_spread = 0.0;
    let rate = iops(&read(&params, "sequential", 1, 1));
    // Four NAND pages are on their way or there, and each is a plane's sense and a transfer after it was asked for.
    let transfer_us = (params.channel_command_ns
        + 16_384.0 * params.channel_parity_ratio * 1e3 / params.channel_mts)
        / 1e3;
    let bound = 4.0 / ((params.read_sense_us + transfer_us + params.ecc_us) * 1e-6);
    assert!(
        (0.7..=1.25).contains(&(rate / bound)),
        "{rate} of {bound} reads a second"
    );
    assert!(rate > 2.0 * iops(&read(&small_drive(), "sequential", 1, 1)));
}

#[test]
fn nothing_is_read_twice_and_no_more_than_the_window_in_vain() {
    let window_bytes = 256 << 10;
    let mut ssd = filled(&reading_ahead(window_bytes));
    let job = closed("\"read\"", "16KiB", "sequential", 1, 1, r#"{"count":1000}"#);
    let recording = measure(&mut ssd, &job);
    super::settle(&mut ssd);
    let from_flash = recording.counters.media_read_bytes.expect("a twin knows");
    let asked = 1000 * 16_384;
    assert!(
        (asked..=asked + window_bytes).contains(&from_flash),
        "{from_flash} bytes from flash for {asked}"
    );
}

#[test]
fn as_many_streams_are_followed_as_the_drive_can_and_more_are_not() {
    let four = |streams| {
        let mut params = reading_ahead(256 << 10);
        params.read_ahead_streams = streams;
        mean_us(&read(&params, "sequential", 4, 1))
    };
    let without = mean_us(&read(&small_drive(), "sequential", 4, 1));
    assert!(four(4) < 0.5 * without, "{} of {without} us", four(4));
    assert_close(
        "latency of four streams that one place is for",
        four(1),
        without,
        0.1,
    );
}

#[test]
fn a_page_written_after_it_was_read_ahead_comes_from_where_it_is_now() {
    let params = reading_ahead(1 << 20);
    let mut ssd = filled(&params);
    let stream = |first: u64, count: u32| {
        let text = format!(
            r#"{{"mix":"read","block":"16KiB","pattern":"sequential","region":{{"start":{first},"size":{size}}},"load":{{"iodepth":1}},"until":{{"count":{count}}}}}"#,
            size = u64::from(count) * 16_384,
        );
        Job::from_json(&text, "stream").expect("a valid job")
    };
    measure(&mut ssd, &stream(0, 8));
    super::settle(&mut ssd);
    // What lies behind the eighth read has been read ahead. It is trimmed, so nothing is there any more.
    let trim = r#"{"mix":"trim","block":"1MiB","pattern":"sequential","region":{"start":131072,"size":1048576},"load":{"iodepth":1},"until":{"count":1}}"#;
    measure(
        &mut ssd,
        &Job::from_json(trim, "trim").expect("a valid job"),
    );
    let after = measure(&mut ssd, &stream(131_072, 8));
    assert_eq!(after.counters.unmapped_reads, Some(8));
}
