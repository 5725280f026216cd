//! Whether the data of blocks make sense.

use super::rules::{Checked, ensure};
use crate::{Job, Op, Verify};

const VERIFY_UNIT_BYTES: u32 = 512;

pub(super) fn content(job: &Job) -> Checked {
    let compressible = job.content.compressible;
    ensure(
        (0.0..=1.0).contains(&compressible),
        "content.compressible",
        || format!("compressible is {compressible}, expected 0% to 100%"),
    )?;
    let dedup = job.content.dedup;
    ensure((0.0..=1.0).contains(&dedup), "content.dedup", || {
        format!("dedup is {dedup}, expected 0% to 100%")
    })?;
    ensure(
        dedup == 0.0 || job.content.verify.is_none(),
        "content.dedup",
        || "verify makes every sector differ from every other: leave out dedup".to_owned(),
    )?;
    repeats(job)?;
    verify(job)
}

/// A pattern is all that a block holds.
fn repeats(job: &Job) -> Checked {
    let content = &job.content;
    let alone = content.compressible == 0.0 && content.dedup == 0.0 && content.verify.is_none();
    ensure(
        content.pattern.is_none() || alone,
        "content.pattern",
        || {
            "a pattern is all that a block holds: leave out compressible, dedup and verify"
                .to_owned()
        },
    )
}

/// What describes itself sector by sector is whole sectors, and knows its place before it is written.
fn verify(job: &Job) -> Checked {
    let Some(Verify { generation, .. }) = job.content.verify else {
        return Ok(());
    };
    let path = "content.verify";
    ensure(generation > 0, path, || {
        "generation is 0, expected 1 or more".to_owned()
    })?;
    let blocks = || job.mix.ops.iter();
    let mut sizes = blocks().flat_map(|block| &block.sizes);
    let whole = sizes.all(|size| size.size_bytes % VERIFY_UNIT_BYTES == 0);
    ensure(whole, path, || {
        format!("verify needs blocks that are multiples of {VERIFY_UNIT_BYTES} bytes")
    })?;
    ensure(blocks().all(|block| block.op != Op::Append), path, || {
        "verify needs to know where a block goes, which append does not say: use write".to_owned()
    })
}
