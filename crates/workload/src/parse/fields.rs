//! Typed access to a tree: each function either returns what was asked for or refuses with what was
//! found, what was expected and, for a misspelt word, the nearest valid one.

use super::Refusal;
use super::tree::{Entry, Node, Value};
use crate::units::nearest;

type Result<T> = std::result::Result<T, Refusal>;

/// A table with only known keys.
pub(super) struct Fields<'a> {
    entries: &'a [Entry],
    line: u32,
    name: &'static str,
}

/// Words that users of other tools try, and what they are called here.
const FOREIGN: [(&str, &str); 42] = [
    ("rw", "mix"),
    ("readwrite", "mix"),
    ("rwmixread", "mix"),
    ("rdpct", "mix"),
    ("bs", "block"),
    ("blocksize", "block"),
    ("block_size", "block"),
    ("bssplit", "block"),
    ("xfersize", "block"),
    ("size", "region"),
    ("offset", "region"),
    ("range", "region"),
    ("random_distribution", "pattern"),
    ("seekpct", "pattern"),
    ("blockalign", "align"),
    ("buffer_compress_percentage", "content"),
    ("verify", "content"),
    ("numjobs", "load"),
    ("iodepth", "load"),
    ("threads", "load"),
    ("rate_iops", "rate"),
    ("iorate", "rate"),
    ("rate_process", "arrival"),
    ("distribution", "arrival"),
    ("runtime", "until"),
    ("elapsed", "until"),
    ("loops", "until"),
    ("number_ios", "count"),
    ("norandommap", "pattern"),
    ("random_map", "pattern"),
    ("thinktime", "think"),
    ("skew", "split"),
    ("think_time", "think"),
    ("iodepth_batch_complete_min", "reap"),
    ("iomem", "huge-pages"),
    ("sqthread_poll", "sqpoll"),
    ("dedupe_percentage", "content"),
    ("dedupratio", "content"),
    ("continue_on_error", "errors"),
    ("data_errors", "errors"),
    ("write_iolog", "journal"),
    ("verify_state_save", "journal"),
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
    let foreign = FOREIGN
        .iter()
        .find(|(word, here)| *word == key && known.contains(here));
    match (foreign, nearest(key, known.iter().copied())) {
        (Some((_, here)), _) => format!("unknown key `{key}` in {name}: see `{here}`"),
        (None, Some(here)) => format!("unknown key `{key}` in {name}, did you mean `{here}`?"),
        (None, None) => format!(
            "unknown key `{key}` in {name}, expected one of {}",
            known.join(", ")
        ),
    }
}

impl Node {
    /// `what` was found to be something else than `expected`.
    pub fn refuse(&self, what: &str, expected: &str) -> Refusal {
        let found = match &self.value {
            Value::Null => "null".to_owned(),
            Value::Bool(flag) => flag.to_string(),
            Value::Integer(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
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
        let integer = match self.value {
            Value::Integer(number) => T::try_from(number).ok(),
            _ => None,
        };
        integer.ok_or_else(|| self.refuse(what, "a whole number in range"))
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
