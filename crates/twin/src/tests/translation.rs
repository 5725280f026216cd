//! The translation layer alone: write amplification against closed forms, and every page where it
//! should be.

use std::collections::BTreeSet;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

use super::{assert_close, small_drive};
use crate::ssd::ftl::victim::Victims;
use crate::ssd::ftl::{Ftl, NONE, Stream};
use crate::ssd::geometry::Geometry;
use crate::ssd::params::VictimPolicy;

/// Superblocks of `block_pages` pages, spare factor `spare` of those that hold data.
fn geometry(block_pages: u32, logical_pages: u32, spare: f64) -> Geometry {
    let mut params = small_drive();
    params.channels = 1;
    params.dies_per_channel = 1;
    params.planes_per_die = 4;
    params.pages_per_program = 1;
    params.capacity_bytes = u64::from(logical_pages) * 4096;
    params.erase_unit_bytes = u64::from(block_pages) * 4096;
    params.over_provisioning = 1.0 / (1.0 - spare) - 1.0;
    params.gc_free_superblocks = 3;
    Geometry::new(&params).expect("valid")
}

/// Where a superblock's valid pages go when it is cleaned.
#[derive(Clone, Copy, PartialEq)]
enum Survivors {
    /// Among the host's writes: one log.
    WithHost,
    /// Into one stream: initially isolated handles.
    Together,
    /// Into a stream of the handle: persistently isolated ones.
    Apart,
}

const HANDLES: u8 = 2;

/// Writes with cleaning done at once, counting the pages moved.
struct Plain {
    geometry: Geometry,
    ftl: Ftl,
    survivors: Survivors,
    /// Stream that filled each superblock.
    filled_by: Vec<Stream>,
    /// The plain map: where each logical page's data were put or moved last.
    held_at: Vec<u32>,
    written: u64,
    moved: u64,
}

impl Plain {
    fn new(geometry: Geometry, policy: VictimPolicy, choices: u32, survivors: Survivors) -> Self {
        let victims = Victims::new(policy, choices, &geometry, 5);
        Self {
            ftl: Ftl::new(&geometry, victims, 2 * u32::from(HANDLES), 0),
            filled_by: vec![Stream(0); geometry.superblocks as usize],
            held_at: vec![NONE; geometry.logical_pages as usize],
            geometry,
            survivors,
            written: 0,
            moved: 0,
        }
    }

    fn open(&mut self, stream: Stream) {
        let superblock = self.ftl.open(stream, 0, false).expect("a free superblock");
        self.filled_by[superblock as usize] = stream;
    }

    fn close_if_full(&mut self, stream: Stream, last: u32) {
        if self.ftl.frontier(stream).is_none() {
            self.ftl.close(self.geometry.superblock(last));
        }
    }

    fn write(&mut self, logical: u32, handle: u8) {
        let stream = Stream(handle);
        if self.ftl.frontier(stream).is_none() {
            while self.ftl.free_superblocks(0) < 3 && self.clean() {}
        }
        if self.ftl.frontier(stream).is_none() {
            self.open(stream);
        }
        let page = self.ftl.frontier(stream).expect("open");
        self.ftl.place(stream, logical, 1);
        self.held_at[logical as usize] = page;
        self.close_if_full(stream, page);
        self.written += 1;
    }

    fn clean(&mut self) -> bool {
        let Some((victim, valid)) = self.ftl.take_victim(0) else {
            return false;
        };
        let handle = self.filled_by[victim as usize].0 % HANDLES;
        let stream = match self.survivors {
            Survivors::WithHost => Stream(handle),
            Survivors::Together => Stream(HANDLES),
            Survivors::Apart => Stream(HANDLES + handle),
        };
        let (mut page, end) = (
            victim * self.geometry.superblock_pages,
            (victim + 1) * self.geometry.superblock_pages,
        );
        let mut moved = 0;
        while page < end && moved < valid {
            if self.ftl.frontier(stream).is_none() {
                self.open(stream);
            }
            let first = self.ftl.frontier(stream).expect("open");
            let room = self.ftl.left_in_superblock(stream);
            let (count, resume) = self.ftl.relocate(stream, victim, page..end, room);
            for target in first..first + count {
                let held_at = &mut self.held_at[self.ftl.owner(target) as usize];
                assert!(
                    (page..resume).contains(held_at),
                    "what moves to {target} was not there"
                );
                *held_at = target;
            }
            page = resume;
            moved += count;
            if count > 0 {
                self.close_if_full(stream, first + count - 1);
            }
        }
        assert_eq!(moved, valid, "exactly the valid pages move");
        self.moved += u64::from(moved);
        self.ftl.release(victim);
        true
    }

