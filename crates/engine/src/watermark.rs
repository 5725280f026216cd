//! A watermark in all write data, by which this engine recognises them long after the run. A device that a run has overwritten may be overwritten
//! again; one that a database has used since may not. Every 512 bytes of write data hold a checksum of themselves, put
//! there when the buffers are filled, so that it costs nothing per I/O. Data that describe themselves
//! (`content.verify`) have a checksum of their own.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::sector::{SECTOR_BYTES, blank, is_sealed};

/// The first word is left out: per I/O a number is stamped over that of every 4 KiB.
const CHECKSUM_AT: usize = 8;
const DATA_AT: usize = 16;
const SEED: u64 = u64::from_le_bytes(*b"fathom\0\x02");

/// Puts its checksum into a whole sector of write data.
pub(crate) fn mark(sector: &mut [u8]) {
    if sector.len() == SECTOR_BYTES {
        let checksum = xxh3_64_with_seed(&sector[DATA_AT..], SEED);
        sector[CHECKSUM_AT..DATA_AT].copy_from_slice(&checksum.to_le_bytes());
    }
}

fn is_own(sector: &[u8]) -> bool {
    let checksum = xxh3_64_with_seed(&sector[DATA_AT..], SEED).to_le_bytes();
    sector[CHECKSUM_AT..DATA_AT] == checksum || is_sealed(sector)
}

/// Returns where the first sector of `data` begins that is neither blank (all zeroes or all ones) nor written by this
/// engine. What is left behind the last whole sector counts as foreign unless it is blank.
pub fn first_foreign(data: &[u8]) -> Option<usize> {
    let known =
        |sector: &[u8]| blank(sector).is_some() || (sector.len() == SECTOR_BYTES && is_own(sector));
    data.chunks(SECTOR_BYTES)
        .position(|sector| !known(sector))
        .map(|number| number * SECTOR_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(byte: u8) -> [u8; SECTOR_BYTES] {
        let mut sector = [byte; SECTOR_BYTES];
        mark(&mut sector);
        sector
    }

    #[test]
    fn zeroes_ones_and_marked_sectors_are_known_whatever_is_stamped_over_their_first_word() {
        let mut stamped = marked(7);
        stamped[..8].copy_from_slice(&42_u64.to_le_bytes());
        let data = [[0; SECTOR_BYTES], [0xff; SECTOR_BYTES], marked(7), stamped].concat();
        assert_eq!(first_foreign(&data), None);
        assert_eq!(first_foreign(&[]), None);
    }

    #[test]
    fn a_sector_of_which_any_byte_behind_the_first_word_was_changed_is_foreign() {
        for at in [8, 15, 16, 100, SECTOR_BYTES - 1] {
            let mut data = [[0; SECTOR_BYTES], marked(7)].concat();
            data[SECTOR_BYTES + at] ^= 1;
            assert_eq!(first_foreign(&data), Some(SECTOR_BYTES), "byte {at}");
        }
    }

    #[test]
    fn a_sector_of_one_byte_that_is_not_zero_is_foreign() {
        let mut data = [0; 3 * SECTOR_BYTES];
        data[2 * SECTOR_BYTES + 5] = 1;
        assert_eq!(first_foreign(&data), Some(2 * SECTOR_BYTES));
        assert_eq!(first_foreign(&[1; 100]), Some(0));
    }
}
