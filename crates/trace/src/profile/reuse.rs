//! Reuse of space, from a sample of it: reuse distances, accesses per place, and how long written data lives.
//! Source: Waldspurger, Park, Garthwaite, Ahmad, "Efficient MRC Construction with SHARDS", FAST 2015, with a fixed
//! number of samples (section 4). A unit of space is sampled by its hash, so all its accesses are seen or none.
//! Groups of units show the error of the sample: the spread of their results.

use serde::Serialize;

use super::histogram::Histogram;
use crate::hash::Map;

/// Units that are followed at most.
const MOST: usize = 1 << 16;
/// Groups of units.
const GROUPS: usize = 16;
/// Places in the order of the last accesses; renumbered when they are used up.
const PLACES: usize = 4 * MOST;
const DOUBLINGS: usize = 64;

#[derive(Clone, Copy, Debug)]
struct Unit {
    place: u32,
    accesses: u64,
    /// When it was written last; `u64::MAX`: it was not, or its data were discarded.
    written_ns: u64,
}

/// What is known of the sampled units.
#[derive(Clone, Debug)]
pub(super) struct Reuse {
    units: Map<Unit>,
    /// Hashes by how large they are, so that the largest leaves first.
    largest: std::collections::BinaryHeap<u64>,
    /// Units with a hash below are sampled.
    threshold: u64,
    /// Sums over places: where the last access of a unit stands.
    tree: Box<[u32]>,
    next: u32,
    /// Accesses by the doubling of their distance in units, for each group; scaled as the threshold falls.
    distances: Vec<[f64; DOUBLINGS]>,
    first: Vec<f64>,
    accesses: f64,
    /// Lives and writes of the whole trace, estimated: each that was followed stands for as many as the share then says.
    lives: Histogram,
    writes: f64,
    all: f64,
}

impl Default for Reuse {
    fn default() -> Self {
        Self {
            units: Map::default(),
            largest: std::collections::BinaryHeap::new(),
            threshold: u64::MAX,
            tree: vec![0; PLACES + 1].into_boxed_slice(),
            next: 0,
            distances: vec![[0.0; DOUBLINGS]; GROUPS],
            first: vec![0.0; GROUPS],
            accesses: 0.0,
            lives: Histogram::default(),
            writes: 0.0,
            all: 0.0,
        }
    }
}

/// What the sample says of the whole.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Report {
    /// Share of the units that were followed; 1: all, and nothing is estimated.
    pub(super) sampled: f64,
    /// Units followed.
    pub(super) units: usize,
    /// (units of cache, share of accesses that hit an LRU cache of that size, its standard error), by doublings.
    pub(super) hits: Vec<(f64, f64, f64)>,
    /// (share of the touched space, share of accesses to it), the hottest first.
    pub(super) heat: Vec<(f64, f64)>,
    /// How long data lived until they were written over or discarded, ns: (least of the bucket, count). The counts
    /// are estimates for the whole trace.
    pub(super) lives_ns: Vec<(f64, u64)>,
    /// Quantiles 10, 50 and 90 % of that.
    pub(super) life_quantiles_ns: Option<[f64; 3]>,
    /// Share of the units written whose data were written over or discarded within the trace.
    pub(super) overwritten: f64,
}

impl Reuse {
    /// Returns whether a unit is followed.
    #[inline]
    pub(super) fn follows(&self, hash: u64) -> bool {
        hash <= self.threshold
    }

    /// Counts an access to a unit of the sample or outside it.
    #[inline]
    pub(super) fn count(&mut self, accesses: u64) {
        self.all += accesses as f64;
    }

