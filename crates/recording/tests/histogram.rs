//! The histogram against sorted data and against the `hdrhistogram` crate.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use hdrhistogram::Histogram as Oracle;
use proptest::prelude::*;
use recording::{BINS, Histogram, SparseHistogram, bin_bounds_ns, bin_index};

/// Values over all magnitudes: uniform in the exponent, as latencies are.
fn latency_ns() -> impl Strategy<Value = u64> {
    (0u32..37, any::<u64>()).prop_map(|(bits, noise)| (1u64 << bits) + noise % (1 << bits))
}

fn counted(values: &[u64]) -> SparseHistogram {
    let mut histogram = Histogram::default();
    for &value in values {
        histogram.record(value);
    }
    histogram.take()
}

proptest! {
    #[test]
    fn every_value_lies_inside_its_bin(value in latency_ns()) {
        let (low, high) = bin_bounds_ns(bin_index(value));
        prop_assert!(low <= value && value < high);
    }

    #[test]
    fn a_bin_is_at_most_one_128th_of_its_lower_edge_wide(value in latency_ns()) {
        let (low, high) = bin_bounds_ns(bin_index(value));
        prop_assert!(high - low == 1 || (high - low) * 128 <= low);
    }

    #[test]
    fn a_quantile_is_within_half_a_percent_of_the_sorted_value(
        mut values in prop::collection::vec(latency_ns(), 1..500),
        q in 0.0f64..=1.0,
    ) {
        let ours = counted(&values).quantile_ns(q).unwrap();
        values.sort_unstable();
        let rank = ((q * values.len() as f64).ceil() as usize).clamp(1, values.len());
        let exact = values[rank - 1] as f64;
        prop_assert!((ours - exact).abs() <= exact * 0.004 + 0.5, "{ours} against {exact}");
    }

    #[test]
    fn quantiles_agree_with_hdrhistogram(values in prop::collection::vec(latency_ns(), 1..500), q in 0.0f64..=1.0) {
        let ours = counted(&values);
        let mut oracle = Oracle::<u64>::new_with_bounds(1, 1 << 38, 3).unwrap();
        for &value in &values {
            oracle.record(value).unwrap();
        }
        let (a, b) = (ours.quantile_ns(q).unwrap(), oracle.value_at_quantile(q) as f64);
        // Our half bin plus the oracle's three significant digits.
        prop_assert!((a - b).abs() <= b * (0.004 + 0.001) + 1.0, "{a} against {b} at {q}");
    }

    #[test]
    fn mean_extremes_and_count_are_exact(values in prop::collection::vec(latency_ns(), 1..200)) {
        let ours = counted(&values);
        prop_assert_eq!(ours.count(), values.len() as u64);
        prop_assert_eq!(ours.sum_ns(), values.iter().map(|&ns| u128::from(ns)).sum::<u128>());
        prop_assert_eq!(ours.min_ns(), values.iter().copied().min());
        prop_assert_eq!(ours.max_ns(), values.iter().copied().max());
    }

    #[test]
    fn merging_equals_counting_together(
        a in prop::collection::vec(latency_ns(), 0..100),
        b in prop::collection::vec(latency_ns(), 0..100),
    ) {
        let mut merged = counted(&a);
        merged.merge(&counted(&b));
        prop_assert_eq!(&merged, &counted(&[a.clone(), b.clone()].concat()));
        let mut other_way = counted(&b);
        other_way.merge(&counted(&a));
        prop_assert_eq!(merged, other_way);
    }
}

#[test]
fn bins_tile_the_scale_without_gap_or_overlap() {
    for bin in 1..BINS {
        assert_eq!(
            bin_bounds_ns(bin).0,
            bin_bounds_ns(bin - 1).1,
            "at bin {bin}"
        );
        assert_eq!(bin_index(bin_bounds_ns(bin).0), bin);
    }
}

#[test]
fn values_beyond_the_scale_share_a_bin_whose_lower_edge_is_their_percentile() {
    let histogram = counted(&[1 << 47, 200_000_000_000_000, 5_000]);
    assert_eq!(histogram.bins().last(), Some(&((BINS - 1) as u16, 2)));
    assert_eq!(histogram.quantile_ns(1.0), Some((1u64 << 47) as f64));
    assert_eq!(histogram.max_ns(), Some(200_000_000_000_000));
}

#[test]
fn percentiles_of_responses_that_are_minutes_to_a_day_late_are_as_sharp_as_any() {
    for late_s in [137, 600, 3_600, 86_400] {
        let late_ns: Vec<u64> = (1..=100).map(|i| i * late_s * 10_000_000).collect();
        let median_ns = counted(&late_ns).quantile_ns(0.5).unwrap();
        let want_ns = late_s as f64 * 0.5e9;
        assert!(
            (median_ns / want_ns - 1.0).abs() < 0.004,
            "{median_ns} for {want_ns}"
        );
    }
}

#[test]
fn taking_the_counts_leaves_the_histogram_empty() {
    let mut histogram = Histogram::default();
    histogram.record(100);
    histogram.take();
    assert_eq!(histogram.count(), 0);
    assert_eq!(histogram.take(), SparseHistogram::default());
    histogram.record(7);
    assert_eq!(histogram.take().bins(), [(7, 1)]);
}

#[test]
fn an_empty_histogram_has_no_quantile_mean_or_extreme() {
    let empty = SparseHistogram::default();
    assert_eq!((empty.quantile_ns(0.5), empty.mean_ns()), (None, None));
    assert_eq!((empty.min_ns(), empty.max_ns()), (None, None));
}

#[test]
fn the_mean_of_hours_of_late_responses_is_exact_though_their_sum_is_beyond_64_bits() {
    let late = || {
        let mut second = Histogram::default();
        second.record_n(3_000_000_000_000, 5_000_000);
        second.take()
    };
    let mut hours = SparseHistogram::default();
    (0..8).for_each(|_| hours.merge(&late()));
    assert_eq!(hours.mean_ns(), Some(3e12));
    let text = serde_json::to_string(&hours).unwrap();
    assert_eq!(
        serde_json::from_str::<SparseHistogram>(&text).unwrap(),
        hours
    );
}

#[test]
fn the_mean_of_one_second_is_exact_though_its_sum_is_beyond_64_bits() {
    const FIVE_HOURS_NS: u64 = 5 * 3_600 * 1_000_000_000;
    let mut second = Histogram::default();
    second.record_n(FIVE_HOURS_NS, 1_500_000);
    second.record(FIVE_HOURS_NS);
    let sum_ns = 1_500_001 * u128::from(FIVE_HOURS_NS);
    assert!(sum_ns > u128::from(u64::MAX));
    assert_eq!(second.sum_ns(), sum_ns);
    assert_eq!(second.take().mean_ns(), Some(FIVE_HOURS_NS as f64));
}
