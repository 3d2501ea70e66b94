//! Follows a capture and gives the system calls that were asked for, each with its caller.

use std::collections::BTreeMap;

use diagnosis::{CompletedCall, ContainerId, ContainerRef, Omitted, OpenCall, State, Summary};
use scapfile::Item;
use scapfile::types::{TYPES, TypeKey};

use crate::asked::Asked;
use crate::callers::{Caller, CallerId, Callers};

/// Containers whose names are kept, over all sections of a capture.
const MAX_CONTAINERS: usize = 8192;

/// A system call that was asked for, as far as the capture can be asked before its end: whether its
/// caller is wanted is for [`Calls::wants`] to say, since containers get their names late.
#[derive(Debug, Clone, Copy)]
pub struct Made<'a> {
    /// Who made it.
    pub caller: CallerId,
    /// Its name, as a key of [`TYPES`].
    pub name: TypeKey,
    /// Nanoseconds from the first event to its end; 0 for one that is earlier.
    pub after_ns: u64,
    /// The call.
    pub call: CompletedCall<'a>,
}

/// A system call that was not back when the capture ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Underway {
    /// Who is in it.
    pub caller: CallerId,
    /// Its name, as a key of [`TYPES`].
    pub name: TypeKey,
    /// How long, up to the last event.
    pub for_ns: u64,
}

/// A capture as its system calls.
#[derive(Debug)]
pub struct Calls {
    asked: Asked,
    anonymous: bool,
    state: State,
    summary: Summary,
    omitted: Omitted,
    callers: Callers,
    containers: BTreeMap<ContainerId, ContainerRef>,
    first_ns: Option<u64>,
    rename: Option<TypeKey>,
}

impl Calls {
    /// The calls that `asked` asks for; `anonymous`: nobody wants to know who made them.
    #[must_use]
    pub fn new(asked: Asked, anonymous: bool) -> Self {
        Self {
            anonymous: anonymous && !asked.asks_who(),
            asked,
            state: State::default(),
            summary: Summary::default(),
            omitted: Omitted::default(),
            callers: Callers::default(),
            containers: BTreeMap::new(),
            first_ns: None,
            rename: TYPES.find("prctl"),
        }
    }

    /// Takes in the next item of the capture; gives the call that ends with it.
    // Most events end no call, and nothing is to be done for them but what the diagnosis does.
    #[inline(always)]
    pub fn item<'a>(&mut self, item: &'a Item<'a>) -> Option<Made<'a>> {
        let Item::Event(event) = item else {
            self.other_item(item);
            return None;
        };
        self.summary.note(event);
        let call = self.state.event(event);
        if self.state.has_happenings() {
            // What they mean is for the diagnosis to say.
            drop(self.state.happenings());
        }
        if self.first_ns.is_none() {
            self.first_ns = Some(event.timestamp_ns);
        }
        self.made(call?)
    }

    #[inline]
    fn made<'a>(&mut self, call: CompletedCall<'a>) -> Option<Made<'a>> {
        let (timestamp_ns, first_ns) = (call.exit.timestamp_ns, self.first_ns.unwrap_or_default());
        let name = TYPES.key_of(call.exit.event_type, call.generic.map(|generic| generic.code));
        let caller = if self.rename == Some(name) { self.renamed(&call) } else { self.caller(&call) };
        if !self.asked.call(name) || !self.asked.within.holds(timestamp_ns, first_ns) {
            return None;
        }
        Some(Made { caller, name, after_ns: timestamp_ns.saturating_sub(first_ns), call })
    }

    #[inline]
    fn caller(&mut self, call: &CompletedCall<'_>) -> CallerId {
        if self.anonymous {
            return Callers::OTHERS;
        }
        self.callers.id(call.tid(), call.process, &self.state, &self.asked)
    }

    #[inline(never)]
    fn renamed(&mut self, call: &CompletedCall<'_>) -> CallerId {
        let caller = self.caller(call);
        self.callers.rename(caller, &self.state);
        caller
    }

    fn other_item(&mut self, item: &Item<'_>) {
        match item {
            Item::Process(process) => self.state.process(process),
            // A section may come from another machine or another boot: its threads are its own.
            Item::Section(_) if self.first_ns.is_some() => {
                self.learn_containers();
                self.callers.end_section();
                self.omitted.threads_forgotten += self.state.threads_forgotten();
                self.state = State::default();
            }
            Item::Skipped(_, reason) => self.omitted.note(*reason),
            _ => {}
        }
    }

    fn learn_containers(&mut self) {
        let containers = self.state.containers();
        for id in containers.ids() {
            if self.containers.len() < MAX_CONTAINERS {
                self.containers.insert(id, containers.show(id));
            }
        }
    }

    /// Ends the capture; gives the calls that are not back, the longest first.
    pub fn finish(&mut self) -> Vec<Underway> {
        self.learn_containers();
        self.omitted.threads_forgotten += self.state.threads_forgotten();
        let last_ns = self.summary.last_ns().unwrap_or_default();
        let mut underway: Vec<Underway> =
            self.state.open_calls().iter().filter_map(|call| self.underway(call, last_ns)).collect();
        underway.retain(|call| self.asked.call(call.name) && self.wants(call.caller));
        underway.sort_by_key(|call| std::cmp::Reverse(call.for_ns));
        underway
    }

    /// `None` for calls that do not come back by nature.
    fn underway(&mut self, call: &OpenCall, last_ns: u64) -> Option<Underway> {
        let name = TYPES.key_of(call.event_type, call.generic.map(|generic| generic.code));
        if matches!(TYPES.name(name), "exit" | "exit_group") {
            return None;
        }
        let caller = self.callers.id(call.tid, call.process, &self.state, &self.asked);
        Some(Underway { caller, name, for_ns: last_ns.saturating_sub(call.entered.timestamp_ns) })
    }

    /// Whether the calls of `caller` were asked for; to be asked at the end.
    #[must_use]
    pub fn wants(&self, caller: CallerId) -> bool {
        let Caller { program, tid } = self.callers.caller(caller);
        let program = program.map(|program| self.callers.program(program));
        let container = || program.and_then(|program| Some(self.container(program.container?)));
        self.asked.caller(tid, program, container)
    }

    /// Who has made calls.
    #[must_use]
    pub fn callers(&self) -> &Callers {
        &self.callers
    }

    /// What is known of a container, at the end.
    #[must_use]
    pub fn container(&self, id: ContainerId) -> ContainerRef {
        let known = self.containers.get(&id).cloned();
        known.unwrap_or_else(|| ContainerRef { id: id.text(), ..ContainerRef::default() })
    }

    /// What the capture holds, so far.
    #[must_use]
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// What could not be kept or read, so far.
    #[must_use]
    pub fn omitted(&self) -> Omitted {
        self.omitted
    }
}
