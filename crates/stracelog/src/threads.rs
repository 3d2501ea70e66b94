//! Follows the threads of a log: whose a line is, which process they are of, and what calls they are in.

use std::collections::HashMap;

/// Threads followed at a time. Beyond that a thread's calls are converted, but what interrupts them is
/// not joined.
pub const MAX_THREADS: usize = 16_384;
/// Bytes kept of the arguments of one call that is not back, and of all of them.
const MAX_ARGUMENTS: usize = 2048;
const MAX_ALL_ARGUMENTS: usize = 8 << 20;
/// The thread of a log that does not name its only one.
pub(crate) const NAMELESS: i64 = 0;

/// A call that is not back yet.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    pub name: Vec<u8>,
    /// As far as they are printed and kept.
    pub arguments: Vec<u8>,
    pub entered_ns: u64,
}

/// A thread.
#[derive(Debug, Default)]
pub(crate) struct Thread {
    /// Its process, as far as the log says.
    pub pid: Option<i64>,
    /// The parent of its process.
    pub ppid: Option<i64>,
    /// The name that its last execve gave it.
    pub comm: Vec<u8>,
    pending: Option<Pending>,
    /// A line of its own was seen.
    seen: bool,
}

/// The threads of a log.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    threads: HashMap<i64, Thread>,
    /// The thread of lines that name none.
    main: Option<i64>,
    /// A number that turned out to be the main thread's, which goes by another.
    alias: Option<i64>,
    argument_bytes: usize,
    /// Threads within a call that makes one, and whether that is a thread of the same process.
    parents: HashMap<i64, bool>,
}

/// A thread is there that no call has announced: it is of this process.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Appeared {
    pub tid: i64,
    pub pid: i64,
    pub ppid: Option<i64>,
    pub comm: Vec<u8>,
}

/// Calls that make threads and processes.
pub(crate) fn makes_threads(name: &[u8]) -> bool {
    matches!(name, b"clone" | b"clone3" | b"fork" | b"vfork")
}

impl Threads {
    /// `main`: the thread of lines that name none, if that can be told beforehand.
    pub(crate) fn new(main: Option<i64>) -> Self {
        Self { main, ..Self::default() }
    }

    /// Whose line it is; `named` is what it says itself.
    pub(crate) fn whose(&mut self, named: Option<i64>) -> i64 {
        let Some(tid) = named else {
            // strace names threads while there are several; alone, the last one goes without.
            let mut alive = self.threads.keys();
            return match (alive.next(), alive.next()) {
                (Some(only), None) => *only,
                _ => self.main.unwrap_or(NAMELESS),
            };
        };
        let nameless = self.main.is_none() && self.threads.contains_key(&NAMELESS);
        if nameless && self.alias.is_none() && !self.threads.contains_key(&tid) && self.parents.is_empty() {
            self.alias = Some(tid);
        }
        if self.alias == Some(tid) { NAMELESS } else { tid }
    }

    /// Notes that `tid` has a line; says so if it belongs to a process of which it has not been told.
    pub(crate) fn appears(&mut self, tid: i64) -> Option<Appeared> {
        let known = self.threads.get(&tid);
        if known.is_some_and(|thread| thread.seen) || (known.is_none() && self.threads.len() >= MAX_THREADS) {
            return None;
        }
        let announced = self.threads.get(&tid).is_some_and(|thread| thread.pid.is_some());
        // A child may be faster than the call that made it. If only one is underway it is that one.
        let parent = self.parents.iter().next().filter(|_| !announced && self.parents.len() == 1);
        let appeared = parent.map(|(parent, is_thread)| self.child(*parent, tid, *is_thread));
        let thread = self.get_or_new(tid)?;
        thread.seen = true;
        if let Some(appeared) = &appeared {
            thread.take_over(appeared);
        }
        appeared
    }

    /// Notes what a call that makes threads returned: `child`. Says so if that has had lines before.
    pub(crate) fn born(&mut self, parent: i64, child: i64, is_thread: bool) -> Option<Appeared> {
        let appeared = self.child(parent, child, is_thread);
        let thread = self.get_or_new(child)?;
        if thread.pid.is_some() {
            return None;
        }
        thread.take_over(&appeared);
        thread.seen.then_some(appeared)
    }

    /// strace follows `tid` from now on.
    pub(crate) fn attached(&mut self, tid: i64) {
        _ = self.get_or_new(tid);
    }

    /// The thread `tid` has become the program `comm`, and is its process's only one.
    pub(crate) fn became(&mut self, tid: i64, comm: &[u8]) {
        if let Some(thread) = self.get_or_new(tid) {
            thread.comm = comm.to_vec();
            thread.pid = Some(tid);
        }
    }

    pub(crate) fn get(&self, tid: i64) -> Option<&Thread> {
        self.threads.get(&tid)
    }

    pub(crate) fn ended(&mut self, tid: i64) {
        self.back(tid);
        self.threads.remove(&tid);
    }

    /// The thread has gone into a call.
    pub(crate) fn enters(&mut self, tid: i64, name: &[u8], arguments: &[u8], entered_ns: u64) {
        self.back(tid);
        let room = MAX_ALL_ARGUMENTS.saturating_sub(self.argument_bytes).min(MAX_ARGUMENTS);
        let arguments = arguments[..arguments.len().min(room)].to_vec();
        let length = arguments.len();
        if let Some(thread) = self.get_or_new(tid) {
            let is_thread = is_thread(&arguments);
            thread.pending = Some(Pending { name: name.to_vec(), arguments, entered_ns });
            self.argument_bytes += length;
            if makes_threads(name) {
                self.parents.insert(tid, is_thread);
            }
        }
    }

