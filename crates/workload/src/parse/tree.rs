//! A document as a tree whose every node knows its line, whether it came from TOML or JSON. Knows
//! nothing of jobs.

use std::collections::HashSet;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::refusal::Refusal;

/// Deeper than any job; bounds recursion on hostile input.
const DEPTH_MAX: u32 = 16;

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub line: u32,
    pub value: Value,
}

#[derive(Clone, Debug)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Integer(i128),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Table(Vec<Entry>),
}

#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub key: String,
    pub key_line: u32,
    pub node: Node,
}

impl Node {
    /// Returns the node at a dotted path; list positions are numbers.
    pub fn get(&self, path: &str) -> Option<&Node> {
        path.split('.').try_fold(self, Node::child)
    }

    /// Returns the line of the deepest node that exists along a dotted path.
    pub fn line_of(&self, path: &str) -> u32 {
        let mut node = self;
        for part in path.split('.') {
            match node.child(part) {
                Some(child) => node = child,
                None => break,
            }
        }
        node.line
    }

    fn child(&self, part: &str) -> Option<&Node> {
        match &self.value {
            Value::Table(entries) => entries
                .iter()
                .find(|entry| entry.key == part)
                .map(|entry| &entry.node),
            Value::List(items) => items.get(part.parse::<usize>().ok()?),
            _ => None,
        }
    }
}

/// Starts of lines, for turning byte offsets into line numbers.
struct Lines(Vec<usize>);

impl Lines {
    fn new(text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self(breaks.map(|(at, _)| at).collect())
    }

    fn of(&self, offset: usize) -> u32 {
        1 + self.0.partition_point(|&line_break| line_break < offset) as u32
    }
}

fn too_deep(line: u32) -> Refusal {
    Refusal {
        line,
        message: format!("nested more than {DEPTH_MAX} levels deep"),
    }
}

pub(super) fn from_toml(text: &str) -> Result<Node, Refusal> {
    let lines = Lines::new(text);
    let document = DeTable::parse(text).map_err(|error| Refusal {
        line: lines.of(error.span().map_or(0, |span| span.start)),
        message: format!("not TOML: {}", one_line(error.message())),
    })?;
    toml_table(1, document.get_ref(), &lines, 0)
}

fn toml_table(line: u32, table: &DeTable, lines: &Lines, depth: u32) -> Result<Node, Refusal> {
    let mut entries = Vec::with_capacity(table.len());
    for (key, value) in table {
        entries.push(Entry {
            key: key.get_ref().to_string(),
            key_line: lines.of(key.span().start),
            node: toml_node(value, lines, depth + 1)?,
        });
    }
    // The parser's map is ordered by key; errors are reported in the order of the file.
    entries.sort_by_key(|entry| entry.key_line);
    Ok(Node {
        line,
        value: Value::Table(entries),
    })
}

fn toml_node(value: &Spanned<DeValue>, lines: &Lines, depth: u32) -> Result<Node, Refusal> {
    let line = lines.of(value.span().start);
    if depth > DEPTH_MAX {
        return Err(too_deep(line));
    }
    let value = match value.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Boolean(flag) => Value::Bool(*flag),
        DeValue::Integer(number) => {
            let parsed = i128::from_str_radix(number.as_str(), number.radix());
            Value::Integer(parsed.map_err(|_| Refusal {
                line,
                message: format!("`{number}` is not a number in range"),
            })?)
        }
        DeValue::Float(number) => Value::Float(number.as_str().parse().map_err(|_| Refusal {
            line,
            message: format!("`{number}` is not a number"),
        })?),
        DeValue::Datetime(date) => {
            return Err(Refusal {
                line,
                message: format!("{date} is a date, expected text in quotes or a number"),
            });
        }
        DeValue::Array(items) => Value::List(
            items
                .iter()
                .map(|item| toml_node(item, lines, depth + 1))
                .collect::<Result<_, _>>()?,
        ),
        DeValue::Table(table) => return toml_table(line, table, lines, depth),
    };
    Ok(Node { line, value })
}

pub(super) fn from_json(text: &str) -> Result<Node, Refusal> {
    let raw: &RawValue = serde_json::from_str(text).map_err(|error| json_refusal(&error, 1))?;
    json_node(raw, text, &Lines::new(text), 0)
}

/// A `serde_json` error inside text that starts at line `first_line`.
pub(super) fn json_refusal(error: &serde_json::Error, first_line: u32) -> Refusal {
    let message = error.to_string();
    let message = match message.rfind(" at line ") {
        Some(end) => &message[..end],
        None => &message,
    };
    let prefix = if error.is_data() { "" } else { "not JSON: " };
    Refusal {
        line: first_line + (error.line() as u32).saturating_sub(1),
        message: format!("{prefix}{}", one_line(message)),
    }
}

/// A raw value borrows from the document, so its address gives its line.
fn json_node(raw: &RawValue, text: &str, lines: &Lines, depth: u32) -> Result<Node, Refusal> {
    let source = raw.get();
    let line_at = |part: &RawValue| lines.of(part.get().as_ptr() as usize - text.as_ptr() as usize);
    let line = line_at(raw);
    if depth > DEPTH_MAX {
        return Err(too_deep(line));
    }
    let refuse = |error: serde_json::Error| json_refusal(&error, line);
    let value = match source.as_bytes().first() {
        Some(b'{') => {
            let members: Members = serde_json::from_str(source).map_err(refuse)?;
            let mut entries = Vec::with_capacity(members.0.len());
            let mut known = HashSet::with_capacity(members.0.len());
            for (key, member) in members.0 {
                let key_line = line_at(member);
                if !known.insert(key.clone()) {
                    return Err(Refusal {
                        line: key_line,
                        message: format!("key `{key}` is given twice"),
                    });
                }
                let node = json_node(member, text, lines, depth + 1)?;
                entries.push(Entry {
                    key,
                    key_line,
                    node,
                });
            }
            Value::Table(entries)
        }
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(source).map_err(refuse)?;
            Value::List(
                items
                    .into_iter()
                    .map(|item| json_node(item, text, lines, depth + 1))
                    .collect::<Result<_, _>>()?,
            )
        }
        Some(b'"') => Value::Text(serde_json::from_str(source).map_err(refuse)?),
        Some(b't' | b'f') => Value::Bool(source == "true"),
        Some(b'n') => Value::Null,
        _ => match source.parse() {
            Ok(integer) => Value::Integer(integer),
            Err(_) => Value::Float(serde_json::from_str(source).map_err(refuse)?),
        },
    };
    Ok(Node { line, value })
}

/// Members of a JSON object in order, duplicates kept.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;
            fn expecting(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
                formatter.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

fn one_line(message: &str) -> String {
    message
        .lines()
        .map(str::trim)
        .collect::<Vec<_>>()
        .join(", ")
}
