//! Runs a drive of the catalogue through the workloads that its published results name and prints
//! simulated against published. `cargo run --release -p twin --example corners -- [DEVICE...] [only=NAME] [parameter=value...]`
//!
//! The product's own form of this is `fathom validate`; this one needs nothing but the crate and is
//! what the parameters were fitted with.

use std::path::Path;
use std::time::Instant;

use recording::Recording;
use serde_json::{Map, Value};
use twin::{Control, Device, Ssd, SsdParams, run};
use workload::{Job, Op};

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// Fills the drive as the review does, so that reads find data and writes find a full drive.
const FILL: &str = r#"{"mix":"write","block":"128KiB","pattern":"sequential","load":{"threads":1,"iodepth":32},"until":{"written":"2x"}}"#;

fn job(text: &str) -> Fallible<Job> {
    Ok(Job::from_json(text, "corners")?)
}

fn read_toml(path: &Path) -> Fallible<toml::Table> {
    Ok(std::fs::read_to_string(path)?.parse()?)
}

fn values(table: &toml::Value) -> Fallible<Map<String, Value>> {
    let table = table.as_table().ok_or("not a table")?;
    table
        .iter()
        .map(|(name, entry)| {
            let value = entry
                .get("value")
                .ok_or_else(|| format!("{name} has no value"))?;
            Ok((name.clone(), serde_json::to_value(value)?))
        })
        .collect()
}

/// A device of the catalogue on a bench of the catalogue, with overridden parameters.
fn params(
    catalog: &Path,
    device: &str,
    bench: &str,
    overrides: &[(String, Value)],
) -> Fallible<SsdParams> {
    let device = read_toml(&catalog.join(format!("devices/{device}.toml")))?;
    let bench = read_toml(&catalog.join(format!("systems/{bench}.toml")))?;
    let twin = &device["twin"];
    let mut all = values(&twin["parameters"])?;
    let capacity = device["capacity_bytes"].as_integer().ok_or("no capacity")?;
    all.insert("capacity_bytes".into(), capacity.into());
    let mut host = values(&bench["parameters"])?;
    for (name, value) in overrides {
        let table = if host.contains_key(name) {
            &mut host
        } else {
            &mut all
        };
        table.insert(name.clone(), value.clone());
    }
    all.insert("host".into(), Value::Object(host));
    Ok(SsdParams::from_json(&Value::Object(all).to_string())?)
}

/// A published row and the job that imitates it.
struct Row {
    workload: &'static str,
    fio: bool,
    job: String,
    calibration: bool,
}

fn rows() -> Vec<Row> {
    let closed = |mix: &str,
                  block: &str,
                  pattern: &str,
                  threads: u32,
                  iodepth: u32,
                  region: &str,
                  seconds: u32| {
        format!(
            r#"{{"mix":{mix},"block":"{block}","pattern":"{pattern}","region":{{"size":"{region}"}},"load":{{"threads":{threads},"iodepth":{iodepth}}},"until":{{"time":"{seconds}s"}}}}"#
        )
    };
    let mix = r#"{"read":70,"write":30}"#;
    let row = |workload, fio, job, calibration| Row {
        workload,
        fio,
        job,
        calibration,
    };
    vec![
        row(
            "fio-256k-seq-read",
            true,
            closed("\"read\"", "256KiB", "sequential", 1, 64, "100%", 1),
            true,
        ),
        row(
            "fio-256k-seq-write",
            true,
            closed("\"write\"", "256KiB", "sequential", 1, 64, "100%", 5),
            true,
        ),
        row(
            "fio-4k-rand-read",
            true,
            closed("\"read\"", "4KiB", "uniform", 8, 32, "100%", 1),
            true,
        ),
        row(
            "fio-4k-rand-write",
            true,
            closed("\"write\"", "4KiB", "uniform", 8, 32, "100%", 40),
            true,
        ),
        row(
            "vdbench-16k-seq-read",
            false,
            closed("\"read\"", "16KiB", "sequential", 32, 1, "25%", 1),
            false,
        ),
        row(
            "vdbench-16k-seq-write",
            false,
            closed("\"write\"", "16KiB", "sequential", 16, 1, "25%", 3),
            false,
        ),
        row(
            "vdbench-4k-rand-70r30w",
            false,
            closed(mix, "4KiB", "uniform", 64, 1, "25%", 12),
            true,
        ),
        row(
            "vdbench-8k-rand-70r30w",
            false,
            closed(mix, "8KiB", "uniform", 64, 1, "25%", 8),
            false,
        ),
        row(
            "vdbench-16k-rand-70r30w",
            false,
            closed(mix, "16KiB", "uniform", 64, 1, "25%", 6),
            false,
        ),
    ]
}

fn published(catalog: &Path, device: &str) -> Fallible<toml::Table> {
    let device = read_toml(&catalog.join(format!("devices/{device}.toml")))?;
    let name = device["published"].as_str().ok_or("no published results")?;
    read_toml(&catalog.join(format!("published/{name}.toml")))
}

