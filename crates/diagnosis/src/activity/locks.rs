//! How a process's threads wait for locks that others of its threads hold.

use super::frequent::Frequent;
use super::peak::Peak;
use crate::calls::{CompletedCall, LockWait};
use crate::finding::Moment;

/// Addresses that are told apart, and threads for each.
const LOCKS: usize = 8;
const THREADS: usize = 6;
/// The value was not what the waiter expected: it changed between the look at the lock and the wait
/// (futex(2), errno(3)).
const EAGAIN: u16 = 11;

/// An address that threads wait at.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lock {
    /// The address.
    pub address: u64,
    /// How often it was waited at.
    pub waits: u64,
    /// Of these, how often it was a lock that said that it was held.
    pub held: u64,
    /// How often the wait ended at once, for the value had changed meanwhile.
    pub again: u64,
    /// How long all waits took.
    pub waited_ns: u64,
    threads: [i64; THREADS],
}

impl Lock {
    fn note(&mut self, call: &CompletedCall<'_>, held: bool) -> bool {
        let again = call.errno() == Some(EAGAIN);
        self.waits += 1;
        self.held += u64::from(held);
        self.again += u64::from(again);
        self.waited_ns = self.waited_ns.saturating_add(call.duration_ns().unwrap_or(0));
        if let Some(place) = self.threads.iter_mut().find(|known| **known == 0 || **known == call.tid()) {
            *place = call.tid();
        }
        held || again
    }

    /// How many threads waited there, at least: no more than six are told apart.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads.iter().filter(|tid| **tid != 0).count()
    }
}

/// Waits in futex.
#[derive(Debug, Clone, Default)]
pub struct LockWaits {
    /// The first and the last that was for a lock that was held, or that ended at once.
    pub span: Option<(Moment, Moment)>,
    /// The most of these within a second.
    pub peak: Option<Peak>,
    locks: Frequent<Lock, LOCKS>,
}

#[cfg(test)]
impl LockWaits {
    /// What it takes with all that belongs to it.
    pub const MOST_BYTES: usize = size_of::<Self>() + Frequent::<Lock, LOCKS>::MOST_BYTES;
}

impl LockWaits {
    /// Counts a wait.
    pub fn note(&mut self, call: &CompletedCall<'_>, LockWait { address, held }: LockWait) {
        let lock = self.locks.note(|known| known.address == address, || Lock { address, ..Lock::default() });
        if lock.note(call, held) {
            let at = Moment::of(call.exit);
            self.span = Some((self.span.map_or(at, |(first, _)| first), at));
            self.peak.get_or_insert_with(|| Peak::start(at.timestamp_ns)).note(at.timestamp_ns);
        }
    }

    /// The addresses that were waited at most.
    pub fn locks(&self) -> impl Iterator<Item = &Lock> {
        self.locks.most().into_iter().map(|(lock, _)| lock)
    }

    /// How many waits were for a lock that was held, or ended at once: to be compared with others.
    #[must_use]
    pub fn weight(&self) -> u64 {
        self.locks().map(|lock| lock.held.max(lock.again)).sum()
    }
}
