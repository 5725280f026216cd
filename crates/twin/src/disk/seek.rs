//! How long the arm takes. The curve is the usual one (Ruemmler and Wilkes, "An introduction to disk drive modeling",
//! IEEE Computer 1994). It is the root of the distance while the arm speeds up and slows down. It is a straight line
//! once the arm moves at full speed. The time to settle comes on top. The two pieces meet with equal slope; the one
//! free factor follows from the average seek in closed form.

use super::layout::Place;
use super::{DiskParams, Layout};
use crate::sim::event::us_to_ns;

/// Settle + root + line, of distances in shares of the stroke.
#[derive(Clone, Copy, Debug)]
struct Curve {
    settle_ns: f64,
    root_ns: f64,
    knee: f64,
    knee_root: f64,
}

impl Curve {
    fn new(track_us: f64, average_us: f64, knee: f64) -> Self {
        Self {
            settle_ns: track_us * 1e3,
            root_ns: (average_us - track_us) * 1e3 / mean_shape(knee),
            knee,
            knee_root: knee.sqrt(),
        }
    }

    #[inline]
    fn time_ns(&self, distance: f64) -> f64 {
        let shape = if distance <= self.knee {
            distance.sqrt()
        } else {
            0.5 * (self.knee_root + distance / self.knee_root)
        };
        self.settle_ns + self.root_ns * shape
    }
}

/// Returns the mean of the curve's shape over the distance of two independent uniform cylinders, whose density is
/// 2 (1 - x).
fn mean_shape(knee: f64) -> f64 {
    let root = knee.sqrt();
    let rooted = 2.0 * (2.0 / 3.0 * knee * root - 0.4 * knee * knee * root);
    let straight = 0.5 * root * (1.0 - knee).powi(2)
        + (1.0 / 3.0 - knee * knee + 2.0 / 3.0 * knee.powi(3)) / (2.0 * root);
    rooted + straight
}

/// Times of the arm.
#[derive(Clone)]
pub struct Seek {
    read: Curve,
    write: Curve,
    head_switch_ns: u64,
    per_cylinder: f64,
}

impl Seek {
    /// Returns the curves of a drive.
    pub fn new(params: &DiskParams, layout: &Layout) -> Self {
        let knee = params.seek_knee;
        Self {
            read: Curve::new(params.seek_track_read_us, params.seek_average_read_us, knee),
            write: Curve::new(
                params.seek_track_write_us,
                params.seek_average_write_us,
                knee,
            ),
            head_switch_ns: us_to_ns(params.head_switch_us),
            per_cylinder: 1.0 / f64::from(layout.cylinders.max(2) - 1),
        }
    }

    /// Returns the time from one place to another: the arm moves while the other head is chosen.
    #[inline]
    pub fn time_ns(&self, from: &Place, to: &Place, write: bool) -> u64 {
        let distance = from.cylinder.abs_diff(to.cylinder);
        let switch_ns = if from.head == to.head {
            0
        } else {
            self.head_switch_ns
        };
        if distance == 0 {
            return switch_ns;
        }
        let curve = if write { &self.write } else { &self.read };
        let arm_ns = curve.time_ns(f64::from(distance) * self.per_cylinder);
        switch_ns.max(arm_ns as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_over_all_pairs_of_cylinders_is_the_average_seek() {
        for knee in [0.05, 0.3, 0.7, 1.0] {
            let curve = Curve::new(230.0, 7400.0, knee);
            let n = 1500;
            let times = (0..n * n).map(|i| {
                let distance = (i / n) as f64 - (i % n) as f64;
                curve.time_ns(distance.abs() / n as f64)
            });
            let mean_ns = times.sum::<f64>() / (n * n) as f64;
            assert!(
                (mean_ns / 7.4e6 - 1.0).abs() < 2e-3,
                "knee {knee}: {mean_ns} ns"
            );
        }
    }

    #[test]
    fn the_curve_never_falls_and_has_no_step() {
        let curve = Curve::new(230.0, 7400.0, 0.3);
        let times: Vec<f64> = (0..=1000).map(|i| curve.time_ns(i as f64 / 1e3)).collect();
        assert!(times.windows(2).all(|pair| pair[1] > pair[0]));
        assert!((curve.time_ns(0.3) - curve.time_ns(0.3 + 1e-9)).abs() < 1.0);
    }
}
