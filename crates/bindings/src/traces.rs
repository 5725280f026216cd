//! Readers of traces. Columns go to Python as bytes in the machine's order, which numpy takes without a copy.

use std::sync::{Mutex, MutexGuard};

use pyo3::{
    buffer::PyBuffer,
    prelude::*,
    types::{PyBytes, PyDict},
};
use trace::{Batch, Format, Operation, Profile, Reader};
use workload::Op;

use crate::parse::{refuse, to_json};

/// The format of a file that begins with these bytes, None where it is none of those known.
#[pyfunction]
pub fn trace_format(head: &[u8]) -> Option<&'static str> {
    trace::detect(head).map(Format::name)
}

/// Reads a trace in portions.
#[pyclass(frozen, module = "fathom._core")]
pub struct TraceReader(Mutex<Reader>);

impl TraceReader {
    /// A call that panicked leaves a reader that still answers.
    fn reader(&self) -> MutexGuard<'_, Reader> {
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[pymethods]
impl TraceReader {
    #[new]
    #[pyo3(signature = (format, columns = None, sources = 1))]
    fn new(format: &str, columns: Option<&str>, sources: usize) -> PyResult<Self> {
        let format = Format::named(format)
            .ok_or_else(|| refuse(format!("unknown trace format {format:?}")))?;
        let reader =
            Reader::new(format, columns, sources).map_err(|error| refuse(error.to_string()))?;
        Ok(Self(Mutex::new(reader)))
    }

    fn wants(&self) -> Option<usize> {
        self.reader().wants()
    }

    /// Takes a portion of a file and returns the I/Os that have come out.
    fn feed<'py>(
        &self,
        py: Python<'py>,
        source: usize,
        portion: &[u8],
    ) -> PyResult<Bound<'py, PyDict>> {
        let batch = py.detach(|| {
            let mut reader = self.reader();
            reader.feed(source, portion);
            reader.take()
        });
        columns_of(py, &batch)
    }

    #[getter]
    fn devices(&self) -> Vec<String> {
        self.reader().devices().to_vec()
    }

    #[getter]
    fn processes(&self) -> Vec<String> {
        self.reader().processes().to_vec()
    }

    #[getter]
    fn device_count(&self) -> usize {
        self.reader().devices().len()
    }

    #[getter]
    fn process_count(&self) -> usize {
        self.reader().processes().len()
    }

    #[getter]
    fn wrong(&self) -> u64 {
        self.reader().wrong().count
    }

    #[getter]
    fn first_wrong(&self) -> Vec<(u64, String)> {
        let reader = self.reader();
        let first = reader.wrong().first.iter();
        first
            .map(|(number, fault)| (*number, fault.to_string()))
            .collect()
    }

    #[getter]
    fn late(&self) -> u64 {
        self.reader().late()
    }

    #[getter]
    fn unpaired(&self) -> (u64, u64) {
        self.reader().unpaired()
    }

    #[getter]
    fn start_unix_ns(&self) -> Option<u64> {
        self.reader().start_unix_ns()
    }
}

/// Takes a trace batch by batch and says what it is like.
#[pyclass(frozen, module = "fathom._core")]
pub struct TraceProfile(Mutex<Profile>);

impl TraceProfile {
    fn profile(&self) -> MutexGuard<'_, Profile> {
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[pymethods]
impl TraceProfile {
    #[new]
    fn new() -> Self {
        Self(Mutex::default())
    }

