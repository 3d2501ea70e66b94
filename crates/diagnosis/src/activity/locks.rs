//! How a process's threads wait for locks that others of its threads hold.

use super::frequent::Frequent;
use super::peak::Peak;
use crate::calls::{CompletedCall, LockWait};
use crate::finding::Moment;

/// Locks and threads that are told apart.
const LOCKS: usize = 8;
const THREADS: usize = 8;
/// The value was not what the waiter expected: it changed between the look at the lock and the wait
/// (futex(2), errno(3)).
const EAGAIN: u16 = 11;

/// Waits for contended locks.
#[derive(Debug, Clone)]
pub struct LockWaits {
    /// How many.
    pub waits: u64,
    /// Those that ended at once, for the lock had changed meanwhile.
    pub again: u64,
    /// How long all of them took.
    pub waited_ns: u64,
    /// The first.
    pub first: Moment,
    /// The last.
    pub last: Moment,
    /// The most within a second.
    pub peak: Peak,
    locks: Frequent<u64, LOCKS>,
    threads: Frequent<i64, THREADS>,
}

#[cfg(test)]
impl LockWaits {
    /// What it takes with all that belongs to it.
    pub const MOST_BYTES: usize =
        size_of::<Self>() + Frequent::<u64, LOCKS>::MOST_BYTES + Frequent::<i64, THREADS>::MOST_BYTES;
}

impl LockWaits {
    /// The first wait ends with `call`.
    #[must_use]
    pub fn start(call: &CompletedCall<'_>) -> Self {
        let at = Moment::of(call.exit);
        Self {
            waits: 0,
            again: 0,
            waited_ns: 0,
            first: at,
            last: at,
            peak: Peak::start(at.timestamp_ns),
            locks: Frequent::default(),
            threads: Frequent::default(),
        }
    }

    /// Counts a wait.
    pub fn note(&mut self, call: &CompletedCall<'_>, LockWait(lock): LockWait) {
        let tid = call.tid();
        self.waits += 1;
        self.again += u64::from(call.errno() == Some(EAGAIN));
        self.waited_ns = self.waited_ns.saturating_add(call.duration_ns().unwrap_or(0));
        self.last = Moment::of(call.exit);
        self.peak.note(call.exit.timestamp_ns);
        self.locks.note(|known| *known == lock, || lock);
        self.threads.note(|known| *known == tid, || tid);
    }

    /// The address of the lock that was waited for most, and how often.
    #[must_use]
    pub fn busiest_lock(&self) -> Option<(u64, u64)> {
        self.locks.most().first().map(|(lock, waits)| (**lock, *waits))
    }

    /// How many threads waited, at least: no more than eight are told apart.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads.kinds()
    }
}
