//! The grammar: what each key of a job and a method may hold, and its default. Values are only read
//! here; whether they make sense together is decided in `check`.

mod files;
mod job;
mod load;
mod method;
mod mix;
mod pattern;
mod position;

pub(super) use self::job::job;
pub(super) use self::method::method;
