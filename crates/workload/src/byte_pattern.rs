//! Bytes that every block written repeats, in place of random ones.

use serde::{Deserialize, Serialize};

/// One to [`BytePattern::BYTES_MAX`] bytes. In a job a hexadecimal number, `0xdeadbeef`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BytePattern {
    bytes: [u8; Self::BYTES_MAX],
    length: u8,
}

impl BytePattern {
    /// The most bytes that repeat.
    pub const BYTES_MAX: usize = 64;

    /// Returns the bytes of `0xdeadbeef`, in that order.
    ///
    /// # Errors
    /// What was expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        let expected = || {
            format!(
                "expected 0x and 1 to {} bytes of two hexadecimal digits in quotes, such as \"0xdeadbeef\"",
                Self::BYTES_MAX
            )
        };
        let digits = text.strip_prefix("0x").ok_or_else(expected)?;
        let count = digits.len() / 2;
        if !digits.len().is_multiple_of(2)
            || !(1..=Self::BYTES_MAX).contains(&count)
            || !digits.bytes().all(|digit| digit.is_ascii_hexdigit())
        {
            return Err(expected());
        }
        let mut bytes = [0; Self::BYTES_MAX];
        for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| expected())?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| expected())?;
        }
        Ok(Self {
            bytes,
            length: count as u8,
        })
    }

    /// Returns the bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl TryFrom<String> for BytePattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
    }
}

impl From<BytePattern> for String {
    fn from(pattern: BytePattern) -> Self {
        let digits = pattern.bytes().iter().map(|byte| format!("{byte:02x}"));
        format!("0x{}", digits.collect::<String>())
    }
}
