//! When a window has told enough, and how well its figures are known: the method of batch means.
//!
//! Virtual time costs real time, and a mean that is known to 1 % after half a second is not known
//! any better for a reader after a minute. The window is cut into batches of equal virtual length;
//! the scatter of their means gives the 95 % interval of rate and mean latency. Batches that are
//! alike their neighbours understate it, so neighbours are joined as the window grows (Law, *Simulation
//! Modeling and Analysis*, 9.5.3), and what correlation is left widens the interval by that of a
//! first-order autoregressive series, (1 + r) / (1 - r). The latencies' mean is a ratio of two sums;
//! its interval is that of the ratio's residuals.
//!
//! Devices that are loaded at once are one target: their windows end together, when their *sum* is
//! known well enough. Batches of equal virtual time are added up, and each device waits for the
//! others at every look, so that the verdict does not depend on which of them runs faster.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use recording::{HalfWidths, Tally};
use workload::Op;

/// Batches at which neighbours are joined.
const MOST_BATCHES: usize = 64;
/// Length of the first batches.
const FIRST_BATCH_NS: u64 = 1_000_000;
/// Batches between two looks.
const LOOK_EVERY: usize = 4;
/// Fewest batches that an interval is taken from.
const FEWEST_BATCHES: usize = 16;
/// Correlation of neighbours above which batches are too short to be judged.
const MOST_CORRELATION: f64 = 0.5;
/// Student's t, 97.5 %, at 15 degrees of freedom: the fewest batches; a little wide for more.
const STUDENT_T: f64 = 2.13;
/// How much less well than the rate the mean latency has to be known.
const LATENCY_WIDENING: f64 = 2.0;

/// When a window (or a round of a precondition) may end before its time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Precision {
    /// Half the 95 % interval of the rate, as a fraction of it; of the mean latency twice that.
    pub half_width: f64,
    /// Fewest I/O in the window.
    pub least_count: u64,
    /// Least that a window with writes writes. Neighbouring moments agree with each other however
    /// far the drive is from its steady state.
    pub least_written_bytes: u64,
    /// A window that has written this ends however well its figures are known: a drive that still
    /// changes by then is no nearer to rest than a real one of full size after its whole window.
    pub most_written_bytes: u64,
    /// Given: the job goes on in rounds of at most this length, each judged anew.
    pub round_ns: Option<u64>,
}

/// Per operation: I/O completed, their latencies, their bytes.
type Tallies = [Tally; Op::COUNT];

/// Decides when the windows of devices that are loaded at once end: of one, or of all together.
#[derive(Debug)]
pub struct Judge {
    rule: Precision,
    state: Mutex<Looks>,
    changed: Condvar,
}

#[derive(Debug)]
struct Looks {
    /// Devices whose job goes on, and those of them that wait for the verdict.
    running: usize,
    waiting: usize,
    sum: Vec<Tallies>,
    looks: u64,
    settled: bool,
}

impl Judge {
    /// For so many devices, each of which runs one job.
    pub fn new(rule: Precision, devices: usize) -> Self {
        Self {
            rule,
            state: Mutex::new(Looks {
                running: devices,
                waiting: 0,
                sum: Vec::new(),
                looks: 0,
                settled: false,
            }),
            changed: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, Looks> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a device's batches and waits for those of the others. Returns whether all have told enough.
    fn agree(&self, batches: &[Tallies]) -> bool {
        let mut state = self.state();
        if state.sum.len() < batches.len() {
            state.sum.resize(batches.len(), Tallies::default());
        }
        for (sum, own) in state.sum.iter_mut().zip(batches) {
            add(sum, own);
        }
        state.waiting += 1;
        let look = state.looks;
        self.decide(&mut state);
        while state.looks == look {
            let woken = self.changed.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
        state.settled
    }

    /// Gives the verdict once nobody is missing.
    fn decide(&self, state: &mut Looks) {
        if state.waiting > 0 && state.waiting == state.running {
            state.settled = is_settled(&self.rule, &state.sum);
            state.sum.clear();
            state.waiting = 0;
            state.looks += 1;
            self.changed.notify_all();
        }
    }
}

/// A device before its judge; when its job is over, the others no longer wait for it.
pub(crate) struct Seat<'a>(&'a Judge);

impl<'a> Seat<'a> {
    pub(crate) fn new(judge: &'a Judge) -> Self {
        Self(judge)
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.running -= 1;
        self.0.decide(&mut state);
    }
}

/// The batches of a window.
pub(crate) struct Batches<'a> {
    seat: Seat<'a>,
    length_ns: u64,
    start_ns: u64,
    end_ns: u64,
    full: Vec<Tallies>,
    open: Tallies,
    /// What the recorder had counted when it was last asked.
    seen: Tallies,
}

impl<'a> Batches<'a> {
    pub(crate) fn new(seat: Seat<'a>, now_ns: u64) -> Self {
        let mut batches = Self {
            seat,
            length_ns: 0,
            start_ns: 0,
            end_ns: 0,
            full: Vec::with_capacity(MOST_BATCHES),
            open: Tallies::default(),
            seen: Tallies::default(),
        };
        batches.restart(now_ns);
        batches
    }

