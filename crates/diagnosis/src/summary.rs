//! Counts what a capture holds: events by type, page faults, drops, first and last time.

use scapfile::{Event, schema};

/// Running counts over the events.
#[derive(Debug)]
pub struct Summary {
    by_type: Box<[u64; TYPES]>,
    first_ns: u64,
    last_ns: u64,
}

/// Types from here on are counted together.
const TYPES: usize = 1024;

impl Default for Summary {
    fn default() -> Self {
        Self { by_type: Box::new([0; TYPES]), first_ns: u64::MAX, last_ns: 0 }
    }
}

impl Summary {
    /// Counts `event`.
    #[inline]
    pub fn note(&mut self, event: &Event<'_>) {
        self.by_type[usize::from(event.event_type).min(TYPES - 1)] += 1;
        self.first_ns = self.first_ns.min(event.timestamp_ns);
        self.last_ns = self.last_ns.max(event.timestamp_ns);
    }

    /// All events.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.by_type.iter().sum()
    }

    /// The earliest time of any event, in nanoseconds since the epoch.
    #[must_use]
    pub fn first_ns(&self) -> Option<u64> {
        (self.first_ns <= self.last_ns).then_some(self.first_ns)
    }

    /// The latest time of any event, in nanoseconds since the epoch.
    #[must_use]
    pub fn last_ns(&self) -> Option<u64> {
        self.first_ns().map(|_| self.last_ns)
    }

    /// Whether page faults were recorded: at least one is there.
    #[must_use]
    pub fn page_faults_recorded(&self) -> bool {
        self.count("page_fault") > 0
    }

    /// Whether system calls have enter events: a capture of the time before libs dropped them.
    ///
    /// Other events have an even type too, so what counts is a call with both its events.
    #[must_use]
    pub fn enter_events(&self) -> bool {
        let both = |event_type: u16| self.by_type[usize::from(event_type) + 1] > 0;
        self.counted()
            .any(|(event_type, _)| event_type % 2 == 0 && both(event_type) && schema::name(event_type) != "drop")
    }

    /// How many events say that events were lost: libs writes one where it begins to drop and one
    /// where it ends.
    #[must_use]
    pub fn drops(&self) -> u64 {
        self.count("drop")
    }

    fn counted(&self) -> impl Iterator<Item = (u16, u64)> {
        (0..).zip(self.by_type.iter().copied()).filter(|(_, count)| *count > 0)
    }

    fn count(&self, name: &str) -> u64 {
        self.counted().filter(|(event_type, _)| schema::name(*event_type) == name).map(|(_, count)| count).sum()
    }
}
