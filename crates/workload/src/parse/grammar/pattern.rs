//! In which order a job addresses its region.

use crate::parse::fields::Fields;
use crate::parse::refusal::Result;
use crate::parse::tree::{Entry, Node, Value};
use crate::units::{parse_percent, parse_size_bytes};
use crate::{HotBand, Offsets, Pattern, ZoneReset};

const WORDS: [(&str, Pattern); 4] = [
    ("sequential", Pattern::Sequential),
    ("backwards", Pattern::Backwards),
    ("uniform", Pattern::Uniform),
    ("random-once", Pattern::RandomOnce),
];
const FOREIGN_PATTERNS: [(&str, &str); 12] = [
    ("norandommap", "uniform"),
    ("randommap", "random-once"),
    ("random-map", "random-once"),
    ("shuffle", "random-once"),
    ("reverse", "backwards"),
    ("backward", "backwards"),
    ("random", "uniform"),
    ("rand", "uniform"),
    ("randread", "uniform"),
    ("randwrite", "uniform"),
    ("read", "sequential"),
    ("write", "sequential"),
];

/// The patterns that have parameters, each with an example.
const TABLES: [(&str, &str); 11] = [
    ("zipf", "{ zipf = 0.99 }"),
    ("hot-spots", "{ hot-spots = [{ area = 10, access = 90 }] }"),
    ("random", "{ random = \"80%\" }"),
    ("sequential", "{ sequential = 4 }"),
    ("stride", "{ stride = \"1MiB\" }"),
    (
        "strips",
        "{ strips = { size = \"256MiB\", gap = \"2GiB\" } }",
    ),
    ("blocks", "{ blocks = { order = [2, 0, 1] } }"),
    ("zones", "{ zones = 4 }"),
    ("one-pass", "{ one-pass = { spare = \"15%\" } }"),
    ("pareto", "{ pareto = 0.2 }"),
    ("replay", "{ replay = { file = \"FILE\" } }"),
];
const FOREIGN_TABLES: [(&str, &str); 2] = [("mixed", "random"), ("strided", "stride")];

pub(super) fn pattern(node: &Node) -> Result<Pattern> {
    match &node.value {
        Value::Table(entries) => with_parameters(node, entries),
        Value::Text(text) => without_parameters(node, text),
        _ => node.word("pattern", &WORDS, &FOREIGN_PATTERNS),
    }
}

fn with_parameters(node: &Node, entries: &[Entry]) -> Result<Pattern> {
    let keys = TABLES.map(|(key, _)| key);
    Fields::new(node, "pattern", &keys)?;
    let [
        Entry {
            key, node: value, ..
        },
    ] = entries
    else {
        return Err(node.fault(format!("pattern needs one of {}", keys.join(", "))));
    };
    match key.as_str() {
        "zipf" => Ok(Pattern::Zipf {
            theta: value.number(key)?,
        }),
        "pareto" => Ok(Pattern::Pareto {
            share: value.number(key)?,
        }),
        "hot-spots" => hot_spots(value),
        "replay" => replay(value),
        "random" => mixed(value),
        "sequential" => Ok(Pattern::SequentialStreams {
            streams: value.integer(key)?,
        }),
        "stride" => Ok(Pattern::Strided {
            stride_bytes: value.parsed(key, parse_size_bytes)?,
        }),
        "strips" => strips(value),
        "blocks" => blocks(value),
        "one-pass" => one_pass(value),
        _ => zones(value),
    }
}

/// A word alone. One that needs parameters is refused with its example.
fn without_parameters(node: &Node, text: &str) -> Result<Pattern> {
    let here = FOREIGN_TABLES.iter().find(|(word, _)| *word == text);
    let key = here.map_or(text, |(_, key)| key);
    // "sequential" is a pattern by itself, and "random" alone is fio's word for what is "uniform" here.
    let alone = ["sequential", "random"].contains(&text);
    let table = TABLES.iter().find(|(table, _)| *table == key && !alone);
    match table {
        Some((_, example)) => Err(node.refuse("pattern", example)),
        None => node.word("pattern", &WORDS, &FOREIGN_PATTERNS),
    }
}

/// Strips and the gap behind each.
fn strips(node: &Node) -> Result<Pattern> {
    let fields = Fields::new(node, "strips", &["size", "gap"])?;
    let bytes = |key: &str| fields.need(key)?.parsed(key, parse_size_bytes);
    Ok(Pattern::Strips {
        strip_bytes: bytes("size")?,
        gap_bytes: bytes("gap")?,
    })
}

/// Blocks in a given order.
fn blocks(node: &Node) -> Result<Pattern> {
    let fields = Fields::new(node, "blocks", &["order", "moves"])?;
    let numbers = fields.need("order")?.list("order")?.iter();
    Ok(Pattern::Blocks {
        order: numbers
            .map(|number| number.integer("order"))
            .collect::<Result<_>>()?,
        moves: fields
            .get("moves")
            .map_or(Ok(false), |node| node.flag("moves"))?,
    })
}

