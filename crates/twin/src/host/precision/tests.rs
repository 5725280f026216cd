use recording::{Recorder, Tally};
use workload::Op;

use super::batch_means::{FEWEST_BATCHES, STUDENT_T_OF_RUNS, half_width, mean};
use super::*;

const RULE: Precision = Precision {
    half_width: 0.01,
    least_count: 1,
    least_written_bytes: 0,
    most_written_bytes: u64::MAX,
    round_ns: None,
};

/// A full window of 65,536 of the first batches.
const LIMIT_NS: u64 = FIRST_BATCH_NS << 16;

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

fn fed(stopping: &StoppingRule, rates: impl Iterator<Item = u64>) -> (Batches<'_>, bool) {
    let mut batches = Batches::new(Member::new(stopping), (0, LIMIT_NS), 1, None);
    let mut counted = Tallies::default();
    let mut settled = false;
    for (number, count) in rates.enumerate() {
        counted[Op::Read as usize].count += count;
        counted[Op::Read as usize].sum_ns += u128::from(count) * 100;
        batches.see(&[counted], None);
        settled |= batches.close((number as u64 + 1) * FIRST_BATCH_NS);
        if settled {
            break;
        }
    }
    (batches, settled)
}

/// What each stream read.
fn batch_of(streams: &[Tally]) -> Batch {
    let of_stream = |tally: &Tally| {
        let mut tallies = Tallies::default();
        tallies[Op::Read as usize] = *tally;
        tallies
    };
    Batch {
        streams: streams.iter().map(of_stream).collect(),
        medium: None,
        latency: Vec::new(),
    }
}

/// Returns how many of 1,000 series have their true mean, 0, within their interval, and the mean half-width.
fn covered(series: impl Fn(u64) -> Vec<f64>) -> (usize, f64) {
    let each: Vec<(bool, f64)> = (1..=1_000)
        .map(|seed| {
            let series = series(seed);
            let half_width = half_width(&series);
            (mean(&series).abs() <= half_width, half_width)
        })
        .collect();
    let covering = each.iter().filter(|(covers, _)| *covers).count();
    (
        covering,
        each.iter().map(|(_, wide)| wide).sum::<f64>() / 1e3,
    )
}

#[test]
fn the_interval_of_a_correlated_series_covers_its_mean_about_as_often_as_it_says() {
    for (coefficient, most) in [(-0.5, 1_000), (0.0, 980), (0.4, 975)] {
        for count in [FEWEST_BATCHES, 32, 48, 60] {
            let (covering, _) = covered(|seed| autoregressive(count, coefficient, seed));
            let least = if count < 32 && coefficient > 0.0 {
                890
            } else {
                920
            };
            assert!(
                (least..=most).contains(&covering),
                "{covering} of 1000 at {coefficient}, {count} batches"
            );
        }
    }
}

#[test]
fn the_mean_of_a_cycle_is_known_better_than_its_scatter_suggests() {
    let cycle = |seed: u64| {
        let noise = noise(48, seed).into_iter().enumerate();
        let phase = seed as f64;
        noise
            .map(|(batch, z)| z + 3.0 * (batch as f64 * 1.1 + phase).sin())
            .collect()
    };
    let (covering, wide) = covered(cycle);
    let (_, of_noise) = covered(|seed| noise(48, seed));
    assert!(covering >= 940, "{covering} of 1000");
    assert!(
        wide < 1.5 * of_noise,
        "{wide}, {of_noise} without the cycle, whose scatter is twice the noise's"
    );
}

