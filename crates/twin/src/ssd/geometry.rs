//! Where a physical page lies: the layout of a superblock over dies, planes and word lines.
//!
//! A *superblock* is one erase unit, or several, of every die. Where the dies are split into reclaim groups, it is of
//! every die of one group, and a group's superblocks are numbered in a row. A *unit* is what one program operation of
//! one die writes (all planes, all pages of a word line). A *row* is one unit of every die. Data fills a row in
//! *stripes* of one page per plane: first the lower pages of every die, then the middle, then the upper ones. So
//! neighbouring data lies on neighbouring dies, which makes sequential reads parallel. Physical page numbers count 4
//! KiB pages in that filling order.

use std::ops::Range;

use crate::ssd::params::SsdParams;
use crate::ssd::params::UNIT_BYTES;

/// Indirection units that one page of the map describes, 4 bytes each.
pub const MAP_PAGE_ENTRIES: u32 = 1024;

/// Exact division of `u32` by a constant by one multiplication, rounding its reciprocal down (Robison 2005).
#[derive(Clone, Copy, Debug)]
pub struct Divisor {
    divisor: u32,
    magic: u64,
}

impl Divisor {
    /// Divides by `divisor`, 1 or more.
    pub const fn new(divisor: u32) -> Self {
        // Below 2^64 / d, by less than what makes a difference.
        let magic = u64::MAX / divisor as u64;
        Self { divisor, magic }
    }

    /// Returns the quotient.
    #[inline]
    pub const fn div(self, value: u32) -> u32 {
        ((self.magic as u128 * (value as u128 + 1)) >> 64) as u32
    }

    /// Returns quotient and remainder.
    #[inline]
    pub const fn div_rem(self, value: u32) -> (u32, u32) {
        let quotient = self.div(value);
        (quotient, value - quotient * self.divisor)
    }
}

/// Layout of the physical pages, and the sizes of the slice.
#[derive(Clone, Debug)]
pub struct Geometry {
    /// Logical 4 KiB pages.
    pub logical_pages: u32,
    /// Pages of the page map itself, where it is written to flash; they follow the logical ones.
    pub map_pages: u32,
    /// Superblocks.
    pub superblocks: u32,
    /// Reclaim groups, which have equally many of them.
    pub groups: u32,
    /// Those of them set aside for an SLC cache.
    pub slc_superblocks: u32,
    /// Pages of a superblock.
    pub superblock_pages: u32,
    /// Units of a superblock.
    pub superblock_units: u32,
    /// Pages of a unit.
    pub unit_pages: u32,
    /// Pages of a stripe.
    pub stripe_pages: u32,
    /// Stripes of a unit: pages programmed together.
    pub unit_stripes: u32,
    /// 4 KiB pages of a NAND page.
    pub nand_pages: u32,
    /// Dies of a superblock.
    pub dies: u32,
    by_group: Divisor,
    by_nand_page: Divisor,
    by_superblock: Divisor,
    by_stripe: Divisor,
    by_dies: Divisor,
    by_unit_stripes: Divisor,
    by_superblock_units: Divisor,
}

/// A unit, on the way through those of its superblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// First page of its first stripe.
    pub page: u32,
    /// Die.
    pub die: u32,
    /// Units of its row from it on.
    dies_left: u32,
}

/// A decoded physical page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Unit, counted over the whole drive.
    pub unit: u32,
    /// Die.
    pub die: u32,
    /// Plane of the die.
    pub plane: u32,
    /// Which page of the word line: 0 lower, 1 middle, 2 upper.
    pub page_type: u32,
}

impl Place {
    /// [`page_type`](Self::page_type) of a page that is sensed in SLC mode: behind those of ordinary word lines.
    pub const SLC: u32 = 4;
}

