//! Commands on their way in and out: which the drive takes at once and which the host keeps until a slot is free, the
//! pipeline that they pass, whom they are handed to behind it, and their end.

use workload::Op;

use super::{EINVAL, EOPNOTSUPP, InFlight, Ssd};
use crate::device::{Completion, CompletionKind};
use crate::sim::event::Event;
use crate::sim::server::Waits;
use crate::ssd::params::UNIT_BYTES;

impl Ssd {
    /// Whether a command on its way can be taken now already: it will find a slot, nothing will come before it,
    /// and nobody asks how busy the pipeline is before it is there.
    #[inline]
    pub(super) fn takes_at_once(&self, at_ns: u64) -> bool {
        self.in_order
            && self.submits_pending == 0
            && at_ns <= self.limit_ns
            && self.commands_taken < self.slots
            && self.governor.is_none()
            && self.idle.is_none()
    }

    #[inline]
    pub(super) fn take_command(&mut self, slot: u32) {
        if self.commands_taken >= self.slots {
            self.kept_by_host.push_back(slot);
            self.place_waits.begin(self.now_ns, Waits::WHOLE);
            if self.commands_taken == 0 {
                self.wake_up();
            }
        } else {
            self.commands_taken += 1;
            self.enter_pipeline(slot, self.now_ns);
        }
    }

    /// A command that arrives at `at_ns`, after all others so far, goes through the pipeline.
    #[inline(always)]
    pub(super) fn enter_pipeline(&mut self, slot: u32, at_ns: u64) {
        let request = &self.requests[slot].request;
        let unit_ps = match request.op {
            Op::Read => self.read_unit_ps,
            Op::Write => self.write_unit_ps,
            _ => 0,
        };
        let pages = u64::from(request.size_bytes.div_ceil(UNIT_BYTES));
        self.commands += 1;
        let start_ps = self
            .pipelines
            .serve(at_ns, self.command_ps + pages * unit_ps);
        self.pipeline_waits
            .add(start_ps / 1000 - at_ns, Waits::WHOLE);
        let out_ns = (start_ps + self.command_ps).div_ceil(1000) + self.latency_ns;
        self.calendar.push(out_ns, Event::Dispatch.with(slot));
        if self.governor.is_some() {
            self.govern();
        }
    }

    /// Takes commands that the host has kept, as far as there are slots.
    pub(super) fn take_kept(&mut self) {
        while self.commands_taken < self.slots
            && let Some(next) = self.kept_by_host.pop_front()
        {
            self.place_waits.end(self.now_ns, Waits::WHOLE);
            self.commands_taken += 1;
            self.enter_pipeline(next, self.now_ns);
        }
    }

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
            Op::Read => self.read(slot, first, count),
            Op::Write if request.handle() >= self.plain_handles => self.write_to_group(slot),
            Op::Write => self.write(slot),
            Op::Trim | Op::WriteZeroes => {
                // Both deallocate; only whole indirection units can be, as NVMe allows.
                let unit = u64::from(self.params.indirection_unit_bytes);
                let end_bytes = request.offset_bytes + u64::from(request.size_bytes);
                let from = request.offset_bytes.div_ceil(unit) as u32 * self.indirection_pages;
                let to = (end_bytes / unit) as u32 * self.indirection_pages;
                (from..to).for_each(|page| self.ftl.trim(page));
                if let Some(flush) = &mut self.map_flush {
                    (from..to).for_each(|page| flush.change(page, 1));
                }
                self.calendar
                    .push(self.now_ns, Event::Acknowledge.with(slot));
            }
            // The buffer is protected against power loss: what is acknowledged is safe.
            Op::Flush => self
                .calendar
                .push(self.now_ns, Event::Acknowledge.with(slot)),
            Op::Append => self.refuse(slot, EOPNOTSUPP),
        }
    }

    pub(super) fn refuse(&mut self, slot: u32, errno: i32) {
        self.requests[slot].errno = errno;
        self.calendar
            .push(self.now_ns, Event::Acknowledge.with(slot));
    }

    pub(super) fn complete(&mut self, slot: u32) -> Completion {
        let InFlight {
            request,
            tag,
            errno,
            ..
        } = self.requests[slot];
        self.requests.release(slot);
        if let Some(namespaces) = self.namespaces.as_mut().filter(|_| errno == 0) {
            namespaces.completed(slot, &request, self.now_ns);
        }
        self.commands_taken -= 1;
        if !self.kept_by_host.is_empty() {
            self.take_kept();
        }
        if self.commands_taken == 0 {
            self.begin_idle();
        }
        Completion {
            at_ns: self.now_ns,
            tag,
            kind: if errno == 0 {
                CompletionKind::Done
            } else {
                CompletionKind::Failed(errno)
            },
        }
    }
}