#[test]
fn an_even_rate_settles_and_an_uneven_one_only_when_its_mean_is_known() {
    let stopping = || StoppingRule::new(RULE, 1);
    let (even, uneven) = (stopping(), stopping());
    let even = fed(&even, (0..64).map(|_| 1_000));
    assert!(even.1);
    assert_eq!(even.0.full.len(), FEWEST_BATCHES);
    let rates = noise(100_000, 7).into_iter();
    let uneven = fed(&uneven, rates.map(|z| (1_000.0 + 150.0 * z) as u64));
    assert!(uneven.1);
    let known = uneven.0.half_widths(&[]);
    let known = known.map(|known| known.ops[&Op::Read].rate);
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
        let batches: Vec<Batch> = (0..48)
            .map(|batch| {
                let response_us = waiting.map_or(0.0, |noise| 1_000.0 + 100.0 * noise[batch]);
                batch_of(&[Tally {
                    count: 1_000,
                    sum_ns: 100_000,
                    response_ns: (response_us * 1_000.0) as u128,
                    bytes: 0,
                }])
            })
            .collect();
        half_widths(&batches, &[]).expect("enough batches").ops[&Op::Read]
    };
    let closed = known(None);
    assert_eq!((closed.mean_latency, closed.mean_response), (0.0, None));
    let expected = STUDENT_T_OF_RUNS * 0.1 / 48.0_f64.sqrt();
    let found = (1..=40).map(|seed| {
        let open = known(Some(&noise(48, seed)));
        assert_eq!(open.mean_latency, 0.0);
        open.mean_response.expect("of an open load")
    });
    let found = found.sum::<f64>() / 40.0;
    assert!((found / expected - 1.0).abs() < 0.2, "{found}: {expected}");
}

#[test]
fn streams_that_share_an_operation_are_each_known_by_their_own_scatter() {
    let noise = noise(64, 9);
    let batches: Vec<Batch> = noise
        .iter()
        .map(|shift| {
            let read = |count: f64| Tally {
                count: count as u64,
                sum_ns: count as u128 * 100,
                ..Tally::default()
            };
            batch_of(&[read(10_000.0), read(10_000.0 * (1.0 + 0.1 * shift))])
        })
        .collect();
    let names = ["even".to_owned(), "uneven".to_owned()];
    let known = half_widths(&batches, &names).expect("enough batches");
    let rate = |name: &str| known.streams[name][&Op::Read].rate;
    assert_eq!(rate("even"), 0.0);
    let expected = STUDENT_T_OF_RUNS * 0.1 / 8.0;
    let found = rate("uneven");
    assert!((found / expected - 1.0).abs() < 0.4, "{found}: {expected}");
    let together = known.ops[&Op::Read].rate;
    assert!(
        (together / found - 0.5).abs() < 0.01,
        "{together}: half of {found}, whose part of the rate is a half"
    );
}

/// Each byte costs 2^-20 J.
fn medium(write_bytes: u64) -> Medium {
    Medium {
        write_bytes,
        joules: write_bytes as f64 / f64::from(1 << 20),
    }
}

/// Returns batches that write evenly; the device programs `wafs` times as much.
fn written(wafs: impl IntoIterator<Item = f64>) -> Vec<Batch> {
    let bytes = 1_u64 << 30;
    let batch = |waf: f64| {
        let mut tallies = Tallies::default();
        tallies[Op::Write as usize] = Tally {
            count: 1_000,
            bytes,
            ..Tally::default()
        };
        Batch {
            streams: vec![tallies],
            medium: Some(medium((waf * bytes as f64) as u64)),
            latency: Vec::new(),
        }
    };
    wafs.into_iter().map(batch).collect()
}

#[test]
fn write_amplification_is_known_by_the_scatter_of_its_batches_covering_as_often_as_it_says() {
    let covering = (1..=400)
        .filter(|&seed| {
            let wafs: Vec<f64> = noise(48, seed).iter().map(|z| 3.0 + 0.3 * z).collect();
            let known = half_widths(&written(wafs.iter().copied()), &[]);
            let known = known.expect("enough batches");
            let waf = known.waf.expect("it is counted");
            let joules = known.joules.expect("it is counted");
            assert!(
                (joules / waf - 1.0).abs() < 1e-6,
                "even writes: {joules} is {waf}"
            );
            (mean(&wafs) / 3.0 - 1.0).abs() <= waf
        })
        .count();
    assert!((370..=395).contains(&covering), "{covering} of 400");
}

