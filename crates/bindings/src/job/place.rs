//! Where the requests of a job go: the region or the files, and the order in them.

use pyo3::prelude::*;
use workload::{Geometry, OperationPositions, ThreadPositions};

use super::{
    Job,
    files::FileSet,
    parts::{Extent, Pattern},
};

#[pymethods]
impl Job {
    #[getter]
    fn pattern(&self) -> Pattern {
        Pattern::from(&self.job.pattern)
    }

    #[getter]
    fn thread_positions(&self) -> &'static str {
        match self.job.position.threads {
            ThreadPositions::Part => "part",
            ThreadPositions::Start => "start",
            ThreadPositions::Shared => "shared",
        }
    }

    #[getter]
    fn operation_positions(&self) -> Option<&'static str> {
        self.job
            .position
            .operations
            .map(|positions| match positions {
                OperationPositions::Together => "together",
                OperationPositions::Apart => "apart",
            })
    }

    #[getter]
    fn region_start(&self) -> Extent {
        Extent(self.job.region.start)
    }

    #[getter]
    fn region_size(&self) -> Extent {
        Extent(self.job.region.size)
    }

    #[pyo3(signature = (capacity_bytes, block_bytes = 512))]
    fn region_on(&self, capacity_bytes: u64, block_bytes: u32) -> (u64, u64) {
        let span = self.job.region.nominal(Geometry {
            capacity_bytes,
            block_bytes,
        });
        (span.start_bytes, span.size_bytes)
    }

    #[getter]
    fn files(&self) -> Option<FileSet> {
        self.job.files.clone().map(FileSet)
    }

    #[getter]
    fn align_bytes(&self) -> Option<u64> {
        self.job.align_bytes
    }
}
