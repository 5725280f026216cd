//! Whether a method makes sense: its steps, each with what its kind needs.

use super::job::{job, only};
use super::rules::{Checked, ensure, name, percent};
use crate::{Curve, Job, Load, Method, Offered, Op, Step, StepKind, Until};

const SCHEMA: &str = "fathom-method/1";
const POINTS_MAX: usize = 100;
const SHARE_MAX: f64 = 10.0;
const BISECTIONS_MAX: u32 = 20;

pub fn method(method: &Method) -> Checked {
    ensure(method.schema == SCHEMA, "schema", || {
        format!("schema is {:?}, expected {SCHEMA:?}", method.schema)
    })?;
    name(&method.name, "name")?;
    if let Some(quick) = method.quick {
        for (key, factor) in [
            ("divide_times_by", quick.divide_times_by),
            ("divide_preconditioning_by", quick.divide_preconditioning_by),
            ("divide_volumes_by", quick.divide_volumes_by),
        ] {
            ensure(
                factor >= 1.0 && factor.is_finite(),
                &format!("quick.{key}"),
                || format!("{key} is {factor}, expected 1 or more"),
            )?;
        }
    }
    ensure(!method.steps.is_empty(), "steps", || {
        "a method needs at least one step".to_owned()
    })?;
    for (index, step) in method.steps.iter().enumerate() {
        let at = format!("steps.{index}");
        check_step(step).map_err(|fault| fault.below(&at))?;
        let earlier = method.steps[..index]
            .iter()
            .any(|other| other.name == step.name);
        ensure(!earlier, &format!("{at}.name"), || {
            format!(
                "step name {:?} is used twice: names must be unique",
                step.name
            )
        })?;
        let before = index.checked_sub(1).map(|before| &method.steps[before]);
        continues(step, before).map_err(|fault| fault.below(&at))?;
        if let Some(offered) = &step.offered {
            let measured = method.steps[..index].iter().any(|other| {
                other.name == offered.of
                    && matches!(other.kind, StepKind::Measure | StepKind::Curve)
            });
            let reached = method.steps[..index]
                .iter()
                .filter(|other| other.name == offered.of)
                .all(|other| covers(other, step));
            ensure(reached, &format!("{at}.offered.of"), || {
                format!("{:?} does not run on every target of this step", offered.of)
            })?;
            ensure(measured, &format!("{at}.offered.of"), || {
                format!(
                    "of is {:?}, which no measured step before this one is called",
                    offered.of
                )
            })?;
        }
    }
    Ok(())
}

/// Returns whether a step runs on every target that the other one runs on.
fn covers(step: &Step, other: &Step) -> bool {
    let all = step.targets.is_empty();
    let named =
        !other.targets.is_empty() && other.targets.iter().all(|one| step.targets.contains(one));
    (all || named) && (!step.only_files || other.only_files)
}

fn check_step(step: &Step) -> Checked {
    name(&step.name, "name")?;
    for target in &step.targets {
        name(target, "targets")?;
    }
    name(&step.workload, "workload")?;
    job(&step.job).map_err(|fault| fault.below("job"))?;
    match step.kind {
        StepKind::Fill => fill(step)?,
        StepKind::Precondition => precondition(step)?,
        StepKind::Purge => {
            ensure(only(&step.job, Op::Trim), "job.mix", || {
                "a purge deallocates the target: leave out its job, or set mix = \"trim\""
                    .to_owned()
            })?;
        }
        StepKind::Idle => {
            ensure(step.job.until.time_ns.is_some(), "kind", || {
                "an idle step needs `time`, such as time = \"30s\"".to_owned()
            })?;
        }
        StepKind::Measure => {}
        StepKind::Curve => curve_step(step)?,
    }
    ensure(
        step.curve.is_none() || step.kind == StepKind::Curve,
        "curve",
        || "`curve` belongs to a curve step: set kind = \"curve\"".to_owned(),
    )?;
    if let Some(round) = &step.round {
        ensure(
            round.window >= 2 && round.window <= round.most,
            "round.window",
            || {
                format!(
                    "window is {} of at most {} rounds, expected 2 or more of them",
                    round.window, round.most
                )
            },
        )?;
    }
    ensure(
        !step.afresh || step.kind == StepKind::Fill,
        "afresh",
        || "`afresh` belongs to a fill step, or to a step with `fill`".to_owned(),
    )?;
    let measured = step.kind == StepKind::Measure && step.round.is_none();
    ensure(!step.on_copy || measured, "on_copy", || {
        "`on_copy` belongs to a measured step outside rounds; points of a curve run on copies by themselves"
            .to_owned()
    })?;
    let misplaced = step.steady.is_some() && step.kind != StepKind::Precondition;
    ensure(!misplaced, "steady", || {
        "`steady` belongs to a precondition step".to_owned()
    })?;
    if let Some(share) = &step.offered {
        offered(step, share)?;
    }
    percentile(step)?;
    until_steady(step)?;
    turnover(step)
}

