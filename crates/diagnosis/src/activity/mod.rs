//! What the system calls of a process amount to: how it asks for the time, starts, and waits for locks.
//!
//! Gathered while it lives, at every [`CompletedCall`]; told when it ends or becomes another program.
//! Bounded: a process has a few counters, and what is more is kept for so many processes at once as
//! [`Rooms`] have room for.

mod frequent;
mod histogram;
mod kinds;
mod locks;
mod peak;
mod room;
mod startup;
mod timing;

pub use histogram::Histogram;
pub use kinds::{Kind, Kinds, TimeCall};
pub use locks::{Lock, LockWaits};
pub use peak::Peak;
pub use room::{Kept, Room};
pub use startup::{EmptyEntry, Ending, Startup};
pub use timing::TimeUse;

use crate::calls::CompletedCall;

/// Live processes of which each kind of record is kept at once.
const TIMED: usize = 512;
const STARTING: usize = 112;
const LOCKING: usize = 256;
/// The same of calls into the vsyscall page. Those that have ended are among them.
const EMULATED: usize = 640;
/// Waits from which on a process is worth a word although it did nothing else: it is told whether it asks
/// for the time.
const WAITS: u32 = 8;

/// Room for the records of live processes.
#[derive(Debug)]
pub struct Rooms {
    timed: Room,
    starting: Room,
    locking: Room,
    /// For the gaps between emulated calls.
    pub emulated: Room,
    /// Processes with a record that found none.
    pub missed: u64,
}

impl Default for Rooms {
    fn default() -> Self {
        let [timed, starting, locking, emulated] = [TIMED, STARTING, LOCKING, EMULATED].map(Room::new);
        Self { timed, starting, locking, emulated, missed: 0 }
    }
}

#[cfg(test)]
impl Rooms {
    /// What all records take when there is no more room.
    pub fn most_bytes() -> usize {
        TIMED * TimeUse::MOST_BYTES
            + STARTING * Startup::MOST_BYTES
            + LOCKING * LockWaits::MOST_BYTES
            + EMULATED * size_of::<Histogram>()
    }
}

/// What a process's system calls amount to so far.
#[derive(Debug, Default)]
pub struct Activity {
    /// System calls that it came back from.
    pub calls: u64,
    /// How long they took, where that was recorded.
    pub took_ns: u64,
    /// How long its calls of futex took.
    pub futex_ns: u64,
    /// Calls that wait: for input, for a time, for another thread.
    pub waits: u32,
    time: Option<Kept<TimeUse>>,
    startup: Option<Kept<Startup>>,
    locks: Option<Kept<LockWaits>>,
    missed: bool,
}

/// The same, told of a process that ends.
#[derive(Debug, Clone)]
pub struct Account {
    /// System calls that it came back from.
    pub calls: u64,
    /// How long they took, where that was recorded.
    pub took_ns: u64,
    /// How long its calls of futex took.
    pub futex_ns: u64,
    /// Calls that wait.
    pub waits: u64,
    /// Its system calls for the time.
    pub time: Option<Box<TimeUse>>,
    /// Its start-up, if it was out of the ordinary.
    pub startup: Option<Box<Startup>>,
    /// Its waits for locks.
    pub locks: Option<Box<LockWaits>>,
}

impl Activity {
    /// The process becomes another program, which starts.
    #[must_use]
    pub fn exec(rooms: &mut Rooms, startup: Startup) -> Self {
        let mut activity = Self { startup: rooms.starting.keep(|| startup), ..Self::default() };
        if activity.startup.is_none() {
            activity.miss(rooms);
        }
        activity
    }

    /// There was no room for a record of the process: it is counted, once.
    fn miss(&mut self, rooms: &mut Rooms) {
        rooms.missed += u64::from(!std::mem::replace(&mut self.missed, true));
    }

    /// Counts a call; `before_ns`: when its thread came back from a call for the time, if that was its last.
    #[inline]
    pub fn note(&mut self, kind: Kind, call: &CompletedCall<'_>, before_ns: Option<u64>, rooms: &mut Rooms) {
        self.calls += 1;
        self.took_ns = self.took_ns.saturating_add(call.duration_ns().unwrap_or(0));
        if kind != Kind::Other {
            self.note_kind(kind, call, before_ns, rooms);
        }
    }

    #[inline(never)]
    fn note_kind(&mut self, kind: Kind, call: &CompletedCall<'_>, before_ns: Option<u64>, rooms: &mut Rooms) {
        match kind {
            Kind::Other => {}
            Kind::Time(which) => {
                self.time = self.time.take().or_else(|| rooms.timed.keep(|| TimeUse::start(which, call)));
                match &mut self.time {
                    Some(time) => time.note(which, call, before_ns),
                    None => self.miss(rooms),
                }
            }
            Kind::Wait => self.waits = self.waits.saturating_add(1),
            Kind::Futex => self.note_futex(call, rooms),
            Kind::Lookup => self.starting(call, Startup::note_lookup),
            Kind::Seek => self.starting(call, Startup::note_seek),
            Kind::Read => self.starting(call, Startup::note_read),
            Kind::Chdir => self.starting(call, Startup::note_chdir),
        }
    }

    fn note_futex(&mut self, call: &CompletedCall<'_>, rooms: &mut Rooms) {
        self.waits = self.waits.saturating_add(1);
        self.futex_ns = self.futex_ns.saturating_add(call.duration_ns().unwrap_or(0));
        let Some(wait) = call.lock_wait() else { return };
        self.locks = self.locks.take().or_else(|| rooms.locking.keep(LockWaits::default));
        match &mut self.locks {
            Some(locks) => locks.note(call, wait),
            None => self.miss(rooms),
        }
    }

    fn starting(&mut self, call: &CompletedCall<'_>, note: fn(&mut Startup, &CompletedCall<'_>)) {
        let Some(startup) = &mut self.startup else { return };
        if startup.holds(call.exit.timestamp_ns) {
            note(startup, call);
        } else if !startup.is_remarkable() {
            // It makes room for another.
            self.startup = None;
        }
    }

    /// Whether there is something to tell.
    #[must_use]
    pub fn is_remarkable(&self) -> bool {
        let startup = self.startup.as_ref().is_some_and(|startup| startup.is_remarkable());
        let locks = self.locks.as_ref().is_some_and(|locks| locks.weight() > 0);
        self.waits >= WAITS || self.time.is_some() || locks || startup
    }

    /// Tells everything, and begins anew.
    #[must_use]
    pub fn tell(&mut self) -> Option<Box<Account>> {
        let told = std::mem::take(self);
        told.is_remarkable().then(|| {
            let startup = told.startup.map(Kept::release);
            Box::new(Account {
                calls: told.calls,
                took_ns: told.took_ns,
                futex_ns: told.futex_ns,
                waits: told.waits.into(),
                time: told.time.map(Kept::release),
                startup: startup.filter(|startup| startup.is_remarkable()),
                locks: told.locks.map(Kept::release).filter(|locks| locks.weight() > 0),
            })
        })
    }
}
