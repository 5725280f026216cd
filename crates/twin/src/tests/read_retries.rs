//! Read retries against closed forms: who waits, how long, what it costs the dies and in energy.

use recording::Recording;
use workload::Op;

use super::{assert_close, closed, filled, iops, measure, small_drive};
use crate::SsdParams;
use crate::ssd::params::SenseTime;

const SHARE: f64 = 0.02;
const RETRIES: u32 = 3;

fn retrying(share: f64) -> SsdParams {
    SsdParams {
        read_sense_time: SenseTime::Fixed,
        read_retry_share: share,
        read_retries: RETRIES,
        ..small_drive()
    }
}

fn read(params: &SsdParams, threads: u32, iodepth: u32) -> Recording {
    let until = r#"{"count":40000}"#;
    let job = closed("\"read\"", "4KiB", "uniform", threads, iodepth, until);
    measure(&mut filled(params), &job)
}

fn retry_us(params: &SsdParams) -> f64 {
    f64::from(RETRIES) * (params.read_sense_us + params.ecc_us)
}

#[test]
fn a_lone_read_waits_for_its_retries_and_no_other_does() {
    let params = retrying(SHARE);
    let service = &read(&params, 1, 1).ops[&Op::Read].service;
    let without = &read(&retrying(0.0), 1, 1).ops[&Op::Read].service;
    let (mean, least) = (
        service.mean_ns().expect("reads"),
        without.mean_ns().expect("reads"),
    );
    assert_close(
        "what retries add to the mean, us",
        (mean - least) / 1e3,
        SHARE * retry_us(&params),
        // 800 of 40,000 reads retry, give or take 28.
        0.12,
    );
    let percentile_us = |share: f64| service.quantile_ns(share).expect("reads") / 1e3;
    assert_close("p97, us", percentile_us(0.97), least / 1e3, 0.04);
    let slow_us = least / 1e3 + retry_us(&params);
    assert_close("p99.9, us", percentile_us(0.999), slow_us, 0.04);
}

#[test]
fn busy_dies_serve_fewer_reads_by_the_time_that_retries_hold_their_planes() {
    let params = retrying(0.5);
    let transfer_us = (params.channel_command_ns
        + 4096.0 * params.channel_parity_ratio * 1e3 / params.channel_mts)
        / 1e3;
    let held_us = params.read_sense_us + transfer_us;
    let expected = held_us / (held_us + 0.5 * retry_us(&params));
    let share = iops(&read(&params, 8, 128)) / iops(&read(&retrying(0.0), 8, 128));
    assert_close(
        "rate with retries over the rate without",
        share,
        expected,
        0.05,
    );
}

#[test]
fn each_retry_costs_the_energy_of_a_sense() {
    let mut params = retrying(1.0);
    params.idle_w = 0.0;
    let joules = |params: &SsdParams| {
        let recording = read(params, 1, 1);
        recording.counters.joules.expect("a twin knows") / recording.completed() as f64
    };
    let with = joules(&params);
    params.read_retry_share = 0.0;
    let sense_j = params.read_sense_uj * 1e-6;
    assert_close(
        "energy of retries, J",
        with - joules(&params),
        f64::from(RETRIES) * sense_j,
        // The last writes of the fill are read from the buffer.
        0.002,
    );
}