/// A step that continues has the I/O of the step before it, on the same targets, and positions that can be known.
fn continues(step: &Step, before: Option<&Step>) -> Checked {
    if !step.continues {
        return Ok(());
    }
    let measured = step.kind == StepKind::Measure && step.round.is_none() && !step.on_copy;
    ensure(measured, "continues", || {
        "`continues` belongs to a measured step, and not to one in rounds or with on_copy"
            .to_owned()
    })?;
    let runs = |one: &Step| one.kind == StepKind::Precondition || one.kind == StepKind::Measure;
    let follows = before.is_some_and(|before| {
        runs(before)
            && !before.on_copy
            && endless(&step.job) == endless(&before.job)
            && step.targets == before.targets
            && step.only_files == before.only_files
    });
    ensure(follows, "continues", || {
        "the step before has another job, or other targets: a step continues what the step before it did"
            .to_owned()
    })?;
    ensure(step.job.can_continue(), "continues", || {
        "where the step before ended is known of sequential streams without a shared position, and random ones have none: leave `continues` out"
            .to_owned()
    })
}

/// The job and its streams without their ends.
fn endless(job: &Job) -> Job {
    let mut job = job.clone();
    job.until = Until::default();
    for stream in &mut job.streams {
        stream.job.until = Until::default();
    }
    job
}

fn until_steady(step: &Step) -> Checked {
    let Some(steady) = step.until_steady else {
        return Ok(());
    };
    let measured = step.kind == StepKind::Measure && step.round.is_none();
    ensure(measured, "until_steady", || {
        "`until_steady` belongs to a measured step, and not to one in rounds".to_owned()
    })?;
    let second_ns = 1_000_000_000;
    let whole = steady.every_ns > 0 && steady.every_ns.is_multiple_of(second_ns);
    ensure(whole, "until_steady.every", || {
        "every is not a whole number of seconds, which are what a run records".to_owned()
    })?;
    ensure(
        steady.over_ns / steady.every_ns >= 2,
        "until_steady.over",
        || "over holds fewer than two values: make it longer than twice every".to_owned(),
    )
}

fn percentile(step: &Step) -> Checked {
    let measured = step.kind == StepKind::Measure && step.round.is_none();
    ensure(step.percentile.is_none() || measured, "percentile", || {
        "`percentile` belongs to a measured step, and not to one in rounds".to_owned()
    })
}

fn offered(step: &Step, offered: &Offered) -> Checked {
    ensure(step.kind == StepKind::Measure, "offered", || {
        "`offered` belongs to a measured step; a curve takes its rates from its own maximum"
            .to_owned()
    })?;
    let share = offered.share;
    ensure(share > 0.0 && share <= SHARE_MAX, "offered.share", || {
        format!(
            "share is {}%, expected above 0% and up to {}%",
            percent(share),
            percent(SHARE_MAX)
        )
    })?;
    let streams = || step.job.streams.iter();
    let load = match &offered.stream {
        None => step.job.streams.is_empty().then_some(&step.job),
        Some(name) => streams().find(|one| one.name == *name).map(|one| &one.job),
    };
    let Some(job) = load else {
        return ensure(false, "offered", || {
            let names: Vec<_> = streams().map(|one| one.name.as_str()).collect();
            format!(
                "stream names which of the job's streams is offered the rate: {}",
                if names.is_empty() {
                    "it has none, leave it out".to_owned()
                } else {
                    names.join(", ")
                }
            )
        });
    };
    let closed = matches!(job.load, Load::Closed { .. }) && job.pace.think_ns == 0;
    ensure(closed, "offered", || {
        "`offered` is the rate: leave rate and think out of the load".to_owned()
    })
}

