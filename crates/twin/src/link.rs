//! The PCIe link: both directions, full duplex. Data travels in packets of at most
//! `tlp_payload_bytes` with `tlp_overhead_bytes` each; a share of the symbols goes to the protocol.

use crate::SsdParams;
use crate::params::UNIT_BYTES;
use crate::server::Fifo;

/// Bytes of a completion entry (16) and its interrupt message (4).
const COMPLETION_BYTES: u32 = 20;

/// Raw rate of one lane in bytes per ns: PCIe Base Specification, transfer rate x encoding.
fn lane_bytes_per_ns(generation: u32) -> f64 {
    match generation {
        3 => 8.0 * (128.0 / 130.0) / 8.0,
        4 => 16.0 * (128.0 / 130.0) / 8.0,
        5 => 32.0 * (128.0 / 130.0) / 8.0,
        _ => 64.0 * (242.0 / 256.0) / 8.0,
    }
}

/// Both directions of a link.
pub struct Link {
    /// Device to host: read data and completions.
    pub to_host: Fifo,
    /// Host to device: written data.
    pub to_device: Fifo,
    ps_per_byte: f64,
    payload_bytes: u32,
    overhead_bytes: u32,
    unit_ps: u64,
    completion_ps: u64,
    /// Data bytes carried, both directions.
    pub bytes: u64,
}

impl Link {
    /// An idle link.
    pub fn new(params: &SsdParams) -> Self {
        let rate = lane_bytes_per_ns(params.pcie_generation)
            * f64::from(params.pcie_lanes)
            * (1.0 - params.host.link_protocol_share);
        let mut link = Self {
            to_host: Fifo::new(1),
            to_device: Fifo::new(1),
            ps_per_byte: 1000.0 / rate,
            payload_bytes: params.host.tlp_payload_bytes,
            overhead_bytes: params.host.tlp_overhead_bytes,
            unit_ps: 0,
            completion_ps: 0,
            bytes: 0,
        };
        link.unit_ps = link.packets_ps(UNIT_BYTES);
        link.completion_ps =
            ((COMPLETION_BYTES + 2 * link.overhead_bytes) as f64 * link.ps_per_byte).round() as u64;
        link
    }

    fn packets_ps(&self, bytes: u32) -> u64 {
        let packets = bytes.div_ceil(self.payload_bytes);
        (f64::from(bytes + packets * self.overhead_bytes) * self.ps_per_byte).round() as u64
    }

    #[inline]
    fn data_ps(&self, bytes: u32) -> u64 {
        if bytes.is_multiple_of(UNIT_BYTES) {
            self.unit_ps * u64::from(bytes / UNIT_BYTES)
        } else {
            self.packets_ps(bytes)
        }
    }

    /// Sends read data to the host now, and the completion entry after it if this is the last.
    #[inline]
    pub fn send(&mut self, now_ns: u64, bytes: u32, last: bool) -> u64 {
        self.bytes += u64::from(bytes);
        let entry_ps = if last { self.completion_ps } else { 0 };
        self.to_host
            .finish_ns(now_ns, self.data_ps(bytes) + entry_ps)
    }

    /// Sends a completion entry now.
    #[inline]
    pub fn complete(&mut self, now_ns: u64) -> u64 {
        self.to_host.finish_ns(now_ns, self.completion_ps)
    }

    /// Fetches written data from the host now.
    #[inline]
    pub fn fetch(&mut self, now_ns: u64, bytes: u32) -> u64 {
        self.bytes += u64::from(bytes);
        self.to_device.finish_ns(now_ns, self.data_ps(bytes))
    }
}
