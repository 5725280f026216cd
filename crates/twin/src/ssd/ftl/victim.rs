//! Which superblock cleaning takes next. Closed superblocks are kept in whatever order the policy
//! asks for; nothing here moves pages or knows streams.
//!
//! FIFO keeps a queue, d-choices looks at d superblocks drawn at random. Greedy and cost-benefit look at all of them
//! once per victim. That is less work than the superblock's worth of writes between two victims. Lists by number of
//! valid pages would have to be kept in order for every overwrite.

use std::collections::VecDeque;
use std::ops::Range;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

use crate::ssd::geometry::Geometry;
use crate::ssd::params::VictimPolicy;

const NOT_CLOSED: u32 = u32::MAX;

/// What a superblock is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Free,
    /// Being filled, or full with programs still running.
    Open,
    /// Full and programmed: may be cleaned.
    Closed,
    /// Full and programmed, but never a victim: of an SLC cache.
    Cached,
    /// Its valid pages are being moved.
    Draining,
}

/// A superblock's state in the translation layer.
#[derive(Clone, Copy, Debug)]
pub struct Superblock {
    /// Valid pages.
    pub valid: u32,
    /// What it is doing.
    pub phase: Phase,
}

impl Superblock {
    /// Erased.
    pub const FREE: Superblock = Superblock {
        valid: 0,
        phase: Phase::Free,
    };
}

/// The closed superblocks, as the policy needs them.
#[derive(Clone)]
pub enum Victims {
    /// Fewest valid pages first.
    Greedy(Greedy),
    /// Closed first, cleaned first.
    Fifo(VecDeque<u32>),
    /// The one with the fewest valid pages among some drawn at random.
    DChoices(DChoices),
    /// Most space gained and longest untouched.
    CostBenefit(CostBenefit),
}

impl Victims {
    /// No superblock is closed yet. `choices` and `seed` matter to d-choices only.
    pub fn new(policy: VictimPolicy, choices: u32, geometry: &Geometry, seed: u64) -> Self {
        match policy {
            VictimPolicy::Greedy => Victims::Greedy(Greedy {
                valid: vec![NOT_CLOSED; geometry.superblocks as usize].into_boxed_slice(),
                superblock_pages: geometry.superblock_pages,
            }),
            VictimPolicy::Fifo => Victims::Fifo(VecDeque::new()),
            VictimPolicy::DChoices => Victims::DChoices(DChoices {
                closed: vec![Vec::new(); geometry.groups as usize].into_boxed_slice(),
                group_superblocks: geometry.superblocks_of(0).end.max(1),
                choices,
                random: Xoshiro256PlusPlus::seed_from_u64(seed),
            }),
            VictimPolicy::CostBenefit => Victims::CostBenefit(CostBenefit {
                closed: Vec::new(),
                touched: vec![0; geometry.superblocks as usize].into_boxed_slice(),
                overwrites: 0,
                superblock_pages: geometry.superblock_pages,
            }),
        }
    }

    /// A superblock may be cleaned from now on.
    pub fn add(&mut self, superblocks: &[Superblock], index: u32) {
        match self {
            Victims::Greedy(state) => {
                state.valid[index as usize] = superblocks[index as usize].valid;
            }
            Victims::Fifo(closed) => closed.push_back(index),
            Victims::DChoices(state) => state.of_group(index).push(index),
            Victims::CostBenefit(state) => {
                state.touched[index as usize] = state.overwrites;
                state.closed.push(index);
            }
        }
    }

    /// A closed superblock has one valid page less.
    #[inline]
    pub fn invalidated(&mut self, index: u32) {
        match self {
            Victims::Greedy(state) => state.valid[index as usize] -= 1,
            Victims::Fifo(_) | Victims::DChoices(_) => {}
            Victims::CostBenefit(state) => {
                state.overwrites += 1;
                state.touched[index as usize] = state.overwrites;
            }
        }
    }