    /// WAF over `measured` times the capacity in writes that `next` draws, after `unsteady` times.
    fn waf(&mut self, unsteady: u32, measured: u32, mut next: impl FnMut(u64) -> (u32, u8)) -> f64 {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        let mut before = (0, 0);
        for round in 0..unsteady + measured {
            if round == unsteady {
                before = (self.written, self.moved);
            }
            for _ in 0..self.geometry.logical_pages {
                let (logical, handle) = next(random.next_u64());
                self.write(logical, handle);
            }
        }
        1.0 + (self.moved - before.1) as f64 / (self.written - before.0) as f64
    }
}

/// `draw` scaled to 0..count.
fn below(draw: u64, count: u32) -> u32 {
    ((u128::from(draw) * u128::from(count)) >> 64) as u32
}

fn uniform_waf(policy: VictimPolicy, choices: u32, block_pages: u32, spare: f64) -> f64 {
    let logical = block_pages << 12;
    let geometry = geometry(block_pages, logical, spare);
    let mut drive = Plain::new(geometry, policy, choices, Survivors::Together);
    (0..logical).for_each(|page| drive.write(page, 0));
    drive.waf(6, 3, |draw| (below(draw, logical), 0))
}

/// Lambert's W0 for -1/e < x < 0, by Newton's method.
fn lambert_w0(x: f64) -> f64 {
    (0..100).fold(0.0, |w: f64, _| {
        w - (w * w.exp() - x) / (w.exp() * (w + 1.0))
    })
}

/// FIFO cleaning, uniform writes (Desnoyers, SYSTOR 2012).
fn fifo_waf(spare: f64) -> f64 {
    let a = 1.0 / (1.0 - spare);
    a / (a + lambert_w0(-a * (-a).exp()))
}

/// Greedy cleaning of units of `b` pages, uniform writes (Xiang & Kurkoski, arXiv 1110.4245).
fn greedy_waf(b: u32, spare: f64) -> f64 {
    let (a, b) = (1.0 / (1.0 - spare), f64::from(b));
    let c = (1.0 + 0.5 / b) * a;
    b / (b - (0.5 - b / a * lambert_w0(-c * (-c).exp())) + 1.0)
}

const SPARES: [f64; 4] = [0.07, 0.15, 0.28, 0.50];

#[test]
fn write_amplification_of_greedy_cleaning_meets_the_closed_form() {
    for spare in SPARES {
        for block_pages in [64, 256] {
            let name = format!("b {block_pages} spare {spare}");
            let waf = uniform_waf(VictimPolicy::Greedy, 1, block_pages, spare);
            assert_close(&name, waf, greedy_waf(block_pages, spare), 0.01);
        }
    }
}

#[test]
fn write_amplification_of_fifo_cleaning_meets_the_closed_form() {
    for spare in SPARES {
        let waf = uniform_waf(VictimPolicy::Fifo, 1, 64, spare);
        assert_close(&format!("spare {spare}"), waf, fifo_waf(spare), 0.01);
    }
}

/// Mean field of d-choices (Van Houdt, SIGMETRICS 2013) at 256 pages, integrated numerically.
#[test]
fn write_amplification_of_d_choices_cleaning_meets_the_mean_field() {
    for (choices, expected) in [
        (2, [9.905, 4.709, 2.591, 1.531]),
        (10, [7.339, 3.567, 2.023, 1.270]),
    ] {
        for (spare, expected) in SPARES.into_iter().zip(expected) {
            let name = format!("d {choices} spare {spare}");
            let waf = uniform_waf(VictimPolicy::DChoices, choices, 256, spare);
            assert_close(&name, waf, expected, 0.01);
        }
    }
}

/// Two classes of pages: (share of the space, share of the writes).
type Classes = [(f64, f64); 2];
const HOT_80_20: Classes = [(0.2, 0.8), (0.8, 0.2)];
const HOT_90_10: Classes = [(0.1, 0.9), (0.9, 0.1)];

