//! Typed access to a tree: each function either returns what was asked for or refuses. A refusal says what was found,
//! what was expected and, for a misspelt word, the nearest valid one.

use super::refusal::Refusal;
use super::tree::{Entry, Node, Value};
use crate::units::nearest;

type Result<T> = std::result::Result<T, Refusal>;

/// A table with only known keys.
pub(super) struct Fields<'a> {
    entries: &'a [Entry],
    line: u32,
    name: &'static str,
}

/// Words that users of other tools try, and the key of the job that does it here.
const FOREIGN: [(&str, &str); 92] = [
    ("rw", "mix"),
    ("readwrite", "mix"),
    ("rwmixread", "mix"),
    ("rwmixwrite", "mix"),
    ("rdpct", "mix"),
    ("fsync", "mix"),
    ("bs", "block"),
    ("blocksize", "block"),
    ("block_size", "block"),
    ("bssplit", "block"),
    ("bsrange", "block"),
    ("xfersize", "block"),
    ("size", "region.size"),
    ("offset", "region.start"),
    ("range", "region"),
    ("random_distribution", "pattern"),
    ("percentage_random", "pattern"),
    ("seekpct", "pattern"),
    ("norandommap", "pattern"),
    ("random_map", "pattern"),
    ("zonemode", "pattern"),
    ("max_open_zones", "pattern"),
    ("nrfiles", "files.count"),
    ("filesize", "files.size"),
    ("sizes", "files.size"),
    ("file_service_type", "files.select"),
    ("fileselect", "files.select"),
    ("openfiles", "files.open"),
    ("stopafter", "files.visit"),
    ("fsd", "files"),
    ("fwd", "files"),
    ("depth", "files.depth"),
    ("width", "files.width"),
    ("ba", "align"),
    ("blockalign", "align"),
    ("buffer_compress_percentage", "content.compressible"),
    ("dedupe_percentage", "content.dedup"),
    ("dedupratio", "content.dedup"),
    ("compratio", "content.compressible"),
    ("verify", "content.verify"),
    ("refill_buffers", "content"),
    ("fdp_pli", "placement"),
    ("buffered", "direct"),
    ("openflags", "direct"),
    ("o_sync", "sync"),
    ("o_dsync", "sync"),
    ("prio", "priority.level"),
    ("prioclass", "priority.class"),
    ("cmdprio_percentage", "priority_shares"),
    ("cmdprio_bssplit", "priority_shares"),
    ("buffer_pattern", "content.pattern"),
    ("sqthread_poll", "sqpoll"),
    ("iomem", "huge_pages"),
    ("cuda_io", "gpu"),
    ("gpu_dev_ids", "gpu"),
    ("numjobs", "load.threads"),
    ("jobs", "load.threads"),
    ("threads", "load.threads"),
    ("thread", "load.threads"),
    ("iodepth", "load.iodepth"),
    ("queue_depth", "load.iodepth"),
    ("qd", "load.iodepth"),
    ("outstanding", "load.iodepth"),
    ("rate", "load.rate"),
    ("rate_iops", "load.rate"),
    ("iorate", "load.rate"),
    ("rate_process", "load.arrival"),
    ("distribution", "load.arrival"),
    ("arrival", "load.arrival"),
    ("thinktime", "load.think"),
    ("think_time", "load.think"),
    ("think", "load.think"),
    ("iodepth_batch_complete_min", "load.reap"),
    ("reap", "load.reap"),
    ("skew", "load.split"),
    ("continue_on_error", "errors"),
    ("data_errors", "errors"),
    ("write_iolog", "journal"),
    ("verify_state_save", "journal"),
    ("runtime", "until.time"),
    ("timeout", "until.time"),
    ("elapsed", "until.time"),
    ("time", "until.time"),
    ("time_based", "until.time"),
    ("io_size", "until.bytes"),
    ("bytes", "until.bytes"),
    ("loops", "until.written"),
    ("fill_device", "until.written"),
    ("written", "until.written"),
    ("number_ios", "until.count"),
    ("count", "until.count"),
    ("maxdata", "until.bytes"),
];

