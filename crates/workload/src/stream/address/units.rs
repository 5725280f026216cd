//! Which unit of the region comes next, where a pattern lists units or gives them heat.

use crate::HotBand;

use crate::stream::error::StreamError;
use crate::stream::random::{Random, threshold};

/// A list of units that is gone through again and again.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    order: Box<[u32]>,
    at: usize,
    /// The unit that the list counts from in this round.
    base: u64,
    moves: bool,
}

impl Listed {
    /// Returns a list of some of `units` units. Where it `moves`, each round counts on from the end of the last.
    pub(super) fn new(order: &[u32], moves: bool, units: u64) -> Result<Self, StreamError> {
        if let Some(&block) = order.iter().find(|&&block| u64::from(block) >= units) {
            return Err(StreamError::NoBlock { block, units });
        }
        Ok(Self {
            order: order.into(),
            at: 0,
            base: 0,
            moves,
        })
    }

    #[inline(always)]
    pub(super) fn next(&mut self, units: u64) -> u64 {
        let unit = (self.base + u64::from(self.order[self.at])) % units;
        self.at += 1;
        if self.at == self.order.len() {
            self.at = 0;
            let moved = if self.moves {
                self.order.len() as u64
            } else {
                0
            };
            self.base = (self.base + moved) % units;
        }
        unit
    }
}

/// Bands of units, each with its share of the requests.
#[derive(Clone, Debug)]
pub(super) struct HotSpots(Box<[Band]>);

/// Units `first..first + units`, drawn when a uniform `u64` is below `threshold`.
#[derive(Clone, Copy, Debug)]
struct Band {
    threshold: u64,
    first: u64,
    units: u64,
}

impl HotSpots {
    /// Lays the bands out over the region's units, one after the other.
    pub(super) fn new(
        bands: &[HotBand],
        units: u64,
        region_bytes: u64,
    ) -> Result<Self, StreamError> {
        let area_of_all: f64 = bands.iter().map(|band| band.area).sum();
        let access_of_all: f64 = bands.iter().map(|band| band.access).sum();
        let (mut area, mut access, mut first) = (0.0, 0.0, 0);
        let mut laid_out = Vec::with_capacity(bands.len());
        for (index, band) in bands.iter().enumerate() {
            area += band.area;
            access += band.access;
            let end = match index + 1 == bands.len() {
                true => units,
                false => (area / area_of_all * units as f64).round() as u64,
            };
            if end <= first {
                return Err(StreamError::EmptyBand {
                    band: index + 1,
                    region_bytes,
                });
            }
            laid_out.push(Band {
                threshold: threshold(access / access_of_all),
                first,
                units: end - first,
            });
            first = end;
        }
        match laid_out.is_empty() {
            true => Err(StreamError::EmptyBand {
                band: 1,
                region_bytes,
            }),
            false => Ok(Self(laid_out.into_boxed_slice())),
        }
    }

    #[inline(always)]
    pub(super) fn next(&self, random: &mut Random) -> u64 {
        let draw = random.next();
        let below = self.0[..self.0.len() - 1]
            .iter()
            .map(|band| usize::from(draw >= band.threshold));
        let band = &self.0[below.sum::<usize>()];
        band.first + random.below(band.units)
    }
}
