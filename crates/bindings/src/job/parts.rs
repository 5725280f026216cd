//! The parts of a job that are classes themselves.

use pyo3::prelude::*;
use workload::Geometry;

/// A length or position: in bytes, as a fraction of the target, or in bytes up to the target's end. One is set.
#[pyclass(frozen, eq, module = "fathom._core")]
#[derive(Debug, PartialEq)]
pub struct Extent(pub workload::Extent);

#[pymethods]
impl Extent {
    #[getter]
    fn bytes(&self) -> Option<u64> {
        match self.0 {
            workload::Extent::Bytes(bytes) => Some(bytes),
            workload::Extent::Fraction(_) | workload::Extent::UpTo(_) => None,
        }
    }

    #[getter]
    fn fraction(&self) -> Option<f64> {
        match self.0 {
            workload::Extent::Fraction(fraction) => Some(fraction),
            workload::Extent::Bytes(_) | workload::Extent::UpTo(_) => None,
        }
    }

    #[getter]
    fn up_to(&self) -> Option<u64> {
        match self.0 {
            workload::Extent::UpTo(bytes) => Some(bytes),
            workload::Extent::Bytes(_) | workload::Extent::Fraction(_) => None,
        }
    }

    /// The length in bytes on a target of that capacity, as a region of that size has it.
    fn on(&self, capacity_bytes: u64) -> u64 {
        let region = workload::Region {
            start: workload::Extent::Bytes(0),
            size: self.0,
            part: None,
        };
        let geometry = Geometry {
            capacity_bytes,
            block_bytes: 1,
        };
        region.span(geometry).size_bytes
    }

    fn __repr__(&self) -> String {
        format!("{self:?}")
    }
}

/// An operation with its weight, its block sizes, each with its weight, and its own alignment.
#[pyclass(frozen, get_all, eq, module = "fathom._core")]
#[derive(Debug, PartialEq)]
pub struct JobOp {
    pub op: &'static str,
    pub weight: f64,
    pub sizes: Vec<(u32, f64)>,
    pub align_bytes: Option<u64>,
}

#[pymethods]
impl JobOp {
    fn __repr__(&self) -> String {
        format!("{self:?}")
    }
}

/// Where requests go. Parameters that the kind lacks are None.
#[pyclass(frozen, get_all, eq, module = "fathom._core")]
#[derive(Debug, Default, PartialEq)]
pub struct Pattern {
    kind: &'static str,
    streams: Option<u32>,
    stride_bytes: Option<u64>,
    theta: Option<f64>,
    share: Option<f64>,
    read: Option<f64>,
    write: Option<f64>,
    bands: Vec<(f64, f64)>,
    open: Option<u32>,
    in_order: bool,
    once: bool,
    empties: bool,
    ends: bool,
    zone_reset: Option<(f64, u32)>,
    spare: Option<f64>,
    stretches: Option<u32>,
    strip_bytes: Option<u64>,
    gap_bytes: Option<u64>,
    order: Vec<u32>,
    moves: bool,
    file: Option<String>,
    offsets: Option<&'static str>,
    waits: bool,
}

#[pymethods]
impl Pattern {
    fn __repr__(&self) -> String {
        format!("{self:?}")
    }
}

impl From<&workload::Pattern> for Pattern {
    fn from(pattern: &workload::Pattern) -> Self {
        let mut own = Self {
            kind: pattern.name(),
            ..Self::default()
        };
        match *pattern {
            workload::Pattern::SequentialStreams { streams } => own.streams = Some(streams),
            workload::Pattern::Strided { stride_bytes } => own.stride_bytes = Some(stride_bytes),
            workload::Pattern::Zipf { theta } => own.theta = Some(theta),
            workload::Pattern::Pareto { share } => own.share = Some(share),
            workload::Pattern::Mixed { read, write } => {
                (own.read, own.write) = (Some(read), Some(write));
            }
            workload::Pattern::HotSpots { ref bands } => {
                own.bands = bands.iter().map(|band| (band.area, band.access)).collect();
            }
            workload::Pattern::Zones {
                open,
                in_order,
                once,
                empties,
                ends,
                reset,
            } => {
                (own.once, own.empties, own.ends) = (once, empties, ends);
                (own.open, own.in_order) = (Some(open), in_order);
                own.zone_reset = reset.map(|reset| (reset.above, reset.every));
            }
            workload::Pattern::OnePass { spare, stretches } => {
                (own.spare, own.stretches) = (Some(spare), Some(stretches));
            }
            workload::Pattern::Strips {
                strip_bytes,
                gap_bytes,
            } => (own.strip_bytes, own.gap_bytes) = (Some(strip_bytes), Some(gap_bytes)),
            workload::Pattern::Blocks { ref order, moves } => {
                (own.order, own.moves) = (order.clone(), moves);
            }
            workload::Pattern::Replay {
                ref file,
                offsets,
                waits,
            } => {
                (own.file, own.offsets) = (Some(file.clone()), Some(offsets.name()));
                own.waits = waits;
            }
            workload::Pattern::Sequential
            | workload::Pattern::Backwards
            | workload::Pattern::Uniform
            | workload::Pattern::RandomOnce => {}
        }
        own
    }
}
