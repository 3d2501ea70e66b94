//! Remembers processes: names, arguments, container, libraries and mappings.
//!
//! Bounded: strings are cut to what a person needs, so that no process takes more than 3 KB, and when
//! more than [`MAX_PROCESSES`] are alive, those not concerned in anything for longest make room.

use super::containers::ContainerId;
use super::mappings::Mappings;
use super::{Threads, text};
use crate::activity::Activity;
use crate::episodes::{Delivery, PageUse};
use crate::finding::{Moment, ProcessRef, Relative};

/// Processes remembered at once.
pub const MAX_PROCESSES: usize = 8_192;
const MAX_NAME: usize = 64;
const MAX_PATH: usize = 160;
const MAX_ARGS: usize = 256;
/// Arguments shown.
const SHOWN_ARGS: usize = 16;
const MAX_LIBRARIES: usize = 24;
/// Bytes of library paths kept.
const MAX_LIBRARY_BYTES: usize = 1024;

/// What identifies a program, as recorded.
#[derive(Debug, Clone, Default)]
pub struct Names {
    comm: Box<[u8]>,
    exe: Box<[u8]>,
    exepath: Box<[u8]>,
    filename: Box<[u8]>,
    args: Box<[u8]>,
}

/// The same, borrowed from an event; `None` where the event does not say.
#[derive(Debug, Clone, Copy, Default)]
pub struct Named<'a> {
    /// Command name.
    pub comm: Option<&'a [u8]>,
    /// `argv[0]`.
    pub exe: Option<&'a [u8]>,
    /// The program file.
    pub exepath: Option<&'a [u8]>,
    /// The path given to execve.
    pub filename: Option<&'a [u8]>,
    /// Arguments, NUL-separated.
    pub args: Option<&'a [u8]>,
}

fn cut(bytes: &[u8], most: usize) -> Box<[u8]> {
    bytes[..bytes.len().min(most)].into()
}

impl Names {
    /// Takes over what is given.
    pub fn update(&mut self, named: Named<'_>) {
        let Named { comm, exe, exepath, filename, args } = named;
        let pairs = [
            (&mut self.comm, comm, MAX_NAME),
            (&mut self.exe, exe, MAX_PATH),
            (&mut self.exepath, exepath, MAX_PATH),
            (&mut self.filename, filename, MAX_PATH),
            (&mut self.args, args, MAX_ARGS),
        ];
        for (mine, given, most) in pairs {
            if let Some(given) = given {
                *mine = cut(given, most);
            }
        }
    }

    fn comm_text(&self) -> Option<String> {
        known(&self.comm)
    }

    fn args_text(&self) -> Vec<String> {
        self.args.split(|byte| *byte == 0).filter(|arg| !arg.is_empty()).take(SHOWN_ARGS).map(text).collect()
    }
}

fn known(bytes: &[u8]) -> Option<String> {
    (!bytes.is_empty() && bytes != b"<NA>").then(|| text(bytes))
}

/// One process.
#[derive(Debug)]
pub struct Process {
    /// Process id, host namespace.
    pub pid: i64,
    /// Parent's process id, host namespace; 0 if unknown.
    pub ppid: i64,
    /// Process id in its own namespace, if known.
    pub vpid: Option<i64>,
    /// What it is called.
    pub names: Names,
    /// Its container, if it is in one.
    pub container: Option<ContainerId>,
    /// Its last execve, if that is in the capture.
    pub exec: Option<Moment>,
    /// When it was created, if that is in the capture.
    pub born: Option<Moment>,
    /// Address ranges it mapped.
    pub mappings: Mappings,
    /// What it did in the vsyscall page and lived.
    pub page_use: Option<Box<PageUse>>,
    /// The last signal it caught after a fault, for deaths that follow from it.
    pub caught: Option<Delivery>,
    /// A signal that may be killing it right now.
    pub dying: Option<Delivery>,
    /// Its death has been reported.
    pub dead: bool,
    /// What its system calls amount to.
    pub activity: Activity,
    libraries: Vec<Box<[u8]>>,
    threads: u32,
}

