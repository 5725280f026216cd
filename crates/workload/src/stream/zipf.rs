//! Zipf-distributed ranks in O(1) memory.

use super::random::Random;

/// Ranks `1..=n` with probability proportional to `rank^-theta`, by rejection-inversion:
/// W. Hörmann and G. Derflinger, "Rejection-inversion to generate variates from monotone discrete
/// distributions", ACM TOMACS 6(3), 1996. The helper functions keep full precision near theta = 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Zipf {
    theta: f64,
    n: f64,
    h_x1: f64,
    h_n: f64,
    shift: f64,
}

impl Zipf {
    pub(super) fn new(n: u64, theta: f64) -> Self {
        let n = n as f64;
        Self {
            theta,
            n,
            h_x1: integral(1.5, theta) - 1.0,
            h_n: integral(n + 0.5, theta),
            shift: 2.0 - integral_inverse(integral(2.5, theta) - density(2.0, theta), theta),
        }
    }

    /// Returns the next rank, 0-based; rank 0 is the most frequent.
    #[inline]
    pub(super) fn next(&self, random: &mut Random) -> u64 {
        loop {
            let u = self.h_n + random.unit() * (self.h_x1 - self.h_n);
            let x = integral_inverse(u, self.theta);
            let rank = ((x + 0.5) as i64 as f64).clamp(1.0, self.n);
            if rank - x <= self.shift
                || u >= integral(rank + 0.5, self.theta) - density(rank, self.theta)
            {
                return rank as u64 - 1;
            }
        }
    }
}

fn density(x: f64, theta: f64) -> f64 {
    libm::exp(-theta * libm::log(x))
}

/// H(x) = (x^(1 - theta) - 1) / (1 - theta), and ln x at theta = 1.
fn integral(x: f64, theta: f64) -> f64 {
    let log_x = libm::log(x);
    expm1_ratio((1.0 - theta) * log_x) * log_x
}

fn integral_inverse(y: f64, theta: f64) -> f64 {
    // Rounding may carry the argument of log1p below its domain.
    let t = (y * (1.0 - theta)).max(-1.0);
    libm::exp(log1p_ratio(t) * y)
}

/// (e^x - 1) / x, continued by its series at 0.
fn expm1_ratio(x: f64) -> f64 {
    if x.abs() > 1e-8 {
        libm::expm1(x) / x
    } else {
        1.0 + x * 0.5
    }
}

/// ln(1 + x) / x, continued by its series at 0.
fn log1p_ratio(x: f64) -> f64 {
    if x.abs() > 1e-8 {
        libm::log1p(x) / x
    } else {
        1.0 - x * 0.5
    }
}
