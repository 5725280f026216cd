//! How well a mean is known from its batches, by overlapping batch means (Meketon and Schmeiser, *Overlapping Batch
//! Means: Something for Nothing?*, Winter Simulation Conference 1984). The means of runs of batches scatter as the whole
//! mean does, whether neighbours resemble each other or take turns, as a drive's cleaning does. The latencies' mean is a
//! ratio of two sums; its interval is that of the ratio's residuals.

use std::collections::BTreeMap;

use recording::{HalfWidths, OpBins, OpHalfWidths, Tally};
use workload::Op;

/// Fewest batches that an interval is taken from.
pub(super) const FEWEST_BATCHES: usize = 16;
/// Runs that do not overlap which a window has room for. With fewer, runs span longer cycles, and the interval is wider.
const RUNS: usize = 4;
/// Correlation of neighbours above which batches are too short to be judged. At this value, on autoregressive series of
/// 32 to 60 batches, their interval covers the mean 89 to 93 times in 100. It does so less often beyond.
const MOST_CORRELATION: f64 = 0.7;
/// Most that the beginning of a window may move its mean, as a share of the half-width that is asked.
const MOST_SHIFT: f64 = 0.25;
/// Student's t, 97.5 %, at the 1.5 (RUNS - 1) degrees of freedom of [`RUNS`] runs that overlap.
pub(super) const STUDENT_T_OF_RUNS: f64 = 2.66;
/// Student's t, 97.5 %, at 15 degrees of freedom: the fewest batches; a little wide for more.
const STUDENT_T: f64 = 2.13;

/// Per operation: I/O completed, their latencies, their bytes.
pub(crate) type Tallies = [Tally; Op::COUNT];

/// Totals of a device, or what they gained.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Medium {
    /// Bytes programmed, cleaning included.
    pub write_bytes: u64,
    /// Energy, J.
    pub joules: f64,
}

impl Medium {
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            write_bytes: self.write_bytes + other.write_bytes,
            joules: self.joules + other.joules,
        }
    }

    pub(super) fn since(self, earlier: Self) -> Self {
        Self {
            write_bytes: self.write_bytes - earlier.write_bytes,
            joules: self.joules - earlier.joules,
        }
    }
}

/// Per operation: latencies counted.
pub(crate) type Latencies = [OpBins; Op::COUNT];

fn merge(sum: &mut Latencies, other: &Latencies) {
    sum.iter_mut()
        .zip(other)
        .for_each(|(sum, other)| sum.merge(other));
}

/// What happened in a batch.
#[derive(Clone, Debug, Default)]
pub(super) struct Batch {
    /// Tallies of each stream of the job, in order; a job of one workload has one.
    pub streams: Vec<Tallies>,
    /// What it cost the medium; `None` where the device does not know.
    pub medium: Option<Medium>,
    /// Latencies of each stream; empty where they are not watched.
    pub latency: Vec<Latencies>,
}

impl Batch {
    /// Returns the tallies of all streams together.
    pub(super) fn ops(&self) -> Tallies {
        let mut sum = Tallies::default();
        self.streams.iter().for_each(|stream| add(&mut sum, stream));
        sum
    }

    /// Returns the batch with what happened in another.
    pub(super) fn plus(mut self, other: &Self) -> Self {
        self.streams
            .iter_mut()
            .zip(&other.streams)
            .for_each(|(sum, own)| add(sum, own));
        self.medium = self
            .medium
            .zip(other.medium)
            .map(|(sum, own)| sum.plus(own));
        for (sum, own) in self.latency.iter_mut().zip(&other.latency) {
            merge(sum, own);
        }
        self
    }

    /// Its latencies as a recording has them.
    pub(super) fn recorded(&self, stream_names: &[String]) -> recording::Batch {
        let named = |latencies: &Latencies| {
            let each = Op::ALL.into_iter().zip(latencies.iter().cloned());
            each.filter(|(_, bins)| *bins != OpBins::default())
                .collect::<BTreeMap<_, _>>()
        };
        let mut whole = Latencies::default();
        self.latency.iter().for_each(|own| merge(&mut whole, own));
        let streams = stream_names.iter().zip(&self.latency);
        recording::Batch {
            ops: named(&whole),
            streams: streams
                .map(|(name, own)| (name.clone(), named(own)))
                .collect(),
        }
    }
}

