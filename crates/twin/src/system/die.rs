//! A die of a drive in a system. It serves reads before programs. Programs run in slices, and a read gets in between two
//! of them.
//!
//! Slices without a read between them are one piece of work, which ends with the program. A read that comes cuts it
//! short, at the end of the slice under way. Whoever waits for the old end finds that the die does something else.

use std::collections::VecDeque;

/// How long a die takes.
#[derive(Clone, Copy)]
pub struct Times {
    pub read_ns: u64,
    pub slice_ns: u64,
    pub slices_per_program: u64,
}

/// What a die does.
#[derive(Clone, Copy, Default)]
enum Work {
    #[default]
    Nothing,
    Read {
        job: u32,
        end_ns: u64,
    },
    Slices {
        count: u64,
        begun_ns: u64,
        end_ns: u64,
    },
}

/// What has ended.
pub enum Ended {
    /// A read has its page.
    Read(u32),
    /// All of a program.
    Program,
    /// Slices in front of a read.
    Slices,
}

/// What began, and when it ends.
pub enum Begun {
    /// A read, which had waited until now.
    Read(u64),
    /// Slices of programs.
    Slices(u64),
}

/// One die.
#[derive(Clone, Default)]
pub struct Die {
    work: Work,
    reads: VecDeque<u32>,
    /// Slices of programs left, those under way included.
    slices: u64,
    /// Slices left of the program at hand.
    slices_of_program: u64,
    /// Time of what has ended, and of reads under way.
    busy_ns: u64,
}

impl Die {
    /// Puts a read behind the others. Returns the new end of slices that it cuts short.
    pub fn read(&mut self, job: u32, now_ns: u64, times: &Times) -> Option<u64> {
        self.reads.push_back(job);
        let Work::Slices {
            count,
            begun_ns,
            end_ns,
        } = &mut self.work
        else {
            return None;
        };
        // A read that comes just as a slice ends gets in.
        let through = (now_ns - *begun_ns).div_ceil(times.slice_ns.max(1)).max(1);
        if through >= *count {
            return None;
        }
        *count = through;
        *end_ns = *begun_ns + through * times.slice_ns;
        Some(*end_ns)
    }

    /// Puts a program behind the others.
    pub fn program(&mut self, times: &Times) {
        if self.slices == 0 {
            self.slices_of_program = times.slices_per_program;
        }
        self.slices += times.slices_per_program;
    }

    /// Ends what ends now; `None` where a read has cut it short.
    pub fn end(&mut self, now_ns: u64, times: &Times) -> Option<Ended> {
        let ended = match self.work {
            Work::Read { job, end_ns } if end_ns == now_ns => Ended::Read(job),
            Work::Slices { count, end_ns, .. } if end_ns == now_ns => {
                self.busy_ns += count * times.slice_ns;
                self.slices -= count;
                self.slices_of_program -= count;
                match self.slices_of_program {
                    0 => {
                        self.slices_of_program = times.slices_per_program;
                        Ended::Program
                    }
                    _ => Ended::Slices,
                }
            }
            _ => return None,
        };
        self.work = Work::Nothing;
        Some(ended)
    }

    /// Begins what waits, if the die does nothing: a read, else all that is left of a program.
    pub fn begin(&mut self, now_ns: u64, times: &Times) -> Option<Begun> {
        if !matches!(self.work, Work::Nothing) {
            return None;
        }
        if let Some(job) = self.reads.pop_front() {
            let end_ns = now_ns + times.read_ns;
            self.work = Work::Read { job, end_ns };
            self.busy_ns += times.read_ns;
            return Some(Begun::Read(end_ns));
        }
        if self.slices == 0 {
            return None;
        }
        let count = self.slices_of_program;
        let end_ns = now_ns + count * times.slice_ns;
        self.work = Work::Slices {
            count,
            begun_ns: now_ns,
            end_ns,
        };
        Some(Begun::Slices(end_ns))
    }