    fn rule(&self) -> &Precision {
        &self.seat.0.rule
    }

    /// Begins a window or round.
    fn restart(&mut self, now_ns: u64) {
        self.length_ns = FIRST_BATCH_NS;
        self.start_ns = now_ns;
        self.end_ns = now_ns + FIRST_BATCH_NS;
        self.full.clear();
        self.open = Tallies::default();
    }

    /// When the open batch ends.
    pub(crate) fn end_ns(&self) -> u64 {
        self.end_ns
    }

    /// Takes in what the recorder has counted since its last cut.
    pub(crate) fn see(&mut self, counted: &Tallies) {
        for (op, now) in counted.iter().enumerate() {
            self.open[op].add(&now.since(&self.seen[op]));
        }
        self.seen = *counted;
    }

    /// The recorder has been cut: it counts from zero.
    pub(crate) fn forget_seen(&mut self) {
        self.seen = Tallies::default();
    }

    /// Ends the open batch if its time has come. Returns whether the window has told enough.
    pub(crate) fn close(&mut self, now_ns: u64) -> bool {
        if now_ns < self.end_ns {
            return false;
        }
        self.full.push(std::mem::take(&mut self.open));
        let look = self.full.len().is_multiple_of(LOOK_EVERY);
        let settled = look && self.seat.0.agree(&self.full);
        if self.full.len() == MOST_BATCHES {
            self.join();
        }
        self.end_ns = now_ns + self.length_ns;
        settled
    }

    /// Ends a round that is settled or whose time is up. Returns whether one ended.
    pub(crate) fn end_round(&mut self, now_ns: u64, settled: bool) -> bool {
        let over = self
            .rule()
            .round_ns
            .is_some_and(|length_ns| settled || now_ns.saturating_sub(self.start_ns) >= length_ns);
        if over {
            self.restart(now_ns);
        }
        over
    }

    /// Whether a settled window is the end of the job.
    pub(crate) fn ends_job(&self) -> bool {
        self.rule().round_ns.is_none()
    }

    /// When the round ends at the latest.
    pub(crate) fn round_end_ns(&self) -> u64 {
        self.start_ns
            .saturating_add(self.rule().round_ns.unwrap_or(u64::MAX))
    }

    fn join(&mut self) {
        let joined = self.full.chunks_exact(2).map(|pair| {
            let mut sum = pair[0];
            add(&mut sum, &pair[1]);
            sum
        });
        self.full = joined.collect();
        self.length_ns *= 2;
    }

