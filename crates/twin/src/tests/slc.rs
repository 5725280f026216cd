//! An SLC cache: how fast it takes data, what folding costs, and how long its pages take to read.

use workload::{Op, Request};

use super::upkeep::rest;
use super::{assert_close, closed, filled, iops, measure, small_drive};
use crate::device::{Account, Device};
use crate::ssd::params::SenseTime;
use crate::{Ssd, SsdParams};

/// The small drive with 24 MiB of SLC cache, and erases that cost little.
fn cached_drive() -> SsdParams {
    let mut params = small_drive();
    (params.slc_bytes, params.slc_program_us) = (24 << 20, 200.0);
    (params.erase_us, params.gc_idle_after_us) = (100.0, 1000.0);
    params
}

#[test]
fn an_slc_cache_takes_its_size_at_its_own_rate_and_then_falls_to_the_rate_of_ordinary_cells() {
    let params = cached_drive();
    let mut ssd = filled(&params);
    rest(&mut ssd, "1s");
    let rates: Vec<f64> = ["16MiB", "6MiB", "14MiB", "16MiB"]
        .iter()
        .map(|size| {
            let until = format!(r#"{{"bytes":"{size}"}}"#);
            let job = closed("\"write\"", "128KiB", "sequential", 1, 32, &until);
            iops(&measure(&mut ssd, &job)) * 131_072.0
        })
        .collect();
    let per_erase = params.program_bytes() as f64 / params.erase_unit_bytes as f64;
    let rate = |program_us: f64, pages: u32| {
        let bytes = params.program_bytes() / 3 * u64::from(pages * params.dies());
        bytes as f64 / (program_us + params.erase_us * per_erase) * 1e6
    };
    // The first bytes go to the write buffer at once.
    assert!(rates[0] > rate(200.0, 1), "{rates:?}");
    assert_close("in the cache", rates[1], rate(200.0, 1), 0.2);
    assert_close("behind it", rates[3], rate(1000.0, 3), 0.05);
}

#[test]
fn what_goes_through_an_slc_cache_is_written_twice_and_after_a_rest_there_is_room_again() {
    let mut ssd = filled(&cached_drive());
    let written = |ssd: &mut Ssd| {
        let mut account = Account::default();
        ssd.account(&mut account);
        account.media_write_bytes
    };
    rest(&mut ssd, "1s");
    let (before, placed) = (written(&mut ssd), ssd.page_totals().placed);
    let mut rates = Vec::new();
    for _ in 0..8 {
        let job = closed(
            "\"write\"",
            "128KiB",
            "sequential",
            1,
            32,
            r#"{"bytes":"18MiB"}"#,
        );
        rates.push(iops(&measure(&mut ssd, &job)));
        rest(&mut ssd, "1s");
    }
    // Requests in flight when a job has moved its bytes are written too.
    let host = (ssd.page_totals().placed - placed) * 4096;
    let amplification = (written(&mut ssd) - before) as f64 / host as f64;
    assert_close("WAF", amplification, 2.0, 0.03);
    // The first burst finishes the ordinary superblock that the fill left open.
    let (least, most) = rates[1..]
        .iter()
        .fold((f64::MAX, 0.0f64), |(a, b), &r| (a.min(r), b.max(r)));
    assert!(least > 0.95 * most, "{rates:?}");
    assert_eq!(u64::from(ssd.mapped_pages()) * 4096, ssd.capacity_bytes());
}

const MIB: u64 = 1 << 20;
const SENSE_US: f64 = 50.0;
const SLC_SENSE_US: f64 = 20.0;
/// What a test writes after the fill. The first of it finishes the superblock that the fill left open.
const WRITTEN: u64 = 16 * MIB;

/// The cached drive with such a time to sense its SLC pages; it folds after 100 ms without a command.
fn quick_drive(slc_read_us: f64) -> SsdParams {
    SsdParams {
        read_sense_us: SENSE_US,
        read_sense_time: SenseTime::Fixed,
        slc_read_us,
        gc_idle_after_us: 100_000.0,
        ..cached_drive()
    }
}

fn request(op: Op, offset_bytes: u64, size_bytes: u32) -> Request {
    Request {
        offset_bytes,
        size_bytes,
        placement: Request::NO_PLACEMENT,
        op,
    }
}

/// Lets the drive alone for so long.
fn wait_ms(ssd: &mut Ssd, pause_ms: u64) {
    ssd.wake(ssd.now_ns() + pause_ms * 1_000_000, 0);
    ssd.advance(u64::MAX).expect("woken");
}

/// A drive that was filled and rested, and has [`WRITTEN`] bytes from its start on in the cache since, all programmed.
fn with_cached_data(params: &SsdParams) -> Ssd {
    let mut ssd = filled(params);
    for offset_bytes in (0..WRITTEN).step_by(128 << 10) {
        ssd.submit(ssd.now_ns(), 0, request(Op::Write, offset_bytes, 128 << 10));
        ssd.advance(u64::MAX).expect("written");
    }
    wait_ms(&mut ssd, 50);
    ssd
}

/// Latency of a read of 4 KiB that lies in the midst of what was written.
fn lone_read_ns(ssd: &mut Ssd) -> u64 {
    let at_ns = ssd.now_ns();
    ssd.submit(at_ns, 0, request(Op::Read, WRITTEN / 2, 4096));
    ssd.advance(u64::MAX).expect("read").at_ns - at_ns
}

fn is_cached(ssd: &Ssd) -> bool {
    ssd.is_in_slc((WRITTEN / 2 / 4096) as u32)
}

/// Energy so far, J, and mean time for which a die was busy, s.
fn spent(ssd: &mut Ssd) -> (f64, f64) {
    let mut account = Account::default();
    ssd.account(&mut account);
    let dies = account
        .resources
        .iter()
        .find(|one| one.resource == "flash dies");
    let busy_ns = &dies.expect("an SSD").busy_ns;
    let mean_ns = busy_ns.iter().sum::<u64>() as f64 / busy_ns.len() as f64;
    (account.joules, mean_ns * 1e-9)
}

#[test]
fn a_lone_read_takes_the_sense_time_of_the_cells_that_its_data_lies_in() {
    let mut plain = filled(&SsdParams {
        slc_bytes: 0,
        slc_read_us: 0.0,
        ..quick_drive(0.0)
    });
    let besides_ns = lone_read_ns(&mut plain) - (SENSE_US * 1e3) as u64;
    for (slc_read_us, expected_us) in [(SLC_SENSE_US, SLC_SENSE_US), (0.0, SENSE_US)] {
        let mut ssd = with_cached_data(&quick_drive(slc_read_us));
        assert!(is_cached(&ssd));
        assert_eq!(
            lone_read_ns(&mut ssd) - besides_ns,
            (expected_us * 1e3) as u64,
            "cached, slc_read_us {slc_read_us}"
        );
        wait_ms(&mut ssd, 2000);
        assert!(!is_cached(&ssd));
        assert_eq!(
            lone_read_ns(&mut ssd) - besides_ns,
            (SENSE_US * 1e3) as u64,
            "folded, slc_read_us {slc_read_us}"
        );
    }
}

#[test]
fn slc_pages_without_a_time_of_their_own_are_sensed_as_lower_pages() {
    let mut params = quick_drive(0.0);
    let fixed_ns = lone_read_ns(&mut with_cached_data(&params));
    params.read_sense_time = SenseTime::PageType;
    let lower_ns = lone_read_ns(&mut with_cached_data(&params));
    let sooner_us = params.read_sense_spread * SENSE_US;
    assert_eq!(fixed_ns - lower_ns, (sooner_us * 1e3) as u64);
    params.slc_read_us = SLC_SENSE_US;
    let quick_ns = lone_read_ns(&mut with_cached_data(&params));
    assert_eq!(
        fixed_ns - quick_ns,
        ((SENSE_US - SLC_SENSE_US) * 1e3) as u64
    );
}

#[test]
fn a_read_that_retries_senses_each_time_in_the_time_of_its_cells() {
    let mut params = quick_drive(SLC_SENSE_US);
    let once_ns = lone_read_ns(&mut with_cached_data(&params));
    (params.read_retry_share, params.read_retries) = (1.0, 2);
    let thrice_ns = lone_read_ns(&mut with_cached_data(&params));
    let expected_us = 2.0 * (SLC_SENSE_US + params.ecc_us);
    assert_eq!(thrice_ns - once_ns, (expected_us * 1e3) as u64);
}

#[test]
fn a_sense_in_slc_mode_takes_energy_in_proportion_to_its_time() {
    let params = quick_drive(SLC_SENSE_US);
    let mut ssd = with_cached_data(&params);
    let mut read_j = || {
        let (before_ns, before_j) = (ssd.now_ns(), spent(&mut ssd).0);
        lone_read_ns(&mut ssd);
        let read_j =
            spent(&mut ssd).0 - before_j - params.idle_w * (ssd.now_ns() - before_ns) as f64 * 1e-9;
        wait_ms(&mut ssd, 2000);
        read_j
    };
    let (cached_j, folded_j) = (read_j(), read_j());
    let expected_j = params.read_sense_uj * 1e-6 * (1.0 - SLC_SENSE_US / SENSE_US);
    assert_close("saved, J", folded_j - cached_j, expected_j, 1e-3);
}

#[test]
fn folding_reads_the_cache_in_its_own_sense_time() {
    let folded = |slc_read_us: f64| {
        let mut ssd = with_cached_data(&quick_drive(slc_read_us));
        let (pages, (joules, busy_s)) = (ssd.flash_reads(), spent(&mut ssd));
        wait_ms(&mut ssd, 2000);
        let after = spent(&mut ssd);
        (
            ssd.flash_reads() - pages,
            after.0 - joules,
            after.1 - busy_s,
        )
    };
    let (pages, slow_j, slow_s) = folded(0.0);
    let (same_pages, quick_j, quick_s) = folded(SLC_SENSE_US);
    assert_eq!(pages, same_pages);
    assert!(pages * 4096 > WRITTEN / 2, "{pages} pages folded");
    // A sense brings a page of each plane, all of it valid.
    let params = quick_drive(SLC_SENSE_US);
    let page_groups =
        pages as f64 * 4096.0 / f64::from(params.nand_page_bytes * params.planes_per_die);
    let saved_s = page_groups * (SENSE_US - SLC_SENSE_US) * 1e-6 / f64::from(params.dies());
    assert_close("time of a die, s", slow_s - quick_s, saved_s, 1e-6);
    let sense_j = params.read_sense_uj * 1e-6 * f64::from(params.planes_per_die);
    let saved_j = page_groups * sense_j * (1.0 - SLC_SENSE_US / SENSE_US);
    assert_close("energy, J", slow_j - quick_j, saved_j, 1e-6);
}

#[test]
fn a_sense_time_of_a_cache_that_there_is_not_is_refused() {
    let params = SsdParams {
        slc_read_us: SLC_SENSE_US,
        ..small_drive()
    };
    let refused = Ssd::new(&params, 1).err().expect("refused");
    assert_eq!(refused.name, "slc_read_us");
}