    /// The thread is back from the call that it was in, which is given.
    pub(crate) fn back(&mut self, tid: i64) -> Option<Pending> {
        let pending = self.threads.get_mut(&tid)?.pending.take()?;
        self.argument_bytes -= pending.arguments.len();
        self.parents.remove(&tid);
        Some(pending)
    }

    /// The call that `from` is in goes on in `to`: an execve takes its process's first thread's place.
    pub(crate) fn supersede(&mut self, from: i64, to: i64) {
        if let Some(Pending { name, arguments, entered_ns }) = self.back(from) {
            self.enters(to, &name, &arguments, entered_ns);
        }
        self.ended(from);
    }

    fn child(&self, parent: i64, tid: i64, is_thread: bool) -> Appeared {
        let thread = self.threads.get(&parent);
        let parent_pid = thread.and_then(|thread| thread.pid).unwrap_or(parent);
        let (pid, ppid) =
            if is_thread { (parent_pid, thread.and_then(|thread| thread.ppid)) } else { (tid, Some(parent_pid)) };
        Appeared { tid, pid, ppid, comm: thread.map(|thread| thread.comm.clone()).unwrap_or_default() }
    }

    /// `None`: there is no room for another one.
    fn get_or_new(&mut self, tid: i64) -> Option<&mut Thread> {
        if self.threads.len() >= MAX_THREADS && !self.threads.contains_key(&tid) {
            return None;
        }
        Some(self.threads.entry(tid).or_default())
    }
}

impl Thread {
    fn take_over(&mut self, appeared: &Appeared) {
        self.pid = Some(appeared.pid);
        self.ppid = appeared.ppid;
        self.comm.clone_from(&appeared.comm);
    }
}

/// Whether the arguments of a clone make a thread.
pub(crate) fn is_thread(arguments: &[u8]) -> bool {
    crate::text::find(arguments, b"CLONE_THREAD").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_only_thread_needs_no_name_and_keeps_its_number() {
        let mut threads = Threads::new(Some(10));
        assert_eq!(threads.whose(None), 10);
        threads.appears(10);
        threads.enters(10, b"clone3", b"{flags=CLONE_VM|CLONE_THREAD} ", 1);
        assert_eq!(threads.whose(Some(11)), 11);
        let appeared = Appeared { tid: 11, pid: 10, ppid: None, comm: Vec::new() };
        assert_eq!(threads.appears(11), Some(appeared));
        assert_eq!(threads.appears(11), None);
        assert_eq!(threads.born(10, 11, true), None, "told before");
        threads.ended(10);
        assert_eq!(threads.whose(None), 11, "the last one left");
    }

    #[test]
    fn a_thread_of_a_log_without_names_is_known_again_by_its_first_one() {
        let mut threads = Threads::new(None);
        let tid = threads.whose(None);
        threads.appears(tid);
        assert_eq!(tid, NAMELESS);
        threads.attached(12);
        assert_eq!((threads.whose(Some(12)), threads.whose(Some(11)), threads.whose(Some(13))), (12, NAMELESS, 13));
    }

    #[test]
    fn a_child_of_one_of_two_parents_is_known_once_its_call_is_back() {
        let mut threads = Threads::default();
        for tid in [1, 2] {
            threads.appears(tid);
            threads.became(tid, b"sh");
            threads.enters(tid, b"fork", b"", 1);
        }
        assert_eq!(threads.appears(3), None);
        let appeared = Appeared { tid: 3, pid: 3, ppid: Some(2), comm: b"sh".to_vec() };
        assert_eq!(threads.born(2, 3, false), Some(appeared));
        // One that appears after its call is back is no news.
        assert_eq!((threads.born(1, 4, false), threads.appears(4)), (None, None));
    }

    #[test]
    fn an_execve_in_another_thread_goes_on_in_the_first() {
        let mut threads = Threads::default();
        threads.enters(2, b"execve", b"\"/bin/a\"", 5);
        threads.supersede(2, 1);
        assert_eq!(threads.back(2).is_none(), threads.get(2).is_none());
        assert_eq!(threads.back(1).map(|pending| pending.entered_ns), Some(5));
    }

    #[test]
    fn what_is_kept_of_unfinished_calls_is_bounded() {
        let mut threads = Threads::default();
        let long = vec![b'x'; 100_000];
        for tid in 0..2 * MAX_THREADS as i64 {
            threads.enters(tid, b"read", &long, 1);
            threads.enters(tid, b"read", &long, 1);
        }
        let kept: usize = threads.threads.values().flat_map(|thread| &thread.pending).map(|p| p.arguments.len()).sum();
        assert_eq!((threads.threads.len(), kept), (MAX_THREADS, MAX_ALL_ARGUMENTS));
        assert_eq!(threads.argument_bytes, kept);
        (0..2 * MAX_THREADS as i64).for_each(|tid| threads.ended(tid));
        assert_eq!((threads.threads.len(), threads.argument_bytes), (0, 0));
    }
}