    /// Takes a closed superblock out that is cleaned for another reason.
    pub fn remove(&mut self, index: u32) {
        match self {
            Victims::Greedy(state) => state.valid[index as usize] = NOT_CLOSED,
            Victims::Fifo(closed) => closed.retain(|&other| other != index),
            Victims::DChoices(state) => state.of_group(index).retain(|&other| other != index),
            Victims::CostBenefit(CostBenefit { closed, .. }) => {
                closed.retain(|&other| other != index);
            }
        }
    }

    /// Takes out the superblock of a reclaim group to clean. Greedy and cost-benefit give `None` when cleaning would
    /// gain nothing; the others clean full superblocks too, as their closed forms have it.
    pub fn take(&mut self, superblocks: &[Superblock], group: Range<u32>) -> Option<u32> {
        match self {
            Victims::Greedy(state) => state.take(group),
            Victims::Fifo(closed) => {
                let oldest = closed.iter().position(|index| group.contains(index))?;
                closed.remove(oldest)
            }
            Victims::DChoices(state) => state.take(superblocks, group),
            Victims::CostBenefit(state) => state.take(superblocks, group),
        }
    }
}

/// Valid pages of every closed superblock, side by side; [`NOT_CLOSED`] of the others.
#[derive(Clone)]
pub struct Greedy {
    valid: Box<[u32]>,
    superblock_pages: u32,
}

impl Greedy {
    fn take(&mut self, group: Range<u32>) -> Option<u32> {
        let of_group = &mut self.valid[group.start as usize..group.end as usize];
        let fewest = of_group.iter().copied().min()?;
        if fewest >= self.superblock_pages {
            return None;
        }
        let index = of_group.iter().position(|&valid| valid == fewest)?;
        of_group[index] = NOT_CLOSED;
        Some(group.start + index as u32)
    }
}

/// Random draws (Van Houdt, SIGMETRICS 2013).
#[derive(Clone)]
pub struct DChoices {
    /// Closed superblocks per reclaim group.
    closed: Box<[Vec<u32>]>,
    group_superblocks: u32,
    choices: u32,
    random: Xoshiro256PlusPlus,
}

impl DChoices {
    fn of_group(&mut self, superblock: u32) -> &mut Vec<u32> {
        &mut self.closed[(superblock / self.group_superblocks) as usize]
    }

    fn take(&mut self, superblocks: &[Superblock], group: Range<u32>) -> Option<u32> {
        let closed = &mut self.closed[(group.start / self.group_superblocks) as usize];
        if closed.is_empty() {
            return None;
        }
        let count = closed.len() as u64;
        let drawn = (0..self.choices).map(|_| {
            // The high half of the product is uniform below `count` (Lemire 2019), its bias
            // count / 2^32.
            (((self.random.next_u64() >> 32) * count) >> 32) as usize
        });
        let best = drawn.min_by_key(|&at| superblocks[closed[at] as usize].valid)?;
        Some(closed.swap_remove(best))
    }
}

/// Benefit over cost, age x (1 - u) / 2u (Kawaguchi, Nishioka & Motoda, USENIX 1995). Here u is the share of valid
/// pages. The age is the time since the superblock was closed or lost a page, counted in overwrites.
#[derive(Clone)]
pub struct CostBenefit {
    closed: Vec<u32>,
    touched: Box<[u64]>,
    overwrites: u64,
    superblock_pages: u32,
}

impl CostBenefit {
    fn take(&mut self, superblocks: &[Superblock], group: Range<u32>) -> Option<u32> {
        let mut best = (0.0, None);
        let of_group = self.closed.iter().enumerate();
        for (at, &index) in of_group.filter(|(_, index)| group.contains(index)) {
            let valid = superblocks[index as usize].valid;
            let age = (self.overwrites - self.touched[index as usize] + 1) as f64;
            let score = age * f64::from(self.superblock_pages - valid) / f64::from(valid);
            if score > best.0 {
                best = (score, Some(at));
            }
        }
        best.1.map(|at| self.closed.swap_remove(at))
    }
}
