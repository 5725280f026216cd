//! How fast the twin is on a SATA drive at full size: 117 million mapped pages, filled in order, written at random, then
//! read. `cargo run --release -p twin --example hours [million writes] [slice denominator] [seconds of reads] [device]`
//!
//! CPU time comes from the scheduler, so time spent waiting for a processor does not count. The digest tells whether two
//! versions of the model give the same results.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use serde_json::{Map, Value};
use twin::{Control, Device, Ssd, SsdParams, run};
use workload::Job;

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// Values of a table of the catalogue.
fn values(file: &str, table: &[&str]) -> Fallible<(toml::Table, Map<String, Value>)> {
    let catalog = Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../python/fathom/catalog"
    ));
    let whole: toml::Table = std::fs::read_to_string(catalog.join(file))?.parse()?;
    let mut inner = &toml::Value::Table(whole.clone());
    for name in table {
        inner = inner.get(name).ok_or("no such table")?;
    }
    let mut all = Map::new();
    for (name, entry) in inner.as_table().ok_or("not a table")? {
        let value = entry.get("value").ok_or("no value")?;
        all.insert(name.clone(), serde_json::to_value(value)?);
    }
    Ok((whole, all))
}

fn drive(name: &str) -> Fallible<SsdParams> {
    let file = format!("devices/{name}.toml");
    let (device, mut all) = values(&file, &["twin", "parameters"])?;
    let (_, host) = values("systems/anandtech-2015-enterprise.toml", &["parameters"])?;
    let capacity = device["capacity_bytes"].as_integer().ok_or("no capacity")?;
    all.insert("capacity_bytes".into(), capacity.into());
    all.insert("host".into(), Value::Object(host));
    Ok(SsdParams::from_json(&Value::Object(all).to_string())?)
}

fn cpu_ns() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

fn timed(name: &str, ssd: &mut Ssd, seed: u64, io: &str, until: &str) -> Fallible<()> {
    let job = format!(r#"{{{io},"load":{{"threads":1,"iodepth":32}},"until":{until}}}"#);
    let job = Job::from_json(&job, "hours")?;
    let before = cpu_ns().ok_or("no /proc/self/schedstat")?;
    let mut digest = DefaultHasher::new();
    let (mut media_bytes, mut host_bytes) = (0, 0);
    let recording = run(&job, ssd, seed, &Control::default(), |interval| {
        serde_json::to_string(&interval)
            .unwrap_or_default()
            .hash(&mut digest);
        media_bytes += interval.counters.media_write_bytes.unwrap_or(0);
        host_bytes += interval.ops.values().map(|op| op.bytes).sum::<u64>();
    })?;
    let cpu_s = (cpu_ns().unwrap_or(before) - before) as f64 * 1e-9;
    let count = recording.completed() as f64;
    println!(
        "{name:28} {:6.1} M I/O  {cpu_s:6.2} CPU s  {:5.2} M I/O per s  {:5.0} ns per I/O  simulated {:7.0} IOPS  WAF {:4.2}  digest {:016x}",
        count / 1e6,
        count / cpu_s / 1e6,
        cpu_s * 1e9 / count,
        count * 1e9 / recording.window_ns as f64,
        media_bytes as f64 / host_bytes as f64,
        digest.finish(),
    );
    Ok(())
}

/// The argument at this place, or what is usual.
fn argument<T: std::str::FromStr>(place: usize, usual: T) -> Result<T, T::Err> {
    std::env::args()
        .nth(place)
        .map_or(Ok(usual), |text| text.parse())
}

fn main() -> Fallible<()> {
    let millions: u64 = argument(1, 20)?;
    let mut params = drive(&argument(4, "micron-m510dc-480gb".to_owned())?)?;
    params.slice_denominator = argument(2, 1)?;
    let mut ssd = Ssd::new(&params, 1)?;
    println!(
        "{} M pages, {:.1} bytes of state per page",
        ssd.capacity_bytes() / 4096 / 1_000_000,
        ssd.bytes_per_page()
    );
    let count = |count: u64| format!(r#"{{"count":{count}}}"#);
    let fill = r#""mix":"write","block":"128KiB","pattern":"sequential""#;
    let write = r#""mix":"write","block":"4KiB","pattern":"uniform""#;
    let read = r#""mix":"read","block":"4KiB","pattern":"uniform""#;
    // As many writes as over-provisioning has room for, and some more.
    let unsteady = 25_000_000 / u64::from(params.slice_denominator);
    let once = r#"{"written":"1x"}"#;
    timed("fill, 128 KiB sequential", &mut ssd, 1, fill, once)?;
    timed(
        "4 KiB random write, unsteady",
        &mut ssd,
        2,
        write,
        &count(unsteady),
    )?;
    timed(
        "4 KiB random write",
        &mut ssd,
        3,
        write,
        &count(millions * 1_000_000),
    )?;
    let seconds: u64 = argument(3, 60)?;
    let time = format!(r#"{{"time":"{seconds}s"}}"#);
    timed("4 KiB random read", &mut ssd, 4, read, &time)
}
