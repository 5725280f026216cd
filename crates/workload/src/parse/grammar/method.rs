//! A method: its steps, what each is for, and how it may be shortened.

use super::job::job;
use super::load::arrival_of;
use crate::parse::check;
use crate::parse::fields::Fields;
use crate::parse::refusal::Result;
use crate::parse::tree::Node;
use crate::units::{
    parse_duration_ns, parse_multiple, parse_percent, parse_share, parse_size_bytes,
};
use crate::{
    Arrival, Curve, FileSystem, KeyFigure, Latency, LatencyLimit, Method, Metric, Offered, Quick,
    Round, Slo, Steady, Step, StepKind, Stillness, UntilSteady,
};

const METHOD_KEYS: [&str; 12] = [
    "schema",
    "name",
    "title",
    "summary",
    "source",
    "key_figure",
    "bench",
    "precision",
    "file_system",
    "slice",
    "quick",
    "steps",
];
const STEP_KEYS: [&str; 21] = [
    "name",
    "kind",
    "target",
    "targets",
    "only_files",
    "workload",
    "label",
    "published",
    "bench",
    "precision",
    "turnover",
    "percentile",
    "offered",
    "afresh",
    "on_copy",
    "continues",
    "steady",
    "until_steady",
    "curve",
    "round",
    "job",
];
const FILE_SYSTEMS: [(&str, FileSystem); 3] = [
    ("btrfs", FileSystem::Btrfs),
    ("xfs", FileSystem::Xfs),
    ("ext4", FileSystem::Ext4),
];
const LATENCIES: [(&str, Latency); 2] = [
    ("service", Latency::Service),
    ("response", Latency::Response),
];
const FOREIGN_LATENCIES: [(&str, &str); 3] = [
    ("clat", "service"),
    ("lat", "response"),
    ("vdbench", "service"),
];
/// Points of a curve that lists none.
const POINTS: [f64; 12] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2];

/// A sixty-four-thousandth, the smallest slice that a twin takes, of the largest drives.
const LEAST_SLICE_BYTES: u64 = 1 << 30;

pub fn method(node: &Node) -> Result<Method> {
    let fields = Fields::new(node, "the method", &METHOD_KEYS)?;
    let name = fields.text("name")?;
    let (bench, precision) = (bench(&fields)?, precision(&fields)?);
    let step = |node: &Node| {
        let step = step(node)?;
        Ok(Step {
            bench: step.bench.or_else(|| bench.clone()),
            precision: step.precision.or(precision),
            ..step
        })
    };
    Ok(Method {
        schema: fields.text("schema")?,
        title: fields.text_or("title", &name)?,
        summary: fields.text_or("summary", "")?,
        source: fields.text_or("source", "")?,
        key_figure: fields
            .get("key_figure")
            .map(|node| node.word("key_figure", &KeyFigure::WORDS, &[]))
            .transpose()?,
        file_system: fields
            .get("file_system")
            .map(|node| node.word("file_system", &FILE_SYSTEMS, &[]))
            .transpose()?,
        slice_bytes: slice(&fields)?,
        quick: fields.get("quick").map(quick).transpose()?,
        steps: fields
            .need("steps")?
            .list("steps")?
            .iter()
            .map(step)
            .collect::<Result<_>>()?,
        name,
    })
}

fn slice(fields: &Fields<'_>) -> Result<Option<u64>> {
    fields.parsed("slice", |text| match parse_size_bytes(text)? {
        bytes if bytes >= LEAST_SLICE_BYTES => Ok(bytes),
        _ => Err(
            "expected 1GiB or more: a smaller part of a drive has too few blocks to behave like it"
                .into(),
        ),
    })
}

fn bench(fields: &Fields<'_>) -> Result<Option<String>> {
    fields.parsed("bench", check::parse_name)
}

fn precision(fields: &Fields<'_>) -> Result<Option<f64>> {
    share(fields, "precision")
}

/// A share of a whole, neither none of it nor all.
fn share(fields: &Fields<'_>, key: &str) -> Result<Option<f64>> {
    fields.parsed(key, |text| match parse_percent(text)? {
        share if share > 0.0 && share < 1.0 => Ok(share),
        _ => Err(format!("{text} is not above 0% and below 100%")),
    })
}

fn quick(node: &Node) -> Result<Quick> {
    let keys = [
        "divide_times_by",
        "divide_preconditioning_by",
        "divide_volumes_by",
        "slice",
    ];
    let fields = Fields::new(node, "quick", &keys)?;
    let factor = |key: &str| fields.get(key).map(|node| node.number(key)).transpose();
    let divide_times_by = fields.need(keys[0])?.number(keys[0])?;
    Ok(Quick {
        divide_times_by,
        divide_preconditioning_by: factor(keys[1])?.unwrap_or(divide_times_by),
        divide_volumes_by: factor(keys[2])?.unwrap_or(1.0),
        slice_bytes: slice(&fields)?,
    })
}

