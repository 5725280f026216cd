//! What was asked for and what was achieved, per target.

use std::collections::BTreeMap;

use recording::Gpu;
use serde::Serialize;

use crate::TargetKind;

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
    /// `hugetlb` (reserved pages), `transparent` (at the kernel's discretion) or `none`. `none` means not asked for, or
    /// not given for all buffers; a note then says how far.
    pub huge_pages: String,
    /// Whether the page cache is bypassed.
    pub direct: bool,
    /// Whether completions are polled for.
    pub poll: bool,
    /// The GPU in whose memory reads end; `None`: they end in the host's.
    pub gpu: Option<Gpu>,
    /// Core of each load thread that is pinned to one, ascending; empty when none is.
    pub cpus: Vec<usize>,
    /// What was asked for and not achieved, in plain words.
    pub notes: Vec<String>,
}

impl SetupReport {
    /// Returns how the load on `target` was made, for a reader, by aspect.
    pub(crate) fn in_words(
        &self,
        target: &TargetSetup,
        kind: TargetKind,
    ) -> BTreeMap<String, String> {
        let clock = match self.clock.as_str() {
            "tsc" => format!(
                "time stamp counter, rate known to {:.1} ppm",
                self.clock_error_ppm
            ),
            other => other.to_owned(),
        };
        let mut words = BTreeMap::from([
            ("clock".into(), clock),
            ("load threads".into(), target.pinning()),
        ]);
        match &target.fallback {
            Some(reason) => {
                words.insert("interface".into(), format!("a thread per I/O ({reason})"));
            }
            None => {
                words.insert("interface".into(), target.interface());
            }
        }
        if !matches!(kind, TargetKind::Null | TargetKind::Nop) {
            let cache = match (kind, target.direct) {
                (TargetKind::NvmeGeneric, _) => "none: NVMe passthrough",
                (_, true) => "bypassed (O_DIRECT)",
                (_, false) => "used",
            };
            let completions = if target.poll { "polled" } else { "not polled" };
            words.insert("completions".into(), completions.into());
            words.insert("page cache".into(), cache.into());
            words.insert("I/O buffers".into(), target.buffers());
            if let Some(gpu) = &target.gpu {
                words.extend(gpu_in_words(gpu));
            }
        }
        words
    }
}

fn gpu_in_words(gpu: &Gpu) -> [(String, String); 3] {
    let link = gpu.link.as_ref();
    let link = link.map_or_else(String::new, |link| format!(", PCIe {link}"));
    let copies = gpu.copy_bytes_per_s / 1e9;
    [
        (
            "reads end in".into(),
            "the memory of a GPU, by way of host memory".into(),
        ),
        ("GPU".into(), format!("{}{link}", gpu.name)),
        (
            "copies to the GPU alone".into(),
            format!("{copies:.1} GB/s"),
        ),
    ]
}

impl TargetSetup {
    fn interface(&self) -> String {
        match self.ring.as_slice() {
            [] => self.backend.clone(),
            features => format!("{} ({})", self.backend, features.join(", ")),
        }
    }

    fn pinning(&self) -> String {
        match self.cpus.as_slice() {
            [] => "not pinned".into(),
            cpus => {
                let cpus: Vec<_> = cpus.iter().map(ToString::to_string).collect();
                format!("pinned to core {}", cpus.join(", "))
            }
        }
    }

    fn buffers(&self) -> String {
        let registered = if self.registered_buffers {
            "registered"
        } else {
            "not registered"
        };
        match self.huge_pages.as_str() {
            "none" => format!("{registered}, ordinary pages"),
            kind => format!("{registered}, huge pages ({kind})"),
        }
    }
}
