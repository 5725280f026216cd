//! The journals of a directory: which writes were acknowledged, and which of them is the latest of each sector.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    io,
    path::{Path, PathBuf},
};

use super::{PLACE_SECTORS, refuse};
use crate::{
    EngineError,
    journal::{HEADER_BYTES, Header, Kind, RECORD_BYTES, Record, SCHEMA, SUFFIX},
    verify::SECTOR_BYTES,
};

/// The journals of a directory, read.
pub(super) struct Journals {
    pub header: Header,
    pub files: usize,
    pub writes: Vec<Record>,
    /// When the last acknowledged flush was issued, over all threads.
    pub flushed_ns: u64,
    pub torn_bytes: u64,
    pub behind_ns: u64,
    /// What tells the writes of these journals from those of earlier ones.
    pub runs: HashSet<u64>,
}

/// The journals of `target`, or of the only target that they name.
pub(super) fn read(directory: &Path, target: Option<&Path>) -> Result<Journals, EngineError> {
    let mut torn_bytes = 0;
    let mut files = Vec::new();
    for path in listed(directory)? {
        let bytes = std::fs::read(&path).map_err(|error| refuse(&path, error))?;
        match bytes.iter().all(|&byte| byte == 0) {
            // The crash came before the load began: every journal is durable by then.
            true => torn_bytes += bytes.len() as u64,
            false => files.push((header(&path, &bytes)?, path, bytes)),
        }
    }
    let targets: BTreeSet<PathBuf> = files.iter().map(|file| file.0.target.clone()).collect();
    if targets.len() > 1 {
        let Some(target) = target.filter(|target| targets.contains(*target)) else {
            let names: Vec<_> = targets.iter().map(|name| name.to_string_lossy()).collect();
            let reason = format!("is of {}: name one of them behind it", names.join(" and "));
            return Err(refuse(directory, io::Error::other(reason)));
        };
        files.retain(|file| file.0.target == target);
    }
    let Some((first, ..)) = files.first() else {
        return Err(refuse(
            directory,
            io::Error::other(
                "holds no write journal: name the directory that the job's `journal` names",
            ),
        ));
    };
    let mut journals = Journals::new(first.clone());
    journals.torn_bytes = torn_bytes;
    for (header, path, bytes) in &files {
        let expected = &journals.header;
        if (header.generation, header.seed) != (expected.generation, expected.seed) {
            let reason = "is of another pass than the others: move it to a directory of its own";
            return Err(refuse(path, io::Error::other(reason)));
        }
        journals.files += 1;
        journals.runs.insert(header.run);
        journals.take(&bytes[HEADER_BYTES..]);
    }
    Ok(journals)
}

/// Journal files, by name.
fn listed(directory: &Path) -> Result<Vec<PathBuf>, EngineError> {
    let entries = std::fs::read_dir(directory).map_err(|error| refuse(directory, error))?;
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|suffix| suffix == SUFFIX))
        .collect();
    paths.sort();
    Ok(paths)
}

fn header(path: &Path, bytes: &[u8]) -> Result<Header, EngineError> {
    let line = bytes.get(..HEADER_BYTES).unwrap_or_default();
    serde_json::from_slice(line)
        .ok()
        .filter(|header: &Header| header.schema == SCHEMA)
        .ok_or_else(|| {
            refuse(
                path,
                io::Error::other(format!("is no write journal ({SCHEMA}): move it elsewhere")),
            )
        })
}

impl Journals {
    fn new(header: Header) -> Self {
        Self {
            header,
            files: 0,
            writes: Vec::new(),
            flushed_ns: 0,
            torn_bytes: 0,
            behind_ns: 0,
            runs: HashSet::new(),
        }
    }

    /// Takes in the whole records of one file. What is torn need not be its end: a crash may keep later pages of
    /// an append and not the earlier ones.
    fn take(&mut self, bytes: &[u8]) {
        let mut whole = 0;
        for record in bytes
            .chunks_exact(RECORD_BYTES)
            .filter_map(Record::from_bytes)
        {
            whole += RECORD_BYTES;
            match record.kind() {
                Kind::Write => self.writes.push(record),
                Kind::Flush => self.flushed_ns = self.flushed_ns.max(record.issued_ns),
                Kind::Synced => {
                    let behind_ns = record.acked_ns.saturating_sub(record.issued_ns);
                    self.behind_ns = self.behind_ns.max(behind_ns);
                }
            }
        }
        self.torn_bytes += (bytes.len() - whole) as u64;
    }

    /// For every place that was written, the latest write of each of its sectors: its position, from 1.
    pub fn latest(&self) -> BTreeMap<u64, [u32; PLACE_SECTORS]> {
        let mut places = HashMap::<u64, [u32; PLACE_SECTORS]>::new();
        for (index, write) in self.writes.iter().enumerate() {
            let sectors = sectors(write.offset_bytes)
                ..sectors(write.offset_bytes + u64::from(write.size_bytes));
            for sector in sectors {
                let place = places.entry(sector / PLACE_SECTORS as u64).or_default();
                let latest = &mut place[sector as usize % PLACE_SECTORS];
                let before = latest
                    .checked_sub(1)
                    .map(|at| self.writes[at as usize].issued_ns);
                if before.is_none_or(|issued_ns| issued_ns < write.issued_ns) {
                    *latest = index as u32 + 1;
                }
            }
        }
        places.into_iter().collect()
    }
}

fn sectors(bytes: u64) -> u64 {
    bytes / SECTOR_BYTES as u64
}
