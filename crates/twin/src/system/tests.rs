//! Systems against closed forms: what the busiest station allows, what an idle one adds, what drives cost behind them.

use super::*;
use crate::system::params::{Between, DriveParams};
use crate::tests::drives::small_drive;
use crate::{Control, Ssd, SsdParams, run};
use recording::{LimitedBy, Recording};
use workload::Job as WorkloadJob;

const HOST: &str = r#"{"cores": 64, "submit_us": 0.1, "complete_us": 0.1, "wake_us": 0.0,
    "tlp_payload_bytes": 256, "tlp_overhead_bytes": 24, "link_protocol_share": 0.0}"#;
const FABRIC: &str = r#"{"fabric": {"hosts": 4, "host_nic_gbps": 100, "ports": 4, "port_gbps": 100,
    "network_efficiency": 0.9, "network_us": 2.0, "pipelines": 4, "command_ns": 500,
    "read_pass_us": 2.0, "write_pass_us": 1.0, "link_mbps": 8000}}"#;
const CLUSTER: &str = r#"{"cluster": {"servers": 6, "server_cores": 19, "read_cpu_us": 20.0,
    "read_cpu_us_per_kib": 0.5, "write_cpu_us": 100.0, "write_cpu_us_per_kib": 2.0, "server_nics": 1,
    "clients": 12, "nic_gbps": 200, "network_efficiency": 0.9, "network_us": 5.0, "mount_us": 0.5,
    "stripe_data": 4, "stripe_parity": 2}}"#;

#[test]
fn values_of_a_system_that_make_no_sense_are_refused_by_name() {
    let with = |between: &str, name: &str, value: &str| {
        let from = between.find(&format!("\"{name}\":")).expect("a key") + name.len() + 3;
        let rest = &between[from..];
        let end = rest.find([',', '}']).expect("an end");
        let text = format!("{} {value}{}", &between[..from], &rest[end..]);
        parameters(&text, &[(2, small_drive())]).check()
    };
    for (between, name, wrong) in [
        (FABRIC, "port_gbps", "0"),
        (FABRIC, "link_mbps", "0"),
        (FABRIC, "host_nic_gbps", "-5"),
        (FABRIC, "network_efficiency", "2"),
        (FABRIC, "network_us", "-50"),
        (FABRIC, "ports", "0"),
        (FABRIC, "hosts", "65536"),
        (CLUSTER, "nic_gbps", "0"),
        (CLUSTER, "write_cpu_us", "-1"),
        (CLUSTER, "stripe_parity", "65536"),
    ] {
        let refused = with(between, name, wrong).expect_err("refused");
        assert_eq!(refused.name, name);
        assert_eq!(with(between, name, "1"), Ok(()), "{name}");
    }
}

/// A system of drives of 256 MiB with 8 dies.
fn parameters(between: &str, drives: &[(u32, SsdParams)]) -> SystemParams {
    let bytes = |(count, ssd): &(u32, SsdParams)| u64::from(*count) * ssd.capacity_bytes;
    let drives_of = |(count, ssd): &(u32, SsdParams)| DriveParams {
        count: *count,
        ssd: ssd.clone(),
    };
    SystemParams {
        capacity_bytes: drives.iter().map(bytes).sum(),
        block_bytes: 512,
        drives: drives.iter().map(drives_of).collect(),
        between: serde_json::from_str::<Between>(between).expect("what is between"),
        host: serde_json::from_str(HOST).expect("a host"),
    }
}

fn system(between: &str, drives: u32) -> System {
    made(&parameters(between, &[(drives, small_drive())]))
}

/// Drives that are never the limit.
fn fast_drives(between: &str) -> System {
    let fast = SsdParams {
        program_us: 20.0,
        erase_us: 10.0,
        read_sense_us: 2.0,
        channel_mts: 24_000.0,
        ..small_drive()
    };
    made(&parameters(between, &[(48, fast)]))
}

