//! Where requests go. Offsets are multiples of the alignment counted from the region's start; a
//! request never crosses the region's end. Skewed patterns (zipf, pareto, hot spots) give heat to *places*. The region
//! is cut into units as large as the job's largest block, and heat belongs to a unit. A smaller block lands uniformly
//! inside the unit that was drawn.

use super::cursors::{Cursors, SharedCursors, cursor_of};
use super::error::StreamError;
use super::in_files::InFiles;
use super::one_pass::OnePass;
use super::pareto::Pareto;
use super::permutation::{Scatter, Walk};
use super::random::{Random, threshold};
use super::zipf::Zipf;
use crate::region::part_start;
use crate::{FileSet, Geometry, HotBand, Job, Op, OperationPositions, Pattern, Span};

/// Addresses of one thread.
#[derive(Clone, Debug)]
pub(super) struct Addresses {
    region: Span,
    unit_bytes: u64,
    align_bytes: Option<u64>,
    pattern: State,
}

#[derive(Clone, Debug)]
enum State {
    Sequential {
        cursor_bytes: u64,
    },
    Streams {
        cursors_bytes: Box<[u64]>,
        turn: usize,
    },
    Backwards {
        cursor_bytes: u64,
    },
    /// `lap_bytes`: where this lap began.
    Strided {
        cursor_bytes: u64,
        lap_bytes: u64,
        stride_bytes: u64,
    },
    /// `first_bytes`: where the thread's first strip begins; `strip`: of its size and gap.
    Strips {
        cursor_bytes: u64,
        begin_bytes: u64,
        first_bytes: u64,
        strip: (u64, u64),
    },
    /// `base`: the block that the list counts from in this round.
    Blocks {
        order: Box<[u32]>,
        at: usize,
        base: u64,
        moves: bool,
    },
    Uniform,
    RandomOnce(Walk),
    OnePass(Box<OnePass>),
    /// Sequential from several positions, or from those of all threads, with or without jumps.
    Mixed(Cursors),
    Zipf {
        zipf: Zipf,
        scatter: Scatter,
    },
    Pareto {
        pareto: Pareto,
        scatter: Scatter,
    },
    HotSpots(Box<[Band]>),
    /// In a set of files.
    Files(Box<InFiles>),
}

/// Units `first..first + units`, drawn when a uniform `u64` is below `threshold`.
#[derive(Clone, Copy, Debug)]
struct Band {
    threshold: u64,
    first: u64,
    units: u64,
}

/// Places where a block of one size may lie.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slots {
    align_bytes: u64,
    in_region: u64,
    in_unit: u64,
    /// Mixed: which cursor, and below which draw the request jumps.
    cursor: usize,
    jump_below: u64,
}