    /// Follows an access of a sampled unit.
    pub(super) fn access(&mut self, hash: u64, writes: bool, now_ns: u64) {
        if self.next as usize == PLACES {
            self.renumber();
        }
        let place = self.next;
        self.next += 1;
        let group = hash as usize % GROUPS;
        self.accesses += 1.0;
        let written_ns = if writes { now_ns } else { u64::MAX };
        let weight = 1.0 / self.share();
        if writes {
            self.writes += weight;
        }
        match self.units.get_mut(&hash) {
            Some(unit) => {
                let before = std::mem::replace(&mut unit.place, place);
                unit.accesses += 1;
                if writes {
                    if unit.written_ns != u64::MAX {
                        let life_ns = now_ns.saturating_sub(unit.written_ns);
                        self.lives.add_weighted(life_ns, weight);
                    }
                    unit.written_ns = written_ns;
                }
                let later = self.units.len() as u32 - self.sum(before + 1);
                self.change(before, false);
                let distance = f64::from(later) / self.share();
                let doubling = (distance + 1.0).log2() as usize;
                self.distances[group][doubling.min(DOUBLINGS - 1)] += 1.0;
            }
            None => {
                self.first[group] += 1.0;
                let accesses = 1;
                self.units.insert(
                    hash,
                    Unit {
                        place,
                        accesses,
                        written_ns,
                    },
                );
                self.largest.push(hash);
            }
        }
        self.change(place, true);
        if self.units.len() > MOST {
            self.lower();
        }
    }

    /// Ends the life of data that are given back.
    pub(super) fn discard(&mut self, hash: u64, now_ns: u64) {
        let weight = 1.0 / self.share();
        if let Some(unit) = self.units.get_mut(&hash)
            && unit.written_ns != u64::MAX
        {
            let life_ns = now_ns.saturating_sub(unit.written_ns);
            self.lives.add_weighted(life_ns, weight);
            unit.written_ns = u64::MAX;
        }
    }

    fn share(&self) -> f64 {
        (self.threshold as f64 / u64::MAX as f64).max(f64::MIN_POSITIVE)
    }

    /// Drops the unit with the largest hash, and counts the accesses so far as the smaller sample would have.
    fn lower(&mut self) {
        let Some(hash) = self.largest.pop() else {
            return;
        };
        if let Some(unit) = self.units.remove(&hash) {
            self.change(unit.place, false);
        }
        let before = self.share();
        self.threshold = self.largest.peek().copied().unwrap_or(0);
        let factor = self.share() / before;
        let all = self.distances.iter_mut().flatten().chain(&mut self.first);
        all.for_each(|count| *count *= factor);
        self.accesses *= factor;
    }

    /// Fenwick tree: adds or takes a unit at a place.
    fn change(&mut self, place: u32, present: bool) {
        let mut at = place as usize + 1;
        while at <= PLACES {
            let sum = &mut self.tree[at];
            *sum = if present { *sum + 1 } else { *sum - 1 };
            at += at & at.wrapping_neg();
        }
    }

    /// Returns how many units stand at places below.
    fn sum(&self, below: u32) -> u32 {
        let mut at = below as usize;
        let mut sum = 0;
        while at > 0 {
            sum += self.tree[at];
            at &= at - 1;
        }
        sum
    }

    fn renumber(&mut self) {
        let mut by_place: Vec<(u32, u64)> = self
            .units
            .iter()
            .map(|(&hash, unit)| (unit.place, hash))
            .collect();
        by_place.sort_unstable();
        self.tree.fill(0);
        for (place, (_, hash)) in (0..).zip(&by_place) {
            if let Some(unit) = self.units.get_mut(hash) {
                unit.place = place;
            }
            self.change(place, true);
        }
        self.next = by_place.len() as u32;
    }

    pub(super) fn report(&self) -> Report {
        let quantile = |share| self.lives.quantile(share);
        let quantiles = [quantile(0.1), quantile(0.5), quantile(0.9)];
        let overwritten = self.lives.count / self.writes.max(1.0);
        Report {
            sampled: self.share(),
            units: self.units.len(),
            hits: self.hits(),
            heat: self.heat(),
            lives_ns: self.lives.buckets(),
            life_quantiles_ns: match quantiles {
                [Some(low), Some(middle), Some(high)] => Some([low, middle, high]),
                _ => None,
            },
            overwritten: overwritten.min(1.0),
        }
    }

