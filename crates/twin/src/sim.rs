//! What every virtual device is made of: a calendar of events, servers with their queues, slots for what is on its
//! way, and bits. Knows no device.

pub mod bits;
pub mod calendar;
pub mod earliest;
pub mod event;
pub mod server;
pub mod slab;
