//! Systems against closed forms: what the busiest station allows, what an idle one adds.

use super::*;
use crate::{Control, run};
use recording::{LimitedBy, Recording};
use workload::Job as WorkloadJob;

const HOST: &str = r#"{"cores": 64, "submit_us": 0.1, "complete_us": 0.1, "wake_us": 0.0,
    "tlp_payload_bytes": 256, "tlp_overhead_bytes": 24, "link_protocol_share": 0.0}"#;
const DRIVE: &str = r#"{"capacity_bytes": 1000000000000, "count": COUNT, "dies": 64, "read_sense_us": 60.0,
    "read_latency_us": 10.0, "program_us": 1000.0, "program_bytes": 98304, "suspend_us": 100.0,
    "write_amplification": 2.0, "sequential_amplification": 1.0, "buffer_bytes": 8388608,
    "write_ack_us": 10.0, "read_mbps": 3200.0, "write_mbps": 3200.0}"#;
const FABRIC: &str = r#"{"fabric": {"hosts": 4, "host_nic_gbps": 100, "ports": 4, "port_gbps": 100,
    "network_efficiency": 0.9, "network_us": 2.0, "pipelines": 4, "command_ns": 500,
    "read_pass_us": 2.0, "write_pass_us": 1.0, "link_mbps": 8000}}"#;
const CLUSTER: &str = r#"{"cluster": {"servers": 6, "server_cores": 19, "read_cpu_us": 20.0,
    "read_cpu_us_per_kib": 0.5, "write_cpu_us": 100.0, "write_cpu_us_per_kib": 2.0, "server_nics": 1,
    "clients": 12, "nic_gbps": 200, "network_efficiency": 0.9, "network_us": 5.0, "mount_us": 0.5,
    "stripe_data": 4, "stripe_parity": 2}}"#;

fn parameters(between: &str, drives: u32) -> SystemParams {
    let drive = DRIVE.replace("COUNT", &drives.to_string());
    let text = format!(
        r#"{{"capacity_bytes": {}, "block_bytes": 512, "drives": [{drive}], "between": {between}, "host": {HOST}}}"#,
        u64::from(drives) * 1_000_000_000_000,
    );
    SystemParams::from_json(&text).expect("parameters")
}

fn system(between: &str, drives: u32) -> System {
    System::new(&parameters(between, drives), 1)
}

fn measured(system: &mut System, mix: &str, block: &str, threads: u32, iodepth: u32) -> Recording {
    let text = format!(
        r#"{{"mix": "{mix}", "block": "{block}", "pattern": "uniform",
            "load": {{"threads": {threads}, "iodepth": {iodepth}}}, "until": {{"time": "300ms"}}}}"#
    );
    let job = WorkloadJob::from_json(&text, "job").expect("a job");
    run(&job, system, 3, &Control::default(), |_| {}).expect("it runs")
}

fn iops(recording: &Recording) -> f64 {
    recording.completed() as f64 * 1e9 / recording.window_ns as f64
}

fn spent_us(recording: &Recording, part: &str) -> f64 {
    let found = recording.residence.iter().find(|spent| spent.part == part);
    found.and_then(|spent| spent.mean_ns()).expect("it tells") / 1e3
}

fn about(found: f64, expected: f64, tolerance: f64) {
    assert!(
        (found / expected - 1.0).abs() <= tolerance,
        "{found} is not {expected} within {tolerance}"
    );
}

