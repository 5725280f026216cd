//! Arrival times of an open load, in nanoseconds. Gaps are `f64`; the clock is a whole number of
//! nanoseconds plus a fraction below one, so neither rounding per arrival nor the length of the run
//! makes the offered rate drift from the one asked for.

use super::random::{Purpose, Random};
use crate::{Arrival, Load};

#[derive(Clone, Debug)]
pub(super) struct Arrivals {
    random: Random,
    /// `None` under closed load.
    arrival: Option<Arrival>,
    mean_gap_ns: f64,
    whole_ns: u64,
    fraction_ns: f64,
}

impl Arrivals {
    pub(super) fn new(load: &Load, seed: u64, thread: u32) -> Self {
        let (arrival, mean_gap_ns) = match *load {
            Load::Closed { .. } => (None, 0.0),
            Load::Open {
                rate_iops,
                arrival,
                threads,
                ..
            } => (Some(arrival), f64::from(threads) / rate_iops * 1e9),
        };
        let mut arrivals = Self {
            random: Random::new(seed, thread, Purpose::Arrivals),
            arrival,
            mean_gap_ns,
            whole_ns: 0,
            fraction_ns: 0.0,
        };
        // Threads with constant spacing interleave, so that all of them together are evenly spaced.
        if arrival == Some(Arrival::Deterministic) {
            let phase = f64::from(thread) / f64::from(load.threads().max(1));
            arrivals.advance(phase * mean_gap_ns);
        }
        arrivals
    }

    #[inline]
    pub(super) fn next_ns(&mut self) -> u64 {
        match self.arrival {
            None => 0,
            Some(Arrival::Exponential) => {
                let gap_ns = -libm::log(self.random.unit()) * self.mean_gap_ns;
                self.advance(gap_ns)
            }
            Some(Arrival::Uniform) => {
                let gap_ns = 2.0 * self.random.unit() * self.mean_gap_ns;
                self.advance(gap_ns)
            }
            Some(Arrival::Deterministic) => {
                let now_ns = self.whole_ns;
                self.advance(self.mean_gap_ns);
                now_ns
            }
        }
    }

    #[inline]
    fn advance(&mut self, gap_ns: f64) -> u64 {
        let sum_ns = self.fraction_ns + gap_ns;
        // Signed, because that is the conversion x86-64 has an instruction for.
        let whole_ns = sum_ns as i64;
        self.whole_ns = self.whole_ns.saturating_add_signed(whole_ns);
        self.fraction_ns = sum_ns - whole_ns as f64;
        self.whole_ns
    }
}
