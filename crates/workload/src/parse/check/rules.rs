//! What every check is made of: a fault with its place, and the rules that several of them share.

use crate::parse::refusal::Refusal;
use crate::parse::tree::Node;

pub(super) const ALIGN_BYTES_MAX: u64 = 1 << 40;

#[derive(Debug)]
pub(in crate::parse) struct Fault {
    path: String,
    message: String,
}

impl Fault {
    /// Returns the refusal at this fault's line in `document`.
    pub fn at(self, document: &Node) -> Refusal {
        Refusal {
            line: document.line_of(&self.path),
            message: self.message,
        }
    }

    /// The same fault of a value that stands elsewhere.
    pub(super) fn moved(self, path: &str) -> Self {
        Self {
            path: path.to_owned(),
            ..self
        }
    }

    pub(super) fn below(self, parent: &str) -> Self {
        Self {
            path: format!("{parent}.{}", self.path),
            ..self
        }
    }
}

pub(super) type Checked = Result<(), Fault>;

pub(super) fn ensure(holds: bool, path: &str, message: impl FnOnce() -> String) -> Checked {
    match holds {
        true => Ok(()),
        false => Err(Fault {
            path: path.to_owned(),
            message: message(),
        }),
    }
}

pub(super) fn name(name: &str, path: &str) -> Checked {
    parse_name(name).map(drop).map_err(|message| Fault {
        path: path.to_owned(),
        message,
    })
}

/// Accepts lower-case letters, digits, dashes and dots.
pub(in crate::parse) fn parse_name(name: &str) -> Result<String, String> {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    let starts_well = name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    match starts_well && name.chars().all(allowed) {
        true => Ok(name.to_owned()),
        false => Err(format!(
            "name {name:?} is not of the form 4k-rand-read: lower-case letters, digits, dashes"
        )),
    }
}

/// Returns a fraction in percent, to four decimals.
pub(super) fn percent(fraction: f64) -> f64 {
    (fraction * 1e6).round() / 1e4
}

/// Sums of weights, and a weight's share of them, stay numbers.
const WEIGHT_MAX: f64 = 1e12;

pub(super) fn weight(value: f64, path: &str, what: &str) -> Checked {
    ensure(value > 0.0, path, || {
        format!("{what} is {value}, expected a number above 0")
    })?;
    ensure(value <= WEIGHT_MAX, path, || {
        format!("{what} is {value:e}, expected up to {WEIGHT_MAX:e}")
    })
}
