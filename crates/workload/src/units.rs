//! Sizes, durations, percentages, multiples and rates: text to numbers, here and nowhere else.
//! Errors are one line that says what was found and what was expected; the caller adds the place.

const KIB: u64 = 1 << 10;
const SECOND_NS: u64 = 1_000_000_000;

/// Suffixes of sizes. A bare `k`, `m`, `g`, `t` is what fio reads: a power of 1024.
const SIZES: [(&str, u64); 17] = [
    ("", 1),
    ("B", 1),
    ("k", KIB),
    ("m", KIB.pow(2)),
    ("g", KIB.pow(3)),
    ("t", KIB.pow(4)),
    ("KiB", KIB),
    ("MiB", KIB.pow(2)),
    ("GiB", KIB.pow(3)),
    ("TiB", KIB.pow(4)),
    ("PiB", KIB.pow(5)),
    ("kB", 1000),
    ("KB", 1000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("PB", 1_000_000_000_000_000),
];

const DURATIONS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", SECOND_NS),
    ("min", 60 * SECOND_NS),
    ("h", 3600 * SECOND_NS),
    ("d", 86_400 * SECOND_NS),
];

const RATES: [(&str, u64); 4] = [("", 1), ("k", 1000), ("K", 1000), ("M", 1_000_000)];

/// Parses `4KiB`, `1.5GiB`, `128k` (= KiB as fio reads it), `512`, `10MB` (= 10^7).
///
/// # Errors
/// One line that says what was expected.
pub fn parse_size_bytes(text: &str) -> Result<u64, String> {
    let expected = "expected a size such as 4KiB, 128k (= KiB), 1.5GiB or 10GB (= 10^10)";
    let (number, unit) = split_number(text.trim());
    let factor = SIZES
        .iter()
        .find(|(name, _)| *name == unit)
        .or_else(|| {
            let binary = |name: &str| name.len() == 1 || name.ends_with("iB");
            let same = |name: &str| binary(name) && name.eq_ignore_ascii_case(unit);
            SIZES.iter().find(|(name, _)| same(name))
        })
        .map(|&(_, factor)| factor)
        .ok_or_else(|| unknown_unit(text, unit, &SIZES, expected))?;
    let beyond = || format!("`{text}` is beyond 2^64 bytes");
    // A float keeps only the first 53 bits of a whole number.
    if let Some(count) = digits(number) {
        return count.checked_mul(factor).ok_or_else(beyond);
    }
    let bytes = scaled(number, factor).ok_or_else(|| format!("`{text}`: {expected}"))?;
    if bytes.fract() != 0.0 {
        return Err(format!("`{text}` is not a whole number of bytes"));
    }
    whole(bytes).ok_or_else(beyond)
}

/// Parses `500us`, `10s`, `10min`, `6h`, `1h30min`, `1h 30min`.
///
/// # Errors
/// One line that says what was expected.
pub fn parse_duration_ns(text: &str) -> Result<u64, String> {
    let expected = "expected a duration such as 500us, 10s, 10min or 1h30min";
    let mut rest = text.trim();
    let mut total_ns = 0.0;
    if rest.is_empty() {
        return Err(format!("`{text}`: {expected}"));
    }
    while !rest.is_empty() {
        let (number, tail) = split_number(rest);
        let end = tail
            .find(|c: char| c.is_ascii_digit() || c.is_whitespace())
            .unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(end);
        let factor = match unit {
            "" => return Err(format!("`{text}` has no unit: {expected}")),
            "m" => return Err(format!("`{text}`: `m` is ambiguous, write min or ms")),
            _ => DURATIONS.iter().find(|(name, _)| *name == unit),
        };
        let &(_, factor) = factor.ok_or_else(|| unknown_unit(text, unit, &DURATIONS, expected))?;
        total_ns += scaled(number, factor).ok_or_else(|| format!("`{text}`: {expected}"))?;
        rest = tail.trim_start();
    }
    whole(total_ns.round()).ok_or_else(|| format!("`{text}` is beyond 584 years"))
}

/// Parses `25%` as 0.25.
///
/// # Errors
/// One line that says what was expected; also outside 0 % to 100 %.
pub fn parse_percent(text: &str) -> Result<f64, String> {
    match parse_share(text)? {
        share if share <= 1.0 => Ok(share),
        _ => Err(format!("`{text}` is more than 100%")),
    }
}

/// As [`parse_percent`], for shares that may be more than the whole: `120%` as 1.2.
pub(crate) fn parse_share(text: &str) -> Result<f64, String> {
    let number = text.trim().strip_suffix('%').map(str::trim_end);
    match number.and_then(decimal) {
        Some(percent) => Ok(percent / 100.0),
        None => Err(format!("`{text}`: expected a percentage such as 25%")),
    }
}

/// Parses `2x` as 2.
///
/// # Errors
/// One line that says what was expected.
pub fn parse_multiple(text: &str) -> Result<f64, String> {
    text.trim()
        .strip_suffix('x')
        .and_then(decimal)
        .ok_or_else(|| format!("`{text}`: expected a multiple of the region such as 2x"))
}

