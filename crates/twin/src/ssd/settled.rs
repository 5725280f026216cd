//! A drive that begins where uniform random overwrites lead in the end, or filled in order, without simulating it.
//!
//! Under uniform overwrites every valid page is equally likely to be the next one replaced. So the share of valid pages
//! of a superblock falls exponentially with its age in overwrites. In the steady state superblocks are closed, and
//! cleaned, at an even pace, so their ages are evenly spaced. Each superblock has the same factor fewer valid pages than
//! the next younger one. The factor follows from the number of pages that hold data (the mean field of greedy and FIFO
//! cleaning: Desnoyers, ACM TOS 10(2), 2014). Which pages are valid, and whose they are, is uniformly random.
//!
//! Only sums, products and roots are computed, which are exact to the last bit on every processor. A logarithm is not.

use prefetch_index::prefetch_index;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

use super::Ssd;
use crate::ssd::ftl::Stream;
use crate::ssd::ftl::page_numbers::PageNumbers;
use crate::ssd::translation::SuperblockState;

/// Halvings of the interval that holds the factor: all bits of a double.
const HALVINGS: u32 = 60;
/// Entries of the owners and of the page map that are on their way into the processor's cache.
const AHEAD: usize = 64;
/// Keeps this generator apart from the others that the drive's seed feeds.
const SEED: u64 = 0x5E77_1ED0_0000_0001;
/// The stream of host writes.
const HOST: Stream = Stream(0);

impl Ssd {
    /// Fills every superblock but the free ones, as long random overwrites of `settled_share` of the capacity do.
    pub(super) fn settle(&mut self, seed: u64) {
        let mut random = Random::new(seed);
        let unit = self.translation.indirection_pages;
        let units =
            (f64::from(self.geometry.logical_pages / unit) * self.params.settled_share) as u32;
        let slots = self.geometry.superblock_pages / unit;
        let free = self.params.gc_free_superblocks;
        let ages = valid_by_age(units, slots, self.geometry.superblocks - free);
        let mut owners = PageNumbers::new(units, 0);
        for (owner, number) in owners.iter_mut().zip(0..) {
            *owner = number * unit;
        }
        random.shuffle(&mut owners);
        let mut next = 0;
        // The oldest first, as FIFO cleaning has them.
        for (younger, &valid) in ages.iter().enumerate().rev() {
            let superblock = free + younger as u32;
            let first = superblock * self.geometry.superblock_pages;
            let mut left = valid;
            for slot in 0..slots {
                if left > 0 && random.below(slots - slot) < left {
                    left -= 1;
                    let page = first + slot * unit;
                    if let Some(&later) = owners.get(next + AHEAD) {
                        self.translation.ftl.prefetch(later);
                    }
                    if let Some(&owner) = owners.get(next) {
                        self.translation.ftl.put(page, owner, unit);
                        next += 1;
                    }
                }
            }
            self.close(superblock);
        }
    }

    /// Writes every page once in the order of addresses, without simulating it.
    pub(crate) fn fill_in_order(&mut self) {
        let unit = self.translation.indirection_pages;
        let size = self.geometry.superblock_pages / unit * unit;
        for first in (0..self.geometry.logical_pages).step_by(size as usize) {
            let superblock = first / size;
            let end = (first + size).min(self.geometry.logical_pages / unit * unit);
            for page in (first..end).step_by(unit as usize) {
                let place = superblock * self.geometry.superblock_pages + page - first;
                self.translation.ftl.put(place, page, unit);
            }
            self.close(superblock);
        }
    }

    fn close(&mut self, superblock: u32) {
        self.translation.superblocks[superblock as usize] = SuperblockState {
            programmed_units: self.geometry.superblock_units,
            stream: HOST,
            ..SuperblockState::ERASED
        };
        self.translation.ftl.put_closed(superblock);
    }
}

/// Returns the valid units of each superblock, the youngest first; they add up to `units`.
fn valid_by_age(units: u32, slots: u32, superblocks: u32) -> Vec<u32> {
    let shares = |factor: f64| {
        let youngest = factor.sqrt();
        (0..superblocks).scan(youngest, move |share, _| {
            let own = *share;
            *share *= factor;
            Some(own)
        })
    };
    let wanted = f64::from(units) / f64::from(slots);
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = (low + high) / 2.0;
        match shares(middle).sum::<f64>() < wanted {
            true => low = middle,
            false => high = middle,
        }
    }
    // What rounding leaves goes to the next superblock.
    let mut exact = 0.0;
    let mut given = 0;
    let mut valid: Vec<u32> = shares(high)
        .map(|share| {
            exact += share * f64::from(slots);
            let own = ((exact.round() as u32).min(units) - given).min(slots);
            given += own;
            own
        })
        .collect();
    for own in &mut valid {
        let more = (units - given).min(slots - *own);
        *own += more;
        given += more;
    }
    valid
}

struct Random(Xoshiro256PlusPlus);

impl Random {
    fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed ^ SEED))
    }

    /// Returns a number below `count`: the high half of the product (Lemire 2019), its bias `count` / 2^32.
    fn below(&mut self, count: u32) -> u32 {
        (((self.0.next_u64() >> 32) * u64::from(count)) >> 32) as u32
    }

    /// Fisher and Yates.
    fn shuffle(&mut self, items: &mut [u32]) {
        let mut drawn = [0; AHEAD];
        let mut end = items.len();
        while end > 1 {
            let count = AHEAD.min(end - 1);
            for (place, last) in drawn[..count].iter_mut().zip((0..end).rev()) {
                *place = self.below(last as u32 + 1) as usize;
                prefetch_index(&*items, *place);
            }
            for &place in &drawn[..count] {
                end -= 1;
                items.swap(end, place);
            }
        }
    }
}

#[cfg(test)]
mod tests;
