//! The journals of a directory, read record by record: which of them belong together, what is torn.

use std::{
    collections::{BTreeSet, HashSet},
    fs::File,
    io::{self, BufReader, Read},
    path::{Path, PathBuf},
};

use crate::{
    EngineError,
    write_journal::{HEADER_BYTES, Header, RECORD_BYTES, Record, SCHEMA, SUFFIX},
};

/// The journals of one target, found and not yet read.
pub(super) struct Journals {
    pub header: Header,
    pub paths: Vec<PathBuf>,
    /// Bytes of files whose header a crash has kept from the disk.
    pub torn_bytes: u64,
    /// What distinguishes the writes of these journals from those of earlier ones.
    pub runs: HashSet<u64>,
}

impl Journals {
    /// Returns the journals of `target`, or of the only target that they name.
    pub fn find(directory: &Path, target: Option<&Path>) -> Result<Self, EngineError> {
        let mut torn_bytes = 0;
        let mut files = Vec::new();
        for path in listed(directory)? {
            match header(&path)? {
                Begin::Header(header) => files.push((header, path)),
                // The crash came before the load began: every journal is durable by then.
                Begin::Zeroes(bytes) => torn_bytes += bytes,
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
        let Some((expected, _)) = files.first().cloned() else {
            return Err(refuse(
                directory,
                io::Error::other(
                    "holds no write journal: name the directory that the job's `journal` names",
                ),
            ));
        };
        let of_pass = |header: &Header| (header.generation, header.seed);
        if let Some((_, path)) = files
            .iter()
            .find(|(header, _)| of_pass(header) != of_pass(&expected))
        {
            let reason = "is of another pass than the others: move it to a directory of its own";
            return Err(refuse(path, io::Error::other(reason)));
        }
        Ok(Self {
            header: expected,
            torn_bytes,
            runs: files.iter().map(|(header, _)| header.run).collect(),
            paths: files.into_iter().map(|(_, path)| path).collect(),
        })
    }

    /// Calls `each` with every whole record and the run that its journal is of; the bytes that are none. What is torn
    /// need not be the end of a journal: a crash may keep later pages of an append and not the earlier ones.
    pub fn records(&self, mut each: impl FnMut(u64, Record)) -> Result<u64, EngineError> {
        let mut torn_bytes = self.torn_bytes;
        for path in &self.paths {
            let Begin::Header(Header { run, .. }) = header(path)? else {
                let reason = "was emptied while it was read: try again";
                return Err(refuse(path, io::Error::other(reason)));
            };
            torn_bytes +=
                records(path, |record| each(run, record)).map_err(|error| refuse(path, error))?;
        }
        Ok(torn_bytes)
    }
}

/// Those of one file; the bytes behind its header that are none.
fn records(path: &Path, mut each: impl FnMut(Record)) -> io::Result<u64> {
    let mut file = BufReader::with_capacity(1 << 20, File::open(path)?);
    file.seek_relative(HEADER_BYTES as i64)?;
    let (mut torn_bytes, mut bytes) = (0, [0; RECORD_BYTES]);
    loop {
        let read = fill(&mut file, &mut bytes)?;
        match Record::from_bytes(&bytes) {
            Some(record) if read == RECORD_BYTES => each(record),
            _ => torn_bytes += read as u64,
        }
        if read < RECORD_BYTES {
            return Ok(torn_bytes);
        }
    }
}

/// Returns the journal files, by name.
fn listed(directory: &Path) -> Result<Vec<PathBuf>, EngineError> {
    let entries = std::fs::read_dir(directory).map_err(|error| refuse(directory, error))?;
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|suffix| suffix == SUFFIX))
        .collect();
    paths.sort();
    Ok(paths)
}

/// How a journal begins.
enum Begin {
    Header(Header),
    /// This number of zero bytes, and nothing else.
    Zeroes(u64),
}

fn header(path: &Path) -> Result<Begin, EngineError> {
    let unread = |error| refuse(path, error);
    let mut file = File::open(path).map_err(unread)?;
    let mut line = [0; HEADER_BYTES];
    let read = fill(&mut file, &mut line).map_err(unread)?;
    if line[..read].iter().all(|&byte| byte == 0)
        && let Some(more) = zeroes(file).map_err(unread)?
    {
        return Ok(Begin::Zeroes(read as u64 + more));
    }
    serde_json::from_slice(&line[..read])
        .ok()
        .filter(|header: &Header| read == HEADER_BYTES && header.schema == SCHEMA)
        .map(Begin::Header)
        .ok_or_else(|| {
            let reason = format!("is no write journal ({SCHEMA}): move it elsewhere");
            refuse(path, io::Error::other(reason))
        })
}

/// Returns how many bytes are left, if all of them are zeroes.
fn zeroes(file: File) -> io::Result<Option<u64>> {
    let (mut file, mut bytes) = (BufReader::new(file), [0; HEADER_BYTES]);
    let mut size = 0;
    loop {
        let read = fill(&mut file, &mut bytes)?;
        if bytes[..read].iter().any(|&byte| byte != 0) {
            return Ok(None);
        }
        size += read as u64;
        if read < bytes.len() {
            return Ok(Some(size));
        }
    }
}

/// Reads until `bytes` are full or the file ends; how many it were.
fn fill(file: &mut impl Read, bytes: &mut [u8]) -> io::Result<usize> {
    let mut done = 0;
    while done < bytes.len() {
        match file.read(&mut bytes[done..]) {
            Ok(0) => break,
            Ok(read) => done += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

pub(super) fn refuse(path: &Path, source: io::Error) -> EngineError {
    EngineError::Journal {
        path: path.into(),
        source,
    }
}
