use proptest::prelude::*;

use super::*;
use crate::{
    Arrival, Block, BlockShare, Content, Curve, Errors, Extent, FileSystem, Geometry, HotBand,
    Latency, Load, Mix, Op, Pace, Pattern, RatePhase, Region, RequestStream, Slo, Split, StepKind,
    Stream, Until, Verify,
};

const JOB: &str = r#"mix = "read"
block = "4KiB"
pattern = "uniform"
load = { threads = 8, iodepth = 32 }
until = { time = "60s" }
"#;

fn job(text: &str) -> Job {
    Job::from_toml(text, "job.toml").unwrap_or_else(|error| panic!("{error}"))
}

/// The message for `JOB` with one line replaced.
fn refusal(line: &str, replacement: &str) -> String {
    let text = JOB.replace(line, replacement);
    assert_ne!(text, JOB);
    let error = Job::from_toml(&text, "job.toml").expect_err("refused");
    error.to_string()
}

#[test]
fn a_short_job_gets_the_documented_defaults() {
    let expected = Job {
        mix: Mix {
            ops: vec![Block {
                op: Op::Read,
                weight: 1.0,
                sizes: vec![BlockShare {
                    size_bytes: 4096,
                    weight: 1.0,
                }],
            }],
        },
        pattern: Pattern::Uniform,
        region: Region {
            start: Extent::Bytes(0),
            size: Extent::Fraction(1.0),
        },
        align_bytes: None,
        content: Content::default(),
        placement: vec![],
        direct: true,
        sqpoll: false,
        huge_pages: false,
        streams: Vec::new(),
        load: Load::Closed {
            threads: 8,
            iodepth: 32,
        },
        pace: Pace::default(),
        errors: Errors {
            most: None,
            stuck_ns: 60_000_000_000,
        },
        journal: None,
        until: Until {
            time_ns: Some(60_000_000_000),
            bytes: None,
            region_multiple: None,
            count: None,
        },
    };
    assert_eq!(job(JOB), expected);
}

