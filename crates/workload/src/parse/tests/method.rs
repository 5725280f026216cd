use super::*;
use crate::{FileSystem, Geometry, KeyFigure, Metric, StepKind, Stillness, UntilSteady};

/// Each case: what is replaced in the method, by what, and the line and part of the message of the refusal.
pub(super) fn refuses_each(method: &str, cases: &[(&str, &str, u32, &str)]) {
    for &(line, replacement, at, expected) in cases {
        let text = method.replacen(line, replacement, 1);
        assert_ne!(text, method);
        let error = Method::from_toml(&text, "m.toml").expect_err("refused");
        assert_eq!(error.line, at, "{replacement}: {error}");
        assert!(error.message.contains(expected), "{replacement}: {error}");
    }
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
            "written is of a job that only writes",
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
            "written is of a job",
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
            "[quick]",
            "slice = \"1MiB\"\n[quick]",
            3,
            "expected 1GiB or more",
        ),
        (
            "name = \"measure\"",
            "name = \"measure\"\nsteady = {}",
            20,
            "belongs to a precondition",
        ),
        (
            "name = \"measure\"",
            "name = \"measure\"\nuntil_steady = { over = \"30s\" }",
            20,
            "one of `deviation` and `slope`",
        ),
        (
            "name = \"measure\"",
            "name = \"measure\"\nuntil_steady = { slope = \"1%\", over = \"30s\", every = \"500ms\" }",
            20,
            "not a whole number of seconds",
        ),
        (
            "name = \"measure\"",
            "name = \"measure\"\nuntil_steady = { slope = \"1%\", over = \"5s\", every = \"3s\" }",
            20,
            "fewer than two values",
        ),
        (
            "kind = \"fill\"",
            "kind = \"fill\"\nuntil_steady = { slope = \"1%\", over = \"30s\" }",
            10,
            "belongs to a measured step",
        ),
        (
            "steady = { round = \"30s\" }",
            "steady = { window = 1 }",
            15,
            "expected 2 rounds or more",
        ),
    ];
    refuses_each(METHOD, &cases);
}

