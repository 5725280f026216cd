//! Short forms of steps, written out: `sweep`, `rounds`, what `fill`, `overwrite` and `settle` put before a step, and the jobs that
//! `purge` and `idle` leave out. It maps tree to tree, before the grammar. So every step that results keeps the line it
//! came from, and nothing behind this module knows of the short forms.

use super::fields::Fields;
use super::refusal::Refusal;
use super::tree::{Entry, Node, Value};

type Result<T> = std::result::Result<T, Refusal>;

/// Most steps of a method written out: 25 rounds of the standard's matrix of 56 are 1400.
const STEPS_MAX: usize = 5000;
const ROUNDS_MAX: u32 = 1000;
const ROUNDS_KEYS: [&str; 9] = [
    "name",
    "kind",
    "target",
    "targets",
    "only_files",
    "bench",
    "precision",
    "rounds",
    "steps",
];
/// What a step says of where and how well it runs, and passes on to those that are written out of it.
const PASSED_ON: [&str; 5] = ["target", "targets", "only_files", "bench", "precision"];
const OF_ROUNDS_KEYS: [&str; 6] = ["most", "window", "range", "slope", "track", "metric"];
const AXIS_KEYS: [&str; 4] = ["key", "values", "names", "labels"];
const SETTLE_KEYS: [&str; 6] = ["time", "round", "window", "range", "slope", "written"];

/// Returns the method with its steps written out.
pub(super) fn method(mut document: Node) -> Result<Node> {
    if let Some(steps) = document.get("steps") {
        let steps = written_out(steps)?;
        document.set("steps", steps);
    }
    Ok(document)
}

fn written_out(list: &Node) -> Result<Node> {
    let mut steps = Vec::new();
    for step in list.list("steps")? {
        let kind = step.get("kind").map(|kind| &kind.value);
        match kind {
            Some(Value::Text(kind)) if kind == "rounds" => steps.extend(rounds(step)?),
            _ => {
                for one in sweep(step)? {
                    for one in prepared(one)? {
                        steps.push(with_job(one)?);
                    }
                }
            }
        }
        if steps.len() > STEPS_MAX {
            return Err(too_many(step));
        }
    }
    Ok(Node {
        line: list.line,
        value: Value::List(steps),
    })
}

fn too_many(step: &Node) -> Refusal {
    step.fault(format!(
        "the method has more than {STEPS_MAX} steps when written out"
    ))
}

/// Returns one step per combination of the axes' values, the first axis varying slowest.
fn sweep(step: &Node) -> Result<Vec<Node>> {
    let Some(axes) = step.get("sweep") else {
        return Ok(vec![step.clone()]);
    };
    let mut plain = step.clone();
    plain.remove("sweep");
    let mut steps = vec![plain];
    for axis in axes.list("sweep")? {
        let fields = Fields::new(axis, "sweep", &AXIS_KEYS)?;
        let key = fields.text("key")?;
        let values = fields.need("values")?.list("values")?;
        let names = names(&fields, &key, values)?;
        let labels = given(&fields, "labels", values)?.unwrap_or_else(|| names.clone());
        let varied = |step: &Node, value: &Node, name: &str, label: &str| {
            let mut one = step.clone();
            one.append("name", &format!("-{name}"));
            one.append("workload", &format!("-{name}"));
            one.append("label", &format!(", {label}"));
            let path = match key.strip_prefix("offered.") {
                Some(_) => key.clone(),
                None => format!("job.{key}"),
            };
            one.set(&path, value.clone());
            one
        };
        if steps.len().saturating_mul(values.len()) > STEPS_MAX {
            return Err(axes.fault(format!("sweep gives more than {STEPS_MAX} steps")));
        }
        let named = || values.iter().zip(names.iter().zip(&labels));
        steps = steps
            .iter()
            .flat_map(|step| named().map(|(value, (name, label))| varied(step, value, name, label)))
            .collect();
    }
    Ok(steps)
}

/// Returns what the values of an axis are called in the names of steps: as given, or the values themselves.
fn names(fields: &Fields<'_>, key: &str, values: &[Node]) -> Result<Vec<String>> {
    if let Some(names) = given(fields, "names", values)? {
        return Ok(names);
    }
    let last = key.rsplit('.').next().unwrap_or(key);
    let of_value = |value: &Node| match &value.value {
        Value::Text(text) => Ok(text.to_lowercase().replace('%', "pct")),
        Value::Integer(number) => Ok(format!("{last}{number}")),
        _ => Err(value.fault(format!("sweep of {key} needs names for such values"))),
    };
    values.iter().map(of_value).collect()
}

