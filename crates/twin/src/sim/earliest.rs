//! Which of several comes first: times in a tree whose every node has the least of those below it.

use crate::sim::calendar::NEVER;

/// A time for each of a fixed number of members.
#[derive(Clone)]
pub struct Earliest {
    /// The root is node 1, the children of `n` are `2n` and `2n + 1`, and the members' times are the last half.
    nodes: Vec<u64>,
}

impl Earliest {
    /// Returns the times given.
    pub fn new(times_ns: impl ExactSizeIterator<Item = u64>) -> Self {
        let leaves = times_ns.len().next_power_of_two();
        let mut nodes = vec![NEVER; 2 * leaves];
        for (leaf, at_ns) in times_ns.enumerate() {
            nodes[leaves + leaf] = at_ns;
        }
        for node in (1..leaves).rev() {
            nodes[node] = nodes[2 * node].min(nodes[2 * node + 1]);
        }
        Self { nodes }
    }

    /// Returns the least time; [`NEVER`] where no member has one.
    #[inline]
    pub fn at_ns(&self) -> u64 {
        self.nodes[1]
    }

    /// Returns the member that has the least time: of equals the one with the least number.
    #[inline]
    pub fn member(&self) -> usize {
        let leaves = self.nodes.len() / 2;
        let mut node = 1;
        while node < leaves {
            node *= 2;
            node += usize::from(self.nodes[node] != self.nodes[1]);
        }
        node - leaves
    }

    /// Sets a member's time.
    #[inline]
    pub fn set(&mut self, member: usize, at_ns: u64) {
        let mut node = self.nodes.len() / 2 + member;
        self.nodes[node] = at_ns;
        while node > 1 {
            node /= 2;
            self.nodes[node] = self.nodes[2 * node].min(self.nodes[2 * node + 1]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_is_the_least_of_all_times(
            times in proptest::collection::vec(0_u64..50, 1..70),
            changes in proptest::collection::vec((0_usize..70, 0_u64..50), 0..40),
        ) {
            let mut times = times;
            let mut earliest = Earliest::new(times.iter().copied());
            for (member, at_ns) in changes {
                let member = member % times.len();
                times[member] = at_ns;
                earliest.set(member, at_ns);
                let least = times.iter().copied().min().expect("some");
                prop_assert_eq!(earliest.at_ns(), least);
                prop_assert_eq!(Some(earliest.member()), times.iter().position(|&one| one == least));
            }
        }
    }
}
