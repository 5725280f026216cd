//! Arrival times of an open load, in nanoseconds. Gaps are `f64`; the clock is a whole number of nanoseconds plus a
//! fraction below one. So neither rounding per arrival nor the length of the run makes the offered rate drift from the
//! one asked for. Under a schedule, gaps are drawn for a rate of one and stretched by the momentary rate (time
//! rescaling: a Poisson process stays one).

use super::random::{Purpose, Random};
use crate::{Arrival, Load, RatePhase};

/// Exponential gaps drawn at once: the processor works on several logarithms at a time.
const AHEAD: usize = 8;

#[derive(Clone, Debug)]
pub(super) struct Arrivals {
    random: Random,
    /// Exponential gaps drawn ahead, in mean gaps, and how many of them are used.
    gaps: [f64; AHEAD],
    used: usize,
    /// `None` under closed load.
    arrival: Option<Arrival>,
    mean_gap_ns: f64,
    whole_ns: u64,
    fraction_ns: f64,
    schedule: Option<Schedule>,
}

impl Arrivals {
    /// `thread` draws; `place` is its number among the threads that share the load.
    pub(super) fn new(
        load: &Load,
        rates: &[RatePhase],
        seed: u64,
        thread: u32,
        place: u32,
    ) -> Self {
        let (arrival, mean_gap_ns) = match *load {
            Load::Closed { .. } => (None, 0.0),
            Load::Open {
                rate_iops,
                arrival,
                threads,
                ..
            } => {
                let gap_ns = f64::from(threads) / rate_iops * 1e9;
                // No gap times an infinite one would be no number.
                (Some(arrival), gap_ns.min(f64::MAX))
            }
        };
        let mut arrivals = Self {
            random: Random::new(seed, thread, Purpose::Arrivals),
            gaps: [0.0; AHEAD],
            used: AHEAD,
            arrival,
            mean_gap_ns,
            whole_ns: 0,
            fraction_ns: 0.0,
            schedule: Schedule::new(rates, load.threads()),
        };
        // Threads with constant spacing interleave, so that all of them together are evenly spaced.
        if arrival == Some(Arrival::Deterministic) {
            let phase = f64::from(place) / f64::from(load.threads().max(1));
            arrivals.advance(phase);
        }
        arrivals
    }

    /// Returns whether arrivals are those of a trace.
    #[inline]
    pub(super) fn are_recorded(&self) -> bool {
        self.arrival == Some(Arrival::Recorded)
    }

    #[inline]
    pub(super) fn next_ns(&mut self) -> u64 {
        match self.arrival {
            None => 0,
            Some(Arrival::Exponential) => {
                let gaps = self.exponential();
                self.advance(gaps)
            }
            Some(Arrival::Uniform) => {
                let gaps = 2.0 * self.random.unit();
                self.advance(gaps)
            }
            // Recorded ones come from the trace; without one they are evenly spaced.
            Some(Arrival::Deterministic | Arrival::Recorded) => {
                let now_ns = self.whole_ns;
                self.advance(1.0);
                now_ns
            }
        }
    }

    #[inline]
    fn exponential(&mut self) -> f64 {
        if self.used == AHEAD {
            for gap in &mut self.gaps {
                *gap = -libm::log(self.random.unit());
            }
            self.used = 0;
        }
        let gap = self.gaps[self.used];
        self.used += 1;
        gap
    }

    /// Moves on by `gaps` mean gaps.
    #[inline]
    fn advance(&mut self, gaps: f64) -> u64 {
        if let Some(schedule) = &mut self.schedule {
            self.whole_ns = schedule.advance(gaps);
            return self.whole_ns;
        }
        let sum_ns = self.fraction_ns + gaps * self.mean_gap_ns;
        // Signed, because that is the conversion x86-64 has an instruction for.
        let whole_ns = sum_ns as i64;
        self.whole_ns = self.whole_ns.saturating_add_signed(whole_ns);
        self.fraction_ns = sum_ns - whole_ns as f64;
        self.whole_ns
    }
}

/// One thread's rate over time, in straight lines, and where in it the last arrival was.
#[derive(Clone, Debug)]
struct Schedule {
    phases: Box<[Phase]>,
    current: usize,
    phase_start_ns: u64,
    into_phase_ns: f64,
    /// Arrivals expected in one pass through the phases, and how long it takes.
    pass: f64,
    pass_ns: u64,
}

/// The rate at its start, per ns, how fast it changes, and how long it lasts.
#[derive(Clone, Copy, Debug)]
struct Phase {
    rate: f64,
    slope: f64,
    time_ns: u64,
}

impl Phase {
    /// Arrivals expected from a time in it to its end.
    fn expected(&self, into_ns: f64) -> f64 {
        let left_ns = self.time_ns as f64 - into_ns;
        (self.rate + self.slope * into_ns + 0.5 * self.slope * left_ns) * left_ns
    }
}

impl Schedule {
    /// `None`: the rate is constant, or never above 0.
    fn new(rates: &[RatePhase], threads: u32) -> Option<Self> {
        let per_ns = |iops: f64| iops / 1e9 / f64::from(threads.max(1));
        let phases = rates.iter().map(|phase| Phase {
            rate: per_ns(phase.from_iops),
            slope: per_ns(phase.to_iops - phase.from_iops) / phase.time_ns as f64,
            time_ns: phase.time_ns,
        });
        let phases: Box<[Phase]> = phases.collect();
        let pass: f64 = phases.iter().map(|phase| phase.expected(0.0)).sum();
        (pass > 0.0).then(|| Self {
            pass_ns: phases
                .iter()
                .fold(0, |sum, phase| phase.time_ns.saturating_add(sum)),
            phases,
            current: 0,
            phase_start_ns: 0,
            into_phase_ns: 0.0,
            pass,
        })
    }

    /// Returns the time at which `gaps` more arrivals are expected than before: the inverse of the integral
    /// of the rate.
    fn advance(&mut self, mut gaps: f64) -> u64 {
        if gaps > self.pass {
            // Whole passes end where they began, so a rate of one arrival in a million of them takes no longer.
            let passes = (gaps / self.pass).floor();
            gaps = (gaps - passes * self.pass).max(0.0);
            let skipped_ns = (passes as u64).saturating_mul(self.pass_ns);
            self.phase_start_ns = self.phase_start_ns.saturating_add(skipped_ns);
        }
        loop {
            let phase = self.phases[self.current];
            let rate = phase.rate + phase.slope * self.into_phase_ns;
            let left_ns = phase.time_ns as f64 - self.into_phase_ns;
            let expected = phase.expected(self.into_phase_ns);
            if gaps < expected {
                // The root of slope/2 x^2 + rate x = gaps that keeps its precision at slope 0.
                let root = (rate * rate + 2.0 * phase.slope * gaps).max(0.0).sqrt();
                // At a rate of 0, where a ramp begins, no gap gives 0 / 0: it is no step.
                if gaps > 0.0 {
                    self.into_phase_ns += (2.0 * gaps / (rate + root)).min(left_ns);
                }
                return self
                    .phase_start_ns
                    .saturating_add(self.into_phase_ns as u64);
            }
            gaps -= expected;
            self.phase_start_ns = self.phase_start_ns.saturating_add(phase.time_ns);
            self.into_phase_ns = 0.0;
            self.current = (self.current + 1) % self.phases.len();
        }
    }
}