/// Words of other tools for what no key does, and where it is done.
const ELSEWHERE: [(&str, &str); 16] = [
    ("ioengine", "the target says how I/O is issued"),
    ("filename", "targets are named on the command line"),
    ("lun", "targets are named on the command line"),
    ("directory", "targets are named on the command line"),
    (
        "group_reporting",
        "threads are reported together: leave it out",
    ),
    ("stonewall", "steps run one after the other: leave it out"),
    ("ramp_time", "put a step of kind \"precondition\" before"),
    ("warmup", "put a step of kind \"precondition\" before"),
    ("startdelay", "put a step of kind \"idle\" before"),
    (
        "randseed",
        "the option --seed of `fathom run` seeds all of it",
    ),
    (
        "randrepeat",
        "the option --seed of `fathom run` seeds all of it",
    ),
    ("interval", "every second is recorded: leave it out"),
    ("log_avg_msec", "every second is recorded: leave it out"),
    (
        "lat_percentiles",
        "all percentiles are recorded: leave it out",
    ),
    (
        "percentile_list",
        "all percentiles are recorded: leave it out",
    ),
    (
        "latency_target",
        "a step of kind \"curve\" with `slo` searches for the rate",
    ),
];

impl<'a> Fields<'a> {
    pub fn new(node: &'a Node, name: &'static str, known: &[&str]) -> Result<Self> {
        let Value::Table(entries) = &node.value else {
            let keys = known.join(", ");
            return Err(node.refuse(name, &format!("a table with keys {keys}")));
        };
        match entries
            .iter()
            .find(|entry| !known.contains(&entry.key.as_str()))
        {
            None => Ok(Self {
                entries,
                line: node.line,
                name,
            }),
            Some(unknown) => Err(Refusal {
                line: unknown.key_line,
                message: unknown_key(&unknown.key, name, known),
            }),
        }
    }

    pub fn get(&self, key: &str) -> Option<&'a Node> {
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        Some(&entry.node)
    }

    pub fn need(&self, key: &str) -> Result<&'a Node> {
        self.get(key).ok_or_else(|| Refusal {
            line: self.line,
            message: format!("{} lacks the key `{key}`", self.name),
        })
    }

    pub fn text(&self, key: &str) -> Result<String> {
        self.need(key)?.text(key).map(str::to_owned)
    }

    pub fn text_or(&self, key: &str, default: &str) -> Result<String> {
        match self.get(key) {
            Some(node) => node.text(key).map(str::to_owned),
            None => Ok(default.to_owned()),
        }
    }

    pub fn integer_or<T: TryFrom<i128>>(&self, key: &str, default: T) -> Result<T> {
        self.get(key).map_or(Ok(default), |node| node.integer(key))
    }

    /// An optional value written as text and read by `parse`.
    pub fn parsed<T>(
        &self,
        key: &str,
        parse: impl Fn(&str) -> std::result::Result<T, String>,
    ) -> Result<Option<T>> {
        self.get(key)
            .map(|node| node.parsed(key, parse))
            .transpose()
    }
}

fn unknown_key(key: &str, name: &str, known: &[&str]) -> String {
    let unknown = format!("unknown key `{key}` in {name}");
    // A key that is here but for its dashes or underscores is meant, whatever other tools call so.
    let plain = |word: &str| word.replace('-', "_").to_lowercase();
    if let Some(here) = known.iter().find(|here| plain(here) == plain(key)) {
        return format!("{unknown}, did you mean `{here}`?");
    }
    if let Some(here) = foreign(key, known) {
        return format!("{unknown}: see `{here}`");
    }
    if let Some((_, where_it_is)) = ELSEWHERE.iter().find(|(word, _)| *word == key) {
        return format!("{unknown}: {where_it_is}");
    }
    match nearest(key, known.iter().copied()) {
        Some(here) => format!("{unknown}, did you mean `{here}`?"),
        None => format!("{unknown}, expected one of {}", known.join(", ")),
    }
}

