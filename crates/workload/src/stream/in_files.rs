//! Where requests to a set of files go: a file is chosen, stayed with for a visit, and gone through by the job's
//! pattern. A pattern with an end (sequential, random-once) passes a file once. A file that is through waits until the
//! thread's others are, as in fio, unless some are hotter than others. Places are offsets in the space of all files.

use super::pareto::Pareto;
use super::permutation::Scatter;
use super::random::{Purpose, Random, mix};
use super::zipf::Zipf;
use crate::region::part_start;
use crate::{FileSet, FileThreads, Job, Pattern, Select, Span, Visit};

/// Draws for a file that is not through before the next one of those is taken.
const DRAWS: u32 = 64;

/// The files of one thread and where it is in them.
#[derive(Clone, Debug)]
pub(super) struct InFiles {
    places: Places,
    chooser: Chooser,
    visit: Visit,
    /// What is left of the visit: requests, or bytes.
    left: u64,
    /// Among the thread's files.
    current: u32,
    inside: Inside,
    seed: u64,
}

/// Where the thread's files lie in the space of all.
#[derive(Clone, Debug)]
pub(super) enum Places {
    Even { start_bytes: u64, size_bytes: u64 },
    Uneven(Box<[u64]>),
}

impl Places {
    pub(super) fn new(set: &FileSet, own: std::ops::Range<u32>) -> Self {
        match set.only_size() {
            Some(size_bytes) => Self::Even {
                start_bytes: u64::from(own.start) * size_bytes,
                size_bytes,
            },
            None => Self::Uneven(set.starts(own).into()),
        }
    }

    #[inline(always)]
    pub(super) fn span(&self, file: u32) -> Span {
        match self {
            Self::Even {
                start_bytes,
                size_bytes,
            } => Span {
                start_bytes: start_bytes + u64::from(file) * size_bytes,
                size_bytes: *size_bytes,
            },
            Self::Uneven(starts) => {
                let file = file as usize;
                Span {
                    start_bytes: starts[file],
                    size_bytes: starts[file + 1] - starts[file],
                }
            }
        }
    }
}

/// Places inside a file.
#[derive(Clone, Debug)]
enum Inside {
    Uniform,
    /// Where each file is gone on with.
    Sequential(Box<[u64]>),
    /// Blocks of each file that were visited, over all passes.
    Once(Box<[u64]>),
}

/// Chooses the next file among those that are not through.
#[derive(Clone, Debug)]
struct Chooser {
    order: Order,
    through: Box<[bool]>,
    /// How many are not.
    ahead: u32,
}

/// Which file comes next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    Next(u32),
    Random,
    Zipf { zipf: Zipf, scatter: Scatter },
    Pareto { pareto: Pareto, scatter: Scatter },
}

impl Order {
    /// The order of `count` files for one of some threads.
    pub(super) fn new(set: &FileSet, seed: u64, count: u32, (thread, threads): (u32, u32)) -> Self {
        let of = u64::from(count);
        match set.select {
            Select::Roundrobin => Self::Next(match set.threads {
                FileThreads::Apart => 0,
                FileThreads::Together => part_start(of, thread, threads) as u32,
            }),
            Select::Random => Self::Random,
            Select::Zipf { theta } => Self::Zipf {
                zipf: Zipf::new(of, theta),
                scatter: Scatter::new(of, seed),
            },
            Select::Pareto { share } => Self::Pareto {
                pareto: Pareto::new(of, share),
                scatter: Scatter::new(of, seed),
            },
        }
    }

    fn draw(&mut self, count: u32, random: &mut Random) -> u32 {
        match self {
            Self::Next(next) => {
                let file = *next;
                *next = if file + 1 < count { file + 1 } else { 0 };
                file
            }
            Self::Random => random.below(count.into()) as u32,
            Self::Zipf { zipf, scatter } => scatter.apply(zipf.next(random)) as u32,
            Self::Pareto { pareto, scatter } => scatter.apply(pareto.next(random)) as u32,
        }
    }

