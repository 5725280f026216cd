//! What was asked for and what was achieved, per target.

use serde::Serialize;

/// What the run was set up with.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SetupReport {
    /// `tsc` or `clock_gettime`.
    pub clock: String,
    /// Largest error of the clock's rate, parts per million, from its calibration.
    pub clock_error_ppm: f64,
    /// One per target, in the order given.
    pub targets: Vec<TargetSetup>,
}

/// What one target was set up with. Threads of a target are set up alike.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TargetSetup {
    /// `io_uring`, `threads`, or `in-process` where nothing is issued.
    pub backend: String,
    /// Why io_uring was not used, when it was wanted.
    pub fallback: Option<String>,
    /// Ring features in use: `single-issuer`, `defer-taskrun`, `no-sqarray`, `registered-ring`, ...
    pub ring: Vec<String>,
    /// Whether I/O buffers are registered (pinned once instead of per I/O).
    pub registered_buffers: bool,
    /// `hugetlb` (reserved pages), `transparent` (at the kernel's discretion) or `none` (not asked for).
    pub huge_pages: String,
    /// Whether the page cache is bypassed.
    pub direct: bool,
    /// Whether completions are polled for.
    pub poll: bool,
    /// Core of each load thread; empty when they are not pinned.
    pub cpus: Vec<usize>,
    /// What was asked for and not achieved, in plain words.
    pub notes: Vec<String>,
}