fn made(params: &SystemParams) -> System {
    params.check().expect("parameters");
    System::new(params, 1).expect("a system")
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

/// Programmed bytes over bytes written.
fn amplification(recording: &Recording) -> f64 {
    let programmed = recording.counters.media_write_bytes.expect("it knows");
    programmed as f64 / recording.ops[&Op::Write].bytes as f64
}

/// A way to the drives that costs next to nothing.
fn open_way() -> String {
    FABRIC
        .replace("\"network_us\": 2.0", "\"network_us\": 0.0")
        .replace("\"command_ns\": 500", "\"command_ns\": 1")
        .replace("\"read_pass_us\": 2.0", "\"read_pass_us\": 0.0")
        .replace("\"write_pass_us\": 1.0", "\"write_pass_us\": 0.0")
        .replace("\"link_mbps\": 8000", "\"link_mbps\": 1000000")
        .replace("gbps\": 100", "gbps\": 100000")
}

#[test]
fn a_drive_behind_an_open_way_does_what_it_does_alone() {
    let settled = SsdParams {
        settled_share: 1.0,
        host: serde_json::from_str(HOST).expect("a host"),
        ..small_drive()
    };
    for mix in [r#""read""#, r#""write""#, r#"{"read": 70, "write": 30}"#] {
        let text = format!(
            r#"{{"mix": {mix}, "block": "4KiB", "pattern": "uniform",
                "load": {{"threads": 2, "iodepth": 16}}, "until": {{"time": "2s"}}}}"#
        );
        let job = WorkloadJob::from_json(&text, "job").expect("a job");
        let mut alone = Ssd::new(&settled, 1).expect("a drive");
        let mut behind = made(&parameters(&open_way(), &[(1, settled.clone())]));
        let of_drive = run(&job, &mut alone, 3, &Control::default(), |_| {}).expect("it runs");
        let of_shelf = run(&job, &mut behind, 3, &Control::default(), |_| {}).expect("it runs");
        about(iops(&of_shelf), iops(&of_drive), 0.02);
        if mix != r#""read""# {
            about(amplification(&of_shelf), amplification(&of_drive), 0.03);
        }
    }
}

#[test]
fn random_writes_to_a_shelf_are_cleaned_on_its_drives() {
    let mut shelf = system(FABRIC, 4);
    let text = r#"{"mix": "write", "block": "4KiB", "pattern": "uniform",
        "load": {"threads": 8, "iodepth": 32}, "until": {"time": "3s"}}"#;
    let job = WorkloadJob::from_json(text, "job").expect("a job");
    let (mut written, mut programmed) = (0, 0);
    let recording = run(&job, &mut shelf, 3, &Control::default(), |interval| {
        for share in interval.shares.iter().filter(|one| one.group == "drive") {
            written += share.host_write_bytes;
            programmed += share.media_write_bytes;
        }
    })
    .expect("it runs");
    // Large superblocks: WAF = 1 / (1 - p) with p = exp(-(1 + spare) (1 - p)). At 25 % spare, p is 0.629.
    about(amplification(&recording), 1.0 / (1.0 - 0.629), 0.06);
    about(
        programmed as f64 / written as f64,
        amplification(&recording),
        0.02,
    );
    assert_eq!(recording.counters.unmapped_reads, Some(0));
    assert_eq!(recording.counters.joules, None);
}

#[test]
fn a_cluster_programs_its_redundancy_and_cleans_nothing() {
    let writes = measured(&mut system(CLUSTER, 48), "write", "4KiB", 384, 8);
    // Four data and two parity blocks.
    about(amplification(&writes), 1.5, 0.01);
}