impl Process {
    fn new(pid: i64) -> Self {
        Self {
            pid,
            ppid: 0,
            vpid: None,
            names: Names::default(),
            container: None,
            exec: None,
            born: None,
            mappings: Mappings::default(),
            page_use: None,
            caught: None,
            dying: None,
            dead: false,
            activity: Activity::default(),
            libraries: Vec::new(),
            threads: 0,
        }
    }

    /// Becomes another program: what belonged to the old one is gone.
    pub fn exec(&mut self, at: Moment) {
        self.exec = Some(at);
        self.mappings = Mappings::default();
        self.libraries.clear();
    }

    /// What its child takes over, as fork makes it.
    #[must_use]
    pub fn child(&self) -> Self {
        Self {
            ppid: self.pid,
            names: self.names.clone(),
            container: self.container,
            mappings: self.mappings.clone(),
            libraries: self.libraries.clone(),
            ..Self::new(0)
        }
    }

    /// Becomes a new process that takes over from its parent.
    pub fn begin(&mut self, at: Moment, inherited: Self) {
        let Self { pid, threads, .. } = *self;
        *self = Self { pid, threads, born: Some(at), ..inherited };
    }

    /// Notes a file it opened, if it looks like a shared library.
    pub fn note_open(&mut self, path: &[u8]) {
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
        let is_library = name.ends_with(b".so") || name.windows(4).any(|part| part == b".so.");
        let kept: usize = self.libraries.iter().map(|path| path.len()).sum();
        if is_library
            && name != b"ld.so.cache"
            && self.libraries.len() < MAX_LIBRARIES
            && kept + path.len() <= MAX_LIBRARY_BYTES
            && !self.libraries.iter().any(|known| **known == *path)
        {
            self.libraries.push(path.into());
        }
    }

    /// The shared libraries it opened, in order.
    #[must_use]
    pub fn libraries(&self) -> Vec<String> {
        self.libraries.iter().map(|path| text(path)).collect()
    }

    /// Its command name.
    #[must_use]
    pub fn comm(&self) -> Option<String> {
        self.names.comm_text()
    }

    /// As another process's relative.
    #[must_use]
    pub fn relative(&self) -> Relative {
        let args = known(&self.names.exe).into_iter().chain(self.names.args_text()).collect();
        Relative { comm: self.comm(), pid: self.pid, args }
    }

    /// As a finding shows it; `tid`: the thread concerned.
    #[must_use]
    pub fn show(&self, tid: i64) -> ProcessRef {
        ProcessRef {
            comm: self.comm(),
            exe: known(&self.names.exe),
            exepath: known(&self.names.exepath),
            filename: known(&self.names.filename),
            args: self.names.args_text(),
            pid: self.pid,
            tid,
            parent: None,
            entry_point: None,
        }
    }
}

/// Where a process is kept. A key outlives its process: it then leads nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ProcessKey {
    slot: u32,
    generation: u32,
}

/// A process from its begin or an execve to its end or the next execve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ProgramKey {
    process: ProcessKey,
    /// The event with which it began; 0 if that is not in the capture.
    event: u64,
}

#[derive(Debug)]
struct Slot {
    process: Process,
    generation: u32,
    seen: bool,
}

/// The processes alive, reached through their threads.
#[derive(Debug, Default)]
pub struct Processes {
    slots: Vec<Slot>,
    free: Vec<u32>,
    hand: usize,
    /// Processes that had to make room while there was still something to be said of them.
    pub evicted: Vec<Process>,
}

impl Processes {
    /// The process `key`, to be changed.
    #[inline]
    pub fn at(&mut self, key: ProcessKey) -> Option<&mut Process> {
        let slot = self.slots.get_mut(key.slot as usize).filter(|slot| slot.generation == key.generation)?;
        slot.seen = true;
        Some(&mut slot.process)
    }

    /// The activity of the process `key`. To make calls does not keep a process from making room.
    #[inline]
    pub fn activity(&mut self, key: ProcessKey) -> Option<&mut Activity> {
        let slot = self.slots.get_mut(key.slot as usize).filter(|slot| slot.generation == key.generation)?;
        Some(&mut slot.process.activity)
    }

