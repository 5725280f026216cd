//! What is wrong with a line or a record, and how often.

use crate::number::NumberError;

/// Why a line or a record is no I/O.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The line has too few fields.
    #[error("{found} fields, expected {expected}")]
    Fields {
        /// Fields in the line.
        found: usize,
        /// Fields that the format has.
        expected: usize,
    },
    /// A field is not the number that it should be.
    #[error("{field}: {source}")]
    Number {
        /// The field's name.
        field: &'static str,
        /// What is wrong with it.
        source: NumberError,
    },
    /// A field holds none of the words that it may hold.
    #[error("{field}: {found:?} is not known")]
    Word {
        /// The field's name.
        field: &'static str,
        /// What it holds.
        found: String,
    },
    /// The line is longer than any of this format.
    #[error("longer than {most} bytes")]
    TooLong {
        /// Most bytes of a line.
        most: usize,
    },
    /// The trace names more devices or processes than can be kept.
    #[error("{field}: more than {most} different names")]
    TooManyNames {
        /// Which names.
        field: &'static str,
        /// How many are kept.
        most: usize,
    },
    /// An I/O that is no flush has no place or no length.
    #[error("{field}: none, and only a flush has none")]
    Missing {
        /// The field's name.
        field: &'static str,
    },
    /// The I/O ends beyond 2^63 bytes, or its latency would begin before the trace.
    #[error("{field}: out of range")]
    Range {
        /// The field's name.
        field: &'static str,
    },
    /// A record does not begin as records do.
    #[error("the record does not begin with its mark: bytes skipped up to the next")]
    Mark,
    /// The file ends inside a record.
    #[error("the file ends inside a record")]
    Cut,
    /// A line lacks what every line of its format has.
    #[error("no line of this format")]
    Shape,
    /// The first line must name the columns.
    #[error("no header: the first line must begin with TIME(s)")]
    NoHeader,
}

impl Fault {
    /// A word that is not known, cut to what fits a line.
    pub(crate) fn word(field: &'static str, found: &[u8]) -> Self {
        let shown = &found[..found.len().min(40)];
        Self::Word {
            field,
            found: String::from_utf8_lossy(shown).into_owned(),
        }
    }
}

/// Lines or records that are no I/O: how many, and the first few with their number, from 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wrong {
    /// How many.
    pub count: u64,
    /// The first ones.
    pub first: Vec<(u64, Fault)>,
}

impl Wrong {
    /// How many are kept.
    pub const SHOWN: usize = 3;

    /// Counts one.
    pub(crate) fn note(&mut self, number: u64, fault: Fault) {
        self.count += 1;
        if self.first.len() < Self::SHOWN {
            self.first.push((number, fault));
        }
    }
}
