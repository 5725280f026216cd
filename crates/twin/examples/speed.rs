//! How fast the twin is: simulated I/O per CPU second on one core, at 16 million mapped pages and
//! 28 % over-provisioning, everything on. `cargo run --release -p twin --example speed [seconds]`
//!
//! CPU time comes from the scheduler, so a busy machine does not count.

use recording::Recording;
use twin::{Control, Device, Ssd, SsdParams, run};
use workload::Job;

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// 64 GiB of user pages on 64 dies with independent planes; the shape of the catalogue's drives.
fn drive() -> Fallible<SsdParams> {
    let text = r#"{
        "capacity_bytes": 68719476736, "slice_denominator": 1, "block_bytes": 4096,
        "pcie_generation": 5, "pcie_lanes": 4,
        "command_pipelines": 1, "command_ns": 0.0, "read_unit_ns": 300.0, "write_unit_ns": 300.0,
        "command_latency_us": 4.0, "dram_read_us": 1.0,
        "write_buffer_bytes": 50331648, "write_ack_us": 4.0,
        "channels": 16, "dies_per_channel": 4, "planes_per_die": 4, "independent_plane_reads": true,
        "nand_page_bytes": 16384, "pages_per_program": 3, "erase_unit_bytes": 196608,
        "channel_mts": 1066.0, "channel_command_ns": 300.0, "channel_parity_ratio": 1.1,
        "read_sense_us": 56.0, "read_sense_spread": 0.2, "read_sense_time": "page-type", "ecc_us": 2.0,
        "program_us": 1490.0, "erase_us": 3500.0, "program_suspend": true, "suspend_us": 20.0,
        "program_min_run_us": 100.0, "program_max_wait_us": 500.0, "programming_dies_max": 64,
        "over_provisioning": 0.28, "gc_free_superblocks": 4,
        "idle_w": 5.0, "command_uj": 0.3, "link_nj_per_byte": 0.5, "channel_nj_per_byte": 0.1,
        "read_sense_uj": 2.5, "program_uj": 160.0, "erase_uj": 300.0,
        "host": {"cores": 64, "submit_us": 1.0, "complete_us": 0.55, "wake_us": 2.0,
                 "tlp_payload_bytes": 512, "tlp_overhead_bytes": 24, "link_protocol_share": 0.036}
    }"#;
    Ok(SsdParams::from_json(text)?)
}

/// CPU time of this process so far, ns; `None` where the kernel does not say.
fn cpu_ns() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

fn timed(name: &str, body: &str, ssd: &mut Ssd, seed: u64) -> Fallible<()> {
    let job = Job::from_json(body, "speed")?;
    let before = cpu_ns().ok_or("no /proc/self/schedstat")?;
    let recording: Recording = run(&job, ssd, seed, &Control::default(), |_| {})?;
    let cpu_s = (cpu_ns().unwrap_or(before) - before) as f64 * 1e-9;
    let count = recording.completed() as f64;
    println!(
        "{name:34} {:9.0} I/O  {cpu_s:6.2} CPU s  {:6.2} M I/O per s  {:5.0} ns per I/O  simulated {:8.0} IOPS",
        count,
        count / cpu_s / 1e6,
        cpu_s * 1e9 / count,
        count * 1e9 / recording.window_ns as f64,
    );
    Ok(())
}

fn main() -> Fallible<()> {
    let seconds: u32 = std::env::args()
        .nth(1)
        .map_or(Ok(10), |text| text.parse())?;
    let params = drive()?;
    let mut ssd = Ssd::new(&params, 1)?;
    println!(
        "{} M pages, {:.1} bytes of state per page",
        ssd.capacity_bytes() / 4096 / 1_000_000,
        ssd.bytes_per_page()
    );
    let closed = |mix: &str,
                  block: &str,
                  pattern: &str,
                  threads: u32,
                  iodepth: u32,
                  until: &str| {
        format!(
            r#"{{"mix":{mix},"block":"{block}","pattern":"{pattern}","load":{{"threads":{threads},"iodepth":{iodepth}}},"until":{until}}}"#
        )
    };
    let (read, write, mix) = ("\"read\"", "\"write\"", r#"{"read":70,"write":30}"#);
    let window = format!(r#"{{"time":"{seconds}s"}}"#);
    let fill = closed(write, "128KiB", "sequential", 1, 32, r#"{"written":"1x"}"#);
    timed("fill, 128 KiB sequential", &fill, &mut ssd, 1)?;
    let sequential = closed(read, "256KiB", "sequential", 1, 64, &window);
    timed(
        "256 KiB sequential read, in order",
        &sequential,
        &mut ssd,
        8,
    )?;
    let overwrite = closed(write, "4KiB", "uniform", 1, 32, r#"{"written":"2x"}"#);
    timed("4 KiB random write, unsteady", &overwrite, &mut ssd, 2)?;
    timed(
        "4 KiB random write, 1 x 32",
        &closed(write, "4KiB", "uniform", 1, 32, &window),
        &mut ssd,
        3,
    )?;
    timed(
        "4 KiB random read, 1 x 32",
        &closed(read, "4KiB", "uniform", 1, 32, &window),
        &mut ssd,
        4,
    )?;
    timed(
        "4 KiB random read, 8 x 32",
        &closed(read, "4KiB", "uniform", 8, 32, &window),
        &mut ssd,
        5,
    )?;
    timed(
        "4 KiB random 70/30, 8 x 32",
        &closed(mix, "4KiB", "uniform", 8, 32, &window),
        &mut ssd,
        6,
    )?;
    timed(
        "256 KiB sequential read, scattered",
        &sequential,
        &mut ssd,
        7,
    )
}
