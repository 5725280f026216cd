//! What a drive does on its own account: cleaning in idle time, keeping to its power and its
//! temperature, levelling wear.

use workload::Job;

use super::{assert_close, closed, filled, intervals, iops, measure, settle, small_drive, waf};
use crate::device::Device;
use crate::{Ssd, SsdParams};

const BURST: &str = r#"{"count":6000}"#;

/// Rests for a while; nothing is asked of the drive.
pub(super) fn rest(ssd: &mut Ssd, time: &str) {
    let text = format!(
        r#"{{"mix":"read","block":"4KiB","pattern":"sequential","load":{{"rate":"0.000000001/s","arrival":"uniform","iodepth":1}},"until":{{"time":"{time}"}}}}"#
    );
    measure(ssd, &Job::from_json(&text, "idle").expect("a valid job"));
}

/// A drive in the steady state of random writes.
fn steady(params: &SsdParams) -> Ssd {
    let mut ssd = filled(params);
    let overwrite = closed("\"write\"", "4KiB", "uniform", 1, 32, r#"{"written":"3x"}"#);
    measure(&mut ssd, &overwrite);
    ssd
}

/// The small drive that cleans in idle time until 60 % of its spare superblocks are free.
fn tidy_drive() -> SsdParams {
    let mut params = small_drive();
    (params.gc_idle_free_share, params.gc_idle_after_us) = (0.6, 1000.0);
    params
}

#[test]
fn after_a_rest_a_burst_runs_at_the_programming_rate_until_what_the_rest_freed_is_used_up() {
    let burst = closed("\"write\"", "4KiB", "uniform", 1, 64, BURST);
    let after_rest = |params: &SsdParams| {
        let mut ssd = steady(params);
        rest(&mut ssd, "300ms");
        let first = measure(&mut ssd, &burst);
        measure(&mut ssd, &burst);
        (iops(&first), waf(&first), iops(&measure(&mut ssd, &burst)))
    };
    let (first, amplification, third) = after_rest(&tidy_drive());
    let (lazy_first, ..) = after_rest(&small_drive());
    let params = small_drive();
    let cycle_us = params.program_us
        + params.erase_us * params.program_bytes() as f64 / params.erase_unit_bytes as f64;
    let rate = f64::from(params.dies()) * params.program_bytes() as f64 / 4096.0 / cycle_us * 1e6;
    // The write buffer takes its own size, a third of the burst, at once.
    assert!(first > 0.95 * rate, "{first} of {rate} IOPS");
    assert!(amplification < 1.1, "WAF {amplification}");
    assert!(
        lazy_first < 0.8 * first,
        "{lazy_first} without cleaning, {first} with it"
    );
    assert!(
        third < 0.7 * first,
        "{third} in the third burst, {first} in the first"
    );
}

#[test]
fn cleaning_in_idle_time_costs_write_amplification() {
    let amplification = |params: &SsdParams| {
        let mut ssd = steady(params);
        let before = ssd.page_totals();
        for _ in 0..30 {
            let burst = closed("\"write\"", "4KiB", "uniform", 1, 32, BURST);
            measure(&mut ssd, &burst);
            rest(&mut ssd, "100ms");
        }
        let after = ssd.page_totals();
        let placed = (after.placed - before.placed) as f64;
        1.0 + (after.relocated - before.relocated) as f64 / placed
    };
    let ratio = amplification(&tidy_drive()) / amplification(&small_drive());
    assert!((1.03..1.8).contains(&ratio), "WAF grows by {ratio}");
}

#[test]
fn the_next_command_stops_cleaning_in_idle_time() {
    let moved_in_50_ms = |reads: bool| {
        let mut ssd = steady(&tidy_drive());
        settle_for(&mut ssd, 3_000_000);
        let before = ssd.page_totals().relocated;
        let read = if reads {
            let job = closed("\"read\"", "4KiB", "uniform", 1, 1, r#"{"time":"50ms"}"#);
            measure(&mut ssd, &job).completed()
        } else {
            settle_for(&mut ssd, 50_000_000);
            0
        };
        ssd.page_totals().relocated - before - read
    };
    let (interrupted, undisturbed) = (moved_in_50_ms(true), moved_in_50_ms(false));
    assert!(
        undisturbed > 2 * interrupted,
        "{interrupted} pages moved beside reads, {undisturbed} without"
    );
}

/// Lets the drive alone for a time.
fn settle_for(ssd: &mut Ssd, time_ns: u64) {
    let limit_ns = ssd.now_ns() + time_ns;
    while ssd.advance(limit_ns).is_some() {}
}

#[test]
fn a_drive_with_nothing_left_to_clean_comes_to_rest() {
    let mut params = tidy_drive();
    params.gc_idle_free_share = 1.0;
    let mut ssd = steady(&params);
    settle(&mut ssd);
    assert!(!ssd.is_busy());
}

/// The small drive with reads that cost 51 uJ and 4 KiB on the link and the channel.
fn hungry_drive() -> SsdParams {
    let mut params = small_drive();
    params.read_sense_uj = 50.0;
    params
}

fn read_uj(params: &SsdParams) -> f64 {
    let nano = params.link_nj_per_byte + params.channel_nj_per_byte;
    params.read_sense_uj + params.command_uj + 4096.0 * nano / 1e3
}

#[test]
fn a_capped_drive_runs_at_the_cap_and_at_the_rate_that_its_energy_allows() {
    let mut params = hungry_drive();
    params.power_cap_w = 8.0;
    let mut ssd = filled(&params);
    let job = closed("\"read\"", "4KiB", "uniform", 4, 16, r#"{"time":"2s"}"#);
    let (intervals, recording) = intervals(&mut ssd, &job);
    for interval in &intervals {
        assert_close("W", interval.counters.joules.expect("known"), 8.0, 0.01);
        let cap = interval
            .utilisation
            .iter()
            .find(|u| u.resource == "power cap");
        assert_close("use of the cap", cap.expect("reported").mean, 1.0, 0.01);
        assert_eq!(interval.counters.throttled_ns, None);
    }
    let expected = (params.power_cap_w - params.idle_w) / (read_uj(&params) * 1e-6);
    assert_close("IOPS", iops(&recording), expected, 0.02);
}

#[test]
fn a_cap_that_is_never_reached_changes_nothing() {
    let job = closed("\"read\"", "4KiB", "uniform", 2, 4, r#"{"time":"200ms"}"#);
    let run = |params: &SsdParams| measure(&mut filled(params), &job).ops;
    let mut capped = small_drive();
    capped.power_cap_w = 100.0;
    assert_eq!(run(&capped), run(&small_drive()));
}

/// Two seconds to warm up, 35 degrees at rest.
fn warm_drive() -> SsdParams {
    let mut params = hungry_drive();
    (
        params.thermal_resistance_c_per_w,
        params.thermal_capacity_j_per_c,
    ) = (2.0, 1.0);
    params
}

#[test]
fn the_power_state_in_force_is_the_cap_and_a_lower_cap_beside_it_holds() {
    let mut params = hungry_drive();
    params.power_states = "25+8+7.5".into();
    let cap = |state: u32, beside: f64| {
        let mut params = params.clone();
        (params.power_state, params.power_cap_w) = (state, beside);
        params.check().map(|()| params.cap_w())
    };
    assert_eq!(cap(0, 0.0), Ok(25.0));
    assert_eq!(cap(1, 0.0), Ok(8.0));
    assert_eq!(cap(1, 20.0), Ok(8.0));
    assert_eq!(cap(0, 20.0), Ok(20.0));
    assert_eq!(cap(3, 0.0).map_err(|error| error.name), Err("power_state"));
    params.power_state = 1;
    let mut ssd = filled(&params);
    let job = closed("\"read\"", "4KiB", "uniform", 4, 16, r#"{"time":"1s"}"#);
    let (intervals, _) = intervals(&mut ssd, &job);
    assert_close("W", intervals[0].counters.joules.expect("known"), 8.0, 0.01);
    for (states, name) in [("25 W", "power_states"), ("25+5", "power_state")] {
        params.power_states = states.into();
        let refused = Ssd::new(&params, 1).err().map(|error| error.name);
        assert_eq!(refused, Some(name), "{states}");
    }
}

#[test]
fn temperature_follows_the_closed_form_of_one_heat_capacity_behind_one_resistance() {
    let params = warm_drive();
    let mut ssd = filled(&params);
    rest(&mut ssd, "30s");
    let job = closed("\"read\"", "4KiB", "uniform", 1, 8, r#"{"time":"6s"}"#);
    for (interval, second) in intervals(&mut ssd, &job).0.iter().zip(1..) {
        let watts = interval.counters.joules.expect("known");
        let rise = 2.0 * (watts - params.idle_w) * (1.0 - (-f64::from(second) / 2.0).exp());
        let measured = interval.counters.temperature_c.expect("modelled");
        assert!(
            (measured - 35.0 - rise).abs() < 0.05,
            "{measured} after {second} s, {rise} above 35 expected"
        );
    }
}

#[test]
fn a_hot_drive_throttles_to_the_power_that_holds_its_temperature() {
    let mut params = warm_drive();
    (params.throttle_above_c, params.throttle_below_c) = (42.0, 40.0);
    params.throttle_cap_w = 6.0;
    let mut ssd = filled(&params);
    let job = closed("\"read\"", "4KiB", "uniform", 4, 16, r#"{"time":"8s"}"#);
    let (intervals, _) = intervals(&mut ssd, &job);
    let (cool, hot) = intervals.split_at(2);
    let throttled = |part: &[recording::Interval]| -> u64 {
        let ns = part.iter().map(|i| i.counters.throttled_ns);
        ns.map(|ns| ns.expect("modelled")).sum()
    };
    assert!(throttled(hot) > 1_000_000_000, "{} ns", throttled(hot));
    let joules: f64 = hot.iter().filter_map(|i| i.counters.joules).sum();
    let watts = joules / hot.len() as f64;
    // (T - ambient) / R at both thresholds, and what is stored in two degrees over the window.
    assert!((7.2..=8.8).contains(&watts), "{watts} W");
    let first = cool[0].counters.joules.expect("known");
    assert!(
        first > 1.2 * watts,
        "{first} W while cool, {watts} W when hot"
    );
    let peak = hot.iter().filter_map(|i| i.counters.temperature_c);
    assert!(peak.fold(0.0, f64::max) < 42.2);
}

#[test]
fn levelling_keeps_every_superblock_within_the_spread_of_the_most_worn_one() {
    let worn = |spread| {
        let mut params = small_drive();
        (params.wear_spread_max, params.rated_pe_cycles) = (spread, 1000);
        let mut ssd = filled(&params);
        let text = r#"{"mix":"write","block":"16KiB","pattern":"uniform","region":"10%","load":{"threads":1,"iodepth":32},"until":{"bytes":"10GiB"}}"#;
        let job = Job::from_json(text, "hot").expect("a valid job");
        let recording = measure(&mut ssd, &job);
        let used = recording.counters.wear_pct.expect("rated");
        (ssd.erase_counts(), used, waf(&recording))
    };
    let (uneven, used, plain) = worn(0);
    let (even, _, levelled) = worn(20);
    assert!(uneven.max - uneven.min > 40, "{uneven:?}");
    assert!(even.max - even.min <= 23, "{even:?}");
    assert!(
        levelled > plain && levelled < 1.2 * plain,
        "WAF {plain}, {levelled}"
    );
    assert_close("percent used", used, uneven.mean / 10.0, 0.02);
}
