//! What a program's system calls for the time amount to: how many, how fast, how dear.

use super::frequent::Frequent;
use super::histogram::Histogram;
use super::kinds::TimeCall;
use super::peak::Peak;
use crate::calls::CompletedCall;
use crate::finding::Moment;

/// Threads that are told apart.
const THREADS: usize = 4;

/// System calls for the time, of one process or of all processes of a program.
#[derive(Debug, Clone)]
pub struct TimeUse {
    /// How often each was made, in the order of [`TimeCall::ALL`].
    pub calls: [u64; 4],
    /// The first, and which it was.
    pub first: (Moment, TimeCall),
    /// The last, and which it was.
    pub last: (Moment, TimeCall),
    /// The most of one process within a second.
    pub peak: Peak,
    /// How long they took, where that was recorded.
    pub took: Histogram,
    /// The times between the exit of one and the enter of the next on the same thread, with nothing else of
    /// the thread between them.
    pub gaps: Histogram,
    /// How many bear the number that a 32-bit program's have.
    pub compat: u64,
    threads: Frequent<i64, THREADS>,
}

#[cfg(test)]
impl TimeUse {
    /// What it takes with all that belongs to it.
    pub const MOST_BYTES: usize = size_of::<Self>() + Frequent::<i64, THREADS>::MOST_BYTES;
}

impl TimeUse {
    /// The first call.
    #[must_use]
    pub fn start(which: TimeCall, call: &CompletedCall<'_>) -> Self {
        let at = (Moment::of(call.exit), which);
        Self {
            calls: [0; 4],
            first: at,
            last: at,
            peak: Peak::start(at.0.timestamp_ns),
            took: Histogram::default(),
            gaps: Histogram::default(),
            compat: 0,
            threads: Frequent::default(),
        }
    }

    /// Counts a call; `before_ns`: when the thread came back from another one right before, if it did.
    pub fn note(&mut self, which: TimeCall, call: &CompletedCall<'_>, before_ns: Option<u64>) {
        self.calls[which as usize] += 1;
        self.last = (Moment::of(call.exit), which);
        self.peak.note(call.exit.timestamp_ns);
        if let Some(duration_ns) = call.duration_ns() {
            self.took.note(duration_ns);
        }
        let gap = call.entered.zip(before_ns).and_then(|(entered, before)| entered.timestamp_ns.checked_sub(before));
        if let Some(gap_ns) = gap {
            self.gaps.note(gap_ns);
        }
        let number = call.generic.and_then(|generic| generic.native_id);
        self.compat += u64::from(number.is_some_and(|number| which.is_32_bit(number)));
        let tid = call.tid();
        self.threads.note(|known| *known == tid, || tid);
    }

    /// All calls.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.calls.iter().sum()
    }

    /// Those that the clocksource decides about.
    #[must_use]
    pub fn of_clocksource(&self) -> u64 {
        self.each().filter(|(call, _)| call.needs_clocksource()).map(|(_, count)| count).sum()
    }

    /// How often each was made, none left out.
    pub fn each(&self) -> impl Iterator<Item = (TimeCall, u64)> {
        TimeCall::ALL.into_iter().zip(self.calls)
    }

    /// The thread with the most calls, if more than one made any, and about how many.
    #[must_use]
    pub fn busiest_thread(&self) -> Option<(i64, u64)> {
        let (tid, count) = *self.threads.most().first().filter(|_| self.threads.kinds() > 1)?;
        Some((*tid, count))
    }

    /// Takes in what another process of the program did.
    pub fn add(&mut self, more: &Self) {
        for (count, more) in self.calls.iter_mut().zip(more.calls) {
            *count += more;
        }
        if more.first.0.event < self.first.0.event {
            self.first = more.first;
        }
        if more.last.0.event > self.last.0.event {
            self.last = more.last;
        }
        if more.peak.most() > self.peak.most() {
            self.threads = more.threads.clone();
        }
        self.peak.add(&more.peak);
        self.took.add(&more.took);
        self.gaps.add(&more.gaps);
        self.compat += more.compat;
    }
}
