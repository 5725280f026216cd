//! Where the threads of an ordered pattern begin, and which operations follow each other.

use crate::parse::fields::Fields;
use crate::parse::refusal::Result;
use crate::parse::tree::{Node, Value};
use crate::{OperationPositions, Position, ThreadPositions};

const THREADS: [(&str, ThreadPositions); 3] = [
    ("part", ThreadPositions::Part),
    ("start", ThreadPositions::Start),
    ("shared", ThreadPositions::Shared),
];
const OPERATIONS: [(&str, OperationPositions); 2] = [
    ("together", OperationPositions::Together),
    ("apart", OperationPositions::Apart),
];

/// A word for the threads, or a table for threads and operations.
pub(super) fn position(node: &Node) -> Result<Position> {
    if !matches!(node.value, Value::Table(_)) {
        return Ok(Position {
            threads: node.word("position", &THREADS, &[])?,
            ..Position::default()
        });
    }
    let fields = Fields::new(node, "position", &["threads", "operations"])?;
    let threads = fields.get("threads");
    let operations = fields.get("operations");
    Ok(Position {
        threads: threads.map_or(Ok(ThreadPositions::Part), |node| {
            node.word("threads", &THREADS, &[])
        })?,
        operations: operations
            .map(|node| node.word("operations", &OPERATIONS, &[]))
            .transpose()?,
        ahead_bytes: 0,
    })
}
