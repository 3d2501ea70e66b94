//! Puts the costs of calls together by process, thread, container, or for the capture as a whole.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use diagnosis::ContainerRef;
use scapfile::types::{TYPES, TypeKey};
use serde::Serialize;

use crate::callers::{Caller, CallerId};
use crate::calls::Calls;
use crate::costs::{CostTable, Costs};

/// What calls are put together by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// All of the capture.
    Capture,
    /// Container; what is in none, together.
    Container,
    /// Process, anew after an execve.
    Process,
    /// Thread.
    Thread,
}

/// What comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// What took longest; where no time is known, what was called most.
    Time,
    /// What was called most.
    Calls,
    /// What failed most.
    Errors,
    /// What took longest for one call.
    Mean,
    /// By name: of the call, the process, the container.
    Name,
}

impl Order {
    /// Sorts what comes first to the front; what is alike in this goes by time.
    fn key(self, costs: &Costs) -> Reverse<(u64, u64, u64)> {
        let first = match self {
            Self::Time | Self::Name => costs.time_ns,
            Self::Calls => costs.calls,
            Self::Errors => costs.errors,
            Self::Mean => costs.time_ns.checked_div(costs.timed).unwrap_or_default(),
        };
        Reverse((first, costs.time_ns, costs.calls))
    }
}

/// Whose calls are together. Everything is `None` for the capture as a whole; `others` for those who
/// are told apart no more.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
pub struct Who {
    /// Command name.
    pub comm: Option<String>,
    /// Process id, host namespace.
    pub pid: Option<i64>,
    /// Thread id, host namespace.
    pub tid: Option<i64>,
    /// The container.
    pub container: Option<ContainerRef>,
    /// There were too many to tell apart.
    pub others: bool,
}

/// The costs of the calls of one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Line {
    /// The name.
    pub syscall: &'static str,
    /// What they cost.
    #[serde(flatten)]
    pub costs: Costs,
}

/// The costs of calls that belong together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Group {
    /// Whose they are.
    #[serde(flatten)]
    pub who: Who,
    /// By name, in the order asked for.
    pub syscalls: Vec<Line>,
    /// Their sum.
    pub total: Costs,
}

/// What [`Who`] is made of, to be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum GroupKey {
    Capture,
    Host,
    Container(diagnosis::ContainerId),
    Program(u32),
    Thread(CallerId),
    Others,
}

impl By {
    pub(crate) fn key(self, caller: CallerId, calls: &Calls) -> GroupKey {
        let Caller { program, .. } = calls.callers().caller(caller);
        match (self, program) {
            (Self::Capture, _) => GroupKey::Capture,
            (_, None) => GroupKey::Others,
            (Self::Container, Some(program)) => {
                calls.callers().program(program).container.map_or(GroupKey::Host, GroupKey::Container)
            }
            (Self::Process, Some(program)) => GroupKey::Program(program),
            (Self::Thread, Some(_)) => GroupKey::Thread(caller),
        }
    }

    /// Whose the calls are that are put together with those of `caller`.
    #[must_use]
    pub fn who(self, caller: CallerId, calls: &Calls) -> Who {
        calls.who(self.key(caller, calls))
    }
}

impl Calls {
    pub(crate) fn who(&self, key: GroupKey) -> Who {
        let program = |number| {
            let program = self.callers().program(number);
            Who {
                comm: program.comm.clone(),
                pid: Some(program.pid),
                container: program.container.map(|id| self.container(id)),
                ..Who::default()
            }
        };
        match key {
            GroupKey::Capture | GroupKey::Host => Who::default(),
            GroupKey::Others => Who { others: true, ..Who::default() },
            GroupKey::Container(id) => Who { container: Some(self.container(id)), ..Who::default() },
            GroupKey::Program(number) => program(number),
            GroupKey::Thread(caller) => {
                let Caller { program: number, tid } = self.callers().caller(caller);
                Who { tid: Some(tid), ..number.map(program).unwrap_or_default() }
            }
        }
    }
}

impl CostTable {
    /// The wanted calls put together.
    #[must_use]
    pub fn by(&self, by: By, order: Order, calls: &Calls) -> Vec<Group> {
        let mut together: BTreeMap<GroupKey, BTreeMap<TypeKey, Costs>> = BTreeMap::new();
        for row in self.rows().filter(|row| calls.wants(row.caller)) {
            let group = together.entry(by.key(row.caller, calls)).or_default();
            group.entry(row.name).or_default().add(&row.costs);
        }
        let mut groups: Vec<Group> =
            together.into_iter().map(|(key, costs)| group(calls.who(key), &costs, order)).collect();
        groups.sort_by_key(|group| order.key(&group.total));
        if order == Order::Name {
            groups.sort_by(|one, other| one.who.name().cmp(&other.who.name()));
        }
        groups
    }
}

impl Who {
    fn name(&self) -> (Option<&str>, Option<&str>, Option<i64>, Option<i64>) {
        let container = self.container.as_ref();
        let container = container.map(|container| container.name.as_deref().unwrap_or(&container.id));
        (self.comm.as_deref(), container, self.pid, self.tid)
    }
}

/// The costs of calls that somebody else has counted by name, of nobody in particular.
#[must_use]
pub fn counted(costs: impl Iterator<Item = (TypeKey, Costs)>, order: Order) -> Group {
    let mut by_name: BTreeMap<TypeKey, Costs> = BTreeMap::new();
    for (name, costs) in costs {
        by_name.entry(name).or_default().add(&costs);
    }
    group(Who::default(), &by_name, order)
}

fn group(who: Who, costs: &BTreeMap<TypeKey, Costs>, order: Order) -> Group {
    let mut total = Costs::default();
    let mut syscalls = Vec::with_capacity(costs.len());
    for (name, costs) in costs {
        total.add(costs);
        syscalls.push(Line { syscall: TYPES.name(*name), costs: *costs });
    }
    syscalls.sort_by_key(|line| (order.key(&line.costs), line.syscall));
    if order == Order::Name {
        syscalls.sort_by_key(|line| line.syscall);
    }
    Group { who, syscalls, total }
}
