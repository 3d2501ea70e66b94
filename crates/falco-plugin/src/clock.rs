//! Follows how often one thread asks the kernel for the time.

use crate::storm::{Storm, Threshold};

/// What is remembered of a thread; it stands in Falco's thread table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClockState {
    /// Its calls.
    pub calls: u64,
    /// The same in the window that is open.
    pub storm: Storm,
    /// Number of the event that the window began with.
    pub first_event: u64,
}

/// What a call means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    /// Calls of the thread so far.
    pub calls: u64,
    /// Calls a second in the window that is open.
    pub rate: Option<u64>,
    /// Percent of the events of that window, of all threads of the host, that are these calls.
    pub share: u64,
    /// A storm begins.
    pub storm: bool,
}

impl ClockState {
    /// The thread has asked for the time, at event number `event`.
    pub fn ask(&mut self, now_ns: u64, event: u64, threshold: Threshold) -> Asked {
        self.calls += 1;
        let storm = self.storm.note(now_ns, threshold);
        let window = self.storm.window;
        if window.count == 1 {
            self.first_event = event;
        }
        let events = event.saturating_sub(self.first_event).saturating_add(1);
        let share = window.count.saturating_mul(100).checked_div(events).unwrap_or(100).min(100);
        Asked { calls: self.calls, rate: window.rate(now_ns), share, storm }
    }
}