    /// The process `key`, to be looked at.
    #[inline]
    #[must_use]
    pub fn peek(&self, key: ProcessKey) -> Option<&Process> {
        let slot = self.slots.get(key.slot as usize).filter(|slot| slot.generation == key.generation)?;
        Some(&slot.process)
    }

    /// What the process `key` runs now.
    #[inline]
    #[must_use]
    pub fn program(&self, key: ProcessKey) -> Option<ProgramKey> {
        let process = self.peek(key)?;
        let begin = process.exec.or(process.born);
        Some(ProgramKey { process: key, event: begin.map_or(0, |begin| begin.event) })
    }

    /// The process of thread `tid`, if it is known.
    #[must_use]
    pub fn of(&self, threads: &Threads, tid: i64) -> Option<&Process> {
        self.peek(threads.get(tid)?.process?)
    }

    /// The process of thread `tid`, to be changed, if it is known.
    pub fn of_mut(&mut self, threads: &Threads, tid: i64) -> Option<&mut Process> {
        self.at(threads.get(tid)?.process?)
    }

    /// Makes the thread `tid` one of the process `pid`, known or new.
    pub fn bind(&mut self, threads: &mut Threads, tid: i64, pid: i64) -> ProcessKey {
        let of = |processes: &Self, threads: &Threads, tid| {
            let key = threads.get(tid)?.process?;
            (processes.peek(key)?.pid == pid).then_some(key)
        };
        if let Some(key) = of(self, threads, tid) {
            return key;
        }
        self.leave(threads, tid);
        let key = of(self, threads, pid).unwrap_or_else(|| {
            let key = self.create(pid);
            if pid != tid {
                // The leader holds the process for threads that come later.
                self.leave(threads, pid);
                self.join(threads, pid, key);
            }
            key
        });
        self.join(threads, tid, key);
        key
    }

    fn join(&mut self, threads: &mut Threads, tid: i64, key: ProcessKey) {
        threads.get_or_new(tid).process = Some(key);
        if let Some(process) = self.at(key) {
            process.threads += 1;
        }
    }

    /// Takes the thread `tid` out of its process; the last one to leave ends it.
    pub fn leave(&mut self, threads: &mut Threads, tid: i64) {
        if let Some(key) = threads.get_mut(tid).and_then(|thread| thread.process.take()) {
            self.left(key);
        }
    }

    /// A thread of the process `key` is gone; with the last one, the process is.
    pub fn left(&mut self, key: ProcessKey) {
        let Some(process) = self.at(key) else { return };
        process.threads = process.threads.saturating_sub(1);
        if process.threads == 0 {
            self.clear(key.slot as usize);
        }
    }

    fn create(&mut self, pid: i64) -> ProcessKey {
        if self.free.is_empty() && self.slots.len() >= MAX_PROCESSES {
            self.make_room();
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { process: Process::new(0), generation: 0, seen: true });
            self.slots.len() as u32 - 1
        });
        let Slot { process, generation, seen } = &mut self.slots[slot as usize];
        *process = Process::new(pid);
        *seen = true;
        ProcessKey { slot, generation: *generation }
    }

    /// Ends the process that was not concerned in anything since the hand last passed it.
    fn make_room(&mut self) {
        loop {
            self.hand = (self.hand + 1) % self.slots.len();
            if !std::mem::take(&mut self.slots[self.hand].seen) {
                self.clear(self.hand);
                return;
            }
        }
    }

    /// Empties a slot; keys to it lead nowhere from now on.
    fn clear(&mut self, slot: usize) {
        let Slot { process, generation, .. } = &mut self.slots[slot];
        let gone = std::mem::replace(process, Process::new(0));
        *generation = generation.wrapping_add(1);
        self.free.push(slot as u32);
        if gone.page_use.is_some() || gone.dying.is_some() || gone.activity.is_remarkable() {
            self.evicted.push(gone);
        }
    }
}
