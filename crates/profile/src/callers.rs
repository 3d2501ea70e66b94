//! Numbers those who make system calls, and remembers them when they are gone.
//!
//! A caller is a thread of a program; a program is a process from its begin or an execve to its end or
//! the next execve, so that the calls of runc are not counted for what runc became.

use diagnosis::{ContainerId, ProcessKey, ProgramKey, State};
use rustc_hash::FxHashMap;

use crate::asked::Asked;

/// Callers told apart, and programs. As many as fill a hash table that is about to grow; a Linux machine
/// has 32,768 pids by default.
pub const MAX_CALLERS: usize = 28_672;
/// Ancestors of a program that are remembered; containers nest less deep.
const MAX_ANCESTORS: u32 = 64;
/// Entries of the short cut from thread ids to callers.
const RECENT: usize = 4096;

/// The number of a caller.
pub type CallerId = u32;

/// A process while it runs one program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Process id, host namespace.
    pub pid: i64,
    /// Command name, where known.
    pub comm: Option<String>,
    /// Its container, if it is in one.
    pub container: Option<ContainerId>,
    /// The program of its parent, as a number of [`Callers::program`].
    pub parent: Option<u32>,
    /// How many ancestors it has in this way.
    ancestors: u32,
}

/// A thread of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller {
    /// Number of its program; `None` for those that are told apart no more.
    pub program: Option<u32>,
    /// Thread id, host namespace.
    pub tid: i64,
}

/// What tells programs apart: for a process of which the capture says nothing, the thread is all there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Identity {
    Known(ProgramKey),
    Thread(i64),
}

/// All callers.
#[derive(Debug)]
pub struct Callers {
    callers: Vec<Caller>,
    programs: Vec<Program>,
    caller_index: FxHashMap<(Identity, i64), CallerId>,
    program_index: FxHashMap<Identity, u32>,
    /// By the last digits of the thread id: whose turn it was last.
    recent: Box<[(i64, Identity, CallerId); RECENT]>,
}

impl Default for Callers {
    fn default() -> Self {
        Self {
            callers: vec![Caller { program: None, tid: -1 }],
            programs: Vec::new(),
            caller_index: FxHashMap::default(),
            program_index: FxHashMap::default(),
            recent: no_recent(),
        }
    }
}

fn no_recent() -> Box<[(i64, Identity, CallerId); RECENT]> {
    Box::new([(i64::MIN, Identity::Thread(i64::MIN), Callers::OTHERS); RECENT])
}

impl Callers {
    /// Those that are told apart no more, for there are more than [`MAX_CALLERS`].
    pub const OTHERS: CallerId = 0;

    /// The caller of this number.
    #[must_use]
    pub fn caller(&self, id: CallerId) -> Caller {
        self.callers[id as usize]
    }

    /// The program of this number.
    #[must_use]
    pub fn program(&self, number: u32) -> &Program {
        &self.programs[number as usize]
    }

    /// The number of the thread `tid` of `process`, at the present event of `state`. Who cannot be `asked`
    /// for takes no place from those who can: they are told apart from nobody.
    #[inline]
    pub fn id(&mut self, tid: i64, process: Option<ProcessKey>, state: &State, asked: &Asked) -> CallerId {
        let program = process.and_then(|process| state.program(process));
        let identity = program.map_or(Identity::Thread(tid), Identity::Known);
        let at = (tid.unsigned_abs() % RECENT as u64) as usize;
        let (recent_tid, recent_identity, id) = self.recent[at];
        if recent_tid == tid && recent_identity == identity {
            return id;
        }
        let id = self.find(identity, tid, state, asked);
        self.recent[at] = (tid, identity, id);
        id
    }

    /// Reads the name of a caller's program anew: it has changed.
    pub fn rename(&mut self, id: CallerId, state: &State) {
        let Caller { program: Some(program), tid } = self.caller(id) else { return };
        if let Some(comm) = state.comm(tid) {
            self.programs[program as usize].comm = Some(comm);
        }
    }

    /// The next call comes from another machine, or another boot.
    pub fn end_section(&mut self) {
        self.caller_index.clear();
        self.program_index.clear();
        self.recent = no_recent();
    }

    #[inline(never)]
    fn find(&mut self, identity: Identity, tid: i64, state: &State, asked: &Asked) -> CallerId {
        if let Some(id) = self.caller_index.get(&(identity, tid)) {
            return *id;
        }
        let process = state.process_of(tid).map(|(_, process)| process);
        let in_container = process.is_some_and(|process| process.container.is_some());
        let may_be_asked_for = asked.may_want(tid, process.map_or(tid, |process| process.pid), in_container);
        if self.callers.len() > MAX_CALLERS || !may_be_asked_for {
            return Self::OTHERS;
        }
        let Some(program) = self.find_program(identity, tid, state) else { return Self::OTHERS };
        let id = self.callers.len() as CallerId;
        self.callers.push(Caller { program: Some(program), tid });
        self.caller_index.insert((identity, tid), id);
        id
    }

    /// The program, with its ancestors.
    fn find_program(&mut self, identity: Identity, tid: i64, state: &State) -> Option<u32> {
        let mut line = vec![(identity, tid)];
        let mut found = None;
        while let Some((identity, tid)) = line.last() {
            found = self.program_index.get(identity).copied();
            if found.is_some() || line.len() > MAX_ANCESTORS as usize {
                break;
            }
            let parent = state.process_of(*tid).map(|(_, process)| process.ppid);
            let Some((key, parent)) = parent.and_then(|parent| state.process_of(parent)) else { break };
            let Some(program) = state.program(key).map(Identity::Known) else { break };
            // Where a capture says that a process is its own ancestor, it is none.
            if line.iter().any(|(known, _)| *known == program) {
                break;
            }
            line.push((program, parent.pid));
        }
        if found.is_some() {
            line.pop();
        }
        for (identity, tid) in line.into_iter().rev() {
            if self.programs.len() >= MAX_CALLERS {
                return None;
            }
            self.program_index.insert(identity, self.programs.len() as u32);
            self.programs.push(self.describe(tid, found, state));
            found = Some(self.programs.len() as u32 - 1);
        }
        found
    }

    fn describe(&self, tid: i64, parent: Option<u32>, state: &State) -> Program {
        let ancestors = parent.map_or(0, |parent| self.program(parent).ancestors + 1);
        let (parent, ancestors) = if ancestors > MAX_ANCESTORS { (None, 0) } else { (parent, ancestors) };
        match state.process_of(tid) {
            Some((_, process)) => {
                Program { pid: process.pid, comm: process.comm(), container: process.container, parent, ancestors }
            }
            None => Program { pid: tid, comm: None, container: None, parent, ancestors },
        }
    }
}