#[test]
fn write_amplification_that_comes_in_cycles_longer_than_the_window_is_not_known() {
    let cycle = (0..48).map(|batch| 3.0 + (f64::from(batch) / 20.0).sin());
    let known = half_widths(&written(cycle), &[]).expect("enough batches");
    assert_eq!((known.waf, known.joules), (None, None));
    let uncounted: Vec<Batch> = written((0..48).map(|_| 3.0))
        .into_iter()
        .map(|batch| Batch {
            medium: None,
            ..batch
        })
        .collect();
    let known = half_widths(&uncounted, &[]).expect("enough batches");
    assert_eq!((known.waf, known.joules), (None, None));
}

#[test]
fn what_was_programmed_before_the_window_is_not_of_its_batches() {
    let stopping = StoppingRule::new(RULE, 1);
    let before = 1 << 40;
    let mut batches = Batches::new(
        Member::new(&stopping),
        (0, LIMIT_NS),
        1,
        Some(medium(before)),
    );
    let mut counted = Tallies::default();
    for batch in 1..=FEWEST_BATCHES as u64 {
        counted[Op::Write as usize].count += 1_000;
        counted[Op::Write as usize].bytes += 1_000 << 12;
        batches.see(&[counted], Some(medium(before + batch * (2_000 << 12))));
        batches.close(batch * FIRST_BATCH_NS);
        if batch == 8 {
            counted = Tallies::default();
            batches.forget_seen();
        }
    }
    let mut programmed = batches.full.iter().map(|batch| batch.medium);
    assert!(programmed.all(|own| own == Some(medium(2_000 << 12))));
    let known = batches.half_widths(&[]).expect("enough batches");
    assert_eq!(known.waf, Some(0.0));
    assert_eq!(known.joules, Some(0.0));
}

/// Returns the window's batches. Reads take 1,000 ns in the first half of a batch and 2,000 ns in the second. The
/// recorder is cut every third batch.
fn with_latencies(batches: u64) -> Vec<recording::Batch> {
    let stopping = StoppingRule::new(RULE, 1);
    let mut watched = Batches::new(Member::new(&stopping), (0, LIMIT_NS), 1, None);
    let mut recorder = Recorder::new(0);
    let mut now_ns = 0;
    for batch in 1..=batches {
        now_ns = watched.end_ns();
        for service_ns in [1_000, 2_000] {
            recorder.record(Op::Read, service_ns, 4096);
            let counted = std::iter::once(recorder.bins());
            watched.see_latency(counted, now_ns);
        }
        if batch % 3 == 0 {
            recorder.cut(now_ns, 0);
            watched.forget_seen();
        }
        watched.close(now_ns);
    }
    assert!(now_ns < ENOUGH_SECONDS_NS);
    watched.recorded(&[])
}

#[test]
fn batches_have_the_latencies_of_their_own_time_whatever_is_cut_or_joined() {
    for batches in [20, 63, 64, 90] {
        let recorded = with_latencies(batches);
        let each = recorded.iter().map(|batch| &batch.ops[&Op::Read].service);
        let counts: Vec<Vec<u64>> = each
            .map(|bins| bins.as_slice().iter().map(|(_, n)| *n).collect())
            .collect();
        let (joined, single) = if batches < 64 {
            (0, batches)
        } else {
            (32, batches - 64)
        };
        let expected = [vec![vec![2, 2]; joined], vec![vec![1, 1]; single as usize]].concat();
        assert_eq!(counts, expected, "{batches}");
    }
}

#[test]
fn a_window_of_seconds_enough_keeps_no_latencies_of_batches() {
    let stopping = StoppingRule::new(RULE, 1);
    let mut watched = Batches::new(Member::new(&stopping), (0, u64::MAX), 1, None);
    let mut recorder = Recorder::new(0);
    recorder.record(Op::Read, 1_000, 4096);
    watched.see_latency(std::iter::once(recorder.bins()), FIRST_BATCH_NS);
    watched.close(FIRST_BATCH_NS);
    assert_eq!(watched.recorded(&[]).len(), 1);
    watched.see_latency(std::iter::once(recorder.bins()), ENOUGH_SECONDS_NS);
    assert!(!watched.watches_latency());
    assert!(watched.recorded(&[]).is_empty());
}

