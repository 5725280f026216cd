use super::*;
use crate::{
    Arrival, Block, BlockShare, Content, Errors, Extent, HotBand, Load, Mix, Op,
    OperationPositions, Pace, Pattern, Position, RatePhase, Region, ThreadPositions, Until,
    ZoneReset,
};

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
                align_bytes: None,
            }],
        },
        flush_every: 0,
        pattern: Pattern::Uniform,
        region: Region {
            start: Extent::Bytes(0),
            size: Extent::Fraction(1.0),
            part: None,
        },
        position: Position::default(),
        align_bytes: None,
        content: Content::default(),
        placement: vec![],
        direct: true,
        sync: crate::Sync::None,
        priority: None,
        priority_shares: Vec::new(),
        sqpoll: false,
        huge_pages: false,
        gpu: false,
        exitall: false,
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
        files: None,
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
sync = "all"
priority = { class = "best-effort", level = 3 }
sqpoll = true
load = { rate = "400k/s", arrival = "uniform", threads = 4, iodepth = 256 }
until = { time = "1h30min", bytes = "10GiB", count = 1000000 }
"#);
    assert_eq!(job.sync, crate::Sync::All);
    assert_eq!(job.priority.map(crate::Priority::value), Some(2 << 13 | 3));
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
            size: Extent::Fraction(0.5),
            part: None,
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
    assert_eq!(
        pattern("{ strips = { size = \"1MiB\", gap = \"2MiB\" } }"),
        Pattern::Strips {
            strip_bytes: 1 << 20,
            gap_bytes: 2 << 20
        }
    );
    assert_eq!(
        pattern("{ blocks = { order = [2, 0, 1], moves = true } }"),
        Pattern::Blocks {
            order: vec![2, 0, 1],
            moves: true
        }
    );
    assert_eq!(
        pattern("{ zones = \"in-order\" }"),
        Pattern::Zones {
            open: 1,
            in_order: true,
            once: false,
            empties: false,
            ends: false,
            reset: None
        }
    );
    assert_eq!(
        pattern("{ zones = \"most\" }"),
        Pattern::Zones {
            open: 0,
            in_order: false,
            once: false,
            empties: false,
            ends: false,
            reset: None
        }
    );
    let one_thread = JOB.replace("threads = 8", "threads = 1");
    let resets = "{ zones = { open = 2, reset = { above = \"70%\", every = 8 } } }";
    let resets = Job::from_toml(&one_thread.replace("\"uniform\"", resets), "job.toml").unwrap();
    assert_eq!(
        resets.pattern,
        Pattern::Zones {
            open: 2,
            in_order: false,
            once: false,
            empties: false,
            ends: false,
            reset: Some(ZoneReset {
                above: 0.7,
                every: 8
            })
        }
    );
    assert_eq!(
        Job::from_json(&serde_json::to_string(&resets).unwrap(), "again").unwrap(),
        resets
    );
    let aligned = with("\"uniform\"", "\"uniform\"\nalign = { read = \"8KiB\" }");
    let read = &aligned.mix.ops[0];
    assert_eq!((read.op, read.align_bytes), (Op::Read, Some(8192)));
    let load = "load = { threads = 8, iodepth = 32 }";
    let batches = with(load, "load = { iodepth = 32, reap = 8 }\nhuge_pages = true");
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
            refusal(
                "\"uniform\"",
                "{ strips = { size = \"2KiB\", gap = \"0B\" } }",
            ),
            "job.toml:3: size is 2048 bytes, expected a block",
        ),
        (
            refusal("\"uniform\"", "{ zones = \"backwards\" }"),
            "expected one of most, in-order",
        ),
        (
            refusal("\"uniform\"", "{ zones = 0 }"),
            "zones is 0, expected 1 or more, or \"most\"",
        ),
        (
            refusal(
                "\"uniform\"",
                "{ zones = { open = 2, reset = { above = \"70%\", every = 8 } } }",
            ),
            "zones have choice and reset for one thread, and without append",
        ),
        (
            refusal("\"uniform\"", "{ zones = { open = 2, begin = \"empty\" } }"),
            "a job that only reads leaves its zones as they are",
        ),
        (
            refusal("\"uniform\"", "{ zipf = 0.9 }\nalign = { read = \"8KiB\" }"),
            "operations have alignments of their own in pattern \"uniform\"",
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
fn flushes_after_writes_need_writes_and_no_flush_in_the_mix() {
    let job = |mix: &str| {
        let text = format!(
            "mix = {mix}\nblock = \"4KiB\"\npattern = \"uniform\"\nflush_every = 8\nload = {{}}\nuntil = {{ time = \"1s\" }}"
        );
        Job::from_toml(&text, "j.toml")
    };
    assert_eq!(job("\"write\"").expect("parses").flush_every, 8);
    for (mix, what) in [
        ("\"read\"", "counts writes"),
        ("{ write = 9, flush = 1 }", "in the mix already"),
    ] {
        let error = job(mix).expect_err(mix);
        assert_eq!(error.line, 4);
        assert!(error.message.contains(what), "{error}");
    }
}

#[test]
fn a_position_is_a_word_for_the_threads_or_a_table_for_threads_and_operations() {
    let of = |pattern: &str, text: &str| {
        let pattern = format!("pattern = {pattern}\nposition = {text}");
        job(&JOB.replace("pattern = \"uniform\"", &pattern)).position
    };
    let sequential = |text: &str| of("\"sequential\"", text);
    let position = |threads, operations| Position {
        threads,
        operations,
        ahead_bytes: 0,
    };
    assert!(sequential("\"part\"").is_default());
    assert_eq!(
        sequential("\"shared\""),
        position(ThreadPositions::Shared, None)
    );
    assert_eq!(
        of("\"backwards\"", "\"start\""),
        position(ThreadPositions::Start, None)
    );
    assert_eq!(
        sequential("{ threads = \"start\", operations = \"apart\" }"),
        position(ThreadPositions::Start, Some(OperationPositions::Apart))
    );
    assert_eq!(
        of(
            "{ random = \"80%\" }",
            "{ threads = \"shared\", operations = \"together\" }"
        ),
        position(ThreadPositions::Shared, Some(OperationPositions::Together))
    );
}

#[test]
fn a_position_that_a_pattern_cannot_have_is_refused() {
    for (pattern, position, said) in [
        (
            "\"uniform\"",
            "\"shared\"",
            "job.toml:4: position is of patterns that go through",
        ),
        (
            "\"random-once\"",
            "\"start\"",
            "job.toml:4: position is of patterns that go through",
        ),
        (
            "\"backwards\"",
            "\"shared\"",
            "job.toml:4: a position is shared by the threads of",
        ),
        (
            "{ stride = \"1MiB\" }",
            "{ operations = \"apart\" }",
            "job.toml:4: operations have positions of their own in",
        ),
        (
            "\"sequential\"",
            "\"common\"",
            "expected one of part, start, shared",
        ),
        ("\"sequential\"", "{ thread = \"start\" }", "see `threads`"),
    ] {
        let lines = format!("pattern = {pattern}\nposition = {position}");
        let message = refusal("pattern = \"uniform\"", &lines);
        assert!(message.contains(said), "{message}");
    }
}