impl Addresses {
    pub(super) fn new(
        job: &Job,
        geometry: Geometry,
        seed: u64,
        thread: u32,
        shared: &SharedCursors,
    ) -> Result<Self, StreamError> {
        if let Some(set) = &job.files {
            return Self::in_files(job, set, geometry, seed, thread);
        }
        let region = job.region.resolve(geometry)?;
        let largest_bytes = check_blocks(job, geometry)?;
        if region.size_bytes < u64::from(largest_bytes) {
            return Err(StreamError::RegionTooSmall {
                region_bytes: region.size_bytes,
                block_bytes: largest_bytes,
            });
        }
        let align_bytes = job.align_bytes.filter(|&align| align > 0);
        let unit_bytes = u64::from(largest_bytes.max(1))
            .next_multiple_of(align_bytes.unwrap_or(1))
            .min(region.size_bytes.max(1));
        let units = region.size_bytes / unit_bytes;
        let threads = job.load.threads();
        let start_bytes = |part: u32, parts: u32| unit_bytes * part_start(units, part, parts);
        let (part, parts) = job.position.part_of(thread, threads);
        let cursors = || match job.position.is_shared() {
            true => Cursors::Shared(shared.clone()),
            false => Cursors::Own([start_bytes(part, parts); Op::COUNT]),
        };
        let apart = job.position.operations == Some(OperationPositions::Apart);
        let one = !apart && !job.position.is_shared();
        let pattern = match &job.pattern {
            Pattern::Sequential if one => State::Sequential {
                cursor_bytes: start_bytes(part, parts),
            },
            Pattern::Sequential | Pattern::Mixed { .. } => State::Mixed(cursors()),
            Pattern::SequentialStreams { streams } => State::Streams {
                cursors_bytes: (0..*streams)
                    .map(|stream| start_bytes(part * streams + stream, parts * streams))
                    .collect(),
                turn: 0,
            },
            Pattern::Backwards => State::Backwards {
                cursor_bytes: start_bytes(part + 1, parts),
            },
            Pattern::Strided { stride_bytes } => {
                check_alignment(*stride_bytes, geometry)?;
                let strides = region.size_bytes / stride_bytes;
                State::Strided {
                    cursor_bytes: stride_bytes * part_start(strides, part, parts),
                    lap_bytes: 0,
                    stride_bytes: *stride_bytes,
                }
            }
            Pattern::Strips {
                strip_bytes,
                gap_bytes,
            } => {
                check_alignment(*strip_bytes, geometry)?;
                check_alignment(*gap_bytes, geometry)?;
                let apart = strip_bytes + gap_bytes;
                // Those that hold a block.
                let strips = (region.size_bytes - u64::from(largest_bytes)) / apart + 1;
                let first_bytes = apart * part_start(strips, part, parts);
                State::Strips {
                    cursor_bytes: first_bytes,
                    begin_bytes: first_bytes,
                    first_bytes,
                    strip: (*strip_bytes, *gap_bytes),
                }
            }
            Pattern::Blocks { order, moves } => {
                if let Some(&block) = order.iter().find(|&&block| u64::from(block) >= units) {
                    return Err(StreamError::NoBlock { block, units });
                }
                State::Blocks {
                    order: order.clone().into(),
                    at: 0,
                    base: 0,
                    moves: *moves,
                }
            }
            Pattern::Uniform | Pattern::Zones { once: false, .. } | Pattern::Replay { .. } => {
                State::Uniform
            }
            Pattern::RandomOnce | Pattern::Zones { once: true, .. } => {
                let places = (region.size_bytes - u64::from(largest_bytes)) / unit_bytes + 1;
                let walk = Walk::new(places, seed, thread, threads);
                State::RandomOnce(walk.ok_or(StreamError::TooFewBlocks {
                    blocks: places,
                    threads,
                })?)
            }
            Pattern::OnePass { spare, stretches } => State::OnePass(Box::new(OnePass::new(
                units, *spare, *stretches, seed, thread,
            ))),
            Pattern::Zipf { theta } => State::Zipf {
                zipf: Zipf::new(units, *theta),
                scatter: Scatter::new(units, seed),
            },
            Pattern::Pareto { share } => State::Pareto {
                pareto: Pareto::new(units, *share),
                scatter: Scatter::new(units, seed),
            },
            Pattern::HotSpots { bands } => {
                State::HotSpots(lay_out(bands, units, region.size_bytes)?)
            }
        };
        Ok(Self {
            region,
            unit_bytes,
            align_bytes,
            pattern,
        })
    }

    /// Addresses in a set of files, which must be what the target holds.
    fn in_files(
        job: &Job,
        set: &FileSet,
        geometry: Geometry,
        seed: u64,
        thread: u32,
    ) -> Result<Self, StreamError> {
        check_blocks(job, geometry)?;
        let region = Span {
            start_bytes: 0,
            size_bytes: set.total_bytes(),
        };
        if region.size_bytes > geometry.capacity_bytes {
            return Err(StreamError::RegionBeyondTarget {
                start_bytes: 0,
                size_bytes: region.size_bytes,
                capacity_bytes: geometry.capacity_bytes,
            });
        }
        Ok(Self {
            region,
            unit_bytes: region.size_bytes,
            align_bytes: None,
            pattern: State::Files(Box::new(InFiles::new(job, set, seed, thread))),
        })
    }

