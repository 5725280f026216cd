//! Issues a job to real files and devices.
