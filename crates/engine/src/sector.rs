//! The sectors of data that describe themselves: how one is sealed, and what one that is read turns out to be.

use std::mem::discriminant;

use workload::{Job, Op, Verify};
use xxhash_rust::xxh3::xxh3_64;

use crate::target_spec::TargetKind;

/// Every device writes at least this much or nothing of it.
pub(crate) const SECTOR_BYTES: usize = 512;
/// Words at a sector's start: magic, place, seed, generation. The checksum is its last word.
const HEADER_WORDS: usize = 4;
/// Behind them, with a journal: the number of the write, and the journal that it is in.
const SIGNATURE_AT: usize = HEADER_WORDS * 8;
const CHECKSUM_AT: usize = SECTOR_BYTES - 8;
const MAGIC: u64 = u64::from_le_bytes(*b"fathom\0\x01");
/// What a sector turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Finding {
    /// What was expected.
    Good,
    /// Zeroes or ones alone: what deallocated blocks and erased flash read as.
    Unwritten,
    /// Right but of an earlier pass: a later write was lost.
    Stale(u32),
    /// Right but of a pass that is yet to come.
    Ahead(u32),
    /// Whole and of this seed, but of another place.
    Misdirected(u64),
    /// Data of another seed, or no data of this kind at all.
    Foreign,
    /// Data of this kind, with a wrong checksum.
    Corrupt,
    /// The device gives an error instead.
    Unreadable,
}

/// What a block turned out to be, its sectors together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Good,
    /// All, or the worst, of its sectors.
    Bad(Finding),
    /// Whole sectors of several passes: a write that was done in part.
    Torn,
}

pub(crate) const KINDS: [&str; 8] = [
    "unwritten",
    "stale",
    "of a later generation",
    "misdirected",
    "foreign",
    "corrupt",
    "torn",
    "unreadable",
];

impl Verdict {
    pub(crate) fn kind(self) -> Option<usize> {
        match self {
            Verdict::Good | Verdict::Bad(Finding::Good) => None,
            Verdict::Bad(Finding::Unwritten) => Some(0),
            Verdict::Bad(Finding::Stale(_)) => Some(1),
            Verdict::Bad(Finding::Ahead(_)) => Some(2),
            Verdict::Bad(Finding::Misdirected(_)) => Some(3),
            Verdict::Bad(Finding::Foreign) => Some(4),
            Verdict::Bad(Finding::Corrupt) => Some(5),
            Verdict::Torn => Some(6),
            Verdict::Bad(Finding::Unreadable) => Some(7),
        }
    }
}

fn word(sector: &[u8], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&sector[at..at + 8]);
    u64::from_le_bytes(bytes)
}

/// Returns the number of the write that a sector is of, and the journal that it is in; only with a journal.
pub(crate) fn signature(sector: &[u8]) -> [u64; 2] {
    [word(sector, SIGNATURE_AT), word(sector, SIGNATURE_AT + 8)]
}

/// Makes a block describe itself.
pub(crate) fn seal(
    data: &mut [u8],
    offset_bytes: u64,
    expected: Verify,
    signature: Option<[u64; 2]>,
) {
    let places = (offset_bytes..).step_by(SECTOR_BYTES);
    for (sector, place) in data.chunks_exact_mut(SECTOR_BYTES).zip(places) {
        let header: [u64; HEADER_WORDS] =
            [MAGIC, place, expected.seed, u64::from(expected.generation)];
        let words = header.into_iter().chain(signature.into_iter().flatten());
        for (bytes, value) in sector.chunks_exact_mut(8).zip(words) {
            bytes.copy_from_slice(&value.to_le_bytes());
        }
        let checksum = xxh3_64(&sector[..CHECKSUM_AT]);
        sector[CHECKSUM_AT..].copy_from_slice(&checksum.to_le_bytes());
    }
}

/// Returns whether a sector is whole and describes itself, whatever its place, seed and generation.
pub(crate) fn is_sealed(sector: &[u8]) -> bool {
    word(sector, 0) == MAGIC && word(sector, CHECKSUM_AT) == xxh3_64(&sector[..CHECKSUM_AT])
}

/// What is right besides the data of the latest pass.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Accepted {
    /// Data of earlier passes.
    pub(crate) earlier: bool,
    /// Zeroes.
    pub(crate) zeroes: bool,
    /// Ones alone: a drive may return them for deallocated blocks (NVMe: DLFEAT 010b), a file system never.
    pub(crate) ones: bool,
}

impl Accepted {
    /// Returns what reads may find while `whole` runs on such a target. While that writes, they may find what is not
    /// overwritten yet, and what it has trimmed or zeroed.
    pub(crate) fn by(whole: &Job, kind: TargetKind) -> Self {
        let trims = whole.ops().any(|op| op == Op::Trim);
        Self {
            earlier: whole.is_destructive(),
            zeroes: trims || whole.ops().any(|op| op == Op::WriteZeroes),
            ones: trims && matches!(kind, TargetKind::BlockDevice | TargetKind::NvmeGeneric),
        }
    }
}

