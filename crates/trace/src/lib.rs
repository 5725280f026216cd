//! Recorded I/O: what a trace holds, and readers of the formats in which others record it. A reader takes bytes in any
//! portions and gives columns, so that a trace of any length needs little memory. A profile takes those columns, and says
//! what the trace is like. Nothing here opens a file.

mod batch;
mod biosnoop;
mod blkparse;
mod blktrace;
mod block_record;
mod columns;
mod fault;
mod format;
mod hash;
mod io;
mod iolog;
mod lines;
mod names;
mod number;
mod order;
mod pairing;
mod perf;
mod profile;
mod reader;
mod rwbs;
mod vscsi;

pub use batch::Batch;
pub use block_record::BlockRecord;
pub use columns::ColumnsError;
pub use fault::{Fault, Wrong};
pub use format::{Format, detect};
pub use io::{Flags, Io, Operation};
pub use profile::{Profile, ProfileReport};
pub use reader::{Reader, ReaderError};
