//! The two large arrays of the translation layer. Their page numbers are read and written at random, in memory of large
//! pages where the system has them. With 4 KiB pages the processor would look for the address of nearly every entry
//! before it looks for the entry.

use std::{
    mem,
    ops::{Deref, DerefMut},
    sync::{Mutex, PoisonError},
};

use memmap2::MmapMut;

/// A fixed number of page numbers.
pub struct PageNumbers(Memory);

enum Memory {
    /// In pages of its own, large ones where possible.
    Mapped(MmapMut),
    /// Too few to be worth it, or the system gave no pages.
    Plain(Box<[u32]>),
}

/// Below this the processor finds all addresses anyway.
const FEWEST: usize = 1 << 18;

/// Pages of dropped numbers, for copies that need as many. Each point of a curve has a copy of a drive, and to clear
/// new pages for it would take as long as to copy.
static SPARE: Mutex<Vec<MmapMut>> = Mutex::new(Vec::new());

/// Most that is kept of them, the latest: the copies of a few threads.
const SPARE_BYTES: usize = 1 << 26;

impl PageNumbers {
    /// Returns `count` times `value`.
    pub fn new(count: u32, value: u32) -> Self {
        let count = count as usize;
        let Some(pages) = new_pages(count) else {
            return Self(Memory::Plain(vec![value; count].into_boxed_slice()));
        };
        let mut numbers = Self(Memory::Mapped(pages));
        if value != 0 {
            numbers.fill(value);
        }
        numbers
    }
}

fn new_pages(count: usize) -> Option<MmapMut> {
    if count < FEWEST {
        return None;
    }
    let pages = MmapMut::map_anon(count * size_of::<u32>()).ok()?;
    // Without large pages it is slower and still right.
    #[cfg(target_os = "linux")]
    let _ = pages.advise(memmap2::Advice::HugePage);
    Some(pages)
}

fn spare_pages(count: usize) -> Option<MmapMut> {
    let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
    let bytes = count * size_of::<u32>();
    let index = spare.iter().position(|pages| pages.len() == bytes)?;
    Some(spare.remove(index))
}

impl Clone for PageNumbers {
    fn clone(&self) -> Self {
        let Some(pages) = spare_pages(self.len()).or_else(|| new_pages(self.len())) else {
            return Self(Memory::Plain((**self).into()));
        };
        let mut copy = Self(Memory::Mapped(pages));
        copy.copy_from_slice(self);
        copy
    }
}

impl Drop for PageNumbers {
    fn drop(&mut self) {
        let Memory::Mapped(pages) = mem::replace(&mut self.0, Memory::Plain(Box::default())) else {
            return;
        };
        let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
        spare.push(pages);
        // Those of a drive of another size, which nobody copies any more, would stay for ever.
        while spare.iter().map(|pages| pages.len()).sum::<usize>() > SPARE_BYTES {
            spare.remove(0);
        }
    }
}

impl Deref for PageNumbers {
    type Target = [u32];

    #[inline]
    fn deref(&self) -> &[u32] {
        match &self.0 {
            Memory::Mapped(pages) => bytemuck::cast_slice(pages),
            Memory::Plain(numbers) => numbers,
        }
    }
}

impl DerefMut for PageNumbers {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u32] {
        match &mut self.0 {
            Memory::Mapped(pages) => bytemuck::cast_slice_mut(pages),
            Memory::Plain(numbers) => numbers,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_in_the_pages_of_a_dropped_one_has_the_numbers_of_its_original() {
        let count = FEWEST as u32;
        let mut original = PageNumbers::new(count, 7);
        original[5] = 1;
        for value in 0..4 {
            let mut other = original.clone();
            other.fill(value);
            drop(other);
            let copy = original.clone();
            assert!(copy[..] == original[..]);
            assert!(PageNumbers::new(count, 0).iter().all(|&number| number == 0));
        }
        for _ in 0..3 {
            drop(PageNumbers::new(1 << 23, 0));
        }
        drop(original);
        assert!(spare_pages(FEWEST).is_some(), "the latest are kept");
    }
}
