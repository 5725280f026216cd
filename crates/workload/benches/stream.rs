//! Cost of one request, in nanoseconds: the fastest of several passes on one core, which other work
//! on the machine disturbs least.
//! `cargo bench -p workload`

use std::hint::black_box;
use std::time::Instant;

use workload::{Geometry, Job, RequestStream};

const PASSES: usize = 40;
const REQUESTS: u32 = 200_000;

fn main() {
    let geometry = Geometry {
        capacity_bytes: 1 << 40,
        block_bytes: 512,
    };
    let single = r#"mix = "read""#;
    let mixed = r#"mix = { read = 70, write = 30 }"#;
    let sizes = r#"mix = "read"
        block = [{ size = "4KiB", share = 60 }, { size = "8KiB", share = 30 }, { size = "64KiB", share = 10 }]"#;
    let cases = [
        ("sequential, 4 KiB", "sequential", single),
        ("uniform, 4 KiB", "uniform", single),
        ("uniform, 70/30", "uniform", mixed),
        ("uniform, 3 sizes", "uniform", sizes),
        (
            "hot spots 90/10",
            "{ hot-spots = [{ area = 10, access = 90 }, { area = 90, access = 10 }] }",
            single,
        ),
        ("zipf 0.99", "{ zipf = 0.99 }", single),
    ];
    println!("{:<22}{:>12}", "stream", "ns/request");
    for (name, pattern, mix) in cases {
        let pattern = match pattern.starts_with('{') {
            true => pattern.to_owned(),
            false => format!("\"{pattern}\""),
        };
        let block = if mix.contains("block") {
            ""
        } else {
            "block = \"4KiB\""
        };
        let text = format!(
            "{mix}\n{block}\npattern = {pattern}\nload = {{ threads = 1, iodepth = 32 }}\nuntil = {{ time = \"1s\" }}"
        );
        let job = Job::from_toml(&text, "bench").unwrap_or_else(|error| panic!("{error}"));
        let mut stream =
            RequestStream::new(&job, geometry, 1, 0).unwrap_or_else(|error| panic!("{error}"));
        println!("{name:<22}{:>12.2}", fastest_ns(|| stream.next_request()));
    }
    for arrival in ["exponential", "uniform", "deterministic"] {
        let text = format!(
            "mix = \"read\"\nblock = \"4KiB\"\npattern = \"uniform\"\nuntil = {{ time = \"1s\" }}\nload = {{ rate = \"400k/s\", arrival = \"{arrival}\", threads = 1, iodepth = 32 }}"
        );
        let job = Job::from_toml(&text, "bench").unwrap_or_else(|error| panic!("{error}"));
        let mut stream =
            RequestStream::new(&job, geometry, 1, 0).unwrap_or_else(|error| panic!("{error}"));
        let name = format!("arrival, {arrival}");
        println!(
            "{name:<22}{:>12.2}",
            fastest_ns(|| stream.next_arrival_ns())
        );
    }
}

fn fastest_ns<T>(mut draw: impl FnMut() -> T) -> f64 {
    let passes = (0..PASSES).map(|_| {
        let start = Instant::now();
        for _ in 0..REQUESTS {
            black_box(draw());
        }
        start.elapsed().as_nanos() as f64 / f64::from(REQUESTS)
    });
    passes.fold(f64::INFINITY, f64::min)
}
