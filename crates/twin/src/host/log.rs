//! What a run issued, I/O by I/O, for whoever asks for it.

use workload::Op;

use super::Driver;
use super::requests::Slot;
use crate::device::Device;

/// An I/O that returned within the window. Times count from the job's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issued {
    /// When its slot was free to issue it.
    pub issued_ns: u64,
    /// When it arrived; closed load: when it was issued.
    pub arrived_ns: u64,
    /// From issue to reaping.
    pub service_ns: u64,
    /// First byte.
    pub offset_bytes: u64,
    /// Length.
    pub size_bytes: u32,
    /// What it did.
    pub op: Op,
}

impl<D: Device> Driver<'_, D> {
    /// Notes an I/O that has been reaped.
    #[inline]
    pub(super) fn note(&mut self, slot: &Slot, service_ns: u64) {
        let Some(log) = &mut self.log else {
            return;
        };
        log.push(Issued {
            issued_ns: slot.issued_ns - self.start_ns,
            arrived_ns: slot.arrived_ns - self.start_ns,
            service_ns,
            offset_bytes: slot.offset_bytes,
            size_bytes: slot.size_bytes,
            op: slot.op,
        });
    }
}
