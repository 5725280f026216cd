//! What a job asks of a target.

use pyo3::prelude::*;
use workload::{Geometry, RequestStream};

use crate::{job::Job, parse::refuse};

/// One request: its thread, operation, first byte and length.
type Requested = (u32, &'static str, u64, u32);

/// Returns what each thread of a job asks of a target of that size: a pure function of these. A thread ends with its
/// part of the job, or after `most` requests. Nothing is issued; a job that ends by time ends by `most`.
#[pyfunction]
pub fn requests(
    job: &Job,
    capacity_bytes: u64,
    block_bytes: u32,
    seed: u64,
    most: usize,
) -> PyResult<Vec<Requested>> {
    let geometry = Geometry {
        capacity_bytes,
        block_bytes,
    };
    let job = job.inner();
    let mut all = Vec::new();
    let streams = RequestStream::of_threads(&job, geometry, seed).map_err(refuse)?;
    for (thread, mut stream) in (0u32..).zip(streams) {
        let limits = stream.limited(job.thread_limits(thread, geometry).map_err(refuse)?);
        let (mut bytes, mut count) = (0u64, 0usize);
        let open = |bytes, count| bytes < limits.bytes && (count as u64) < limits.count;
        while count < most && open(bytes, count) && !stream.is_over() {
            let one = stream.next_request();
            bytes += u64::from(one.size_bytes);
            count += 1;
            all.push((thread, one.op.name(), one.offset_bytes, one.size_bytes));
        }
    }
    Ok(all)
}