/// IOPS, or MB/s for the sequential corners.
fn published_value(table: &toml::Table, workload: &str) -> Option<f64> {
    let groups = table.get("published")?.as_array()?;
    let mut rows = groups
        .iter()
        .filter_map(|group| group.get("rows")?.as_array())
        .flatten();
    let row = rows.find(|row| row.get("workload").and_then(|w| w.as_str()) == Some(workload))?;
    let number = |key: &str| {
        let value = row.get(key)?;
        let value = value.as_float().or(value.as_integer().map(|i| i as f64))?;
        value.is_finite().then_some(value)
    };
    if workload.starts_with("fio-256k") {
        number("mbps")
    } else {
        number("iops")
    }
}

/// The mean over the last third of the intervals, and the last interval's summary.
fn measure(job: &Job, ssd: &mut Ssd, seed: u64) -> Fallible<Recording> {
    let mut intervals = Vec::new();
    run(job, ssd, seed, &Control::default(), |interval| {
        intervals.push(interval)
    })?;
    let last = intervals.len().div_ceil(3);
    Ok(Recording::from_intervals(
        &intervals[intervals.len() - last..],
    ))
}

fn report(row: &Row, recording: &Recording, published: Option<f64>, wall_s: f64) {
    let seconds = recording.window_ns as f64 * 1e-9;
    let (mut count, mut bytes, mut sum_ns) = (0u64, 0u64, 0.0);
    let mut means = String::new();
    for (op, stats) in &recording.ops {
        count += stats.service.count();
        bytes += stats.bytes;
        sum_ns += stats.service.sum_ns() as f64;
        let mean_us = stats.service.mean_ns().unwrap_or(0.0) / 1e3;
        let p99_us = stats.service.quantile_ns(0.99).unwrap_or(0.0) / 1e3;
        means += &format!(" {} {mean_us:.1}/{p99_us:.0}", op.name());
    }
    let value = if row.workload.starts_with("fio-256k") {
        bytes as f64 / seconds / 1e6
    } else {
        count as f64 / seconds
    };
    let error = published.map_or("      -".into(), |p| {
        format!("{:+6.1} %", (value / p - 1.0) * 100.0)
    });
    let host_writes = recording.ops.get(&Op::Write).map_or(0, |s| s.bytes);
    let waf = recording.counters.media_write_bytes.unwrap_or(0) as f64 / host_writes.max(1) as f64;
    let watts = recording.counters.joules.unwrap_or(0.0) / seconds;
    println!(
        "{:26} {:11} {value:12.0} {:12.0} {error}  {:6.1} us  WAF {:4.2}  {watts:4.1} W  {wall_s:5.2} s  {:?}{}",
        row.workload,
        if row.calibration {
            "calibration"
        } else {
            "validation"
        },
        published.unwrap_or(f64::NAN),
        sum_ns / count.max(1) as f64 / 1e3,
        if host_writes > 0 { waf } else { f64::NAN },
        recording.limit().map(|limit| limit.by),
        means,
    );
}

/// Runs the rows of one bench on a freshly filled drive.
fn review(catalog: &Path, device: &str, fio: bool, options: &Options) -> Fallible<()> {
    let bench = if fio {
        "storagereview-r760-fio"
    } else {
        "storagereview-r760-vdbench"
    };
    let published = published(catalog, device)?;
    let mut ssd = Ssd::new(&params(catalog, device, bench, &options.overrides)?, 1)?;
    run(&job(FILL)?, &mut ssd, 1, &Control::default(), |_| {})?;
    println!(
        "{device} on {bench}, slice of {:.1} GB",
        ssd.capacity_bytes() as f64 / 1e9
    );
    let wanted = |row: &Row| {
        row.fio == fio
            && options
                .only
                .as_ref()
                .is_none_or(|name| row.workload.contains(name.as_str()))
    };
    for (seed, row) in (2u64..).zip(rows()).filter(|(_, row)| wanted(row)) {
        let start = Instant::now();
        let recording = measure(&job(&row.job)?, &mut ssd, seed)?;
        let wall_s = start.elapsed().as_secs_f64();
        report(
            &row,
            &recording,
            published_value(&published, row.workload),
            wall_s,
        );
    }
    Ok(())
}

#[derive(Default)]
struct Options {
    devices: Vec<String>,
    /// `parameter=value`
    overrides: Vec<(String, Value)>,
    /// `only=part-of-a-workload-name`
    only: Option<String>,
}

fn options() -> Fallible<Options> {
    let mut options = Options::default();
    for argument in std::env::args().skip(1) {
        match argument.split_once('=') {
            Some(("only", name)) => options.only = Some(name.to_owned()),
            Some((name, value)) => options
                .overrides
                .push((name.to_owned(), serde_json::from_str(value)?)),
            None => options.devices.push(argument),
        }
    }
    if options.devices.is_empty() {
        options.devices = [
            "wd-ultrastar-dc-sn861",
            "kioxia-cm7-r",
            "samsung-pm1743",
            "samsung-pm9a3",
        ]
        .map(|name| format!("{name}-7.68tb"))
        .to_vec();
    }
    Ok(options)
}

fn main() -> Fallible<()> {
    let catalog = Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../python/fathom/catalog"
    ));
    let options = options()?;
    for device in &options.devices {
        for fio in [true, false] {
            review(catalog, device, fio, &options)?;
        }
    }
    Ok(())
}
