//! What a load generator has to say of a step beside its figures: a code and values. Whoever shows it finds the words.

use serde::{Deserialize, Serialize};
use workload::Op;

use crate::{Fault, merge_faults};

/// Ranges of failed I/O that a remark names.
const RANGES: usize = 3;

/// One thing to say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Remark {
    /// I/O failed in one way.
    FailedIo {
        /// As in [`crate::Recording::errno`].
        errno: i32,
        /// How many.
        n: u64,
        /// The ranges in which most of it failed.
        ranges: Vec<Fault>,
        /// Ranges that are not named.
        more_ranges: u64,
    },
    /// I/O had not returned when the load generator gave it up.
    LostIo {
        /// How many; of a thread that the kernel does not let go, one.
        n: u64,
        /// How long the end of the step waited for it.
        waited_ns: u64,
        /// Age of the oldest when it was given up.
        age_ns: u64,
    },
    /// The target refused a write because of where it goes.
    Refused {
        /// The operation.
        op: Op,
        /// Its first byte.
        offset_bytes: u64,
        /// Its length.
        size_bytes: u32,
        /// The state of the place, in words.
        about: String,
    },
    /// The load generator issued arrivals late.
    LateArrivals {
        /// Mean delay.
        mean_ns: f64,
    },
    /// Arrivals came faster than they were counted.
    UncountedArrivals {
        /// Time whose arrivals were not counted, summed over threads.
        thread_ns: u64,
    },
    /// Load threads waited for a core that something else had.
    CpuWait {
        /// Part of the threads' time.
        share: f64,
    },
    /// The load generator as a whole did nothing for a while.
    StoodStill {
        /// How long.
        still_ns: u64,
    },
    /// A thread per outstanding I/O did what io_uring was to do.
    Fallback {
        /// Why io_uring was not used, in words.
        reason: String,
    },
}

impl Remark {
    /// Reports I/O that failed with `errno` in these places, among others.
    pub fn failed_io(errno: i32, n: u64, faults: &[Fault]) -> Self {
        let of_errno = faults.iter().filter(|fault| fault.errno == errno);
        let mut ranges: Vec<Fault> = of_errno.cloned().collect();
        ranges.sort_by_key(|fault| std::cmp::Reverse(fault.n));
        let more_ranges = ranges.len().saturating_sub(RANGES) as u64;
        ranges.truncate(RANGES);
        Self::FailedIo {
            errno,
            n,
            ranges,
            more_ranges,
        }
    }

    /// Takes over what another load generator says of the same; whether it is the same.
    fn absorb(&mut self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::FailedIo {
                    errno,
                    n,
                    ranges,
                    more_ranges,
                },
                Self::FailedIo {
                    errno: theirs,
                    n: more,
                    ranges: places,
                    more_ranges: further,
                },
            ) if errno == theirs => {
                merge_faults(ranges, places.iter().cloned());
                let Self::FailedIo {
                    ranges: named,
                    more_ranges: unnamed,
                    ..
                } = Self::failed_io(*errno, 0, ranges)
                else {
                    return false;
                };
                *ranges = named;
                *more_ranges += further + unnamed;
                *n += more;
            }
            (
                Self::LostIo {
                    n,
                    waited_ns,
                    age_ns,
                },
                Self::LostIo {
                    n: more,
                    waited_ns: waited,
                    age_ns: age,
                },
            ) => {
                *n += more;
                *waited_ns = (*waited_ns).max(*waited);
                *age_ns = (*age_ns).max(*age);
            }
            (Self::LateArrivals { mean_ns }, Self::LateArrivals { mean_ns: theirs }) => {
                *mean_ns = mean_ns.max(*theirs);
            }
            (
                Self::UncountedArrivals { thread_ns },
                Self::UncountedArrivals { thread_ns: theirs },
            ) => *thread_ns += theirs,
            (Self::CpuWait { share }, Self::CpuWait { share: theirs }) => {
                *share = share.max(*theirs);
            }
            (Self::StoodStill { still_ns }, Self::StoodStill { still_ns: theirs }) => {
                *still_ns = (*still_ns).max(*theirs);
            }
            (ours, theirs) => return ours == theirs,
        }
        true
    }
}

/// Adds what another load generator says.
pub(crate) fn merge_remarks(into: &mut Vec<Remark>, from: &[Remark]) {
    for theirs in from {
        if !into.iter_mut().any(|ours| ours.absorb(theirs)) {
            into.push(theirs.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(errno: i32, n: u64, start_bytes: u64) -> Remark {
        let fault = Fault {
            op: Op::Write,
            errno,
            start_bytes,
            end_bytes: start_bytes + 8,
            n,
        };
        Remark::failed_io(errno, n, &[fault])
    }

    #[test]
    fn remarks_of_parts_add_up_and_kinds_stay_apart() {
        let mut ours = vec![failed(5, 2, 0)];
        let fallback = Remark::Fallback {
            reason: "forbidden".into(),
        };
        let theirs = [failed(5, 2, 8), failed(28, 1, 0), fallback];
        merge_remarks(&mut ours, &theirs);
        merge_remarks(&mut ours, &theirs[2..]);
        assert_eq!(ours.len(), 3, "{ours:?}");
        let Remark::FailedIo { n, ranges, .. } = &ours[0] else {
            panic!("{ours:?}")
        };
        assert_eq!((*n, ranges.len(), ranges[0].end_bytes), (4, 1, 16));
    }

    #[test]
    fn a_remark_on_the_wire_has_its_code_and_its_values() {
        let text = serde_json::to_string(&Remark::CpuWait { share: 0.25 }).unwrap();
        assert_eq!(text, r#"{"code":"cpu-wait","share":0.25}"#);
    }
}