/// How much spare flash there is, and in how many parts it is filled.
fn one_pass(node: &Node) -> Result<Pattern> {
    let fields = Fields::new(node, "one-pass", &["spare", "stretches"])?;
    let stretches = fields.get("stretches");
    Ok(Pattern::OnePass {
        spare: fields.need("spare")?.parsed("spare", parse_percent)?,
        stretches: stretches.map_or(Ok(100), |node| node.integer("stretches"))?,
    })
}

/// How many zones are open at a time, or that they come in their order. Also how they begin and end, and when one with
/// room is reset.
fn zones(node: &Node) -> Result<Pattern> {
    let in_order = &[("in-order", None)];
    let Value::Table(_) = node.value else {
        return Ok(open_or_in_order(open_zones(node, "zones", in_order)?));
    };
    let keys = ["open", "choice", "begin", "ends", "reset"];
    let fields = Fields::new(node, "zones", &keys)?;
    let mut pattern = open_or_in_order(open_zones(fields.need("open")?, "open", in_order)?);
    let word = |key, words: &[(&'static str, bool)]| {
        let read = |node: &Node| node.word(key, words, &[]);
        fields.get(key).map_or(Ok(false), read)
    };
    if let Pattern::Zones {
        once,
        empties,
        ends,
        reset,
        ..
    } = &mut pattern
    {
        *once = word("choice", &[("uniform", false), ("random-once", true)])?;
        *empties = word("begin", &[("as-is", false), ("empty", true)])?;
        *ends = fields
            .get("ends")
            .map_or(Ok(false), |node| node.flag("ends"))?;
        *reset = fields.get("reset").map(zone_reset).transpose()?;
    }
    Ok(pattern)
}

/// Returns the pattern of `open` zones at a time; `None`: zones in their order.
const fn open_or_in_order(open: Option<u32>) -> Pattern {
    let (open, in_order) = match open {
        Some(open) => (open, false),
        None => (1, true),
    };
    Pattern::Zones {
        open,
        in_order,
        once: false,
        empties: false,
        ends: false,
        reset: None,
    }
}

/// A number of zones, or as many as the device allows; `more` are words besides.
fn open_zones(node: &Node, key: &str, more: &[(&'static str, Option<u32>)]) -> Result<Option<u32>> {
    let Value::Text(_) = node.value else {
        return match node.integer(key)? {
            0 => Err(node.fault(format!("{key} is 0, expected 1 or more, or \"most\""))),
            open => Ok(Some(open)),
        };
    };
    let words = [&[("most", Some(0))], more].concat();
    node.word(key, &words, &[])
}

/// From which share of data on, and every how many writes.
fn zone_reset(node: &Node) -> Result<ZoneReset> {
    let fields = Fields::new(node, "reset", &["above", "every"])?;
    Ok(ZoneReset {
        above: fields.need("above")?.parsed("above", parse_percent)?,
        every: fields.need("every")?.integer("every")?,
    })
}

/// One share of random requests for all operations, or one for reads and one for the others.
fn mixed(node: &Node) -> Result<Pattern> {
    if !matches!(node.value, Value::Table(_)) {
        let share = node.parsed("random", parse_percent)?;
        return Ok(Pattern::Mixed {
            read: share,
            write: share,
        });
    }
    let fields = Fields::new(node, "random", &["read", "write"])?;
    let share = |key: &str| fields.need(key)?.parsed(key, parse_percent);
    Ok(Pattern::Mixed {
        read: share("read")?,
        write: share("write")?,
    })
}

/// A prepared trace, and where its offsets go.
fn replay(node: &Node) -> Result<Pattern> {
    let fields = Fields::new(node, "replay", &["file", "offsets", "waits"])?;
    let words = Offsets::ALL.map(|offsets| (offsets.name(), offsets));
    let offsets = fields.get("offsets");
    Ok(Pattern::Replay {
        file: fields.text("file")?,
        offsets: offsets.map_or(Ok(Offsets::AsIs), |node| node.word("offsets", &words, &[]))?,
        waits: fields
            .get("waits")
            .map_or(Ok(false), |node| node.flag("waits"))?,
    })
}

/// Bands in percent. What they leave of space and accesses forms a last band.
fn hot_spots(node: &Node) -> Result<Pattern> {
    let band = |item: &Node| {
        let fields = Fields::new(item, "hot-spots", &["area", "access"])?;
        Ok(HotBand {
            area: fields.need("area")?.number("area")?,
            access: fields.need("access")?.number("access")?,
        })
    };
    let mut bands = node
        .list("hot-spots")?
        .iter()
        .map(band)
        .collect::<Result<Vec<_>>>()?;
    let area: f64 = bands.iter().map(|band| band.area).sum();
    let access: f64 = bands.iter().map(|band| band.access).sum();
    let (area_left, access_left) = (100.0 - area, 100.0 - access);
    let tolerance = 1e-9;
    if area_left < -tolerance || access_left < -tolerance {
        return Err(node.fault(format!(
            "hot-spots: areas add up to {area}% and accesses to {access}%, expected at most 100% each"
        )));
    }
    if area_left > tolerance {
        bands.push(HotBand {
            area: area_left,
            access: access_left.max(0.0),
        });
    } else if access_left > tolerance {
        return Err(node.fault(format!(
            "hot-spots: the areas cover everything, but only {access}% of the accesses are given"
        )));
    }
    Ok(Pattern::HotSpots { bands })
}
