//! The binary traces of CloudPhysics, as VMware's vscsiStats records them: versions 1 and 2, little-endian, without a
//! header. Source: `trace_v1_record_t` and `trace_v2_record_t` in libCacheSim's vscsi.h. Lengths are bytes there,
//! places are 512-byte blocks, times are microseconds. No version records a device.

use crate::{Fault, Flags, Io, Operation, lines::SECTOR_BYTES, names::Dictionary};

/// Bytes of a record of each version, and where its fields begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) bytes: usize,
    version: usize,
    command: usize,
    length: usize,
    block: usize,
    time: usize,
    latency: Option<usize>,
}

const VERSION_1: Layout = Layout {
    bytes: 32,
    command: 12,
    version: 14,
    length: 4,
    block: 16,
    time: 24,
    latency: None,
};
const VERSION_2: Layout = Layout {
    bytes: 40,
    command: 0,
    version: 2,
    length: 8,
    block: 16,
    time: 24,
    latency: Some(32),
};
const MICROSECOND_NS: u64 = 1_000;

/// Bytes that `layout` looks at.
pub(crate) const HEAD_BYTES: usize = 2 * VERSION_2.bytes;

/// Returns the layout of records: two in a row must carry their version.
pub(crate) fn layout(head: &[u8]) -> Option<Layout> {
    let carries = |layout: &Layout, version: u8| {
        let records = head.chunks_exact(layout.bytes).take(2);
        head.len() >= layout.bytes
            && records
                .map(|record| record[layout.version + 1])
                .all(|found| found == version)
    };
    [(VERSION_2, 2), (VERSION_1, 1)]
        .into_iter()
        .find(|(layout, version)| carries(layout, *version))
        .map(|(layout, _)| layout)
}

/// Returns the I/O of a record, `None` for a command that moves no data.
pub(crate) fn record(
    layout: Layout,
    bytes: &[u8],
    names: &mut Dictionary,
) -> Result<Option<Io>, Fault> {
    let long = |at: usize| {
        let mut eight = [0; 8];
        eight.copy_from_slice(&bytes[at..at + 8]);
        u64::from_le_bytes(eight)
    };
    let Some(op) = operation(bytes[layout.command]) else {
        return Ok(None);
    };
    let length = layout.length;
    let mut four = [0; 4];
    four.copy_from_slice(&bytes[length..length + 4]);
    let size_bytes = u64::from(u32::from_le_bytes(four));
    let times = |value: u64, unit: u64, field| {
        let scaled = value.checked_mul(unit);
        scaled
            .filter(|&scaled| scaled <= i64::MAX as u64)
            .ok_or(Fault::Range { field })
    };
    let flush = op == Operation::Flush;
    if size_bytes == 0 && !flush {
        return Ok(None);
    }
    let latency_ns = layout
        .latency
        .map(|at| times(long(at), MICROSECOND_NS, "latency"));
    Ok(Some(Io {
        issue_ns: times(long(layout.time), MICROSECOND_NS, "time")?,
        latency_ns: latency_ns.transpose()?,
        offset_bytes: if flush {
            0
        } else {
            times(long(layout.block), SECTOR_BYTES, "block")?
        },
        size_bytes: if flush { 0 } else { size_bytes },
        op,
        flags: Flags::default(),
        device: names.devices.number(b"")?,
        process: None,
        pid: None,
        cpu: None,
    }))
}

/// Returns what a SCSI command does. Source: operation codes of SBC-4, tables 34 and 35.
const fn operation(code: u8) -> Option<Operation> {
    match code {
        0x08 | 0x28 | 0xa8 | 0x88 => Some(Operation::Read),
        0x0a | 0x2a | 0xaa | 0x8a | 0x2e | 0x41 | 0x93 => Some(Operation::Write),
        0x35 | 0x91 => Some(Operation::Flush),
        0x42 => Some(Operation::Discard),
        _ => None,
    }
}