#[test]
fn every_written_shape_is_understood() {
    let job = job(r#"
mix = { write = 30, read = 70, flush = 1 }
block = { read = [{ size = "8KiB", share = 90 }, { size = "32KiB", share = 10 }], write = "16k" }
pattern = { hot-spots = [{ area = 10, access = 90 }] }
region = { start = "50%" }
align = "4KiB"
content = { compressible = "50%" }
placement = [1, 2]
direct = false
sqpoll = true
load = { rate = "400k/s", arrival = "uniform", threads = 4, iodepth = 256 }
until = { time = "1h30min", bytes = "10GiB", count = 1000000 }
"#);
    let ops: Vec<Op> = job.mix.ops.iter().map(|block| block.op).collect();
    assert_eq!(ops, [Op::Read, Op::Write, Op::Flush]);
    assert_eq!(job.mix.ops[0].sizes[1].size_bytes, 32 << 10);
    assert_eq!(job.mix.ops[1].sizes[0].size_bytes, 16 << 10);
    let rest = HotBand {
        area: 90.0,
        access: 10.0,
    };
    assert!(matches!(&job.pattern, Pattern::HotSpots { bands } if bands[1] == rest));
    assert_eq!(
        job.region,
        Region {
            start: Extent::Fraction(0.5),
            size: Extent::Fraction(0.5)
        }
    );
    assert_eq!(
        job.load,
        Load::Open {
            rate_iops: 400_000.0,
            arrival: Arrival::Uniform,
            threads: 4,
            iodepth: 256
        }
    );
    assert_eq!(job.until.time_ns, Some(5_400_000_000_000));
    assert_eq!(job.until.bytes, Some(10 << 30));
    assert_eq!(
        (job.placement, job.direct, job.sqpoll),
        (vec![1, 2], false, true)
    );
}

#[test]
fn every_pattern_and_pace_has_its_words() {
    let with = |line: &str, other: &str| job(&JOB.replace(line, other));
    let pattern = |text: &str| with("\"uniform\"", text).pattern;
    assert_eq!(pattern("\"random-once\""), Pattern::RandomOnce);
    assert_eq!(pattern("\"backwards\""), Pattern::Backwards);
    assert_eq!(
        pattern("{ sequential = 4 }"),
        Pattern::SequentialStreams { streams: 4 }
    );
    let stride_bytes = 1 << 20;
    assert_eq!(
        pattern("{ stride = \"1MiB\" }"),
        Pattern::Strided { stride_bytes }
    );
    assert_eq!(pattern("{ pareto = 0.2 }"), Pattern::Pareto { share: 0.2 });
    let load = "load = { threads = 8, iodepth = 32 }";
    let batches = with(load, "load = { iodepth = 32, reap = 8 }\nhuge-pages = true");
    assert_eq!((batches.pace.reap, batches.huge_pages), (8, true));
    assert_eq!(
        with(load, r#"load = { think = "2ms" }"#).pace.think_ns,
        2_000_000
    );
    let rates = r#"load = { iodepth = 8, rate = [{ rate = "1k/s", time = "3s" }, { rate = "1k/s", to = "5k/s", time = "1s" }] }"#;
    let scheduled = with(load, rates);
    let phase = |time_ns, from_iops, to_iops| RatePhase {
        time_ns,
        from_iops,
        to_iops,
    };
    assert_eq!(
        scheduled.pace.rates,
        [
            phase(3_000_000_000, 1e3, 1e3),
            phase(1_000_000_000, 1e3, 5e3)
        ]
    );
    assert!(matches!(scheduled.load, Load::Open { rate_iops, .. } if rate_iops == 1500.0));
    let errors = |text: &str| with(load, &format!("errors = {text}\n{load}")).errors;
    assert_eq!(errors("\"continue\""), Errors::default());
    assert_eq!(errors("\"stop\"").most, Some(0));
    assert_eq!(errors("100").most, Some(100));
    let both = errors(r#"{ most = 3, stuck = "5s" }"#);
    assert_eq!((both.most, both.stuck_ns), (Some(3), 5_000_000_000));
}

#[test]
fn what_cannot_go_together_is_refused_with_the_way_out() {
    let load = "load = { threads = 8, iodepth = 32 }";
    let after = |line: &str| refusal(load, &format!("{load}\n{line}"));
    for (message, said) in [
        (
            refusal(
                load,
                r#"load = { rate = "1k/s", iodepth = 8, think = "1ms" }"#,
            ),
            "job.toml:4: think belongs to a closed load",
        ),
        (
            refusal(load, r#"load = { rate = "1k/s", iodepth = 8, reap = 4 }"#),
            "job.toml:4: reap belongs to a closed load",
        ),
        (
            refusal(load, "load = { iodepth = 8, reap = 9 }"),
            "job.toml:4: reap is 9 with iodepth 8",
        ),
        (
            refusal("\"uniform\"", "{ pareto = 0.5 }"),
            "expected a share above 0 and below 0.5",
        ),
        (
            refusal("\"uniform\"", "\"random-once\"\nmix2 = 1"),
            "unknown key `mix2`",
        ),
        (
            refusal(
                "\"4KiB\"\npattern = \"uniform\"",
                "[{ size = \"4k\", share = 1 }, { size = \"8k\", share = 1 }]\npattern = \"random-once\"",
            ),
            "job.toml:2: random-once visits blocks of one size",
        ),
        (
            refusal("\"uniform\"", "{ stride = \"2KiB\" }"),
            "job.toml:3: stride is 2048 bytes, expected a block",
        ),
        (
            refusal("\"uniform\"", "\"strided\""),
            "expected { stride = \"1MiB\" }",
        ),
        (
            after("content = { dedup = \"50%\", verify = 1 }"),
            "leave out dedup",
        ),
        (after("journal = \"/tmp\""), "set content = { verify = 1 }"),
        (after("errors = \"halt\""), "expected one of continue, stop"),
        (after("thinktime = 3"), "unknown key `thinktime`"),
    ] {
        assert!(message.contains(said), "{message}");
    }
}

#[test]
fn toml_and_json_spell_the_same_job() {
    let json = r#"{
        "mix": "read", "block": 4096, "pattern": "uniform",
        "load": {"iodepth": 32, "threads": 8}, "until": {"time": "1min"}
    }"#;
    assert_eq!(Job::from_json(json, "job.json").expect("parses"), job(JOB));
}

#[test]
fn a_misspelt_key_is_refused_with_its_line_and_the_nearest_key() {
    let message = refusal("iodepth = 32", "iodpeth = 32");
    assert_eq!(
        message,
        "job.toml:4: unknown key `iodpeth` in load, did you mean `iodepth`?"
    );
}

#[test]
fn fio_words_are_led_to_the_words_used_here() {
    assert_eq!(
        refusal("block =", "bs ="),
        "job.toml:2: unknown key `bs` in the job: see `block`"
    );
    assert_eq!(
        refusal("\"uniform\"", "\"randread\""),
        "job.toml:3: pattern is \"randread\", expected one of sequential, backwards, uniform, random-once, did you mean \"uniform\"?"
    );
    let arrival = r#"load = { rate = "1k/s", arrival = "poisson", iodepth = 32 }"#;
    let message = refusal("load = { threads = 8, iodepth = 32 }", arrival);
    assert!(
        message.ends_with("did you mean \"exponential\"?"),
        "{message}"
    );
}

#[test]
fn every_refusal_names_what_was_found_and_what_was_expected() {
    let cases = [
        (
            r#""read""#,
            r#"{ read = 70, wriet = 30 }"#,
            1,
            "did you mean \"write\"?",
        ),
        (
            r#""read""#,
            r#"{ read = 0 }"#,
            1,
            "the weight of read is 0, expected a number above 0",
        ),
        (
            r#""read""#,
            r#""verify""#,
            1,
            "expected one of read, write, trim, flush, write-zeroes, append",
        ),
        (r#""read""#, "7", 1, "mix is 7, expected an operation"),
        (r#"block = "4KiB""#, "", 1, "the job lacks the key `block`"),
        (
            r#""4KiB""#,
            r#""4Kb""#,
            2,
            "block: `4Kb`: unknown unit `Kb`",
        ),
        (r#""4KiB""#, r#""5GiB""#, 2, "expected less than 4GiB"),
        (r#""4KiB""#, r#""2GiB""#, 2, "expected up to 1GiB"),
        (r#""4KiB""#, r#""0""#, 2, "block size is 0 bytes"),
        (
            r#""4KiB""#,
            r#"{ write = "4KiB" }"#,
            2,
            "block gives sizes for `write`",
        ),
        (
            r#""4KiB""#,
            r#"[{ size = "4KiB", share = -1 }]"#,
            2,
            "share is -1",
        ),
        (
            r#""4KiB""#,
            "[]",
            2,
            "expected a list with at least one entry",
        ),
        (
            r#""uniform""#,
            r#"{ zipf = 0 }"#,
            3,
            "zipf is 0, expected a skew above 0",
        ),
        (r#""uniform""#, r#""zipf""#, 3, "expected { zipf = 0.99 }"),
        (
            r#""uniform""#,
            r#"{ random = "120%" }"#,
            3,
            "random: `120%` is more than 100%",
        ),
        (
            r#""uniform""#,
            r#"{ random = { read = "80%" } }"#,
            3,
            "random lacks the key `write`",
        ),
        (
            r#""uniform""#,
            r#"{ random = "80%", zipf = 1 }"#,
            3,
            "needs one of zipf, hot-spots, random",
        ),
        (
            r#""uniform""#,
            "{ hot-spots = [{ area = 60, access = 1 }, { area = 60, access = 9 }] }",
            3,
            "areas add up to 120%",
        ),
        (
            r#""uniform""#,
            "{ hot-spots = [{ area = 100, access = 90 }] }",
            3,
            "only 90% of the accesses",
        ),
        (
            "threads = 8",
            "threads = 0",
            4,
            "threads is 0, expected 1 to 1024",
        ),
        (
            "threads = 8",
            "threads = -1",
            4,
            "threads is -1, expected a whole number in range",
        ),
        (
            "iodepth = 32",
            "rate = \"10k/s\"",
            4,
            "load lacks the key `iodepth`",
        ),
        (
            "threads = 8",
            "rate = 1000",
            4,
            "rate: `1000`: expected a rate such as",
        ),
        (
            "threads = 8",
            "arrival = \"uniform\"",
            4,
            "arrival needs a rate",
        ),
        (
            r#""60s""#,
            r#""10mins""#,
            5,
            "unknown unit `mins`, did you mean `min`?",
        ),
        (r#""60s""#, r#""0s""#, 5, "until.time is 0"),
        (
            r#"time = "60s""#,
            "",
            5,
            "until needs at least one of time, bytes, written, count",
        ),
        (
            r#"time = "60s""#,
            r#"written = "2x""#,
            5,
            "a job that only writes",
        ),
        (
            "until",
            "direct = 1\nuntil",
            5,
            "direct is 1, expected true or false",
        ),
        ("until", "region = \"0%\"\nuntil", 5, "region is empty"),
        (
            "until",
            "region = { start = \"60%\", size = \"50%\" }\nuntil",
            5,
            "runs from 60% to 110%",
        ),
        (
            "until",
            "region = { start = \"1GiB\" }\nuntil",
            5,
            "needs a size",
        ),
        (
            "until",
            "content = { compressible = 50 }\nuntil",
            5,
            "expected a percentage such as 25%",
        ),
        (
            "until",
            "align = 0\nuntil",
            5,
            "align is 0, expected up to 1TiB",
        ),
        ("until", "placement = 70000\nuntil", 5, "placement is 70000"),
        ("until", "placement = 65535\nuntil", 5, "below 65535"),
    ];
    for (line, replacement, at, expected) in cases {
        let message = refusal(line, replacement);
        assert!(
            message.starts_with(&format!("job.toml:{at}: ")),
            "{replacement}: {message}"
        );
        assert!(message.contains(expected), "{replacement}: {message}");
    }
}

#[test]
fn broken_toml_and_json_are_refused_at_their_line() {
    let error = Job::from_toml("mix = \"read\"\nblock = = 4\n", "a.toml").expect_err("refused");
    assert!(
        error.to_string().starts_with("a.toml:2: not TOML: "),
        "{error}"
    );
    let error = Job::from_json("{\n \"mix\": \"read\",\n oops }", "a.json").expect_err("refused");
    assert!(
        error.to_string().starts_with("a.json:3: not JSON: "),
        "{error}"
    );
    let error = Job::from_json("{\n\"mix\": 1,\n\"mix\": 2}", "a.json").expect_err("refused");
    assert_eq!(error.to_string(), "a.json:3: key `mix` is given twice");
    let error = Job::from_json(&"[".repeat(50_000), "a.json").expect_err("refused");
    assert_eq!(error.line, 1);
}

#[test]
fn a_json_error_deep_inside_a_method_has_its_own_line() {
    let json = r#"{
  "schema": "fathom-method/1",
  "name": "mine",
  "steps": [
    {
      "name": "one",
      "job": {
        "mix": "read",
        "block": "4KiB",
        "pattern": "uniform",
        "load": {
          "threads": 1,
          "iodepht": 32
        },
        "until": {"time": "10s"}
      }
    }
  ]
}"#;
    let error = Method::from_json(json, "m.json").expect_err("refused");
    assert_eq!(
        error.to_string(),
        "m.json:13: unknown key `iodepht` in load, did you mean `iodepth`?"
    );
    let error = Method::from_json(&json.replace("iodepht\": 32", "iodepth\": 0"), "m.json");
    assert_eq!(
        error.expect_err("refused").to_string(),
        "m.json:13: iodepth is 0, expected 1 to 65536"
    );
}

const METHOD: &str = r#"schema = "fathom-method/1"
name = "mine"
[quick]
divide_times_by = 10
divide_volumes_by = 2

[[steps]]
name = "fill"
kind = "fill"
job = { mix = "write", block = "128KiB", pattern = "sequential", load = {}, until = { written = "2x" } }

[[steps]]
name = "settle"
kind = "precondition"
steady = { round = "30s" }
job = { mix = "read", block = "4KiB", pattern = "uniform", load = {}, until = { time = "10min" } }

[[steps]]
name = "measure"
job = { mix = "read", block = "4KiB", pattern = "uniform", load = {}, until = { time = "1min", count = 7 } }
"#;

fn method_refusal(line: &str, replacement: &str) -> String {
    let text = METHOD.replacen(line, replacement, 1);
    assert_ne!(text, METHOD);
    let error = Method::from_toml(&text, "m.toml").expect_err("refused");
    error.to_string()
}

#[test]
fn a_method_that_makes_no_sense_is_refused_at_the_line_to_mend() {
    let cases = [
        (
            "fathom-method/1",
            "fathom-method/2",
            1,
            "expected \"fathom-method/1\"",
        ),
        ("\"mine\"", "\"My method\"", 2, "lower-case letters"),
        ("times_by = 10", "times_by = 0.5", 4, "expected 1 or more"),
        (
            "divide_times_by = 10",
            "divide_time_by = 10",
            4,
            "did you mean `divide_times_by`?",
        ),
        (
            "kind = \"fill\"",
            "kind = \"filling\"",
            9,
            "did you mean \"fill\"?",
        ),
        (
            "mix = \"write\"",
            "mix = \"read\"",
            10,
            "written counts the writes",
        ),
        (
            "written = \"2x\"",
            "time = \"1min\"",
            10,
            "a fill step ends by volume",
        ),
        (
            "{ mix = \"write\"",
            "{ mix = { write = 1, trim = 1 }",
            10,
            "written counts",
        ),
        ("steady = { round = \"30s\" }", "", 14, "needs `steady`"),
        (
            "time = \"10min\"",
            "time = \"1min\"",
            16,
            "at least round x window = 150 s",
        ),
        ("name = \"measure\"", "name = \"settle\"", 19, "used twice"),
        (
            "name = \"measure\"",
            "name = \"measure\"\nsteady = {}",
            20,
            "belongs to a precondition",
        ),
        (
            "steady = { round = \"30s\" }",
            "steady = { window = 1 }",
            15,
            "expected 2 rounds or more",
        ),
    ];
    for (line, replacement, at, expected) in cases {
        let message = method_refusal(line, replacement);
        assert!(
            message.starts_with(&format!("m.toml:{at}: ")),
            "{replacement}: {message}"
        );
        assert!(message.contains(expected), "{replacement}: {message}");
    }
}

const CURVE: &str = r#"schema = "fathom-method/1"
name = "mine"
bench = "some-bench"
precision = "1%"
quick = { divide_times_by = 10 }
[[steps]]
name = "4k"
kind = "curve"
job = { mix = "read", block = "4KiB", pattern = "uniform", load = { threads = 64 }, until = { time = "1min" } }
[steps.curve]
points = ["10%", "85%", "120%"]
time = "30s"
latency = "service"
slo = { p99 = "1ms" }
"#;

#[test]
fn a_curve_is_read_shortened_and_survives_its_normal_form() {
    let method = Method::from_toml(CURVE, "m.toml").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(method.steps[0].bench.as_deref(), Some("some-bench"));
    assert_eq!(method.steps[0].precision, Some(0.01));
    let expected = Curve {
        points: vec![0.1, 0.85, 1.2],
        time_ns: 30_000_000_000,
        arrival: Arrival::Exponential,
        latency: Latency::Service,
        slo: Some(Slo {
            p99_ns: 1_000_000,
            steps: 5,
        }),
    };
    assert_eq!(method.steps[0].curve.as_ref(), Some(&expected));
    let quick = method.shortened();
    assert_eq!(
        quick.steps[0].curve.as_ref().map(|curve| curve.time_ns),
        Some(3_000_000_000)
    );
    let json = serde_json::to_string(&quick).expect("serialises");
    assert_eq!(Method::from_json(&json, "quick.json"), Ok(quick));
}

#[test]
fn a_curve_that_lists_nothing_runs_from_10_to_120_percent_by_response() {
    let text = CURVE
        .replace("points = [\"10%\", \"85%\", \"120%\"]\n", "")
        .replace("latency = \"service\"\nslo = { p99 = \"1ms\" }\n", "");
    let method = Method::from_toml(&text, "m.toml").unwrap_or_else(|error| panic!("{error}"));
    let curve = method.steps[0].curve.clone().expect("a curve");
    let percents: Vec<_> = curve.points.iter().map(|p| (p * 100.0).round()).collect();
    assert_eq!(
        percents,
        (1..=12).map(|k| 10.0 * f64::from(k)).collect::<Vec<_>>()
    );
    assert_eq!((curve.latency, curve.slo), (Latency::Response, None));
}

#[test]
fn a_curve_that_makes_no_sense_is_refused_at_the_line_to_mend() {
    let cases = [
        ("\"some-bench\"", "\"Some bench\"", 3, "lower-case letters"),
        ("\"1%\"", "\"0%\"", 4, "not above 0%"),
        ("\"curve\"", "\"measure\"", 10, "set kind = \"curve\""),
        (
            "threads = 64",
            "rate = \"9k/s\", iodepth = 8",
            9,
            "leave out the rate",
        ),
        ("\"85%\"", "\"5%\"", 11, "point 5% follows 10%"),
        ("\"120%\"", "\"1200%\"", 11, "up to 1000%"),
        ("\"120%\"", "\"much\"", 11, "expected a percentage"),
        ("time = \"30s\"", "", 10, "curve lacks the key `time`"),
        ("\"service\"", "\"clat\"", 13, "did you mean \"service\"?"),
        ("\"1ms\"", "\"0s\"", 14, "p99 is 0"),
        (
            "\"1ms\"",
            "\"1ms\", steps = 0",
            14,
            "steps is 0, expected 1 to 20",
        ),
    ];
    for (line, replacement, at, expected) in cases {
        let text = CURVE.replacen(line, replacement, 1);
        assert_ne!(text, CURVE);
        let error = Method::from_toml(&text, "m.toml").expect_err("refused");
        assert_eq!(error.line, at, "{replacement}: {error}");
        assert!(error.message.contains(expected), "{replacement}: {error}");
    }
    let text = CURVE.split("[steps.curve]").next().unwrap_or_default();
    let error = Method::from_toml(text, "m.toml").expect_err("refused");
    assert_eq!(
        (error.line, error.message.contains("needs `curve`")),
        (8, true)
    );
}

#[test]
fn a_method_names_the_file_system_and_a_region_that_smaller_targets_cut() {
    let text = METHOD.replace("[quick]", "file_system = \"btrfs\"\n[quick]");
    let method = Method::from_toml(&text, "m.toml").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(method.file_system, Some(FileSystem::Btrfs));
    let error = Method::from_toml(&text.replace("btrfs", "btfs"), "m.toml").expect_err("refused");
    assert!(error.message.contains("did you mean \"btrfs\"?"), "{error}");

    let job = job(&JOB.replace("until", "region = \"up to 50GB\"\nuntil"));
    let size = |capacity_bytes| {
        let block_bytes = 4096;
        let span = job.region.resolve(Geometry {
            capacity_bytes,
            block_bytes,
        });
        span.expect("fits").size_bytes
    };
    assert_eq!(size(1 << 40), 50_000_000_000 / 4096 * 4096);
    assert_eq!(size(1 << 30), 1 << 30);
}

#[test]
fn quick_divides_times_rounds_and_volumes_and_nothing_else() {
    let method = Method::from_toml(METHOD, "m.toml").unwrap_or_else(|error| panic!("{error}"));
    let quick = method.shortened();
    assert_eq!(quick.steps[0].job.until.region_multiple, Some(1.0));
    let steady = quick.steps[1].steady.expect("kept");
    assert_eq!((steady.round_ns, steady.window), (3_000_000_000, 5));
    assert_eq!(quick.steps[1].job.until.time_ns, Some(60_000_000_000));
    assert_eq!(quick.steps[2].job.until.time_ns, Some(6_000_000_000));
    assert_eq!(quick.steps[2].job.until.count, Some(7));
}

#[test]
fn preconditioning_may_shrink_by_its_own_factor() {
    let text = METHOD.replace("[quick]", "[quick]\ndivide_preconditioning_by = 30");
    let method = Method::from_toml(&text, "m.toml").unwrap_or_else(|error| panic!("{error}"));
    let quick = method.shortened();
    assert_eq!(
        quick.steps[1].steady.map(|steady| steady.round_ns),
        Some(1_000_000_000)
    );
    assert_eq!(quick.steps[2].job.until.time_ns, Some(6_000_000_000));
}

fn catalogue() -> Vec<Method> {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../python/fathom/catalog/methods"
    );
    let files = std::fs::read_dir(folder).expect("the catalogue is in the tree");
    let mut methods = Vec::new();
    for file in files {
        let path = file.expect("readable").path();
        let text = std::fs::read_to_string(&path).expect("readable");
        let name = path.display().to_string();
        let method = Method::from_toml(&text, &name).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(
            path.file_stem().and_then(|stem| stem.to_str()),
            Some(&*method.name)
        );
        methods.push(method);
    }
    assert!(!methods.is_empty());
    methods
}

#[test]
fn built_in_methods_parse_run_quick_and_survive_their_normal_form() {
    for method in catalogue() {
        let json = serde_json::to_string_pretty(&method).expect("serialises");
        assert_eq!(
            Method::from_json(&json, "normal.json").as_ref(),
            Ok(&method)
        );
        let quick = method.shortened();
        let json = serde_json::to_string(&quick).expect("serialises");
        assert_eq!(
            Method::from_json(&json, "quick.json"),
            Ok(quick),
            "{}",
            method.name
        );
    }
}

#[test]
fn four_corners_is_the_published_procedure() {
    let methods = catalogue();
    let method = methods
        .iter()
        .find(|method| method.name == "four-corners")
        .expect("built in");
    let measured: Vec<_> = method
        .steps
        .iter()
        .filter(|step| step.kind == StepKind::Measure)
        .map(|step| {
            let sizes = &step.job.mix.ops[0].sizes;
            let (threads, iodepth) = (step.job.load.threads(), step.job.load.iodepth());
            let published = step.published.as_deref().unwrap_or_default();
            (
                published,
                sizes[0].size_bytes >> 10,
                threads,
                iodepth,
                step.job.until.time_ns,
            )
        })
        .collect();
    let minute = Some(60_000_000_000);
    assert_eq!(
        measured,
        [
            ("fio-256k-seq-read", 256, 1, 64, minute),
            ("fio-256k-seq-write", 256, 1, 64, minute),
            ("fio-4k-rand-read", 4, 8, 32, minute),
            ("fio-4k-rand-write", 4, 8, 32, minute),
        ]
    );
    // Each corner settles under the very I/O that is then measured.
    for pair in method.steps[1..].chunks(2) {
        let mut settled = pair[0].job.clone();
        settled.until = pair[1].job.until;
        assert_eq!(settled, pair[1].job);
        assert_eq!(pair[0].kind, StepKind::Precondition);
    }
}

#[test]
fn a_normal_form_with_an_unknown_key_is_refused() {
    let json = serde_json::to_string_pretty(&job(JOB)).expect("serialises");
    let broken = json.replace("\"direct\"", "\"directly\"");
    let error = Job::from_json(&broken, "n.json").expect_err("refused");
    let line = broken
        .lines()
        .position(|line| line.contains("directly"))
        .expect("there")
        + 1;
    assert_eq!(error.line as usize, line, "{error}");
    let senseless = json.replace("\"iodepth\": 32", "\"iodepth\": 0");
    let error = Job::from_json(&senseless, "n.json").expect_err("refused");
    assert!(error.message.contains("iodepth is 0"), "{error}");
}

fn any_job() -> impl Strategy<Value = Job> {
    let weight = 0.01..1000.0f64;
    let size = prop_oneof![
        Just(512u32),
        Just(4096),
        Just(12_288),
        Just(131_072),
        Just(1 << 20)
    ];
    let share =
        (size, weight.clone()).prop_map(|(size_bytes, weight)| BlockShare { size_bytes, weight });
    let sizes = proptest::collection::vec(share, 1..5);
    let op = prop_oneof![
        Just(Op::Read),
        Just(Op::Write),
        Just(Op::Trim),
        Just(Op::WriteZeroes)
    ];
    let block =
        (op, weight.clone(), sizes).prop_map(|(op, weight, sizes)| Block { op, weight, sizes });
    let band = (0.5..10.0f64, 0.1..10.0f64).prop_map(|(area, access)| HotBand { area, access });
    let pattern = prop_oneof![
        Just(Pattern::Sequential),
        Just(Pattern::Uniform),
        Just(Pattern::Backwards),
        (1..5u32).prop_map(|streams| Pattern::SequentialStreams { streams }),
        (0.1..3.0f64).prop_map(|theta| Pattern::Zipf { theta }),
        (0.01..0.5f64).prop_map(|share| Pattern::Pareto { share }),
        proptest::collection::vec(band, 1..4).prop_map(|bands| Pattern::HotSpots { bands }),
        (0.0..1.0f64, 0.0..1.0f64).prop_map(|(read, write)| Pattern::Mixed { read, write }),
        (1..9u32).prop_map(|open| Pattern::Zones { open }),
    ];
    let extent = |bytes: std::ops::Range<u64>, fractions: std::ops::Range<f64>| {
        prop_oneof![
            bytes.prop_map(Extent::Bytes),
            fractions.prop_map(Extent::Fraction)
        ]
    };
    let region = (
        extent(0..1 << 28, 0.0..0.4),
        prop_oneof![
            extent(1 << 26..1 << 28, 0.1..0.6),
            (1u64 << 26..1 << 28).prop_map(Extent::UpTo),
        ],
    );
    let load = prop_oneof![
        (1..9u32, 1..65u32).prop_map(|(threads, iodepth)| Load::Closed { threads, iodepth }),
        (1.0..1e7f64, 1..9u32).prop_map(|(rate_iops, threads)| Load::Open {
            rate_iops,
            arrival: Arrival::Exponential,
            threads,
            iodepth: 8
        }),
    ];
    let align = proptest::option::of(prop_oneof![Just(512u64), Just(4096), Just(65_536)]);
    let blocks = proptest::collection::vec(block, 1..4);
    (blocks, pattern, region, align, load, 1..u64::MAX).prop_map(
        |(ops, pattern, (start, size), align_bytes, load, time_ns)| Job {
            mix: Mix { ops },
            pattern,
            region: Region { start, size },
            align_bytes,
            content: Content {
                compressible: 0.25,
                dedup: 0.0,
                verify: Some(Verify {
                    generation: 2,
                    seed: 9,
                }),
            },
            placement: vec![3],
            direct: true,
            sqpoll: true,
            huge_pages: true,
            streams: Vec::new(),
            load,
            pace: Pace {
                think_ns: 0,
                reap: match load {
                    Load::Closed { iodepth, .. } => iodepth,
                    Load::Open { .. } => 0,
                },
                rates: match load {
                    Load::Closed { .. } => vec![],
                    Load::Open { rate_iops, .. } => vec![RatePhase {
                        time_ns: 1_000_000_000,
                        from_iops: rate_iops,
                        to_iops: 0.0,
                    }],
                },
                split: Split::Shares(vec![2.0, 1.0]),
            },
            errors: Errors {
                most: Some(7),
                stuck_ns: 5,
            },
            journal: None,
            until: Until {
                time_ns: Some(time_ns),
                bytes: None,
                region_multiple: None,
                count: None,
            },
        },
    )
}

proptest! {
    #[test]
    fn the_normal_form_of_any_job_reads_back_as_the_same_job(job in any_job()) {
        let json = serde_json::to_string(&job).expect("serialises");
        prop_assert_eq!(Job::from_json(&json, "n.json"), Ok(job));
    }

    #[test]
    fn offsets_stay_inside_the_region_and_aligned(job in any_job(), seed: u64) {
        let geometry = Geometry { capacity_bytes: (1 << 30) + 512, block_bytes: 512 };
        let region = job.region.resolve(geometry).expect("inside by construction");
        let sequential = matches!(
            job.pattern,
            Pattern::Sequential
                | Pattern::SequentialStreams { .. }
                | Pattern::Backwards
                | Pattern::Mixed { .. }
        );
        let thread = job.load.threads() - 1;
        let mut stream = RequestStream::new(&job, geometry, seed, thread).expect("fits");
        for _ in 0..500 {
            let request = stream.next_request();
            let end_bytes = request.offset_bytes + u64::from(request.size_bytes);
            prop_assert!(request.offset_bytes >= region.start_bytes);
            prop_assert!(end_bytes <= region.start_bytes + region.size_bytes);
            let own_bytes = if sequential { 512 } else { u64::from(request.size_bytes) };
            let within_bytes = request.offset_bytes - region.start_bytes;
            let align_bytes = job.align_bytes.unwrap_or(own_bytes);
            // A small block of a skewed pattern is aligned inside its unit.
            let unit_bytes = job.mix.ops.iter().flat_map(|block| &block.sizes)
                .map(|share| u64::from(share.size_bytes)).max().unwrap_or(1)
                .next_multiple_of(job.align_bytes.unwrap_or(1));
            let skewed = matches!(
                job.pattern,
                Pattern::Zipf { .. } | Pattern::Pareto { .. } | Pattern::HotSpots { .. }
            );
            let counted_bytes = if skewed { within_bytes % unit_bytes } else { within_bytes };
            prop_assert_eq!(counted_bytes % align_bytes, 0);
        }
    }

    #[test]
    fn arbitrary_text_is_refused_without_panic(text in any::<String>()) {
        prop_assert!(Method::from_toml(&text, "x").is_err());
        prop_assert!(Method::from_json(&text, "x").is_err());
        prop_assert!(Job::from_json(&text, "x").is_err());
    }

    #[test]
    fn a_method_with_damaged_characters_never_panics(
        at in 0..METHOD.len(), length in 0..40usize, insert in "[ -~\n]{0,6}"
    ) {
        let end = (at + length).min(METHOD.len());
        let text = format!("{}{insert}{}", &METHOD[..at], &METHOD[end..]);
        if let Err(error) = Method::from_toml(&text, "m.toml") {
            prop_assert!((error.line as usize) <= text.lines().count() + 1);
            prop_assert!(!error.message.contains('\n'));
        }
    }

    #[test]
    fn any_text_is_a_value_or_a_refusal_of_a_unit(text in "[0-9a-zA-Zµ .%_/+-]{0,12}") {
        for result in [crate::parse_size_bytes(&text), crate::parse_duration_ns(&text)] {
            if let Err(message) = result {
                prop_assert!(!message.is_empty());
            }
        }
        let _ = (crate::parse_percent(&text), crate::parse_multiple(&text), crate::parse_rate_iops(&text));
    }
}

fn reference(page: &str) -> String {
    let path = format!("{}/../../docs/reference/{page}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("the reference is in the tree")
}

/// Fenced blocks of one language in a page of the reference.
fn examples(page: &str, language: &str) -> Vec<String> {
    let text = reference(page);
    let opening = format!("```{language}\n");
    let blocks = text.split(&opening).skip(1);
    blocks
        .map(|rest| rest.split("```").next().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn examples_of_the_reference_are_read_as_they_stand() {
    let jobs = examples("job.md", "toml");
    assert!(jobs.len() >= 3);
    jobs.iter().for_each(|text| drop(job(text)));
    let normal = examples("job.md", "json");
    let read = Job::from_json(&normal[0], "job.md").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(read, job(JOB));
    for text in examples("method.md", "toml") {
        Method::from_toml(&text, "method.md").unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn the_reference_states_how_long_each_built_in_method_takes() {
    let seconds = |method: &Method| {
        let (mut least, mut most) = (0.0, 0.0);
        for step in method
            .steps
            .iter()
            .filter(|step| !matches!(step.kind, StepKind::Fill | StepKind::Purge))
        {
            let time_s = step.job.until.time_ns.expect("bounded in time") as f64 / 1e9;
            let (points, searched) = step.curve.as_ref().map_or((0.0, 0.0), |curve| {
                let point_s = curve.time_ns as f64 / 1e9;
                let searches = curve.slo.map_or(0, |slo| slo.steps);
                (
                    curve.points.len() as f64 * point_s,
                    f64::from(searches) * point_s,
                )
            });
            most += time_s + points + searched;
            if step
                .round
                .as_ref()
                .is_some_and(|round| round.number > round.window)
            {
                continue;
            }
            least += points
                + step.steady.map_or(time_s, |steady| {
                    steady.round_ns as f64 * f64::from(steady.window) / 1e9
                });
        }
        (least, most)
    };
    let page = reference("method.md");
    for method in catalogue() {
        let ((least, most), (quick_least, quick_most)) =
            (seconds(&method), seconds(&method.shortened()));
        let (least, most) = (least / 60.0, most / 60.0);
        let span = |least: f64, most: f64| match least == most {
            true => format!("{least}"),
            false => format!("{least} to {most}"),
        };
        let cells = format!(
            "| {} min | {} s |",
            span(least, most),
            span(quick_least, quick_most)
        );
        let row = page
            .lines()
            .find(|line| line.starts_with(&format!("| `{}`", method.name)));
        assert!(
            row.is_some_and(|row| row.ends_with(&cells)),
            "{}: {cells}",
            method.name
        );
    }
}

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
            "unknown key `until` in the stream",
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

proptest! {
    #[test]
    fn the_normal_form_of_any_streams_reads_back(mut jobs in proptest::collection::vec(any_job(), 1..4)) {
        let (errors, until) = (jobs[0].errors, jobs[0].until);
        jobs.retain(|job| !matches!(job.pattern, Pattern::Zones { .. }) && job.load.threads() <= 256);
        prop_assume!(!jobs.is_empty());
        let named = jobs.into_iter().enumerate().map(|(index, job)| Stream {
            name: format!("s{index}"),
            job: Job { until, ..job },
        });
        let whole = Job::of_streams(named.collect(), true, errors, until);
        prop_assert_eq!(whole.parts().count(), whole.load.threads() as usize);
        let json = serde_json::to_string(&whole).expect("serialises");
        prop_assert_eq!(Job::from_json(&json, "n.json"), Ok(whole));
    }
}
