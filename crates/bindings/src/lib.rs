//! The Python module `fathom._core`: converts what the other crates do, and does nothing itself. Every call that waits
//! gives the GIL back.

// The macros of PyO3 generate undocumented items; what Python users read is `_core.pyi`.
#![allow(missing_docs)]

mod capture;
mod error;
mod handle;
mod job;
mod parse;
mod requests;
mod results;
mod start;
mod traces;

use pyo3::prelude::*;

/// Native core of Fathom.
#[pymodule]
mod _core {
    use super::*;

    #[pymodule_export]
    use super::capture::{Capture, Recorded, end_capture};
    #[pymodule_export]
    use super::error::BackendError;
    #[pymodule_export]
    use super::handle::Handle;
    #[pymodule_export]
    use super::job::{Extent, FileSet, Job, JobOp, Pattern};
    #[pymodule_export]
    use super::parse::{ParseError, parse_duration_ns, parse_method, parse_size_bytes};
    #[pymodule_export]
    use super::requests::requests;
    #[pymodule_export]
    use super::results::{
        Gpu, HalfWidths, Interval, Limit, OpHalfWidths, OpResult, PartBins, Recording, Utilisation,
        describe_errno,
    };
    #[pymodule_export]
    use super::start::{
        EngineTarget, Precision, TwinDevice, first_foreign, ssd_parameters, start_engine,
        start_twins, verify_journal,
    };

    #[pymodule_export]
    use super::traces::{TraceProfile, TraceReader, trace_format};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::error::prepare(module.py())?;
        let named = |keep: fn(workload::Op) -> bool| {
            let ops = workload::Op::ALL.into_iter().filter(|&op| keep(op));
            pyo3::types::PyTuple::new(module.py(), ops.map(workload::Op::name).collect::<Vec<_>>())
        };
        module.add("WRITES", named(workload::Op::writes)?)?;
        module.add("MOVES_DATA", named(workload::Op::moves_data)?)?;
        module.add("TRACE_OPERATIONS", super::traces::OPERATIONS.to_vec())?;
        module.add("TRACE_FORMATS", super::traces::formats())?;
        let figures = workload::KeyFigure::WORDS.map(|(word, _)| word);
        module.add(
            "KEY_FIGURES",
            pyo3::types::PyTuple::new(module.py(), figures)?,
        )?;
        module.add("LARGE_BLOCK_BYTES", workload::Job::LARGE_BLOCK_BYTES)?;
        module.add("BLOCK_BYTES_MAX", workload::Job::BLOCK_BYTES_MAX)?;
        module.add("BLOCK_SIZES_MAX", workload::Job::BLOCK_SIZES_MAX)?;
        module.add("STREAMS_MAX", workload::Job::STREAMS_MAX)?;
        module.add("THREADS_MAX", workload::Job::THREADS_MAX)?;
        module.add("PATTERN_BYTES_MAX", workload::BytePattern::BYTES_MAX)?;
        module.add("HOST_CPU", twin::HOST_CPU)?;
        module.add("ENGINE_IODEPTH_MAX", engine::IODEPTH_MAX)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
