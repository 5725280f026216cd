//! The translation layer alone: write amplification against closed forms, and every page where it
//! should be.

use std::collections::BTreeSet;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

use super::{assert_close, small_drive};
use crate::ftl::{Ftl, NONE, Stream};
use crate::geometry::Geometry;

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

/// Writes with cleaning done at once, counting the pages moved.
struct Plain {
    geometry: Geometry,
    ftl: Ftl,
    written: u64,
    moved: u64,
}

impl Plain {
    fn new(geometry: Geometry) -> Self {
        Self {
            ftl: Ftl::new(&geometry),
            geometry,
            written: 0,
            moved: 0,
        }
    }

    fn close_if_full(&mut self, stream: Stream, last: u32) {
        if self.ftl.frontier(stream).is_none() {
            self.ftl.close(self.geometry.superblock(last));
        }
    }

    fn write(&mut self, logical: u32) {
        if self.ftl.frontier(Stream::Host).is_none() {
            while self.ftl.free_superblocks() < 3 && self.clean() {}
            self.ftl.open(Stream::Host).expect("a free superblock");
        }
        let page = self.ftl.frontier(Stream::Host).expect("open");
        self.ftl.place(Stream::Host, logical, 1);
        self.close_if_full(Stream::Host, page);
        self.written += 1;
    }

    fn clean(&mut self) -> bool {
        let Some((victim, valid)) = self.ftl.take_victim() else {
            return false;
        };
        let (mut page, end) = (
            victim * self.geometry.superblock_pages,
            (victim + 1) * self.geometry.superblock_pages,
        );
        let mut moved = 0;
        while page < end && moved < valid {
            if self.ftl.frontier(Stream::Cleaning).is_none() {
                self.ftl.open(Stream::Cleaning).expect("a free superblock");
            }
            let first = self.ftl.frontier(Stream::Cleaning).expect("open");
            let (count, resume) = self.ftl.relocate(victim, page, end);
            page = resume;
            moved += count;
            if count > 0 {
                self.close_if_full(Stream::Cleaning, first + count - 1);
            }
        }
        assert_eq!(moved, valid, "exactly the valid pages move");
        self.moved += u64::from(moved);
        self.ftl.release(victim);
        true
    }
}

fn uniform_waf(block_pages: u32, spare: f64) -> f64 {
    let logical = if block_pages == 64 { 1 << 17 } else { 1 << 18 };
    let mut drive = Plain::new(geometry(block_pages, logical, spare));
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    (0..logical).for_each(|page| drive.write(page));
    let mut overwrite = |times| {
        for _ in 0..times * u64::from(logical) {
            drive.write((random.next_u64() % u64::from(logical)) as u32);
        }
        (drive.written, drive.moved)
    };
    let (written, moved) = overwrite(6);
    let (written_after, moved_after) = overwrite(3);
    1.0 + (moved_after - moved) as f64 / (written_after - written) as f64
}

/// Greedy cleaning, uniform random writes: A = b / (b - X0 + 1), X0 = 1/2 - (b/a) W0(...)
/// (Xiang & Kurkoski, arXiv 1110.4245), as tabulated in the project's facts.
#[test]
fn write_amplification_of_greedy_cleaning_meets_the_closed_form() {
    for (block_pages, spare, expected) in [
        (64, 0.07, 6.615),
        (64, 0.15, 3.354),
        (64, 0.28, 1.942),
        (64, 0.50, 1.239),
        (256, 0.07, 7.124),
        (256, 0.15, 3.476),
        (256, 0.28, 1.979),
        (256, 0.50, 1.251),
    ] {
        let name = format!("b {block_pages} spare {spare}");
        assert_close(&name, uniform_waf(block_pages, spare), expected, 0.015);
    }
}

#[test]
fn the_map_agrees_with_a_plain_map_under_random_writes_trims_and_cleaning() {
    let logical = 6000;
    let mut drive = Plain::new(geometry(64, logical, 0.2));
    let mut expected = vec![false; logical as usize];
    let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
    for step in 0..400_000 {
        let page = (random.next_u64() % u64::from(logical)) as u32;
        if random.next_u64() % 8 == 0 {
            drive.ftl.trim(page);
            expected[page as usize] = false;
        } else {
            drive.write(page);
            expected[page as usize] = true;
        }
        if step % 20_000 == 0 {
            check(&drive, &expected);
        }
    }
    check(&drive, &expected);
}

fn check(drive: &Plain, expected: &[bool]) {
    let mut physical = BTreeSet::new();
    for (logical, &mapped) in (0u32..).zip(expected) {
        let page = drive.ftl.lookup(logical);
        assert_eq!(page != NONE, mapped, "logical page {logical}");
        if mapped {
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
