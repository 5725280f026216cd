//! When a write of a job is complete: when the target has taken it, or when it is safe against a loss of power.

use serde::{Deserialize, Serialize};

/// What every write of a job waits for, as the flags say that its target is opened with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sync {
    /// The target has taken it.
    #[default]
    None,
    /// Its data are safe, and what is needed to read them again (`O_DSYNC`).
    Data,
    /// All that the file system keeps of the file is safe too (`O_SYNC`).
    All,
}

impl Sync {
    /// The words of a job, without that for none.
    pub(crate) const WORDS: [(&str, Self); 2] = [("data", Self::Data), ("all", Self::All)];

    /// Returns whether writes wait for nothing.
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }

    /// Returns the word of a job; `None` for what it has no word for.
    pub fn name(self) -> Option<&'static str> {
        let mut words = Self::WORDS.into_iter();
        words.find(|&(_, sync)| sync == self).map(|(word, _)| word)
    }
}
