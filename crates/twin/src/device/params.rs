//! What all virtual devices take as parameters: the machine that issues the I/O, and what is wrong with a parameter.

use serde::{Deserialize, Serialize};

/// A parameter that makes no sense, alone or with the others.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("twin parameter {name}: {message}")]
pub struct ParamError {
    /// Name as in the device's TOML.
    pub name: &'static str,
    /// What was found and what is needed.
    pub message: String,
}

/// The machine that issues the I/O: a *test bench* of `catalog/systems`. One set for all drives
/// that were tested on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostParams {
    /// Logical cores the load generator can use; thread `i` runs on core `i % cores`.
    pub cores: u32,
    /// CPU time to prepare and submit one I/O, load generator and kernel together.
    pub submit_us: f64,
    /// CPU time to reap one completion and account for it.
    pub complete_us: f64,
    /// Delay without CPU work between the completion entry in memory and the thread that reaps it
    /// (interrupt, wake-up).
    pub wake_us: f64,
    /// Most data bytes in one PCIe packet on this host (the smaller of the slot's and drive's).
    #[serde(default = "default_payload")]
    pub tlp_payload_bytes: u32,
    /// Packet bytes that are not data: framing, sequence, header, CRC.
    #[serde(default = "default_overhead")]
    pub tlp_overhead_bytes: u32,
    /// Share of the link's symbols spent on flow control, acknowledgements and skip sets, 0..1.
    #[serde(default)]
    pub link_protocol_share: f64,
    /// Time that a SATA port and the drive take to agree on a frame: both ask, grant and
    /// acknowledge before the next one may go.
    #[serde(default)]
    pub sata_frame_ns: f64,
    /// Rate at which data crosses the host's bus adapter, each way, MB/s. A drive of an array has its share. 0: no
    /// adapter, or none that could be the limit.
    #[serde(default)]
    pub adapter_mbps: f64,
    /// In a system of several drives, whether each thread loads one drive: thread `i` drive `i % drives`. Otherwise all
    /// threads load all drives.
    #[serde(default)]
    pub drive_per_thread: bool,
}

const fn default_payload() -> u32 {
    512
}

const fn default_overhead() -> u32 {
    24
}

/// Returns an error about one parameter.
pub fn fail<T>(name: &'static str, message: impl Into<String>) -> Result<T, ParamError> {
    Err(ParamError {
        name,
        message: message.into(),
    })
}
