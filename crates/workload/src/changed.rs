//! Jobs made from jobs: another load, another end, another region. Nothing here checks the result; whoever takes a
//! changed job from outside parses it again.

use std::collections::BTreeMap;

use crate::{
    Arrival, BlockShare, Extent, Geometry, Job, Load, Op, OperationPositions, Pattern, Region,
    RegionPart, Split, Until,
};

impl Job {
    /// From this block size on, I/O is headlined in MB/s, smaller I/O in IOPS, as data sheets do.
    pub const LARGE_BLOCK_BYTES: u32 = 64 << 10;
    /// Largest block.
    pub const BLOCK_BYTES_MAX: u32 = 1 << 30;
    /// Most block sizes of an operation.
    pub const BLOCK_SIZES_MAX: usize = 64;
    /// Most streams.
    pub const STREAMS_MAX: usize = 64;
    /// Most load threads.
    pub const THREADS_MAX: u32 = 1024;

    /// The operations of the mix.
    pub fn ops(&self) -> impl Iterator<Item = Op> + '_ {
        self.mix.ops.iter().map(|block| block.op)
    }

    /// Whether any operation changes data.
    pub fn is_destructive(&self) -> bool {
        self.ops().any(Op::is_destructive)
    }

    /// Whether it works on names and attributes of files, and on nothing else.
    pub fn is_metadata(&self) -> bool {
        self.ops().all(Op::is_metadata)
    }

    /// Whether any operation carries data to the target.
    pub fn writes(&self) -> bool {
        self.ops().any(Op::writes)
    }

    /// Whether every operation is of that kind.
    pub fn only(&self, op: Op) -> bool {
        self.ops().all(|own| own == op)
    }

    /// The largest block; 0 where there are only flushes.
    pub fn largest_block_bytes(&self) -> u32 {
        let sizes = self.mix.ops.iter().flat_map(|block| &block.sizes);
        sizes.map(|share| share.size_bytes).max().unwrap_or(0)
    }

    /// Whether its time alone ends it.
    pub fn ends_by_time(&self) -> bool {
        let jobs = self.workloads();
        let timed = |until: Until| {
            until.bytes.is_none() && until.region_multiple.is_none() && until.count.is_none()
        };
        self.until.time_ns.is_some()
            && !matches!(self.pattern, Pattern::RandomOnce | Pattern::OnePass { .. })
            && jobs.map(|job| job.until).all(timed)
    }

    /// The load with other counts of threads and I/O in flight per thread.
    #[must_use]
    pub fn with_load(&self, threads: u32, iodepth: u32) -> Self {
        let load = match self.load {
            Load::Closed { .. } => Load::Closed { threads, iodepth },
            Load::Open {
                rate_iops, arrival, ..
            } => Load::Open {
                rate_iops,
                arrival,
                threads,
                iodepth,
            },
        };
        Self {
            load,
            ..self.clone()
        }
    }

    /// Arrivals at `rate_iops` instead of the closed loop, with at most as many in flight.
    #[must_use]
    pub fn with_rate(&self, rate_iops: f64, arrival: Arrival) -> Self {
        let load = Load::Open {
            rate_iops,
            arrival,
            threads: self.load.threads(),
            iodepth: self.load.iodepth(),
        };
        Self {
            load,
            ..self.clone()
        }
    }

    /// As [`with_rate`](Self::with_rate), for the stream of that name. `None`: the job has no such stream.
    #[must_use]
    pub fn with_stream_rate(&self, name: &str, rate_iops: f64, arrival: Arrival) -> Option<Self> {
        let mut job = self.clone();
        let stream = job.streams.iter_mut().find(|stream| stream.name == name)?;
        stream.job = stream.job.with_rate(rate_iops, arrival);
        Some(job)
    }

    /// The job with another end.
    #[must_use]
    pub fn with_until(&self, until: Until) -> Self {
        Self {
            until,
            ..self.clone()
        }
    }

    /// The job in another region.
    #[must_use]
    pub fn with_region(&self, region: Region) -> Self {
        Self {
            region,
            ..self.clone()
        }
    }

    /// The job on one of `of` equal parts of its region, `number` from 0, in whole blocks. Together all parts are the
    /// region.
    #[must_use]
    pub fn in_part(&self, number: u32, of: u32) -> Self {
        let largest_bytes = u64::from(self.largest_block_bytes());
        let part = RegionPart {
            number,
            of,
            grain_bytes: largest_bytes.next_multiple_of(self.align_bytes.unwrap_or(1).max(1)),
        };
        self.with_region(Region {
            part: Some(part),
            ..self.region
        })
    }

    /// The job with every operation at one block size.
    #[must_use]
    pub fn with_block(&self, size_bytes: u32) -> Self {
        let mut job = self.clone();
        for block in &mut job.mix.ops {
            if !block.sizes.is_empty() {
                block.sizes = vec![BlockShare {
                    size_bytes,
                    weight: 1.0,
                }];
            }
        }
        job
    }

    /// The job, and its streams, without placement handles.
    #[must_use]
    pub fn without_placement(&self) -> Self {
        let mut job = self.clone();
        job.placement.clear();
        for stream in &mut job.streams {
            stream.job = stream.job.without_placement();
        }
        job
    }

    /// What the job does beside its reads, in the same shares. `None`: there are no reads or nothing else, or without them
    /// the rest would not go where it goes now, or not as often.
    pub fn without_reads(&self) -> Option<Self> {
        let full_speed = matches!(self.load, Load::Closed { .. })
            && self.pace.think_ns == 0
            && self.streams.is_empty();
        let own_places = matches!(
            self.pattern,
            Pattern::Uniform
                | Pattern::Zipf { .. }
                | Pattern::Pareto { .. }
                | Pattern::Mixed { .. }
                | Pattern::HotSpots { .. }
        );
        let mut job = self.clone();
        job.mix.ops.retain(|block| block.op != Op::Read);
        let fewer = job.mix.ops.len() < self.mix.ops.len();
        (full_speed && own_places && fewer && job.is_destructive()).then_some(job)
    }

    /// Whether a job may [go on](Self::continued) where this one ended. What was moved must show the positions of all
    /// ordered streams; the others need none.
    pub fn can_continue(&self) -> bool {
        if !self.streams.is_empty() {
            return self.streams.iter().all(|one| one.job.can_continue());
        }
        let ordered = self.pattern == Pattern::Sequential
            && !self.position.is_shared()
            && self.position.operations != Some(OperationPositions::Apart);
        let random = matches!(
            self.pattern,
            Pattern::Uniform
                | Pattern::Zipf { .. }
                | Pattern::Pareto { .. }
                | Pattern::HotSpots { .. }
        );
        (ordered || random) && self.files.is_none()
    }

    /// The same job from the positions at which it was after it had moved `moved_bytes`. They are given by the names of
    /// its streams; those of a job without streams by an empty name.
    #[must_use]
    pub fn continued(&self, moved_bytes: &BTreeMap<String, u64>) -> Self {
        let on = |job: &mut Self, name: &str| {
            if job.pattern == Pattern::Sequential {
                let moved_bytes = moved_bytes.get(name).copied().unwrap_or(0);
                job.position.ahead_bytes += moved_bytes / u64::from(job.load.threads());
            }
        };
        let mut job = self.clone();
        if job.streams.is_empty() {
            on(&mut job, "");
        }
        for stream in &mut job.streams {
            on(&mut stream.job, &stream.name);
        }
        job
    }

    /// The same I/O in flight from at most `most` threads: the largest count that divides it evenly.
    #[must_use]
    pub fn on_threads(&self, most: u32) -> Self {
        let in_flight = self.load.threads().saturating_mul(self.load.iodepth());
        let threads = (1..=self.load.threads().min(most))
            .rev()
            .find(|threads| in_flight.is_multiple_of(*threads))
            .unwrap_or(1);
        self.with_load(threads, in_flight / threads)
    }

    /// The job with its threads on every one of `hosts` hosts. A split load is for all hosts already.
    #[must_use]
    pub fn on_hosts(&self, hosts: u32) -> Self {
        let mut job = match self.pace.split {
            Split::Each | Split::Drives => {
                let threads = self.load.threads().saturating_mul(hosts);
                self.with_load(threads, self.load.iodepth())
            }
            Split::Even | Split::Shares(_) => self.clone(),
        };
        for stream in &mut job.streams {
            stream.job = stream.job.on_hosts(hosts);
        }
        job
    }

    /// Returns what fills a page cache of `dirty_bytes` before this job, if it only writes for a time: the same writes
    /// with volume enough. Writes in order go to the end of the region, in blocks of up to `block_bytes`. Random writes
    /// come to `overwrites` times as much, because some hit the same pages. `None`: no such job, or no such region.
    #[must_use]
    pub fn ramp(
        &self,
        geometry: Geometry,
        dirty_bytes: u64,
        block_bytes: u32,
        overwrites: f64,
    ) -> Option<Self> {
        if !self.only(Op::Write) || self.until.time_ns.is_none() {
            return None;
        }
        let span = self.region.nominal(geometry);
        let ramp_bytes = dirty_bytes.min(span.size_bytes);
        let until = |bytes| Until {
            time_ns: None,
            bytes: Some(bytes),
            region_multiple: None,
            count: None,
        };
        if self.pattern != Pattern::Sequential {
            let bytes = (overwrites * ramp_bytes as f64).round_ties_even() as u64;
            return Some(self.with_until(until(bytes)));
        }
        let region = Region {
            start: Extent::Bytes(span.start_bytes + span.size_bytes - ramp_bytes),
            size: Extent::Bytes(ramp_bytes),
            part: None,
        };
        let block_bytes = u64::from(block_bytes).min(ramp_bytes) as u32;
        let in_order = self.with_region(region).with_block(block_bytes);
        Some(in_order.with_until(until(ramp_bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn job(lines: &str) -> Job {
        let text = format!("block = \"4KiB\"\npattern = \"uniform\"\n{lines}");
        Job::from_toml(&text, "job.toml").unwrap()
    }

    fn shape(job: &Job) -> (u32, u32) {
        (job.load.threads(), job.load.iodepth())
    }

    #[test]
    fn fewer_threads_keep_the_same_io_in_flight() {
        let wide =
            job("mix = \"read\"\nload = { threads = 12, iodepth = 3 }\nuntil = { time = \"1s\" }");
        assert_eq!(shape(&wide.on_threads(8)), (6, 6));
        assert_eq!(shape(&wide.on_threads(64)), (12, 3));
        assert_eq!(shape(&wide.on_threads(1)), (1, 36));
    }

    #[test]
    fn threads_are_each_hosts_unless_the_load_is_split() {
        let of = |load: &str| {
            job(&format!(
                "mix = \"read\"\nload = {load}\nuntil = {{ time = \"1s\" }}"
            ))
        };
        assert_eq!(
            shape(&of("{ threads = 4, iodepth = 2 }").on_hosts(3)),
            (12, 2)
        );
        let split = of("{ threads = 4, iodepth = 2, split = \"even\" }");
        assert_eq!(shape(&split.on_hosts(3)), (4, 2));
    }

    #[test]
    fn a_rate_leaves_the_threads_and_the_iodepth() {
        let closed =
            job("mix = \"read\"\nload = { threads = 4, iodepth = 8 }\nuntil = { time = \"1s\" }");
        let open = closed.with_rate(1e4, Arrival::Exponential);
        assert_eq!(shape(&open), (4, 8));
        assert!(matches!(open.load, Load::Open { rate_iops, .. } if rate_iops == 1e4));
        assert_eq!(closed.with_stream_rate("none", 1.0, Arrival::Uniform), None);
    }

    #[test]
    fn without_reads_the_rest_keeps_its_places_and_its_shares() {
        let of = |lines: &str| {
            let text = format!("block = \"4KiB\"\n{lines}\nuntil = {{ time = \"1s\" }}");
            Job::from_toml(&text, "job.toml").unwrap().without_reads()
        };
        let deep = "load = { threads = 2, iodepth = 4 }";
        let mix = "mix = { read = 90, write = 8, trim = 2 }";
        let rest = of(&format!("{mix}\npattern = \"uniform\"\n{deep}")).unwrap();
        let weights: Vec<_> = rest
            .mix
            .ops
            .iter()
            .map(|one| (one.op, one.weight))
            .collect();
        assert_eq!(weights, [(Op::Write, 8.0), (Op::Trim, 2.0)]);
        assert_eq!(shape(&rest), (2, 4));

        let none = [
            format!("mix = \"read\"\npattern = \"uniform\"\n{deep}"),
            format!("mix = \"write\"\npattern = \"uniform\"\n{deep}"),
            format!("mix = {{ read = 90, flush = 10 }}\npattern = \"uniform\"\n{deep}"),
            format!("{mix}\npattern = \"sequential\"\n{deep}"),
            format!("{mix}\npattern = \"random-once\"\n{deep}"),
            format!(
                "{mix}\npattern = \"uniform\"\nload = {{ threads = 2, iodepth = 4, rate = \"1k/s\" }}"
            ),
            format!(
                "{mix}\npattern = \"uniform\"\nload = {{ threads = 2, iodepth = 4, think = \"1ms\" }}"
            ),
        ];
        for lines in none {
            assert_eq!(of(&lines), None, "{lines}");
        }
    }

    #[test]
    fn a_ramp_in_order_ends_where_the_region_ends() {
        let text = "mix = \"write\"\nblock = \"4KiB\"\npattern = \"sequential\"\nregion = \"50%\"\n\
                    load = { threads = 1 }\nuntil = { time = \"1s\" }";
        let writes = Job::from_toml(text, "job.toml").unwrap();
        let geometry = Geometry {
            capacity_bytes: 4 * GIB,
            block_bytes: 4096,
        };
        let ramp = writes.ramp(geometry, GIB, 1 << 20, 1.3).unwrap();
        assert_eq!(ramp.region.start, Extent::Bytes(GIB));
        assert_eq!(ramp.region.size, Extent::Bytes(GIB));
        assert_eq!(
            (ramp.until.bytes, ramp.largest_block_bytes()),
            (Some(GIB), 1 << 20)
        );
        let reads = job("mix = \"read\"\nload = { threads = 1 }\nuntil = { time = \"1s\" }");
        assert_eq!(reads.ramp(geometry, GIB, 1 << 20, 1.3), None);
    }
}
