//! Remembers, for each thread, what it did last and what happened to it.
//!
//! Bounded: at most [`MAX_THREADS`] threads. When more are alive, those that have been silent
//! longest make room, and are counted.

use rustc_hash::FxHashMap;
use scapfile::Event;

use super::processes::ProcessKey;
use crate::calls::{CompletedCall, Entered, Generic, Given, OpenCall};
use crate::fault::Fault;

/// Threads remembered at once; a Linux machine has 32,768 pids by default.
pub const MAX_THREADS: usize = 49_152;
/// System calls remembered per thread.
const RECENT: usize = 8;
/// Entries of the per-CPU short cut.
const CPUS: usize = 64;

/// A system call that a thread made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecentCall {
    /// Number of the event it was first seen in.
    pub event: u64,
    /// When that was, in nanoseconds since the epoch.
    pub timestamp_ns: u64,
    /// Type of that event.
    pub event_type: u16,
    /// Which call it was, for a generic event.
    pub generic: Option<Generic>,
}

/// The last calls of a thread, the oldest overwritten first.
#[derive(Debug, Clone, Copy)]
struct Recent {
    calls: [RecentCall; RECENT],
    count: u32,
}

impl Recent {
    const EMPTY: RecentCall = RecentCall { event: 0, timestamp_ns: 0, event_type: 0, generic: None };

    #[inline]
    fn newest(&self) -> Option<&RecentCall> {
        (self.count > 0).then(|| &self.calls[(self.count as usize - 1) % RECENT])
    }

    #[inline]
    fn push(&mut self, call: RecentCall) {
        self.calls[self.count as usize % RECENT] = call;
        self.count = self.count.wrapping_add(1);
        if self.count == 0 {
            self.count = RECENT as u32;
        }
    }

    fn in_order(&self) -> Vec<RecentCall> {
        let count = self.count as usize;
        (count.saturating_sub(RECENT)..count).map(|i| self.calls[i % RECENT]).collect()
    }
}

/// Where in its address space a thread lately used memory for the first time, to 16 MiB.
#[derive(Debug, Clone, Copy, Default)]
pub struct Touched {
    regions: [u64; 8],
    next: u8,
}

impl Touched {
    const SHIFT: u32 = 24;

    /// Notes a fault that the kernel resolved.
    #[inline]
    fn note(&mut self, address: u64) {
        let region = (address >> Self::SHIFT) + 1;
        if !self.regions.contains(&region) {
            self.regions[usize::from(self.next)] = region;
            self.next = (self.next + 1) % 8;
        }
    }

    /// Whether memory near `address` was used without harm: then a page that is not there may just
    /// not have been used before.
    #[must_use]
    pub fn is_near(&self, address: u64) -> bool {
        let region = (address >> Self::SHIFT) + 1;
        self.regions.iter().any(|known| *known != 0 && known.abs_diff(region) <= 1)
    }
}

/// What the enter event of a call says and its exit needs.
#[derive(Debug, Default)]
pub enum Pending {
    /// Nothing.
    #[default]
    Nothing,
    /// Address and length given to mmap or munmap.
    Mapping(u64, u64),
    /// The path given to execve.
    Exec(Box<[u8]>),
}

/// One thread.
#[derive(Debug)]
pub struct Thread {
    /// Thread id, host namespace.
    pub tid: i64,
    /// Its process, once known.
    pub process: Option<ProcessKey>,
    /// The last user page fault, until the thread makes a system call or faults again.
    pub fault: Option<Fault>,
    /// A signal that may be killing the thread right now.
    pub dying: bool,
    /// What the exit of the call that it is in needs from its enter event.
    pub pending: Pending,
    /// Where it used memory for the first time.
    pub touched: Touched,
    recent: Recent,
    /// It has not come back from the newest of its calls.
    within_call: bool,
    /// What that call was given.
    given: Given,
    /// When it came back from a call for the time, and how many calls it had made by then.
    time_call: (u64, u32),
    seen: bool,
}

