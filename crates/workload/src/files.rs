//! Sets of files: how many there are, how large, in which directories, and which of them the next request goes to.
//! For requests the files lie one behind the other in one space. Whoever issues them finds file and offset again.

use serde::{Deserialize, Serialize};

use crate::{Job, Op};

/// The files that a job works on, and how it goes from one to the next. Equal layouts are the same files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileSet {
    /// How many.
    pub count: u32,
    /// Sizes with their shares of the files; at least one.
    pub sizes: Vec<FileShare>,
    /// Directories in each directory; 1 where there is no depth.
    pub width: u32,
    /// Levels of directories above the files. 0: all files are in one.
    pub depth: u32,
    /// Which file comes next.
    pub select: Select,
    /// How long a file is stayed with.
    pub visit: Visit,
    /// Most files that a thread has open at once. `None`: all of its own.
    pub open: Option<u32>,
    /// Whose the files are.
    pub threads: FileThreads,
    /// Share of the files, or directories, that are there when operations on them begin. `None`: by the operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub present: Option<f64>,
}

/// One size of files with its share.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileShare {
    /// Size in bytes.
    pub size_bytes: u64,
    /// Relative weight, > 0.
    pub weight: f64,
}

/// Which file comes after one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, tag = "kind", rename_all = "kebab-case")]
pub enum Select {
    /// The next one; after the last the first.
    Roundrobin,
    /// Any, equally likely.
    Random,
    /// Zipf-distributed, hot files scattered over the set.
    Zipf {
        /// Skew, > 0.
        theta: f64,
    },
    /// A share of the files gets the rest of the visits, hot files scattered over the set.
    Pareto {
        /// The hot share h, above 0 and below 0.5, which gets 1 - h.
        share: f64,
    },
}

/// How long a file is stayed with before another is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Visit {
    /// A number of requests.
    Requests(u32),
    /// As many bytes as it has.
    Whole,
}

/// Whose the files of a set are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileThreads {
    /// Each thread has its part of them.
    Apart,
    /// Every thread works on all.
    Together,
}