impl Geometry {
    /// Returns the layout of the slice of a drive. `None`: too many pages for 32-bit page numbers, or too few
    /// superblocks for cleaning to work.
    pub fn new(params: &SsdParams) -> Option<Self> {
        let slice = u64::from(params.slice_denominator);
        let groups = params.reclaim_groups;
        let dies = params.dies() / groups;
        let unit_bytes = params.program_bytes();
        let row_bytes = unit_bytes * u64::from(dies);
        let die_bytes = params.erase_units_per_die() * params.erase_unit_bytes;
        let rows = (die_bytes / slice / unit_bytes).max(1);
        let superblock_bytes = rows * row_bytes;
        let logical_bytes = params.capacity_bytes / slice;
        let physical_bytes = logical_bytes as f64 * (1.0 + params.over_provisioning);
        let unit = u64::from(UNIT_BYTES);
        let indirection_pages = u64::from(params.indirection_unit_bytes) / unit;
        let logical_pages = logical_bytes / unit / indirection_pages * indirection_pages;
        let map_pages = match params.map_flush_bytes {
            0 => 0,
            _ => logical_pages.div_ceil(indirection_pages * u64::from(MAP_PAGE_ENTRIES)),
        };
        // Free superblocks hold no data, so they come on top of the space that does. Else a slice with few, large
        // superblocks would have less room for cleaning than the whole drive.
        let holding = (physical_bytes / f64::from(groups) / superblock_bytes as f64).round() as u64;
        let slc_superblock_bytes = superblock_bytes / u64::from(params.pages_per_program);
        let slc_superblocks = (params.slc_bytes / slice).div_ceil(slc_superblock_bytes);
        let of_group = holding + u64::from(params.gc_free_superblocks) + slc_superblocks;
        let superblocks = u64::from(groups) * of_group;
        let physical_pages = superblocks * superblock_bytes / unit;
        // Beyond the data: a superblock being filled by every stream, and one to gain.
        let open = u64::from(params.streams() / groups);
        let data_bytes = (logical_pages + map_pages).div_ceil(u64::from(groups)) * unit;
        if physical_pages >= u64::from(u32::MAX)
            || holding < data_bytes.div_ceil(superblock_bytes) + open + 1
        {
            return None;
        }
        let superblock_pages = (superblock_bytes / unit) as u32;
        let nand_pages = params.nand_page_bytes / UNIT_BYTES;
        let stripe_pages = nand_pages * params.planes_per_die;
        Some(Self {
            logical_pages: logical_pages as u32,
            map_pages: map_pages as u32,
            superblocks: superblocks as u32,
            groups,
            slc_superblocks: slc_superblocks as u32,
            superblock_pages,
            superblock_units: rows as u32 * dies,
            unit_pages: (unit_bytes / unit) as u32,
            stripe_pages,
            unit_stripes: params.pages_per_program,
            nand_pages,
            dies,
            by_group: Divisor::new(of_group as u32),
            by_nand_page: Divisor::new(nand_pages),
            by_superblock: Divisor::new(superblock_pages),
            by_stripe: Divisor::new(stripe_pages),
            by_dies: Divisor::new(dies),
            by_unit_stripes: Divisor::new(params.pages_per_program),
            by_superblock_units: Divisor::new(rows as u32 * dies),
        })
    }

    /// Returns the layout of the slice of a zoned drive, which has fewer zones of the same size. Superblock i is what
    /// lies behind zone i, and `dies` are those of one zone. No page is mapped. `None`: no zone is left, or there are
    /// too many pages for 32-bit page numbers.
    pub fn zoned(params: &SsdParams) -> Option<Self> {
        let model = params.zone_model()?;
        let dies = params.dies_of_zone();
        let unit = u64::from(UNIT_BYTES);
        let program_bytes = params.program_bytes();
        let rows = model.zone_capacity_bytes / (program_bytes * u64::from(dies));
        let pages = u64::from(model.zones) * model.zone_bytes / unit;
        if model.zones == 0 || pages >= u64::from(u32::MAX) {
            return None;
        }
        let superblock_pages = (model.zone_capacity_bytes / unit) as u32;
        let nand_pages = params.nand_page_bytes / UNIT_BYTES;
        // Unit after unit: what is open of a zone is less than a unit, not a row of them.
        let unit_pages = (program_bytes / unit) as u32;
        Some(Self {
            logical_pages: 0,
            map_pages: 0,
            superblocks: model.zones,
            groups: 1,
            slc_superblocks: 0,
            superblock_pages,
            superblock_units: rows as u32 * dies,
            unit_pages,
            stripe_pages: unit_pages,
            unit_stripes: 1,
            nand_pages,
            dies,
            by_group: Divisor::new(model.zones),
            by_nand_page: Divisor::new(nand_pages),
            by_superblock: Divisor::new(superblock_pages),
            by_stripe: Divisor::new(unit_pages),
            by_dies: Divisor::new(dies),
            by_unit_stripes: Divisor::new(1),
            by_superblock_units: Divisor::new((rows as u32 * dies).max(1)),
        })
    }

    /// Returns the geometry without superblocks: what the map of a zoned drive has to hold.
    pub fn unmapped(&self) -> Self {
        Self {
            superblocks: 0,
            ..self.clone()
        }
    }

    /// Returns the number of physical pages.
    pub const fn physical_pages(&self) -> u32 {
        self.superblocks * self.superblock_pages
    }

    /// Returns the superblock of a page.
    #[inline]
    pub const fn superblock(&self, page: u32) -> u32 {
        self.by_superblock.div(page)
    }

    /// Returns the reclaim group of a superblock.
    #[inline]
    pub const fn group(&self, superblock: u32) -> u32 {
        match self.groups {
            1 => 0,
            _ => self.by_group.div(superblock),
        }
    }

