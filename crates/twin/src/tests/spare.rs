//! Random writes against the spare space: the drive programs at one rate, and the spare space alone decides how much of
//! that is the host's. Moving pages may cost the controller time besides.

use super::{assert_close, closed, filled, iops, measure, small_drive, waf};
use crate::SsdParams;

/// Rate and write amplification of random writes in steady state.
fn random_writes(params: &SsdParams) -> (f64, f64) {
    let mut ssd = filled(params);
    let overwrite = |until| closed("\"write\"", "4KiB", "uniform", 1, 256, until);
    measure(&mut ssd, &overwrite(r#"{"written":"4x"}"#));
    let steady = measure(&mut ssd, &overwrite(r#"{"written":"2x"}"#));
    (iops(&steady), waf(&steady))
}

fn with_spare(over_provisioning: f64) -> SsdParams {
    SsdParams {
        over_provisioning,
        ..small_drive()
    }
}

/// Pages a second that the dies take: of each unit a program, its share of an erase, and the senses of its pages when it
/// is cleaned.
fn programmed_per_s(params: &SsdParams) -> f64 {
    let unit_bytes = params.program_bytes() as f64;
    let erase_us = params.erase_us * unit_bytes / params.erase_unit_bytes as f64;
    let senses_us = f64::from(params.pages_per_program) * params.read_sense_us;
    let unit_us = params.program_us + erase_us + senses_us;
    f64::from(params.dies()) * unit_bytes / 4096.0 / (unit_us * 1e-6)
}

#[test]
fn random_writes_run_at_one_programming_rate_over_the_write_amplification_whatever_the_spare_space()
{
    for spare in [0.07, 0.15, 0.28, 0.5] {
        let params = with_spare(spare);
        let (iops, waf) = random_writes(&params);
        let share = iops * waf / programmed_per_s(&params);
        assert_close("share of the programming rate", share, 1.0, 0.02);
    }
}

#[test]
fn endurance_and_rate_grow_alike_with_the_spare_space() {
    let (few, few_waf) = random_writes(&with_spare(0.07));
    for spare in [0.15, 0.28, 0.5] {
        let (iops, waf) = random_writes(&with_spare(spare));
        assert_close("rate over wear", iops / few, few_waf / waf, 0.04);
    }
}

#[test]
fn the_controller_moves_one_page_after_another_and_random_writes_run_at_the_pace_of_its_moves() {
    let mut params = with_spare(0.15);
    params.gc_page_ns = 40_000.0;
    let (iops, waf) = random_writes(&params);
    let moves_per_s = 1e9 / params.gc_page_ns;
    assert_close("pages moved", iops * (waf - 1.0), moves_per_s, 0.02);
}

#[test]
fn moves_that_take_less_time_than_the_dies_cost_next_to_nothing() {
    let (free, _) = random_writes(&with_spare(0.15));
    let mut params = with_spare(0.15);
    // A tenth of what the dies take for a page.
    params.gc_page_ns = 0.1 * 1e9 / programmed_per_s(&params);
    assert_close("rate", random_writes(&params).0, free, 0.03);
}
