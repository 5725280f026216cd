//! The Python module `fathom._core`: converts what the other crates do, and does nothing itself. Every call that waits
//! gives the GIL back.

// The macros of PyO3 generate undocumented items; what Python users read is `_core.pyi`.
#![allow(missing_docs)]

mod handle;
mod parse;
mod results;
mod start;

use pyo3::prelude::*;

/// Native core of Fathom.
#[pymodule]
mod _core {
    use super::*;

    #[pymodule_export]
    use super::handle::Handle;
    #[pymodule_export]
    use super::parse::{
        ParseError, parse_duration_ns, parse_job, parse_method, parse_size_bytes, requests,
        split_job,
    };
    #[pymodule_export]
    use super::results::{
        Batch, HalfWidths, Interval, Limit, OpBins, OpHalfWidths, OpResult, Recording, Utilisation,
        describe_errno,
    };
    #[pymodule_export]
    use super::start::{
        BackendError, EngineTarget, Precision, TwinDevice, first_foreign, ssd_parameters,
        start_engine, start_twins, verify_journal,
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("ENGINE_IODEPTH_MAX", engine::IODEPTH_MAX)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
