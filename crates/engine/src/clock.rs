//! One clock for all threads of a run: nanoseconds since the run's start. It reads the time stamp counter where the
//! kernel itself trusts that as its clock source, else `clock_gettime`.
//!
//! The counter's rate is measured once per process against `CLOCK_MONOTONIC`: two readings a few
//! milliseconds apart, each the tightest of several attempts. The reading error at both ends over the distance between
//! them bounds the error of the rate. It is reported in parts per million: per ppm, a millionth of any latency, and 1
//! us in each second of run time.

use std::{sync::OnceLock, time::Duration};

const CALIBRATION: Duration = Duration::from_millis(20);
/// Fixed-point position of nanoseconds per tick.
const SHIFT: u32 = 32;

#[derive(Clone, Copy, Debug)]
struct Rate {
    /// Nanoseconds per tick, times 2^32; `None`: use `clock_gettime`.
    ns_per_tick: Option<u64>,
    error_ppm: f64,
}

/// Time since an origin. Copied into every thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    rate: Rate,
    origin: u64,
}

impl Clock {
    /// Returns a clock that starts now.
    pub(crate) fn new() -> Self {
        static RATE: OnceLock<Rate> = OnceLock::new();
        let mut clock = Self {
            rate: *RATE.get_or_init(calibrate),
            origin: 0,
        };
        clock.origin = clock.raw();
        clock
    }

    /// Returns the same clock with its origin `later_ns` later.
    pub(crate) fn rebased(self, later_ns: u64) -> Self {
        let ticks = match self.rate.ns_per_tick {
            Some(rate) => ((u128::from(later_ns) << SHIFT) / u128::from(rate)) as u64,
            None => later_ns,
        };
        Self {
            origin: self.origin + ticks,
            ..self
        }
    }

    /// Nanoseconds since the origin; 0 before it.
    #[inline]
    pub(crate) fn now_ns(&self) -> u64 {
        let since = self.raw().saturating_sub(self.origin);
        match self.rate.ns_per_tick {
            Some(rate) => ((u128::from(since) * u128::from(rate)) >> SHIFT) as u64,
            None => since,
        }
    }

    #[inline]
    fn raw(&self) -> u64 {
        match self.rate.ns_per_tick {
            Some(_) => ticks(),
            None => monotonic_ns(),
        }
    }

    /// Returns `tsc` or `clock_gettime`.
    pub(crate) fn name(&self) -> &'static str {
        if self.rate.ns_per_tick.is_some() {
            "tsc"
        } else {
            "clock_gettime"
        }
    }

    /// Returns the bound on the error of the rate.
    pub(crate) fn error_ppm(&self) -> f64 {
        self.rate.error_ppm
    }
}

fn calibrate() -> Rate {
    if !counter_is_trusted() {
        return Rate {
            ns_per_tick: None,
            error_ppm: 0.0,
        };
    }
    let (t0, n0, e0) = paired_reading();
    std::thread::sleep(CALIBRATION);
    let (t1, n1, e1) = paired_reading();
    let (ticks, elapsed_ns) = (t1 - t0, n1 - n0);
    let ns_per_tick = ((u128::from(elapsed_ns) << SHIFT) / u128::from(ticks.max(1))) as u64;
    Rate {
        ns_per_tick: Some(ns_per_tick),
        error_ppm: (e0 + e1) as f64 / ticks.max(1) as f64 * 1e6,
    }
}

/// Returns (ticks, ns, uncertainty in ticks) at one moment: the tightest of several attempts.
fn paired_reading() -> (u64, u64, u64) {
    (0..32)
        .map(|_| {
            let before = ticks();
            let now_ns = monotonic_ns();
            let width = ticks() - before;
            (before + width / 2, now_ns, width / 2)
        })
        .min_by_key(|&(_, _, width)| width)
        .unwrap_or((ticks(), monotonic_ns(), 0))
}

/// Returns whether the kernel trusts the counter. It checks constant rate and agreement between cores before it takes
/// it as its clock source, and drops it when either fails.
fn counter_is_trusted() -> bool {
    cfg!(target_arch = "x86_64")
        && std::fs::read_to_string(
            "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        )
        .is_ok_and(|source| source.trim() == "tsc")
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn ticks() -> u64 {
    // SAFETY: RDTSC exists on every x86-64 processor and touches no memory.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn ticks() -> u64 {
    monotonic_ns()
}

fn monotonic_ns() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` is a valid timespec for the call to fill.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_agrees_with_the_system_within_its_error_bound() {
        let clock = Clock::new();
        let (ours, theirs) = (clock.now_ns(), monotonic_ns());
        std::thread::sleep(Duration::from_millis(200));
        let (ours, theirs) = (clock.now_ns() - ours, monotonic_ns() - theirs);
        // 20 us allow for being descheduled between the two readings.
        let allowed = theirs as f64 * clock.error_ppm() * 1e-6 + 20_000.0;
        assert!(
            (ours as f64 - theirs as f64).abs() < allowed,
            "{ours} ns against {theirs} ns"
        );
        assert!(
            clock.error_ppm() < 50.0,
            "calibration to {} ppm",
            clock.error_ppm()
        );
    }

    #[test]
    fn a_rebased_clock_reads_zero_until_its_origin() {
        let clock = Clock::new();
        let later = clock.rebased(50_000_000);
        assert_eq!(later.now_ns(), 0);
        std::thread::sleep(Duration::from_millis(60));
        let (a, b) = (clock.now_ns(), later.now_ns());
        assert!(b > 0 && (a - b).abs_diff(50_000_000) < 1_000_000, "{a} {b}");
    }
}
