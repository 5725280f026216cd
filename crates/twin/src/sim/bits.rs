//! A set of small integers, one bit each.

/// Bits 0..n, all clear at first.
#[derive(Clone)]
pub struct Bits(Box<[u64]>);

impl Bits {
    /// Returns `count` clear bits.
    pub fn new(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)].into_boxed_slice())
    }

    /// Returns whether the bit is set.
    #[inline]
    pub fn get(&self, index: u32) -> bool {
        self.0[(index >> 6) as usize] >> (index & 63) & 1 != 0
    }

    /// Sets the bit.
    #[inline]
    pub fn set(&mut self, index: u32) {
        self.0[(index >> 6) as usize] |= 1 << (index & 63);
    }

    /// Sets all bits from `from` up to `to`, exclusive.
    pub fn set_all(&mut self, from: u32, to: u32) {
        let (first, last) = ((from >> 6) as usize, (to >> 6) as usize);
        let (low, high) = (u64::MAX << (from & 63), (1 << (to & 63)) - 1);
        if first == last {
            self.0[first] |= low & high;
            return;
        }
        self.0[first] |= low;
        self.0[first + 1..last].fill(u64::MAX);
        if high != 0 {
            self.0[last] |= high;
        }
    }

    /// Clears the bit.
    #[inline]
    pub fn clear(&mut self, index: u32) {
        self.0[(index >> 6) as usize] &= !(1 << (index & 63));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_bits_is_set_and_no_other() {
        for (from, to) in [
            (0, 0),
            (0, 64),
            (3, 5),
            (63, 65),
            (60, 200),
            (64, 192),
            (1, 256),
        ] {
            let mut bits = Bits::new(256);
            bits.set_all(from, to);
            for index in 0..256 {
                assert_eq!(bits.get(index), (from..to).contains(&index), "{from}..{to}");
            }
        }
    }
}