    /// How well the figures are known; `None` with too few batches.
    pub(crate) fn half_widths(&self) -> Option<HalfWidths> {
        half_widths(&self.full)
    }
}

fn add(sum: &mut Tallies, other: &Tallies) {
    sum.iter_mut()
        .zip(other)
        .for_each(|(sum, other)| sum.add(other));
}

fn is_settled(rule: &Precision, batches: &[Tallies]) -> bool {
    let tallies = batches.iter().flat_map(|batch| batch.iter().zip(Op::ALL));
    let (count, written_bytes) = tallies.fold((0, 0), |(count, written), (tally, op)| {
        let bytes = if op.is_destructive() { tally.bytes } else { 0 };
        (count + tally.count, written + bytes)
    });
    let too_little = written_bytes > 0 && written_bytes < rule.least_written_bytes;
    if count < rule.least_count || too_little {
        return false;
    }
    if written_bytes >= rule.most_written_bytes {
        return true;
    }
    half_widths(batches).is_some_and(|known| {
        known.rate.max(known.mean_latency / LATENCY_WIDENING) <= rule.half_width
            && (rule.round_ns.is_some() || !is_drifting(batches))
    })
}

/// Whether batches resemble their neighbours too much to be judged: they are too short, or the
/// drive is still settling. A round is not asked: its mean is judged against other rounds'.
fn is_drifting(batches: &[Tallies]) -> bool {
    let (counts, latencies) = series(batches, |_| true, |tally| tally.sum_ns);
    let residuals = ratio_residuals(&counts, &latencies);
    correlation(&counts).max(correlation(&residuals)) > MOST_CORRELATION
}

/// Counts and summed latencies per batch, of the operations chosen.
fn series(
    batches: &[Tallies],
    chosen: impl Fn(Op) -> bool,
    latency_ns: impl Fn(&Tally) -> u64,
) -> (Vec<f64>, Vec<f64>) {
    batches
        .iter()
        .map(|batch| {
            let ops = batch.iter().zip(Op::ALL).filter(|(_, op)| chosen(*op));
            ops.fold((0.0, 0.0), |(count, sum_ns), (tally, _)| {
                (
                    count + tally.count as f64,
                    sum_ns + latency_ns(tally) as f64,
                )
            })
        })
        .unzip()
}

fn half_widths(batches: &[Tallies]) -> Option<HalfWidths> {
    let (counts, latencies) = series(batches, |_| true, |tally| tally.sum_ns);
    let (_, responses) = series(batches, |_| true, |tally| tally.response_ns);
    let count = mean(&counts);
    if counts.len() < FEWEST_BATCHES || count == 0.0 {
        return None;
    }
    let rate_by_op: BTreeMap<Op, f64> = Op::ALL
        .into_iter()
        .map(|op| (op, series(batches, |other| other == op, |_| 0).0))
        .filter(|(_, counts)| mean(counts) > 0.0)
        .map(|(op, counts)| (op, half_width(&counts) / mean(&counts)))
        .collect();
    Some(HalfWidths {
        rate: half_width(&counts) / count,
        rate_by_op,
        mean_latency: of_mean(&counts, &latencies).unwrap_or(0.0),
        mean_response: of_mean(&counts, &responses),
    })
}

/// Half the interval of a mean latency, as a fraction of it; `None` where the latencies are all 0.
fn of_mean(counts: &[f64], latencies: &[f64]) -> Option<f64> {
    let total_ns = mean(latencies);
    (total_ns > 0.0).then(|| half_width(&ratio_residuals(counts, latencies)) / total_ns)
}

/// What each batch's latencies are above those of as many I/O of mean latency.
fn ratio_residuals(counts: &[f64], latencies: &[f64]) -> Vec<f64> {
    let ratio = mean(latencies) / mean(counts).max(f64::MIN_POSITIVE);
    latencies
        .iter()
        .zip(counts)
        .map(|(latency, count)| latency - ratio * count)
        .collect()
}

fn mean(series: &[f64]) -> f64 {
    series.iter().sum::<f64>() / series.len().max(1) as f64
}

/// Correlation of neighbours, lag 1.
fn correlation(series: &[f64]) -> f64 {
    let mean = mean(series);
    let (mut products, mut squares) = (0.0, 0.0);
    for (index, value) in series.iter().enumerate() {
        let distance = value - mean;
        squares += distance * distance;
        if let Some(next) = series.get(index + 1) {
            products += distance * (next - mean);
        }
    }
    if squares == 0.0 {
        0.0
    } else {
        products / squares
    }
}

/// Half the 95 % interval of the series' mean.
fn half_width(series: &[f64]) -> f64 {
    let (count, mean) = (series.len() as f64, mean(series));
    let squares: f64 = series.iter().map(|value| (value - mean).powi(2)).sum();
    let correlation = correlation(series).clamp(0.0, 0.9);
    let widening = (1.0 + correlation) / (1.0 - correlation);
    STUDENT_T * (squares / (count - 1.0) / count * widening).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Precision = Precision {
        half_width: 0.01,
        least_count: 1,
        least_written_bytes: 0,
        most_written_bytes: u64::MAX,
        round_ns: None,
    };

    /// Numbers of unit variance and mean 0 from a linear congruential generator.
    fn noise(count: usize, seed: u64) -> Vec<f64> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut uniform = move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        (0..count)
            .map(|_| (0..12).map(|_| uniform()).sum::<f64>() - 6.0)
            .collect()
    }

    fn autoregressive(count: usize, coefficient: f64, seed: u64) -> Vec<f64> {
        let mut last = 0.0;
        noise(count, seed)
            .into_iter()
            .map(|shock| {
                last = coefficient * last + shock;
                last
            })
            .collect()
    }

    fn fed(judge: &Judge, rates: impl Iterator<Item = u64>) -> (Batches<'_>, bool) {
        let mut batches = Batches::new(Seat::new(judge), 0);
        let mut counted = Tallies::default();
        let mut settled = false;
        for (number, count) in rates.enumerate() {
            counted[Op::Read as usize].count += count;
            counted[Op::Read as usize].sum_ns += count * 100;
            batches.see(&counted);
            settled |= batches.close((number as u64 + 1) * FIRST_BATCH_NS);
            if settled {
                break;
            }
        }
        (batches, settled)
    }

