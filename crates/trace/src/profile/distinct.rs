//! How many different things were seen, in 1 KiB whatever the number: HyperLogLog.
//! Source: Flajolet, Fusy, Gandouet, Meunier, "HyperLogLog", AofA 2007. Standard error 1.04 / sqrt(1024), or 3.3 %.

const BITS: u32 = 10;
const REGISTERS: usize = 1 << BITS;

/// The registers.
#[derive(Clone, Debug)]
pub(super) struct Distinct(Box<[u8; REGISTERS]>);

impl Default for Distinct {
    fn default() -> Self {
        Self(Box::new([0; REGISTERS]))
    }
}

impl Distinct {
    /// Sees a thing by its mixed hash.
    #[inline]
    pub(super) fn add(&mut self, hash: u64) {
        let register = (hash >> (64 - BITS)) as usize;
        let rank = ((hash << BITS) | 1 << (BITS - 1)).leading_zeros() as u8 + 1;
        self.0[register] = self.0[register].max(rank);
    }

    /// Sees all that another has seen.
    pub(super) fn merge(&mut self, other: &Self) {
        let both = self.0.iter_mut().zip(other.0.iter());
        both.for_each(|(own, &other)| *own = (*own).max(other));
    }

    /// Returns the number of different things.
    pub(super) fn count(&self) -> f64 {
        let registers = REGISTERS as f64;
        let sum: f64 = self
            .0
            .iter()
            .map(|&rank| 2_f64.powi(-i32::from(rank)))
            .sum();
        let raw = 0.7213 / (1.0 + 1.079 / registers) * registers * registers / sum;
        let empty = self.0.iter().filter(|&&rank| rank == 0).count();
        if raw <= 2.5 * registers && empty > 0 {
            return registers * (registers / empty as f64).ln();
        }
        raw
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::mix;

    #[test]
    fn counts_are_within_four_standard_errors_from_ten_to_a_million() {
        for things in [10_u64, 1000, 100_000, 1_000_000] {
            let mut distinct = Distinct::default();
            (0..things)
                .chain(0..things / 2)
                .for_each(|thing| distinct.add(mix(thing)));
            let error = distinct.count() / things as f64 - 1.0;
            assert!(error.abs() < 4.0 * 0.0325, "{things}: {error}");
        }
    }
}
