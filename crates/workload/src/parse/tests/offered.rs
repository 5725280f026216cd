//! Load at a share of what an earlier step achieved.

use super::super::*;
use crate::{Arrival, Offered};

const BESIDE: &str = r#"schema = "fathom-method/1"
name = "beside"
[[steps]]
name = "writes"
job = { mix = "write", block = "4KiB", pattern = "uniform", load = { iodepth = 128 }, until = { time = "1min" } }

[[steps]]
name = "reads-beside"
offered = { of = "writes", stream = "writes" }
sweep = [{ key = "offered.share", values = ["25%", "50%"] }]
[steps.job]
until = { time = "1min" }
streams = [
  { name = "reads", mix = "read", block = "4KiB", pattern = "uniform", load = { iodepth = 4 } },
  { name = "writes", mix = "write", block = "4KiB", pattern = "uniform", load = { iodepth = 128 } },
]
"#;

fn refused(from: &str, to: &str) -> String {
    let text = BESIDE.replace(from, to);
    assert_ne!(text, BESIDE);
    let error = Method::from_toml(&text, "m.toml").expect_err("refused");
    error.to_string()
}

#[test]
fn a_stream_is_offered_shares_of_an_earlier_steps_rate() {
    let method = Method::from_toml(BESIDE, "m.toml").unwrap_or_else(|error| panic!("{error}"));
    let offered = |share| Offered {
        of: "writes".to_owned(),
        share,
        stream: Some("writes".to_owned()),
        arrival: Arrival::Exponential,
    };
    let found: Vec<_> = method.steps.iter().map(|step| &step.offered).collect();
    assert_eq!(found, [&None, &Some(offered(0.25)), &Some(offered(0.5))]);
    assert_eq!(method.steps[2].name, "reads-beside-50pct");
    let json = serde_json::to_string(&method).expect("serialises");
    assert_eq!(Method::from_json(&json, "m.json"), Ok(method));
}

#[test]
fn a_rate_is_a_share_of_a_measured_step_that_comes_before() {
    for (from, to) in [
        ("of = \"writes\"", "of = \"reads\""),
        ("of = \"writes\"", "of = \"reads-beside-25pct\""),
        (
            "name = \"writes\"\njob",
            "name = \"writes\"\nkind = \"precondition\"\nsteady = { round = \"10s\" }\njob",
        ),
    ] {
        let text = refused(from, to);
        assert!(text.contains("no measured step before this one"), "{text}");
        assert!(text.starts_with("m.toml:"), "{text}");
    }
}

#[test]
fn a_share_is_of_one_stream_in_closed_loop() {
    let unknown = refused("stream = \"writes\"", "stream = \"trims\"");
    assert!(unknown.contains("reads, writes"), "{unknown}");
    let unnamed = refused(", stream = \"writes\" }", " }");
    assert!(unnamed.contains("reads, writes"), "{unnamed}");
    let open = refused(
        "load = { iodepth = 128 } },\n]",
        "load = { iodepth = 128, rate = \"100/s\" } },\n]",
    );
    assert!(open.contains("leave rate and think out"), "{open}");
    let none = refused("\"50%\"]", "\"0%\"]");
    assert!(none.contains("above 0%"), "{none}");
    let filling = refused("offered = {", "kind = \"precondition\"\noffered = {");
    assert!(filling.contains("m.toml:"), "{filling}");
}
