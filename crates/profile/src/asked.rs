//! What a user asks for: which calls, when, and whose.

use diagnosis::ContainerRef;
use scapfile::types::TypeKey;

use crate::callers::Program;

/// What a call must be to be counted; whatever is `None` does not matter.
#[derive(Debug, Default, Clone)]
pub struct Asked {
    /// By type key: whether the call is wanted.
    pub calls: Option<Vec<bool>>,
    /// Processes.
    pub pids: Option<Vec<i64>>,
    /// Threads.
    pub tids: Option<Vec<i64>>,
    /// Command names.
    pub comms: Option<Vec<String>>,
    /// Containers, by whatever they are called.
    pub containers: Option<Vec<String>>,
    /// When it must end.
    pub within: Within,
}

/// A range of time, both ends included; whatever is `None` does not matter.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Within {
    /// Its begin, in nanoseconds after the first event.
    pub since_ns: Option<i64>,
    /// Its end.
    pub until_ns: Option<i64>,
}

impl Within {
    /// Whether that time is in it; `first_ns`: the first event's.
    #[inline]
    #[must_use]
    pub fn holds(&self, timestamp_ns: u64, first_ns: u64) -> bool {
        if self.since_ns.is_none() && self.until_ns.is_none() {
            return true;
        }
        let after_first = i128::from(timestamp_ns) - i128::from(first_ns);
        self.since_ns.is_none_or(|since| i128::from(since) <= after_first)
            && self.until_ns.is_none_or(|until| after_first <= i128::from(until))
    }
}

impl Asked {
    /// Whether nothing matters but the name of a call.
    #[must_use]
    pub fn only_by_name(&self) -> bool {
        let Self { calls: _, pids, tids, comms, containers, within } = self;
        let anybody = pids.is_none() && tids.is_none() && comms.is_none() && containers.is_none();
        anybody && *within == Within::default()
    }

    /// Whether a call of this name is wanted.
    #[inline]
    #[must_use]
    pub fn call(&self, name: TypeKey) -> bool {
        self.calls.as_ref().is_none_or(|wanted| usize::try_from(name).is_ok_and(|name| wanted.get(name) == Some(&true)))
    }

    /// Whether it matters who makes a call.
    #[must_use]
    pub fn asks_who(&self) -> bool {
        self.pids.is_some() || self.tids.is_some() || self.comms.is_some() || self.containers.is_some()
    }

    /// Whether the calls of this caller may be wanted, as far as that is known before the end: names come
    /// late, of containers above all.
    #[must_use]
    pub fn may_want(&self, tid: i64, pid: i64, in_container: bool) -> bool {
        self.pids.as_ref().is_none_or(|wanted| wanted.contains(&pid))
            && self.tids.as_ref().is_none_or(|wanted| wanted.contains(&tid))
            && (in_container || self.containers.is_none())
    }

    /// Whether the calls of this caller are wanted. Nobody knows whose those are that are told apart no more
    /// (`program` is `None`): they are wanted if it does not matter.
    #[must_use]
    pub fn caller(
        &self,
        tid: i64,
        program: Option<&Program>,
        container: impl FnOnce() -> Option<ContainerRef>,
    ) -> bool {
        let Some(program) = program else {
            return !self.asks_who();
        };
        let named = |wanted: &Vec<String>| {
            program.comm.as_deref().is_some_and(|comm| wanted.iter().any(|wanted| wanted == comm))
        };
        let called = |wanted: &Vec<String>| {
            container().is_some_and(|container| wanted.iter().any(|wanted| container.is_called(wanted)))
        };
        self.pids.as_ref().is_none_or(|wanted| wanted.contains(&program.pid))
            && self.tids.as_ref().is_none_or(|wanted| wanted.contains(&tid))
            && self.comms.as_ref().is_none_or(named)
            && self.containers.as_ref().is_none_or(called)
    }
}
