//! TOML and JSON to checked jobs and methods. Two readers make one tree with line numbers, one grammar turns the tree
//! into types, one set of checks judges the result. Every refusal carries its file and line. `docs/reference/job.md`
//! and `docs/reference/method.md` describe the grammar.
//!
//! JSON has a second form: the *normal form* that `Serialize` writes (sizes in bytes, times in ns, no defaults left
//! out). Jobs travel between programs in it. `from_json` takes either.

mod check;
mod expand;
mod fields;
mod grammar;
mod refusal;
mod tree;

use serde::de::DeserializeOwned;

use self::refusal::Refusal;
use self::tree::Node;
use crate::{Job, Method, ParseError};

impl Job {
    /// Reads a job from TOML. `file` names the source in errors.
    ///
    /// # Errors
    /// The first thing wrong, with its line.
    pub fn from_toml(text: &str, file: &str) -> Result<Self, ParseError> {
        named(
            file,
            tree::from_toml(text).and_then(|node| checked_job(&node)),
        )
    }

    /// Reads a job from JSON, as written by a person or in normal form.
    ///
    /// # Errors
    /// The first thing wrong, with its line.
    pub fn from_json(text: &str, file: &str) -> Result<Self, ParseError> {
        let read = |node: Node| match is_normal(&node) {
            true => normal(text, &node, check::job),
            false => checked_job(&node),
        };
        named(file, tree::from_json(text).and_then(read))
    }
}

impl Method {
    /// Reads a method from TOML. `file` names the source in errors.
    ///
    /// # Errors
    /// The first thing wrong, with its line.
    pub fn from_toml(text: &str, file: &str) -> Result<Self, ParseError> {
        named(file, tree::from_toml(text).and_then(checked_method))
    }

    /// Reads a method from JSON, as written by a person or in normal form.
    ///
    /// # Errors
    /// The first thing wrong, with its line.
    pub fn from_json(text: &str, file: &str) -> Result<Self, ParseError> {
        let read = |node: Node| match node.get("steps.0.job").is_some_and(is_normal) {
            true => normal(text, &node, check::method),
            false => checked_method(node),
        };
        named(file, tree::from_json(text).and_then(read))
    }
}

fn checked_job(node: &Node) -> Result<Job, Refusal> {
    let job = grammar::job(node)?;
    check::job(&job).map_err(|fault| fault.at(node))?;
    Ok(job)
}

fn checked_method(node: Node) -> Result<Method, Refusal> {
    let node = expand::method(node)?;
    let method = grammar::method(&node)?;
    check::method(&method).map_err(|fault| fault.at(&node))?;
    Ok(method)
}

/// Only the normal form of a job has `mix.ops`.
fn is_normal(job: &Node) -> bool {
    job.get("mix.ops").is_some()
}

fn normal<T: DeserializeOwned>(
    text: &str,
    node: &Node,
    check: impl Fn(&T) -> Result<(), check::Fault>,
) -> Result<T, Refusal> {
    let value = serde_json::from_str(text).map_err(|error| tree::json_refusal(&error, 1))?;
    check(&value).map_err(|fault| fault.at(node))?;
    Ok(value)
}

fn named<T>(file: &str, result: Result<T, Refusal>) -> Result<T, ParseError> {
    result.map_err(|refusal| ParseError {
        file: file.to_owned(),
        line: refusal.line,
        message: one_line(&refusal.message),
    })
}

/// Most characters of a message, and those kept at each end of one with a longer key or value of the document in it.
const MESSAGE_CHARS: usize = 1000;
const KEPT_CHARS: usize = 400;

/// Returns a message as one line. Keys and values of the document in it may hold what ends a line or moves a cursor.
fn one_line(message: &str) -> String {
    let escaped = |one: char| -> String {
        match one.is_control() {
            true => one.escape_default().collect(),
            false => one.into(),
        }
    };
    let chars: Vec<char> = message.chars().collect();
    let text = |part: &[char]| -> String { part.iter().copied().map(escaped).collect() };
    if chars.len() <= MESSAGE_CHARS {
        return text(&chars);
    }
    let (begin, end) = (&chars[..KEPT_CHARS], &chars[chars.len() - KEPT_CHARS..]);
    format!("{} [...] {}", text(begin), text(end))
}

#[cfg(test)]
mod tests;
