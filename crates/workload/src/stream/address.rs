//! Where requests go. Offsets are multiples of the alignment counted from the region's start; a
//! request never crosses the region's end. Skewed patterns (zipf, pareto, hot spots) give heat to *places*. The region
//! is cut into units as large as the job's largest block, and heat belongs to a unit. A smaller block lands uniformly
//! inside the unit that was drawn.

mod check;
mod follow;
mod units;

use self::check::check_blocks;
use self::follow::{Strides, Strips, Turns, follow_on, lead_up};
use self::units::{HotSpots, Listed};
use super::cursors::{Cursors, SharedCursors, cursor_of};
use super::error::StreamError;
use super::in_files::InFiles;
use super::one_pass::OnePass;
use super::pareto::Pareto;
use super::permutation::{Scatter, Walk};
use super::random::{Random, threshold};
use super::zipf::Zipf;
use crate::region::part_start;
use crate::{FileSet, Geometry, Job, Op, OperationPositions, Pattern, Span};

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
    Streams(Turns),
    Backwards {
        cursor_bytes: u64,
        /// Below which the passes after the first begin.
        end_bytes: u64,
    },
    Strided(Strides),
    Strips(Strips),
    Blocks(Listed),
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
    HotSpots(HotSpots),
    /// In a set of files.
    Files(Box<InFiles>),
}

/// The region of one thread's requests, and the units it is cut into.
#[derive(Clone, Copy, Debug)]
struct Ground {
    geometry: Geometry,
    region: Span,
    /// The job's largest block.
    largest_bytes: u32,
    unit_bytes: u64,
    units: u64,
}

impl Ground {
    fn new(job: &Job, geometry: Geometry, align_bytes: Option<u64>) -> Result<Self, StreamError> {
        let region = job.region.resolve(geometry)?;
        let largest_bytes = check_blocks(job, geometry)?;
        if region.size_bytes < u64::from(largest_bytes) {
            return Err(StreamError::RegionTooSmall {
                region_bytes: region.size_bytes,
                block_bytes: largest_bytes,
            });
        }
        let unit_bytes = u64::from(largest_bytes.max(1))
            .next_multiple_of(align_bytes.unwrap_or(1))
            .min(region.size_bytes.max(1));
        Ok(Self {
            geometry,
            region,
            largest_bytes,
            unit_bytes,
            units: region.size_bytes / unit_bytes,
        })
    }

    /// Returns where part `part` of `parts` equal ones begins.
    fn start_bytes(&self, (part, parts): (u32, u32)) -> u64 {
        self.unit_bytes * part_start(self.units, part, parts)
    }

    /// Returns the place `ahead_bytes` further on than `start_bytes`, in whole units round the region's end.
    fn ahead(&self, start_bytes: u64, ahead_bytes: u64) -> u64 {
        let unit = start_bytes / self.unit_bytes + ahead_bytes / self.unit_bytes;
        self.unit_bytes * (unit % self.units)
    }
}

impl State {
    fn new(
        job: &Job,
        ground: &Ground,
        seed: u64,
        thread: u32,
        shared: &SharedCursors,
    ) -> Result<Self, StreamError> {
        let Ground {
            geometry,
            region,
            units,
            ..
        } = *ground;
        let (part, parts) = job.position.part_of(thread, job.load.threads());
        let start_bytes = ground.start_bytes((part, parts));
        let scatter = || Scatter::new(units, seed);
        Ok(match &job.pattern {
            Pattern::Sequential | Pattern::Mixed { .. } => {
                let ahead_bytes = job.position.ahead_bytes;
                Self::following(job, ground.ahead(start_bytes, ahead_bytes), shared)
            }
            Pattern::SequentialStreams { streams } => {
                let each = (0..*streams).map(|stream| (part * streams + stream, parts * streams));
                Self::Streams(Turns::new(each.map(|part| ground.start_bytes(part))))
            }
            Pattern::Backwards => Self::Backwards {
                cursor_bytes: ground.start_bytes((part + 1, parts)),
                end_bytes: match job.align_bytes {
                    // A remainder smaller than a block is not used, or places of a pass would not be those of another.
                    None | Some(0) => ground.start_bytes((1, 1)),
                    Some(_) => region.size_bytes,
                },
            },
            Pattern::Strided { stride_bytes } => Self::Strided(Strides::new(
                *stride_bytes,
                region,
                geometry,
                (part, parts),
            )?),
            Pattern::Strips {
                strip_bytes,
                gap_bytes,
            } => Self::Strips(Strips::new(
                (*strip_bytes, *gap_bytes),
                ground.largest_bytes,
                region,
                geometry,
                (part, parts),
            )?),
            Pattern::Blocks { order, moves } => Self::Blocks(Listed::new(order, *moves, units)?),
            Pattern::Uniform | Pattern::Zones { once: false, .. } | Pattern::Replay { .. } => {
                Self::Uniform
            }
            Pattern::RandomOnce | Pattern::Zones { once: true, .. } => {
                Self::RandomOnce(walk(job, ground, seed, thread)?)
            }
            Pattern::OnePass { spare, stretches } => Self::OnePass(Box::new(OnePass::new(
                units, *spare, *stretches, seed, thread,
            ))),
            Pattern::Zipf { theta } => Self::Zipf {
                zipf: Zipf::new(units, *theta),
                scatter: scatter(),
            },
            Pattern::Pareto { share } => Self::Pareto {
                pareto: Pareto::new(units, *share),
                scatter: scatter(),
            },
            Pattern::HotSpots { bands } => {
                Self::HotSpots(HotSpots::new(bands, units, region.size_bytes)?)
            }
        })
    }

