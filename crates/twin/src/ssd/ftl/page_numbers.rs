//! The two large arrays of the translation layer. Their page numbers are read and written at random, in memory of large
//! pages where the system has them. With 4 KiB pages the processor would look for the address of nearly every entry
//! before it looks for the entry.

use std::ops::{Deref, DerefMut};

use memmap2::MmapMut;

/// A fixed number of page numbers.
pub enum PageNumbers {
    /// In pages of its own, large ones where possible.
    Mapped(MmapMut),
    /// Too few to be worth it, or the system gave no pages.
    Plain(Box<[u32]>),
}

/// Below this the processor finds all addresses anyway.
const FEWEST: usize = 1 << 18;

impl PageNumbers {
    /// Returns `count` times `value`.
    pub fn new(count: u32, value: u32) -> Self {
        let count = count as usize;
        let Some(pages) = Self::mapped(count) else {
            return Self::Plain(vec![value; count].into_boxed_slice());
        };
        let mut numbers = Self::Mapped(pages);
        if value != 0 {
            numbers.fill(value);
        }
        numbers
    }

    fn mapped(count: usize) -> Option<MmapMut> {
        if count < FEWEST {
            return None;
        }
        let pages = MmapMut::map_anon(count * size_of::<u32>()).ok()?;
        // Without large pages it is slower and still right.
        #[cfg(target_os = "linux")]
        let _ = pages.advise(memmap2::Advice::HugePage);
        Some(pages)
    }
}

impl Clone for PageNumbers {
    fn clone(&self) -> Self {
        let Some(pages) = Self::mapped(self.len()) else {
            return Self::Plain((**self).into());
        };
        let mut copy = Self::Mapped(pages);
        copy.copy_from_slice(self);
        copy
    }
}

impl Deref for PageNumbers {
    type Target = [u32];

    #[inline]
    fn deref(&self) -> &[u32] {
        match self {
            Self::Mapped(pages) => bytemuck::cast_slice(pages),
            Self::Plain(numbers) => numbers,
        }
    }
}

impl DerefMut for PageNumbers {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u32] {
        match self {
            Self::Mapped(pages) => bytemuck::cast_slice_mut(pages),
            Self::Plain(numbers) => numbers,
        }
    }
}
