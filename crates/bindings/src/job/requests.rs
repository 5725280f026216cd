//! What the requests of a job are: operations and sizes, data, priorities, and how the kernel gets them.

use pyo3::{
    prelude::*,
    types::{PyDict, PyTuple},
};
use workload::{Op, Priority, PriorityShare};

use super::{Job, parts::JobOp};

/// A share of the I/O; its operation and block size, `None` for all; its class and level; its command duration limit.
type PriorityShareFacts = (
    f64,
    (Option<&'static str>, Option<u32>),
    (&'static str, u8),
    u8,
);

#[pymethods]
impl Job {
    #[getter]
    fn ops(&self) -> Vec<JobOp> {
        let ops = self.job.mix.ops.iter().map(|block| JobOp {
            op: block.op.name(),
            weight: block.weight,
            sizes: block
                .sizes
                .iter()
                .map(|share| (share.size_bytes, share.weight))
                .collect(),
            align_bytes: block.align_bytes,
        });
        ops.collect()
    }

    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let weights = PyDict::new(py);
        for block in &self.job.mix.ops {
            weights.set_item(block.op.name(), block.weight)?;
        }
        Ok(weights)
    }

    #[getter]
    fn block_sizes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let sizes = PyDict::new(py);
        for block in &self.job.mix.ops {
            let own = block.sizes.iter().map(|share| share.size_bytes);
            let own: Vec<u32> = own.collect();
            sizes.set_item(block.op.name(), PyTuple::new(py, own)?)?;
        }
        Ok(sizes)
    }

    fn block_bytes(&self, op: &str) -> Option<u32> {
        let mut ops = self.job.mix.ops.iter();
        match ops.find(|block| block.op.name() == op)?.sizes[..] {
            [share] => Some(share.size_bytes),
            _ => None,
        }
    }

    #[getter]
    fn largest_block_bytes(&self) -> u32 {
        self.job.largest_block_bytes()
    }

    #[getter]
    fn read_pct(&self) -> Option<f64> {
        let ops = &self.job.mix.ops;
        let all: f64 = ops.iter().map(|block| block.weight).sum();
        let reads = ops.iter().find(|block| block.op == Op::Read);
        let share = 100.0 * reads.map_or(0.0, |block| block.weight) / all;
        self.job.streams.is_empty().then_some(share)
    }

    #[getter]
    fn destructive(&self) -> bool {
        self.job.is_destructive()
    }

    #[getter]
    fn writes(&self) -> bool {
        self.job.writes()
    }

    #[getter]
    fn flush_every(&self) -> u32 {
        self.job.flush_every
    }

    #[getter]
    fn compressible(&self) -> f64 {
        self.job.content.compressible
    }

    #[getter]
    fn dedup(&self) -> f64 {
        self.job.content.dedup
    }

    #[getter]
    fn write_pattern(&self) -> Option<String> {
        self.job.content.pattern.map(String::from)
    }

    #[getter]
    fn verifies(&self) -> bool {
        self.job.content.verify.is_some()
    }

    #[getter]
    fn journal(&self) -> Option<&str> {
        self.job.journal.as_deref()
    }

    #[getter]
    fn placement(&self) -> Vec<u16> {
        self.job.placement.clone()
    }

    #[getter]
    fn priority(&self) -> Option<(&'static str, u8)> {
        let priority = self.job.priority?;
        Some((priority.class.name(), priority.level))
    }

    #[getter]
    fn priority_shares(&self) -> Vec<PriorityShareFacts> {
        let facts = |one: &PriorityShare| {
            let op = one.op.map(|op| op.name());
            let of = (op, one.block_bytes);
            let Priority { class, level } = one.priority;
            (one.share, of, (class.name(), level), one.duration_limit)
        };
        self.job.priority_shares.iter().map(facts).collect()
    }

    #[getter]
    fn direct(&self) -> bool {
        self.job.direct
    }

    #[getter]
    fn sync(&self) -> Option<&'static str> {
        self.job.sync.name()
    }

    #[getter]
    fn sqpoll(&self) -> bool {
        self.job.sqpoll
    }

    #[getter]
    fn huge_pages(&self) -> bool {
        self.job.huge_pages
    }

    #[getter]
    fn gpu(&self) -> bool {
        self.job.gpu
    }
}
