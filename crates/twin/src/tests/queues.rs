//! The queues against queueing theory.

use workload::{Job, Op};

use super::{assert_close, closed, filled, iops, measure, small_drive};
use crate::SsdParams;
use crate::ssd::params::{MOST_SLOTS, SenseTime};

/// `servers` equal flash servers, one to a channel, behind everything else made instant.
fn equal_servers(servers: u32, sense_us: f64, sense_time: SenseTime) -> SsdParams {
    let mut params = small_drive();
    params.channels = servers;
    params.dies_per_channel = 1;
    params.planes_per_die = 1;
    params.programming_dies_max = servers;
    params.erase_unit_bytes = params.program_bytes();
    params.read_sense_us = sense_us;
    params.read_sense_time = sense_time;
    params.read_sense_spread = 0.0;
    params.channel_mts = 1e6;
    params.channel_command_ns = 0.0;
    params.command_ns = 0.0;
    params.read_unit_ns = 0.0;
    params.command_latency_us = 0.0;
    params.ecc_us = 0.0;
    params.pcie_generation = 6;
    params.pcie_lanes = 16;
    params
}

const ONE_SECOND: &str = r#"{"time":"1s"}"#;

/// Commands that nothing can hold back enter the pipeline together, others one by one. What becomes of them is the same.
#[test]
fn a_drive_with_room_for_all_commands_does_what_one_does_that_looks_at_each() {
    let with_room = SsdParams {
        command_slots: MOST_SLOTS,
        read_ahead_bytes: 1 << 20,
        ..small_drive()
    };
    let looking = SsdParams {
        command_slots: MOST_SLOTS - 1,
        ..with_room.clone()
    };
    let mixed = r#"{"read":70,"write":30}"#;
    for (mix, block, pattern, threads, iodepth) in [
        ("\"read\"", "4KiB", "uniform", 8, 32),
        (mixed, "4KiB", "uniform", 8, 4),
        (mixed, "16KiB", "sequential", 3, 2),
        ("\"trim\"", "64KiB", "uniform", 2, 2),
    ] {
        let job = closed(mix, block, pattern, threads, iodepth, r#"{"time":"20ms"}"#);
        let [here, there] = [&with_room, &looking].map(|params| measure(&mut filled(params), &job));
        assert!(here.completed() > 100);
        assert_eq!(here, there, "{mix} {pattern}");
    }
}

/// Completions are reported together where the host only sends further requests then. What it sees is the same.
#[test]
fn a_drive_that_reports_completions_together_does_what_one_does_that_reports_each() {
    let drive = |command_slots, submit_us| {
        let mut params = SsdParams {
            command_slots,
            ..small_drive()
        };
        params.host.submit_us = submit_us;
        params
    };
    let job = |mix: &str, load: &str, rest: &str| {
        let text = format!(
            r#"{{"mix":{mix},"block":"4KiB","pattern":"uniform","load":{{{load}}},{rest}}}"#
        );
        Job::from_json(&text, "test").expect("a job")
    };
    let (read, write) = (r#"{"read":100}"#, r#"{"write":100}"#);
    let mixed = r#"{"read":60,"write":30,"trim":10}"#;
    let deep = r#""threads":8,"iodepth":16"#;
    let one_thread = r#""threads":1,"iodepth":16"#;
    let lone = r#""threads":1,"iodepth":1"#;
    let time = r#""until":{"time":"20ms"}"#;
    let next = job(read, lone, r#""until":{"count":20}"#);
    for (mix, load, rest) in [
        (read, deep, time),
        (write, deep, time),
        (write, one_thread, time),
        (mixed, deep, time),
        (mixed, one_thread, time),
        (mixed, lone, time),
        (mixed, r#""threads":2,"iodepth":1"#, time),
        // A drive without zones refuses these at once.
        (r#"{"append":100}"#, r#""threads":1,"iodepth":4"#, time),
        (mixed, r#""rate":"100k/s","threads":4,"iodepth":8"#, time),
        (mixed, r#""threads":8,"iodepth":16,"think":"50us""#, time),
        (mixed, deep, r#""until":{"count":1000}"#),
        (mixed, one_thread, r#""until":{"count":1001}"#),
    ] {
        let job = job(mix, load, rest);
        // A slow host has commands on their way when the drive has none.
        for submit_us in [1.0, 10.0] {
            let [here, there] = [MOST_SLOTS, MOST_SLOTS - 1].map(|command_slots| {
                let mut ssd = filled(&drive(command_slots, submit_us));
                (measure(&mut ssd, &job), measure(&mut ssd, &next))
            });
            let failed: u64 = here.0.errno.values().sum();
            assert!(here.0.completed() + failed > 100, "{mix} {load} {rest}");
            assert_eq!(here, there, "{mix} {load} {rest}");
        }
    }
}

/// Closed queueing network of N equal exponential servers with random routing: Q/(Q+N-1) x N/S.
#[test]
fn random_read_throughput_follows_the_closed_queueing_network() {
    let (servers, sense_us) = (32, 50.0);
    let mut ssd = filled(&equal_servers(servers, sense_us, SenseTime::Exponential));
    for outstanding in [1, 4, 16, 32, 128, 256] {
        let job = closed("\"read\"", "4KiB", "uniform", 1, outstanding, ONE_SECOND);
        let (q, n) = (f64::from(outstanding), f64::from(servers));
        let expected = q / (q + n - 1.0) * n / (sense_us * 1e-6);
        let measured = iops(&measure(&mut ssd, &job));
        assert_close(
            &format!("{outstanding} outstanding"),
            measured,
            expected,
            0.03,
        );
    }
}

/// With constant service each server of a large network is an M/D/1 queue that holds Q/N on
/// average: u + u^2 / 2(1 - u) = Q/N for the utilisation u.
#[test]
fn constant_sensing_time_queues_less_than_exponential() {
    let (servers, sense_us) = (64, 50.0);
    let mut ssd = filled(&equal_servers(servers, sense_us, SenseTime::Fixed));
    for outstanding in [64, 128, 256] {
        let held = f64::from(outstanding) / f64::from(servers);
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let u: f64 = (low + high) / 2.0;
            if u + u * u / (2.0 * (1.0 - u)) < held {
                low = u
            } else {
                high = u
            }
        }
        let job = closed("\"read\"", "4KiB", "uniform", 1, outstanding, ONE_SECOND);
        let expected = low * f64::from(servers) / (sense_us * 1e-6);
        let measured = iops(&measure(&mut ssd, &job));
        assert_close(
            &format!("{outstanding} outstanding"),
            measured,
            expected,
            0.03,
        );
    }
}

/// M/D/1: mean wait = u S / 2 (1 - u).
#[test]
fn one_die_at_low_load_waits_like_an_m_d_1_queue() {
    let sense_us = 50.0;
    let mut params = equal_servers(1, sense_us, SenseTime::Fixed);
    params.channel_mts = 1200.0;
    let mut ssd = filled(&params);
    let alone = closed("\"read\"", "4KiB", "uniform", 1, 1, ONE_SECOND);
    let alone_ns = mean_read_ns(&measure(&mut ssd, &alone));
    let transfer_us = 4096.0 * params.channel_parity_ratio / params.channel_mts;
    let service_ns = (sense_us + transfer_us) * 1e3;
    for load in [0.2, 0.4, 0.6] {
        let rate = load / (service_ns * 1e-9);
        let text = format!(
            r#"{{"mix":"read","block":"4KiB","pattern":"uniform","load":{{"rate":"{rate:.0}/s","arrival":"exponential","threads":1,"iodepth":256}},"until":{{"time":"20s"}}}}"#
        );
        let job = Job::from_json(&text, "test").expect("a valid job");
        let wait_ns = mean_read_ns(&measure(&mut ssd, &job)) - alone_ns;
        let expected_ns = load * service_ns / (2.0 * (1.0 - load));
        assert_close(&format!("wait at load {load}"), wait_ns, expected_ns, 0.04);
    }
}

fn mean_read_ns(recording: &recording::Recording) -> f64 {
    recording.ops[&Op::Read].service.mean_ns().expect("reads")
}

/// Interactive response time law: N users who think for Z complete N / (R + Z) per second.
#[test]
fn think_time_follows_the_interactive_response_time_law() {
    let mut ssd = filled(&equal_servers(32, 50.0, SenseTime::Exponential));
    for think in ["100us", "1ms"] {
        let mut job = closed("\"read\"", "4KiB", "uniform", 2, 8, ONE_SECOND);
        job.pace.think_ns = workload::parse_duration_ns(think).expect("a duration");
        let recording = measure(&mut ssd, &job);
        let response_s = recording.ops[&Op::Read].service.mean_ns().expect("reads") / 1e9;
        let expected = 16.0 / (response_s + job.pace.think_ns as f64 / 1e9);
        assert_close(think, iops(&recording), expected, 0.005);
    }
}

#[test]
fn a_job_that_asks_to_stop_at_errors_ends_with_the_one_too_many() {
    let mut ssd = filled(&small_drive());
    let mut job = closed("\"write\"", "4KiB", "uniform", 1, 1, ONE_SECOND);
    job.placement = vec![9];
    job.errors.most = Some(2);
    let error = crate::run(&job, &mut ssd, 1, &crate::Control::default(), |_| {})
        .expect_err("the drive has no such handle");
    assert!(
        error.to_string().starts_with(
            "3 I/O failed, and the job asks to stop then; the last: write of 4096 bytes at"
        ),
        "{error}"
    );
    job.errors.most = None;
    let recording = measure(&mut ssd, &job);
    let failed: u64 = recording.faults.iter().map(|fault| fault.n).sum();
    assert_eq!(
        (recording.completed(), failed),
        (0, recording.ops[&Op::Write].errors)
    );
}
