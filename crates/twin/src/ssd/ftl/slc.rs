//! An SLC cache. In its superblocks only the first page of each word line is programmed, which is quick. Idle time is
//! used to fold their data into ordinary ones. Each holds a share of 1 / `pages_per_program`. When all are full, host
//! writes go to ordinary superblocks directly: the cliff of such a drive. Pure counting; `ssd` fills and folds them.
//! Their pages may be sensed in a time of their own.

use std::collections::VecDeque;

use crate::ssd::geometry::Geometry;

/// Which superblocks are in SLC mode.
#[derive(Clone)]
pub struct SlcCache {
    /// Superblocks set aside, and those of them that hold or take data.
    superblocks: u32,
    in_use: u32,
    is_slc: Box<[bool]>,
    /// Full and programmed, oldest first.
    full: VecDeque<u32>,
}

impl SlcCache {
    /// Returns the cache; `None` for a drive without one.
    pub fn new(geometry: &Geometry) -> Option<Self> {
        (geometry.slc_superblocks > 0).then(|| Self {
            superblocks: geometry.slc_superblocks,
            in_use: 0,
            is_slc: vec![false; geometry.superblocks as usize].into_boxed_slice(),
            full: VecDeque::new(),
        })
    }

    /// Superblocks set aside that are free.
    pub fn free(&self) -> u32 {
        self.superblocks - self.in_use
    }

    /// A free superblock is filled in SLC mode from now on.
    pub fn open(&mut self, superblock: u32) {
        self.in_use += 1;
        self.is_slc[superblock as usize] = true;
    }

    /// Returns whether a superblock is in SLC mode.
    pub fn holds(&self, superblock: u32) -> bool {
        self.is_slc[superblock as usize]
    }

    /// All of it is programmed.
    pub fn filled(&mut self, superblock: u32) {
        self.full.push_back(superblock);
    }

    /// Takes the superblock to fold next.
    pub fn take_full(&mut self) -> Option<u32> {
        self.full.pop_front()
    }

    /// A superblock is free again, in whichever mode it was.
    pub fn released(&mut self, superblock: u32) {
        let was_slc = std::mem::take(&mut self.is_slc[superblock as usize]);
        self.in_use -= u32::from(was_slc);
    }
}