    /// Returns die `die` of those that a superblock lies on.
    #[inline]
    const fn die_in_group(&self, superblock: u32, die: u32) -> u32 {
        match self.groups {
            1 => die,
            _ => self.by_group.div(superblock) * self.dies + die,
        }
    }

    /// Returns the superblocks of a reclaim group.
    pub const fn superblocks_of(&self, group: u32) -> Range<u32> {
        let of_group = self.superblocks / self.groups;
        group * of_group..(group + 1) * of_group
    }

    /// Decodes a physical page.
    #[inline]
    pub const fn place(&self, page: u32) -> Place {
        let (superblock, local) = self.by_superblock.div_rem(page);
        let (stripe, in_stripe) = self.by_stripe.div_rem(local);
        let (level, die) = self.by_dies.div_rem(stripe);
        let (row, page_type) = self.by_unit_stripes.div_rem(level);
        Place {
            unit: superblock * self.superblock_units + row * self.dies + die,
            die: self.die_in_group(superblock, die),
            plane: self.by_nand_page.div(in_stripe),
            page_type,
        }
    }

    /// Returns the first unit of a superblock.
    pub const fn first_unit(&self, superblock: u32) -> Cursor {
        Cursor {
            page: superblock * self.superblock_pages,
            die: self.die_in_group(superblock, 0),
            dies_left: self.dies,
        }
    }

    /// Returns the unit after another of the same superblock; after its last, the page where that ends.
    #[inline]
    pub const fn next_unit(&self, unit: Cursor) -> Cursor {
        let Cursor {
            page,
            die,
            dies_left,
        } = unit;
        if dies_left > 1 {
            return Cursor {
                page: page + self.stripe_pages,
                die: die + 1,
                dies_left: dies_left - 1,
            };
        }
        let rest_of_row = (self.unit_stripes - 1) * self.dies * self.stripe_pages;
        Cursor {
            page: page + self.stripe_pages + rest_of_row,
            die: die + 1 - self.dies,
            dies_left: self.dies,
        }
    }

    /// Returns the pages of each stripe of a unit.
    #[inline]
    pub fn stripes(&self, unit: Cursor) -> impl Iterator<Item = Range<u32>> + use<> {
        let (length, step) = (self.stripe_pages, self.dies * self.stripe_pages);
        (0..self.unit_stripes).map(move |index| {
            let start = unit.page + index * step;
            start..start + length
        })
    }

    /// Returns the superblock of a unit.
    #[inline]
    pub const fn unit_superblock(&self, unit: u32) -> u32 {
        self.by_superblock_units.div(unit)
    }

    /// Returns the die of a unit.
    #[inline]
    pub const fn unit_die(&self, unit: u32) -> u32 {
        // A superblock is a whole number of rows.
        let die = self.by_dies.div_rem(unit).1;
        match self.groups {
            1 => die,
            _ => self.die_in_group(self.unit_superblock(unit), die),
        }
    }

    /// Pages from `page` to the end of its stripe, `page` included.
    #[inline]
    pub const fn left_in_stripe(&self, page: u32) -> u32 {
        // A superblock is a whole number of stripes.
        self.stripe_pages - self.by_stripe.div_rem(page).1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_by_multiplication_is_exact() {
        for divisor in [1, 2, 3, 7, 16, 48, 641, 3072, 6144, 65_535, 1 << 31] {
            let by = Divisor::new(divisor);
            for base in [
                0u32,
                divisor,
                divisor.wrapping_mul(77),
                u32::MAX - 2,
                1 << 31,
            ] {
                for value in [base.wrapping_sub(1), base, base.wrapping_add(1)] {
                    assert_eq!(by.div_rem(value), (value / divisor, value % divisor));
                }
            }
        }
    }

    #[test]
    fn a_unit_holds_its_stripes_and_every_page_lies_in_one_unit() {
        let params = crate::tests::small_drive();
        let geometry = Geometry::new(&params).expect("valid");
        for superblock in 0..3 {
            let mut cursor = geometry.first_unit(superblock);
            for local in 0..geometry.superblock_units {
                if local > 0 {
                    cursor = geometry.next_unit(cursor);
                }
                let unit = superblock * geometry.superblock_units + local;
                assert_eq!(cursor.die, geometry.unit_die(unit));
                for (page_type, stripe) in (0..).zip(geometry.stripes(cursor)) {
                    assert_eq!(geometry.left_in_stripe(stripe.start), geometry.stripe_pages);
                    for page in stripe {
                        let place = geometry.place(page);
                        assert_eq!((place.unit, place.page_type), (unit, page_type));
                        assert_eq!(place.die, cursor.die);
                    }
                }
            }
        }
    }
}
