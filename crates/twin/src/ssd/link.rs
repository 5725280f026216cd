//! The link between host and drive. PCIe: both directions at once, packets of at most
//! `tlp_payload_bytes` with `tlp_overhead_bytes` each, a share of the symbols for the protocol. SATA:
//! one direction at a time, 8b/10b, frames of at most 8 KiB that both sides agree on one by one.
//!
//! The small frames of a SATA command cross at several moments of its life; they are booked together,
//! with its completion.

use crate::sim::server::{Fifo, Waits};
use crate::ssd::params::SsdParams;
use crate::ssd::params::UNIT_BYTES;

/// Bytes of a PCIe completion entry (16) and its interrupt message (4).
const COMPLETION_BYTES: u32 = 20;

/// Most data in a SATA frame, and its start, header, CRC and end (Serial ATA 3.x, Data FIS).
const SATA_PAYLOAD_BYTES: u32 = 8192;
const SATA_OVERHEAD_BYTES: u32 = 16;
/// Frames of a queued command that are not data, with their bytes: command (20), its release (20), DMA setup (28), set
/// device bits (8). Each has start, CRC and end too (12).
const SATA_COMMAND_FRAMES: u32 = 4;
const SATA_COMMAND_BYTES: u32 = 20 + 20 + 28 + 8 + SATA_COMMAND_FRAMES * 12;

/// Returns the raw rate of one lane in bytes per ns: PCIe Base Specification, transfer rate x encoding.
fn lane_bytes_per_ns(generation: u32) -> f64 {
    match generation {
        3 => 8.0 * (128.0 / 130.0) / 8.0,
        4 => 16.0 * (128.0 / 130.0) / 8.0,
        5 => 32.0 * (128.0 / 130.0) / 8.0,
        _ => 64.0 * (242.0 / 256.0) / 8.0,
    }
}

/// The link, both directions.
#[derive(Clone)]
pub struct Link {
    /// To the host, and where they differ to the device.
    to_host: Fifo,
    to_device: Option<Fifo>,
    /// How long I/O waited for either.
    to_host_waits: Waits,
    to_device_waits: Waits,
    ps_per_byte: f64,
    payload_bytes: u32,
    overhead_bytes: u32,
    frame_ps: f64,
    /// What the data of most requests takes: whole packets, and 4 KiB where that is less than one.
    chunk_bytes: u32,
    chunk_ps: u64,
    unit_ps: u64,
    completion_ps: u64,
    /// Data bytes carried, both directions.
    pub bytes: u64,
}

impl Link {
    /// Returns an idle link.
    pub fn new(params: &SsdParams) -> Self {
        let mut link = if params.sata_gbps > 0.0 {
            Self::sata(params)
        } else {
            Self::pcie(params)
        };
        link.chunk_ps = link.packets_ps(link.chunk_bytes);
        link.unit_ps = link.packets_ps(UNIT_BYTES);
        link
    }

    fn pcie(params: &SsdParams) -> Self {
        let rate = lane_bytes_per_ns(params.pcie_generation)
            * f64::from(params.pcie_lanes)
            * (1.0 - params.host.link_protocol_share);
        let ps_per_byte = 1000.0 / rate;
        let entry_bytes = COMPLETION_BYTES + 2 * params.host.tlp_overhead_bytes;
        Self {
            to_host: Fifo::new(1),
            to_device: Some(Fifo::new(1)),
            to_host_waits: Waits::default(),
            to_device_waits: Waits::default(),
            ps_per_byte,
            payload_bytes: params.host.tlp_payload_bytes,
            overhead_bytes: params.host.tlp_overhead_bytes,
            frame_ps: 0.0,
            chunk_bytes: UNIT_BYTES,
            chunk_ps: 0,
            unit_ps: 0,
            completion_ps: (f64::from(entry_bytes) * ps_per_byte).round() as u64,
            bytes: 0,
        }
    }

    fn sata(params: &SsdParams) -> Self {
        // 8b/10b: ten bits on the line for each byte.
        let ps_per_byte = 1e4 / params.sata_gbps;
        let frame_ps = params.host.sata_frame_ns * 1000.0;
        let command_ps =
            f64::from(SATA_COMMAND_FRAMES) * frame_ps + f64::from(SATA_COMMAND_BYTES) * ps_per_byte;
        Self {
            to_host: Fifo::new(1),
            to_device: None,
            to_host_waits: Waits::default(),
            to_device_waits: Waits::default(),
            ps_per_byte,
            payload_bytes: SATA_PAYLOAD_BYTES,
            overhead_bytes: SATA_OVERHEAD_BYTES,
            frame_ps,
            chunk_bytes: SATA_PAYLOAD_BYTES,
            chunk_ps: 0,
            unit_ps: 0,
            completion_ps: command_ps.round() as u64,
            bytes: 0,
        }
    }

    fn packets_ps(&self, bytes: u32) -> u64 {
        let packets = bytes.div_ceil(self.payload_bytes);
        (f64::from(bytes + packets * self.overhead_bytes) * self.ps_per_byte
            + f64::from(packets) * self.frame_ps)
            .round() as u64
    }

    #[inline]
    fn data_ps(&self, bytes: u32) -> u64 {
        if bytes == UNIT_BYTES {
            self.unit_ps
        } else if bytes.is_multiple_of(self.chunk_bytes) {
            self.chunk_ps * u64::from(bytes / self.chunk_bytes)
        } else {
            self.packets_ps(bytes)
        }
    }

    /// Sends read data, a share of an I/O, to the host now, and the completion after it if this is the last.
    #[inline]
    pub fn send(&mut self, now_ns: u64, bytes: u32, share: u32, last: bool) -> u64 {
        self.bytes += u64::from(bytes);
        let entry_ps = if last { self.completion_ps } else { 0 };
        let service_ps = self.data_ps(bytes) + entry_ps;
        self.to_host
            .finish_after_ns(now_ns, service_ps, share, &mut self.to_host_waits)
    }

    /// Sends a completion now.
    #[inline]
    pub fn complete(&mut self, now_ns: u64) -> u64 {
        self.to_host.finish_after_ns(
            now_ns,
            self.completion_ps,
            Waits::WHOLE,
            &mut self.to_host_waits,
        )
    }

    /// Fetches written data from the host now.
    #[inline]
    pub fn fetch(&mut self, now_ns: u64, bytes: u32) -> u64 {
        self.bytes += u64::from(bytes);
        let service_ps = self.data_ps(bytes);
        let (way, waits) = match &mut self.to_device {
            Some(way) => (way, &mut self.to_device_waits),
            None => (&mut self.to_host, &mut self.to_host_waits),
        };
        way.finish_after_ns(now_ns, service_ps, Waits::WHOLE, waits)
    }

    /// Returns the directions by name, how long each was busy up to now, and how long I/O waited for it.
    pub fn used_ns(&self, now_ns: u64) -> impl Iterator<Item = (&'static str, u64, u64)> {
        let names: &[_] = match self.to_device {
            None => &["SATA link"],
            Some(_) => &["PCIe link (read)", "PCIe link (write)"],
        };
        let ways = std::iter::once(&self.to_host).chain(&self.to_device);
        let busy = ways.flat_map(move |way| way.busy_ns(now_ns));
        let waits = [&self.to_host_waits, &self.to_device_waits];
        let used = names.iter().zip(busy).zip(waits);
        used.map(move |((name, busy_ns), waits)| (*name, busy_ns, waits.total_ns(now_ns)))
    }
}
