//! What the arm may be doing, and the sums of its time.

/// What the arm is doing.
#[derive(Clone, Copy)]
pub(super) enum Work {
    /// Nothing that anybody waits for; it may read ahead.
    Idle,
    /// A read, or a write that is acknowledged from the medium.
    Command { slot: u32 },
    /// Writes from the cache.
    Destage { bytes: u64 },
    /// Reads ahead up to the point that was promised.
    Ahead,
    /// Writes a band of shingled tracks anew.
    Clean,
}

/// Time of the arm, by what it was spent on.
#[derive(Clone, Copy, Default)]
pub(super) struct Spent {
    pub(super) busy_ns: u64,
    pub(super) seek_ns: u64,
    pub(super) wait_ns: u64,
    pub(super) transfer_ns: u64,
}

impl Spent {
    /// Returns time in which data pass under the heads.
    pub(super) fn of_transfer(transfer_ns: u64) -> Self {
        Self {
            busy_ns: transfer_ns,
            transfer_ns,
            ..Self::default()
        }
    }

    pub(super) fn add(&mut self, more: Self) {
        self.busy_ns += more.busy_ns;
        self.seek_ns += more.seek_ns;
        self.wait_ns += more.wait_ns;
        self.transfer_ns += more.transfer_ns;
    }

    pub(super) fn take_off(&mut self, less: Self) {
        self.busy_ns -= less.busy_ns;
        self.seek_ns -= less.seek_ns;
        self.wait_ns -= less.wait_ns;
        self.transfer_ns -= less.transfer_ns;
    }
}

/// A visit of the arm, which is booked as a whole when its end is known.
#[derive(Clone, Copy)]
struct Visit {
    end_ns: u64,
    spent: Spent,
}

impl Visit {
    /// Returns what is still to come: the transfer is last, the wait for the place before it, the seek before that.
    fn left(&self, now_ns: u64) -> Spent {
        let busy_ns = self.end_ns.saturating_sub(now_ns).min(self.spent.busy_ns);
        let transfer_ns = self.spent.transfer_ns.min(busy_ns);
        let wait_ns = self.spent.wait_ns.min(busy_ns - transfer_ns);
        Spent {
            busy_ns,
            seek_ns: self.spent.seek_ns.min(busy_ns - transfer_ns - wait_ns),
            wait_ns,
            transfer_ns,
        }
    }
}

/// What the arm has spent and what of it is booked ahead.
#[derive(Clone, Default)]
pub(super) struct Booked {
    total: Spent,
    /// The visits of the work at hand.
    visits: Vec<Visit>,
}

impl Booked {
    /// Books a visit that ends then.
    pub(super) fn visit(&mut self, end_ns: u64, spent: Spent) {
        self.total.add(spent);
        self.visits.push(Visit { end_ns, spent });
    }

    /// Adds time in which reading ahead passed what was promised.
    pub(super) fn streamed(&mut self, transfer_ns: u64) {
        self.total.add(Spent::of_transfer(transfer_ns));
    }

    /// Takes time off that was booked for a stream that has ended before.
    pub(super) fn cut_short(&mut self, transfer_ns: u64) {
        self.total.take_off(Spent::of_transfer(transfer_ns));
    }

    /// The work is done, all its visits are past.
    pub(super) fn work_done(&mut self) {
        self.visits.clear();
    }

    /// Returns what was spent up to now.
    pub(super) fn until(&self, now_ns: u64) -> Spent {
        let mut spent = self.total;
        for visit in &self.visits {
            spent.take_off(visit.left(now_ns));
        }
        spent
    }
}
