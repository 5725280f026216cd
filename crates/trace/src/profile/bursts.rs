//! How arrivals cluster. The index of dispersion is the variance of the arrivals in a window over their mean. A Poisson
//! process has 1 at every width; bursts have more.
//! Source: Gusella, "Characterizing the variability of arrival processes with indexes of dispersion", IEEE JSAC 1991.

use serde::Serialize;

use super::histogram::Histogram;

const MS: u64 = 1_000_000;
/// Widths of windows.
const WIDTHS_NS: [u64; 6] = [MS, 10 * MS, 100 * MS, 1_000 * MS, 10_000 * MS, 60_000 * MS];
/// Fewest whole windows whose variance says something.
const LEAST_WINDOWS: u64 = 8;

#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    window: u64,
    arrivals: u64,
    sum: f64,
    squares: f64,
}

impl Counted {
    fn close(&mut self) {
        let arrivals = self.arrivals as f64;
        self.sum += arrivals;
        self.squares += arrivals * arrivals;
        self.arrivals = 0;
    }
}

/// Counts so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Bursts {
    counted: [Counted; WIDTHS_NS.len()],
    gaps: Histogram,
    gap_squares: f64,
}

/// What is known of the arrivals.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Report {
    /// (width of the windows in ns, index of dispersion); widths with too few windows are left out.
    dispersion: Vec<(u64, f64)>,
    /// Between two issues, ns: (least of the bucket, count).
    gaps_ns: Vec<(f64, u64)>,
    /// Quantiles 10, 50, 90 and 99 %.
    gap_quantiles_ns: [Option<f64>; 4],
    /// Standard deviation over mean: 1 for a Poisson process.
    gap_variation: Option<f64>,
}

impl Bursts {
    pub(super) fn add(&mut self, issue_ns: u64, gap_ns: u64, has_gap: bool) {
        if has_gap {
            self.gaps.add(gap_ns);
            self.gap_squares += (gap_ns as f64).powi(2);
        }
        for (counted, width_ns) in self.counted.iter_mut().zip(WIDTHS_NS) {
            let window = issue_ns / width_ns;
            if window != counted.window {
                counted.close();
                counted.window = window;
            }
            counted.arrivals += 1;
        }
    }

    pub(super) fn report(&self, duration_ns: u64) -> Report {
        let dispersion = self
            .counted
            .iter()
            .zip(WIDTHS_NS)
            .filter_map(|(counted, width_ns)| {
                // The last window is not whole, and not counted.
                let windows = duration_ns / width_ns;
                let mean = counted.sum / windows as f64;
                let deviations = counted.squares - counted.sum * mean;
                let variance = deviations / (windows as f64 - 1.0);
                let known = windows >= LEAST_WINDOWS && mean > 0.0;
                known.then_some((width_ns, variance.max(0.0) / mean))
            });
        let count = self.gaps.count;
        let mean = self.gaps.sum / count;
        let deviation = (self.gap_squares / count - mean * mean).max(0.0).sqrt();
        Report {
            dispersion: dispersion.collect(),
            gaps_ns: self.gaps.buckets(),
            gap_quantiles_ns: [0.1, 0.5, 0.9, 0.99].map(|share| self.gaps.quantile(share)),
            gap_variation: (mean > 0.0).then(|| deviation / mean),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dispersion_of_few_windows_is_not_too_small() {
        let mut bursts = Bursts::default();
        for window in 0..9 {
            let arrivals = if window % 2 == 0 { 1 } else { 3 };
            (0..arrivals).for_each(|_| bursts.add(window * MS, 0, false));
        }
        let report = bursts.report(8 * MS);
        let [(MS, dispersion)] = report.dispersion[..] else {
            panic!("{:?}", report.dispersion)
        };
        // Eight deviations of 1 from a mean of 2, over seven.
        assert!((dispersion - 8.0 / 7.0 / 2.0).abs() < 1e-12, "{dispersion}");
    }
}
