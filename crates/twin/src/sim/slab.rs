//! Numbers things that come and go, such as requests under way: a number is free again once its thing is released.

use std::ops::{Index, IndexMut};

/// Things by number. A released one stays readable until its number is given out again.
#[derive(Clone)]
pub struct Slab<T> {
    items: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Slab<T> {
    /// Keeps a thing and gives its number.
    #[inline]
    pub fn add(&mut self, item: T) -> u32 {
        if let Some(number) = self.free.pop() {
            self.items[number as usize] = item;
            number
        } else {
            self.items.push(item);
            self.items.len() as u32 - 1
        }
    }

    /// Returns all things in order of their numbers, released ones among them.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.items.iter()
    }

    /// Gives a number back.
    #[inline]
    pub fn release(&mut self, number: u32) {
        self.free.push(number);
    }
}

impl<T> Index<u32> for Slab<T> {
    type Output = T;

    #[inline]
    fn index(&self, number: u32) -> &T {
        &self.items[number as usize]
    }
}

impl<T> IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, number: u32) -> &mut T {
        &mut self.items[number as usize]
    }
}
