//! The streams of the translation layer, and which goes where: the handles' first, then that of the page map where it
//! is written, then cleaning's. With reclaim groups neighbours of a kind lie in neighbouring groups.

use crate::ssd::ftl::Stream;
use crate::ssd::params::{Isolation, SsdParams};

/// How many streams there are of each kind.
#[derive(Clone, Copy)]
pub(super) struct Streams {
    handles: u8,
    hosts: u8,
    groups: u8,
    isolation: Isolation,
}

impl Streams {
    pub(super) fn new(params: &SsdParams) -> Self {
        Self {
            handles: params.placements() as u8,
            hosts: params.host_streams() as u8,
            groups: params.reclaim_groups as u8,
            isolation: params.placement_isolation,
        }
    }

    #[inline]
    pub(super) const fn is_host(self, stream: Stream) -> bool {
        stream.0 < self.hosts
    }

    /// The page map's, where it is written.
    pub(super) const fn map(self) -> Stream {
        Stream(self.handles)
    }

    /// Returns the reclaim group that a stream fills superblocks of.
    const fn group(self, stream: Stream) -> u8 {
        match self.is_host(stream) {
            true => stream.0 % self.groups,
            false => (stream.0 - self.hosts) % self.groups,
        }
    }

    /// Returns where pages go that are moved out of a superblock of `stream`.
    pub(super) const fn cleaning(self, stream: Stream) -> Stream {
        match self.isolation {
            Isolation::Initially => Stream(self.hosts + self.group(stream)),
            Isolation::Persistently if self.is_host(stream) => {
                Stream(self.hosts + stream.0 % self.handles)
            }
            Isolation::Persistently => stream,
        }
    }
}
