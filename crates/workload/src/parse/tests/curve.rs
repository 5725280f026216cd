use super::method::refuses_each;
use super::*;
use crate::{Arrival, Curve, Latency, LatencyLimit, Slo};

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
            limit: LatencyLimit::P99(1_000_000),
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
fn vdbenchs_latency_is_asked_for_by_either_name() {
    let method = |text: &str| Method::from_toml(text, "m.toml").unwrap_or_else(|e| panic!("{e}"));
    let named = CURVE.replace("latency = \"service\"", "response = \"service\"");
    assert_ne!(named, CURVE);
    assert_eq!(method(&named), method(CURVE));
}

#[test]
fn an_objective_limits_any_percentile_that_is_recorded_and_keeps_its_name_in_the_normal_form() {
    for (key, limit) in [
        ("p50", LatencyLimit::P50(1_000_000)),
        ("p95", LatencyLimit::P95(1_000_000)),
        ("p99", LatencyLimit::P99(1_000_000)),
        ("p999", LatencyLimit::P999(1_000_000)),
        ("p9999", LatencyLimit::P9999(1_000_000)),
    ] {
        let text = CURVE.replace("p99 =", &format!("{key} ="));
        let method = Method::from_toml(&text, "m.toml").unwrap_or_else(|error| panic!("{error}"));
        let slo = method.steps[0].curve.as_ref().and_then(|curve| curve.slo);
        assert_eq!(slo, Some(Slo { limit, steps: 5 }));
        let normal = serde_json::to_string(&slo).unwrap_or_default();
        assert_eq!(normal, format!("{{\"{key}_ns\":1000000,\"steps\":5}}"));
    }
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
        (
            "latency = \"service\"",
            "latency = \"service\"\nresponse = \"service\"",
            14,
            "another name of `latency`",
        ),
        ("\"service\"", "\"clat\"", 13, "did you mean \"service\"?"),
        (
            "latency = \"service\"",
            "latency = \"service\"\narrival = \"recorded\"",
            14,
            "not shares of a maximum",
        ),
        ("\"1ms\"", "\"0s\"", 14, "p99 is 0"),
        (
            "\"1ms\"",
            "\"1ms\", steps = 0",
            14,
            "steps is 0, expected 1 to 20",
        ),
        ("p99 = \"1ms\"", "steps = 2", 14, "needs one of `p50`"),
        (
            "\"1ms\"",
            "\"1ms\", p999 = \"2ms\"",
            14,
            "needs one of `p50`",
        ),
    ];
    refuses_each(CURVE, &cases);
    let text = CURVE.split("[steps.curve]").next().unwrap_or_default();
    let error = Method::from_toml(text, "m.toml").expect_err("refused");
    assert_eq!(
        (error.line, error.message.contains("needs `curve`")),
        (8, true)
    );
}