pub(super) fn add(sum: &mut Tallies, other: &Tallies) {
    sum.iter_mut()
        .zip(other)
        .for_each(|(sum, other)| sum.add(other));
}

/// Returns whether a mean is on its way elsewhere, or not known to stay. Batches that resemble their neighbours too much
/// do not show it. A straight line through them does, if its slope is beyond chance. It must also lead the mean away by
/// more than `rate_most` of the rate or `latency_most` of the mean latency. That counts at the end of a full window of
/// `full` batches. What settles slows down, so the line leads too far rather than too near. A round is not asked: its
/// mean is judged against other rounds'.
///
/// The line is that of the batches after the first quarter. Queues fill from nothing at the beginning of a window, which
/// leads nowhere. But they must not have moved the mean, beyond chance, by more than [`MOST_SHIFT`] of what is asked.
pub(super) fn is_drifting(
    batches: &[Tallies],
    full: f64,
    rate_most: f64,
    latency_most: f64,
) -> bool {
    let (counts, latencies) = series(batches, |_| true, |tally| tally.sum_ns);
    let residuals = ratio_residuals(&counts, &latencies);
    let ahead = (full - batches.len() as f64).max(0.0) / 2.0;
    [
        (&counts, rate_most * mean(&counts)),
        (&residuals, latency_most * mean(&latencies)),
    ]
    .into_iter()
    .any(|(series, most)| {
        let later = &series[series.len() / 4..];
        let (slope, error) = slope(later);
        let leads_away = slope.abs() > STUDENT_T * error && slope.abs() * ahead > most;
        // The mean of n values and that of the later three quarters differ by chance with a third of the mean's variance.
        let by_chance = half_width(series) / 3.0_f64.sqrt();
        let shift = (mean(later) - mean(series)).abs();
        leads_away
            || shift > by_chance.max(MOST_SHIFT * most)
            || correlation(later) > MOST_CORRELATION
    })
}