/// Parses `100000/s`, `400k/s` (= 400,000) and `1.5M/s` as I/O per second.
///
/// # Errors
/// One line that says what was expected.
pub fn parse_rate_iops(text: &str) -> Result<f64, String> {
    let rate = text.trim().strip_suffix("/s").and_then(|per_second| {
        let (number, unit) = split_number(per_second.trim_end());
        let (_, factor) = RATES.iter().find(|(name, _)| *name == unit)?;
        scaled(number, *factor)
    });
    rate.ok_or_else(|| format!("`{text}`: expected a rate such as 100000/s or 400k/s (= 400,000)"))
}

/// Returns the leading decimal number and the trimmed rest.
fn split_number(text: &str) -> (&str, &str) {
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'))
        .unwrap_or(text.len());
    (&text[..end], text[end..].trim_start())
}

/// Digits with at most one point, and `_` between digits; no sign and no exponent.
fn decimal(text: &str) -> Option<f64> {
    let plain = |c: char| c.is_ascii_digit() || c == '.' || c == '_';
    match text.starts_with(|c: char| c.is_ascii_digit()) && text.chars().all(plain) {
        true => text.replace('_', "").parse().ok(),
        false => None,
    }
}

/// As [`decimal`], of a whole number below 2^64.
fn digits(text: &str) -> Option<u64> {
    match text.starts_with('_') {
        true => None,
        false => text.replace('_', "").parse().ok(),
    }
}

fn scaled(number: &str, factor: u64) -> Option<f64> {
    decimal(number).map(|value| value * factor as f64)
}

fn whole(value: f64) -> Option<u64> {
    (value < u64::MAX as f64).then_some(value as u64)
}

fn unknown_unit(text: &str, unit: &str, known: &[(&str, u64)], expected: &str) -> String {
    let nearest = nearest(
        unit,
        known
            .iter()
            .map(|&(name, _)| name)
            .filter(|name| !name.is_empty()),
    );
    match nearest {
        Some(name) => format!("`{text}`: unknown unit `{unit}`, did you mean `{name}`? {expected}"),
        None => format!("`{text}`: {expected}"),
    }
}

/// Returns the known word most like `word`, if any is alike.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|name| {
            (
                strsim::jaro_winkler(&word.to_lowercase(), &name.to_lowercase()),
                name,
            )
        })
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_a_fio_user_expects() {
        let sizes = [
            ("512", 512),
            ("512B", 512),
            ("4k", 4096),
            ("4K", 4096),
            ("128m", 128 << 20),
            ("4KiB", 4096),
            ("4 KiB", 4096),
            ("4kib", 4096),
            ("1.5GiB", 3 << 29),
            ("10MB", 10_000_000),
            ("64kB", 64_000),
            ("7.68TB", 7_680_000_000_000),
            ("1_000", 1000),
            ("9_007_199_254_740_993", (1 << 53) + 1),
            ("8796093022209KiB", (1 << 53) + 1024),
        ];
        for (text, bytes) in sizes {
            assert_eq!(parse_size_bytes(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn durations_add_up_their_parts() {
        let durations = [
            ("1ns", 1),
            ("500us", 500_000),
            ("500µs", 500_000),
            ("1.5s", 1_500_000_000),
            ("10min", 600 * SECOND_NS),
            ("1h30min", 5400 * SECOND_NS),
            ("1h 30min", 5400 * SECOND_NS),
            ("2d", 172_800 * SECOND_NS),
        ];
        for (text, ns) in durations {
            assert_eq!(parse_duration_ns(text), Ok(ns), "{text}");
        }
    }

    #[test]
    fn unit_errors_name_the_unit_that_was_meant() {
        let message = |result: Result<u64, String>| result.expect_err("refused");
        assert!(message(parse_duration_ns("10mins")).contains("did you mean `min`?"));
        assert!(message(parse_duration_ns("10sec")).contains("did you mean `s`?"));
        assert!(message(parse_duration_ns("10")).contains("has no unit"));
        assert!(message(parse_duration_ns("5m")).contains("write min or ms"));
        assert!(message(parse_size_bytes("4Kib/s")).contains("did you mean `KiB`?"));
        assert!(message(parse_size_bytes("0.3KiB")).contains("whole number of bytes"));
        for text in ["", "KiB", "-4k", "1e3", "1..5k", "4kb"] {
            assert!(parse_size_bytes(text).is_err(), "{text}");
        }
        assert!(message(parse_size_bytes("99999999TiB")).contains("beyond"));
    }

    #[test]
    fn percentages_multiples_and_rates_need_their_signs() {
        assert_eq!(parse_percent("25%"), Ok(0.25));
        assert_eq!(parse_percent("100 %"), Ok(1.0));
        assert!(parse_percent("25").is_err());
        assert!(parse_percent("101%").is_err());
        assert_eq!(parse_multiple("2x"), Ok(2.0));
        assert!(parse_multiple("2").is_err());
        assert_eq!(parse_rate_iops("100000/s"), Ok(100_000.0));
        assert_eq!(parse_rate_iops("1.5M/s"), Ok(1_500_000.0));
        assert!(parse_rate_iops("100000").is_err());
    }
}
