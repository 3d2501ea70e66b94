//! Goes through a capture and picks the events a filter selects, with what is known of their threads.

use std::collections::HashMap;
use std::ops::ControlFlow;

use diagnosis::{ContainerId, State};
use scapfile::{Capture, Damage, Item, Visit, schema};

use crate::event;
use crate::filter::Filter;
use scapfile::types::{TYPES, TypeKey};

/// The selected events of a capture that is being read.
pub(crate) struct Selection {
    capture: Capture,
    filter: Filter,
    state: State,
    first_ns: Option<u64>,
    verdicts: Verdicts,
}

/// A selected event and its circumstances.
pub(crate) struct Selected<'a> {
    pub(crate) event: scapfile::Event<'a>,
    pub(crate) type_key: TypeKey,
    pub(crate) comm: Option<String>,
    pub(crate) container: Option<ContainerId>,
}

impl Selected<'_> {
    /// The event, detached from the capture.
    pub(crate) fn into_owned(self) -> event::Event {
        event::Event {
            number: self.event.number,
            timestamp_ns: self.event.timestamp_ns,
            cpu: self.event.cpu,
            tid: self.event.tid,
            exit: self.event.is_exit(),
            type_name: TYPES.name(self.type_key),
            comm: self.comm,
            container: self.container,
            args: schema::describe(&self.event),
        }
    }
}

impl Selection {
    /// The events that `filter` selects. `hindsight`: what [`containers_of`] found in the same capture.
    pub(crate) fn new(capture: Capture, filter: Filter, hindsight: Option<State>) -> Self {
        let verdicts = Verdicts { hindsight, settled: HashMap::new() };
        Self { capture, filter, state: State::default(), first_ns: None, verdicts }
    }

    /// Hands selected events to `visitor` in order until it breaks or the capture ends.
    pub(crate) fn visit(&mut self, mut visitor: impl FnMut(Selected<'_>) -> ControlFlow<()>) -> Visit {
        let Self { capture, filter, state, first_ns, verdicts } = self;
        let types = &*TYPES;
        let thread_end = types.find("procexit");
        capture.visit(|item| {
            let Item::Event(event) = &item else {
                follow(state, &item);
                return ControlFlow::Continue(());
            };
            let tid = event.tid;
            let type_key = types.key(event);
            // An event belongs to what its thread is after it, but for the last one, which leaves nothing.
            let last = (Some(type_key) == thread_end).then(|| (state.comm(tid), state.container(tid)));
            follow(state, &item);
            let first_ns = *first_ns.get_or_insert(event.timestamp_ns);
            if !filter.accepts(type_key, tid, event.timestamp_ns, first_ns) {
                return ControlFlow::Continue(());
            }
            let (comm, container) = last.unwrap_or_else(|| (state.comm(tid), state.container(tid)));
            if filter.asks_for_containers() && !verdicts.accept(container, filter, state) {
                return ControlFlow::Continue(());
            }
            visitor(Selected { event: *event, type_key, comm, container })
        })
    }

    /// Why the capture ended early, once it has ended.
    pub(crate) fn damage(&self) -> Option<&Damage> {
        self.capture.damage()
    }
}

/// Goes through a capture for its containers only: their names and images often come late, after
/// everything else that is known of them.
pub(crate) fn containers_of(capture: &mut Capture) -> State {
    let mut state = State::default();
    capture.visit(|item| {
        follow(&mut state, &item);
        ControlFlow::Continue(())
    });
    state
}

fn follow(state: &mut State, item: &Item<'_>) {
    match item {
        Item::Process(process) => state.process(process),
        Item::Event(event) => _ = state.event(event),
        _ => {}
    }
    if state.has_happenings() {
        // What they mean is for the diagnosis to say.
        drop(state.happenings());
    }
}

/// Containers whose verdict is remembered; a machine runs hundreds.
const MOST_VERDICTS: usize = 4096;

/// What the filter says of each container.
struct Verdicts {
    /// What is known at the end of the capture, if it has been read before.
    hindsight: Option<State>,
    /// Verdicts that can change no more.
    settled: HashMap<ContainerId, bool>,
}

impl Verdicts {
    fn accept(&mut self, container: Option<ContainerId>, filter: &Filter, present: &State) -> bool {
        let Some(id) = container else { return false };
        if let Some(accepted) = self.settled.get(&id) {
            return *accepted;
        }
        let known = self.hindsight.as_ref().unwrap_or(present).containers().show(id);
        let accepted = filter.accepts_container(&known);
        // A container that is refused at present may yet turn out to have the name asked for.
        if (accepted || self.hindsight.is_some()) && self.settled.len() < MOST_VERDICTS {
            self.settled.insert(id, accepted);
        }
        accepted
    }
}
