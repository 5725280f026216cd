//! Where the blocks of the file are on the device: extents, as every file system of today keeps them.

use std::collections::BTreeMap;

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

/// The extents of one file.
#[derive(Default)]
pub struct Extents {
    /// First block in the file, to first block on the device and length.
    map: BTreeMap<u64, (u64, u64)>,
}

impl Extents {
    /// Number of extents.
    pub fn count(&self) -> u64 {
        self.map.len() as u64
    }

    /// Behind the last block of the file that was ever written.
    pub fn end(&self) -> u64 {
        self.map
            .last_key_value()
            .map_or(0, |(&file, &(_, len))| file + len)
    }

    /// What `file..file + len` consists of, in order, holes included.
    pub fn pieces(&self, file: u64, len: u64) -> Vec<Piece> {
        let end = file + len;
        let first = self
            .map
            .range(..=file)
            .next_back()
            .map_or(file, |(&f, _)| f);
        let (mut out, mut at) = (Vec::new(), file);
        for (&start, &(device, length)) in self.map.range(first..end) {
            let stop = (start + length).min(end);
            if stop <= at {
                continue;
            }
            if start > at {
                out.push(hole(at, start));
                at = start;
            }
            out.push(Piece {
                file: at,
                len: stop - at,
                device: Some(device + (at - start)),
            });
            at = stop;
        }
        if at < end {
            out.push(hole(at, end));
        }
        out
    }

    /// Takes `file..file + len` out of the map; gives the device blocks it had.
    pub fn cut(&mut self, file: u64, len: u64) -> Vec<(u64, u64)> {
        let end = file + len;
        let pieces = self.pieces(file, len);
        let touched = pieces.iter().filter(|piece| piece.device.is_some());
        for start in touched.map(|piece| piece.file) {
            let Some((&s, &(device, length))) = self.map.range(..=start).next_back() else {
                continue;
            };
            self.map.remove(&s);
            if s < file {
                self.map.insert(s, (device, file - s));
            }
            if s + length > end {
                self.map.insert(end, (device + (end - s), s + length - end));
            }
        }
        pieces
            .iter()
            .filter_map(|piece| Some((piece.device?, piece.len)))
            .collect()
    }

    /// Maps `file..file + len`, which is not mapped, to `device..`; joins an extent that it continues.
    pub fn map(&mut self, file: u64, len: u64, device: u64) {
        if let Some((&before, (start, length))) = self.map.range_mut(..file).next_back()
            && before + *length == file
            && *start + *length == device
        {
            *length += len;
        } else {
            self.map.insert(file, (device, len));
        }
    }

    /// Every part of the file that lies in `start..end` of the device. Looks at all extents.
    pub fn within(&self, start: u64, end: u64) -> Vec<Piece> {
        self.map
            .iter()
            .filter(|&(_, &(device, len))| device < end && device + len > start)
            .map(|(&file, &(device, len))| {
                let (low, high) = (device.max(start), (device + len).min(end));
                Piece {
                    file: file + (low - device),
                    len: high - low,
                    device: Some(low),
                }
            })
            .collect()
    }
}

fn hole(start: u64, end: u64) -> Piece {
    Piece {
        file: start,
        len: end - start,
        device: None,
    }
}
