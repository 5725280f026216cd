//! How long the operations of dies and channels take.

use crate::sim::event::us_to_ns;
use crate::ssd::geometry::Place;
use crate::ssd::params::{SenseTime, SsdParams, UNIT_BYTES};

/// Durations in ns.
#[derive(Clone)]
pub(super) struct Times {
    /// By the type of page, [`Place::SLC`] included.
    sense: [u32; 8],
    /// A read of cleaning, with the mean of its retries: from ordinary cells, and in SLC mode.
    cleaning_sense: [u64; 2],
    pub(super) exponential: bool,
    pub(super) program: u64,
    pub(super) slc_program: u64,
    pub(super) slc_load: u64,
    pub(super) erase: u64,
    pub(super) suspend: u64,
    pub(super) min_run: u64,
    pub(super) max_wait: u64,
    pub(super) load: u64,
    pub(super) chunk: u64,
    pub(super) command: f64,
    pub(super) unit: f64,
}

impl Times {
    /// Returns the duration of a transfer of `units` units of 4 KiB.
    pub(super) fn transfer_ns(&self, units: u32) -> u64 {
        (self.command + f64::from(units) * self.unit).round() as u64
    }

    /// Returns the mean time to sense a page of a type.
    #[inline]
    pub(super) const fn sense_ns(&self, page_type: u32) -> u32 {
        self.sense[page_type as usize & 7]
    }

    /// Returns the time that a die senses for cleaning.
    #[inline]
    pub(super) const fn cleaning_sense_ns(&self, is_slc: bool) -> u64 {
        self.cleaning_sense[is_slc as usize]
    }

    pub(super) fn new(params: &SsdParams) -> Self {
        let mean = params.read_sense_us;
        let spread = match params.read_sense_time {
            SenseTime::PageType if params.pages_per_program > 1 => params.read_sense_spread,
            _ => 0.0,
        };
        let middle = f64::from(params.pages_per_program - 1) / 2.0;
        let by_type = |page_type: usize| {
            let position = if middle > 0.0 {
                (page_type as f64 - middle) / middle
            } else {
                0.0
            };
            us_to_ns(mean * (1.0 + spread * position)) as u32
        };
        let unit =
            f64::from(UNIT_BYTES) * params.channel_parity_ratio * 1000.0 / params.channel_mts;
        let units = params.program_bytes() as f64 / f64::from(UNIT_BYTES);
        Self {
            sense: std::array::from_fn(|page_type| match page_type as u32 {
                Place::SLC => us_to_ns(params.slc_read_us) as u32,
                one if one < params.pages_per_program => by_type(page_type),
                _ => us_to_ns(mean) as u32,
            }),
            cleaning_sense: [mean, params.slc_read_us].map(|sense_us| {
                us_to_ns(
                    sense_us
                        + params.read_retry_share
                            * f64::from(params.read_retries)
                            * (sense_us + params.ecc_us),
                )
            }),
            exponential: params.read_sense_time == SenseTime::Exponential,
            program: us_to_ns(params.program_us).max(1),
            slc_program: us_to_ns(params.slc_program_us).max(1),
            slc_load: (params.channel_command_ns
                + units * unit / f64::from(params.pages_per_program))
            .round() as u64,
            erase: us_to_ns(params.erase_us).max(1),
            suspend: us_to_ns(params.suspend_us),
            min_run: us_to_ns(params.program_min_run_us),
            max_wait: us_to_ns(params.program_max_wait_us),
            load: (params.channel_command_ns + units * unit).round() as u64,
            chunk: ((f64::from(params.nand_page_bytes) / f64::from(UNIT_BYTES) * unit).round()
                as u64)
                .max(1),
            command: params.channel_command_ns,
            unit,
        }
    }
}