/// The golden ratio's fraction on the scale of a `u64`: its multiples spread evenly, however many are taken.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl FileSet {
    /// Returns whether both are the same files, whatever is done with them.
    pub fn has_layout_of(&self, other: &Self) -> bool {
        (self.count, self.width, self.depth) == (other.count, other.width, other.depth)
            && self.sizes == other.sizes
    }

    /// Returns the size of file `file`, from 0. Sizes are dealt out in their shares, evenly over the set.
    pub fn size_of(&self, file: u32) -> u64 {
        let all: f64 = self.sizes.iter().map(|size| size.weight).sum();
        let draw = u64::from(file).wrapping_mul(GOLDEN) as f64 / 2f64.powi(64);
        let mut below = 0.0;
        let found = self.sizes.iter().find(|size| {
            below += size.weight / all;
            draw < below
        });
        let size = found.or(self.sizes.last());
        size.map_or(0, |size| size.size_bytes)
    }

    /// Returns the one size of all files; `None`: there are several.
    pub fn only_size(&self) -> Option<u64> {
        match &self.sizes[..] {
            [only] => Some(only.size_bytes),
            _ => None,
        }
    }

    /// Returns where each of some files begins in the space of all, and where the last one ends.
    pub fn starts(&self, files: std::ops::Range<u32>) -> Vec<u64> {
        let mut at = match self.only_size() {
            Some(size) => u64::from(files.start) * size,
            None => (0..files.start).map(|file| self.size_of(file)).sum(),
        };
        let mut starts = vec![at];
        starts.extend(files.map(|file| {
            at += self.size_of(file);
            at
        }));
        starts
    }

    /// Returns the bytes of all files.
    pub fn total_bytes(&self) -> u64 {
        match self.only_size() {
            Some(size) => u64::from(self.count) * size,
            None => (0..self.count).map(|file| self.size_of(file)).sum(),
        }
    }

    /// Returns the size of the smallest file that there may be.
    pub fn least_bytes(&self) -> u64 {
        let sizes = self.sizes.iter().map(|size| size.size_bytes);
        sizes.min().unwrap_or(0)
    }

    /// Returns how many directories hold files; `None`: more than can be counted.
    pub fn leaves(&self) -> Option<u32> {
        self.width.checked_pow(self.depth)
    }

    /// Returns the paths of all directories below the set's own, each behind the one that it is in.
    pub fn directories(&self) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        let mut level = vec![String::new()];
        for _ in 0..self.depth {
            let below = |parent: &String| {
                let parent = parent.clone();
                (1..=self.width).map(move |number| format!("{parent}d{number:04}/"))
            };
            level = level.iter().flat_map(below).collect();
            all.extend(
                level
                    .iter()
                    .map(|path| path.trim_end_matches('/').to_owned()),
            );
        }
        all
    }

    /// Returns which of the lowest directories holds file `file`, from 0. Files that follow each other share one.
    pub fn leaf_of(&self, file: u32) -> u32 {
        let leaves = u64::from(self.leaves().unwrap_or(1));
        (u64::from(file) * leaves / u64::from(self.count.max(1))) as u32
    }

    /// Returns the path of one of the lowest directories; empty where there is no depth.
    pub fn leaf_path(&self, leaf: u32) -> String {
        let level = |level| leaf / self.width.pow(level) % self.width + 1;
        let names = (0..self.depth).rev();
        let names = names.map(|above| format!("d{:04}", level(above)));
        names.collect::<Vec<_>>().join("/")
    }

    /// Returns the path of file `file`, from 0, below the set's own directory.
    pub fn path(&self, file: u32) -> String {
        self.beside(file, &Self::name(file))
    }

    /// Returns the path of what lies beside file `file` under that name.
    pub fn beside(&self, file: u32, name: &str) -> String {
        match self.depth {
            0 => name.to_owned(),
            _ => format!("{}/{name}", self.leaf_path(self.leaf_of(file))),
        }
    }

    /// Returns the name of file `file` in its directory.
    pub fn name(file: u32) -> String {
        format!("f{:07}", file + 1)
    }

    /// Returns the other name of file `file`, which it has after a rename.
    pub fn other_name(file: u32) -> String {
        format!("f{:07}r", file + 1)
    }

    /// Returns the name of the directory that is made and removed beside file `file`.
    pub fn directory_name(file: u32) -> String {
        format!("m{:07}", file + 1)
    }

    /// Returns how many of `own` files are there when the operations of `job` begin; they are the first.
    pub fn files_present(&self, job: &Job, own: u32) -> u32 {
        self.present_of(job, Op::Create, Op::Delete, own)
    }

    /// Returns how many of `own` directories are there when the operations of `job` begin; they are the first. There are
    /// none where the job has nothing to do with them.
    pub fn directories_present(&self, job: &Job, own: u32) -> u32 {
        let has = |op| job.ops().any(|one| one == op);
        match has(Op::Mkdir) || has(Op::Rmdir) || has(Op::StatDirectory) {
            true => self.present_of(job, Op::Mkdir, Op::Rmdir, own),
            false => 0,
        }
    }

    /// None where only `makes` is issued, half where `removes` is too, all where nothing is made.
    fn present_of(&self, job: &Job, makes: Op, removes: Op, own: u32) -> u32 {
        let has = |op| job.ops().any(|one| one == op);
        let usual = match (has(makes), has(removes)) {
            (true, true) => 0.5,
            (true, false) => 0.0,
            (false, _) => 1.0,
        };
        (self.present.unwrap_or(usual) * f64::from(own)).round() as u32
    }

    /// Returns the files of thread `thread` of `threads`.
    pub fn files_of(&self, thread: u32, threads: u32) -> std::ops::Range<u32> {
        match self.threads {
            FileThreads::Together => 0..self.count,
            FileThreads::Apart => {
                let start = |part| crate::region::part_start(self.count.into(), part, threads);
                start(thread) as u32..start(thread + 1) as u32
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn set(count: u32, sizes: &[(u64, f64)]) -> FileSet {
        let sizes = sizes
            .iter()
            .map(|&(size_bytes, weight)| FileShare { size_bytes, weight });
        FileSet {
            count,
            sizes: sizes.collect(),
            width: 3,
            depth: 2,
            select: Select::Roundrobin,
            visit: Visit::Requests(1),
            open: None,
            threads: FileThreads::Apart,
            present: None,
        }
    }

    #[test]
    fn sizes_have_their_shares_of_the_files_and_add_up() {
        let files = set(1000, &[(4096, 70.0), (65536, 30.0)]);
        let mut counts = BTreeMap::new();
        for file in 0..1000 {
            *counts.entry(files.size_of(file)).or_insert(0) += 1;
        }
        assert!((695..=705).contains(&counts[&4096]), "{counts:?}");
        assert_eq!(files.starts(0..1000)[1000], files.total_bytes());
        assert_eq!(files.starts(400..500)[0], files.starts(0..400)[400]);
    }

    #[test]
    fn every_file_lies_in_one_of_the_lowest_directories_and_has_a_name_of_its_own() {
        let files = set(90, &[(4096, 1.0)]);
        let directories = files.directories();
        assert_eq!(directories.len(), 3 + 9);
        let mut held = BTreeMap::new();
        for file in 0..90 {
            let path = files.path(file);
            let (directory, _) = path.rsplit_once('/').unwrap();
            assert!(directories.iter().any(|one| one == directory), "{path}");
            *held.entry(directory.to_owned()).or_insert(0) += 1;
        }
        assert_eq!(held.len(), 9);
        assert!(held.values().all(|&count| count == 10), "{held:?}");
    }

    #[test]
    fn the_parts_of_threads_are_all_files_once() {
        let files = set(10, &[(4096, 1.0)]);
        let parts = (0..4).flat_map(|thread| files.files_of(thread, 4));
        assert!(parts.eq(0..10));
    }
}