    /// Returns the next file whose state is `wanted`; there is one.
    pub(super) fn next(&mut self, states: &[bool], wanted: bool, random: &mut Random) -> u32 {
        let count = states.len() as u32;
        let mut file = self.draw(count, random);
        for _ in 1..DRAWS {
            if states[file as usize] == wanted {
                return file;
            }
            file = self.draw(count, random);
        }
        let (behind, from) = states.split_at(file as usize);
        let mut onward = from.iter().chain(behind);
        let steps = onward.position(|&state| state == wanted).unwrap_or(0) as u32;
        let file = (file + steps) % count;
        if let Self::Next(next) = self {
            *next = (file + 1) % count;
        }
        file
    }
}

impl Chooser {
    fn next(&mut self, random: &mut Random) -> u32 {
        self.order.next(&self.through, false, random)
    }

    /// Takes a file for passed; after the last all begin anew. A file that is hotter than others does not wait for them.
    fn pass(&mut self, file: u32) {
        if matches!(self.order, Order::Zipf { .. } | Order::Pareto { .. }) {
            return;
        }
        self.through[file as usize] = true;
        self.ahead -= 1;
        if self.ahead == 0 {
            self.through.fill(false);
            self.ahead = self.through.len() as u32;
        }
    }
}

impl InFiles {
    /// The files of thread `thread` of the job, which has a set of them.
    pub(super) fn new(job: &Job, set: &FileSet, seed: u64, thread: u32) -> Self {
        let threads = job.load.threads();
        let own = set.files_of(thread, threads);
        let count = own.len();
        let places = Places::new(set, own);
        let zeroes = || vec![0; count].into_boxed_slice();
        Self {
            places,
            chooser: Chooser {
                order: Order::new(set, seed, count as u32, (thread, threads)),
                through: vec![false; count].into(),
                ahead: count as u32,
            },
            visit: set.visit,
            left: 0,
            current: 0,
            inside: match job.pattern {
                Pattern::Sequential => Inside::Sequential(zeroes()),
                Pattern::RandomOnce => Inside::Once(zeroes()),
                _ => Inside::Uniform,
            },
            seed: mix(seed ^ u64::from(thread)),
        }
    }

    /// Returns the place of the file that the last request went to.
    pub(super) fn current_bytes(&self) -> u64 {
        self.places.span(self.current).start_bytes
    }

    #[inline(always)]
    pub(super) fn next(&mut self, size_bytes: u32, random: &mut Random) -> u64 {
        if self.left == 0 {
            self.current = self.chooser.next(random);
            self.left = match self.visit {
                Visit::Requests(most) => most.into(),
                Visit::Whole => self.places.span(self.current).size_bytes,
            };
        }
        let size_bytes = u64::from(size_bytes.max(1));
        let (file, span) = (self.current, self.places.span(self.current));
        let (at_bytes, passed) = self.inside(span, size_bytes, random);
        self.left = match self.visit {
            Visit::Requests(_) => self.left - 1,
            Visit::Whole if self.left < 2 * size_bytes => 0,
            Visit::Whole => self.left - size_bytes,
        };
        if passed {
            self.chooser.pass(file);
            self.left = 0;
        }
        span.start_bytes + at_bytes
    }

    /// Returns the next place in the current file, which lies at `span`, and whether that ends the pass of it.
    #[inline(always)]
    fn inside(&mut self, span: Span, size_bytes: u64, random: &mut Random) -> (u64, bool) {
        let file = self.current;
        match &mut self.inside {
            Inside::Uniform => {
                let places = span.size_bytes / size_bytes;
                (random.below(places) * size_bytes, false)
            }
            Inside::Sequential(cursors) => {
                let cursor_bytes = &mut cursors[file as usize];
                let at_bytes = match *cursor_bytes + size_bytes <= span.size_bytes {
                    true => *cursor_bytes,
                    false => 0,
                };
                *cursor_bytes = at_bytes + size_bytes;
                let passed = *cursor_bytes + size_bytes > span.size_bytes;
                if passed {
                    *cursor_bytes = 0;
                }
                (at_bytes, passed)
            }
            Inside::Once(visits) => {
                let places = span.size_bytes / size_bytes;
                let visit = &mut visits[file as usize];
                let (pass, number) = (*visit / places, *visit % places);
                *visit += 1;
                let key = self.seed ^ mix(u64::from(file));
                let order = Scatter::keyed(places, Random::new(key, pass as u32, Purpose::Order));
                (order.apply(number) * size_bytes, number + 1 == places)
            }
        }
    }
}

#[cfg(test)]
mod tests;