#[test]
fn a_rate_that_still_moves_does_not_settle() {
    let stopping = StoppingRule::new(RULE, 1);
    let (_, settled) = fed(&stopping, (0..4_096).map(|step| 1_000 + step));
    assert!(!settled);
}

/// Returns the batches, of 1,000 reads of 4 KiB each, until the window is settled. The medium is written in
/// `batches_written` of them.
fn read_while_the_medium_is_written(batches_written: u64, bytes_each: u64) -> u64 {
    let stopping = StoppingRule::new(RULE, 1);
    let mut batches = Batches::new(Member::new(&stopping), (0, LIMIT_NS), 1, Some(medium(0)));
    let mut counted = Tallies::default();
    for batch in 1..=1_000 {
        counted[Op::Read as usize].count += 1_000;
        counted[Op::Read as usize].bytes += 1_000 << 12;
        counted[Op::Read as usize].sum_ns += 100_000;
        let programmed = batch.min(batches_written) * bytes_each;
        batches.see(&[counted], Some(medium(programmed)));
        if batches.close(batch * FIRST_BATCH_NS) {
            return batch;
        }
    }
    0
}

#[test]
fn an_even_rate_of_reads_is_not_taken_while_the_writes_before_them_are_still_programmed() {
    let alone = read_while_the_medium_is_written(0, 0);
    assert!(alone > 0);
    assert_eq!(read_while_the_medium_is_written(u64::MAX, 1_000 << 12), 0);
    let after = read_while_the_medium_is_written(3 * alone, 1_000 << 12);
    assert!(
        (6 * alone..=7 * alone).contains(&after),
        "{after} after {alone}"
    );
    let a_little = read_while_the_medium_is_written(u64::MAX, 1 << 12);
    assert_eq!(a_little, alone, "as housekeeping may");
}

/// Returns when `devices` devices of equal scatter end as one target.
fn end_of_devices_ns(devices: u64, seed: u64) -> u64 {
    let stopping = &StoppingRule::new(RULE, devices as usize);
    let ends_ns: Vec<u64> = std::thread::scope(|scope| {
        let run = |device| {
            let rates = noise(100_000, seed + device).into_iter();
            let rates = rates.map(|z| (1_000.0 + 150.0 * z) as u64);
            scope.spawn(move || fed(stopping, rates).0.end_ns)
        };
        let threads: Vec<_> = (0..devices).map(run).collect();
        let ends = threads.into_iter().map(|thread| thread.join());
        ends.map(|end| end.expect("no panic")).collect()
    });
    assert!(
        ends_ns.iter().all(|&end_ns| end_ns == ends_ns[0]),
        "{ends_ns:?}"
    );
    ends_ns[0]
}

#[test]
fn devices_of_one_target_end_together_when_their_sum_is_known() {
    let of = |devices| {
        let ends = (0..8).map(|seed| end_of_devices_ns(devices, 1 + 4 * seed));
        ends.sum::<u64>() as f64
    };
    let share = of(4) / of(1);
    assert!(
        (0.15..0.4).contains(&share),
        "{share}: a quarter is expected"
    );
}

#[test]
fn a_device_that_has_ended_is_not_waited_for() {
    let stopping = StoppingRule::new(RULE, 2);
    let brief = Member::new(&stopping);
    std::thread::scope(|scope| {
        let long = scope.spawn(|| fed(&stopping, (0..64).map(|_| 1_000)).1);
        drop(brief);
        assert!(long.join().expect("no panic"));
    });
}

