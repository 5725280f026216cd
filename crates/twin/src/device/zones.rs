//! Zones that are written at their write pointers: their conditions, the limits on open and active ones, and what is
//! refused. They are those of a host-managed disk (ZAC/ZBC) or of a zoned namespace (NVMe Zoned Namespace Command Set
//! 1.1). State alone: the device gives it time, and says what lies behind it.

use std::collections::VecDeque;

/// The zones of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneModel {
    /// From the start of a zone to that of the next, bytes.
    pub zone_bytes: u64,
    /// Bytes of a zone that can be written, from its start.
    pub zone_capacity_bytes: u64,
    /// Zones in all; the last may be shorter.
    pub zones: u32,
    /// Conventional ones, at the start.
    pub conventional: u32,
    /// Most open at once; 0: no limit.
    pub max_open: u32,
    /// Most open or closed; 0: no limit.
    pub max_active: u32,
}

/// What a zone is doing: the states of the specification, without those of conventional zones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Nothing is written.
    Empty,
    /// Opened by a write; the device may close it when another one wants to be.
    ImplicitlyOpen,
    /// Opened by the host, which alone closes it.
    ExplicitlyOpen,
    /// Partly written, and active without being open.
    Closed,
    /// Written to its capacity, or finished.
    Full,
    /// Its data can be read, and nothing else.
    ReadOnly,
    /// Its data is lost.
    Offline,
}

impl Condition {
    /// Returns whether it counts against the limit of open zones.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::ImplicitlyOpen | Self::ExplicitlyOpen)
    }
}

/// What a host asks of a zone beside reads and writes (Zone Management Send).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZoneAction {
    /// Keep it open until another action.
    Open,
    /// Give up its place among the open ones.
    Close,
    /// Make it full as it is.
    Finish,
}

/// Why a zone refuses a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// An append or a reset that does not name whole zones.
    InvalidField,
    /// Beyond what the zone can hold.
    Boundary,
    /// The zone is full.
    Full,
    /// The zone is read only.
    ReadOnly,
    /// The zone is offline.
    Offline,
    /// Elsewhere than at the write pointer.
    InvalidWrite,
    /// One more zone would be active than may be.
    TooManyActive,
    /// One more zone would be open than may be, and none may be closed for it.
    TooManyOpen,
    /// The zone cannot go from its condition to the one asked for.
    InvalidTransition,
}

impl Refusal {
    /// Returns the name and code (type and code, as Linux prints it) of the NVMe status.
    pub const fn status(self) -> (&'static str, u16) {
        match self {
            Self::InvalidField => ("Invalid Field in Command", 0x002),
            Self::Boundary => ("Zone Boundary Error", 0x1b8),
            Self::Full => ("Zone Is Full", 0x1b9),
            Self::ReadOnly => ("Zone Is Read Only", 0x1ba),
            Self::Offline => ("Zone Is Offline", 0x1bb),
            Self::InvalidWrite => ("Zone Invalid Write", 0x1bc),
            Self::TooManyActive => ("Too Many Active Zones", 0x1bd),
            Self::TooManyOpen => ("Too Many Open Zones", 0x1be),
            Self::InvalidTransition => ("Invalid Zone State Transition", 0x1bf),
        }
    }

    /// Returns the errno that Linux makes of it: EINVAL, EOVERFLOW (`BLK_STS_ZONE_ACTIVE_RESOURCE`), ETOOMANYREFS
    /// (`BLK_STS_ZONE_OPEN_RESOURCE`), else EIO, of a disk too.
    pub const fn errno(self) -> i32 {
        match self {
            Self::InvalidField => 22,
            Self::TooManyActive => 75,
            Self::TooManyOpen => 109,
            _ => 5,
        }
    }
}

/// One zone, as Report Zones describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneInfo {
    /// Its first byte.
    pub start: u64,
    /// Bytes that can be written.
    pub capacity_bytes: u64,
    /// Where the next write must go; the end of the capacity when it is full.
    pub pointer: u64,
    /// What it is doing.
    pub condition: Condition,
}

/// The state of all zones.
#[derive(Clone)]
pub struct Zones {
    /// What there is.
    pub model: ZoneModel,
    device_bytes: u64,
    /// Bytes written in each zone.
    written: Vec<u64>,
    conditions: Vec<Condition>,
    /// Implicitly open, the one used longest ago in front.
    implicit: VecDeque<u32>,
    explicit: u32,
    active: u32,
}