/// Counts and summed latencies per batch, of the operations chosen.
fn series(
    batches: &[Tallies],
    chosen: impl Fn(Op) -> bool,
    latency_ns: impl Fn(&Tally) -> u128,
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

/// Halves of the intervals of the rate and of the mean latency of all operations together, as fractions of them; `None` with
/// too few batches.
pub(super) fn of_all(batches: &[Tallies]) -> Option<(f64, f64)> {
    let (counts, latencies) = series(batches, |_| true, |tally| tally.sum_ns);
    let count = mean(&counts);
    (counts.len() >= FEWEST_BATCHES && count > 0.0).then(|| {
        let mean_latency = of_mean(&counts, &latencies).unwrap_or(0.0);
        (half_width(&counts) / count, mean_latency)
    })
}

/// Those of each operation, of each operation of each stream, of the WAF and of the energy; `None` with too few batches.
pub(super) fn half_widths(batches: &[Batch], stream_names: &[String]) -> Option<HalfWidths> {
    let ops: Vec<Tallies> = batches.iter().map(Batch::ops).collect();
    of_all(&ops)?;
    let streams = stream_names.iter().enumerate().map(|(stream, name)| {
        let own: Vec<Tallies> = batches.iter().map(|batch| batch.streams[stream]).collect();
        (name.clone(), of_ops(&own))
    });
    Some(HalfWidths {
        ops: of_ops(&ops),
        streams: streams.collect(),
        waf: of_waf(batches, &ops),
        joules: of_joules(batches),
    })
}

fn of_ops(batches: &[Tallies]) -> BTreeMap<Op, OpHalfWidths> {
    let of_op = |op: Op| {
        let (counts, latencies) = series(batches, |other| other == op, |tally| tally.sum_ns);
        let (_, responses) = series(batches, |other| other == op, |tally| tally.response_ns);
        let count = mean(&counts);
        (count > 0.0).then(|| OpHalfWidths {
            rate: half_width(&counts) / count,
            mean_latency: of_mean(&counts, &latencies).unwrap_or(0.0),
            mean_response: of_mean(&counts, &responses),
        })
    };
    let ops = Op::ALL.into_iter();
    ops.filter_map(|op| Some((op, of_op(op)?))).collect()
}

/// Returns the half-width of bytes programmed over bytes written, from the ratio's residuals. `None` where one of both
/// is not known or 0, and where cleaning comes and goes in cycles so long that batches resemble their neighbours.
fn of_waf(batches: &[Batch], ops: &[Tallies]) -> Option<f64> {
    let written = |batch: &Tallies| {
        let writes = batch
            .iter()
            .zip(Op::ALL)
            .filter(|(_, op)| matches!(op, Op::Write | Op::Append));
        writes.map(|(tally, _)| tally.bytes).sum::<u64>() as f64
    };
    let host: Vec<f64> = ops.iter().map(written).collect();
    let media = of_medium(batches, |medium| medium.write_bytes as f64)?;
    if mean(&host) == 0.0 || mean(&media) == 0.0 {
        return None;
    }
    let residuals = ratio_residuals(&host, &media);
    (correlation(&residuals) <= MOST_CORRELATION).then(|| half_width(&residuals) / mean(&media))
}

/// Returns the half-width of the energy. `None` where it is not known or 0, and where batches resemble their
/// neighbours, as above.
fn of_joules(batches: &[Batch]) -> Option<f64> {
    let joules = of_medium(batches, |medium| medium.joules)?;
    let known = mean(&joules) > 0.0 && correlation(&joules) <= MOST_CORRELATION;
    known.then(|| half_width(&joules) / mean(&joules))
}

fn of_medium(batches: &[Batch], figure: impl Fn(Medium) -> f64) -> Option<Vec<f64>> {
    let each = batches.iter().map(|batch| batch.medium.map(&figure));
    each.collect()
}

/// Returns half the interval of a mean latency, as a fraction of it; `None` where the latencies are all 0.
fn of_mean(counts: &[f64], latencies: &[f64]) -> Option<f64> {
    let total_ns = mean(latencies);
    (total_ns > 0.0).then(|| half_width(&ratio_residuals(counts, latencies)) / total_ns)
}

/// Returns what each batch's latencies are above those of as many I/O of mean latency.
fn ratio_residuals(counts: &[f64], latencies: &[f64]) -> Vec<f64> {
    let ratio = mean(latencies) / mean(counts).max(f64::MIN_POSITIVE);
    latencies
        .iter()
        .zip(counts)
        .map(|(latency, count)| latency - ratio * count)
        .collect()
}

pub(super) fn mean(series: &[f64]) -> f64 {
    series.iter().sum::<f64>() / series.len().max(1) as f64
}

/// Returns the correlation of neighbours, lag 1.
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

/// Returns what the straight line through the series, by least squares, gains from one to the next, and its standard
/// error. There are [`FEWEST_BATCHES`] or more.
fn slope(series: &[f64]) -> (f64, f64) {
    let (middle, mean) = ((series.len() as f64 - 1.0) / 2.0, mean(series));
    let (mut products, mut spread, mut squares) = (0.0, 0.0, 0.0);
    for (index, value) in series.iter().enumerate() {
        let (distance, height) = (index as f64 - middle, value - mean);
        products += distance * height;
        spread += distance * distance;
        squares += height * height;
    }
    let slope = products / spread;
    let left = (squares - slope * products).max(0.0);
    (slope, (left / (series.len() as f64 - 2.0) / spread).sqrt())
}

/// Returns half the 95 % interval of the series' mean. There are [`FEWEST_BATCHES`] or more.
pub(super) fn half_width(series: &[f64]) -> f64 {
    let run = series.len() / RUNS;
    let mean = mean(series);
    let mut sum: f64 = series[..run].iter().sum();
    let mut squares = (sum / run as f64 - mean).powi(2);
    for (first, next) in series.iter().zip(&series[run..]) {
        sum += next - first;
        squares += (sum / run as f64 - mean).powi(2);
    }
    let (count, run) = (series.len() as f64, run as f64);
    let variance = run * squares / ((count - run + 1.0) * (count - run));
    STUDENT_T_OF_RUNS * variance.sqrt()
}
