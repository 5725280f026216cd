//! Why a job did not start or did not end well, each as one line with what to do.

use std::path::Path;

use engine::EngineError;
use recording::Recording;
use twin::{ParamError, TwinError};
use workload::SplitError;

/// A job, or a virtual device, that cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The engine refused the job or a target, or a target failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A twin refused the job, or ended it.
    #[error(transparent)]
    Twin(#[from] TwinError),
    /// The load cannot be divided over the twins.
    #[error(transparent)]
    Split(#[from] SplitError),
    /// A twin cannot have these parameters.
    #[error(transparent)]
    Parameters(#[from] ParamError),
    /// The parameters of a twin are not a JSON object.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// The parameters name a model that does not exist.
    #[error("no model of kind {0}: expected ssd, disk or system")]
    UnknownKind(serde_json::Value),
    /// A system was to get a file system.
    #[error("a system has its own file system, or none: name it bare")]
    LayeredSystem,
    /// A twin was to have a set of files.
    #[error("twins hold no sets of files: run the job on a directory (dir:PATH)")]
    FileSet,
    /// Not one seed per twin.
    #[error("{seeds} seeds for {twins} twins")]
    Seeds {
        /// Seeds given.
        seeds: usize,
        /// Twins given.
        twins: usize,
    },
    /// A thread that simulates ended by a panic.
    #[error("the simulation ended by a defect; please report it with the method, target and seed")]
    Defect,
    /// A handle gives its recordings once.
    #[error("the result has been taken already")]
    ResultTaken,
}

impl LoadError {
    /// Returns the path that the message names: that of a target, or of its journal.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Engine(error) => error.path(),
            _ => None,
        }
    }

    /// Returns what was measured until a target failed, one recording per target; none where no job had begun.
    pub fn into_recordings(self) -> Vec<Recording> {
        match self {
            Self::Engine(EngineError::TargetFailed { recordings, .. }) => recordings,
            _ => Vec::new(),
        }
    }
}
