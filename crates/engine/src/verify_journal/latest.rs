//! The latest write of every place, as extents: neighbouring places of one write are one entry. What it holds grows
//! with the places that were written, never with the number of writes: about 100 bytes for each block.

use std::collections::BTreeMap;

use crate::{sector::SECTOR_BYTES, write_journal::Record};

/// The places of a write that no later one has taken, in one piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub write: Record,
    pub end_bytes: u64,
}

/// Extents by their start; no two overlap.
#[derive(Debug, Default)]
pub(super) struct Latest(BTreeMap<u64, Extent>);

impl Latest {
    /// Takes in a write, whatever the order: the one that was issued last stands, of equals the one that came first.
    pub fn note(&mut self, write: Record) {
        let sector = SECTOR_BYTES as u64;
        let start_bytes = write.offset_bytes / sector * sector;
        let end_bytes = (write.offset_bytes + u64::from(write.size_bytes)) / sector * sector;
        let new = Extent { write, end_bytes };
        let own = self.0.get_mut(&start_bytes);
        if let Some(own) = own.filter(|own| own.end_bytes == end_bytes) {
            if own.write.issued_ns < write.issued_ns {
                *own = new;
            }
        } else if start_bytes < end_bytes {
            self.note_piecewise(start_bytes, new);
        }
    }

    fn note_piecewise(&mut self, start_bytes: u64, new: Extent) {
        let before = self.0.range(..start_bytes).next_back();
        let first = before.filter(|(_, extent)| extent.end_bytes > start_bytes);
        let first = first.map_or(start_bytes, |(&start, _)| start);
        let overlapping: Vec<(u64, Extent)> = self
            .0
            .range(first..new.end_bytes)
            .map(|(&start, &extent)| (start, extent))
            .collect();
        let mut from = start_bytes;
        for (start, old) in overlapping {
            if old.write.issued_ns >= new.write.issued_ns {
                self.insert(from, start, new);
                from = old.end_bytes;
                continue;
            }
            self.0.remove(&start);
            self.insert(start, start_bytes, old);
            self.insert(new.end_bytes, old.end_bytes, old);
        }
        self.insert(from, new.end_bytes, new);
    }

    /// Puts a piece of an extent in, unless it is empty.
    fn insert(&mut self, start_bytes: u64, end_bytes: u64, extent: Extent) {
        if start_bytes < end_bytes {
            self.0.insert(
                start_bytes,
                Extent {
                    end_bytes,
                    ..extent
                },
            );
        }
    }

    /// Returns the extents by place.
    pub fn extents(&self) -> impl Iterator<Item = (u64, &Extent)> {
        self.0.iter().map(|(&start, extent)| (start, extent))
    }

    pub fn at(&self, start_bytes: u64) -> Option<&Extent> {
        self.0.get(&start_bytes)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECTORS: usize = 24;

    fn write(number: u64, sector: u64, sectors: u32, issued_ns: u64) -> Record {
        Record {
            offset_bytes: sector * SECTOR_BYTES as u64,
            number,
            issued_ns,
            acked_ns: issued_ns + 1,
            size_bytes: sectors * SECTOR_BYTES as u32,
        }
    }

    #[test]
    fn a_block_written_again_and_again_stays_one_entry() {
        let mut latest = Latest::default();
        for number in 1..1000 {
            latest.note(write(number, 8, 8, number));
        }
        let held: Vec<_> = latest.extents().collect();
        assert_eq!(held.len(), 1);
        assert_eq!((held[0].0, held[0].1.write.number), (8 * 512, 999));
    }

    proptest! {
        #[test]
        fn every_sector_has_the_write_that_was_issued_last_in_the_fewest_pieces(
            writes in prop::collection::vec((0..16u64, 1..8u32, 0..12u64), 1..40)
        ) {
            let mut latest = Latest::default();
            let mut sectors = [None::<Record>; SECTORS];
            for (number, (sector, count, issued_ns)) in (1..).zip(writes) {
                let new = write(number, sector, count, issued_ns);
                latest.note(new);
                for own in &mut sectors[sector as usize..][..count as usize] {
                    if own.is_none_or(|old| old.issued_ns < issued_ns) {
                        *own = Some(new);
                    }
                }
            }
            let mut found = [None; SECTORS];
            for (start_bytes, extent) in latest.extents() {
                let range = start_bytes as usize / 512..extent.end_bytes as usize / 512;
                for own in &mut found[range] {
                    prop_assert!(own.is_none());
                    *own = Some(extent.write);
                }
            }
            prop_assert_eq!(found, sectors);
            let pieces = sectors.chunk_by(|a, b| a == b).filter(|run| run[0].is_some()).count();
            prop_assert_eq!(latest.extents().count(), pieces);
        }
    }
}