impl Thread {
    fn new(tid: i64) -> Self {
        Self {
            tid,
            process: None,
            fault: None,
            dying: false,
            pending: Pending::Nothing,
            touched: Touched::default(),
            recent: Recent { calls: [Recent::EMPTY; RECENT], count: 0 },
            within_call: false,
            given: Given::Nothing,
            time_call: (0, 0),
            seen: true,
        }
    }

    /// The last fault was harmless: the kernel gave the page, and the thread goes on.
    #[inline]
    pub fn fault_was_resolved(&mut self) {
        if let Some(fault) = self.fault.take() {
            self.touched.note(fault.address);
        }
    }

    /// Notes a system call; at its exit, gives what is known of it. `keeps_given`: its enter event says what
    /// the exit event does not.
    #[inline]
    pub fn note_call<'a>(&mut self, event: &'a Event<'a>, keeps_given: bool) -> Option<CompletedCall<'a>> {
        let &Event { number, timestamp_ns, event_type, .. } = event;
        let generic = Generic::of(event);
        let open = if event.is_exit() { self.come_back(event_type, generic) } else { None };
        if open.is_none() {
            self.recent.push(RecentCall { event: number, timestamp_ns, event_type, generic });
        }
        if event.is_exit() {
            let generic = open.map_or(generic, |open| open.generic);
            let entered = open.map(|open| open.entered);
            return Some(CompletedCall { exit: event, generic, entered, process: self.process });
        }
        self.within_call = true;
        self.given = if keeps_given { Given::of(event) } else { Given::Nothing };
        None
    }

    /// Notes that it comes back from a call for the time, now; gives when it did so before, if it has made no
    /// other call since.
    pub fn note_time_call(&mut self, now_ns: u64) -> Option<u64> {
        let (before_ns, calls) = self.time_call;
        self.time_call = (now_ns, self.recent.count);
        (calls > 0 && calls.wrapping_add(1) == self.recent.count).then_some(before_ns)
    }

    /// The call that ends with such an exit event, if the thread is in one. It is in no call from now on.
    #[inline]
    fn come_back(&mut self, event_type: u16, generic: Option<Generic>) -> Option<OpenCall> {
        let open = self.open_call();
        self.within_call = false;
        let code = |generic: Option<Generic>| generic.map(|generic| generic.code);
        open.filter(|open| open.event_type + 1 == event_type && code(open.generic) == code(generic))
    }

    /// The call that the thread is in, as far as is known.
    #[inline]
    #[must_use]
    pub fn open_call(&self) -> Option<OpenCall> {
        let &RecentCall { event, timestamp_ns, event_type, generic } =
            self.recent.newest().filter(|_| self.within_call)?;
        let entered = Entered { event, timestamp_ns, given: self.given };
        Some(OpenCall { tid: self.tid, event_type, generic, entered, process: self.process })
    }

    /// The last system calls, oldest first.
    #[must_use]
    pub fn last_calls(&self) -> Vec<RecentCall> {
        self.recent.in_order()
    }
}

/// The threads alive.
#[derive(Debug)]
pub struct Threads {
    index: FxHashMap<i64, u32>,
    slots: Vec<Thread>,
    free: Vec<u32>,
    /// The thread last seen on each CPU: most events come from the same thread as the one before.
    on_cpu: [(i64, u32); CPUS],
    hand: usize,
    forgotten: u64,
}

impl Default for Threads {
    fn default() -> Self {
        Self {
            index: FxHashMap::default(),
            slots: Vec::new(),
            free: Vec::new(),
            on_cpu: [(i64::MIN, 0); CPUS],
            hand: 0,
            forgotten: 0,
        }
    }
}