fn turnover(step: &Step) -> Checked {
    if step.turnover.is_none() {
        return Ok(());
    }
    let measured = step.kind == StepKind::Measure && step.round.is_none();
    ensure(measured, "turnover", || {
        "`turnover` belongs to a measured step, and not to one in rounds".to_owned()
    })?;
    ensure(step.precision.is_some(), "turnover", || {
        "`turnover` says how soon a window may end early: give `precision` too, such as precision = \"1%\"".to_owned()
    })
}

fn fill(step: &Step) -> Checked {
    ensure(only(&step.job, Op::Write), "job.mix", || {
        "a fill step only writes: set mix = \"write\"".to_owned()
    })?;
    let by_volume = |job: &Job| job.until.bytes.is_some() || job.until.region_multiple.is_some();
    let streams = &step.job.streams;
    let each = !streams.is_empty() && streams.iter().all(|stream| by_volume(&stream.job));
    ensure(each || by_volume(&step.job), "job.until", || {
        "a fill step ends by volume: set until = { written = \"1x\" }".to_owned()
    })
}

fn precondition(step: &Step) -> Checked {
    let until = &step.job.until;
    let Some(steady) = step.steady else {
        let message = || {
            "a precondition step needs `steady`, such as steady = { round = \"1min\" }".to_owned()
        };
        return ensure(false, "kind", message);
    };
    ensure(steady.window >= 2, "steady.window", || {
        format!("window is {}, expected 2 rounds or more", steady.window)
    })?;
    ensure(steady.round_ns > 0, "steady.round", || {
        "round is 0".to_owned()
    })?;
    for (path, limit) in [
        ("steady.range", steady.range),
        ("steady.slope", steady.slope),
    ] {
        ensure(limit > 0.0 && limit <= 1.0, path, || {
            format!("{path} is {limit}, expected more than 0% and at most 100%")
        })?;
    }
    let writes = steady.written == 0.0 || step.job.mix.ops.iter().any(|op| op.op.is_destructive());
    ensure(writes, "steady.written", || {
        "`written` asks for writes, and this step has none".to_owned()
    })?;
    let least_ns = steady.round_ns.saturating_mul(u64::from(steady.window));
    ensure(
        until.time_ns.is_some_and(|most_ns| most_ns >= least_ns),
        "job.until",
        || {
            let least_s = least_ns as f64 / 1e9;
            format!(
                "a precondition step needs until.time of at least round x window = {least_s} s, the time at which it gives up"
            )
        },
    )
}

fn curve_step(step: &Step) -> Checked {
    let closed = matches!(step.job.load, Load::Closed { .. });
    ensure(closed, "job.load.rate", || {
        "a curve measures its own maximum and takes its rates from it: leave out the rate"
            .to_owned()
    })?;
    ensure(step.job.pace.think_ns == 0, "job.load.think", || {
        "a curve measures at rates, without pauses: leave out think".to_owned()
    })?;
    ensure(step.job.streams.is_empty(), "job.streams", || {
        "a curve varies the rate of one workload: give it a job without streams".to_owned()
    })?;
    let Some(curve) = &step.curve else {
        let message =
            || "a curve step needs `curve`, such as curve = { time = \"30s\" }".to_owned();
        return ensure(false, "kind", message);
    };
    check_curve(curve).map_err(|fault| fault.below("curve"))
}

fn check_curve(curve: &Curve) -> Checked {
    let count = curve.points.len();
    ensure((1..=POINTS_MAX).contains(&count), "points", || {
        format!("points has {count} entries, expected 1 to {POINTS_MAX}")
    })?;
    let mut below = 0.0;
    for (index, &share) in curve.points.iter().enumerate() {
        let path = format!("points.{index}");
        ensure(share > below && share <= SHARE_MAX, &path, || {
            format!(
                "point {}% follows {}%: expected ascending percentages above 0% and up to {}%",
                percent(share),
                percent(below),
                percent(SHARE_MAX)
            )
        })?;
        below = share;
    }
    ensure(curve.time_ns > 0, "time", || "time is 0".to_owned())?;
    let Some(slo) = curve.slo else { return Ok(()) };
    let key = slo.limit.key();
    ensure(slo.limit.ns() > 0, &format!("slo.{key}"), || {
        format!("{key} is 0")
    })?;
    ensure(
        (1..=BISECTIONS_MAX).contains(&slo.steps),
        "slo.steps",
        || format!("steps is {}, expected 1 to {BISECTIONS_MAX}", slo.steps),
    )
}
