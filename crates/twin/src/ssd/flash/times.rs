//! How long the operations of dies and channels take.

use crate::sim::event::us_to_ns;
use crate::ssd::params::{SenseTime, SsdParams, UNIT_BYTES};

/// Durations in ns.
#[derive(Clone)]
pub(super) struct Times {
    pub(super) sense: [u32; 4],
    /// A read of cleaning, with the mean of its retries.
    pub(super) cleaning_sense: u64,
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
            sense: std::array::from_fn(|page_type| {
                if page_type < params.pages_per_program as usize {
                    by_type(page_type)
                } else {
                    us_to_ns(mean) as u32
                }
            }),
            cleaning_sense: us_to_ns(
                mean + params.read_retry_share
                    * f64::from(params.read_retries)
                    * (mean + params.ecc_us),
            ),
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
