//! What a command asks for, once it is out of the pipeline, and its end.

use workload::{Op, name_ops};

use super::{EINVAL, EOPNOTSUPP, InFlight, Ssd};
use crate::device::{Completion, CompletionKind};
use crate::sim::event::Event;

impl Ssd {
    #[inline]
    pub(super) fn dispatch(&mut self, slot: u32) {
        if self.zns.is_some() {
            return self.dispatch_zoned(slot);
        }
        let mut request = self.requests[slot].request;
        let (first, count) = Self::pages(&request);
        if u64::from(first) + u64::from(count) > u64::from(self.geometry.logical_pages) {
            return self.refuse(slot, EINVAL);
        }
        if let Some(namespaces) = &self.namespaces {
            match namespaces.handle(&request) {
                Ok(handle) => request.placement = handle,
                Err(errno) => return self.refuse(slot, errno),
            }
            self.requests[slot].request = request;
        }
        match request.op {
            Op::Read if self.read_ahead.is_some() => self.read_with_ahead(slot, first, count),
            Op::Read => self.read(slot, first, count),
            Op::Write if request.handle() >= self.groups.plain_handles => self.write_to_group(slot),
            Op::Write => self.write(slot),
            Op::Trim | Op::WriteZeroes => {
                // Both deallocate; only whole indirection units can be, as NVMe allows.
                let unit = u64::from(self.params.indirection_unit_bytes);
                let end_bytes = request.offset_bytes + u64::from(request.size_bytes);
                let pages = self.translation.indirection_pages;
                let from = request.offset_bytes.div_ceil(unit) as u32 * pages;
                let to = (end_bytes / unit) as u32 * pages;
                self.translation.trim(from..to);
                self.calendar
                    .push(self.now_ns, Event::Acknowledge.with(slot));
            }
            // The buffer is protected against power loss: what is acknowledged is safe.
            Op::Flush => self
                .calendar
                .push(self.now_ns, Event::Acknowledge.with(slot)),
            Op::Append | Op::Allocate => self.refuse(slot, EOPNOTSUPP),
            name_ops!() => self.refuse(slot, EOPNOTSUPP),
        }
    }

    pub(super) fn refuse(&mut self, slot: u32, errno: i32) {
        self.requests[slot].errno = errno;
        self.calendar
            .push(self.now_ns, Event::Acknowledge.with(slot));
    }

    /// Releases a command whose end the host sees at `at_ns`.
    #[inline]
    pub(super) fn complete(&mut self, slot: u32, at_ns: u64) -> Completion {
        let InFlight {
            request,
            tag,
            errno,
            ..
        } = self.requests[slot];
        self.requests.release(slot);
        if let Some(namespaces) = self.namespaces.as_mut().filter(|_| errno == 0) {
            namespaces.completed(slot, &request, at_ns);
        }
        self.queue.complete();
        if self.queue.has_kept() {
            self.take_kept();
        }
        if self.queue.is_idle() {
            self.begin_idle();
        }
        Completion {
            at_ns,
            tag,
            kind: if errno == 0 {
                CompletionKind::Done
            } else {
                CompletionKind::Failed(errno)
            },
        }
    }
}
