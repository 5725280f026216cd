//! Recordings and intervals as Python sees them: read-only, plain numbers in user units.

mod half_widths;
mod interval;
mod latency;
mod recording;
mod resources;
mod wire;

pub use self::half_widths::{HalfWidths, OpHalfWidths};
pub use self::interval::Interval;
pub use self::latency::{OpResult, PartBins};
pub use self::recording::{Recording, describe_errno};
pub use self::resources::{Gpu, Limit, Utilisation};