/// Returns the texts that an axis gives for its values under `key`, where it does.
fn given(fields: &Fields<'_>, key: &str, values: &[Node]) -> Result<Option<Vec<String>>> {
    let Some(node) = fields.get(key) else {
        return Ok(None);
    };
    let texts = node.list(key)?;
    if texts.len() != values.len() {
        return Err(node.fault(format!(
            "{key} has {} entries for {} values",
            texts.len(),
            values.len()
        )));
    }
    let texts = texts.iter().map(|one| one.text(key).map(str::to_owned));
    texts.collect::<Result<_>>().map(Some)
}

/// Returns the step, behind the fill of its region, its own writes alone and the precondition of its own I/O that it
/// asks for.
fn prepared(mut step: Node) -> Result<Vec<Node>> {
    let [fill, overwrite, settle] = ["fill", "overwrite", "settle"].map(|key| {
        let asked = step.get(key).cloned();
        step.remove(key);
        asked
    });
    let asked = fill.as_ref().or(overwrite.as_ref()).or(settle.as_ref());
    if let Some(asked) = asked
        && !measures(&step)
    {
        return Err(asked.fault(
            "`fill`, `overwrite` and `settle` belong to steps that are measured and curves"
                .to_owned(),
        ));
    }
    let mut steps = Vec::new();
    if let Some(volume) = fill {
        let afresh = step.get("afresh").cloned();
        step.remove("afresh");
        steps.push(fill_before(&step, volume, afresh));
    }
    if let Some(volume) = overwrite {
        if step.get("job.streams").is_some() {
            return Err(volume.fault(
                "`overwrite` is of one workload: give a job of streams a step of its own before"
                    .to_owned(),
            ));
        }
        steps.push(overwrite_before(&step, volume));
    }
    if let Some(settle) = settle {
        steps.push(settling_before(&step, &settle)?);
    }
    steps.push(step);
    Ok(steps)
}

fn measures(step: &Node) -> bool {
    let kind = step.get("kind").map(|kind| &kind.value);
    kind.is_none_or(
        |kind| matches!(kind, Value::Text(kind) if kind == "measure" || kind == "curve"),
    )
}

/// Returns `name` and `label` of a step that prepares for `step`, and where and how well it runs.
fn before(step: &Node, kind: &str, name: &str, label: &str) -> Node {
    let mut one = Node {
        line: step.line,
        value: Value::Table(Vec::new()),
    };
    for key in PASSED_ON {
        if let Some(value) = step.get(key) {
            one.set(key, value.clone());
        }
    }
    let own = |key| match step.get(key).map(|node| &node.value) {
        Some(Value::Text(text)) => Some(text.as_str()),
        _ => None,
    };
    let called = own("name").unwrap_or_default();
    let workload = own("workload").unwrap_or(called);
    one.set("kind", step.text_node(kind));
    one.set("name", step.text_node(&format!("{name}-{called}")));
    let label = format!("{label}: {}", own("label").unwrap_or(workload));
    one.set("label", step.text_node(&label));
    one.set("workload", step.text_node(workload));
    one
}

fn fill_before(step: &Node, volume: Node, afresh: Option<Node>) -> Node {
    let mut one = before(step, "fill", "fill", "filling for");
    if let Some(flag) = afresh {
        one.set("afresh", flag);
    }
    for (key, value) in [
        ("workload", "128k-seq-write"),
        ("job.mix", "write"),
        ("job.block", "128KiB"),
        ("job.pattern", "sequential"),
    ] {
        one.set(key, step.text_node(value));
    }
    if let Some(region) = step.get("job.region") {
        one.set("job.region", region.clone());
    }
    one.set("job.load.iodepth", step.integer_node(32));
    one.set("job.until.written", volume);
    one
}

/// Returns the step's own writes without its reads: where it mostly reads they would take hours to cover its region.
fn overwrite_before(step: &Node, volume: Node) -> Node {
    let mut one = before(step, "fill", "overwrite", "overwriting for");
    let Some(mut job) = step.get("job").cloned() else {
        return one;
    };
    job.set("mix", step.text_node("write"));
    if let Some(of_writes) = job.get("block.write").cloned() {
        job.set("block", of_writes);
    }
    job.remove("until");
    job.set("until.written", volume);
    one.set("job", job);
    one
}

fn settling_before(step: &Node, settle: &Node) -> Result<Node> {
    let fields = Fields::new(settle, "settle", &SETTLE_KEYS)?;
    let mut one = before(step, "precondition", "settle", "settling");
    let mut steady = settle.clone();
    steady.remove("time");
    one.set("steady", steady);
    if let Some(job) = step.get("job") {
        let mut job = job.clone();
        job.remove("until");
        job.set("until.time", fields.need("time")?.clone());
        one.set("job", job);
    }
    Ok(one)
}