/// Returns the rates per batch of a drive that settles from `above` its rate at rest, to 1/e within `within` batches.
fn settling(above: f64, within: f64, seed: u64) -> impl Iterator<Item = u64> {
    let noise = noise(1 << 16, seed).into_iter().enumerate();
    noise.map(move |(batch, z)| {
        let level = 1.0 + above * (-(batch as f64) / within).exp();
        (100_000.0 * level * (1.0 + 0.002 * z)) as u64
    })
}

#[test]
fn a_window_that_ends_before_a_drive_has_settled_has_the_mean_of_the_full_one() {
    let full = (LIMIT_NS / FIRST_BATCH_NS) as usize;
    let rule = Precision {
        least_count: 100_000 << 10,
        ..RULE
    };
    let mut ended_early = 0;
    for above in [0.01, 0.03, 0.1, 0.3, 1.0] {
        for within in [100.0, 1_000.0, 10_000.0, 100_000.0] {
            let stopping = StoppingRule::new(rule, 1);
            let (batches, settled) = fed(&stopping, settling(above, within, 11));
            let seen = (batches.end_ns - batches.length_ns) / FIRST_BATCH_NS;
            let mean_of = |count: usize| {
                settling(above, within, 11).take(count).sum::<u64>() as f64 / count as f64
            };
            let error = mean_of(seen as usize) / mean_of(full) - 1.0;
            assert!(
                !settled || error.abs() <= 0.02,
                "{above} above, within {within}: {error} after {seen}"
            );
            ended_early += usize::from(settled && seen < full as u64 / 2);
        }
    }
    assert!(ended_early >= 8, "{ended_early} of 20");
}

#[test]
fn queues_that_fill_at_first_neither_keep_a_window_open_nor_move_its_mean() {
    for within in [3.0, 6.0, 12.0, 25.0, 50.0] {
        let stopping = StoppingRule::new(RULE, 1);
        let rates: Vec<u64> = settling(0.2, within, 5).collect();
        let (batches, settled) = fed(&stopping, rates.iter().copied());
        let seen = ((batches.end_ns - batches.length_ns) / FIRST_BATCH_NS) as usize;
        let mean = rates[..seen].iter().sum::<u64>() as f64 / seen as f64;
        let error = mean / 100_000.0 - 1.0;
        assert!(
            settled && seen as f64 <= 128.0 * within,
            "{seen} at {within}"
        );
        assert!(error.abs() <= RULE.half_width / 2.0, "{error} at {within}");
    }
}

#[test]
fn a_rate_that_wanders_by_less_than_is_asked_settles_well_before_the_full_window() {
    let stopping = StoppingRule::new(RULE, 1);
    let wander = autoregressive(1 << 16, 0.998, 3).into_iter();
    let (batches, settled) = fed(
        &stopping,
        wander.map(|shift| (100_000.0 * (1.0 + 0.000_05 * shift)) as u64),
    );
    assert!(settled);
    assert!(batches.end_ns < LIMIT_NS / 4, "{} ns", batches.end_ns);
}

#[test]
fn a_window_of_slow_swings_ends_with_a_mean_that_is_known_seven_times_in_eight() {
    let coefficient: f64 = 0.998;
    let spread = 0.03 * (1.0 - coefficient * coefficient).sqrt();
    let errors: Vec<f64> = (1..=200)
        .filter_map(|seed| {
            let stopping = StoppingRule::new(RULE, 1);
            let swings: Vec<u64> = autoregressive(1 << 16, coefficient, seed)
                .into_iter()
                .map(|shift| (100_000.0 * (1.0 + spread * shift)) as u64)
                .collect();
            let (batches, settled) = fed(&stopping, swings.iter().copied());
            let seen = ((batches.end_ns - batches.length_ns) / FIRST_BATCH_NS) as usize;
            let mean = swings[..seen].iter().sum::<u64>() as f64 / seen as f64;
            settled.then_some((mean / 100_000.0 - 1.0).abs())
        })
        .collect();
    let known = errors.iter().filter(|&&error| error <= RULE.half_width);
    let (known, settled) = (known.count(), errors.len());
    assert!(
        settled >= 150 && known * 100 >= settled * 87,
        "{known} of {settled}"
    );
}
