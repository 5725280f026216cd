//! Resets of zones with room, as they are due.

/// When zones with room are reset: once enough of the region holds data, before each `every`th write. What is counted,
/// and when, is as in fio (`zbd_adjust_block` of its `zbd.c`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Resets {
    pub(super) above_bytes: f64,
    pub(super) every: u32,
    /// Writes until the next one.
    pub(super) left: u32,
    /// What all zones hold, writes in flight included.
    pub(super) data_bytes: u64,
    /// What was asked for in this pass of the region; each begins to count anew.
    pub(super) passed_bytes: u64,
    pub(super) region_bytes: u64,
}

impl Resets {
    /// A request is to be placed.
    pub(super) fn pass(&mut self, size_bytes: u32) {
        if self.passed_bytes >= self.region_bytes {
            (self.passed_bytes, self.left) = (0, self.every);
        }
        self.passed_bytes += u64::from(size_bytes);
    }

    /// Returns whether the next write finds its zone reset.
    pub(super) fn is_due(&mut self) -> bool {
        if (self.data_bytes as f64) < self.above_bytes {
            return false;
        }
        self.left -= 1;
        let due = self.left == 0;
        if due {
            self.left = self.every;
        }
        due
    }
}