    /// Returns where a flush goes: in a set of files, to the one that the last request went to.
    #[inline(always)]
    pub(super) fn flushed_bytes(&self) -> u64 {
        match &self.pattern {
            State::Files(files) => files.current_bytes(),
            _ => 0,
        }
    }

    /// Returns the places for `op` with blocks of `size_bytes`, precomputed so that a draw needs no division.
    pub(super) fn slots(&self, job: &Job, op: Op, size_bytes: u32) -> Slots {
        let size_bytes = u64::from(size_bytes.max(1));
        let own = job.mix.ops.iter().find(|block| block.op == op);
        let own_bytes = own.and_then(|block| block.align_bytes);
        let align_bytes = own_bytes.or(self.align_bytes).unwrap_or(size_bytes);
        let places = |space_bytes: u64| space_bytes.saturating_sub(size_bytes) / align_bytes + 1;
        Slots {
            align_bytes,
            in_region: places(self.region.size_bytes),
            in_unit: places(self.unit_bytes),
            cursor: cursor_of(&job.position, &job.pattern, op),
            jump_below: match (&job.pattern, op) {
                (Pattern::Mixed { read, .. }, Op::Read) => threshold(*read),
                (Pattern::Mixed { write, .. }, _) => threshold(*write),
                _ => 0,
            },
        }
    }

    #[inline(always)]
    pub(super) fn next(&mut self, slots: &Slots, size_bytes: u32, random: &mut Random) -> u64 {
        let unit = match &mut self.pattern {
            State::Uniform => {
                return self.region.start_bytes + random.below(slots.in_region) * slots.align_bytes;
            }
            State::Sequential { cursor_bytes } => {
                return follow_on(self.region, self.align_bytes, cursor_bytes, size_bytes);
            }
            State::Streams {
                cursors_bytes,
                turn,
            } => {
                *turn = if *turn + 1 < cursors_bytes.len() {
                    *turn + 1
                } else {
                    0
                };
                let cursor_bytes = &mut cursors_bytes[*turn];
                return follow_on(self.region, self.align_bytes, cursor_bytes, size_bytes);
            }
            State::Backwards { cursor_bytes } => {
                return lead_up(self.region, self.align_bytes, cursor_bytes, size_bytes);
            }
            State::Strided {
                cursor_bytes,
                lap_bytes,
                stride_bytes,
            } => {
                let size_bytes = u64::from(size_bytes);
                if *cursor_bytes + size_bytes > self.region.size_bytes {
                    *lap_bytes += size_bytes;
                    let covered =
                        *lap_bytes + size_bytes > (*stride_bytes).min(self.region.size_bytes);
                    *lap_bytes = if covered { 0 } else { *lap_bytes };
                    *cursor_bytes = *lap_bytes;
                }
                let at_bytes = *cursor_bytes;
                *cursor_bytes += *stride_bytes;
                return self.region.start_bytes + at_bytes;
            }
            State::Strips {
                cursor_bytes,
                begin_bytes,
                first_bytes,
                strip: (strip_bytes, gap_bytes),
            } => {
                let size_bytes = u64::from(size_bytes);
                if *cursor_bytes + size_bytes > *begin_bytes + *strip_bytes {
                    *begin_bytes += *strip_bytes + *gap_bytes;
                    *cursor_bytes = *begin_bytes;
                }
                if *cursor_bytes + size_bytes > self.region.size_bytes {
                    (*begin_bytes, *cursor_bytes) = (*first_bytes, *first_bytes);
                }
                let at_bytes = *cursor_bytes;
                *cursor_bytes += size_bytes;
                return self.region.start_bytes + at_bytes;
            }
            State::Blocks {
                order,
                at,
                base,
                moves,
            } => {
                let units = self.region.size_bytes / self.unit_bytes;
                let unit = (*base + u64::from(order[*at])) % units;
                *at += 1;
                if *at == order.len() {
                    *at = 0;
                    let moved = if *moves { order.len() as u64 } else { 0 };
                    *base = (*base + moved) % units;
                }
                unit
            }
            State::RandomOnce(walk) => {
                return self.region.start_bytes + walk.next() * self.unit_bytes;
            }
            State::OnePass(pass) => pass.next(),
            State::Mixed(cursors) => {
                let jump_bytes = match random.next() < slots.jump_below {
                    true => Some(random.below(slots.in_region) * slots.align_bytes),
                    false => None,
                };
                return cursors.advance(slots.cursor, |cursor_bytes| {
                    *cursor_bytes = jump_bytes.unwrap_or(*cursor_bytes);
                    follow_on(self.region, self.align_bytes, cursor_bytes, size_bytes)
                });
            }
            State::Files(files) => return files.next(size_bytes, random),
            State::Zipf { zipf, scatter } => scatter.apply(zipf.next(random)),
            State::Pareto { pareto, scatter } => scatter.apply(pareto.next(random)),
            State::HotSpots(bands) => {
                let draw = random.next();
                let below = bands[..bands.len() - 1]
                    .iter()
                    .map(|band| usize::from(draw >= band.threshold));
                let band = &bands[below.sum::<usize>()];
                band.first + random.below(band.units)
            }
        };
        let slot = match slots.in_unit {
            1 => 0,
            several => random.below(several),
        };
        self.region.start_bytes + unit * self.unit_bytes + slot * slots.align_bytes
    }
}

