//! Names of devices and processes, each kept once. An I/O holds a name's number.

use std::collections::HashMap;

use crate::Fault;

/// Different names by the order in which they came.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    field: &'static str,
    numbers: HashMap<Box<[u8]>, u32>,
    texts: Vec<String>,
    last: (Box<[u8]>, u32),
}

/// Most different names of a kind.
const MOST: usize = 1 << 20;
/// Bytes of a name that count.
const LONGEST: usize = 256;

impl Names {
    pub(crate) fn new(field: &'static str) -> Self {
        Self {
            field,
            numbers: HashMap::new(),
            texts: Vec::new(),
            last: (Box::default(), u32::MAX),
        }
    }

    /// Returns the number of a name, a new one for a new name.
    #[inline]
    pub(crate) fn number(&mut self, name: &[u8]) -> Result<u32, Fault> {
        if self.last.1 != u32::MAX && *self.last.0 == *name {
            return Ok(self.last.1);
        }
        let name = &name[..name.len().min(LONGEST)];
        let number = match self.numbers.get(name) {
            Some(&number) => number,
            None => self.add(name)?,
        };
        self.last = (name.into(), number);
        Ok(number)
    }

    fn add(&mut self, name: &[u8]) -> Result<u32, Fault> {
        if self.texts.len() == MOST {
            return Err(Fault::TooManyNames {
                field: self.field,
                most: MOST,
            });
        }
        let number = self.texts.len() as u32;
        self.texts.push(String::from_utf8_lossy(name).into_owned());
        self.numbers.insert(name.into(), number);
        Ok(number)
    }

    /// Returns how many names there are.
    #[inline]
    fn len(&self) -> usize {
        self.texts.len()
    }

    /// Forgets the last name where it is not among the first `len`. A line brings one at most.
    fn keep(&mut self, len: usize) {
        if self.texts.len() > len {
            self.texts.truncate(len);
            self.numbers.remove(&self.last.0);
            self.last = (Box::default(), u32::MAX);
        }
    }

    /// Returns all names by their number.
    pub(crate) fn texts(&self) -> &[String] {
        &self.texts
    }
}

/// The names of a trace.
#[derive(Clone, Debug)]
pub(crate) struct Dictionary {
    pub(crate) devices: Names,
    pub(crate) processes: Names,
}

impl Dictionary {
    /// Returns how many names of devices and processes there are.
    #[inline]
    pub(crate) fn len(&self) -> [usize; 2] {
        [self.devices.len(), self.processes.len()]
    }

    /// Forgets the names of a line that became no I/O.
    pub(crate) fn keep(&mut self, [devices, processes]: [usize; 2]) {
        self.devices.keep(devices);
        self.processes.keep(processes);
    }
}

impl Default for Dictionary {
    fn default() -> Self {
        Self {
            devices: Names::new("device"),
            processes: Names::new("process"),
        }
    }
}