    /// Returns how many accesses hit caches of growing size. The accesses of the sample are made as many as their share
    /// of all would be, by its shortest distances (SHARDS-adj, section 3.2 there).
    fn hits(&self) -> Vec<(f64, f64, f64)> {
        let expected = self.all * self.share();
        let missing = (expected - self.accesses) / GROUPS as f64;
        let last = self
            .distances
            .iter()
            .filter_map(|group| group.iter().rposition(|&n| n > 0.0))
            .max();
        let mut below = [0.0; GROUPS];
        let mut totals = [0.0; GROUPS];
        for (group, total) in totals.iter_mut().enumerate() {
            *total = missing + self.first[group] + self.distances[group].iter().sum::<f64>();
            below[group] = missing;
        }
        let mut hits = Vec::new();
        for doubling in 0..=last.unwrap_or(0) {
            for (group, below) in below.iter_mut().enumerate() {
                *below += self.distances[group][doubling];
            }
            let share = below.iter().sum::<f64>() / totals.iter().sum::<f64>().max(1.0);
            let spread: f64 = below
                .iter()
                .zip(totals)
                .map(|(below, total)| (below - share * total).powi(2))
                .sum();
            let groups = GROUPS as f64;
            let mean = (totals.iter().sum::<f64>() / groups).max(1.0);
            let error = (spread / (groups * (groups - 1.0))).sqrt() / mean;
            let exact = self.threshold == u64::MAX;
            let size = 2_f64.powi(doubling as i32 + 1) - 1.0;
            hits.push((size, share.clamp(0.0, 1.0), if exact { 0.0 } else { error }));
        }
        hits
    }

    /// Returns the hottest 0.1 % of the touched space and on, with the share of accesses to it.
    fn heat(&self) -> Vec<(f64, f64)> {
        let mut accesses: Vec<u64> = self.units.values().map(|unit| unit.accesses).collect();
        accesses.sort_unstable_by(|one, other| other.cmp(one));
        let all = accesses.iter().sum::<u64>().max(1) as f64;
        let mut sums = accesses.iter().scan(0, |sum, &own| {
            *sum += own;
            Some(*sum as f64 / all)
        });
        let sums: Vec<f64> = sums.by_ref().collect();
        let shares = [
            0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0,
        ];
        let at = |share: f64| {
            let units = (share * sums.len() as f64).round() as usize;
            Some((share, *sums.get(units.checked_sub(1)?)?))
        };
        shares.into_iter().filter_map(at).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::mix;

    /// The next of a row of evenly spread numbers.
    fn next(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(*state)
    }

    #[test]
    fn what_a_sample_says_of_the_lives_of_data_is_near_the_truth_of_all() {
        const UNITS: u64 = 1 << 18;
        const WRITES: u64 = 1_000_000;
        let mut reuse = Reuse::default();
        let mut written: Vec<Option<u64>> = vec![None; UNITS as usize];
        let mut lives = Vec::new();
        let mut state = 1;
        for now_ns in 0..WRITES {
            let unit = next(&mut state) % UNITS;
            if let Some(before_ns) = written[unit as usize].replace(now_ns) {
                lives.push(now_ns - before_ns);
            }
            let hash = mix(unit);
            if reuse.follows(hash) {
                reuse.access(hash, true, now_ns);
            }
        }
        let report = reuse.report();
        assert!(report.sampled < 0.3, "{}", report.sampled);
        let truth = lives.len() as f64 / WRITES as f64;
        assert!(
            (report.overwritten - truth).abs() < 0.01,
            "{} for {truth}",
            report.overwritten
        );
        lives.sort_unstable();
        let found = report.life_quantiles_ns.unwrap();
        for (found, share) in found.into_iter().zip([0.1, 0.5, 0.9]) {
            let truth = lives[(share * lives.len() as f64) as usize] as f64;
            assert!((found / truth - 1.0).abs() < 0.08, "{found} for {truth}");
        }
        let counted: u64 = report.lives_ns.iter().map(|&(_, count)| count).sum();
        assert!((counted as f64 / lives.len() as f64 - 1.0).abs() < 0.02);
    }
}
