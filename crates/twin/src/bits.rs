//! A set of small integers, one bit each.

/// Bits 0..n, all clear at first.
pub struct Bits(Box<[u64]>);

impl Bits {
    /// `count` clear bits.
    pub fn new(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)].into_boxed_slice())
    }

    /// Whether the bit is set.
    #[inline]
    pub fn get(&self, index: u32) -> bool {
        self.0[(index >> 6) as usize] >> (index & 63) & 1 != 0
    }

    /// Sets the bit.
    #[inline]
    pub fn set(&mut self, index: u32) {
        self.0[(index >> 6) as usize] |= 1 << (index & 63);
    }

    /// Clears the bit.
    #[inline]
    pub fn clear(&mut self, index: u32) {
        self.0[(index >> 6) as usize] &= !(1 << (index & 63));
    }
}