impl Threads {
    /// The thread `tid`, known or new.
    #[inline]
    pub fn on_cpu(&mut self, tid: i64, cpu: u16) -> &mut Thread {
        let cpu = usize::from(cpu) % CPUS;
        let (last, slot) = self.on_cpu[cpu];
        let slot = if last == tid {
            slot
        } else {
            let slot = self.slot(tid);
            self.on_cpu[cpu] = (tid, slot);
            slot
        };
        let thread = &mut self.slots[slot as usize];
        thread.seen = true;
        thread
    }

    /// The thread `tid`, known or new.
    pub fn get_or_new(&mut self, tid: i64) -> &mut Thread {
        let slot = self.slot(tid);
        &mut self.slots[slot as usize]
    }

    /// The thread `tid`, if it is known.
    #[must_use]
    pub fn get(&self, tid: i64) -> Option<&Thread> {
        self.index.get(&tid).map(|slot| &self.slots[*slot as usize])
    }

    /// The thread `tid`, if it is known.
    pub fn get_mut(&mut self, tid: i64) -> Option<&mut Thread> {
        self.index.get(&tid).map(|slot| &mut self.slots[*slot as usize])
    }

    /// Forgets the thread `tid`, and says which process it was of.
    pub fn remove(&mut self, tid: i64) -> Option<ProcessKey> {
        let slot = self.index.remove(&tid)?;
        self.on_cpu.iter_mut().filter(|entry| entry.0 == tid).for_each(|entry| entry.0 = i64::MIN);
        self.free.push(slot);
        let thread = &mut self.slots[slot as usize];
        thread.pending = Pending::Nothing;
        thread.process.take()
    }

    /// All threads alive.
    pub fn iter(&self) -> impl Iterator<Item = &Thread> {
        self.index.values().map(|slot| &self.slots[*slot as usize])
    }

    /// How many threads were forgotten for lack of room.
    #[must_use]
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    fn slot(&mut self, tid: i64) -> u32 {
        if let Some(slot) = self.index.get(&tid) {
            return *slot;
        }
        if self.index.len() >= MAX_THREADS {
            self.make_room();
        }
        let slot = if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = Thread::new(tid);
            slot
        } else {
            self.slots.push(Thread::new(tid));
            self.slots.len() as u32 - 1
        };
        self.index.insert(tid, slot);
        slot
    }

    /// Takes the next thread that was not seen since the hand last passed it.
    fn make_room(&mut self) {
        loop {
            self.hand = (self.hand + 1) % self.slots.len();
            let thread = &mut self.slots[self.hand];
            if !std::mem::take(&mut thread.seen) {
                let tid = thread.tid;
                self.remove(tid);
                self.forgotten += 1;
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detectors::examples::each_event;

    fn types(thread: &Thread) -> Vec<u16> {
        thread.last_calls().iter().map(|call| call.event_type).collect()
    }

    /// Has `thread` make the calls whose events have these types.
    fn note(thread: &mut Thread, types: &[u16]) {
        each_event(types, |event| {
            thread.note_call(event, false);
        });
    }

    #[test]
    fn enter_and_exit_are_one_call_and_the_oldest_is_dropped() {
        let mut thread = Thread::new(1);
        note(&mut thread, &(2..22).collect::<Vec<u16>>());
        assert_eq!(types(&thread), (3..11).map(|call| call * 2).collect::<Vec<u16>>());
    }

    #[test]
    fn an_exit_without_its_enter_is_a_call() {
        let mut thread = Thread::new(1);
        note(&mut thread, &[5, 5]);
        assert_eq!(types(&thread), [5, 5]);
    }

    #[test]
    fn a_flood_of_threads_is_bounded_and_the_busy_one_stays() {
        let mut threads = Threads::default();
        for tid in 0..3 * MAX_THREADS as i64 {
            threads.on_cpu(tid, 0);
            threads.on_cpu(-7, 1);
        }
        assert!(threads.iter().count() <= MAX_THREADS);
        assert!(threads.get(-7).is_some());
        assert!(threads.forgotten() > 0);
    }
}