fn step(node: &Node) -> Result<Step> {
    let fields = Fields::new(node, "the step", &STEP_KEYS)?;
    let kinds = [
        ("fill", StepKind::Fill),
        ("purge", StepKind::Purge),
        ("idle", StepKind::Idle),
        ("precondition", StepKind::Precondition),
        ("measure", StepKind::Measure),
        ("curve", StepKind::Curve),
    ];
    let name = fields.text("name")?;
    let workload = fields.text_or("workload", &name)?;
    Ok(Step {
        kind: match fields.get("kind") {
            Some(node) => node.word("kind", &kinds, &[])?,
            None => StepKind::Measure,
        },
        targets: targets(&fields)?,
        only_files: flag(&fields, "only_files")?,
        label: fields.text_or("label", &workload)?,
        published: fields
            .get("published")
            .map(|node| node.text("published").map(str::to_owned))
            .transpose()?,
        bench: bench(&fields)?,
        precision: precision(&fields)?,
        turnover: share(&fields, "turnover")?,
        percentile: share(&fields, "percentile")?,
        offered: fields.get("offered").map(offered).transpose()?,
        afresh: flag(&fields, "afresh")?,
        on_copy: flag(&fields, "on_copy")?,
        continues: flag(&fields, "continues")?,
        steady: fields.get("steady").map(steady).transpose()?,
        until_steady: fields.get("until_steady").map(until_steady).transpose()?,
        curve: fields.get("curve").map(curve).transpose()?,
        round: fields.get("round").map(round).transpose()?,
        job: job(fields.need("job")?)?,
        workload,
        name,
    })
}

/// Returns a flag; false where it is left out.
fn flag(fields: &Fields<'_>, key: &str) -> Result<bool> {
    fields.get(key).map_or(Ok(false), |node| node.flag(key))
}

/// `target` is one name, `targets` a list of them.
fn targets(fields: &Fields<'_>) -> Result<Vec<String>> {
    match (fields.get("target"), fields.get("targets")) {
        (Some(_), Some(twice)) => {
            Err(twice.fault("`target` and `targets` say the same: leave one out".to_owned()))
        }
        (Some(one), None) => Ok(vec![one.parsed("target", check::parse_name)?]),
        (None, Some(list)) => list
            .list("targets")?
            .iter()
            .map(|one| one.parsed("targets", check::parse_name))
            .collect(),
        (None, None) => Ok(Vec::new()),
    }
}

fn offered(node: &Node) -> Result<Offered> {
    let fields = Fields::new(node, "offered", &["of", "share", "stream", "arrival"])?;
    Ok(Offered {
        of: fields.text("of")?,
        share: fields.need("share")?.parsed("share", parse_share)?,
        stream: fields
            .get("stream")
            .map(|node| node.text("stream").map(str::to_owned))
            .transpose()?,
        arrival: arrival(&fields)?,
    })
}

/// Returns how an open load arrives: exponential where the method does not say. Recorded arrivals have a rate of their
/// own.
fn arrival(fields: &Fields<'_>) -> Result<Arrival> {
    let Some(node) = fields.get("arrival") else {
        return Ok(Arrival::Exponential);
    };
    match arrival_of(node)? {
        Arrival::Recorded => Err(node.fault(
            "recorded arrivals have the rates of a trace, not shares of a maximum: use \"exponential\", \"uniform\" or \"deterministic\""
                .to_owned(),
        )),
        given => Ok(given),
    }
}

/// Defaults are those of SNIA SSS PTS 2.0.
fn steady(node: &Node) -> Result<Steady> {
    let fields = Fields::new(
        node,
        "steady",
        &["round", "window", "range", "slope", "written"],
    )?;
    Ok(Steady {
        round_ns: fields
            .parsed("round", parse_duration_ns)?
            .unwrap_or(60_000_000_000),
        window: fields.integer_or("window", 5)?,
        range: fields.parsed("range", parse_percent)?.unwrap_or(0.20),
        slope: fields.parsed("slope", parse_percent)?.unwrap_or(0.10),
        written: fields.parsed("written", parse_multiple)?.unwrap_or(0.0),
    })
}