    /// Returns the busy time; what is under way counts by the read and by the slice that has begun.
    pub fn busy_ns(&self, now_ns: u64, times: &Times) -> u64 {
        let under_way = match self.work {
            Work::Slices {
                count, begun_ns, ..
            } => {
                let begun = (now_ns - begun_ns) / times.slice_ns.max(1) + 1;
                begun.min(count) * times.slice_ns
            }
            _ => 0,
        };
        self.busy_ns + under_way
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TIMES: Times = Times {
        read_ns: 40,
        slice_ns: 100,
        slices_per_program: 7,
    };

    /// Runs a die on programs at time 0 and reads at odd times, which no slice ends at. Returns when reads and programs
    /// end, and how long the die was busy by `until_ns`.
    fn run(programs: u64, reads_ns: &[u64], until_ns: u64) -> (Vec<u64>, Vec<u64>, u64) {
        let mut die = Die::default();
        let mut ends = Vec::new();
        let (mut read_ends, mut program_ends) = (Vec::new(), Vec::new());
        for _ in 0..programs {
            die.program(&TIMES);
        }
        let push = |ends: &mut Vec<u64>, begun| {
            if let Some(Begun::Read(end_ns) | Begun::Slices(end_ns)) = begun {
                ends.push(end_ns);
            }
        };
        push(&mut ends, die.begin(0, &TIMES));
        let mut arrivals = reads_ns.iter().copied().peekable();
        loop {
            let next_end = ends.iter().copied().min().unwrap_or(u64::MAX);
            let arrival = arrivals.peek().copied().unwrap_or(u64::MAX);
            let now_ns = next_end.min(arrival);
            if now_ns > until_ns {
                return (read_ends, program_ends, die.busy_ns(until_ns, &TIMES));
            }
            if arrival == now_ns {
                arrivals.next();
                match die.read(0, now_ns, &TIMES) {
                    Some(end_ns) => ends.push(end_ns),
                    None => push(&mut ends, die.begin(now_ns, &TIMES)),
                }
                continue;
            }
            let place = ends.iter().position(|&end_ns| end_ns == now_ns);
            ends.swap_remove(place.expect("it is among them"));
            match die.end(now_ns, &TIMES) {
                None => continue,
                Some(Ended::Read(_)) => read_ends.push(now_ns),
                Some(Ended::Program) => program_ends.push(now_ns),
                Some(Ended::Slices) => {}
            }
            push(&mut ends, die.begin(now_ns, &TIMES));
        }
    }

    /// The same, one slice after the other.
    fn by_slices(programs: u64, reads_ns: &[u64], until_ns: u64) -> (Vec<u64>, Vec<u64>, u64) {
        let (mut read_ends, mut program_ends) = (Vec::new(), Vec::new());
        let (mut now_ns, mut busy_ns, mut next) = (0, 0, 0);
        let mut left = programs * TIMES.slices_per_program;
        while now_ns <= until_ns {
            if next < reads_ns.len() && reads_ns[next] <= now_ns {
                next += 1;
                now_ns += TIMES.read_ns;
                busy_ns += TIMES.read_ns;
                if now_ns <= until_ns {
                    read_ends.push(now_ns);
                }
            } else if left > 0 {
                left -= 1;
                now_ns += TIMES.slice_ns;
                busy_ns += TIMES.slice_ns;
                if left.is_multiple_of(TIMES.slices_per_program) && now_ns <= until_ns {
                    program_ends.push(now_ns);
                }
            } else if next < reads_ns.len() {
                now_ns = reads_ns[next];
            } else {
                break;
            }
        }
        (read_ends, program_ends, busy_ns)
    }

    proptest! {
        #[test]
        fn slices_in_one_piece_end_as_one_after_the_other(
            programs in 0_u64..5,
            gaps in proptest::collection::vec(0_u64..400, 0..40),
            until_ns in 0_u64..4000,
        ) {
            let reads: Vec<u64> = gaps
                .iter()
                .scan(1, |at_ns, gap| {
                    *at_ns += 20 * gap;
                    Some(*at_ns)
                })
                .collect();
            let until_ns = until_ns * 10 + 5;
            prop_assert_eq!(run(programs, &reads, until_ns), by_slices(programs, &reads, until_ns));
        }
    }

    #[test]
    fn a_read_that_comes_as_a_slice_ends_goes_before_the_next() {
        assert_eq!(run(1, &[100], 1000).0, [140]);
        assert_eq!(run(1, &[101], 1000).0, [240]);
    }
}
