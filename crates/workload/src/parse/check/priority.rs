//! Whether the priorities of a job make sense: that of all its I/O, and those of shares of it.

use super::rules::{Checked, ensure};
use crate::{Job, Op, Priority, PriorityClass, PriorityShare};

pub(super) fn priorities(job: &Job) -> Checked {
    if let Some(asked) = job.priority {
        priority(asked, "priority.level")?;
    }
    priority_shares(job)
}

fn priority(Priority { class, level }: Priority, key: &'static str) -> Checked {
    ensure(level <= Priority::LEVEL_MAX, key, || {
        format!(
            "level is {level}, expected 0, which goes first, to {}",
            Priority::LEVEL_MAX
        )
    })?;
    ensure(level == 0 || class != PriorityClass::Idle, key, || {
        "the class idle has no levels: leave it out".to_owned()
    })
}

/// Shares are of I/O that the job issues by entries of the ring, and those of one operation and size are one whole.
fn priority_shares(job: &Job) -> Checked {
    const KEY: &str = "priority_shares";
    if job.priority_shares.is_empty() {
        return Ok(());
    }
    let beside = [
        ("files", job.files.is_some()),
        ("gpu", job.gpu),
        ("content.verify", job.content.verify.is_some()),
    ];
    if let Some((other, _)) = beside.into_iter().find(|(_, given)| *given) {
        return ensure(false, KEY, || {
            format!(
                "shares of priorities go with one file or device without {other}: leave one out"
            )
        });
    }
    for one in &job.priority_shares {
        priority_share(one, KEY)?;
    }
    let issued = job.mix.ops.iter().flat_map(|block| {
        let sizes = block.sizes.iter();
        sizes.map(move |size| (block.op, size.size_bytes))
    });
    let issued: Vec<(Op, u32)> = issued.collect();
    let mut own = job.priority_shares.iter();
    ensure(
        own.all(|one| issued.iter().any(|&(op, bytes)| one.is_of(op, bytes))),
        KEY,
        || "a share is of an operation or block that the job does not issue".to_owned(),
    )?;
    let whole = |&(op, bytes): &(Op, u32)| -> f64 {
        let shares = job.priority_shares.iter();
        shares
            .filter(|one| one.is_of(op, bytes))
            .map(|one| one.share)
            .sum()
    };
    ensure(
        issued.iter().all(|one| whole(one) <= 1.0 + 1e-9),
        KEY,
        || "the shares of one operation and block come to more than 100%".to_owned(),
    )
}

/// One share by itself.
fn priority_share(one: &PriorityShare, key: &'static str) -> Checked {
    priority(one.priority, key)?;
    ensure(one.share > 0.0 && one.share <= 1.0, key, || {
        "a share of nothing: expected one above 0% and up to 100%".to_owned()
    })?;
    let most = PriorityShare::DURATION_LIMIT_MAX;
    ensure(one.duration_limit <= most, key, || {
        let limit = one.duration_limit;
        format!("duration_limit is {limit}, expected 0, which is none, to {most}")
    })
}