/// Returns the byte that fills all of `data`, if it is one of blank media: zeroes, or ones alone.
pub(crate) fn blank(data: &[u8]) -> Option<u8> {
    let first = data.first().copied().unwrap_or(0);
    (matches!(first, 0 | 0xff) && data.iter().all(|&byte| byte == first)).then_some(first)
}

/// Returns what a sector is that was read at a place.
pub(crate) fn find(sector: &[u8], place: u64, expected: Verify, accepted: Accepted) -> Finding {
    if word(sector, 0) != MAGIC {
        return match blank(sector) {
            Some(0) if accepted.zeroes => Finding::Good,
            Some(0xff) if accepted.ones => Finding::Good,
            Some(_) => Finding::Unwritten,
            None => Finding::Foreign,
        };
    }
    if word(sector, CHECKSUM_AT) != xxh3_64(&sector[..CHECKSUM_AT]) {
        return Finding::Corrupt;
    }
    let generation = word(sector, 24) as u32;
    match word(sector, 8) {
        _ if word(sector, 16) != expected.seed => Finding::Foreign,
        other if other != place => Finding::Misdirected(other),
        _ if generation > expected.generation => Finding::Ahead(generation),
        _ if generation < expected.generation && !accepted.earlier => Finding::Stale(generation),
        _ => Finding::Good,
    }
}

/// Returns the verdict on a block, and the place of the first sector that is not as expected.
pub(crate) fn judge(
    data: &[u8],
    offset_bytes: u64,
    expected: Verify,
    accepted: Accepted,
) -> (Verdict, u64) {
    let places = (offset_bytes..).step_by(SECTOR_BYTES);
    let sectors = data.chunks_exact(SECTOR_BYTES).zip(places);
    let found = |(sector, place)| (find(sector, place, expected, accepted), place);
    combine(sectors.map(found), offset_bytes)
}

/// Returns the verdict on sectors that belong together.
pub(crate) fn combine(
    findings: impl Iterator<Item = (Finding, u64)> + Clone,
    offset_bytes: u64,
) -> (Verdict, u64) {
    let mut bad = findings
        .clone()
        .filter(|(finding, _)| *finding != Finding::Good);
    let Some((first, place)) = bad.next() else {
        return (Verdict::Good, offset_bytes);
    };
    let worst = findings
        .clone()
        .map(|(finding, _)| finding)
        .max()
        .unwrap_or(first);
    let mixed = findings.clone().any(|(finding, _)| finding != worst);
    let whole = matches!(
        worst,
        Finding::Unwritten | Finding::Stale(_) | Finding::Ahead(_)
    );
    if mixed && whole {
        return (Verdict::Torn, place);
    }
    let alike = |finding: &Finding| discriminant(finding) == discriminant(&worst);
    let (shown, place) = findings
        .into_iter()
        .find(|(finding, _)| alike(finding))
        .unwrap_or((worst, place));
    (Verdict::Bad(shown), place)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXPECTED: Verify = Verify {
        generation: 1,
        seed: 0,
    };

    fn accepted(mix: &str, kind: TargetKind) -> Accepted {
        let text = format!(
            r#"{{"mix": {mix}, "block": "4KiB", "pattern": "uniform", "load": {{}}, "until": {{"count": 1}}}}"#
        );
        Accepted::by(&Job::from_json(&text, "job.json").unwrap(), kind)
    }

    #[test]
    fn what_a_job_has_trimmed_may_read_as_zeroes_and_on_a_drive_as_ones_too() {
        let (trims, zeroes) = (
            r#"{"read": 1, "trim": 1}"#,
            r#"{"read": 1, "write-zeroes": 1}"#,
        );
        for (mix, kind, allows_zeroes, allows_ones) in [
            (trims, TargetKind::BlockDevice, true, true),
            (trims, TargetKind::NvmeGeneric, true, true),
            (trims, TargetKind::File, true, false),
            (zeroes, TargetKind::BlockDevice, true, false),
            (r#""read""#, TargetKind::BlockDevice, false, false),
        ] {
            let accepted = accepted(mix, kind);
            for (byte, allowed) in [(0, allows_zeroes), (0xff, allows_ones)] {
                let (verdict, _) = judge(&[byte; 4096], 0, EXPECTED, accepted);
                let expected = match allowed {
                    true => Verdict::Good,
                    false => Verdict::Bad(Finding::Unwritten),
                };
                assert_eq!(verdict, expected, "{mix} {kind:?} {byte}");
            }
        }
    }

    #[test]
    fn other_data_are_foreign_though_trims_are_accepted() {
        let trims = accepted(r#"{"read": 1, "trim": 1}"#, TargetKind::BlockDevice);
        for data in [[1; 512], [0xfe; 512]] {
            let (verdict, _) = judge(&data, 0, EXPECTED, trims);
            assert_eq!(verdict, Verdict::Bad(Finding::Foreign));
        }
        let mut almost = [0xff; 512];
        almost[511] = 0;
        let (verdict, _) = judge(&almost, 0, EXPECTED, trims);
        assert_eq!(verdict, Verdict::Bad(Finding::Foreign));
    }
}
