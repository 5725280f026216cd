//! A fast hash of one 64-bit key for maps on the path of every I/O.
//! Source: the finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).

use std::hash::{BuildHasher, Hasher, RandomState};

/// A map by a `u64`.
pub(crate) type Map<V> = std::collections::HashMap<u64, V, Seeded>;

/// Makes the hashers of one map. Its seed is random: a trace whose keys all collide would take hours.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seeded(u64);

impl Default for Seeded {
    fn default() -> Self {
        Self(RandomState::new().build_hasher().finish())
    }
}

impl BuildHasher for Seeded {
    type Hasher = Mixed;

    #[inline]
    fn build_hasher(&self) -> Mixed {
        Mixed(self.0)
    }
}

/// Returns a key with its bits mixed: equal keys give equal values, near ones distant values.
#[inline]
pub(crate) const fn mix(key: u64) -> u64 {
    let mut mixed = key.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The hasher of [`Map`].
#[derive(Clone, Copy, Debug)]
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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    const LOW: u64 = (1 << 12) - 1;

    #[test]
    fn keys_that_a_trace_chooses_to_collide_do_not_in_a_map() {
        let chosen = (0_u64..).filter(|&key| mix(key) & LOW == 0).take(64);
        let map = Map::<()>::default();
        let places = chosen.map(|key| map.hasher().hash_one(key) & LOW);
        let places: HashSet<u64> = places.collect();
        assert!(places.len() > 56, "{} places", places.len());
    }
}
