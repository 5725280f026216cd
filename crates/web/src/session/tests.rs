use serde_json::Value;

use super::*;

/// 480 GB in a slice of 480 MB, settled: 16 dies.
const A_DRIVE: &str = r#"{"kind": "ssd", "capacity_bytes": 480103981056, "slice_denominator": 1000, "block_bytes": 4096,
    "pcie_generation": 4, "pcie_lanes": 4, "command_pipelines": 1, "command_ns": 50.0, "read_unit_ns": 50.0,
    "write_unit_ns": 50.0, "command_latency_us": 1.0, "dram_read_us": 1.0, "write_buffer_bytes": 8388608,
    "write_ack_us": 3.0, "channels": 4, "dies_per_channel": 4, "planes_per_die": 2, "independent_plane_reads": true,
    "nand_page_bytes": 16384, "pages_per_program": 3, "erase_unit_bytes": 393216, "channel_mts": 1200.0,
    "channel_command_ns": 300.0, "channel_parity_ratio": 1.1, "read_sense_us": 50.0, "read_sense_spread": 0.2,
    "read_sense_time": "page-type", "ecc_us": 2.0, "program_us": 1000.0, "erase_us": 3500.0, "program_suspend": true,
    "suspend_us": 20.0, "program_min_run_us": 100.0, "program_max_wait_us": 500.0, "programming_dies_max": 16,
    "over_provisioning": 0.25, "gc_free_superblocks": 4, "settled_share": 1.0, "idle_w": 5.0, "command_uj": 0.5,
    "link_nj_per_byte": 0.1, "channel_nj_per_byte": 0.05, "read_sense_uj": 10.0, "program_uj": 300.0,
    "erase_uj": 200.0, "host": {"cores": 4, "submit_us": 1.0, "complete_us": 1.0, "wake_us": 0.0}}"#;

/// Two hosts before two of these drives, and a host CPU that is no limit.
fn a_system() -> String {
    let drive = A_DRIVE.replace(r#""kind": "ssd", "#, "");
    format!(
        r#"{{"kind": "system", "capacity_bytes": 960207962112, "block_bytes": 512,
            "drives": [{{"count": 2, "ssd": {drive}}}],
            "between": {{"fabric": {{"hosts": 2, "host_nic_gbps": 100.0, "ports": 2, "port_gbps": 100.0,
                "network_efficiency": 0.9, "network_us": 1.0, "pipelines": 2, "command_ns": 500.0,
                "read_pass_us": 2.0, "write_pass_us": 1.0, "link_mbps": 14000.0}}}},
            "host": {{"cores": 8, "submit_us": 1.0, "complete_us": 1.0, "wake_us": 0.0}}}}"#
    )
}

fn answer(text: Result<Vec<u8>, SessionError>) -> Value {
    serde_json::from_slice(&text.expect("an answer")).expect("JSON")
}

fn made() -> Session {
    let mut session = Session::default();
    let answer = answer(session.make(&of(A_DRIVE)));
    assert!(answer["capacity_bytes"].as_u64() > Some(400 << 20));
    session
}