#[test]
fn a_measured_step_ends_when_it_holds_still_and_sooner_in_a_quick_run() {
    let rule = "until_steady = { metric = \"mbps\", deviation = \"10%\", over = \"5min\", after = \"1min\", every = \"10s\" }";
    let text = METHOD.replace("name = \"measure\"", &format!("name = \"measure\"\n{rule}"));
    let method = Method::from_toml(&text, "m.toml").unwrap_or_else(|error| panic!("{error}"));
    let of = |method: &Method| {
        let steps = method.steps.iter();
        let found: Vec<_> = steps.filter_map(|step| step.until_steady).collect();
        found[0]
    };
    let second_ns = 1_000_000_000;
    assert_eq!(
        of(&method),
        UntilSteady {
            metric: Metric::Mbps,
            by: Stillness::Deviation,
            limit: 0.1,
            over_ns: 300 * second_ns,
            after_ns: 60 * second_ns,
            every_ns: 10 * second_ns,
        }
    );
    let quick = of(&method.shortened());
    assert_eq!(
        (quick.over_ns, quick.after_ns, quick.every_ns),
        (30 * second_ns, 6 * second_ns, 10 * second_ns)
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
fn a_method_declares_its_key_figure_and_a_misspelt_one_is_refused_with_those_there_are() {
    let plain = Method::from_toml(METHOD, "m.toml").unwrap();
    assert_eq!(plain.key_figure, None);
    for (word, figure) in KeyFigure::WORDS {
        let text = METHOD.replace("[quick]", &format!("key_figure = \"{word}\"\n[quick]"));
        let method = Method::from_toml(&text, "m.toml").unwrap();
        assert_eq!(method.key_figure, Some(figure));
        let normal = serde_json::to_string(&method).unwrap();
        assert_eq!(Method::from_json(&normal, "m.json").unwrap(), method);
    }
    refuses_each(
        METHOD,
        &[(
            "[quick]",
            "key_figure = \"curve\"\n[quick]",
            3,
            "key_figure is \"curve\", expected one of added-latency, amplification, cluster, consistency, curves, \
             depths, gpu-feed, mixes, overview, placement, recovery, replay, rounds, saturation, summary, verdict, \
             did you mean \"curves\"?",
        )],
    );
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

const TURNOVER: &str = r#"schema = "fathom-method/1"
name = "mine"
[[steps]]
name = "on"
precision = "1%"
turnover = "2%"
job = { mix = "write", block = "4KiB", pattern = "uniform", load = { iodepth = 1 }, until = { time = "1min" } }
"#;

#[test]
fn a_step_says_how_much_a_window_that_ends_early_writes() {
    let method = Method::from_toml(TURNOVER, "m.toml").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(method.steps[0].turnover, Some(0.02));
    let json = serde_json::to_string(&method).expect("serialises");
    assert_eq!(Method::from_json(&json, "m.json"), Ok(method));
}

#[test]
fn a_step_says_which_percentile_it_is_made_to_tell() {
    let text = TURNOVER.replace("turnover = \"2%\"", "percentile = \"99.999%\"");
    let method = Method::from_toml(&text, "m.toml").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(method.steps[0].percentile, Some(99.999 / 100.0));
    let json = serde_json::to_string(&method).expect("serialises");
    assert_eq!(Method::from_json(&json, "m.json"), Ok(method));
}

#[test]
fn a_percentile_is_refused_where_nothing_is_measured() {
    let text = TURNOVER.replace(
        "turnover = \"2%\"",
        "percentile = \"99.999%\"\nkind = \"idle\"",
    );
    let error = Method::from_toml(&text, "m.toml").expect_err("refused");
    let text = error.to_string();
    assert!(
        text.contains("`percentile` belongs to a measured step"),
        "{text}"
    );
}

#[test]
fn a_turnover_is_refused_where_no_measured_window_can_end_early() {
    let refused = |from: &str, to: &str, expected: &str| {
        let error = Method::from_toml(&TURNOVER.replace(from, to), "m.toml");
        let text = error.expect_err("refused").to_string();
        assert!(text.contains(expected), "{text}");
    };
    refused("precision = \"1%\"\n", "", "give `precision` too");
    refused("\"2%\"", "\"0%\"", "0% is not above 0% and below 100%");
    refused(
        "precision = \"1%\"",
        "precision = \"1%\"\nkind = \"idle\"",
        "m.toml:",
    );
}

const LEVELS: &str = r#"schema = "fathom-method/1"
name = "levels"
precision = "1%"
[[steps]]
name = "filled"
label = "4 KiB write"
fill = "1x"
settle = { time = "60min", round = "30s", written = "1x" }
job = { mix = "write", block = "4KiB", pattern = "uniform", load = { iodepth = 8 }, until = { time = "10min" } }
[[steps.sweep]]
key = "region"
values = ["50%", "100%"]
names = ["50", "100"]
labels = ["half", "all"]
"#;

#[test]
fn fill_and_settle_put_their_steps_before_each_step_of_a_sweep() {
    let method = Method::from_toml(LEVELS, "m.toml").unwrap_or_else(|error| panic!("{error}"));
    let names: Vec<_> = method.steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "fill-filled-50",
            "settle-filled-50",
            "filled-50",
            "fill-filled-100",
            "settle-filled-100",
            "filled-100"
        ]
    );
    let [fill, settle, filled] = &method.steps[..3] else {
        panic!("three steps a level");
    };
    assert_eq!(fill.job.until.region_multiple, Some(1.0));
    assert_eq!(fill.job.region, filled.job.region);
    assert_eq!(settle.label, "settling: 4 KiB write, half");
    assert_eq!(settle.workload, filled.workload);
    let steady = settle.steady.expect("a precondition");
    assert_eq!(
        (steady.round_ns, steady.window, steady.written),
        (30_000_000_000, 5, 1.0)
    );
    let mut same = settle.job.clone();
    assert_eq!(same.until.time_ns, Some(3_600_000_000_000));
    same.until = filled.job.until;
    assert_eq!(same, filled.job);
    assert!(method.steps.iter().all(|step| step.precision == Some(0.01)));
}

#[test]
fn fill_and_settle_that_make_no_sense_are_refused_at_their_line() {
    let cases = [
        (
            "label =",
            "kind = \"precondition\"\nlabel =",
            8,
            "belong to steps that are measured",
        ),
        ("time = \"60min\", ", "", 8, "settle lacks the key `time`"),
        (
            "round = \"30s\"",
            "rounds = \"30s\"",
            8,
            "did you mean `round`?",
        ),
        (
            "\"60min\"",
            "\"1min\"",
            8,
            "at least round x window = 150 s",
        ),
        ("mix = \"write\"", "mix = \"read\"", 8, "asks for writes"),
        (
            "\"all\"]",
            "\"all\", \"more\"]",
            14,
            "labels has 3 entries for 2 values",
        ),
    ];
    refuses_each(LEVELS, &cases);
}

const ON_TARGETS: &str = r#"
schema = "fathom-method/1"
name   = "two"

[[steps]]
name   = "reads"
target = "a"
fill   = "1x"
settle = { time = "10min" }
job    = { mix = "read", block = "4KiB", pattern = "uniform", load = {}, until = { time = "1s" } }

[[steps]]
name       = "writes"
targets    = ["a", "b"]
only_files = true
job        = { mix = "write", block = "4KiB", pattern = "uniform", load = {}, until = { time = "1s" } }
"#;

#[test]
fn what_goes_before_a_step_runs_on_the_step_s_targets_alone() {
    let method = Method::from_toml(ON_TARGETS, "m.toml").expect("parses");
    let on: Vec<_> = method
        .steps
        .iter()
        .map(|step| (step.name.as_str(), step.targets.join(" "), step.only_files))
        .collect();
    assert_eq!(
        on,
        [
            ("fill-reads", "a".into(), false),
            ("settle-reads", "a".into(), false),
            ("reads", "a".into(), false),
            ("writes", "a b".into(), true),
        ]
    );
    let json = serde_json::to_string(&method).expect("serialises");
    assert_eq!(Method::from_json(&json, "m.json"), Ok(method));
}

#[test]
fn targets_that_make_no_sense_are_refused_at_their_line() {
    for (from, to, line, what) in [
        ("\"a\"\nfill", "\"A b\"\nfill", 7, "is not of the form"),
        ("[\"a\", \"b\"]", "[]", 14, "a list with at least one entry"),
        (
            "targets    =",
            "target     = \"a\"\ntargets    =",
            15,
            "leave one out",
        ),
        (
            "only_files = true",
            "offered    = { of = \"reads\", share = \"50%\" }",
            15,
            "\"reads\" does not run on every target of this step",
        ),
    ] {
        let refused = Method::from_toml(&ON_TARGETS.replace(from, to), "m.toml");
        let error = refused.expect_err(to);
        assert_eq!(error.line, line, "{error}");
        assert!(error.message.contains(what), "{error}");
    }
}

const AFRESH: &str = r#"schema = "fathom-method/1"
name = "mixes"
[[steps]]
name = "mix"
fill = "1x"
afresh = true
overwrite = "2x"
settle = { time = "25min" }
[steps.job]
mix = { read = 90, write = 10 }
block = { read = "8KiB", write = "32KiB" }
pattern = { random = { read = "80%", write = "20%" } }
region = "25%"
load = { threads = 4, iodepth = 1 }
until = { time = "1min" }
"#;

#[test]
fn a_step_begins_afresh_and_its_own_writes_cover_its_region_before_it_settles() {
    let method = Method::from_toml(AFRESH, "m.toml").unwrap_or_else(|error| panic!("{error}"));
    let [fill, overwrite, settle, mix] = &method.steps[..] else {
        panic!("four steps: {:?}", method.steps);
    };
    assert_eq!((fill.name.as_str(), fill.afresh), ("fill-mix", true));
    assert!(![overwrite, settle, mix].iter().any(|step| step.afresh));
    assert_eq!(overwrite.name, "overwrite-mix");
    assert_eq!(overwrite.kind, StepKind::Fill);
    assert_eq!(overwrite.job.until.region_multiple, Some(2.0));
    let [writes] = &overwrite.job.mix.ops[..] else {
        panic!("one operation");
    };
    assert_eq!(
        writes.sizes,
        mix.job.mix.ops.last().expect("writes").sizes,
        "the writes of the mix"
    );
    assert_eq!(overwrite.job.pattern, mix.job.pattern);
    assert_eq!(overwrite.job.region, mix.job.region);
    let json = serde_json::to_string(&method).expect("serialises");
    assert_eq!(Method::from_json(&json, "m.json"), Ok(method));
}

#[test]
fn only_a_fill_begins_afresh() {
    let cases = [
        ("fill = \"1x\"\n", "", 5, "`afresh` belongs to a fill step"),
        ("afresh = true", "afresh = 1", 6, "true or false"),
    ];
    refuses_each(AFRESH, &cases);
}

#[test]
fn only_a_measured_step_outside_rounds_runs_on_a_copy() {
    let own = AFRESH.replace("afresh = true", "on_copy = true");
    let method = Method::from_toml(&own, "m.toml").unwrap_or_else(|error| panic!("{error}"));
    let copies = method.steps.iter().filter(|step| step.on_copy);
    let names: Vec<_> = copies.map(|step| step.name.as_str()).collect();
    assert_eq!(names, ["mix"]);
    let json = serde_json::to_string(&method).expect("serialises");
    assert_eq!(Method::from_json(&json, "m.json").as_ref(), Ok(&method));
    let curve = "on_copy = true\nkind = \"curve\"\ncurve = { time = \"1s\" }";
    refuses_each(
        &own,
        &[
            ("on_copy = true", "on_copy = 1", 6, "true or false"),
            ("on_copy = true", curve, 6, "outside rounds"),
        ],
    );
}

const CONTINUES: &str = r#"schema = "fathom-method/1"
name = "log"
[[steps]]
name = "log"
settle = { time = "25min" }
continues = true
[steps.job]
mix = "write"
block = "128KiB"
pattern = "sequential"
load = { threads = 2, iodepth = 4 }
until = { time = "1min" }
"#;

#[test]
fn a_measured_step_continues_the_settling_of_its_own_job() {
    let method = Method::from_toml(CONTINUES, "m.toml").unwrap_or_else(|error| panic!("{error}"));
    let continues: Vec<_> = method.steps.iter().map(|step| step.continues).collect();
    assert_eq!(continues, [false, true]);
    let json = serde_json::to_string(&method).expect("serialises");
    assert_eq!(Method::from_json(&json, "m.json"), Ok(method));
}

#[test]
fn a_step_cannot_continue_another_job_or_one_whose_positions_are_unknown() {
    let refused = [
        ("settle = { time = \"25min\" }\n", "", 5, "another job"),
        ("\"sequential\"", "\"random-once\"", 6, "ended is known of"),
        (
            "\"sequential\"",
            "\"sequential\"\nposition = \"shared\"",
            6,
            "ended is known of",
        ),
        (
            "continues = true",
            "continues = true\nkind = \"curve\"\ncurve = { time = \"1s\" }",
            6,
            "belongs to a measured step",
        ),
    ];
    refuses_each(CONTINUES, &refused);
}

#[test]
fn a_shortened_method_may_simulate_a_smaller_slice() {
    let text = AFRESH.replace(
        "name = \"mixes\"",
        "name = \"mixes\"\nquick = { divide_times_by = 2, slice = \"4GB\" }",
    );
    let method = Method::from_toml(&text, "m.toml").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(method.slice_bytes, None);
    assert_eq!(method.shortened().slice_bytes, Some(4_000_000_000));
}

/// A method of one step, or of rounds, whose sweeps and rounds are `lines`.
fn written_out(lines: &str) -> String {
    let job = "job = { mix = \"read\", block = \"4KiB\", pattern = \"uniform\", load = {}, until = { time = \"1s\" } }";
    format!(
        "schema = \"fathom-method/1\"\nname = \"m\"\n[[steps]]\n{}",
        lines.replace("JOB", job)
    )
}

#[test]
fn more_steps_than_a_method_may_have_are_refused_before_they_are_written_out() {
    let numbers = |most: u32| -> String { (1..=most).map(|one| format!("{one}, ")).collect() };
    let sweep = format!(
        "name = \"a\"\nJOB\nsweep = [{{ key = \"load.threads\", values = [{}] }}, {{ key = \"load.iodepth\", values = [{}] }}]",
        numbers(5000),
        numbers(400)
    );
    let rounds = format!(
        "name = \"r\"\nkind = \"rounds\"\nrounds = {{ most = 1000, track = [\"x\"] }}\nsteps = [{{ name = \"x\", JOB }}, {{ name = \"a\", JOB, sweep = [{{ key = \"load.threads\", values = [{}] }}] }}]",
        numbers(4000)
    );
    for lines in [sweep, rounds] {
        let begin = std::time::Instant::now();
        let error = Method::from_toml(&written_out(&lines), "m.toml").expect_err("refused");
        assert!(
            error.to_string().contains("more than 5000 steps"),
            "{error}"
        );
        assert!(begin.elapsed().as_secs() < 20, "{:?}", begin.elapsed());
    }
}

#[test]
fn an_overwrite_before_streams_is_refused_by_its_name() {
    let lines = "name = \"a\"\noverwrite = \"1x\"\njob = { until = { time = \"1s\" }, streams = [{ name = \"s\", mix = \"write\", block = \"4KiB\", pattern = \"uniform\", load = {} }] }";
    let error = Method::from_toml(&written_out(lines), "m.toml").expect_err("refused");
    let message = error.to_string();
    assert!(
        message.starts_with("m.toml:5: `overwrite` is of one workload"),
        "{message}"
    );
}
