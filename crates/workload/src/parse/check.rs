//! Whether a job and a method make sense, whatever form they were written in. A fault names the place
//! by its dotted path in the written form, which the caller turns into a line.

mod content;
mod files;
mod flow;
mod job;
mod load;
mod method;
mod pattern;
mod priority;
mod rules;

pub(super) use self::job::job;
pub(super) use self::method::method;
pub(super) use self::rules::{Fault, parse_name};
