//! Hands events from the thread that reads a capture to the thread that wants them.
//!
//! The reader runs ahead by a bounded number of events and bytes. The taker takes all there are at
//! once, and waits for many only as long as they come quickly: on a slow pipe it gets the few.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::event::Event;

/// Worth waking the taker for.
const MANY: usize = 256;
/// Events and bytes that may wait: what bounds the memory.
const MOST_EVENTS: usize = 8192;
const MOST_BYTES: usize = 4 << 20;

#[derive(Default)]
struct Waiting {
    events: Vec<Event>,
    bytes: usize,
    /// No more will come.
    ended: bool,
    /// No more are wanted.
    abandoned: bool,
}

#[derive(Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    filled: Condvar,
    emptied: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The two ends.
pub(crate) fn handover() -> (Giver, Taker) {
    let shared = Arc::new(Shared::default());
    (Giver(Arc::clone(&shared)), Taker(shared))
}

/// The reader's end; dropping it says that no more will come.
pub(crate) struct Giver(Arc<Shared>);

impl Giver {
    /// Hands over an event, waiting for room. `false`: nobody wants it.
    pub(crate) fn give(&self, event: Event) -> bool {
        let mut waiting = self.0.lock();
        while !waiting.abandoned && (waiting.events.len() >= MOST_EVENTS || waiting.bytes >= MOST_BYTES) {
            waiting = self.0.emptied.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        waiting.bytes += event.bytes();
        waiting.events.push(event);
        if waiting.events.len() == MANY || waiting.bytes >= MOST_BYTES {
            self.0.filled.notify_one();
        }
        !waiting.abandoned
    }
}

impl Drop for Giver {
    fn drop(&mut self) {
        self.0.lock().ended = true;
        self.0.filled.notify_one();
    }
}

/// What a [`Taker`] got.
pub(crate) enum Taken {
    /// Events, in order.
    Events(Vec<Event>),
    /// None yet.
    Nothing,
    /// None any more.
    Ended,
}

/// The wanting end; dropping it says that no more are wanted.
pub(crate) struct Taker(Arc<Shared>);

impl Taker {
    /// Takes all there are, waiting for many or for `patience`, whichever comes first.
    pub(crate) fn take(&self, patience: Duration) -> Taken {
        let few = |waiting: &mut Waiting| !waiting.ended && waiting.events.len() < MANY && waiting.bytes < MOST_BYTES;
        let waiting = self.0.lock();
        let outcome = self.0.filled.wait_timeout_while(waiting, patience, few);
        let (mut waiting, _) = outcome.unwrap_or_else(PoisonError::into_inner);
        if waiting.events.is_empty() {
            return if waiting.ended { Taken::Ended } else { Taken::Nothing };
        }
        waiting.bytes = 0;
        let events = std::mem::take(&mut waiting.events);
        self.0.emptied.notify_one();
        Taken::Events(events)
    }
}

impl Drop for Taker {
    fn drop(&mut self) {
        self.0.lock().abandoned = true;
        self.0.emptied.notify_one();
    }
}
