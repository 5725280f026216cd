//! Namespaces: consecutive ranges of a drive's addresses that share its link, its flash, its cleaning and its wear. A
//! request belongs to the namespace of its first byte. Each has placement handles of its own, numbered from 0, if the
//! drive has enough of them; else all have the same. Each counts its I/O and their time.

use workload::{Op, Request};

use super::EINVAL;
use crate::device::Share;
use crate::ssd::params::{SsdParams, UNIT_BYTES};

/// The namespaces of a drive with several.
#[derive(Clone)]
pub(super) struct Namespaces {
    /// First page of each.
    starts: Box<[u32]>,
    /// What requests address: the drive, or one namespace of it.
    first_byte: u64,
    pub(super) address_bytes: u64,
    drive_bytes: u64,
    /// Handles of each, and how far those of the next are from them.
    handles: u16,
    handles_apart: u16,
    /// When each request in flight was submitted.
    since_ns: Vec<u64>,
    pub(super) shares: Vec<Share>,
}

impl Namespaces {
    /// Returns the namespaces; `None` for a drive with one.
    pub(super) fn new(params: &SsdParams, logical_pages: u32) -> Option<Box<Self>> {
        let parts = params.namespace_shares().filter(|parts| parts.len() > 1)?;
        let count = parts.len() as u32;
        let own = params.placement_handles >= count;
        let handles = if own {
            params.placement_handles / count
        } else {
            params.placement_handles
        };
        let indirection_pages = params.indirection_unit_bytes / UNIT_BYTES;
        let mut begin = 0.0;
        let starts: Vec<u32> = parts
            .iter()
            .map(|part| {
                let start = (f64::from(logical_pages) * begin) as u32 & !(indirection_pages - 1);
                begin += part;
                start
            })
            .collect();
        let (first, end) = match params.namespace as usize {
            0 => (0, logical_pages),
            number => (
                starts[number - 1],
                starts.get(number).copied().unwrap_or(logical_pages),
            ),
        };
        let bytes = |pages| u64::from(pages) * u64::from(UNIT_BYTES);
        let share = |member| Share {
            group: "namespace",
            member,
            n: 0,
            total_ns: 0,
            host_write_bytes: 0,
            media_write_bytes: 0,
        };
        Some(Box::new(Self {
            starts: starts.into_boxed_slice(),
            first_byte: bytes(first),
            address_bytes: bytes(end - first),
            drive_bytes: bytes(logical_pages),
            handles: handles as u16,
            handles_apart: if own { handles as u16 } else { 0 },
            since_ns: Vec::new(),
            shares: (1..=count).map(share).collect(),
        }))
    }

    fn of(&self, request: &Request) -> usize {
        self.of_page((request.offset_bytes / u64::from(UNIT_BYTES)) as u32)
    }

    fn of_page(&self, page: u32) -> usize {
        self.starts.partition_point(|&start| start <= page) - 1
    }

    /// A write is in the buffer, and `pages` will be programmed for it.
    pub(super) fn wrote(&mut self, request: &Request, pages: u32) {
        let namespace = self.of(request);
        let share = &mut self.shares[namespace];
        share.host_write_bytes += u64::from(request.size_bytes);
        share.media_write_bytes += u64::from(pages) * u64::from(UNIT_BYTES);
    }

    /// Cleaning moves these logical pages; those past the last namespace are the page map's own.
    pub(super) fn moved(&mut self, logical_pages: &[u32]) {
        let end = (self.drive_bytes / u64::from(UNIT_BYTES)) as u32;
        for &page in logical_pages.iter().filter(|&&page| page < end) {
            let namespace = self.of_page(page);
            self.shares[namespace].media_write_bytes += u64::from(UNIT_BYTES);
        }
    }

    /// Returns a request as the drive sees it; what lies beyond the namespace lies beyond the drive.
    pub(super) fn on_drive(&self, request: Request) -> Request {
        let end = request
            .offset_bytes
            .saturating_add(u64::from(request.size_bytes));
        Request {
            offset_bytes: match end > self.address_bytes {
                true => self.drive_bytes,
                false => self.first_byte + request.offset_bytes,
            },
            ..request
        }
    }

    pub(super) fn submitted(&mut self, slot: u32, at_ns: u64) {
        let slot = slot as usize;
        if slot >= self.since_ns.len() {
            self.since_ns.resize(slot + 1, 0);
        }
        self.since_ns[slot] = at_ns;
    }

    /// Returns the drive's handle for that of a request; an errno where the namespace has none of that number.
    pub(super) fn handle(&self, request: &Request) -> Result<u16, i32> {
        let handle = request.handle();
        if request.op == Op::Write && handle >= self.handles {
            return Err(EINVAL);
        }
        Ok(handle + self.of(request) as u16 * self.handles_apart)
    }

    pub(super) fn completed(&mut self, slot: u32, request: &Request, now_ns: u64) {
        if matches!(request.op, Op::Read | Op::Write) {
            let namespace = self.of(request);
            let share = &mut self.shares[namespace];
            share.n += 1;
            share.total_ns += now_ns - self.since_ns[slot as usize];
        }
    }
}
