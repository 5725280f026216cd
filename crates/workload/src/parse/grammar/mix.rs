//! Which operations a job issues, with which block sizes.

use crate::parse::fields::Fields;
use crate::parse::refusal::Result;
use crate::parse::tree::{Entry, Node, Value};
use crate::units::parse_size_bytes;
use crate::{Block, BlockShare, Mix, Op};

const OPS: [(&str, Op); 15] = [
    ("read", Op::Read),
    ("write", Op::Write),
    ("trim", Op::Trim),
    ("flush", Op::Flush),
    ("write-zeroes", Op::WriteZeroes),
    ("append", Op::Append),
    ("create", Op::Create),
    ("open", Op::Open),
    ("stat", Op::Stat),
    ("rename", Op::Rename),
    ("delete", Op::Delete),
    ("mkdir", Op::Mkdir),
    ("rmdir", Op::Rmdir),
    ("stat-directory", Op::StatDirectory),
    ("allocate", Op::Allocate),
];
const FOREIGN_OPS: [(&str, &str); 12] = [
    ("fallocate", "allocate"),
    ("randread", "read"),
    ("randwrite", "write"),
    ("unmap", "trim"),
    ("discard", "trim"),
    ("deallocate", "trim"),
    ("fsync", "flush"),
    ("getattr", "stat"),
    ("unlink", "delete"),
    ("remove", "delete"),
    ("move", "rename"),
    ("close", "open"),
];

/// `mix` and `block` together. Operations come in the order of [`Op::ALL`] however they were
/// written, so that TOML and JSON give the same request stream.
pub(super) fn mix(fields: &Fields) -> Result<Mix> {
    let node = fields.need("mix")?;
    let mut weights: Vec<(Op, f64)> = match &node.value {
        Value::Text(_) => vec![(node.word("mix", &OPS, &FOREIGN_OPS)?, 1.0)],
        Value::Table(entries) if !entries.is_empty() => {
            let weight = |entry: &Entry| {
                let op = entry.node.choose("mix", &entry.key, &OPS, &FOREIGN_OPS)?;
                Ok((op, entry.node.number(&entry.key)?))
            };
            entries.iter().map(weight).collect::<Result<_>>()?
        }
        _ => return Err(node.refuse("mix", "an operation or { read = 70, write = 30 }")),
    };
    weights.sort_by_key(|(op, _)| *op);
    let moves_data = weights.iter().any(|(op, _)| op.has_block());
    let block = match moves_data {
        true => Some(fields.need("block")?),
        false => fields.get("block"),
    };
    if let Some(block) = block {
        check_block_keys(block, &weights)?;
    }
    let ops = weights.into_iter().map(|(op, weight)| {
        let sizes = match (block, op) {
            (Some(block), op) if op.has_block() => sizes_of(block, op)?,
            _ => Vec::new(),
        };
        Ok(Block {
            op,
            weight,
            sizes,
            align_bytes: None,
        })
    });
    Ok(Mix {
        ops: ops.collect::<Result<_>>()?,
    })
}

/// Block sizes per operation may only name operations of the mix.
fn check_block_keys(block: &Node, weights: &[(Op, f64)]) -> Result<()> {
    let Value::Table(entries) = &block.value else {
        return Ok(());
    };
    for entry in entries {
        if parse_size_bytes(&entry.key).is_ok() {
            return Err(entry.node.fault(format!(
                "block has the size `{}` as a key, expected a list of sizes with shares: [{{ size = \"{}\", share = 50 }}, ...]",
                entry.key, entry.key
            )));
        }
        let op = entry.node.choose("block", &entry.key, &OPS, &FOREIGN_OPS)?;
        if !op.has_block() || !weights.iter().any(|(in_mix, _)| *in_mix == op) {
            let message = format!(
                "block gives sizes for `{}`, which the mix does not issue with data",
                entry.key
            );
            return Err(entry.node.fault(message));
        }
    }
    Ok(())
}

/// Returns the sizes of one operation: from a table per operation, or the same for all.
fn sizes_of(block: &Node, op: Op) -> Result<Vec<BlockShare>> {
    let node = match &block.value {
        Value::Table(_) => block.get(op.name()).ok_or_else(|| {
            block.fault(format!(
                "block gives no size for `{}`, which is in the mix",
                op.name()
            ))
        })?,
        _ => block,
    };
    let size = |node: &Node| {
        let bytes = node.parsed("block", parse_size_bytes)?;
        u32::try_from(bytes).map_err(|_| node.refuse("block", "up to 1GiB"))
    };
    let Value::List(_) = node.value else {
        return Ok(vec![BlockShare {
            size_bytes: size(node)?,
            weight: 1.0,
        }]);
    };
    let shares = node.list("block")?.iter().map(|item| {
        let fields = Fields::new(item, "block", &["size", "share"])?;
        Ok(BlockShare {
            size_bytes: size(fields.need("size")?)?,
            weight: fields.need("share")?.number("share")?,
        })
    });
    shares.collect()
}
