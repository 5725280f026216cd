//! The grammar and the checks, from text to refusal.

mod catalogue;
mod curve;
mod files;
mod job;
mod method;
mod offered;
mod properties;
mod refusals;
mod streams;

use super::*;

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
