//! A fast hash of one 64-bit key for maps on the path of every I/O.
//! Source: the finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).

use std::hash::{BuildHasherDefault, Hasher};

/// A map by a `u64`.
pub(crate) type Map<V> = std::collections::HashMap<u64, V, BuildHasherDefault<Mixed>>;

/// Returns a key with its bits mixed: equal keys give equal values, near ones distant values.
#[inline]
pub(crate) const fn mix(key: u64) -> u64 {
    let mut mixed = key.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The hasher of [`Map`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mixed(u64);

impl Hasher for Mixed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    #[inline]
    fn write_u64(&mut self, key: u64) {
        self.0 = mix(self.0 ^ key);
    }
}