/// Steady WAF of a hot and a cold region at spare factor 0.15, in one stream of host writes or two.
fn hot_cold_waf(policy: VictimPolicy, classes: Classes, handles: u8, survivors: Survivors) -> f64 {
    let logical = 256 << 11;
    let mut drive = Plain::new(geometry(256, logical, 0.15), policy, 10, survivors);
    let hot_pages = (classes[0].0 * f64::from(logical)) as u32;
    let hot_writes = (classes[0].1 * 2f64.powi(32)) as u64;
    let cold_handle = handles - 1;
    (0..logical).for_each(|page| drive.write(page, if page < hot_pages { 0 } else { cold_handle }));
    drive.waf(8, 4, |draw| {
        if draw >> 32 < hot_writes {
            (below(draw << 32, hot_pages), 0)
        } else {
            (
                hot_pages + below(draw << 32, logical - hot_pages),
                cold_handle,
            )
        }
    })
}

/// FIFO cleaning of classes that share a log: A = sum p / (1 - e^(-p / (f rho A))), by iteration.
fn fifo_waf_of(classes: Classes, spare: f64) -> f64 {
    (0..1000).fold(3.0, |waf: f64, _| {
        classes
            .iter()
            .map(|(space, writes)| writes / (1.0 - (-writes / (space * (1.0 - spare) * waf)).exp()))
            .sum()
    })
}

#[test]
fn a_shared_log_pays_more_for_hot_and_cold_data_than_for_uniform() {
    for (classes, greedy) in [(HOT_80_20, 3.79), (HOT_90_10, 4.08)] {
        let waf = |policy, survivors| hot_cold_waf(policy, classes, 1, survivors);
        let fifo = waf(VictimPolicy::Fifo, Survivors::WithHost);
        assert_close("FIFO", fifo, fifo_waf_of(classes, 0.15), 0.01);
        let mixed = waf(VictimPolicy::Greedy, Survivors::Together);
        assert_close("greedy", mixed, greedy, 0.02);
    }
}

/// Greedy cleaning gives a hot and a cold stream the same share of valid pages in their victims,
/// hence the WAF of uniform writes. The optimum is the best split of the spare space over the two.
#[test]
fn separating_hot_from_cold_pays_only_with_a_less_greedy_choice() {
    for (classes, sampled, optimum) in [(HOT_80_20, 2.92, 2.52), (HOT_90_10, 2.07, 1.76)] {
        let waf = |policy| hot_cold_waf(policy, classes, 2, Survivors::Apart);
        let global = waf(VictimPolicy::Greedy);
        assert_close("greedy", global, greedy_waf(256, 0.15), 0.02);
        assert_close("d = 10", waf(VictimPolicy::DChoices), sampled, 0.02);
        let share = waf(VictimPolicy::CostBenefit) / optimum;
        assert!(
            (1.0..1.06).contains(&share),
            "cost-benefit is at {share} of the optimum"
        );
    }
}

#[test]
fn the_map_agrees_with_a_plain_map_under_random_writes_trims_and_cleaning() {
    fuzz(400_000, 20_000, 11);
}

#[test]
#[ignore = "half a minute: cargo test --release -p twin -- --ignored"]
fn the_map_agrees_with_a_plain_map_over_100_million_operations() {
    fuzz(100_000_000, 1_000_000, 12);
}

fn fuzz(operations: u64, check_every: u64, seed: u64) {
    let logical = 6000;
    let mut drive = Plain::new(
        geometry(64, logical, 0.2),
        VictimPolicy::Greedy,
        1,
        Survivors::Together,
    );
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    for step in 0..operations {
        let page = (random.next_u64() % u64::from(logical)) as u32;
        if random.next_u64() % 8 == 0 {
            drive.ftl.trim(page);
            drive.held_at[page as usize] = NONE;
        } else {
            drive.write(page, 0);
        }
        if step % check_every == 0 {
            check(&drive);
        }
    }
    check(&drive);
}

fn check(drive: &Plain) {
    let mut physical = BTreeSet::new();
    for (logical, &page) in (0u32..).zip(&drive.held_at) {
        assert_eq!(drive.ftl.lookup(logical), page, "logical page {logical}");
        if page != NONE {
            assert!(physical.insert(page), "physical page {page} is used twice");
            assert_eq!(drive.ftl.owner(page), logical);
        }
    }
    assert_eq!(drive.ftl.mapped_pages() as usize, physical.len());
    let mut valid = vec![0; drive.geometry.superblocks as usize];
    for page in physical {
        valid[drive.geometry.superblock(page) as usize] += 1;
    }
    for (superblock, count) in (0u32..).zip(valid) {
        assert_eq!(
            drive.ftl.valid_pages(superblock),
            count,
            "superblock {superblock}"
        );
    }
}