impl Zones {
    /// Returns empty zones on a device of `device_bytes`.
    pub fn new(model: ZoneModel, device_bytes: u64) -> Self {
        Self {
            model,
            device_bytes,
            written: vec![0; model.zones as usize],
            conditions: vec![Condition::Empty; model.zones as usize],
            implicit: VecDeque::new(),
            explicit: 0,
            active: 0,
        }
    }

    /// Returns the zone that holds a byte.
    #[inline]
    pub const fn zone(&self, at: u64) -> u32 {
        (at / self.model.zone_bytes) as u32
    }

    fn start(&self, zone: u32) -> u64 {
        u64::from(zone) * self.model.zone_bytes
    }

    /// Returns the end of a zone: behind the last byte that can be written.
    fn end(&self, zone: u32) -> u64 {
        (self.start(zone) + self.model.zone_capacity_bytes).min(self.device_bytes)
    }

    /// Bytes written in a zone.
    #[inline]
    pub fn written(&self, zone: u32) -> u64 {
        self.written[zone as usize]
    }

    /// Returns where the next write of a zone must go; the end of the capacity of a full one.
    pub fn pointer(&self, zone: u32) -> u64 {
        match self.conditions[zone as usize] {
            Condition::Full => self.end(zone),
            _ => self.start(zone) + self.written(zone),
        }
    }

    /// Returns what there is to say of a zone.
    pub fn report(&self, zone: u32) -> ZoneInfo {
        let start = self.start(zone);
        ZoneInfo {
            start,
            capacity_bytes: self.end(zone) - start,
            pointer: self.pointer(zone),
            condition: self.conditions[zone as usize],
        }
    }

    /// Returns why a write of `bytes` at `at` is not taken; `None`: it is.
    #[inline]
    pub fn refusal(&self, at: u64, bytes: u64) -> Option<Refusal> {
        self.refusal_in(self.zone(at), at, bytes)
    }

    fn refusal_in(&self, zone: u32, at: u64, bytes: u64) -> Option<Refusal> {
        if self.zone(at + bytes - 1) < self.model.conventional {
            return None;
        }
        match self.conditions[zone as usize] {
            Condition::Full => Some(Refusal::Full),
            Condition::ReadOnly => Some(Refusal::ReadOnly),
            Condition::Offline => Some(Refusal::Offline),
            _ if zone < self.model.conventional => Some(Refusal::Boundary),
            _ if at != self.pointer(zone) => Some(Refusal::InvalidWrite),
            _ if at + bytes > self.end(zone) => Some(Refusal::Boundary),
            _ => self.resources(zone),
        }
    }

    /// Returns what keeps a zone from being opened.
    fn resources(&self, zone: u32) -> Option<Refusal> {
        let condition = self.conditions[zone as usize];
        let ZoneModel {
            max_open,
            max_active,
            ..
        } = self.model;
        if condition == Condition::Empty && max_active > 0 && self.active == max_active {
            return Some(Refusal::TooManyActive);
        }
        let another = !condition.is_open() && max_open > 0;
        (another && self.explicit == max_open).then_some(Refusal::TooManyOpen)
    }

    /// Takes a write of `bytes` at `at`: moves the pointer, or says why not.
    #[inline]
    pub fn write(&mut self, at: u64, bytes: u64) -> Result<(), Refusal> {
        let zone = self.zone(at);
        if let Some(refusal) = self.refusal_in(zone, at, bytes) {
            return Err(refusal);
        }
        if zone >= self.model.conventional {
            self.advance(zone, bytes);
        }
        Ok(())
    }

    #[inline]
    fn advance(&mut self, zone: u32, bytes: u64) {
        if self.conditions[zone as usize] != Condition::ExplicitlyOpen
            && self.implicit.back() != Some(&zone)
        {
            self.enter(zone, Condition::ImplicitlyOpen);
        }
        self.written[zone as usize] += bytes;
        if self.pointer(zone) == self.end(zone) {
            self.leave(zone, Condition::Full);
        }
    }

    /// Opens a zone; the implicitly open one used longest ago is closed for it, which costs nothing.
    fn enter(&mut self, zone: u32, condition: Condition) {
        self.leave(zone, condition);
        self.active += 1;
        let most = self.model.max_open as usize;
        if most > 0
            && self.implicit.len() + self.explicit as usize == most
            && let Some(closed) = self.implicit.pop_front()
        {
            self.conditions[closed as usize] = Condition::Closed;
        }
        match condition {
            Condition::ExplicitlyOpen => self.explicit += 1,
            _ => self.implicit.push_back(zone),
        }
    }

