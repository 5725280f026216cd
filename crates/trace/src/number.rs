//! Numbers in text, without floating point: a time in seconds with decimals becomes whole nanoseconds.

/// Why a text is not the number that was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NumberError {
    /// It has other characters than digits.
    #[error("not a number")]
    NotANumber,
    /// It is below zero, as times are that count from an event within the trace.
    #[error("below 0; no field of a trace may be negative: add the same to all of them")]
    Negative,
    /// It does not fit 63 bits.
    #[error("too large")]
    TooLarge,
}

/// The largest value of any number in a trace: Parquet keeps signed ones.
const MOST: u64 = i64::MAX as u64;
const DECIMALS: usize = 9;

/// Returns a whole number in decimal digits.
#[inline]
pub(crate) fn whole(text: &[u8]) -> Result<u64, NumberError> {
    if text.is_empty() {
        return Err(NumberError::NotANumber);
    }
    let mut value = 0_u64;
    for &byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return Err(no_digits(text));
        }
        value = value
            .checked_mul(10)
            .and_then(|tens| tens.checked_add(u64::from(digit)))
            .ok_or(NumberError::TooLarge)?;
    }
    if value > MOST {
        return Err(NumberError::TooLarge);
    }
    Ok(value)
}

/// Returns why a text with other characters than digits is no whole number.
#[cold]
fn no_digits(text: &[u8]) -> NumberError {
    match text {
        [b'-', digits @ ..] if !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) => {
            NumberError::Negative
        }
        _ => NumberError::NotANumber,
    }
}

/// Returns a whole number that is multiplied by its unit.
#[inline]
pub(crate) fn scaled(text: &[u8], unit: u64) -> Result<u64, NumberError> {
    let value = whole(text)?.checked_mul(unit);
    value
        .filter(|&value| value <= MOST)
        .ok_or(NumberError::TooLarge)
}

/// Returns a time with or without decimals in nanoseconds; `unit_ns` is a power of ten, or 100 with no decimals.
/// Decimals beyond a nanosecond are cut off.
#[inline]
pub(crate) fn time_ns(text: &[u8], unit_ns: u64) -> Result<u64, NumberError> {
    let Some(point) = memchr::memchr(b'.', text) else {
        return scaled(text, unit_ns);
    };
    let before = scaled(&text[..point], unit_ns)?;
    let decimals = &text[point + 1..];
    if decimals.is_empty() {
        return Ok(before);
    }
    let kept = &decimals[..decimals.len().min(DECIMALS)];
    if decimals.iter().any(|byte| !byte.is_ascii_digit()) {
        return Err(NumberError::NotANumber);
    }
    let fraction = u128::from(whole(kept)?) * u128::from(unit_ns);
    let fraction_ns = fraction / 10_u128.pow(kept.len() as u32);
    let time_ns = before + fraction_ns as u64;
    if time_ns > MOST {
        return Err(NumberError::TooLarge);
    }
    Ok(time_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_with_decimals_are_exact_nanoseconds() {
        assert_eq!(time_ns(b"1.000000001", 1_000_000_000), Ok(1_000_000_001));
        assert_eq!(
            time_ns(b"1455592838.1", 1_000_000_000),
            Ok(1_455_592_838_100_000_000)
        );
        assert_eq!(time_ns(b"0.0123", 1_000_000), Ok(12_300));
        assert_eq!(time_ns(b"7", 1_000), Ok(7_000));
    }

    #[test]
    fn what_is_no_number_or_does_not_fit_is_refused() {
        for text in ["", "-", "--1", "1-", "1e3", "0x10", "1.2.3", ".", " 1"] {
            let found = time_ns(text.as_bytes(), 1_000);
            assert_eq!(found, Err(NumberError::NotANumber), "{text}");
        }
        for text in ["-1", "-0.5", "-12.25"] {
            let found = time_ns(text.as_bytes(), 1_000);
            assert_eq!(found, Err(NumberError::Negative), "{text}");
        }
        assert_eq!(whole(b"9223372036854775808"), Err(NumberError::TooLarge));
        assert_eq!(
            scaled(b"9223372036854775", 10_000),
            Err(NumberError::TooLarge)
        );
    }
}
