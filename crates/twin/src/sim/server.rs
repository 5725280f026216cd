//! First-come first-served servers whose customers arrive in time order.
//!
//! Because arrivals come in order, the state of such a queue is the time at which it will be free. No events are
//! needed. Nothing here may be booked for a future arrival. A resource that sees arrivals out of order has a queue of
//! its own and events (`flash`). Times are kept in picoseconds: 4 KiB take 282 ns on a PCIe 5 x4 link, and a rounding
//! of 0.2 % would show.

const PS: u64 = 1000;

/// One server, or several that serve one queue.
#[derive(Clone)]
pub struct Fifo {
    /// The first server, without a detour: mostly there is but one.
    first: Server,
    others: Box<[Server]>,
}

/// Time spent waiting, summed over all that wait: a queue reports when each comes and goes, in any order. A part of an
/// I/O counts with its share of the I/O. So parts side by side wait no longer than the whole.
#[derive(Clone, Default)]
pub struct Waits {
    /// Departures less arrivals, ns times shares.
    sum: i128,
    /// Shares that wait.
    waiting: u64,
}

impl Waits {
    /// All of an I/O.
    pub const WHOLE: u32 = 1 << 16;

    /// Returns the share that is `part` of the `whole` of an I/O, in any unit.
    #[inline]
    pub fn share(part: u32, whole: u32) -> u32 {
        if part == whole {
            return Self::WHOLE;
        }
        (u64::from(part) * u64::from(Self::WHOLE) / u64::from(whole.max(1))) as u32
    }

    /// One begins to wait.
    #[inline]
    pub fn begin(&mut self, at_ns: u64, share: u32) {
        self.sum -= i128::from(at_ns) * i128::from(share);
        self.waiting += u64::from(share);
    }

    /// One has waited long enough.
    #[inline]
    pub fn end(&mut self, at_ns: u64, share: u32) {
        self.sum += i128::from(at_ns) * i128::from(share);
        self.waiting -= u64::from(share);
    }

    /// One has waited for `wait_ns`, or will have.
    #[inline]
    pub fn add(&mut self, wait_ns: u64, share: u32) {
        self.sum += i128::from(wait_ns) * i128::from(share);
    }

    /// Returns the sum up to now, by those who still wait too. Who will begin only later counts as less than nothing
    /// until then.
    pub fn total_ns(&self, now_ns: u64) -> u64 {
        let total = self.sum + i128::from(self.waiting) * i128::from(now_ns);
        (total.max(0) / i128::from(Self::WHOLE)) as u64
    }
}

#[derive(Clone, Copy, Default)]
struct Server {
    free_ps: u64,
    busy_ps: u64,
}

impl Fifo {
    /// Returns `servers` equal servers.
    pub fn new(servers: u32) -> Self {
        Self {
            first: Server::default(),
            others: vec![Server::default(); servers as usize - 1].into_boxed_slice(),
        }
    }

    /// Serves a customer who arrives at `now_ns`; returns the start of its service, ps.
    #[inline]
    pub fn serve(&mut self, now_ns: u64, service_ps: u64) -> u64 {
        let mut server = &mut self.first;
        for other in &mut self.others {
            if other.free_ps < server.free_ps {
                server = other;
            }
        }
        let start_ps = server.free_ps.max(now_ns * PS);
        server.free_ps = start_ps + service_ps;
        server.busy_ps += service_ps;
        start_ps
    }

    /// Serves a customer who arrives at `now_ns`; returns the end of its service, rounded up to ns.
    #[inline]
    pub fn finish_ns(&mut self, now_ns: u64, service_ps: u64) -> u64 {
        (self.serve(now_ns, service_ps) + service_ps).div_ceil(PS)
    }

    /// As [`Fifo::finish_ns`], for a share of an I/O, whose wait is added to `waits`.
    #[inline]
    pub fn finish_after_ns(
        &mut self,
        now_ns: u64,
        service_ps: u64,
        share: u32,
        waits: &mut Waits,
    ) -> u64 {
        let start_ps = self.serve(now_ns, service_ps);
        waits.add(start_ps / PS - now_ns, share);
        (start_ps + service_ps).div_ceil(PS)
    }

    /// Returns the busy time of each server up to `now_ns`. What is booked beyond is contiguous from now on.
    pub fn busy_ns(&self, now_ns: u64) -> impl Iterator<Item = u64> {
        std::iter::once(&self.first)
            .chain(&self.others)
            .map(move |server| {
                let booked_ps = server.free_ps.saturating_sub(now_ns * PS);
                server.busy_ps.saturating_sub(booked_ps) / PS
            })
    }
}