/// Defaults are those of fio's `steadystate`, whose window has to be given.
fn until_steady(node: &Node) -> Result<UntilSteady> {
    let keys = ["metric", "deviation", "slope", "over", "after", "every"];
    let fields = Fields::new(node, "until_steady", &keys)?;
    let limit = |key| share(&fields, key);
    let (by, limit) = match (limit("deviation")?, limit("slope")?) {
        (Some(limit), None) => (Stillness::Deviation, limit),
        (None, Some(limit)) => (Stillness::Slope, limit),
        _ => {
            return Err(node.fault(
                "until_steady needs one of `deviation` and `slope`, such as deviation = \"10%\""
                    .to_owned(),
            ));
        }
    };
    let over = fields.need("over")?;
    Ok(UntilSteady {
        metric: metric(&fields)?,
        by,
        limit,
        over_ns: over.parsed("over", parse_duration_ns)?,
        after_ns: fields.parsed("after", parse_duration_ns)?.unwrap_or(0),
        every_ns: fields
            .parsed("every", parse_duration_ns)?
            .unwrap_or(1_000_000_000),
    })
}

/// What of a step is compared; IOPS by default.
fn metric(fields: &Fields<'_>) -> Result<Metric> {
    let metrics = [
        ("iops", Metric::Iops),
        ("mbps", Metric::Mbps),
        ("latency", Metric::Latency),
    ];
    fields
        .get("metric")
        .map_or(Ok(Metric::Iops), |node| node.word("metric", &metrics, &[]))
}

/// As `expand` writes it. Limits default to those of SNIA SSS PTS 2.0.
fn round(node: &Node) -> Result<Round> {
    let keys = [
        "of", "step", "number", "most", "window", "range", "slope", "track", "metric",
    ];
    let fields = Fields::new(node, "rounds", &keys)?;
    Ok(Round {
        of: fields.text("of")?,
        step: fields.text("step")?,
        number: fields.need("number")?.integer("number")?,
        most: fields.need("most")?.integer("most")?,
        window: fields.integer_or("window", 5)?,
        range: fields.parsed("range", parse_percent)?.unwrap_or(0.20),
        slope: fields.parsed("slope", parse_percent)?.unwrap_or(0.10),
        track: fields
            .need("track")?
            .list("track")?
            .iter()
            .map(|name| name.text("track").map(str::to_owned))
            .collect::<Result<_>>()?,
        metric: metric(&fields)?,
    })
}

fn curve(node: &Node) -> Result<Curve> {
    let keys = ["points", "time", "arrival", "latency", "response", "slo"];
    let fields = Fields::new(node, "curve", &keys)?;
    let (latency, response) = (fields.get("latency"), fields.get("response"));
    if let (Some(_), Some(twice)) = (latency, response) {
        return Err(
            twice.fault("`response` is another name of `latency`: leave one out".to_owned())
        );
    }
    let share = |node: &Node| node.parsed("points", parse_share);
    Ok(Curve {
        points: match fields.get("points") {
            Some(list) => list
                .list("points")?
                .iter()
                .map(share)
                .collect::<Result<_>>()?,
            None => POINTS.to_vec(),
        },
        time_ns: fields.need("time")?.parsed("time", parse_duration_ns)?,
        arrival: arrival(&fields)?,
        latency: latency.or(response).map_or(Ok(Latency::Response), |node| {
            node.word("latency", &LATENCIES, &FOREIGN_LATENCIES)
        })?,
        slo: fields.get("slo").map(slo).transpose()?,
    })
}

/// Makes a limit of a percentile, from ns.
type Limited = fn(u64) -> LatencyLimit;

/// The percentiles that an objective may limit.
const LIMITS: [(&str, Limited); 5] = [
    ("p50", LatencyLimit::P50),
    ("p95", LatencyLimit::P95),
    ("p99", LatencyLimit::P99),
    ("p999", LatencyLimit::P999),
    ("p9999", LatencyLimit::P9999),
];

fn slo(node: &Node) -> Result<Slo> {
    let keys: Vec<&str> = LIMITS
        .iter()
        .map(|(key, _)| *key)
        .chain(["steps"])
        .collect();
    let fields = Fields::new(node, "slo", &keys)?;
    let mut limits = Vec::new();
    for (key, limit) in LIMITS {
        if let Some(given) = fields.get(key) {
            limits.push(limit(given.parsed(key, parse_duration_ns)?));
        }
    }
    let [limit] = limits[..] else {
        return Err(node.fault(
            "slo needs one of `p50`, `p95`, `p99`, `p999` and `p9999`, such as p99 = \"500us\""
                .to_owned(),
        ));
    };
    Ok(Slo {
        limit,
        steps: fields.integer_or("steps", 5)?,
    })
}
