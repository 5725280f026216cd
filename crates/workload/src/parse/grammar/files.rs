//! A set of files: how many, how large, in which directories, and how a job goes from one to the next.

use crate::parse::fields::Fields;
use crate::parse::refusal::Result;
use crate::parse::tree::{Node, Value};
use crate::units::{parse_percent, parse_size_bytes};
use crate::{FileSet, FileShare, FileThreads, Select, Visit};

const KEYS: [&str; 9] = [
    "count", "size", "width", "depth", "select", "visit", "open", "threads", "present",
];
const FOREIGN_SELECTS: [(&str, &str); 1] = [("rr", "roundrobin")];

/// What `select` says: `sequential` is a whole visit of each in turn.
#[derive(Clone, Copy)]
enum Selected {
    By(Select),
    Sequential,
}

pub(super) fn files(node: &Node) -> Result<FileSet> {
    let fields = Fields::new(node, "files", &KEYS)?;
    let selected = fields
        .get("select")
        .map_or(Ok(Selected::By(Select::Roundrobin)), select)?;
    let stays = fields.get("visit");
    let (select, visit) = match (selected, stays) {
        (Selected::Sequential, Some(twice)) => {
            return Err(twice.fault(
                "select = \"sequential\" stays with each file until it is through: leave visit out"
                    .to_owned(),
            ));
        }
        (Selected::Sequential, None) => (Select::Roundrobin, Visit::Whole),
        (Selected::By(select), None) => (select, Visit::Requests(1)),
        (Selected::By(select), Some(node)) => (select, visit(node)?),
    };
    Ok(FileSet {
        count: fields.need("count")?.integer("count")?,
        sizes: sizes(fields.need("size")?)?,
        width: fields.integer_or("width", 1)?,
        depth: fields.integer_or("depth", 0)?,
        select,
        visit,
        open: fields
            .get("open")
            .map(|node| node.integer("open"))
            .transpose()?,
        threads: fields
            .get("threads")
            .map_or(Ok(FileThreads::Apart), |node| {
                let words = [
                    ("apart", FileThreads::Apart),
                    ("together", FileThreads::Together),
                ];
                node.word("threads", &words, &[])
            })?,
        present: fields.parsed("present", parse_percent)?,
    })
}

/// One size, or sizes with their shares of the files.
fn sizes(node: &Node) -> Result<Vec<FileShare>> {
    let Value::List(_) = node.value else {
        return Ok(vec![FileShare {
            size_bytes: node.parsed("size", parse_size_bytes)?,
            weight: 1.0,
        }]);
    };
    let share = |item: &Node| {
        let fields = Fields::new(item, "size", &["size", "share"])?;
        Ok(FileShare {
            size_bytes: fields.need("size")?.parsed("size", parse_size_bytes)?,
            weight: fields.need("share")?.number("share")?,
        })
    };
    node.list("size")?.iter().map(share).collect()
}

fn select(node: &Node) -> Result<Selected> {
    if !matches!(node.value, Value::Table(_)) {
        let words = [
            ("roundrobin", Selected::By(Select::Roundrobin)),
            ("random", Selected::By(Select::Random)),
            ("sequential", Selected::Sequential),
        ];
        return node.word("select", &words, &FOREIGN_SELECTS);
    }
    let fields = Fields::new(node, "select", &["zipf", "pareto"])?;
    match (fields.get("zipf"), fields.get("pareto")) {
        (Some(theta), None) => Ok(Selected::By(Select::Zipf {
            theta: theta.number("zipf")?,
        })),
        (None, Some(share)) => Ok(Selected::By(Select::Pareto {
            share: share.number("pareto")?,
        })),
        _ => Err(node.refuse("select", "one of zipf and pareto")),
    }
}

/// A number of requests, or `whole`.
fn visit(node: &Node) -> Result<Visit> {
    match node.value {
        Value::Integer(_) => Ok(Visit::Requests(node.integer("visit")?)),
        _ => node.word("visit", &[("whole", Visit::Whole)], &[]),
    }
}
