//! Operations on the names and attributes of files: which one comes next, and on which file. A thread knows what there
//! is, for nobody else makes or removes anything of its own. An operation that finds no file is not drawn.

use super::in_files::{Order, Places};
use super::random::{Random, threshold};
use crate::{FileSet, Job, Op, Request};

/// Draws for an operation that can be done before the first such one is taken.
const DRAWS: u32 = 64;

/// The names of one thread, and what is done with them.
#[derive(Clone, Debug)]
pub(super) struct Names {
    places: Places,
    order: Order,
    files: There,
    directories: There,
    /// Operations, each drawn when a uniform `u64` is below its threshold and not below the one before.
    choices: Box<[(u64, Op)]>,
    /// The file that was opened last, until it is closed.
    open: Option<u32>,
}

/// What there is of one kind.
#[derive(Clone, Debug)]
struct There {
    is: Box<[bool]>,
    count: u32,
}

impl There {
    fn first(count: u32, all: usize) -> Self {
        Self {
            is: (0..all).map(|file| file < count as usize).collect(),
            count,
        }
    }

    /// Returns whether one is there, or is not.
    fn any(&self, wanted: bool) -> bool {
        match wanted {
            true => self.count > 0,
            false => (self.count as usize) < self.is.len(),
        }
    }

    fn set(&mut self, file: u32, is: bool) {
        self.is[file as usize] = is;
        self.count = if is { self.count + 1 } else { self.count - 1 };
    }
}

impl Names {
    /// The files of thread `thread` of a job, which has a set of them.
    pub(super) fn new(job: &Job, set: &FileSet, seed: u64, thread: u32) -> Self {
        let threads = job.load.threads();
        let own = set.files_of(thread, threads);
        let count = own.len() as u32;
        let all: f64 = job.mix.ops.iter().map(|block| block.weight).sum();
        let mut below = 0.0;
        let choices = job.mix.ops.iter().map(|block| {
            below += block.weight / all;
            (threshold(below), block.op)
        });
        Self {
            choices: choices.collect(),
            places: Places::new(set, own),
            order: Order::new(set, seed, count, (thread, threads)),
            files: There::first(set.files_present(job, count), count as usize),
            directories: There::first(set.directories_present(job, count), count as usize),
            open: None,
        }
    }

    /// Returns whether no operation of the mix finds a file.
    pub(super) fn is_over(&self) -> bool {
        self.open.is_none() && !self.choices.iter().any(|&(_, op)| self.is_possible(op))
    }

    /// Returns the next operation, on the file that begins at the request's place in the space of all.
    pub(super) fn next_request(&mut self, random: &mut Random) -> Request {
        let (op, file) = match self.open.take() {
            Some(file) => (Op::Close, file),
            None => self.draw(random),
        };
        Request {
            offset_bytes: self.places.span(file).start_bytes,
            size_bytes: 0,
            placement: Request::NO_PLACEMENT,
            op,
        }
    }

    fn draw(&mut self, random: &mut Random) -> (Op, u32) {
        let mut op = self.draw_op(random);
        for _ in 1..DRAWS {
            if self.is_possible(op) {
                break;
            }
            op = self.draw_op(random);
        }
        if !self.is_possible(op) {
            let mut choices = self.choices.iter();
            let possible = choices.find(|&&(_, op)| self.is_possible(op));
            op = possible.map_or(op, |&(_, op)| op);
        }
        let wanted = wants(op);
        let there = match op {
            Op::Mkdir | Op::Rmdir | Op::StatDirectory => &mut self.directories,
            _ => &mut self.files,
        };
        let file = self.order.next(&there.is, wanted, random);
        if matches!(op, Op::Create | Op::Mkdir | Op::Delete | Op::Rmdir) {
            there.set(file, !wanted);
        }
        if matches!(op, Op::Create | Op::Open) {
            self.open = Some(file);
        }
        (op, file)
    }

    fn draw_op(&self, random: &mut Random) -> Op {
        match &*self.choices {
            [(_, only)] => *only,
            several => {
                let draw = random.next();
                let found = several.iter().find(|(threshold, _)| draw < *threshold);
                found.or(several.last()).map_or(Op::Stat, |&(_, op)| op)
            }
        }
    }

    fn is_possible(&self, op: Op) -> bool {
        match op {
            Op::Mkdir | Op::Rmdir | Op::StatDirectory => self.directories.any(wants(op)),
            _ => self.files.any(wants(op)),
        }
    }
}

/// Returns whether an operation is of what is there, or of what is not.
fn wants(op: Op) -> bool {
    !matches!(op, Op::Create | Op::Mkdir)
}

#[cfg(test)]
mod tests;