#[test]
fn a_drive_of_twice_the_capacity_has_twice_the_load() {
    let twice = SsdParams {
        capacity_bytes: 512 << 20,
        ..small_drive()
    };
    let mut shelf = made(&parameters(FABRIC, &[(2, small_drive()), (2, twice)]));
    let text = r#"{"mix": "read", "block": "4KiB", "pattern": "uniform",
        "load": {"threads": 8, "iodepth": 16}, "until": {"time": "300ms"}}"#;
    let job = WorkloadJob::from_json(text, "job").expect("a job");
    let mut n = [0_u64; 4];
    run(&job, &mut shelf, 3, &Control::default(), |interval| {
        for share in interval.shares.iter().filter(|one| one.group == "drive") {
            n[share.member as usize - 1] += share.n;
        }
    })
    .expect("it runs");
    about(n[2] as f64 / n[0] as f64, 2.0, 0.03);
    about(n[3] as f64 / n[1] as f64, 2.0, 0.03);
}

#[test]
fn the_same_seed_gives_the_same_recording() {
    let of_seed = |seed| {
        let mut shelf =
            System::new(&parameters(FABRIC, &[(3, small_drive())]), seed).expect("a system");
        measured(&mut shelf, "write", "4KiB", 8, 16).completed()
    };
    assert_eq!(of_seed(5), of_seed(5));
    assert_ne!(of_seed(5), of_seed(6));
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
fn operations_without_data_pass_a_shelf_as_capsules_and_write_nothing() {
    for mix in ["trim", "write-zeroes"] {
        let mut shelf = system(FABRIC, 4);
        let text = format!(
            r#"{{"mix": "{mix}", "block": "1MiB", "pattern": "uniform",
                "load": {{"threads": 1, "iodepth": 1}}, "until": {{"count": 500}}}}"#
        );
        let job = WorkloadJob::from_json(&text, "job").expect("a job");
        let mut written = 0;
        let recording = run(&job, &mut shelf, 3, &Control::default(), |interval| {
            written += interval
                .shares
                .iter()
                .map(|share| share.host_write_bytes)
                .sum::<u64>();
        })
        .expect("it runs");
        assert_eq!(written, 0, "{mix}");
        // 128 bytes at 8 GB/s; a MiB would take 131 us.
        let link_us = spent_us(&recording, "internal link (write)");
        assert!(link_us < 0.1, "{mix}: {link_us}");
    }
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
    let mut params = parameters(FABRIC, &[(24, small_drive())]);
    params.host.drive_per_thread = true;
    let mut shelf = made(&params);
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
    let slow = SsdParams {
        read_sense_us: 230.0,
        ..small_drive()
    };
    let mut shelf = made(&parameters(FABRIC, &[(3, small_drive()), (1, slow)]));
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
    let writes = measured(&mut fast_drives(CLUSTER), "write", "1MiB", 384, 1);
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
    let reads = measured(&mut fast_drives(&text), "read", "1MiB", 384, 2);
    about(iops(&reads) * 1_048_576.0, 6.0 * 200e9 / 8.0 * 0.9, 0.03);
}

#[test]
fn parameters_that_make_no_sense_are_refused() {
    let refused = |drives: &[(u32, SsdParams)]| {
        let check = parameters(FABRIC, drives).check();
        check.expect_err("refused").to_string()
    };
    assert!(refused(&[]).contains("expected at least one"));
    let sliced = SsdParams {
        slice_denominator: 2,
        ..small_drive()
    };
    assert!(refused(&[(1, small_drive()), (1, sliced)]).contains("the same of every drive"));
    let zoned = SsdParams {
        zone_bytes: 1 << 20,
        ..small_drive()
    };
    assert!(refused(&[(1, zoned)]).contains("no zones"));
}

#[test]
fn a_copy_of_a_shelf_goes_on_as_the_shelf_would_have() {
    let mut shelf = system(FABRIC, 3);
    measured(&mut shelf, "write", "4KiB", 8, 16);
    let mut copy = shelf.clone();
    let of_copy = measured(&mut copy, "write", "4KiB", 8, 16);
    assert!(of_copy == measured(&mut shelf, "write", "4KiB", 8, 16));
}
