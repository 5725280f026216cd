//! Issues a job to real files and devices, as fast as one core can, and records what happened.
//!
//! [`start`] opens the targets, sets every thread up, releases them together and returns a [`Run`]
//! that is polled for one-second intervals while it runs. Each thread of a job has its own io_uring with one registered
//! file and one registered buffer region. Where the kernel forbids io_uring, a thread per outstanding I/O does the same
//! with `pread` and `pwrite`. Nothing here decides *what* to issue (crate `workload` does) or whether it is safe to
//! overwrite a target (the session does). How it works and what it costs: `docs/explanation/engine.md`.

mod affinity;
mod aggregator;
mod buffers;
mod calls;
mod clock;
mod copying_queue;
mod driver;
mod errno;
mod error;
mod file_set;
mod gate;
mod gpu;
mod in_set;
mod message;
mod meter;
mod null;
mod nvme;
mod offered;
mod open_file;
mod opened;
mod options;
mod page_cache;
mod prioritized;
mod priority;
mod protocol;
mod pulse;
mod queue_attributes;
mod queue_pair;
mod ring;
mod run;
mod sector;
mod setup;
mod start;
mod submission;
mod target;
mod target_spec;
mod threads;
mod uring;
mod verify;
mod verify_journal;
mod watermark;
mod write_journal;
mod zones;

pub use errno::describe_errno;
pub use error::EngineError;
pub use options::{Backend, Options};
pub use ring::IODEPTH_MAX;
pub use run::Run;
pub use setup::{SetupReport, TargetSetup};
pub use start::{start, start_unless};
pub use target_spec::{FileId, TargetKind, TargetSpec};
pub use verify_journal::{JournalReport, verify_journal};
pub use watermark::first_foreign;