    /// Returns the state of a sequential job, with jumps or without.
    fn following(job: &Job, start_bytes: u64, shared: &SharedCursors) -> Self {
        let apart = job.position.operations == Some(OperationPositions::Apart);
        if job.position.is_shared() {
            return Self::Mixed(Cursors::Shared(shared.clone()));
        }
        match job.pattern {
            Pattern::Sequential if !apart => Self::Sequential {
                cursor_bytes: start_bytes,
            },
            _ => Self::Mixed(Cursors::Own([start_bytes; Op::COUNT])),
        }
    }
}

/// Returns the thread's part of a walk that comes to each place once.
fn walk(job: &Job, ground: &Ground, seed: u64, thread: u32) -> Result<Walk, StreamError> {
    let threads = job.load.threads();
    let spare_bytes = ground.region.size_bytes - u64::from(ground.largest_bytes);
    let blocks = spare_bytes / ground.unit_bytes + 1;
    Walk::new(blocks, seed, thread, threads).ok_or(StreamError::TooFewBlocks { blocks, threads })
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
        let align_bytes = job.align_bytes.filter(|&align| align > 0);
        let ground = Ground::new(job, geometry, align_bytes)?;
        Ok(Self {
            region: ground.region,
            unit_bytes: ground.unit_bytes,
            align_bytes,
            pattern: State::new(job, &ground, seed, thread, shared)?,
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

    /// Returns where the next request goes, a block of `size_bytes` in one of its `slots`.
    #[inline(always)]
    pub(super) fn next(&mut self, slots: &Slots, size_bytes: u32, random: &mut Random) -> u64 {
        let (region, align_bytes) = (self.region, self.align_bytes);
        let unit = match &mut self.pattern {
            State::Uniform => {
                return region.start_bytes + random.below(slots.in_region) * slots.align_bytes;
            }
            State::Sequential { cursor_bytes } => {
                return follow_on(region, align_bytes, cursor_bytes, size_bytes);
            }
            State::Streams(turns) => {
                return follow_on(region, align_bytes, turns.next(), size_bytes);
            }
            State::Backwards {
                cursor_bytes,
                end_bytes,
            } => {
                let place = (cursor_bytes, *end_bytes);
                return lead_up(region, align_bytes, place, size_bytes);
            }
            State::Strided(strides) => return strides.next(region, size_bytes),
            State::Strips(strips) => return strips.next(region, size_bytes),
            State::RandomOnce(walk) => return region.start_bytes + walk.next() * self.unit_bytes,
            State::Mixed(cursors) => {
                let jump_bytes = match random.next() < slots.jump_below {
                    true => Some(random.below(slots.in_region) * slots.align_bytes),
                    false => None,
                };
                return cursors.advance(slots.cursor, |cursor_bytes| {
                    *cursor_bytes = jump_bytes.unwrap_or(*cursor_bytes);
                    follow_on(region, align_bytes, cursor_bytes, size_bytes)
                });
            }
            State::Files(files) => return files.next(size_bytes, random),
            State::Blocks(listed) => listed.next(region.size_bytes / self.unit_bytes),
            State::OnePass(pass) => pass.next(),
            State::Zipf { zipf, scatter } => scatter.apply(zipf.next(random)),
            State::Pareto { pareto, scatter } => scatter.apply(pareto.next(random)),
            State::HotSpots(spots) => spots.next(random),
        };
        let slot = match slots.in_unit {
            1 => 0,
            several => random.below(several),
        };
        region.start_bytes + unit * self.unit_bytes + slot * slots.align_bytes
    }
}
