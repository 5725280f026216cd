//! The one error type of parsing: where it is, what was expected, what to do.

/// A refused method or job. `Display` gives one line: `file:line: message`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct ParseError {
    /// File name as given by the caller.
    pub file: String,
    /// 1-based line.
    pub line: u32,
    /// What was found, what was expected and, for a misspelt key, the nearest valid one.
    pub message: String,
}
