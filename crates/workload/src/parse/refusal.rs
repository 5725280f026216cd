//! What is wrong with a document, and in which line.

/// A refusal before the file name is known.
#[derive(Debug)]
pub(super) struct Refusal {
    pub line: u32,
    pub message: String,
}

/// What a document says, or why it is refused.
pub(super) type Result<T> = std::result::Result<T, Refusal>;