/// Returns every step of every round, with what it is a round of.
fn rounds(step: &Node) -> Result<Vec<Node>> {
    let fields = Fields::new(step, "rounds", &ROUNDS_KEYS)?;
    let name = fields.text("name")?;
    let of = fields.need("rounds")?;
    let limits = Fields::new(of, "rounds", &OF_ROUNDS_KEYS)?;
    let most: u32 = limits.integer_or("most", 25)?;
    if !(2..=ROUNDS_MAX).contains(&most) {
        return Err(of.fault(format!("most is {most}, expected 2 to {ROUNDS_MAX} rounds")));
    }
    let Node {
        value: Value::List(inner),
        ..
    } = written_out(fields.need("steps")?)?
    else {
        return Ok(Vec::new());
    };
    for tracked in limits.need("track")?.list("track")? {
        let wanted = tracked.text("track")?;
        let known = |one: &Node| matches!(one.get("name"), Some(Node { value: Value::Text(text), .. }) if text == wanted);
        if !inner.iter().any(known) {
            return Err(tracked.fault(format!(
                "track names {wanted:?}, which is no step of the round"
            )));
        }
    }
    if inner.len() * most as usize > STEPS_MAX {
        return Err(too_many(step));
    }
    let mut steps = Vec::with_capacity(inner.len() * most as usize);
    for number in 1..=most {
        for part in &inner {
            let mut one = part.clone();
            for key in PASSED_ON {
                if let (Some(value), None) = (fields.get(key), part.get(key)) {
                    one.set(key, value.clone());
                }
            }
            let own = part.get("name").map_or(Ok(""), |name| name.text("name"))?;
            if part.get("workload").is_none() {
                one.set("workload", part.text_node(own));
            }
            let mut round = of.clone();
            round.set("of", of.text_node(&name));
            round.set("step", of.text_node(own));
            round.set("most", of.integer_node(i128::from(most)));
            round.set("number", of.integer_node(i128::from(number)));
            one.set("round", round);
            one.set("name", part.text_node(&format!("{name}.{number:02}.{own}")));
            steps.push(one);
        }
    }
    Ok(steps)
}

/// A purge deallocates the whole target; an idle step is an open load whose first arrival lies beyond its end.
fn with_job(mut step: Node) -> Result<Node> {
    let kind = match step.get("kind").map(|kind| &kind.value) {
        Some(Value::Text(kind)) => kind.clone(),
        _ => return Ok(step),
    };
    let job: &[(&str, &str)] = match kind.as_str() {
        "purge" => &[
            ("mix", "trim"),
            ("block", "16MiB"),
            ("pattern", "sequential"),
            ("until.written", "1x"),
        ],
        "idle" => &[
            ("mix", "read"),
            ("block", "4KiB"),
            ("pattern", "sequential"),
            ("load.rate", "0.000000001/s"),
            ("load.arrival", "uniform"),
        ],
        _ => return Ok(step),
    };
    if step.get("job").is_some() {
        return Ok(step);
    }
    if kind == "idle" && step.get("time").is_none() {
        return Err(step.fault("an idle step needs `time`, such as time = \"30s\"".to_owned()));
    }
    for (key, value) in job {
        let node = step.text_node(value);
        step.set(&format!("job.{key}"), node);
    }
    let one = step.integer_node(1);
    step.set("job.load.iodepth", one);
    if let Some(time) = step.get("time").cloned() {
        step.remove("time");
        step.set("job.until.time", time);
    }
    Ok(step)
}

impl Node {
    fn text_node(&self, text: &str) -> Node {
        Node {
            line: self.line,
            value: Value::Text(text.to_owned()),
        }
    }

    fn integer_node(&self, number: i128) -> Node {
        Node {
            line: self.line,
            value: Value::Integer(number),
        }
    }

    /// Sets the value at a dotted path of tables, making those that are missing.
    fn set(&mut self, path: &str, node: Node) {
        let (key, rest) = match path.split_once('.') {
            Some((key, rest)) => (key, Some(rest)),
            None => (path, None),
        };
        if !matches!(self.value, Value::Table(_)) {
            self.value = Value::Table(Vec::new());
        }
        let Value::Table(entries) = &mut self.value else {
            return;
        };
        let at = entries.iter().position(|entry| entry.key == key);
        let at = at.unwrap_or_else(|| {
            entries.push(Entry {
                key: key.to_owned(),
                key_line: node.line,
                node: Node {
                    line: node.line,
                    value: Value::Table(Vec::new()),
                },
            });
            entries.len() - 1
        });
        match rest {
            Some(rest) => entries[at].node.set(rest, node),
            None => entries[at].node = node,
        }
    }

    fn remove(&mut self, key: &str) {
        if let Value::Table(entries) = &mut self.value {
            entries.retain(|entry| entry.key != key);
        }
    }

    /// Adds to the text of a key, where the table has it.
    fn append(&mut self, key: &str, more: &str) {
        if let Value::Table(entries) = &mut self.value
            && let Some(entry) = entries.iter_mut().find(|entry| entry.key == key)
            && let Value::Text(text) = &mut entry.node.value
        {
            text.push_str(more);
        }
    }
}