#[test]
fn one_read_at_a_time_takes_sensing_and_latency() {
    let recording = measured(&mut system(r#""nothing""#, 1), "read", "4KiB", 1, 1);
    // 60 + 10 us, 4096 B at 3.2 GB/s, 0.2 us of the load generator.
    about(1e6 / iops(&recording), 60.0 + 10.0 + 1.28 + 0.2, 0.01);
}

#[test]
fn reads_at_depth_follow_the_closed_network_of_the_dies() {
    for depth in [32, 64, 128] {
        let recording = measured(&mut system(r#""nothing""#, 1), "read", "4KiB", 1, depth);
        let waiting = f64::from(depth) - iops(&recording) * 11.28e-6;
        // N equal exponential servers give N/S x Q/(Q+N-1). Service of fixed length does better, by at most the share
        // that its smaller variance takes off the waiting.
        let exponential = 64.0 / 60e-6 * waiting / (waiting + 63.0);
        let found = iops(&recording);
        assert!(
            found > 0.97 * exponential && found < 1.35 * exponential,
            "{depth}: {found} {exponential}"
        );
    }
}

#[test]
fn writes_larger_than_the_buffer_go_in_one_at_a_time_whatever_was_written_before() {
    let mut drive = system(r#""nothing""#, 1);
    measured(&mut drive, "write", "4KiB", 1, 1);
    let recording = measured(&mut drive, "write", "32MiB", 1, 4);
    let bytes_per_s = (64.0 * 98_304.0 / 1000e-6f64).min(3200e6);
    // Each waits until the one before has been programmed; only the transfers overlap.
    about(iops(&recording) * f64::from(32 << 20), bytes_per_s, 0.05);
}

#[test]
fn sustained_writes_take_the_time_of_the_dies_that_programs_need() {
    let mut drive = system(r#""nothing""#, 1);
    measured(&mut drive, "write", "4KiB", 4, 32);
    let recording = measured(&mut drive, "write", "4KiB", 4, 32);
    let bytes_per_s = 64.0 * 98_304.0 / 1000e-6;
    about(iops(&recording), bytes_per_s / (2.0 * 4096.0), 0.02);
}

#[test]
fn reads_wait_for_a_slice_of_a_program_not_for_the_whole() {
    let mut drive = system(r#""nothing""#, 1);
    let text = r#"{"mix": {"read": 50, "write": 50}, "block": "4KiB", "pattern": "uniform",
        "load": {"threads": 1, "iodepth": 16}, "until": {"time": "300ms"}}"#;
    let job = WorkloadJob::from_json(text, "job").expect("a job");
    let recording = run(&job, &mut drive, 3, &Control::default(), |_| {}).expect("it runs");
    let read_us = recording.ops[&workload::Op::Read]
        .service
        .mean_ns()
        .expect("reads")
        / 1e3;
    assert!(read_us > 71.0 && read_us < 171.0, "{read_us}");
}

fn saturated(recording: &Recording, resource: &str) {
    let by = recording.limit().expect("a limit").by;
    assert!(
        matches!(&by, LimitedBy::Saturated(one) if one.resource == resource),
        "{by:?}"
    );
}

#[test]
fn a_shelf_is_limited_by_its_internal_link_and_spends_the_time_there() {
    let mut shelf = system(FABRIC, 24);
    let recording = measured(&mut shelf, "read", "4KiB", 24, 64);
    about(iops(&recording) * (4096.0 + 128.0), 8e9, 0.01);
    saturated(&recording, "internal link (read)");
    assert!(spent_us(&recording, "internal link (read)") > 100.0);
}

#[test]
fn parts_of_the_way_add_up_to_the_latency() {
    let recording = measured(&mut system(FABRIC, 24), "read", "4KiB", 12, 32);
    let mean_us = recording.ops[&workload::Op::Read]
        .service
        .mean_ns()
        .expect("reads")
        / 1e3;
    let parts: f64 = recording
        .residence
        .iter()
        .filter_map(|spent| spent.mean_ns())
        .sum();
    about(parts / 1e3 + 0.2, mean_us, 0.02);
    assert!(spent_us(&recording, "controller") > 2.0);
}

#[test]
fn hosts_and_ports_are_loaded_evenly() {
    let recording = measured(&mut system(FABRIC, 24), "read", "4KiB", 12, 32);
    let ports = recording
        .utilisation
        .iter()
        .find(|u| u.resource == "controller ports (out)");
    let ports = ports.expect("ports");
    assert!(ports.max / ports.mean < 1.02, "{ports:?}");
}

#[test]
fn every_host_port_and_drive_tells_its_share_and_they_add_up() {
    let mut shelf = system(FABRIC, 24);
    let text = r#"{"mix": "read", "block": "4KiB", "pattern": "uniform",
        "load": {"threads": 12, "iodepth": 32}, "until": {"time": "300ms"}}"#;
    let job = WorkloadJob::from_json(text, "job").expect("a job");
    let mut intervals = Vec::new();
    let recording = run(&job, &mut shelf, 3, &Control::default(), |interval| {
        intervals.push(interval.clone());
    })
    .expect("it runs");
    for (group, members) in [("host", 4), ("port", 4), ("drive", 24)] {
        let own: Vec<_> = intervals
            .iter()
            .flat_map(|interval| &interval.shares)
            .filter(|share| share.group == group)
            .collect();
        assert_eq!(own.len(), members * intervals.len(), "{group}");
        let n: u64 = own.iter().map(|share| share.n).sum();
        assert_eq!(n, recording.completed(), "{group}");
    }
}

#[test]
fn a_thread_that_has_a_drive_of_its_own_loads_no_other() {
    let mut params = parameters(FABRIC, 24);
    params.host.drive_per_thread = true;
    let mut shelf = System::new(&params, 1);
    let text = r#"{"mix": "read", "block": "4KiB", "pattern": "uniform",
        "load": {"threads": 8, "iodepth": 16}, "until": {"time": "100ms"}}"#;
    let job = WorkloadJob::from_json(text, "job").expect("a job");
    let mut per_drive = vec![0; 24];
    run(&job, &mut shelf, 3, &Control::default(), |interval| {
        for share in interval
            .shares
            .iter()
            .filter(|share| share.group == "drive")
        {
            per_drive[share.member as usize - 1] += share.n;
        }
    })
    .expect("it runs");
    assert!(per_drive[..8].iter().all(|&n| n > 0), "{per_drive:?}");
    assert!(per_drive[8..].iter().all(|&n| n == 0), "{per_drive:?}");
}

#[test]
fn a_drive_that_is_slower_has_the_longer_latency() {
    let slow = DRIVE.replace("60.0", "240.0").replace("COUNT", "1");
    let fast = DRIVE.replace("COUNT", "3");
    let text = format!(
        r#"{{"capacity_bytes": 4000000000000, "block_bytes": 512, "drives": [{fast}, {slow}],
            "between": {FABRIC}, "host": {HOST}}}"#
    );
    let mut shelf = System::new(&SystemParams::from_json(&text).expect("parameters"), 1);
    let mut means_us = vec![0.0; 4];
    let text = r#"{"mix": "read", "block": "4KiB", "pattern": "uniform",
        "load": {"threads": 4, "iodepth": 8}, "until": {"time": "200ms"}}"#;
    let job = WorkloadJob::from_json(text, "job").expect("a job");
    run(&job, &mut shelf, 3, &Control::default(), |interval| {
        for share in interval
            .shares
            .iter()
            .filter(|share| share.group == "drive")
        {
            means_us[share.member as usize - 1] = share.mean_ns().expect("I/O") / 1e3;
        }
    })
    .expect("it runs");
    assert!(means_us[3] > means_us[0] + 170.0, "{means_us:?}");
}

#[test]
fn a_cluster_does_what_its_cores_allow() {
    let mut cluster = system(CLUSTER, 48);
    let cores = 6.0 * 19.0;
    let reads = measured(&mut cluster, "read", "4KiB", 384, 8);
    about(iops(&reads), cores / 22e-6, 0.03);
    let writes = measured(&mut cluster, "write", "4KiB", 384, 8);
    about(iops(&writes), cores / 108e-6, 0.05);
    saturated(&writes, "server CPU");
}

#[test]
fn a_few_small_writes_leave_cores_of_a_cluster_idle() {
    // A closed network of M equal exponential queues gives Q / (Q + M - 1) of what M cores can do. Source: Lazowska
    // et al., Quantitative System Performance, 1984, chapter 6. Service of fixed length does better, by at most what its
    // smaller variance takes off the waiting. A queue that all cores shared would give all of it.
    let cores = 6.0 * 19.0;
    for depth in [1, 2] {
        let writes = measured(&mut system(CLUSTER, 48), "write", "4KiB", 384, depth);
        let in_queues = f64::from(384 * depth) - iops(&writes) * 25e-6;
        let exponential = in_queues / (in_queues + cores - 1.0);
        let found = iops(&writes) / (cores / 108e-6);
        assert!(
            found > 0.97 * exponential && found < 0.51 + 0.5 * exponential,
            "{depth}: {found} {exponential}"
        );
    }
}

#[test]
fn a_large_write_spreads_over_the_cores_of_its_server() {
    let writes = measured(&mut system(CLUSTER, 48), "write", "1MiB", 384, 1);
    about(iops(&writes), 6.0 * 19.0 / (100e-6 + 1024.0 * 2e-6), 0.05);
}

#[test]
fn a_large_read_costs_every_server_of_its_stripe() {
    let reads = measured(&mut system(CLUSTER, 48), "read", "128KiB", 384, 8);
    about(
        iops(&reads),
        6.0 * 19.0 / (4.0 * 20e-6 + 128.0 * 0.5e-6),
        0.03,
    );
}

#[test]
fn large_reads_of_a_cluster_meet_its_network() {
    let text = CLUSTER.replace(
        "\"read_cpu_us_per_kib\": 0.5",
        "\"read_cpu_us_per_kib\": 0.05",
    );
    let reads = measured(&mut system(&text, 48), "read", "1MiB", 384, 2);
    about(iops(&reads) * 1_048_576.0, 6.0 * 200e9 / 8.0 * 0.9, 0.03);
}

#[test]
fn parameters_that_make_no_sense_are_refused() {
    let text = r#"{"capacity_bytes": 1, "block_bytes": 512, "drives": [], "between": "nothing", "host": HOST}"#
        .replace("HOST", HOST);
    let refused = SystemParams::from_json(&text).expect_err("no drive");
    assert!(refused.to_string().contains("expected at least one"));
}

#[test]
fn a_drive_walks_its_map_for_one_trim_after_the_other() {
    let entries = (1 << 20) / 4096;
    let mut system = system("\"nothing\"", 1);
    let found = measured(&mut system, "trim", "1MiB", 4, 8);
    about(iops(&found), 1e9 / (f64::from(entries) * 10.0), 0.01);
    let mut slower = parameters("\"nothing\"", 1);
    slower.drives[0].trim_entry_ns = 40.0;
    let found = measured(&mut System::new(&slower, 1), "trim", "1MiB", 4, 8);
    about(iops(&found), 1e9 / (f64::from(entries) * 40.0), 0.01);
}