    /// Takes the columns of a batch, of equal length.
    #[expect(clippy::too_many_arguments, reason = "a column each")]
    fn add(
        &self,
        py: Python<'_>,
        issue_ns: PyBuffer<u64>,
        latency_ns: PyBuffer<u64>,
        offset_bytes: PyBuffer<u64>,
        size_bytes: PyBuffer<u64>,
        operation: PyBuffer<u8>,
        flags: PyBuffer<u8>,
        device: PyBuffer<u32>,
        process: PyBuffer<u32>,
    ) -> PyResult<()> {
        let batch = Batch {
            issue_ns: issue_ns.to_vec(py)?,
            latency_ns: latency_ns.to_vec(py)?,
            offset_bytes: offset_bytes.to_vec(py)?,
            size_bytes: size_bytes.to_vec(py)?,
            op: operation.to_vec(py)?,
            flags: flags.to_vec(py)?,
            device: device.to_vec(py)?,
            process: process.to_vec(py)?,
            ..Batch::default()
        };
        let lengths = [
            batch.latency_ns.len(),
            batch.offset_bytes.len(),
            batch.size_bytes.len(),
        ];
        let short = [
            batch.op.len(),
            batch.flags.len(),
            batch.device.len(),
            batch.process.len(),
        ];
        if lengths
            .iter()
            .chain(&short)
            .any(|&length| length != batch.len())
        {
            return Err(refuse("columns of a trace must have equal lengths"));
        }
        let mut extents = batch.offset_bytes.iter().zip(&batch.size_bytes);
        if extents.any(|(&offset, &size)| offset.checked_add(size).is_none()) {
            return Err(refuse("an I/O of a trace ends beyond 2^64 bytes"));
        }
        py.detach(|| self.profile().add(&batch));
        Ok(())
    }

    /// The trace so far, as JSON.
    fn json(&self) -> PyResult<String> {
        to_json(&self.profile().report())
    }
}

fn columns_of<'py>(py: Python<'py>, batch: &Batch) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let put = |name, bytes: &[u8]| columns.set_item(name, PyBytes::new(py, bytes));
    put("issue_ns", bytemuck::cast_slice(&batch.issue_ns))?;
    put("latency_ns", bytemuck::cast_slice(&batch.latency_ns))?;
    put("offset_bytes", bytemuck::cast_slice(&batch.offset_bytes))?;
    put("size_bytes", bytemuck::cast_slice(&batch.size_bytes))?;
    put("operation", &batch.op)?;
    put("flags", &batch.flags)?;
    put("device", bytemuck::cast_slice(&batch.device))?;
    put("process", bytemuck::cast_slice(&batch.process))?;
    put("pid", bytemuck::cast_slice(&batch.pid))?;
    put("cpu", bytemuck::cast_slice(&batch.cpu))?;
    Ok(columns)
}

/// Columns of what twins issued, by time of issue, as those of a trace; `arrived_ns` is one more.
pub fn issued_columns(
    py: Python<'_>,
    mut issued: Vec<twin::Issued>,
) -> PyResult<Bound<'_, PyDict>> {
    issued.sort_by_key(|one| one.issued_ns);
    let mut batch = Batch::default();
    let mut arrived_ns = Vec::with_capacity(issued.len());
    for one in issued {
        let op = match one.op {
            Op::Read => Operation::Read,
            Op::Flush => Operation::Flush,
            Op::Trim => Operation::Discard,
            Op::Write | Op::WriteZeroes | Op::Append => Operation::Write,
            // Twins refuse jobs on files, and a trace of blocks has no place for them.
            Op::Allocate | workload::name_ops!() => continue,
        };
        arrived_ns.push(one.arrived_ns);
        batch.issue_ns.push(one.issued_ns);
        batch.latency_ns.push(one.service_ns);
        batch.offset_bytes.push(one.offset_bytes);
        batch.size_bytes.push(u64::from(one.size_bytes));
        batch.op.push(op as u8);
        batch.flags.push(0);
        batch.device.push(0);
        batch.process.push(Batch::NONE_NAME);
        batch.pid.push(Batch::NONE_NAME);
        batch.cpu.push(Batch::NONE_NAME);
    }
    let columns = columns_of(py, &batch)?;
    columns.set_item(
        "arrived_ns",
        PyBytes::new(py, bytemuck::cast_slice(&arrived_ns)),
    )?;
    Ok(columns)
}

/// Names of the operations by their number in a trace.
pub const OPERATIONS: [&str; 4] = [
    Operation::Read.name(),
    Operation::Write.name(),
    Operation::Flush.name(),
    Operation::Discard.name(),
];

/// Names of the formats that can be read.
pub fn formats() -> Vec<&'static str> {
    Format::ALL.into_iter().map(Format::name).collect()
}