/// Moves the cursor over the next block, from the region's start again where it does not fit.
#[inline(always)]
fn follow_on(
    region: Span,
    align_bytes: Option<u64>,
    cursor_bytes: &mut u64,
    size_bytes: u32,
) -> u64 {
    let mut at_bytes = match align_bytes {
        None => *cursor_bytes,
        Some(align) => cursor_bytes.next_multiple_of(align),
    };
    if at_bytes + u64::from(size_bytes) > region.size_bytes {
        at_bytes = 0;
    }
    *cursor_bytes = at_bytes + u64::from(size_bytes);
    region.start_bytes + at_bytes
}

/// Moves the cursor under the next block below, from the region's end again where it does not fit.
#[inline(always)]
fn lead_up(region: Span, align_bytes: Option<u64>, cursor_bytes: &mut u64, size_bytes: u32) -> u64 {
    let size_bytes = u64::from(size_bytes);
    if *cursor_bytes < size_bytes {
        *cursor_bytes = region.size_bytes;
    }
    *cursor_bytes -= size_bytes;
    if let Some(align) = align_bytes {
        *cursor_bytes -= *cursor_bytes % align;
    }
    region.start_bytes + *cursor_bytes
}

/// Whether a distance of offsets fits the target's block.
fn check_alignment(align_bytes: u64, geometry: Geometry) -> Result<(), StreamError> {
    let block_bytes = geometry.block_bytes.max(1);
    match align_bytes % u64::from(block_bytes) {
        0 => Ok(()),
        _ => Err(StreamError::MisalignedOffsets {
            align_bytes,
            block_bytes,
        }),
    }
}

/// Largest block of the job, once every size and the alignment fit the target's block.
fn check_blocks(job: &Job, geometry: Geometry) -> Result<u32, StreamError> {
    let block_bytes = geometry.block_bytes.max(1);
    let aligns = job.mix.ops.iter().map(|block| block.align_bytes);
    for align_bytes in aligns.chain([job.align_bytes]) {
        check_alignment(align_bytes.unwrap_or(0), geometry)?;
    }
    let mut largest_bytes = 0;
    for size in job.mix.ops.iter().flat_map(|block| &block.sizes) {
        if size.size_bytes == 0 || size.size_bytes % block_bytes != 0 {
            return Err(StreamError::Misaligned {
                size_bytes: size.size_bytes,
                block_bytes,
            });
        }
        largest_bytes = largest_bytes.max(size.size_bytes);
    }
    Ok(largest_bytes)
}

fn lay_out(bands: &[HotBand], units: u64, region_bytes: u64) -> Result<Box<[Band]>, StreamError> {
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
        false => Ok(laid_out.into_boxed_slice()),
    }
}