/// Returns what another tool's word is called here, as seen from a table of the `known` keys. The table is a step, its
/// job, or a table in the job.
fn foreign(key: &str, known: &[&str]) -> Option<String> {
    let (_, place) = FOREIGN.iter().find(|(word, _)| *word == key)?;
    let (first, last) = place.split_once('.').unwrap_or((place, place));
    if known.contains(&first) {
        return Some((*place).to_owned());
    }
    if known.contains(&last) {
        return Some(last.to_owned());
    }
    known.contains(&"job").then(|| format!("job.{place}"))
}

impl Node {
    /// `what` was found to be something else than `expected`.
    pub fn refuse(&self, what: &str, expected: &str) -> Refusal {
        let found = match &self.value {
            Value::Null => "null".to_owned(),
            Value::Bool(flag) => flag.to_string(),
            Value::Integer(number) => number.to_string(),
            Value::Float(number) => format!("{number:?}"),
            Value::Text(text) => format!("{text:?}"),
            Value::List(items) => format!("a list of {}", items.len()),
            Value::Table(_) => "a table".to_owned(),
        };
        self.fault(format!("{what} is {found}, expected {expected}"))
    }

    pub fn fault(&self, message: String) -> Refusal {
        Refusal {
            line: self.line,
            message,
        }
    }

    pub fn text(&self, what: &str) -> Result<&str> {
        match &self.value {
            Value::Text(text) => Ok(text),
            _ => Err(self.refuse(what, "text in quotes")),
        }
    }

    pub fn flag(&self, what: &str) -> Result<bool> {
        match self.value {
            Value::Bool(flag) => Ok(flag),
            _ => Err(self.refuse(what, "true or false")),
        }
    }

    pub fn integer<T: TryFrom<i128>>(&self, what: &str) -> Result<T> {
        let expected = match self.value {
            Value::Integer(number) => match T::try_from(number) {
                Ok(integer) => return Ok(integer),
                Err(_) if number < 0 => "a whole number, 0 or more",
                Err(_) => "a smaller whole number",
            },
            _ => "a whole number",
        };
        Err(self.refuse(what, expected))
    }

    pub fn number(&self, what: &str) -> Result<f64> {
        match self.value {
            Value::Integer(number) => Ok(number as f64),
            Value::Float(number) if number.is_finite() => Ok(number),
            _ => Err(self.refuse(what, "a number")),
        }
    }

    pub fn list(&self, what: &str) -> Result<&[Node]> {
        match &self.value {
            Value::List(items) if !items.is_empty() => Ok(items),
            _ => Err(self.refuse(what, "a list with at least one entry")),
        }
    }

    pub fn parsed<T>(
        &self,
        what: &str,
        parse: impl Fn(&str) -> std::result::Result<T, String>,
    ) -> Result<T> {
        let text = match &self.value {
            Value::Text(text) => text.as_str(),
            Value::Integer(number) => &number.to_string(),
            Value::Float(number) => &number.to_string(),
            _ => return Err(self.refuse(what, "text in quotes")),
        };
        parse(text).map_err(|message| self.fault(format!("{what}: {message}")))
    }

    /// One of `words`; `foreign` names what users of other tools call them.
    pub fn word<T: Clone>(
        &self,
        what: &str,
        words: &[(&'static str, T)],
        foreign: &[(&str, &'static str)],
    ) -> Result<T> {
        let found = self.text(what)?;
        self.choose(what, found, words, foreign)
    }

    /// As [`Node::word`], for a word that stands at this node's place.
    pub fn choose<T: Clone>(
        &self,
        what: &str,
        found: &str,
        words: &[(&'static str, T)],
        foreign: &[(&str, &'static str)],
    ) -> Result<T> {
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == found) {
            return Ok(value.clone());
        }
        let names = || words.iter().map(|(word, _)| *word);
        let meant = foreign
            .iter()
            .find(|(word, _)| *word == found)
            .map(|(_, here)| *here)
            .or_else(|| nearest(found, names()));
        let hint = meant.map_or(String::new(), |word| format!(", did you mean \"{word}\"?"));
        let expected = names().collect::<Vec<_>>().join(", ");
        Err(self.fault(format!(
            "{what} is {found:?}, expected one of {expected}{hint}"
        )))
    }
}