    #[test]
    fn the_interval_of_a_correlated_series_covers_its_mean_about_as_often_as_it_says() {
        let covering = (0..1_000)
            .filter(|&seed| {
                let series = autoregressive(48, 0.4, seed + 1);
                mean(&series).abs() <= half_width(&series)
            })
            .count();
        assert!((910..=985).contains(&covering), "{covering} of 1000");
    }

    #[test]
    fn an_even_rate_settles_and_an_uneven_one_only_when_its_mean_is_known() {
        let judge = || Judge::new(RULE, 1);
        let (even, uneven) = (judge(), judge());
        let even = fed(&even, (0..64).map(|_| 1_000));
        assert!(even.1);
        assert_eq!(even.0.full.len(), FEWEST_BATCHES);
        let rates = noise(100_000, 7).into_iter();
        let uneven = fed(&uneven, rates.map(|z| (1_000.0 + 150.0 * z) as u64));
        assert!(uneven.1);
        let known = uneven.0.half_widths().map(|known| known.rate);
        assert!(known.is_some_and(|rate| rate <= 0.01), "{known:?}");
        let batches = (uneven.0.end_ns - uneven.0.length_ns) / FIRST_BATCH_NS;
        assert!(
            (600..4_000).contains(&batches),
            "{batches} batches: (2.13 x 0.15 / 0.01)^2 = 1020"
        );
    }

    #[test]
    fn response_latency_is_known_by_its_own_scatter_and_not_at_all_under_closed_load() {
        let known = |waiting: Option<&[f64]>| {
            let batches: Vec<Tallies> = (0..48)
                .map(|batch| {
                    let mut tallies = Tallies::default();
                    let response_us = waiting.map_or(0.0, |noise| 1_000.0 + 100.0 * noise[batch]);
                    tallies[Op::Read as usize] = Tally {
                        count: 1_000,
                        sum_ns: 100_000,
                        response_ns: (response_us * 1_000.0) as u64,
                        bytes: 0,
                    };
                    tallies
                })
                .collect();
            half_widths(&batches).expect("enough batches")
        };
        let (open, closed) = (known(Some(&noise(48, 5))), known(None));
        assert_eq!((open.mean_latency, closed.mean_latency), (0.0, 0.0));
        assert_eq!(closed.mean_response, None);
        let expected = STUDENT_T * 0.1 / 48.0_f64.sqrt();
        let found = open.mean_response.expect("of an open load");
        assert!((found / expected - 1.0).abs() < 0.4, "{found}: {expected}");
    }

    #[test]
    fn a_rate_that_still_moves_does_not_settle() {
        let judge = Judge::new(RULE, 1);
        let (_, settled) = fed(&judge, (0..4_096).map(|step| 1_000 + step));
        assert!(!settled);
    }

    #[test]
    fn devices_of_one_target_end_together_when_their_sum_is_known() {
        let noisy = |seed| {
            let rates = noise(100_000, seed).into_iter();
            rates.map(|z| (1_000.0 + 150.0 * z) as u64)
        };
        let (alone, together) = (Judge::new(RULE, 1), Judge::new(RULE, 4));
        let alone_ns = fed(&alone, noisy(1)).0.end_ns;
        let ends_ns: Vec<u64> = std::thread::scope(|scope| {
            let together = &together;
            let run = |seed| scope.spawn(move || fed(together, noisy(seed)).0.end_ns);
            let threads: Vec<_> = (1..=4).map(run).collect();
            let ends = threads.into_iter().map(|thread| thread.join());
            ends.map(|end| end.expect("no panic")).collect()
        });
        assert!(
            ends_ns.iter().all(|&end_ns| end_ns == ends_ns[0]),
            "{ends_ns:?}"
        );
        let share = ends_ns[0] as f64 / alone_ns as f64;
        assert!(
            (0.1..0.5).contains(&share),
            "{share}: a quarter is expected"
        );
    }

    #[test]
    fn a_device_that_has_ended_is_not_waited_for() {
        let judge = Judge::new(RULE, 2);
        let brief = Seat::new(&judge);
        std::thread::scope(|scope| {
            let long = scope.spawn(|| fed(&judge, (0..64).map(|_| 1_000)).1);
            drop(brief);
            assert!(long.join().expect("no panic"));
        });
    }
}
