//! I/O that was in flight when a window ended, for longer than any of its kind that returned within it. Only a
//! lower bound of its latency is known, its age (right censoring).
//!
//! Every closed load has I/O in flight at the end. For latencies without memory, its age is distributed as the
//! latencies themselves. This is the inspection paradox: what is found in flight is long, and the age is a part of it.
//! So n returned and d in flight give an age beyond all n latencies with probability d / (n + d) or less. What is no
//! older than an I/O that returned is that normal load, and says nothing new; it is left out. What is older is the only
//! sign of a target that has stopped.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use workload::Op;

use crate::{Histogram, OpStats, SparseHistogram};

/// One I/O in flight at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InFlight {
    /// What it does.
    pub op: Op,
    /// Since it was issued.
    pub age_ns: u64,
    /// Since it was meant to start; only under open load.
    pub response_ns: Option<u64>,
}

/// Lower bounds of latencies, counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Censored {
    /// Ages since the issue.
    pub service: SparseHistogram,
    /// Since the intended start; only under open load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<SparseHistogram>,
}

/// The same by operation.
pub type CensoredOps = BTreeMap<Op, Censored>;

/// Returns what returned together with what did not, which counts with its age.
pub fn with_censored<'h>(
    returned: &'h SparseHistogram,
    censored: Option<&SparseHistogram>,
) -> Cow<'h, SparseHistogram> {
    let Some(censored) = censored else {
        return Cow::Borrowed(returned);
    };
    let mut all = returned.clone();
    all.merge(censored);
    Cow::Owned(all)
}

/// Counts of `in_flight` what is older than any I/O of its operation that returned.
pub fn censor<'a>(
    in_flight: impl IntoIterator<Item = &'a InFlight>,
    returned: &BTreeMap<Op, OpStats>,
) -> CensoredOps {
    let largest_ns = |op: Op| returned.get(&op).and_then(|stats| stats.service.max_ns());
    let mut found = CensoredOps::new();
    for one in in_flight {
        if largest_ns(one.op).is_some_and(|largest_ns| one.age_ns <= largest_ns) {
            continue;
        }
        let censored = found.entry(one.op).or_default();
        censored.service.merge(&only(one.age_ns));
        if let Some(response_ns) = one.response_ns {
            let responses = censored.response.get_or_insert_default();
            responses.merge(&only(response_ns));
        }
    }
    found
}

fn only(value_ns: u64) -> SparseHistogram {
    let mut one = Histogram::default();
    one.record(value_ns);
    one.take()
}

/// Adds those of another part.
pub(crate) fn merge_censored(into: &mut CensoredOps, from: &CensoredOps) {
    for (&op, theirs) in from {
        let ours = into.entry(op).or_default();
        ours.service.merge(&theirs.service);
        if let Some(theirs) = &theirs.response {
            ours.response.get_or_insert_default().merge(theirs);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_flight(op: Op, age_ns: u64) -> InFlight {
        InFlight {
            op,
            age_ns,
            response_ns: None,
        }
    }

    #[test]
    fn only_what_is_older_than_all_that_returned_is_counted() {
        let stats = OpStats {
            service: only(1_000),
            ..OpStats::default()
        };
        let returned = BTreeMap::from([(Op::Read, stats)]);
        let ages = [
            in_flight(Op::Read, 999),
            in_flight(Op::Read, 1_000),
            in_flight(Op::Read, 30_000_000_000),
            in_flight(Op::Write, 10),
        ];
        let found = censor(&ages, &returned);
        assert_eq!(found[&Op::Read].service.count(), 1);
        assert_eq!(found[&Op::Read].service.max_ns(), Some(30_000_000_000));
        assert_eq!(found[&Op::Write].service.count(), 1);
    }
}
