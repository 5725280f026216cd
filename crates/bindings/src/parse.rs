//! Methods, jobs, sizes and durations for Python: text in, the normal form as JSON out.

use pyo3::{create_exception, exceptions::PyException, prelude::*};
use workload::{Geometry, Job, Method, RequestStream};

create_exception!(
    _core,
    ParseError,
    PyException,
    "A refused method, job, size or duration: one line with file, line and what was expected."
);

fn refuse(error: impl std::fmt::Display) -> PyErr {
    ParseError::new_err(error.to_string())
}

fn to_json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(refuse)
}

/// Parses a method; `quick` applies its own shortening. Returns its normal form as JSON.
#[pyfunction]
#[pyo3(signature = (text, file, quick = false))]
pub fn parse_method(text: &str, file: &str, quick: bool) -> PyResult<String> {
    let method = if file.ends_with(".json") {
        Method::from_json(text, file)
    } else {
        Method::from_toml(text, file)
    }
    .map_err(refuse)?;
    if !quick {
        return to_json(&method);
    }
    if method.quick.is_none() {
        return Err(refuse(format!(
            "{file}: method {} has no [quick] table, so it cannot be shortened: run it without --quick",
            method.name
        )));
    }
    to_json(&method.shortened())
}

/// Parses a job (TOML, or JSON when the file name ends in `.json`). Returns its normal form as JSON.
#[pyfunction]
pub fn parse_job(text: &str, file: &str) -> PyResult<String> {
    let job = job_from_text(text, file)?;
    to_json(&job)
}

/// Returns what each of `targets` targets does of a job in its normal form: its own, as JSON.
#[pyfunction]
pub fn split_job(job_json: &str, targets: usize) -> PyResult<Vec<String>> {
    let jobs = job_from_text(job_json, "job.json")?.of_targets(targets);
    jobs.map_err(refuse)?.iter().map(to_json).collect()
}

/// One request: its thread, operation, first byte and length.
type Requested = (u32, &'static str, u64, u32);

/// Returns what each thread of a job in its normal form asks of a target of that size: a pure function of these. A
/// thread ends with its part of the job, or after `most` requests. Nothing is issued; a job that ends by time ends by
/// `most`.
#[pyfunction]
pub fn requests(
    job_json: &str,
    capacity_bytes: u64,
    block_bytes: u32,
    seed: u64,
    most: usize,
) -> PyResult<Vec<Requested>> {
    let job = job_from_text(job_json, "job.json")?;
    let geometry = Geometry {
        capacity_bytes,
        block_bytes,
    };
    let mut all = Vec::new();
    let streams = RequestStream::of_threads(&job, geometry, seed).map_err(refuse)?;
    for ((thread, part), mut stream) in (0u32..).zip(job.parts()).zip(streams) {
        let region = part.job.region.resolve(geometry).map_err(refuse)?;
        let limits = part.job.limits_of(part.thread, region.size_bytes);
        let (mut bytes, mut count) = (0u64, 0usize);
        while count < most && bytes < limits.bytes && (count as u64) < limits.count {
            let one = stream.next_request();
            bytes += u64::from(one.size_bytes);
            count += 1;
            all.push((thread, one.op.name(), one.offset_bytes, one.size_bytes));
        }
    }
    Ok(all)
}

/// Returns the job that a Python caller hands over.
pub fn job_from_text(text: &str, file: &str) -> PyResult<Job> {
    if file.ends_with(".json") {
        Job::from_json(text, file)
    } else {
        Job::from_toml(text, file)
    }
    .map_err(refuse)
}

/// Bytes of a size such as `4KiB`.
#[pyfunction]
pub fn parse_size_bytes(text: &str) -> PyResult<u64> {
    workload::parse_size_bytes(text).map_err(refuse)
}

/// Nanoseconds of a duration such as `10min`.
#[pyfunction]
pub fn parse_duration_ns(text: &str) -> PyResult<u64> {
    workload::parse_duration_ns(text).map_err(refuse)
}
