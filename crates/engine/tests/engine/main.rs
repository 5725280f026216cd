//! The engine on real files: one test binary, by behaviour. Tests that need root (loop devices,
//! mounts, fsfreeze, FUSE) skip themselves, with the reason, where there is no root.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod calls;
mod content;
mod fallback;
mod faults;
mod faulty;
mod journal;
mod limits;
mod measuring;
mod open_load;
mod privileged;
mod sets;
mod support;
mod verify;
