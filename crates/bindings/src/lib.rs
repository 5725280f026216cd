//! The Python module `fathom._core`.
