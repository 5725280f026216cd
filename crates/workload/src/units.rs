//! Sizes and durations, parsed here and nowhere else.

/// Parses `4KiB`, `1.5GiB`, `128k` (= KiB as fio reads it), `512`, `10MB`.
///
/// # Errors
/// One line that says what was expected.
pub fn parse_size_bytes(_text: &str) -> Result<u64, String> {
    Err("unwritten".into())
}

/// Parses `500us`, `10s`, `10min`, `6h`, `1h30min`.
///
/// # Errors
/// One line that says what was expected.
pub fn parse_duration_ns(_text: &str) -> Result<u64, String> {
    Err("unwritten".into())
}
