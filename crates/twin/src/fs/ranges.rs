//! A set of blocks kept as ranges: dirty pages, pages under write-back, pages read ahead.

use std::collections::BTreeMap;

/// Disjoint, non-adjacent ranges of blocks, in order.
#[derive(Default)]
pub struct Ranges {
    /// Start to end.
    map: BTreeMap<u64, u64>,
    blocks: u64,
}

impl Ranges {
    /// Blocks in the set.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Adds `start..end`; gives how many blocks are new.
    pub fn insert(&mut self, start: u64, end: u64) -> u64 {
        let before = self.blocks;
        let (mut low, mut high) = (start, end);
        while let Some((&s, &e)) = self.map.range(..=high).next_back() {
            if e < low {
                break;
            }
            self.map.remove(&s);
            self.blocks -= e - s;
            (low, high) = (low.min(s), high.max(e));
        }
        self.map.insert(low, high);
        self.blocks += high - low;
        self.blocks - before
    }

    /// Takes `start..end` out.
    pub fn remove(&mut self, start: u64, end: u64) {
        while let Some((&s, &e)) = self.map.range(..end).next_back() {
            if e <= start {
                break;
            }
            self.map.remove(&s);
            self.blocks -= e - s;
            for (low, high) in [(s, start.min(e)), (end.max(s), e)] {
                if low < high {
                    self.map.insert(low, high);
                    self.blocks += high - low;
                }
            }
        }
    }

    /// Takes out the first blocks at or behind `from`, at most `most` and contiguous; begins again at
    /// the front when there are none behind.
    pub fn take(&mut self, from: u64, most: u64) -> Option<(u64, u64)> {
        let inside = self
            .map
            .range(..from)
            .next_back()
            .filter(|&(_, &end)| end > from)
            .map(|(_, &end)| (from, end));
        let (start, end) = inside
            .or_else(|| self.map.range(from..).next().map(|(&s, &e)| (s, e)))
            .or_else(|| self.map.first_key_value().map(|(&s, &e)| (s, e)))?;
        let end = end.min(start.saturating_add(most));
        self.remove(start, end);
        Some((start, end))
    }

    /// The parts of `gaps` that are not in the set.
    pub fn outside(&self, gaps: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
        if self.map.is_empty() {
            return gaps;
        }
        let mut out = Vec::with_capacity(gaps.len());
        for (mut start, end) in gaps {
            let first = self
                .map
                .range(..=start)
                .next_back()
                .map_or(start, |(&s, _)| s);
            for (&s, &e) in self.map.range(first..end) {
                if s > start {
                    out.push((start, s));
                }
                start = start.max(e);
            }
            if start < end {
                out.push((start, end));
            }
        }
        out
    }
}