/// A request for a device with these parameters.
fn of(parameters: &str) -> Vec<u8> {
    format!(r#"{{"parameters": {parameters}, "seed": "1"}}"#).into_bytes()
}

/// A request for 50 ms of random I/O.
fn random(mix: &str, until: &str) -> Vec<u8> {
    let text = format!(
        r#"{{"mix": "{mix}", "block": "4KiB", "pattern": "uniform", "load": {{"iodepth": 8}}, "until": {{"time": "50ms"}}}}"#
    );
    let job = Job::from_json(&text, "job").expect("a job");
    let mut job = serde_json::to_value(job).expect("JSON");
    if until.is_empty() {
        job["until"] = json!({});
    }
    // A seed beyond the whole numbers of JavaScript.
    json!({ "job": job, "seed": "18446744073709551615" })
        .to_string()
        .into_bytes()
}

#[test]
fn the_figures_of_a_job_are_those_of_its_recording() {
    let mut session = made();
    let figures = answer(session.run(&random("write", "time")));
    let recording = session.recording().expect("a recording");
    let recording: Recording = serde_json::from_slice(&recording).expect("a recording");
    let writes = &figures["ops"][0];
    assert_eq!(writes["op"], "write");
    assert_eq!(writes["n"].as_u64(), Some(recording.completed()));
    assert_eq!(figures["window_s"], 0.05);
    assert_eq!(
        writes["iops"].as_f64(),
        Some(recording.completed() as f64 / 0.05)
    );
    let programmed = recording.counters.media_write_bytes.expect("known") as f64;
    assert_eq!(
        figures["waf"],
        programmed / (recording.completed() * 4096) as f64
    );
    assert_eq!(figures["outstanding"].as_f64(), recording.mean_outstanding);
    assert_eq!(
        figures["limit"]["kind"],
        recording.limit().expect("known").by.kind()
    );
}

#[test]
fn figures_without_a_meaning_or_with_too_few_samples_are_left_out() {
    let figures = answer(made().run(&random("read", "time")));
    assert_eq!(figures["waf"], Value::Null);
    // One sense, and what comes before and after it. For a p99 there are too few.
    assert!(figures["ops"][0]["mean_us"].as_f64() > Some(50.0));
    assert_eq!(figures["ops"][0]["p99_us"], Value::Null);
}

#[test]
fn a_request_that_cannot_be_met_gets_one_line_and_leaves_the_drive() {
    let mut session = made();
    let line = |error: SessionError| {
        let answer: Value = serde_json::from_slice(&error.to_json()).expect("JSON");
        answer["error"].as_str().expect("a line").to_owned()
    };
    let unknown = session.make(&of(r#"{"kind": "ssd", "dies": 3}"#));
    assert!(line(unknown.expect_err("no such parameter")).contains("unknown field `dies`"));
    let none = A_DRIVE.replace(r#""pcie_lanes": 4"#, r#""pcie_lanes": 40"#);
    let beyond = session.make(&of(&none));
    assert!(line(beyond.expect_err("too many lanes")).contains("pcie_lanes: 40"));
    let endless = session.run(&random("read", ""));
    assert!(line(endless.expect_err("no end")).contains("neither how long nor how much"));
    assert!(session.run(&random("read", "time")).is_ok());
    let nothing = Session::default().run(&random("read", "time"));
    assert!(line(nothing.expect_err("no drive")).contains("make a drive"));
    let disk = session.make(&of(r#"{"kind": "disk"}"#));
    assert!(line(disk.expect_err("no model")).contains("unknown variant `disk`"));
    let nobody = a_system().replace(r#""hosts": 2"#, r#""hosts": 0"#);
    let empty = session.make(&of(&nobody));
    assert!(line(empty.expect_err("no host")).contains("hosts: 0 is not within 1"));
}

#[test]
fn every_host_of_a_system_has_the_threads_of_a_job() {
    let mut session = Session::default();
    let made = answer(session.make(&of(&a_system())));
    assert_eq!(
        made["scale"].as_f64().map(|scale| (scale * 1e5).round()),
        Some(100.0)
    );
    let of_hosts = |hosts: u32, session: &mut Session| {
        let mut request: Value = serde_json::from_slice(&random("read", "time")).expect("JSON");
        request["hosts"] = hosts.into();
        answer(session.run(request.to_string().as_bytes()))
    };
    let alone = answer(session.run(&random("read", "time")));
    assert!(alone["outstanding"].as_f64() < Some(8.5));
    let both = of_hosts(2, &mut session);
    assert!(both["outstanding"].as_f64() > Some(15.0));
    assert_eq!(both["waf"], Value::Null);
    let many = of_hosts(200, &mut session);
    assert_eq!(many["limit"]["resource"]["name"], "drive dies");
}
