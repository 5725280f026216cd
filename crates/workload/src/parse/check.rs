//! Whether a job and a method make sense, whatever form they were written in. A fault names the place
//! by its dotted path in the written form, which the caller turns into a line.

mod job;
mod load;
mod method;
mod pattern;

use super::Refusal;
use super::tree::Node;

pub(super) use self::job::job;
pub(super) use self::method::method;

const ALIGN_BYTES_MAX: u64 = 1 << 40;

#[derive(Debug)]
pub(super) struct Fault {
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

    fn below(self, parent: &str) -> Self {
        Self {
            path: format!("{parent}.{}", self.path),
            ..self
        }
    }
}

type Checked = Result<(), Fault>;

fn ensure(holds: bool, path: &str, message: impl FnOnce() -> String) -> Checked {
    match holds {
        true => Ok(()),
        false => Err(Fault {
            path: path.to_owned(),
            message: message(),
        }),
    }
}

fn name(name: &str, path: &str) -> Checked {
    parse_name(name).map(drop).map_err(|message| Fault {
        path: path.to_owned(),
        message,
    })
}

/// Accepts lower-case letters, digits, dashes and dots.
pub(super) fn parse_name(name: &str) -> Result<String, String> {
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
fn percent(fraction: f64) -> f64 {
    (fraction * 1e6).round() / 1e4
}

/// Sums of weights, and a weight's share of them, stay numbers.
const WEIGHT_MAX: f64 = 1e12;

fn weight(value: f64, path: &str, what: &str) -> Checked {
    ensure(value > 0.0, path, || {
        format!("{what} is {value}, expected a number above 0")
    })?;
    ensure(value <= WEIGHT_MAX, path, || {
        format!("{what} is {value:e}, expected up to {WEIGHT_MAX:e}")
    })
}
