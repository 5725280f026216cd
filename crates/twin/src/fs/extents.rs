//! Where the blocks of the file are on the device: extents, as today's file systems keep them. A table of 4 MiB parts
//! of the file leads to them. A part in one piece is a number, one in a few pieces a list. One that random writes have
//! scattered is a table of its blocks.

use std::ops::Range;

use prefetch_index::prefetch_index;

/// A part of the file and where it is; `None`: never written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// First block in the file.
    pub file: u64,
    /// Blocks.
    pub len: u64,
    /// First block on the device.
    pub device: Option<u64>,
}

impl Piece {
    /// Returns its blocks in the file.
    pub fn blocks(&self) -> Range<u64> {
        self.file..self.file + self.len
    }
}

const PART: u64 = 1024;
/// Pieces that a list holds.
const FEW: usize = 32;
/// In place of a device block: never written.
const HOLE: u64 = u64::MAX;

/// `PART` blocks of the file.
#[derive(Clone)]
enum Part {
    /// In one piece, or a hole.
    One(u64),
    /// Beginnings of pieces in the part, the first at 0, and where they are.
    Few(Vec<(u64, u64)>),
    Blocks(Box<[u64]>),
}

/// Returns the device block `step` behind `device`.
fn behind(device: u64, step: u64) -> u64 {
    if device == HOLE { HOLE } else { device + step }
}

/// Returns whether an extent begins at `device`, which follows `last` in the file.
fn begins(last: u64, device: u64) -> bool {
    device != HOLE && (last == HOLE || last + 1 != device)
}

impl Part {
    /// Returns where `at` is.
    fn device(&self, at: u64) -> u64 {
        match self {
            Self::One(device) => behind(*device, at),
            Self::Few(pieces) => {
                let next = pieces.partition_point(|&(start, _)| start <= at);
                let (start, device) = pieces[next - 1];
                behind(device, at - start)
            }
            Self::Blocks(blocks) => blocks[at as usize],
        }
    }

    /// Returns where the first block of a range is, and the block behind its piece; no further than the range goes.
    fn piece(&self, range: Range<u64>) -> (u64, u64) {
        let Range { start: at, end } = range;
        let device = self.device(at);
        let stop = match self {
            Self::One(_) => end,
            Self::Few(pieces) => {
                let next = pieces.partition_point(|&(start, _)| start <= at);
                pieces.get(next).map_or(end, |&(start, _)| start.min(end))
            }
            Self::Blocks(blocks) => {
                let run = blocks[at as usize..end as usize].iter().zip(0..);
                let run = run.take_while(|&(&block, step)| block == behind(device, step));
                at + run.count() as u64
            }
        };
        (device, stop)
    }

    /// Says where a range begins on the device from now on.
    fn set(&mut self, range: Range<u64>, device: u64) {
        let Range {
            start: low,
            end: high,
        } = range;
        if high - low == PART {
            *self = Self::One(device);
            return;
        }
        if let Self::One(first) = *self {
            *self = Self::Few(vec![(0, first)]);
        }
        let after = (high < PART).then(|| (high, self.device(high)));
        match self {
            Self::One(_) => {}
            Self::Few(pieces) => {
                pieces.retain(|&(start, _)| start < low || start > high);
                pieces.extend([Some((low, device)), after].into_iter().flatten());
                pieces.sort_unstable();
                if pieces.len() > FEW {
                    *self = Self::Blocks(self.blocks());
                }
            }
            Self::Blocks(blocks) => {
                let changed = &mut blocks[low as usize..high as usize];
                for (block, step) in changed.iter_mut().zip(0..) {
                    *block = behind(device, step);
                }
            }
        }
    }

    fn blocks(&self) -> Box<[u64]> {
        (0..PART).map(|at| self.device(at)).collect()
    }
}

/// The extents of one file.
#[derive(Clone, Default)]
pub struct Extents {
    parts: Vec<Part>,
    count: u64,
    end: u64,
}

impl Extents {
    /// Returns the number of extents.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the block behind the last block of the file that was ever written.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Returns where a block is.
    pub fn device(&self, file: u64) -> Option<u64> {
        let device = self.at(file);
        (device != HOLE).then_some(device)
    }

    /// Has the processor fetch where a block is.
    #[inline]
    pub fn prefetch(&self, file: u64) {
        if let Some(Part::Blocks(blocks)) = self.parts.get((file / PART) as usize) {
            prefetch_index(blocks, (file % PART) as usize);
        }
    }

    fn at(&self, file: u64) -> u64 {
        let part = self.parts.get((file / PART) as usize);
        part.map_or(HOLE, |part| part.device(file % PART))
    }

