//! Program/erase cycles of every superblock, and what keeps them level. Free superblocks are taken oldest first, which
//! levels those in use. Data that nobody overwrites would keep its superblock out of that for ever. So static levelling
//! moves it once its superblock lags far enough behind (the swap of hot and cold blocks of Chang, ACM SAC 2007). What
//! wear does to read errors and timing is not modelled.

use std::ops::Range;

use crate::ssd::ftl::victim::{Phase, Superblock};

/// Erase counts.
#[derive(Clone)]
pub struct Wear {
    erases: Box<[u32]>,
    total: u64,
    most: u32,
    /// How far a superblock may lag behind the most worn one; 0: any distance.
    spread: u32,
}

/// Program/erase cycles over all superblocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EraseCounts {
    /// Cycles of the least worn superblock.
    pub min: u32,
    /// Mean.
    pub mean: f64,
    /// Cycles of the most worn superblock.
    pub max: u32,
}

impl Wear {
    /// Nothing was erased yet.
    pub fn new(superblocks: u32, spread: u32) -> Self {
        Self {
            erases: vec![0; superblocks as usize].into_boxed_slice(),
            total: 0,
            most: 0,
            spread,
        }
    }

    /// A superblock is erased.
    pub fn erased(&mut self, superblock: u32) {
        let count = &mut self.erases[superblock as usize];
        *count += 1;
        self.most = self.most.max(*count);
        self.total += 1;
    }

    /// Returns the closed superblock of a reclaim group that has to be moved for levelling's sake, if one has.
    pub fn lagging(&self, superblocks: &[Superblock], group: Range<u32>) -> Option<u32> {
        if self.spread == 0 || self.most < self.spread {
            return None;
        }
        let of_group = group.start as usize..group.end as usize;
        let closed = superblocks[of_group.clone()].iter();
        let closed = closed.zip(&self.erases[of_group]).zip(group.start..);
        let closed = closed.filter(|((superblock, _), _)| superblock.phase == Phase::Closed);
        let ((_, &least), index) = closed.min_by_key(|((_, erases), _)| **erases)?;
        (self.most - least >= self.spread).then_some(index)
    }

    /// Returns which of the free superblocks to take: the oldest, or for what is levelled the most worn.
    pub fn choose(&self, free: &std::collections::VecDeque<u32>, cold: bool) -> usize {
        if self.spread == 0 || !cold {
            return 0;
        }
        let most = free.iter().zip(0..);
        most.max_by_key(|(index, _)| self.erases[**index as usize])
            .map_or(0, |(_, at)| at)
    }

    /// Cycles of one superblock.
    pub fn of(&self, superblock: u32) -> u32 {
        self.erases[superblock as usize]
    }

    /// Cycles so far.
    pub fn counts(&self) -> EraseCounts {
        EraseCounts {
            min: self.erases.iter().copied().min().unwrap_or(0),
            mean: self.total as f64 / self.erases.len().max(1) as f64,
            max: self.most,
        }
    }
}
