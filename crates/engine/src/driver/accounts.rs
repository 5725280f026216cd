//! What the loop counts when it looks up from its work: the intervals that are due, the last one, what is lost.

use super::{BATCH, Driver};
use crate::{offered::Offered, queue_pair::QueuePair};

impl<Q: QueuePair> Driver<Q> {
    /// Cuts the intervals that are due; whether the run is over.
    #[cold]
    pub(super) fn look_up(&mut self, now_ns: u64, mut offered: Option<&mut Offered>) -> bool {
        self.batch = BATCH.max(self.reap_min);
        self.meter.set_idle(self.queues.idle_ns());
        let (issued, slots) = (self.issued, &self.slots);
        self.meter.cut_due(
            now_ns,
            |at_ns| slots.age_ns(at_ns),
            |at_ns| Some(offered.as_mut()?.report(at_ns, issued)),
        );
        let oldest = slots.oldest().map(|slot| (&slot.request, slot.issued_ns));
        self.meter.watch(now_ns, oldest);
        if !self.meter.is_over(now_ns) {
            return false;
        }
        self.cut_last(offered);
        true
    }

    /// Ends the record now.
    pub(super) fn cut_last(&mut self, mut offered: Option<&mut Offered>) {
        self.meter.set_idle(self.queues.idle_ns());
        let (now_ns, issued, slots) = (self.clock.now_ns(), self.issued, &self.slots);
        let is_open = offered.is_some();
        let in_flight = slots.busy().map(|slot| {
            let arrival_ns = is_open.then_some(slot.arrival_ns);
            (slot.request.op, slot.issued_ns, arrival_ns)
        });
        self.meter.note_in_flight(now_ns, in_flight);
        self.meter.cut_last(
            now_ns,
            |at_ns| slots.age_ns(at_ns),
            |at_ns| Some(offered.as_mut()?.report(at_ns, issued)),
        );
    }

    /// Counts what is still in flight as lost.
    pub(super) fn count_lost(&mut self) {
        let now_ns = self.clock.now_ns();
        let oldest = self.slots.oldest();
        let age_ns = oldest.map(|slot| now_ns.saturating_sub(slot.issued_ns));
        self.meter.summary.lost = self.slots.in_flight() as u64;
        self.meter.summary.lost_age_ns = age_ns.unwrap_or_default();
    }

    /// Takes over what the queues have to say at the end.
    pub(super) fn hear_queues(&mut self) {
        if let Some(reason) = self.queues.fault() {
            self.meter.give_up(reason);
        }
        self.meter.summary.remarks = self.queues.remarks();
        self.meter.summary.notes = self.queues.notes();
    }
}
