use super::*;

#[test]
fn a_misspelt_key_is_refused_with_its_line_and_the_nearest_key() {
    let message = refusal("iodepth = 32", "iodpeth = 32");
    assert_eq!(
        message,
        "job.toml:4: unknown key `iodpeth` in load, did you mean `iodepth`?"
    );
}

#[test]
fn a_date_without_quotes_is_no_text() {
    assert_eq!(
        refusal("\"uniform\"", "2026-11-30"),
        "job.toml:3: 2026-11-30 is a date, expected text in quotes or a number"
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
fn every_option_that_a_fio_job_has_as_a_rule_is_led_to_its_key() {
    for (option, place) in [
        ("rw = \"randread\"", "see `mix`"),
        ("rwmixread = 70", "see `mix`"),
        ("bs = \"4k\"", "see `block`"),
        ("size = \"1g\"", "see `region.size`"),
        ("offset = 0", "see `region.start`"),
        ("numjobs = 4", "see `load.threads`"),
        ("iodepth = 32", "see `load.iodepth`"),
        ("rate_iops = 1000", "see `load.rate`"),
        ("rate_process = \"poisson\"", "see `load.arrival`"),
        ("thinktime = 100", "see `load.think`"),
        ("runtime = 60", "see `until.time`"),
        ("time_based = 1", "see `until.time`"),
        ("io_size = \"1g\"", "see `until.bytes`"),
        ("number_ios = 10", "see `until.count`"),
        ("norandommap = 1", "see `pattern`"),
        ("iomem = \"mmaphuge\"", "see `huge_pages`"),
        ("cuda_io = \"posix\"", "see `gpu`"),
        ("buffered = 1", "see `direct`"),
        ("ioengine = \"libaio\"", "the target says how I/O is issued"),
        ("filename = \"/dev/nvme0n1\"", "named on the command line"),
        ("group_reporting = 1", "leave it out"),
        (
            "ramp_time = 5",
            "put a step of kind \"precondition\" before",
        ),
    ] {
        let message = refusal("until", &format!("{option}\nuntil"));
        assert!(message.contains(place), "{message}");
    }
    let inside = refusal("iodepth = 32", "numjobs = 4");
    assert!(
        inside.ends_with("unknown key `numjobs` in load: see `threads`"),
        "{inside}"
    );
}

#[test]
fn a_key_with_a_dash_for_its_underscore_or_the_other_way_is_told_as_it_is_written() {
    for (written, meant) in [
        ("huge-pages = true", "did you mean `huge_pages`?"),
        ("Huge_Pages = true", "did you mean `huge_pages`?"),
    ] {
        let message = refusal("until", &format!("{written}\nuntil"));
        assert!(message.ends_with(meant), "{message}");
    }
    for (written, meant) in [
        ("\"random_once\"", "did you mean \"random-once\"?"),
        (
            "{ hot_spots = [{ area = 10, access = 90 }] }",
            "did you mean `hot-spots`?",
        ),
    ] {
        let message = refusal("\"uniform\"", written);
        assert!(message.ends_with(meant), "{message}");
    }
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
            r#"{ read = 1e308, write = 1e308 }"#,
            1,
            "the weight of read is 1e308, expected up to 1e12",
        ),
        (
            "iodepth = 32",
            "iodepth = -1",
            4,
            "iodepth is -1, expected a whole number, 0 or more",
        ),
        (
            "iodepth = 32",
            "iodepth = 32.0",
            4,
            "iodepth is 32.0, expected a whole number",
        ),
        (
            "iodepth = 32",
            "iodepth = 99999999999",
            4,
            "iodepth is 99999999999, expected a smaller whole number",
        ),
        (
            r#""read""#,
            r#""verify""#,
            1,
            "expected one of read, write, trim, flush, write-zeroes, append, create, open, stat, rename, delete, mkdir, rmdir, stat-directory, allocate",
        ),
        (r#""read""#, "7", 1, "mix is 7, expected an operation"),
        (r#"block = "4KiB""#, "", 1, "the job lacks the key `block`"),
        (
            r#""4KiB""#,
            r#""4Kb""#,
            2,
            "block: `4Kb`: unknown unit `Kb`",
        ),
        (r#""4KiB""#, r#""5GiB""#, 2, "expected up to 1GiB"),
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
            r#"{ 4k = 50, 64k = 50 }"#,
            2,
            "block has the size `4k` as a key, expected a list of sizes with shares: [{ size = \"4k\", share = 50 }, ...]",
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
            "threads is -1, expected a whole number",
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
            r#""60s""#,
            r#""1ns""#,
            5,
            "time is 1 ns, expected 1ms or more",
        ),
        (
            r#"time = "60s""#,
            "",
            5,
            "until needs at least one of time, bytes, written, volume, count",
        ),
        (
            r#"time = "60s""#,
            r#"written = "2x""#,
            5,
            "volume is the same of any mix",
        ),
        (
            r#"time = "60s""#,
            r#"written = "2x", volume = "1x""#,
            5,
            "leave one of the two out",
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
            "content = { pattern = \"0xabc\" }\nuntil",
            5,
            "expected 0x and 1 to 64 bytes",
        ),
        (
            "until",
            "content = { pattern = \"0xab\", dedup = \"10%\" }\nuntil",
            5,
            "a pattern is all that a block holds",
        ),
        (
            "until",
            "priority = { class = \"best-effort\", level = 8 }\nuntil",
            5,
            "level is 8, expected 0, which goes first, to 7",
        ),
        (
            "until",
            "priority = { class = \"idle\", level = 1 }\nuntil",
            5,
            "the class idle has no levels",
        ),
        (
            "until",
            "priority_shares = [{ share = \"60%\", class = \"idle\" }, { share = \"50%\", class = \"realtime\" }]\nuntil",
            5,
            "come to more than 100%",
        ),
        (
            "until",
            "priority_shares = [{ share = \"60%\", class = \"idle\", block = \"12KiB\" }]\nuntil",
            5,
            "that the job does not issue",
        ),
        (
            "until",
            "priority_shares = [{ share = \"60%\", class = \"realtime\", duration_limit = 8 }]\nuntil",
            5,
            "duration_limit is 8",
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

#[test]
fn keys_and_values_of_a_document_end_no_line_and_move_no_cursor() {
    for (line, replacement) in [
        ("until", "\"a\\nb\\u001b[31m\" = 1\nuntil"),
        ("\"4KiB\"", "\"4KiB\\nx\\u001b[31m\""),
        ("\"60s\"", "\"6\\n0s\\u001b[1m\""),
    ] {
        let message = refusal(line, replacement);
        assert!(!message.contains(char::is_control), "{message:?}");
        assert!(message.contains("\\u{1b}["), "{message:?}");
    }
}

#[test]
fn a_long_value_leaves_room_for_what_was_expected() {
    let message = refusal("\"4KiB\"", &format!("{:?}", "x".repeat(100_000)));
    assert!(message.len() < 1000, "{}", message.len());
    assert!(
        message.contains("expected a size such as 4KiB"),
        "{message}"
    );
}

#[test]
fn a_multiple_of_nothing_is_called_so_whichever_key_gives_it() {
    for end in ["volume = \"0x\"", "written = \"0x\""] {
        let text = JOB
            .replace("time = \"60s\"", end)
            .replace("\"read\"", "\"write\"");
        let error = Job::from_toml(&text, "job.toml").expect_err("refused");
        let message = error.to_string();
        assert!(
            message.contains("the multiple of the region is 0"),
            "{message}"
        );
    }
}

#[test]
fn a_key_that_json_gives_twice_is_found_among_many() {
    let keys: String = (0..50_000).map(|key| format!("\"k{key}\": 1, ")).collect();
    let begin = std::time::Instant::now();
    let error = Job::from_json(&format!("{{{keys}\"k7\": 2}}"), "job.json").expect_err("refused");
    assert!(
        error.to_string().contains("key `k7` is given twice"),
        "{error}"
    );
    assert!(begin.elapsed().as_secs() < 5, "{:?}", begin.elapsed());
}