    /// Returns what some blocks of the file consist of, in order, holes included.
    pub fn pieces(&self, file: Range<u64>) -> impl Iterator<Item = Piece> {
        let Range { start: mut at, end } = file;
        std::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            let start = at;
            let (device, mut stop) = self.piece(at..end);
            while stop < end {
                let (next, next_stop) = self.piece(stop..end);
                if next != behind(device, stop - start) {
                    break;
                }
                stop = next_stop;
            }
            at = stop;
            Some(Piece {
                file: start,
                len: stop - start,
                device: (device != HOLE).then_some(device),
            })
        })
    }

    /// As [`Part::piece`], of blocks of the file.
    fn piece(&self, file: Range<u64>) -> (u64, u64) {
        let Range { start: at, end } = file;
        let first = at / PART * PART;
        match self.parts.get((at / PART) as usize) {
            None => (HOLE, end),
            Some(part) => {
                let (device, stop) = part.piece(at - first..(end - first).min(PART));
                (device, first + stop)
            }
        }
    }

    /// Says that blocks of the file begin at `device` from now on, or are nowhere; adds the device blocks that they
    /// had to `freed`.
    pub fn set(&mut self, file: Range<u64>, device: Option<u64>, freed: &mut Vec<Range<u64>>) {
        let Range { start, end } = file;
        let device = device.unwrap_or(HOLE);
        let before = start.checked_sub(1).map_or(HOLE, |block| self.at(block));
        let after = self.at(end);
        let (mut begun, mut last) = (0, before);
        for piece in self.pieces(file) {
            let Some(device) = piece.device else {
                last = HOLE;
                continue;
            };
            freed.push(device..device + piece.len);
            begun += u64::from(begins(last, device));
            last = device + piece.len - 1;
        }
        begun += u64::from(begins(last, after));
        let begins_now = begins(before, device);
        let after_begins = begins(behind(device, end - start - 1), after);
        self.count = self.count - begun + u64::from(begins_now) + u64::from(after_begins);
        let most = end.div_ceil(PART) as usize;
        if self.parts.len() < most {
            self.parts.resize(most, Part::One(HOLE));
        }
        for part in start / PART..most as u64 {
            let first = part * PART;
            let (low, high) = (start.max(first), end.min(first + PART));
            self.parts[part as usize].set(low - first..high - first, behind(device, low - start));
        }
        if device != HOLE {
            self.end = self.end.max(end);
        }
    }

    /// Returns every part of the file that lies in these blocks of the device. Looks at all extents.
    pub fn within(&self, blocks: &Range<u64>) -> Vec<Piece> {
        self.pieces(0..self.end)
            .filter_map(|piece| {
                let device = piece.device?;
                let (low, high) = (
                    device.max(blocks.start),
                    (device + piece.len).min(blocks.end),
                );
                (low < high).then(|| Piece {
                    file: piece.file + (low - device),
                    len: high - low,
                    device: Some(low),
                })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against one number per block.
        #[test]
        fn blocks_are_where_they_were_put_last(
            steps in proptest::collection::vec((0u64..3000, 1u64..1200, any::<bool>()), 1..120)
        ) {
            let mut extents = Extents::default();
            let mut blocks = [HOLE; 4200];
            let (mut next, mut freed) = (10_000, Vec::new());
            for (step, (file, len, short)) in steps.into_iter().enumerate() {
                let len = if short { len % 5 + 1 } else { len };
                let device = (step % 7 != 0).then_some(next);
                let old = &mut blocks[file as usize..(file + len) as usize];
                let held = old.iter().filter(|&&block| block != HOLE).count() as u64;
                freed.clear();
                extents.set(file..file + len, device, &mut freed);
                prop_assert_eq!(freed.iter().map(|blocks| blocks.end - blocks.start).sum::<u64>(), held);
                for (block, at) in old.iter_mut().zip(0..) {
                    *block = device.map_or(HOLE, |device| device + at);
                }
                next += len + step as u64 % 2;
            }
            let found: Vec<u64> = extents
                .pieces(0..4200)
                .flat_map(|piece| (0..piece.len).map(move |at| piece.device.map_or(HOLE, |d| d + at)))
                .collect();
            prop_assert_eq!(&found[..], &blocks[..]);
            let starts = (0..4200).filter(|&at| {
                blocks[at] != HOLE && (at == 0 || blocks[at - 1] == HOLE || blocks[at - 1] + 1 != blocks[at])
            });
            prop_assert_eq!(extents.count(), starts.count() as u64);
        }
    }
}
