//! Issues a job to a virtual device, in virtual time.