    /// Takes a zone out of what it counts in, into another condition.
    fn leave(&mut self, zone: u32, condition: Condition) {
        let before = std::mem::replace(&mut self.conditions[zone as usize], condition);
        match before {
            Condition::ImplicitlyOpen => self.implicit.retain(|&open| open != zone),
            Condition::ExplicitlyOpen => self.explicit -= 1,
            Condition::Closed => {}
            _ => return,
        }
        self.active -= 1;
    }

    /// Returns where an append to the zone at `at` goes.
    pub fn append(&mut self, at: u64, bytes: u64) -> Result<u64, Refusal> {
        let zone = self.zone(at);
        if zone < self.model.conventional || at != self.start(zone) {
            return Err(Refusal::InvalidField);
        }
        let place = self.pointer(zone);
        if let Some(refusal) = self.refusal_in(zone, place, bytes) {
            return Err(refusal);
        }
        self.advance(zone, bytes);
        Ok(place)
    }

    /// Returns the zones that lie wholly in a range. Refuses to cut a zone, or to take one that cannot be reset.
    pub fn whole(&self, at: u64, bytes: u64) -> Result<std::ops::Range<u32>, Refusal> {
        let (first, last) = (self.zone(at), self.zone(at + bytes - 1));
        if at != self.start(first) || first < self.model.conventional {
            return Err(Refusal::InvalidField);
        }
        let end = (self.start(last) + self.model.zone_bytes).min(self.device_bytes);
        if at + bytes != end {
            return Err(Refusal::InvalidField);
        }
        if first == last && self.is_lost(first) {
            return Err(Refusal::InvalidTransition);
        }
        Ok(first..last + 1)
    }

    fn is_lost(&self, zone: u32) -> bool {
        let condition = self.conditions[zone as usize];
        matches!(condition, Condition::ReadOnly | Condition::Offline)
    }

    /// Empties the zones of [`Self::whole`], but those that are read only or offline.
    pub fn reset(&mut self, at: u64, bytes: u64) -> Result<std::ops::Range<u32>, Refusal> {
        let range = self.whole(at, bytes)?;
        for zone in range.clone() {
            if !self.is_lost(zone) {
                self.written[zone as usize] = 0;
                self.leave(zone, Condition::Empty);
            }
        }
        Ok(range)
    }

    /// Does what the host asks of a zone.
    pub fn manage(&mut self, zone: u32, action: ZoneAction) -> Result<(), Refusal> {
        let condition = self.conditions[zone as usize];
        match (action, condition) {
            (_, Condition::ReadOnly | Condition::Offline) => Err(Refusal::InvalidTransition),
            (ZoneAction::Finish, _) => {
                self.leave(zone, Condition::Full);
                Ok(())
            }
            (ZoneAction::Open, Condition::ExplicitlyOpen)
            | (ZoneAction::Close, Condition::Closed) => Ok(()),
            (_, Condition::Full) | (ZoneAction::Close, Condition::Empty) => {
                Err(Refusal::InvalidTransition)
            }
            (ZoneAction::Open, _) => match self.resources(zone) {
                Some(refusal) => Err(refusal),
                None => {
                    self.enter(zone, Condition::ExplicitlyOpen);
                    Ok(())
                }
            },
            (ZoneAction::Close, _) => {
                // A zone that was opened and never written is empty again.
                let written = self.written(zone) > 0;
                self.leave(zone, Condition::Empty);
                if written {
                    self.conditions[zone as usize] = Condition::Closed;
                    self.active += 1;
                }
                Ok(())
            }
        }
    }

    /// The medium behind a zone is worn out.
    pub fn retire(&mut self, zone: u32) {
        self.leave(zone, Condition::Offline);
    }

    /// Returns whether every byte of a range lies below its zone's pointer, or in a conventional zone.
    #[inline]
    pub fn is_written(&self, at: u64, bytes: u64) -> bool {
        (self.zone(at)..=self.zone(at + bytes - 1)).all(|zone| {
            let (start, next) = (self.start(zone), self.start(zone + 1));
            zone < self.model.conventional || start + self.written(zone) >= (at + bytes).min(next)
        })
    }
}
