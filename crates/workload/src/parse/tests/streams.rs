use super::*;
use crate::{Extent, Load};

const STREAMS: &str = r#"
until = { time = "10s" }
[[streams]]
name      = "log"
mix       = "write"
block     = "128KiB"
pattern   = "sequential"
region    = { start = "25%" }
placement = 1
load      = { iodepth = 4 }
[[streams]]
name    = "small"
mix     = { read = 50, write = 50 }
block   = "4KiB"
pattern = "uniform"
region  = { start = "5%", size = "10%" }
load    = { threads = 3, iodepth = 8 }
"#;

#[test]
fn a_job_of_streams_says_what_they_come_to_together() {
    let whole = job(STREAMS);
    let bytes: Vec<Vec<u32>> = whole
        .mix
        .ops
        .iter()
        .map(|block| block.sizes.iter().map(|size| size.size_bytes).collect())
        .collect();
    assert_eq!(bytes, [vec![4096], vec![131_072, 4096]]);
    assert_eq!(
        whole.load,
        Load::Closed {
            threads: 4,
            iodepth: 8
        }
    );
    assert_eq!(whole.placement, [1]);
    let Extent::Fraction(start) = whole.region.start else {
        panic!("{:?}", whole.region)
    };
    assert!((start - 0.05).abs() < 1e-12);
    let names: Vec<_> = whole
        .parts()
        .map(|part| (part.stream, part.thread))
        .collect();
    assert_eq!(
        names,
        [(Some(0), 0), (Some(1), 0), (Some(1), 1), (Some(1), 2)]
    );
    let json = serde_json::to_string(&whole).expect("serialises");
    assert_eq!(Job::from_json(&json, "normal.json"), Ok(whole));
}

#[test]
fn what_streams_cannot_be_is_refused_with_its_line() {
    let refused = |text: &str| {
        Job::from_toml(text, "job.toml")
            .expect_err("refused")
            .to_string()
    };
    for (from, to, expected) in [
        (
            "time = \"10s\"",
            "count = 5",
            "job.toml:2: streams run side by side until a time",
        ),
        (
            "\"small\"",
            "\"log\"",
            "job.toml:12: stream name \"log\" is used twice",
        ),
        (
            "\"uniform\"",
            "{ zones = 2 }",
            "job.toml:15: streams cannot share zones",
        ),
        ("iodepth = 4 ", "iodepth = 0 ", "job.toml:10: iodepth is 0"),
        (
            "block   = \"4KiB\"",
            "block   = \"4KiB\"\nuntil = { time = \"5s\" }",
            "time is that of all streams",
        ),
        (
            "until = { time = \"10s\" }",
            "",
            "nothing ends the stream \"log\"",
        ),
        (
            "block   = \"4KiB\"",
            "block   = \"4KiB\"\ntargets = [0]",
            "targets are counted from 1",
        ),
        (
            "block   = \"4KiB\"",
            "block   = \"4KiB\"\ntargets = [2, 2]",
            "a target is there twice",
        ),
        (
            "block   = \"4KiB\"",
            "block   = \"4KiB\"\nuntil = { written = \"1x\" }",
            "written is of a job that only writes or trims",
        ),
        (
            "until =",
            "mix = \"read\"\nuntil =",
            "unknown key `mix` in a job of streams",
        ),
    ] {
        let message = refused(&STREAMS.replacen(from, to, 1));
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn a_stream_ends_by_its_own_volume_in_its_own_region_or_by_the_time_of_all() {
    let text = STREAMS
        .replace(
            "block     = \"128KiB\"",
            "block = \"128KiB\"\nuntil = { written = \"1x\" }",
        )
        .replace(
            "block   = \"4KiB\"",
            "block = \"4KiB\"\nuntil = { bytes = \"3MiB\" }",
        );
    let geometry = crate::Geometry {
        capacity_bytes: 100 << 20,
        block_bytes: 512,
    };
    let timed = job(&text);
    let limits = |job: &Job, thread| job.thread_limits(thread, geometry).expect("fits");
    assert_eq!(limits(&timed, 0).bytes, 75 << 20);
    assert_eq!(limits(&timed, 0).time_ns, 10_000_000_000);
    assert_eq!(limits(&timed, 3).bytes, 1 << 20);
    let timeless = job(&text.replacen("until = { time = \"10s\" }", "", 1));
    assert_eq!(limits(&timeless, 1).time_ns, u64::MAX);
    let json = serde_json::to_string(&timeless).expect("serialises");
    assert_eq!(Job::from_json(&json, "normal.json"), Ok(timeless));
}
